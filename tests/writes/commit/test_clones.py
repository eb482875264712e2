"""Clones, branches and tags, made here and used by pylance, and the other way round."""

from __future__ import annotations

from pathlib import Path

import lance
import pytest

import lance_sql
from lance_sql.errors import InvalidArgument, TableExists, VersionNotFound
from lance_sql.table import refs
from lance_sql.table.open_snapshot import open_snapshot
from lance_sql.table.snapshot import Snapshot
from lance_sql.writes.commit.clones import create_branch, delete_branch, shallow_clone
from lance_sql.writes.commit.committer import commit
from lance_sql.writes.commit.operations import Append
from tests.writes.commit.tables import created, deletion, fragments, keys, latest, table


@pytest.fixture
def root(tmp_path: Path) -> str:
    return str(tmp_path / "t.lance")


@pytest.fixture
def snapshot(root: str) -> Snapshot:
    """With a deletion file and an index."""
    created(root)
    lance.dataset(root).create_scalar_index("k", "BTREE")
    operation, affected = deletion(latest(root), {0: [1]})
    return commit(latest(root), operation, affected_rows=affected)


def branch_keys(root: str, branch: str) -> list[int]:
    ours = lance_sql.open(root, branch=branch).scan(columns=["k"]).to_table()
    theirs = lance.dataset(root).checkout_version((branch, None)).to_table(columns=["k"])
    assert ours == theirs
    return sorted(ours.column("k").to_pylist())


def test_a_clone_reads_its_source_and_goes_its_own_way(snapshot: Snapshot, root: str, tmp_path: Path) -> None:
    copy = str(tmp_path / "copy.lance")
    made = shallow_clone(snapshot, copy)
    assert made.version == snapshot.version == 3
    assert keys(copy) == [0, 2, 3, 4, 5]
    assert not (tmp_path / "copy.lance" / "data").exists()
    assert lance.dataset(copy).to_table(filter="k = 4").num_rows == 1
    commit(made, Append(fragments(copy, table([6]))))
    lance.dataset(copy).delete("k = 3")
    operation, affected = deletion(latest(copy), {0: [2]})
    commit(latest(copy), operation, affected_rows=affected)
    assert keys(copy) == [0, 4, 5, 6]
    assert keys(root) == [0, 2, 3, 4, 5]
    with pytest.raises(TableExists):
        shallow_clone(snapshot, copy)
    again = shallow_clone(latest(copy), str(tmp_path / "again.lance"))
    assert [base.id for base in again.manifest.base_paths.values()] == [0, 1]
    assert keys(tmp_path / "again.lance") == [0, 4, 5, 6]
    lance.dataset(str(tmp_path / "again.lance")).optimize.compact_files()
    assert keys(tmp_path / "again.lance") == [0, 4, 5, 6]


def test_pylance_clones_what_we_cloned(snapshot: Snapshot, tmp_path: Path) -> None:
    first = str(tmp_path / "first.lance")
    shallow_clone(snapshot, first)
    lance.dataset(first).shallow_clone(str(tmp_path / "second.lance"), 3)
    shallow_clone(latest(tmp_path / "second.lance"), str(tmp_path / "third.lance"))
    assert keys(tmp_path / "third.lance") == [0, 2, 3, 4, 5]


def test_a_branch_is_made_and_changed_by_both(snapshot: Snapshot, root: str) -> None:
    made = create_branch(snapshot, "dev/x")
    assert (made.version, made.branch, made.manifest.branch) == (3, "dev/x", "dev/x")
    assert branch_keys(root, "dev/x") == [0, 2, 3, 4, 5]
    commit(made, Append(fragments(root + "/tree/dev/x", table([6]))))
    theirs = lance.dataset(root).checkout_version(("dev/x", None))
    theirs.delete("k = 0")
    assert branch_keys(root, "dev/x") == [2, 3, 4, 5, 6]
    assert keys(root) == [0, 2, 3, 4, 5]
    branch = lance.dataset(root).branches.list()["dev/x"]
    assert (branch["parent_version"], branch["parent_branch"]) == (3, None)
    assert lance_sql.open(root).branches.list()["dev/x"].version == 3


