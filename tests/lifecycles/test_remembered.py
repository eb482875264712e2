"""Handles, cursors and caches after folders were moved, swapped, copied or restored from a backup: they return the
right rows or raise an error with the cause, never other rows or a part of them.
"""

from __future__ import annotations

import os
import pickle
import re
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import lance_sql
from lance_sql import CorruptFile, LanceError, TableNotFound

SAYS = re.compile(
    r"another commit than|is another commit now|another table|was (dropped|deleted|cleaned up|replaced|restored)"
    r"|No Lance table|No branch|No cursor|(is|are) missing|does not exist|no version"
)


def append(path: Path, *ids: int, **options: Any) -> None:
    lance_sql.write({"id": list(ids)}, path, mode="append", **options)


def ids(table: Any) -> list[int]:
    return sorted(table.to_table()["id"].to_pylist())


def make(path: Path, first: int) -> None:
    """Five versions; two tables have as many, and indices at the same one."""
    lance_sql.write({"id": [first]}, path)
    for number in range(1, 4):
        append(path, first + number)
    lance_sql.open(path).indices.create("id", "btree")


# what happens; the places of tables afterwards, of which one may have none


def moved(path: Path) -> list[Path]:
    os.rename(path, path.parent / "moved.lance")
    append(path.parent / "moved.lance", 50)
    return [path, path.parent / "moved.lance"]


def moved_back(path: Path) -> list[Path]:
    os.rename(path, path.parent / "moved.lance")
    append(path.parent / "moved.lance", 50)
    os.rename(path.parent / "moved.lance", path)
    return [path]


def swapped(path: Path) -> list[Path]:
    other = path.parent / "new.lance"
    make(other, 100)
    append(other, 104)
    append(other, 105)
    os.rename(path, path.parent / "old.lance")
    os.rename(other, path)
    return [path, path.parent / "old.lance"]


def copied(path: Path) -> list[Path]:
    shutil.copytree(path, path.parent / "copy.lance")
    append(path, 50)
    append(path.parent / "copy.lance", 60)
    return [path, path.parent / "copy.lance"]


def restored(path: Path) -> list[Path]:
    shutil.rmtree(path)
    shutil.copytree(path.parent / "backup", path)
    for number in (12, 13, 14):
        append(path, number)
    return [path]


def made_anew(path: Path) -> list[Path]:
    shutil.rmtree(path)
    make(path, 100)
    append(path, 104)
    append(path, 105)
    return [path]


def dropped(path: Path) -> list[Path]:
    lance_sql.sql(f"DROP TABLE '{path}'")
    return [path]


HAPPENINGS = (moved, moved_back, swapped, copied, restored, made_anew, dropped)


# what remembers a version: a call that gives the ids that it had, wherever the folder is


def handle(path: Path) -> Callable[[], list[int]]:
    table = lance_sql.open(path)
    return lambda: ids(table)


def used_handle(path: Path) -> Callable[[], list[int]]:
    table = lance_sql.open(path)
    table.count_rows("id > 1")
    return lambda: ids(table.scan(["id"], "id BETWEEN 0 AND 99"))


def index(path: Path) -> Callable[[], list[int]]:
    table = lance_sql.open(path)
    _ = table.snapshot.manifest
    return lambda: ids(table.scan(["id"], "id BETWEEN 0 AND 99"))


def row_ids(path: Path) -> Callable[[], list[int]]:
    table = lance_sql.open(path)
    wanted = table.scan(["_rowid"]).to_table()["_rowid"].to_pylist()
    return lambda: sorted(table.take(wanted)["id"].to_pylist())


def pickled(path: Path) -> Callable[[], list[int]]:
    content = pickle.dumps(lance_sql.open(path))
    return lambda: ids(pickle.loads(content))


def pickled_scan(path: Path) -> Callable[[], list[int]]:
    content = pickle.dumps(lance_sql.open(path).scan(["id"], "id >= 0"))
    return lambda: ids(pickle.loads(content))


def feed(path: Path) -> Callable[[], list[int]]:
    changes = lance_sql.open(path).changes()
    return lambda: sorted(changes.scan(["id"]).to_table()["id"].to_pylist())


VERSIONS = (handle, used_handle, index, row_ids, pickled, pickled_scan, feed)


