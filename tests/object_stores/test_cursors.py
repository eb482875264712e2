"""Cursors on object stores: answers that get lost, and what a look for new commits costs."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable

import pytest

import lance_sql
from lance_sql.errors import CommitConflict
from tests.object_stores.places import Place
from tests.object_stores.proxy import Fault, Request, kinds


def on_cursors(fault: Fault, *, every: int = 1) -> Callable[[Request], Fault | None]:
    """Fails every so-manieth creation of a record."""
    count = itertools.count(1)

    def inject(request: Request) -> Fault | None:
        is_record = request.kind == "PUT" and "_cursors/" in request.key
        return fault if is_record and next(count) % every == 0 else None

    return inject


@pytest.mark.parametrize("fault", [Fault.LOST, Fault.LOST_AND_BUSY, Fault.UNAVAILABLE])
def test_a_move_whose_answer_is_lost_is_known(place: Place, fault: Fault) -> None:
    uri = place.new_uri()
    table = lance_sql.write({"id": [1, 2]}, uri, storage_options=place.options)
    with place.proxy.injecting(on_cursors(fault, every=2)):
        cursor = table.cursors.open("w")
        for number in range(3, 6):
            with cursor.read() as changes:
                assert changes.count_rows() == (2 if number == 3 else 1)
            lance_sql.write({"id": [number]}, uri, mode="append", storage_options=place.options)
    assert cursor.position == 3


def test_rivals_take_every_version_once(place: Place) -> None:
    uri = place.new_uri()
    table = lance_sql.write({"id": [0]}, uri, storage_options=place.options)
    for number in range(1, 6):
        lance_sql.write({"id": [number]}, uri, mode="append", storage_options=place.options)
    table.cursors.open("w")
    taken: list[int] = []

    def run() -> None:
        cursor = table.latest().cursors.open("w")
        while (position := cursor.position) < 6:
            try:
                with cursor.read(until=position + 1) as changes:
                    ids = changes.scan(["id"]).to_table()["id"].to_pylist()
            except (CommitConflict, lance_sql.InvalidArgument):
                continue
            taken.extend(ids)

    with place.proxy.injecting(on_cursors(Fault.LOST, every=3)):
        threads = [threading.Thread(target=run) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sorted(taken) == list(range(6))


def test_a_copy_has_every_row_once(place: Place) -> None:
    uri, copy = place.new_uri(), place.new_uri()
    table = lance_sql.write({"id": [1], "v": ["a"]}, uri, storage_options=place.options)
    cursor = table.cursors.open("copy")
    for number in range(2, 6):
        target = copy if number == 2 else lance_sql.open(copy, storage_options=place.options)
        with (
            place.proxy.injecting(on_cursors(Fault.LOST, every=2)),
            cursor.read(target=None if number == 2 else target) as changes,
        ):
            lance_sql.apply_changes(target, changes, "id", storage_options=place.options)
        lance_sql.write({"id": [number], "v": ["x"]}, uri, mode="append", storage_options=place.options)
    found = lance_sql.open(copy, storage_options=place.options).scan(["id"]).to_table()["id"].to_pylist()
    assert sorted(found) == [1, 2, 3, 4]


def test_looking_for_new_commits_is_one_request(place: Place) -> None:
    uri = place.new_uri()
    table = lance_sql.write({"id": [1]}, uri, storage_options=place.options)
    # the first look compares the commit of the version that the handle has
    assert list(table.changes(since=1).follow(poll=0.01, timeout=0)) == []
    following = table.changes(since=1).follow(poll=0.01, timeout=0)
    with place.proxy.counted() as seen:
        assert list(following) == []
    assert kinds(seen) == {"LIST": 1}
