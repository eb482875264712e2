"""Every way to write a table means one root and branch, also after the process has changed its folder."""

from __future__ import annotations

import os
import pickle
import urllib.parse
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

import lance
import pyarrow as pa
import pytest

import lance_sql
from lance_sql import Dataset, InvalidArgument

WAYS: dict[str, Callable[[Path], str]] = {
    "path": str,
    "slash": lambda place: f"{place}/",
    "dots": lambda place: f"{place}/../{place.name}",
    "relative": lambda place: os.path.relpath(place),
    "file": lambda place: f"file://{urllib.parse.quote(str(place))}",
    "file and dots": lambda place: f"file://{urllib.parse.quote(str(place))}/x/..",
    "link": lambda place: _link(place, place.parent / "a link"),
    "link above": lambda place: f"{_link(place.parent, _above(place) / 'above')}/{place.name}",
}


def _link(place: Path, link: Path) -> str:
    if not link.is_symlink():
        link.symlink_to(place)
    assert link.resolve() == place.resolve()
    return str(link)


def _above(place: Path) -> Path:
    return next(each for each in place.parents if (each / "a b").exists())


def ids(table: Dataset) -> list[int]:
    found: list[int] = sorted(table.to_table()["id"].to_pylist())
    return found


@pytest.fixture(params=["dev", "etl/data"])
def name(request: pytest.FixtureRequest) -> str:
    found: str = request.param
    return found


@pytest.fixture
def root(tmp_path: Path, name: str) -> Path:
    """A table with the ids 0 on main, and 0, 1, 2 on a branch, whose version with 0, 1 has a tag and a child."""
    root = tmp_path / "a b" / "c" / "t.lance"
    root.parent.mkdir(parents=True)
    made = lance.write_dataset(pa.table({"id": [0]}), root, enable_stable_row_ids=True).create_branch(name)
    lance.write_dataset(pa.table({"id": [1]}), made.uri, mode="append")
    made.tags.create("one", (name, 2))
    lance_sql.open(root, tag="one").branches.create("child")
    lance_sql.write({"id": [2]}, root, mode="append", branch=name)
    return root


@pytest.mark.parametrize("way", WAYS)
def test_the_folder_of_a_branch_is_the_branch(root: Path, name: str, way: str) -> None:
    place = WAYS[way](root / "tree" / name)
    branch = lance_sql.open(place)
    assert branch.branch == name
    assert branch.tags.list().keys() == {"one"}
    assert branch.branches.list().keys() == {name, "child"}
    assert ids(branch) == [0, 1, 2]
    assert ids(lance_sql.open(place, tag="one")) == [0, 1]
    assert ids(lance_sql.open(place, branch="main")) == [0]
    assert ids(lance_sql.open(place, branch="child")) == [0, 1]
    branch.tags.create("two")
    cursor = branch.cursors.open("job", start="latest")
    with pytest.raises(InvalidArgument, match="Tag 'two' exists already"):
        lance_sql.open(root).tags.create("two")
    assert lance.dataset(root).tags.list()["two"]["version"] == branch.version
    lance_sql.write({"id": [9]}, place, mode="overwrite")
    assert lance_sql.open(root, branch=name).cursors.open("job").position == cursor.position
    lance_sql.open(place).maintenance.cleanup(older_than=timedelta(0), retain_versions=1, max_lag=timedelta(0))
    assert ids(lance_sql.open(root, tag="one")) == [0, 1]
    assert ids(lance_sql.open(root, branch="child")) == [0, 1]
    assert ids(lance_sql.open(root, tag="two")) == [0, 1, 2]
    assert not (root / "tree" / name / "_refs").exists()
    assert not (root / "tree" / name / "_cursors").exists()
    assert lance_sql.verify(root, deep=True).is_healthy


@pytest.mark.parametrize("way", WAYS)
def test_all_ways_to_a_table_are_one_value(root: Path, way: str) -> None:
    table = lance_sql.open(WAYS[way](root))
    assert table.branch is None
    assert os.path.samefile(table.uri, root)
    assert os.path.isabs(table.uri)
    table.branches.create("by-" + way.replace(" ", "-"))
    lance_sql.write({"id": [9]}, WAYS[way](root), mode="append")
    lance_sql.write({"id": [5]}, root, mode="overwrite")
    lance_sql.open(root).maintenance.cleanup(retain_versions=1, max_lag=timedelta(0))
    for branch in lance_sql.open(root).branches.list():
        lance_sql.open(root, branch=branch).to_table()


@pytest.mark.parametrize("way", ["path", "file", "link"])
def test_the_folder_of_a_branch_is_not_dropped_or_renamed(root: Path, name: str, way: str) -> None:
    from lance_sql.table import table_folders

    place = WAYS[way](root / "tree" / name)
    with pytest.raises(InvalidArgument, match=r"is the branch|is a link"):
        table_folders.drop(place)
    with pytest.raises(InvalidArgument, match=r"is the branch|is a link"):
        table_folders.move(place, str(root.parent / "other.lance"))
    assert ids(lance_sql.open(root, branch=name)) == [0, 1, 2]


