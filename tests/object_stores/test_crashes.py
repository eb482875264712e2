"""Statements on an object store that stops answering at each of their requests, and histories of two libraries."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress

import lance
import pyarrow as pa
import pytest

import lance_sql
from lance_sql.errors import LanceError
from tests.histories.histories import History
from tests.object_stores.places import BUCKET, Place
from tests.object_stores.proxy import Fault, Inject, Request

# A file whose upload was reported as failed is closed by nobody.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")

Options = dict[str, str]


def rows(*keys: int) -> pa.Table:
    return pa.table({"k": pa.array(keys, pa.int64()), "v": pa.array([key * 10 for key in keys], pa.int64())})


def create(uri: str, options: Options) -> None:
    lance_sql.write(rows(1, 2, 3, 4), f"{uri}.new", storage_options=options)


def append(uri: str, options: Options) -> None:
    lance_sql.write(rows(100), uri, mode="append", storage_options=options)


def update(uri: str, options: Options) -> None:
    lance_sql.open(uri, storage_options=options).update({"v": "-v"}, "k = 2")


def delete(uri: str, options: Options) -> None:
    lance_sql.open(uri, storage_options=options).delete("k < 3")


def merge(uri: str, options: Options) -> None:
    lance_sql.open(uri, storage_options=options).merge(rows(2, 50), on="k")


def compact(uri: str, options: Options) -> None:
    lance_sql.open(uri, storage_options=options).maintenance.compact()


def cleanup(uri: str, options: Options) -> None:
    lance_sql.open(uri, storage_options=options).maintenance.cleanup(retain_versions=1)


def two_steps(uri: str, options: Options) -> None:
    begun = lance_sql.begin_write(rows().schema, uri, mode="append", storage_options=options)
    try:
        begun.commit([*begun.write_fragments(rows(300)), *begun.write_fragments(rows(301))])
    except BaseException:
        begun.abort()
        raise


def from_request(number: int, fault: Fault, *, once: bool) -> Inject:
    """Makes the request with a number fail, and all behind it, or it alone."""
    seen = [0]
    lock = threading.Lock()

    def inject(request: Request) -> Fault | None:
        with lock:
            seen[0] += 1
            if seen[0] - 1 == number:
                return fault
            return Fault.UNAVAILABLE if seen[0] - 1 > number and not once else None

    return inject


def content(uri: str, options: Options) -> list[tuple[int, int]]:
    ours = lance_sql.open(uri, storage_options=options).scan(["k", "v"]).to_table()
    theirs = lance.dataset(uri, storage_options=options).to_table(["k", "v"])
    found = sorted(zip(*(ours[name].to_pylist() for name in ("k", "v")), strict=True))
    assert found == sorted(zip(*(theirs[name].to_pylist() for name in ("k", "v")), strict=True))
    return found


STATEMENTS = [append, create, update, delete, merge, compact, cleanup, two_steps]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("statement", "once"),
    [(statement, once) for statement in STATEMENTS for once in (True, False)],
    ids=lambda value: value.__name__ if callable(value) else ("once" if value else "for good"),
)
def test_a_table_is_as_before_or_as_after(place: Place, statement: Callable[[str, Options], None], once: bool) -> None:
    options = place.options
    # a client that gives up at once, so that each fault arrives
    quick = {**options, "client_max_retries": "0"}

    def made() -> str:
        uri = place.new_uri()
        lance_sql.write(rows(1, 2), uri, storage_options=options)
        lance_sql.write(rows(3, 4), uri, mode="append", storage_options=options)
        return uri

    uri = made()
    before = content(uri, options)
    with place.proxy.counted() as seen:
        statement(uri, options)
    after = content(uri, options)
    for number, request in enumerate(seen):
        uri = made()
        fault = Fault.LOST if request.kind not in ("GET", "HEAD", "LIST") else Fault.UNAVAILABLE
        acknowledged = False
        with (
            place.proxy.injecting(from_request(number, fault, once=once)),
            suppress(OSError, LanceError),
        ):
            statement(uri, quick)
            acknowledged = True
        found = content(uri, options)
        assert found in ([after] if acknowledged else [before, after]), (number, request)
        assert lance_sql.verify(uri, deep=True, storage_options=options).is_healthy
        lance_sql.write(rows(77), uri, mode="append", storage_options=options)
        assert content(uri, options) == sorted([*found, (77, 770)])


@pytest.fixture
def reachable(place: Place, monkeypatch: pytest.MonkeyPatch) -> Place:
    """Says in the environment how the store is reached, which both libraries look at."""
    for name, value in place.options.items():
        name = name.upper()
        monkeypatch.setenv(name if name.startswith("AWS_") else f"AWS_{name}", value)
    return place


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 13))])
def test_histories(reachable: Place, seed: int) -> None:
    History(f"s3://{BUCKET}/histories/{seed}/t.lance", seed).run(8 if seed == 0 else 30)
