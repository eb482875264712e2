"""Every verb, with each of its requests answered wrongly in every way.

A verb is run once, and its requests are recorded. Then it is run again for each request and each wrong answer to it. It
succeeds, or raises an error with a name. What was acknowledged is there, nothing else blocks a name, and `verify` and
`cleanup` work.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from typing import Any, Final

import pytest

import lance_sql
from lance_sql.errors import LanceError
from tests.object_stores.answers import BODIES, Wrong
from tests.object_stores.places import Place
from tests.object_stores.proxy import Fault, Request

# A file whose upload was reported as failed is closed by nobody.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")

Run = Callable[[str, Any], object]
CHANGES: Final = (
    Fault.LOST,
    Fault.LOST_AND_BUSY,
    Wrong.DONE_AND_ERROR,
    Wrong.DONE_AND_EXISTS,
    Wrong.DONE_AND_CONFLICT,
    Wrong.CONFLICT,
    Wrong.NOT_IMPLEMENTED,
)
ALWAYS: Final = (Fault.UNAVAILABLE, Wrong.ERROR, Wrong.FORBIDDEN, Wrong.EXPIRED, Wrong.RESET, Wrong.SILENT)
"""Refusals of any request."""
SAMPLE: Final = 2
"""Pairs of a request and an answer in a short run."""


def opened(uri: str, options: Any, **where: Any) -> lance_sql.Dataset:
    return lance_sql.open(uri, storage_options=options, **where)


def two_steps(uri: str, options: Any) -> None:
    job = lance_sql.begin_write(opened(uri, options).schema, uri, mode="append", storage_options=options)
    try:
        job.commit([*job.write_fragments({"id": [70], "v": [7]}), *job.write_fragments({"id": [71], "v": [7]})])
    except BaseException:
        job.abort()
        raise


def read_cursor(uri: str, options: Any) -> None:
    with opened(uri, options).cursors.open("w").read() as changes:
        assert changes.count_rows() > 0


def apply(uri: str, options: Any) -> None:
    rows = {"id": [1, 90], "v": [0, 9], "gone": [True, False], "at": [9, 9]}
    rules: dict[str, Any] = {"except_columns": ["gone", "at"], "delete_when": "gone", "sequence_by": "at"}
    lance_sql.apply_changes(opened(uri, options), rows, "id", **rules)


def scan(uri: str, options: Any) -> None:
    assert opened(uri, options).scan(None, "id > 0").to_table().num_rows == 5


def write(mode: Any, **more: Any) -> Run:
    return lambda uri, options: lance_sql.write({"id": [50], "v": [5]}, uri, mode=mode, storage_options=options, **more)


def of(verb: Callable[[lance_sql.Dataset], object]) -> Run:
    return lambda uri, options: verb(opened(uri, options))


VERBS: Final[dict[str, Run]] = {
    "create": lambda uri, options: lance_sql.write({"id": [1]}, f"{uri}.new", storage_options=options),
    "append": write("append"),
    "overwrite": write("overwrite"),
    "update": of(lambda table: table.update({"v": "v + 1"}, "id = 2")),
    "delete": of(lambda table: table.delete("id = 2")),
    "merge": of(lambda table: table.merge({"id": [2, 60], "v": [0, 0]}, on="id")),
    "add a column": of(lambda table: table.add_columns({"w": "v * 2"})),
    "drop a column": of(lambda table: table.drop_columns(["v"])),
    "compact": of(lambda table: table.maintenance.compact()),
    "index": of(lambda table: table.indices.create("v", "btree")),
    "restore": of(lambda table: table.restore(2)),
    "cleanup": of(lambda table: table.maintenance.cleanup(retain_versions=1)),
    "maintain": of(lambda table: table.maintenance.maintain()),
    "tag": of(lambda table: table.tags.create("new")),
    "move a tag": of(lambda table: table.tags.move("old")),
    "delete a tag": of(lambda table: table.tags.delete("old")),
    "branch": of(lambda table: table.branches.create("new")),
    "delete a branch": of(lambda table: table.branches.delete("dev")),
    "publish": of(lambda table: table.branches.publish("dev")),
    "clone": lambda uri, options: opened(uri, options).branches.shallow_clone(f"{uri}.new"),
    "cursor": of(lambda table: table.cursors.open("new")),
    "read by a cursor": read_cursor,
    "drop a cursor": of(lambda table: table.cursors.open("w").drop()),
    "apply": apply,
    "two steps": two_steps,
    "rule": of(lambda table: table.rules.set("positive", "accepted_values(v, 1, 2, 3, 4, 5, 6)")),
    "scan": scan,
    "verify": of(
        lambda table: lance_sql.verify(table.uri, deep=True, storage_options=dict(table.snapshot.access.options))
    ),
}


def made(uri: str, options: Any) -> None:
    lance_sql.write({"id": [1, 2, 3], "v": [1, 2, 3]}, uri, stable_row_ids=True, storage_options=options)
    table = lance_sql.write({"id": [4, 5], "v": [4, 5]}, uri, mode="append", storage_options=options)
    table = table.delete("id = 3")
    table.indices.create("id", "btree")
    table = lance_sql.write({"id": [6], "v": [6]}, uri, mode="append", storage_options=options)
    table.tags.create("old", version=2)
    table.branches.create("dev").delete("id = 4")
    table.cursors.open("w", start=2)


def state(uri: str, options: Any) -> dict[str, object]:
    """What users see of a table, and of its copy."""
    try:
        table = opened(uri, options)
        new = {}
        for name in (f"{uri}.new",):
            try:
                new[name] = sorted(map(str, opened(name, options).scan().to_table().to_pylist()))
            except lance_sql.TableNotFound:
                new[name] = []
        return {
            "rows": sorted(map(str, table.scan().to_table().to_pylist())),
            "tags": {name: each.version for name, each in table.tags.list().items()},
            "branches": {name: opened(uri, options, branch=name).count_rows() for name in table.branches.list()},
            "cursors": {name: each.position for name, each in table.cursors.list().items()},
            "rules": sorted(table.rules.list()),
            "indices": sorted(each.name for each in table.indices.list()),
            "new": new,
        }
    finally:
        lance_sql.clear_caches()


class Case:
    """A verb on a table, whose requests were recorded."""

    def __init__(self, place: Place, name: str) -> None:
        self.place, self.name, self.verb, self.uri = place, name, VERBS[name], place.new_uri()
        self.quick = {**place.options, "client_max_retries": "0", "timeout": "300ms"}
        made(self.uri, place.options)
        prefix = place.prefix(self.uri).rstrip("/")
        self.prefix = prefix
        self.content = {key: each for key, each in place.bucket.objects.items() if key.startswith(prefix)}
        self.before = state(self.uri, place.options)
        with place.proxy.counted() as seen:
            self.verb(self.uri, self.quick)
        lance_sql.clear_caches()
        self.after = state(self.uri, place.options)
        self.requests = list(seen)

    def pairs(self) -> list[tuple[int, Fault | Wrong]]:
        """Returns the numbers of the requests, each with every wrong answer to it."""
        found: list[tuple[int, Fault | Wrong]] = []
        for number, request in enumerate(self.requests):
            is_read = request.kind in ("GET", "LIST", "HEAD")
            more = BODIES if request.kind in ("GET", "LIST") else () if is_read else CHANGES
            found += [(number, answer) for answer in (*ALWAYS, *more)]
        return found

    def reset(self) -> None:
        objects = self.place.bucket.objects
        for key in [key for key in objects if key.startswith(self.prefix)]:
            del objects[key]
        objects.update(self.content)
        lance_sql.clear_caches()

    def run(self, number: int, answer: Fault | Wrong) -> str | None:
        """Runs the verb with one wrong answer. Returns the name of its error, or None."""
        self.reset()
        count, lock = [0], threading.Lock()

        def inject(request: Request) -> Fault | Wrong | None:
            with lock:
                count[0] += 1
                return answer if count[0] - 1 == number else None

        error: Exception | None = None
        with self.place.proxy.injecting(inject):
            try:
                self.verb(self.uri, self.quick)
            except (LanceError, PermissionError) as raised:
                error = raised
        lance_sql.clear_caches()
        self.check(error)
        return None if error is None else type(error).__name__

    def check(self, error: Exception | None) -> None:
        options = self.place.options
        now = state(self.uri, options)
        if error is None:
            assert now == self.after
        for part, seen in now.items():
            assert seen in (self.before[part], self.after[part]), part
        assert lance_sql.verify(self.uri, deep=True, storage_options=options).is_healthy
        if error is not None and now == self.after and now != self.before:
            # it was done, and may not be in the way of the next try
            assert self.name not in ("create", "tag", "branch", "clone")
        elif error is not None and now["rows"] == self.before["rows"]:
            self.verb(self.uri, options)
            lance_sql.clear_caches()
            assert state(self.uri, options) == self.after
        opened(self.uri, options).maintenance.cleanup(retain_versions=1)
        assert state(self.uri, options)["rows"] in (self.before["rows"], self.after["rows"])


@pytest.fixture(autouse=True)
def _soon_silent(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(place.proxy), "silent_seconds", 0.5)


@pytest.mark.parametrize("name", VERBS)
def test_some_wrong_answers(place: Place, name: str) -> None:
    case = Case(place, name)
    pairs = case.pairs()
    for number, answer in random.Random(name).sample(pairs, min(SAMPLE, len(pairs))):
        try:
            case.run(number, answer)
        except Exception as error:
            raise AssertionError(f"{name}: request {number} {case.requests[number]}: {answer}") from error


@pytest.mark.slow
@pytest.mark.parametrize("name", VERBS)
def test_every_wrong_answer(place: Place, name: str) -> None:
    case = Case(place, name)
    errors = []
    for number, answer in case.pairs():
        try:
            case.run(number, answer)
        except Exception as error:
            cause = error.__cause__ or error
            errors.append(f"{answer.name} to {case.requests[number].kind} {case.requests[number].key}: {cause!r:.300}")
    print(f"{name}: {len(case.requests)} requests, {len(case.pairs())} runs, {len(errors)} failures")
    assert not errors, "\n".join(errors)