@pytest.mark.parametrize("happens", HAPPENINGS)
@pytest.mark.parametrize("thing", VERSIONS)
def test_a_version(tmp_path: Path, thing: Callable[..., Any], happens: Callable[..., Any]) -> None:
    path = tmp_path / "t.lance"
    make(path, 0)
    shutil.copytree(path, tmp_path / "backup")
    append(path, 4)
    use = thing(path)
    append(path, 5)
    happens(path)
    try:
        found = use()
    except LanceError as error:
        said = error
        assert SAYS.search(str(said)), said
        assert not isinstance(said, CorruptFile), said
    else:
        assert found == [0, 1, 2, 3, 4]


# what remembers a position: given a place, all that was delivered before and now


def cursor(path: Path) -> Callable[[Path], list[int]]:
    with lance_sql.open(path).cursors.open("job", start="earliest").read() as changes:
        before = ids(changes.scan(["id"]))

    def use(place: Path) -> list[int]:
        with lance_sql.open(place).cursors.open("job", start="earliest").read() as changes:
            return sorted(before + ids(changes.scan(["id"])))

    return use


def held_cursor(path: Path) -> Callable[[Path], list[int]]:
    own = lance_sql.open(path).cursors.open("job", start="earliest")
    with own.read() as changes:
        before = ids(changes.scan(["id"]))

    def use(place: Path) -> list[int]:
        with own.read() as changes:
            return sorted(before + ids(changes.scan(["id"])))

    return use


def follower(path: Path) -> Callable[[Path], list[int]]:
    followed = lance_sql.open(path).changes().follow(timeout=0, poll=0.01)
    before = [number for commit in followed for number in ids(commit.changes.scan(["id"]))]
    return lambda place: sorted(before + [number for commit in followed for number in ids(commit.changes.scan(["id"]))])


def target(path: Path) -> Callable[[Path], list[int]]:
    """A copy that has changes which the cursor was not moved over."""
    copy = path.parent / "target.lance"
    lance_sql.open(path).cursors.open("job", start="earliest")
    changes = lance_sql.open(path).cursors.open("job").peek()
    lance_sql.write(changes.scan(["id"]), copy, properties=changes.properties)

    def use(place: Path) -> list[int]:
        with lance_sql.open(place).cursors.open("job", start="earliest").read(target=copy) as changes:
            return sorted(ids(lance_sql.open(copy)) + ids(changes.scan(["id"])))

    return use


def position(path: Path) -> Callable[[Path], list[int]]:
    with lance_sql.open(path).cursors.open("job", start="earliest").read() as changes:
        before, at = ids(changes.scan(["id"])), changes.position

    def use(place: Path) -> list[int]:
        with lance_sql.open(place).cursors.open("job", start="latest").read(after=at) as changes:
            return sorted(before + ids(changes.scan(["id"])))

    return use


def delivery(path: Path) -> Callable[[Path], list[int]]:
    connection = sqlite3.connect(path.parent / "delivered.sqlite")
    connection.execute("CREATE TABLE delivered (id INTEGER)")

    def use(place: Path, start: str = "latest") -> list[int]:
        with lance_sql.open(place).cursors.open("job", start=start).deliver(connection) as changes:
            connection.executemany("INSERT INTO delivered VALUES (?)", [(each,) for each in ids(changes.scan(["id"]))])
        return sorted(each for (each,) in connection.execute("SELECT id FROM delivered"))

    use(path, "earliest")
    return use


def stream(path: Path) -> Callable[[Path], list[int]]:
    streams = pytest.importorskip("tests.providers.test_spark_stream_reader")
    log: list[str] = []

    def rows(place: Path) -> list[int]:
        return [row["id"] for batch in streams.Stream(place, log).all() for row in batch]

    before = rows(path)
    return lambda place: sorted(before + rows(place))


def view(path: Path) -> Callable[[Path], list[int]]:
    made = lance_sql.materialize(f"SELECT id FROM '{path}'", path.parent / "v.lance")

    def use(place: Path) -> list[int]:
        made.refresh()
        return ids(lance_sql.open(path.parent / "v.lance"))

    return use


def prepared(path: Path) -> Callable[[Path], list[int]]:
    connection = lance_sql.connect()
    connection.execute(f"PREPARE q AS SELECT id FROM lance_scan('{path}')")
    connection.execute("EXECUTE q").fetchall()
    return lambda place: sorted(number for (number,) in connection.execute("EXECUTE q").fetchall())