ACTIONS: dict[str, Callable[[Dataset], object]] = {
    "write": lambda table: lance_sql.write({"id": [9]}, table, mode="append"),
    "overwrite": lambda table: lance_sql.write({"id": [9]}, table, mode="overwrite"),
    "begin_write": lambda table: _two_steps(table),
    "create_branch": lambda table: table.branches.create("new"),
    "delete_branch": lambda table: table.branches.delete("dev"),
    "publish": lambda table: table.branches.publish("dev"),
    "cleanup": lambda table: table.maintenance.cleanup(retain_versions=1),
    "set_rule": lambda table: table.rules.set("ids", "unique(id)"),
    "cursor": lambda table: table.cursors.open("job").read().__enter__(),
    "changes": lambda table: table.changes().count_rows(),
    "clone": lambda table: ids(table.branches.shallow_clone("clone.lance")),
    "view": lambda table: lance_sql.materialize(f"SELECT id FROM '{table.uri}'", table.uri + ".view").refresh(),
}


def _two_steps(table: Dataset) -> object:
    job = lance_sql.begin_write(table.schema, table, mode="append")
    fragments = job.write_fragments({"id": [9]})
    return job.commit(fragments)


@pytest.mark.parametrize("pickled", [False, True])
@pytest.mark.parametrize("action", ACTIONS)
def test_a_handle_of_a_relative_path_stays_with_its_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, action: str, pickled: bool
) -> None:
    for folder, number in (("a", 1), ("b", 2)):
        (tmp_path / folder).mkdir()
        table = lance_sql.write({"id": [number]}, tmp_path / folder / "t.lance")
        table.branches.create("dev")
        lance_sql.write({"id": [10 * number]}, table, mode="append", branch=None)
        lance_sql.write({"id": [100 * number]}, tmp_path / folder / "t.lance", mode="append", branch="dev")
    monkeypatch.chdir(tmp_path / "a")
    handle = lance_sql.open("t.lance")
    text = pickle.dumps(handle)
    other = {path: path.stat().st_mtime_ns for path in (tmp_path / "b" / "t.lance").rglob("*")}
    monkeypatch.chdir(tmp_path / "b")
    ACTIONS[action](pickle.loads(text) if pickled else handle)
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "b" / "t.lance").rglob("*")} == other
    assert lance_sql.verify(tmp_path / "a" / "t.lance", deep=True).is_healthy
    for branch in lance_sql.open(tmp_path / "a" / "t.lance").branches.list():
        lance_sql.open(tmp_path / "a" / "t.lance", branch=branch).to_table()


def test_a_job_and_a_catalog_of_a_relative_path_stay_with_their_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder / "lake").mkdir(parents=True)
        lance_sql.write({"id": [0 if folder == "a" else 7]}, tmp_path / folder / "lake" / "t.lance")
    monkeypatch.chdir(tmp_path / "a")
    job = lance_sql.begin_write(pa.schema([("id", pa.int64())]), "new.lance")
    connection = lance_sql.connect(catalog="lake")
    catalog = lance_sql.catalog("lake")
    monkeypatch.chdir(tmp_path / "b")
    job.commit(job.write_fragments({"id": [1]}))
    assert connection.execute("SELECT id FROM lake.t").fetchall() == [(0,)]
    connection.execute("INSERT INTO lake.t VALUES (5)")
    assert ids(catalog.open("t")) == [0, 5]
    assert ids(lance_sql.open(tmp_path / "a" / "new.lance")) == [1]
    assert ids(lance_sql.open(tmp_path / "b" / "lake" / "t.lance")) == [7]


@pytest.mark.parametrize("name", ["kept", "1", "-1", "both"])
def test_changes_of_a_version_by_its_address_are_refused(tmp_path: Path, name: str) -> None:
    """Each function takes a path; none changes main in place of the version that the path names."""
    table = lance_sql.write({"id": [0]}, tmp_path / "t.lance")
    for each in ("kept", "both"):
        table.tags.create(each)
    table.branches.create("both")
    lance_sql.write({"id": [1]}, table.uri, mode="append")
    path = f"{table.uri}@{name}"
    changes: tuple[Callable[[], object], ...] = (
        lambda: lance_sql.write({"id": [7]}, path, mode="append"),
        lambda: lance_sql.write({"id": [7]}, path, mode="overwrite"),
        lambda: lance_sql.begin_write(table.schema, path, mode="append"),
        lambda: lance_sql.apply_changes(path, {"id": [7]}, "id"),
        lambda: lance_sql.materialize("SELECT 7 AS id", path),
        lambda: table.cursors.open("job").read(target=path).__enter__(),
    )
    for change in changes:
        with pytest.raises(InvalidArgument, match=r"newest version: |is the name of a version|exists already"):
            change()
    assert lance_sql.open(table.uri).version == 2
    assert lance_sql.open(table.uri, branch="both").version == 1


def test_changes_are_delivered_to_a_branch_by_its_address(tmp_path: Path) -> None:
    table = lance_sql.write({"id": [0]}, tmp_path / "t.lance")
    target = lance_sql.write({"id": [0]}, tmp_path / "target.lance")
    target.branches.create("load/1")
    for number in (1, 2):
        with suppress(KeyError), table.cursors.open("job").read(mode="net", target=f"{target.uri}@load/1") as changes:
            lance_sql.apply_changes(f"{target.uri}@load/1", changes, "id")
            raise KeyError("the run dies")
        table = lance_sql.write({"id": [number]}, table, mode="append")
    assert sorted(lance_sql.open(target.uri, branch="load/1").to_table()["id"].to_pylist()) == [0, 1]
    assert lance_sql.open(target.uri).version == 1
