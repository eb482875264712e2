"""Objects that are created if absent, when the answer gets lost, comes twice, or is that of another request."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from datetime import timedelta
from operator import attrgetter
from typing import Any

import pytest

import lance_sql
from lance_sql.dataset import Dataset
from lance_sql.errors import BranchExists, LanceError, StoreError, TagExists, UnsupportedFeature
from lance_sql.store import conditional_puts
from tests.object_stores.answers import Wrong
from tests.object_stores.bucket import Object
from tests.object_stores.places import Place
from tests.object_stores.proxy import Fault, Inject, Request


def once(fault: Fault | Wrong, word: str, kind: str = "PUT") -> Inject:
    """Makes the first request of a kind with a word in its key go wrong."""
    left = [fault]
    lock = threading.Lock()

    def inject(request: Request) -> Fault | Wrong | None:
        with lock:
            return left.pop() if left and request.kind == kind and word in request.key else None

    return inject


def branch(table: Dataset) -> None:
    made = table.branches.create("dev/one")
    assert set(table.branches.list()) == {"dev/one"}
    assert made.count_rows() == 2


def staged(table: Dataset) -> None:
    with table.branches.staged("dev") as work:
        assert work.delete("id = 1").count_rows() == 1
    assert set(table.branches.list()) == {"dev"}


def tag(table: Dataset) -> None:
    table.tags.create("v1")
    assert table.tags.list()["v1"].version == 1


def cursor(table: Dataset) -> None:
    made = table.cursors.open("w")
    with made.read() as changes:
        assert changes.count_rows() == 2
    assert made.position == 1


def apply(table: Dataset) -> None:
    rows = {"id": [0, 1], "at": [5, 5], "gone": [True, False]}
    options: dict[str, Any] = {"sequence_by": "at", "except_columns": ["gone"], "delete_when": "gone"}
    lance_sql.apply_changes(table, rows, "id", **options)
    assert table.latest().count_rows() == 2
    # the state of the deletion is stored
    lance_sql.apply_changes(table.latest(), {"id": [0], "at": [4], "gone": [False]}, "id", **options)
    assert sorted(table.latest().scan(["id"]).to_table()["id"].to_pylist()) == [1, 2]


VERBS: dict[str, Callable[[Dataset], None]] = {
    "_refs/branches": branch,
    "tree/dev/one/_versions": branch,
    "_refs/tags": tag,
    "_cursors/w": cursor,
    "_applied/": apply,
    "_refs/branches/": staged,
}
LOST = (Fault.LOST, Fault.LOST_AND_BUSY, Wrong.DONE_AND_ERROR, Wrong.DONE_AND_EXISTS, Wrong.DONE_AND_CONFLICT)
REFUSED = (Wrong.CONFLICT, Wrong.ERROR, Fault.UNAVAILABLE, Wrong.RESET)


@pytest.mark.parametrize("fault", [*LOST, *REFUSED])
@pytest.mark.parametrize("word", VERBS)
@pytest.mark.parametrize("retries", ["0", "1"])
def test_a_verb_whose_request_was_carried_out_succeeds(
    place: Place, word: str, fault: Fault | Wrong, retries: str
) -> None:
    if fault in (Wrong.ERROR, Fault.UNAVAILABLE, Wrong.RESET) and retries == "0":
        pytest.skip("nothing was carried out, and nobody asks again")
    uri = place.new_uri()
    lance_sql.write({"id": [1, 2], "at": [1, 1]}, uri, storage_options=place.options)
    table = lance_sql.open(uri, storage_options={**place.options, "client_max_retries": retries})
    with place.proxy.injecting(once(fault, word)):
        VERBS[word](table)
    assert lance_sql.verify(uri, deep=True, storage_options=place.options).is_healthy
    table.latest().maintenance.cleanup(retain_versions=1)


@pytest.mark.parametrize("word", VERBS)
def test_a_verb_that_failed_can_be_repeated(place: Place, word: str) -> None:
    uri = place.new_uri()
    lance_sql.write({"id": [1, 2], "at": [1, 1]}, uri, storage_options=place.options)
    table = lance_sql.open(uri, storage_options={**place.options, "client_max_retries": "0"})
    with place.proxy.injecting(once(Wrong.ERROR, word)), pytest.raises(StoreError, match="InternalError"):
        VERBS[word](table)
    VERBS[word](table)


def test_names_of_others_stay(place: Place) -> None:
    uri = place.new_uri()
    table = lance_sql.write({"id": [1, 2]}, uri, storage_options=place.options)
    table.tags.create("v1")
    table.branches.create("dev")
    with pytest.raises(TagExists):
        table.tags.create("v1")
    with pytest.raises(BranchExists):
        table.branches.create("dev")


@pytest.mark.parametrize("conflicts", [1, 6])
def test_a_version_that_was_named_during_a_cleanup_is_put_back(place: Place, conflicts: int) -> None:
    uri = place.new_uri()
    table = lance_sql.write({"id": [1]}, uri, storage_options=place.options)
    for number in (2, 3):
        lance_sql.write({"id": [number]}, uri, mode="append", storage_options=place.options)
    first, left, named = table.snapshot, [conflicts], [False]

    def inject(request: Request) -> Wrong | None:
        if request.kind == "POST" and not named[0]:
            named[0] = True
            key = f"{place.prefix(uri)}_refs/tags/keep.json"
            content = b'{"branch": null, "version": 1, "manifestSize": 1}'
            place.bucket.objects[key] = Object(content)
        is_put_back = request.kind == "PUT" and request.key.endswith(first.manifest_path)
        if is_put_back and left[0]:
            left[0] -= 1
            return Wrong.CONFLICT
        return None

    newest = table.latest()
    with place.proxy.injecting(inject):
        plan = newest.maintenance.cleanup(retain_versions=1)
    assert [file.version for file in plan.versions] == [2]
    assert lance_sql.open(uri, tag="keep", storage_options=place.options).count_rows() == 1
    assert lance_sql.verify(uri, deep=True, storage_options=place.options).is_healthy


def test_a_cleanup_that_breaks_off_puts_versions_back(place: Place) -> None:
    uri = place.new_uri()
    table = lance_sql.write({"id": [1]}, uri, storage_options=place.options)
    lance_sql.write({"id": [2]}, uri, mode="append", storage_options=place.options)
    quick = lance_sql.open(uri, storage_options={**place.options, "client_max_retries": "0"})
    removed = [False]

    def inject(request: Request) -> Wrong | None:
        removed[0] |= request.kind == "POST"
        return Wrong.ERROR if removed[0] and request.kind == "LIST" else None

    with place.proxy.injecting(inject), pytest.raises(StoreError):
        quick.maintenance.cleanup(retain_versions=1)
    assert removed[0]
    assert lance_sql.open(uri, version=table.version, storage_options=place.options).count_rows() == 1


@pytest.fixture
def new_server(place: Place, monkeypatch: pytest.MonkeyPatch) -> Place:
    """A server that this process has not tested."""
    monkeypatch.setattr(conditional_puts, "_faults", {})
    return place


def write(place: Place, uri: str) -> None:
    lance_sql.write({"id": [1]}, uri, storage_options=place.options)


def create_if_absent(place: Place, uri: str, verb: str) -> None:
    if verb in ("write", "append"):
        mode: Any = "create" if verb == "write" else verb
        lance_sql.write({"id": [2]}, uri, mode=mode, storage_options=place.options)
    else:
        attrgetter(verb)(lance_sql.open(uri, storage_options=place.options))("x")


@pytest.mark.parametrize("verb", ["write", "append", "tags.create", "branches.create", "cursors.open"])
def test_a_server_that_ignores_conditions_is_refused(new_server: Place, verb: str) -> None:
    place, uri = new_server, new_server.new_uri()
    if verb != "write":
        write(place, uri)
        conditional_puts._faults.clear()
    place.bucket.honors = False
    before = dict(place.bucket.objects)
    for _ in range(2):
        with place.proxy.counted() as seen, pytest.raises(UnsupportedFeature, match=r"If-None-Match.*manifest_store="):
            create_if_absent(place, uri, verb)
    # only once, and nothing is left of it
    assert not any(request.is_conditional for request in seen)
    assert not any(".tmp_" in key for key in place.bucket.objects)
    changed = {key for key in place.bucket.objects.keys() - before.keys() if "_versions" in key and "tree/" not in key}
    assert not changed


@pytest.mark.parametrize("more", [{}, {"conditional_put": "disabled"}])
def test_a_manifest_store_is_the_way_out(new_server: Place, tmp_path: Any, more: dict[str, str]) -> None:
    uri, options = new_server.new_uri(), {**new_server.options, **more}
    new_server.bucket.honors = False
    manifests = lance_sql.SqliteManifestStore(str(tmp_path / "manifests.sqlite"))
    lance_sql.write({"id": [0]}, uri, storage_options=options, manifest_store=manifests)

    def append(writer: int) -> None:
        for number in range(5):
            rows = {"id": [writer * 100 + number]}
            lance_sql.write(rows, uri, mode="append", storage_options=options, manifest_store=manifests)

    threads = [threading.Thread(target=append, args=(writer,)) for writer in (1, 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert lance_sql.open(uri, storage_options=options, manifest_store=manifests).count_rows() == 11


def test_a_server_is_tested_once_and_not_for_reads(new_server: Place) -> None:
    uri = new_server.new_uri()
    with new_server.proxy.counted() as seen:
        write(new_server, uri)
    assert sum(".tmp_" in request.key or request.kind == "POST" for request in seen) == 3
    with new_server.proxy.counted() as seen:
        lance_sql.open(uri, storage_options=new_server.options).scan().to_table()
        lance_sql.write({"id": [2]}, uri, mode="append", storage_options=new_server.options)
    assert not any(".tmp_" in request.key for request in seen)
    assert not any(".tmp_" in key for key in new_server.bucket.objects)


def test_services_of_the_providers_are_not_tested() -> None:
    def never(path: str) -> Any:
        raise AssertionError(path)

    for endpoint in (None, "https://s3.eu-central-1.amazonaws.com", "https://x.blob.core.windows.net"):
        conditional_puts.check("s3://bucket", endpoint, "s3://bucket/t.lance", never, never, never)


@pytest.mark.parametrize("fault", [*LOST, Wrong.CONFLICT])
def test_the_test_of_a_server_survives_lost_answers(new_server: Place, fault: Fault | Wrong) -> None:
    uri = new_server.new_uri()
    with new_server.proxy.injecting(once(fault, ".tmp_")):
        write(new_server, uri)
    assert lance_sql.open(uri, storage_options=new_server.options).count_rows() == 1


@pytest.mark.parametrize("answer", [Wrong.NOT_IMPLEMENTED, Wrong.CONFLICT])
@pytest.mark.parametrize("is_known", [False, True])
def test_errors_of_servers_without_conditions_name_the_way_out(
    new_server: Place, answer: Wrong, is_known: bool
) -> None:
    uri = new_server.new_uri()
    if is_known:
        write(new_server, new_server.new_uri())
    with (
        new_server.proxy.injecting(lambda request: answer if request.is_conditional else None),
        pytest.raises(LanceError, match=r"manifest_store=.*conditional_put=") as raised,
    ):
        write(new_server, uri)
    assert "\n" not in str(raised.value)


def test_a_refused_deletion_is_a_permission_error(place: Place) -> None:
    uri = place.new_uri()
    write(place, uri)
    table = lance_sql.open(uri, storage_options=place.options).delete("id = 1")
    place.bucket.denied = re.compile(".")
    with pytest.raises(PermissionError, match="AccessDenied"):
        table.maintenance.cleanup(older_than=timedelta(0))
    place.bucket.denied = None
    table.maintenance.cleanup(older_than=timedelta(0))