def attached(path: Path) -> Callable[[Path], list[int]]:
    connection = lance_sql.connect(catalog=str(path.parent))
    connection.execute("SELECT id FROM lake.t").fetchall()
    return lambda place: sorted(number for (number,) in connection.execute("SELECT id FROM lake.t").fetchall())


BY_PLACE = (cursor, target, position, delivery, stream)
"""They are given the place of the table; others have it from before."""
FROM_THE_BEGINNING = {
    # the cursor in the backup has not moved yet
    (cursor, restored),
    (held_cursor, restored),
    # the other table gets a cursor of its own, for which all of its rows are new
    (cursor, swapped),
    (cursor, made_anew),
}


@pytest.mark.parametrize("happens", HAPPENINGS)
@pytest.mark.parametrize(
    "thing", [cursor, held_cursor, follower, target, position, delivery, stream, view, prepared, attached]
)
def test_a_position(tmp_path: Path, thing: Callable[..., Any], happens: Callable[..., Any]) -> None:
    path = tmp_path / "t.lance"
    make(path, 0)
    lance_sql.open(path).cursors.open("job", start="earliest")
    shutil.copytree(path, tmp_path / "backup")
    append(path, 4)
    use = thing(path)
    append(path, 5)
    places = happens(path)
    for place in places if thing in BY_PLACE else [path]:
        try:
            found = use(place)
        except Exception as error:
            # DuckDB has errors of its own
            said = error
            assert SAYS.search(str(said)), (place, said)
            assert not isinstance(said, CorruptFile), said
            # these two have one position, after the changes of the first place
            if happens in (moved_back, copied) and (thing not in (stream, delivery) or place == path):
                raise
            continue
        there = ids(lance_sql.open(place))
        if place == path and (thing, happens) in FROM_THE_BEGINNING:
            there = sorted([0, 1, 2, 3, 4, *there])
        assert found == there, place


# what is still to be committed: it is once in the table that it was made for, and in no other


def numbered(path: Path) -> Callable[[Path], int]:
    append(path, 200, txn_app_id="app", txn_version=1)

    def use(place: Path) -> int:
        for _ in range(2):
            append(place, 200, txn_app_id="app", txn_version=1)
        return 200

    return use


def staged(path: Path) -> Callable[[Path], int]:
    with lance_sql.open(path).branches.staged("load") as load:
        append(path, 200, branch=load.branch)

    def use(place: Path) -> int:
        lance_sql.open(place).branches.publish("load")
        return 200

    return use


def held_stage(path: Path) -> Callable[[Path], int]:
    with lance_sql.open(path).branches.staged("load") as load:
        pass

    def use(place: Path) -> int:
        lance_sql.write({"id": [200]}, load, mode="append")
        lance_sql.open(path).branches.publish("load")
        return 200

    return use


def job(path: Path) -> Callable[[Path], int]:
    begun = lance_sql.begin_write(lance_sql.open(path).schema, path, mode="append")
    content = pickle.dumps((begun, begun.write_fragments({"id": [200]})))

    def use(place: Path) -> int:
        again, fragments = pickle.loads(content)
        again.commit(fragments)
        return 200

    return use


def held_handle(path: Path) -> Callable[[Path], int]:
    table = lance_sql.open(path)

    def use(place: Path) -> int:
        lance_sql.write({"id": [200]}, table, mode="append")
        return 200

    return use


@pytest.mark.parametrize("happens", HAPPENINGS)
@pytest.mark.parametrize("thing", [numbered, staged, held_stage, job])
def test_a_commit(tmp_path: Path, thing: Callable[..., Any], happens: Callable[..., Any]) -> None:
    path = tmp_path / "t.lance"
    make(path, 0)
    use = thing(path)
    shutil.copytree(path, tmp_path / "backup")
    append(path, 4)
    places = happens(path)
    for place in places if thing in (numbered, staged) else [path]:
        before = {each: _known(each) for each in places}
        try:
            number = use(place)
        except LanceError as error:
            said = error
            assert SAYS.search(str(said)), (place, said)
            assert {each: _known(each) for each in places} == before
            continue
        for each in places:
            found = _known(each)
            if each == place:
                assert found is not None
                assert found.count(number) == 1, place
                found.remove(number)
            assert [key for key in found or [] if key != number] == [key for key in before[each] or [] if key != number]
            if found is not None:
                assert lance_sql.verify(each).is_healthy


def _known(path: Path) -> list[int] | None:
    try:
        return ids(lance_sql.open(path))
    except TableNotFound:
        return None
