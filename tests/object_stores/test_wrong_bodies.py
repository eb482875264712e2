"""Answers with another body than the file has: short, empty, packed, or with other bytes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import lance_sql
from lance_sql.errors import CorruptFile, LanceError, StoreError
from lance_sql.table import manifest_file
from tests.object_stores.answers import BODIES, Wrong
from tests.object_stores.bucket import Object
from tests.object_stores.places import Place
from tests.object_stores.proxy import Inject, Request

# larger than a tail, so that the ends of files and their pages are separate requests
ROWS = pa.table({"id": range(100_000), "s": [f"{number * 7919:x}" for number in range(100_000)]})
SAME_LENGTH = (Wrong.ZEROS,)


@pytest.fixture(scope="module")
def made(_place: Place) -> str:
    uri = _place.new_uri()
    lance_sql.write(ROWS, uri, storage_options=_place.options)
    table = lance_sql.open(uri, storage_options=_place.options).delete("id % 1000 = 3")
    table.indices.create("id", "btree")
    table.latest().tags.create("v")
    table.latest().cursors.open("w")
    return uri


@pytest.fixture(autouse=True)
def _fresh() -> Iterator[None]:
    lance_sql.clear_caches()
    yield
    lance_sql.clear_caches()


def whole(uri: str, options: Any) -> None:
    table = lance_sql.open(uri, storage_options=options)
    assert table.scan().to_table().num_rows == 99_900


def point(uri: str, options: Any) -> None:
    assert lance_sql.open(uri, storage_options=options).scan(["s"], "id = 7777").to_table().num_rows == 1


def by_tag(uri: str, options: Any) -> None:
    table = lance_sql.open(uri, tag="v", storage_options=options)
    assert table.version == 3
    assert table.count_rows() == 99_900


def by_cursor(uri: str, options: Any) -> None:
    assert lance_sql.open(uri, storage_options=options).cursors.open("w").position >= 0


def history(uri: str, options: Any) -> None:
    table = lance_sql.open(uri, storage_options=options)
    assert [each.operation for each in table.history()][-1] in ("create", "delete", "create_index")
    assert table.changes(since=1).count_rows() == 100


def indices(uri: str, options: Any) -> None:
    assert [each.name for each in lance_sql.open(uri, storage_options=options).indices.list()] == ["id_idx"]


READS: dict[str, Callable[[str, Any], None]] = {
    "indices": indices,
    "whole": whole,
    "point": point,
    "tag": by_tag,
    "cursor": by_cursor,
    "history": history,
}


def nth(number: int, kind: Wrong, seen: list[Request], *, every: bool = False) -> Inject:
    lock = threading.Lock()

    def inject(request: Request) -> Wrong | None:
        if request.kind != "GET":
            return None
        with lock:
            seen.append(request)
            if len(seen) <= number:
                return None
            is_chosen = request.key == seen[number].key if every else len(seen) - 1 == number
        return kind if is_chosen else None

    return inject


def requests(place: Place, read: Callable[[str, Any], None], uri: str, options: Any) -> int:
    with place.proxy.counted() as seen:
        read(uri, options)
    lance_sql.clear_caches()
    return sum(request.kind == "GET" for request in seen)


@pytest.mark.parametrize("is_cached", [False, True])
@pytest.mark.parametrize("kind", BODIES)
@pytest.mark.parametrize("name", READS)
def test_a_wrong_body_is_asked_for_again(
    place: Place, made: str, tmp_path: Path, name: str, kind: Wrong, is_cached: bool
) -> None:
    read = READS[name]
    first = {**place.options, "cache": str(tmp_path / "first")} if is_cached else place.options
    for number in range(requests(place, read, made, first)):
        options = {**place.options, "cache": str(tmp_path / str(number))} if is_cached else place.options
        seen: list[Request] = []
        with place.proxy.injecting(nth(number, kind, seen)):
            try:
                read(made, options)
            except (CorruptFile, AssertionError):
                # bytes of a page cannot be told from others
                assert kind in SAME_LENGTH
                assert "/data/" in seen[number].key or "/_indices/" in seen[number].key
        lance_sql.clear_caches()
        read(made, options)
        lance_sql.clear_caches()


COMMITS: dict[str, Callable[[lance_sql.Dataset], object]] = {
    "append": lambda table: lance_sql.write({"id": [-1], "s": [""]}, table, mode="append"),
    "delete": lambda table: table.delete("id = 5"),
    "add a column": lambda table: table.add_columns({"w": "id * 2"}),
    "clone": lambda table: table.branches.shallow_clone(f"{table.uri}.copy"),
}


@pytest.mark.parametrize("far_sections", [False, True])
@pytest.mark.parametrize("name", COMMITS)
def test_a_commit_keeps_indices_that_come_wrong(
    place: Place, name: str, far_sections: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if far_sections:
        # sections of large manifests are read in requests of their own
        monkeypatch.setattr(manifest_file, "_TAIL_BYTES", 64)
    options, number, seen = place.options, 0, [Request("GET", "")]
    while number < len(seen):
        uri, seen = place.new_uri(), []
        table = lance_sql.write({"id": [1, 2, 5], "s": ["a", "b", "c"]}, uri, storage_options=options)
        table.indices.create("id", "btree")
        lance_sql.clear_caches()
        with suppress(LanceError), place.proxy.injecting(manifest_of_zeros(number, seen)):
            COMMITS[name](lance_sql.open(uri, storage_options=options))
        lance_sql.clear_caches()
        indices(uri, options)
        with suppress(lance_sql.TableNotFound):
            indices(f"{uri}.copy", options)
        number += 1
    assert number > 1


def manifest_of_zeros(number: int, seen: list[Request]) -> Inject:
    """Answers a GET of a manifest, by its number, with as many bytes of 0."""
    lock = threading.Lock()

    def inject(request: Request) -> Wrong | None:
        if request.kind != "GET" or not request.key.endswith(".manifest"):
            return None
        with lock:
            seen.append(request)
            return Wrong.ZEROS if len(seen) - 1 == number else None

    return inject


@pytest.mark.parametrize("is_cached", [False, True])
@pytest.mark.parametrize("kind", [kind for kind in BODIES if kind not in (*SAME_LENGTH, Wrong.OTHER_RANGE)])
@pytest.mark.parametrize("name", READS)
def test_a_file_that_always_comes_wrong_is_no_damage(
    place: Place, made: str, tmp_path: Path, name: str, kind: Wrong, is_cached: bool
) -> None:
    read = READS[name]
    first = {**place.options, "cache": str(tmp_path / "first")} if is_cached else place.options
    for number in range(requests(place, read, made, first)):
        options = {**place.options, "cache": str(tmp_path / str(number))} if is_cached else place.options
        with place.proxy.injecting(nth(number, kind, [], every=True)), pytest.raises(StoreError, match="is wrong: "):
            read(made, options)
        lance_sql.clear_caches()
        read(made, options)


def test_a_file_that_is_really_short_is_damaged(place: Place, tmp_path: Path) -> None:
    uri = place.new_uri()
    table = lance_sql.write(ROWS, uri, storage_options=place.options)
    key = f"{place.prefix(uri)}data/{table.snapshot.manifest.fragments[0].files[0].path}"
    content = place.bucket.objects[key].content
    for length in (0, 10, len(content) // 2, len(content) - 1):
        place.bucket.objects[key] = Object(content[:length])
        with pytest.raises(CorruptFile, match="data/"):
            lance_sql.open(uri, storage_options={**place.options, "cache": str(tmp_path)}).scan().to_table()
    place.bucket.objects[key] = Object(content)
    found = lance_sql.open(uri, storage_options={**place.options, "cache": str(tmp_path)}).scan().to_table()
    assert found.num_rows == ROWS.num_rows


def test_verify_and_salvage_do_not_take_wrong_answers_for_damage(place: Place, made: str) -> None:
    def inject(request: Request) -> Wrong | None:
        return Wrong.SHORT if request.kind == "GET" and "/data/" in request.key else None

    with place.proxy.injecting(inject):
        report = lance_sql.verify(made, deep=True, storage_options=place.options)
        assert not report.is_healthy
        assert all("is wrong: " in problem.message for problem in report.problems)
        with pytest.raises(StoreError, match="is wrong: "):
            lance_sql.salvage(made, place.new_uri(), storage_options=place.options)
    assert lance_sql.verify(made, deep=True, storage_options=place.options).is_healthy