def test_branches_of_branches_have_parents(snapshot: Snapshot, root: str) -> None:
    create_branch(snapshot, "dev")
    theirs = lance.dataset(root).checkout_version(("dev", None))
    theirs.delete("k = 0")
    create_branch(open_snapshot(root, branch="dev"), "dev/more")
    lance.dataset(root).checkout_version(("dev/more", None)).create_branch("third")
    assert branch_keys(root, "dev/more") == branch_keys(root, "third") == [2, 3, 4, 5]
    listed = lance.dataset(root).branches.list()
    assert {name: listed[name]["parent_branch"] for name in listed} == {
        "dev": None, "dev/more": "dev", "third": "dev/more",
    }  # fmt: skip
    with pytest.raises(Exception, match="referenced"):
        lance.dataset(root).branches.delete("dev")


def test_a_branch_is_deleted_when_nothing_needs_it(snapshot: Snapshot, root: str) -> None:
    create_branch(snapshot, "dev")
    create_branch(open_snapshot(root, branch="dev"), "dev/more")
    with pytest.raises(InvalidArgument, match="delete branch 'dev/more' first"):
        delete_branch(snapshot, "dev")
    delete_branch(snapshot, "dev/more")
    refs.create_tag(snapshot.main, "t", 3, branch="dev", manifest_size=1)
    with pytest.raises(InvalidArgument, match="delete tag 't' first"):
        delete_branch(snapshot, "dev")
    refs.delete_tag(snapshot.main, "t")
    delete_branch(snapshot, "dev")
    assert not [path for path in (Path(root) / "tree").rglob("*") if path.is_file()]
    assert lance.dataset(root).branches.list() == {}
    with pytest.raises(VersionNotFound):
        delete_branch(snapshot, "dev")
    create_branch(snapshot, "dev")
    assert branch_keys(root, "dev") == [0, 2, 3, 4, 5]


def test_a_branch_below_another_one_stays(snapshot: Snapshot, root: str) -> None:
    create_branch(snapshot, "dev")
    create_branch(snapshot, "dev/more")
    delete_branch(snapshot, "dev")
    assert branch_keys(root, "dev/more") == [0, 2, 3, 4, 5]


def test_names_of_branches_are_taken_once(snapshot: Snapshot) -> None:
    create_branch(snapshot, "dev")
    with pytest.raises(InvalidArgument, match="already"):
        create_branch(snapshot, "dev")


@pytest.mark.parametrize(
    "name", ["main", "a..b", "a/", "/a", "a//b", "x.lock", "a b", "", "a%2Fb", "..", "a/../b", "\u00e9"]
)
def test_names_that_branches_cannot_have(snapshot: Snapshot, name: str) -> None:
    with pytest.raises(InvalidArgument, match="cannot be the name of a branch"):
        create_branch(snapshot, name)


@pytest.mark.parametrize("name", ["a..b", "a/b", ".a", "a.", "x.lock", "a b", "", "a%2Fb", "\u00e9"])
def test_names_that_tags_cannot_have(snapshot: Snapshot, name: str) -> None:
    with pytest.raises(InvalidArgument, match="cannot be the name of a tag"):
        refs.create_tag(snapshot.main, name, 1, branch=None, manifest_size=1)


def test_tags_are_made_moved_and_deleted(snapshot: Snapshot, root: str) -> None:
    refs.create_tag(snapshot.main, "t", 1, branch=None, manifest_size=407)
    assert lance.dataset(root).tags.list()["t"]["version"] == 1
    assert lance.dataset(root, version="t").version == lance_sql.open(root, tag="t").version == 1
    with pytest.raises(InvalidArgument, match="Tag 't' exists already"):
        refs.create_tag(snapshot.main, "t", 2, branch=None, manifest_size=1)
    lance.dataset(root).tags.update("t", 2)
    before = refs.tags(snapshot.main)["t"]
    refs.move_tag(snapshot.main, "t", 3, branch=None, manifest_size=408)
    after = refs.tags(snapshot.main)["t"]
    assert (before.version, after.version) == (2, 3)
    assert before.created_at == after.created_at
    assert lance.dataset(root, version="t").version == 3
    refs.delete_tag(snapshot.main, "t")
    assert lance.dataset(root).tags.list() == {}
    with pytest.raises(VersionNotFound, match="No tag 't'"):
        refs.delete_tag(snapshot.main, "t")
    with pytest.raises(VersionNotFound, match="No tag 't'"):
        refs.move_tag(snapshot.main, "t", 3, branch=None, manifest_size=408)
