"""Whatever remembers a version notices when another commit has its number."""

from __future__ import annotations

import os
import pickle
import re
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

import lance_sql
from lance_sql import Dataset, LanceError, VersionNotFound

Replace = Callable[[Path], None]


def append(path: Path, *new: int, branch: str | None = None) -> None:
    lance_sql.write({"id": list(new)}, path, mode="append", branch=branch)


class Place:
    """A table or branch with ids 0 to `last`, one a version, that is replaced by another history."""

    def __init__(self, path: Path, kind: str) -> None:
        self.path, self.kind = path, kind
        self.branch = "load" if kind == "branch" else None
        if kind == "branch":
            lance_sql.write({"id": [-1]}, path)
            lance_sql.open(path).branches.create("load")
        self.fill(0, 3)

    def fill(self, *ids: int) -> None:
        for number in ids:
            if self.branch is None:
                mode = "append" if os.path.exists(self.path) else "create"
                lance_sql.write({"id": [number]}, self.path, mode=mode)  # type: ignore[arg-type]  # one of the texts
            else:
                append(self.path, number, branch=self.branch)

    def open(self) -> Dataset:
        return lance_sql.open(self.path, branch=self.branch)

    def replace(self, *ids: int) -> None:
        """Other commits by the same numbers; cursors stay."""
        if self.kind == "branch":
            main = lance_sql.open(self.path)
            main.branches.delete("load")
            main.branches.create("load")
        elif self.kind == "backup":
            shutil.copytree(self.path / "_cursors", self.path.parent / "cursors", dirs_exist_ok=True)
            shutil.rmtree(self.path)
            shutil.copytree(self.path.parent / "backup", self.path)
            shutil.copytree(self.path.parent / "cursors", self.path / "_cursors", dirs_exist_ok=True)
        else:
            for each in self.path.iterdir():
                if each.name != "_cursors":
                    shutil.rmtree(each)
            lance_sql.write({"id": [ids[0]]}, self.path, mode="create")
            ids = ids[1:]
        self.fill(*ids)

    def back_up(self) -> None:
        if self.kind == "backup":
            shutil.copytree(self.path, self.path.parent / "backup")


