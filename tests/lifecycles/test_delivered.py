"""Changes that a cursor delivered to a target table or a database arrive once each, whatever of the two is restored,
dropped or made again: the next run goes on right, or refuses with the way out.
"""

from __future__ import annotations

import itertools
import json
import os
import re
import shutil
from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, Literal

import pytest

import lance_sql
from lance_sql import CommitConflict, VersionNotFound
from lance_sql.table import cursor_ids
from tests.changes.cursors.databases import Database, deliver, sqlite

REFUSED: Final = re.compile(r"seek\('snapshot'\)")


class Holder(ABC):
    """A source with a cursor `copy`, and what holds its changes."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.source = folder, folder / "t.lance"

    @property
    @abstractmethod
    def place(self) -> Path:
        """What is backed up and dropped."""

    @abstractmethod
    def run(self) -> None:
        """Delivers the changes since the last run."""

    @abstractmethod
    def ids(self) -> list[int]:
        """Returns the ids of the rows delivered."""

    def cursor(self) -> Any:
        return lance_sql.open(self.source).cursors.open("copy", start="earliest")

    def add(self, *ids: int) -> None:
        rows = {"id": list(ids), "v": [str(each) for each in ids]}
        lance_sql.write(rows, self.source, mode=mode_of(self.source))

    def back_up(self) -> None:
        for each in (self.source, self.place):
            copy = self.folder / f"backup-{each.name}"
            if each.is_dir():
                shutil.copytree(each, copy)
            elif each.exists():
                shutil.copy(each, copy)

    def put_back(self, place: Path) -> None:
        drop(place)
        os.rename(self.folder / f"backup-{place.name}", place)


def mode_of(place: Path) -> Literal["append", "create"]:
    return "append" if place.exists() else "create"


def drop(place: Path) -> None:
    shutil.rmtree(place) if place.is_dir() else os.remove(place)


class Target(Holder):
    @property
    def place(self) -> Path:
        return self.folder / "target.lance"

    def run(self) -> None:
        with self.cursor().read(target=self.place) as changes:
            rows = changes.scan(["id"])
            if rows.count_rows():
                lance_sql.write(rows, self.place, mode=mode_of(self.place), properties=changes.properties)

    def ids(self) -> list[int]:
        return sorted(lance_sql.open(self.place).to_table()["id"].to_pylist())


class InDatabase(Holder):
    @property
    def place(self) -> Path:
        return self.folder / "warehouse.sqlite"

    @property
    def database(self) -> Database:
        return sqlite(self.folder)

    def run(self) -> None:
        self.cursor()
        deliver(str(self.source), self.database)

    def ids(self) -> list[int]:
        return sorted(row[2] for row in self.database.rows())


HOLDERS: Final = (Target, InDatabase)


@pytest.fixture(params=HOLDERS)
def holder(request: pytest.FixtureRequest, tmp_path: Path) -> Holder:
    made: Holder = request.param(tmp_path)
    made.add(1)
    return made


def refused(holder: Holder) -> None:
    before = holder.ids() if holder.place.exists() else []
    with pytest.raises(VersionNotFound, match=REFUSED):
        holder.run()
    assert (holder.ids() if holder.place.exists() else []) == before


@pytest.mark.parametrize("later", [0, 1, 3])
def test_a_source_from_before_a_seek_is_refused(holder: Holder, later: int) -> None:
    """The backup has the versions that were read after the seek, or not all of them, or others."""
    holder.run()
    holder.add(2)
    holder.add(3)
    holder.back_up()
    holder.cursor().seek(3)
    holder.run()
    assert holder.ids() == [1, 3]
    holder.put_back(holder.source)
    for number in range(later):
        holder.add(10 + number)
    refused(holder)
    # the way out
    holder.cursor().seek(3)
    holder.run()
    assert holder.ids() == [1, 3, 3, *range(10, 10 + later)]
    holder.add(20)
    holder.run()
    holder.run()
    assert holder.ids() == [1, 3, 3, *range(10, 10 + later), 20]


@pytest.mark.parametrize("is_cleaned", [False, True])
def test_a_source_from_before_the_cursor_goes_on(holder: Holder, is_cleaned: bool) -> None:
    holder.add(2)
    holder.back_up()
    if is_cleaned:
        lance_sql.open(holder.source).maintenance.cleanup(retain_versions=1)
    holder.run()
    holder.cursor().seek("latest")
    holder.put_back(holder.source)
    holder.run()
    assert holder.ids() == [1, 2]
    holder.add(3)
    holder.run()
    assert holder.ids() == [1, 2, 3]


def test_a_source_from_before_the_cursor_and_with_other_commits_is_refused(holder: Holder) -> None:
    holder.back_up()
    holder.add(2)
    holder.add(3)
    holder.run()
    holder.put_back(holder.source)
    refused(holder)
    for number in (12, 13, 14):
        holder.add(number)
    refused(holder)


def test_another_source_at_the_place_is_refused(holder: Holder) -> None:
    holder.run()
    drop(holder.source)
    holder.add(11)
    refused(holder)
    holder.add(12)
    refused(holder)
    holder.cursor().seek("earliest")
    holder.run()
    assert holder.ids() == [1, 11, 12]


def test_a_holder_from_a_backup_gets_the_changes_again(holder: Holder) -> None:
    holder.run()
    holder.add(2)
    holder.run()
    holder.back_up()
    for number in (3, 4):
        holder.add(number)
        holder.run()
    holder.put_back(holder.place)
    assert holder.ids() == [1, 2]
    holder.run()
    assert holder.ids() == [1, 2, 3, 4]
    holder.run()
    assert holder.ids() == [1, 2, 3, 4]


def test_a_target_that_was_restored_gets_the_changes_again(tmp_path: Path) -> None:
    holder = Target(tmp_path)
    for number in (1, 2, 3):
        holder.add(number)
        holder.run()
    lance_sql.open(holder.place).restore(2)
    holder.add(4)
    holder.run()
    assert holder.ids() == [1, 2, 3, 4]


def _made_again(holder: Target) -> None:
    drop(holder.place)
    lance_sql.write({"id": [0]}, holder.place)


def _restored(holder: Target) -> None:
    lance_sql.open(holder.place).restore(1)


def _empty(holder: Target) -> None:
    lance_sql.write({"id": [0]}, holder.place)


LOST: Final[tuple[tuple[Callable[[Any], None] | None, Callable[[Any], None], list[int]], ...]] = (
    (None, lambda holder: drop(holder.place), []),
    (None, _made_again, [0]),
    (_empty, _restored, [0]),
)


@pytest.mark.parametrize(("begins", "loses", "rows"), LOST)
@pytest.mark.parametrize("has_new", [False, True])
def test_a_target_that_lost_its_position_is_not_filled_with_the_rest(
    tmp_path: Path, begins: Callable[..., None] | None, loses: Callable[..., None], rows: list[int], has_new: bool
) -> None:
    holder = Target(tmp_path)
    if begins is not None:
        begins(holder)
    for number in (1, 2):
        holder.add(number)
        holder.run()
    loses(holder)
    if has_new:
        holder.add(3)
    with pytest.raises(VersionNotFound, match=r"up to version 2 to a target, but .*target\.lance lacks them"):
        holder.run()
    assert (holder.ids() if holder.place.exists() else []) == rows
    holder.cursor().seek("earliest")
    holder.run()
    assert holder.ids() == sorted([*rows, 1, 2, *([3] if has_new else [])])


def test_another_target_is_not_filled_with_the_rest(tmp_path: Path) -> None:
    holder = Target(tmp_path)
    holder.add(1)
    holder.run()
    with (
        pytest.raises(VersionNotFound, match=r"other\.lance lacks them"),
        holder.cursor().read(target=tmp_path / "other.lance"),
    ):
        pass


def test_runs_that_write_nothing_leave_a_target_alone(tmp_path: Path) -> None:
    """The target is behind the cursor, or not there at all, and lacks nothing."""
    holder = Target(tmp_path)
    holder.add(1)
    with holder.cursor().read(target=holder.place):
        pass
    holder.add(2)
    with holder.cursor().read(target=holder.place):
        pass
    holder.add(3)
    holder.run()
    assert holder.ids() == [3]
    holder.add(4)
    with holder.cursor().read(target=holder.place):
        pass
    holder.add(5)
    holder.run()
    assert holder.ids() == [3, 5]


def test_a_run_from_before_a_seek_commits_nothing_after_it(tmp_path: Path) -> None:
    holder = Target(tmp_path)
    holder.add(1)
    old = holder.cursor().peek()
    holder.cursor().seek("earliest")
    holder.run()
    with pytest.raises(CommitConflict, match="from a later seek"):
        lance_sql.write(old.scan(["id"]), holder.place, mode="append", properties=old.properties)
    assert holder.ids() == [1]


def test_a_target_has_one_position_of_a_cursor(tmp_path: Path) -> None:
    holder = Target(tmp_path)
    for number in (1, 2, 3):
        holder.add(number)
        holder.cursor().seek(number)
        holder.run()
    cursor = holder.cursor()
    cursor.drop()
    holder.add(4)
    lance_sql.open(holder.source).cursors.open("copy", start=4)
    holder.run()
    assert holder.ids() == [1, 2, 3, 4]
    config = lance_sql.open(holder.place).snapshot.manifest.config
    assert sum(key.startswith("lance_sql.consumed.") for key in config) == 1


def test_a_position_after_a_seek_is_published(tmp_path: Path) -> None:
    holder = Target(tmp_path)
    holder.add(1)
    holder.run()
    target = lance_sql.open(holder.place)
    target.branches.create("load")
    holder.add(2)
    holder.cursor().seek(2)
    with holder.cursor().read(target=target) as changes:
        rows = changes.scan(["id"])
        lance_sql.write(rows, holder.place, mode="append", branch="load", properties=changes.properties)
        target.branches.publish("load")
    holder.run()
    assert holder.ids() == [1, 2]
    config = lance_sql.open(holder.place).snapshot.manifest.config
    assert sum(key.startswith("lance_sql.consumed.") for key in config) == 1


def test_tables_and_names_have_cursors_of_their_own(tmp_path: Path) -> None:
    """Several sources, and several cursors of one source, fill one target."""
    expected = []
    for number, (name, cursor) in enumerate([("a", "x"), ("b", "x"), ("b", "y"), ("a", "x"), ("b", "x")]):
        source = tmp_path / f"{name}.lance"
        if number == 1:
            # a copy of the other source
            shutil.copytree(tmp_path / "a.lance", source, ignore=shutil.ignore_patterns("_cursors"))
        lance_sql.write({"id": [number]}, source, mode=mode_of(source))
        handle, target = lance_sql.open(source).cursors.open(cursor, start="earliest"), tmp_path / "target.lance"
        with handle.read(target=target) as changes:
            expected += changes.scan(["id"]).to_table()["id"].to_pylist()
            lance_sql.write(changes.scan(["id"]), target, mode=mode_of(target), properties=changes.properties)
    assert sorted(lance_sql.open(tmp_path / "target.lance").to_table()["id"].to_pylist()) == sorted(expected)
    assert sorted(expected) == [0, 0, 0, 1, 1, 2, 2, 3, 4]


def test_a_cursor_of_an_earlier_release_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its id has no order, and its record does not contain what was delivered."""
    holder = Target(tmp_path)
    holder.add(1)
    with monkeypatch.context() as patched:
        patched.setattr(cursor_ids, "first", lambda name, place: "5c1f" * 8)
        holder.run()
    for record in (holder.source / "_cursors" / "copy").iterdir():
        content = json.loads(record.read_text())
        del content["delivered"]
        record.write_text(json.dumps(content))
    holder.add(2)
    holder.run()
    assert holder.ids() == [1, 2]
    holder.back_up()
    holder.cursor().seek(2)
    holder.run()
    assert holder.ids() == [1, 2, 2]
    holder.put_back(holder.source)
    refused(holder)


def test_ids_follow_each_other_on_machines_with_other_clocks(monkeypatch: pytest.MonkeyPatch) -> None:
    ids = [cursor_ids.first("job", "commit")]
    for now in (2_000, 1_000, 1_000, 3_000, 0):
        monkeypatch.setattr("time.time_ns", lambda now=now: now * 10**15)
        ids.append(cursor_ids.following(ids[-1]))
    assert all(cursor_ids.is_later(later, id) for id, later in itertools.pairwise(ids))
    assert len({cursor_ids.family(id) for id in ids}) == 1
    earlier_release = "5c1f0a" * 5
    assert cursor_ids.is_later(cursor_ids.following(earlier_release), earlier_release)
    assert not cursor_ids.is_later(ids[1], earlier_release)