@pytest.fixture(params=["branch", "backup", "anew"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    return Place(tmp_path / "t.lance", request.param)


@pytest.mark.parametrize("added", [1, 2, 3, 4])
def test_a_cursor_of_another_history_is_an_error(place: Place, added: int) -> None:
    place.back_up()
    cursor = place.open().cursors.open("job")
    place.fill(4, 5)
    with cursor.read() as changes:
        assert changes.count_rows() >= 3
    place.replace(*range(12, 12 + added))
    for mode in ("all", "net"):
        with (
            pytest.raises(VersionNotFound, match="is another commit now"),
            place.open().cursors.open("job").read(mode=mode),
        ):
            pass
    with pytest.raises(VersionNotFound, match="seek"):
        place.open().cursors.open("job").lag()
    place.open().cursors.open("job").seek("snapshot")
    with place.open().cursors.open("job").read() as changes:
        assert changes.count_rows() == place.open().count_rows()


def test_a_target_that_has_changes_of_another_history_is_an_error(place: Place, tmp_path: Path) -> None:
    copy = tmp_path / "copy.lance"
    place.open().cursors.open("job", start="latest")
    place.back_up()
    place.fill(4, 5)
    lance_sql.write({"id": [0]}, copy)
    # the cursor does not move
    changes = place.open().cursors.open("job").peek()
    lance_sql.write(changes.scan(["id"]), copy, mode="append", properties=changes.properties)
    place.replace(12, 13, 14, 15, 16)
    with (
        pytest.raises(VersionNotFound, match="is another commit now"),
        place.open().cursors.open("job").read(target=copy),
    ):
        pass


@pytest.mark.parametrize("added", [1, 3, 5])
def test_a_follower_of_another_history_ends_with_an_error(place: Place, added: int) -> None:
    place.open().cursors.open("job")
    place.back_up()
    place.fill(4, 5)
    followed = place.open().changes().follow(timeout=0, poll=0.01)
    assert len(list(followed)) >= 3
    place.replace(*range(12, 12 + added))
    with pytest.raises(LanceError, match=r"is another commit than|was deleted|was dropped"):
        list(followed)


ACTIONS: dict[str, Callable[[Dataset, Path], object]] = {
    "create_tag": lambda old, _: old.tags.create("mine"),
    "move_tag": lambda old, _: old.tags.move("moving"),
    "restore": lambda old, _: old.restore(),
    "create_branch": lambda old, _: old.branches.create("child"),
    "shallow_clone": lambda old, path: old.branches.shallow_clone(path.parent / "clone.lance"),
}


@pytest.mark.parametrize("pickled", [False, True])
@pytest.mark.parametrize("action", ACTIONS)
def test_a_handle_on_another_history_acts_on_nothing(place: Place, action: str, pickled: bool) -> None:
    place.open().cursors.open("job")
    place.open().tags.create("moving")
    place.back_up()
    place.fill(4)
    old = place.open()
    if pickled:
        old = pickle.loads(pickle.dumps(old))
    if place.kind == "branch":
        old.tags.delete("moving")
    place.replace(12, 13, 14, 15)
    if action == "move_tag":
        place.open().tags.create("moving" if place.kind != "backup" else "other")
    before = sorted(str(each) for each in place.path.rglob("*"))
    with pytest.raises(VersionNotFound, match="is another commit than"):
        ACTIONS[action](old, place.path)
    assert sorted(str(each) for each in place.path.rglob("*")) == before


@pytest.mark.parametrize("what", ["rows", "count", "transaction", "changes"])
def test_a_handle_on_another_history_reads_its_rows_or_raises(place: Place, what: str) -> None:
    place.open().cursors.open("job")
    place.fill(4)
    place.open().delete("id = 3")
    place.back_up()
    place.fill(5)
    old = place.open()
    place.replace(*range(12, 19))
    reads: dict[str, tuple[Callable[[], object], object]] = {
        "rows": (lambda: old.to_table()["id"].to_pylist()[-3:], [0, 4, 5]),
        "count": (lambda: old.count_rows("id >= 0"), 3),
        "transaction": (lambda: old.snapshot.transaction(), ()),
        "changes": (lambda: old.changes().count_rows(), ()),
    }
    read, expected = reads[what]
    outcome: object
    try:
        outcome = read()
    except VersionNotFound as error:
        outcome = str(error)
        expected = re.search(r".*(is another commit than|is gone|was deleted).*", outcome).group()  # type: ignore[union-attr]  # it matches
    assert outcome == expected


@pytest.mark.parametrize("action", ACTIONS)
def test_handles_on_cleaned_up_versions_raise(tmp_path: Path, action: str) -> None:
    old = lance_sql.write({"id": [1]}, tmp_path / "t.lance")
    old.tags.create("moving")
    lance_sql.write({"id": [2]}, old, mode="overwrite").tags.move("moving")
    lance_sql.open(old.uri).maintenance.cleanup(retain_versions=1)
    with pytest.raises(VersionNotFound, match=r"was cleaned up|does not exist"):
        ACTIONS[action](old, tmp_path / "t.lance")
    with pytest.raises(VersionNotFound, match="was cleaned up"):
        old.to_table()


@pytest.mark.parametrize("action", ["changes", "row_history", "create_branch", "create_tag", "to_table"])
def test_handles_on_deleted_branches_raise(tmp_path: Path, action: str) -> None:
    table = lance_sql.write({"id": [1]}, tmp_path / "t.lance")
    table.branches.create("load")
    append(tmp_path / "t.lance", 2, branch="load")
    old = lance_sql.open(table.uri, branch="load")
    table.branches.delete("load")
    actions: dict[str, Callable[[], object]] = {
        "changes": lambda: old.changes(),
        "row_history": lambda: old.row_history(),
        "create_branch": lambda: old.branches.create("child"),
        "create_tag": lambda: old.tags.create("t"),
        "to_table": lambda: old.to_table(),
    }
    with pytest.raises(LanceError, match=r"was deleted|was cleaned up|is missing"):
        actions[action]()


@pytest.mark.parametrize("kind", ["btree", "bitmap"])
@pytest.mark.parametrize("how", ["renamed", "written anew"])
def test_a_handle_does_not_use_the_index_of_a_table_in_its_place(tmp_path: Path, kind: str, how: str) -> None:
    def make(name: str, generation: int) -> Dataset:
        rows = {"id": range(4000), "k": [(i * 7 + generation * 1000) % 5000 for i in range(4000)]}
        return lance_sql.write(rows, tmp_path / name).indices.create("k", kind)

    table = make("t.lance", 1)
    old = lance_sql.open(table.uri)
    expected = lance_sql.open(table.uri, use_indices=False).scan(["id"], "k BETWEEN 100 AND 120").to_table()
    old.scan(["id"]).to_table()
    if how == "renamed":
        make("new.lance", 2)
        os.rename(tmp_path / "t.lance", tmp_path / "old.lance")
        os.rename(tmp_path / "new.lance", tmp_path / "t.lance")
    else:
        shutil.rmtree(tmp_path / "t.lance")
        make("t.lance", 2)
    for read in (
        lambda: old.scan(["id"], "k BETWEEN 100 AND 120").to_table().num_rows,
        lambda: old.count_rows("k BETWEEN 100 AND 120"),
        lambda: old.snapshot.indices() and expected.num_rows,
        lambda: old.snapshot.transaction() and expected.num_rows,
    ):
        with suppress(VersionNotFound):
            assert read() == expected.num_rows
