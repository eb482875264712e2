"""Cleaning up: what goes, and what never does."""

from __future__ import annotations

import os
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import lance
import pytest

import lance_sql
from lance_sql.errors import CorruptFile, InvalidArgument, RetryableConflict
from lance_sql.table import refs
from lance_sql.table.open_snapshot import open_snapshot
from lance_sql.table.snapshot import Snapshot
from lance_sql.writes.commit.cleanup import execute, plan
from lance_sql.writes.commit.clones import create_branch, shallow_clone
from lance_sql.writes.commit.committer import commit
from lance_sql.writes.commit.operations import Append, Delete, Restore
from tests.writes.commit.tables import created, deletion, fragments, keys, latest, rows, table

LATER = datetime.now(UTC) + timedelta(days=30)


@pytest.fixture
def root(tmp_path: Path) -> str:
    """Six versions: created, deleted from, indexed, updated, compacted (two)."""
    path = str(tmp_path / "t.lance")
    created(path)
    operation, affected = deletion(latest(path), {0: [1]})
    commit(latest(path), operation, affected_rows=affected)
    lance.dataset(path).create_scalar_index("k", "BTREE")
    lance.dataset(path).update({"v": "'x'"}, where="k = 0")
    lance.dataset(path).optimize.compact_files()
    assert latest(path).version == 6
    return path


def files(root: str) -> set[str]:
    return {str(path.relative_to(root)) for path in Path(root).rglob("*") if path.is_file()}


def versions(root: str) -> list[int]:
    return [info.version for info in lance_sql.open(root).versions()]


def test_old_versions_go_and_the_latest_stays(root: str) -> None:
    before = rows(root)
    all_files = files(root)
    planned = plan(latest(root), now=LATER)
    assert files(root) == all_files
    assert [file.version for file in planned.versions] == [1, 2, 3, 4, 5]
    execute(planned)
    assert versions(root) == [6]
    assert rows(root) == before
    left = files(root)
    records = {path for path in all_files - left if path.startswith("_checksums/")}
    assert all_files - left - records == {*planned.files, *(file.path for file in planned.versions)}
    needed = {f"data/{file.path}" for fragment in latest(root).manifest.fragments for file in fragment.files}
    assert {path for path in left if path.startswith("data/")} == needed
    assert not [path for path in left if path.startswith("_deletions/")]
    assert len({path.split("/")[1] for path in left if path.startswith("_indices/")}) == 1
    assert len(list(Path(root, "_indices").iterdir())) == 1
    assert lance.dataset(root).to_table(filter="k = 4").num_rows == 1
    lance.write_dataset(table([9]), root, mode="append")
    assert 9 in keys(root)


def test_nothing_young_goes(root: str) -> None:
    planned = plan(latest(root))
    assert (planned.versions, planned.files, planned.num_bytes) == ((), (), 0)
    execute(planned)
    assert versions(root) == [1, 2, 3, 4, 5, 6]


def test_some_versions_are_kept(root: str) -> None:
    content = {version: rows(root, version) for version in (4, 5, 6)}
    execute(plan(latest(root), retain_versions=3))
    assert versions(root) == [4, 5, 6]
    assert {version: rows(root, version) for version in (4, 5, 6)} == content
    planned = plan(latest(root), older_than=timedelta(days=60), retain_versions=1, now=LATER)
    assert planned.versions == ()


def test_versions_with_tags_and_branches_stay(root: str) -> None:
    content = {version: rows(root, version) for version in (1, 3, 6)}
    refs.create_tag(latest(root).main, "t", 1, branch=None, manifest_size=1)
    create_branch(open_snapshot(root, version=3), "dev")
    execute(plan(latest(root), now=LATER, max_lag=timedelta(0)))
    assert versions(root) == [1, 3, 6]
    assert {version: rows(root, version) for version in (1, 3, 6)} == content
    assert lance.dataset(root).checkout_version(("dev", None)).count_rows() == len(content[3])


def test_files_of_later_versions_of_a_branch_stay(root: str) -> None:
    branch = create_branch(open_snapshot(root, version=2), "dev")
    commit(branch, Append(fragments(root + "/tree/dev", table([50]))))
    lance.dataset(root).checkout_version(("dev", None)).delete("k = 2")
    # On the branch the first version goes, which says where the branch begins.
    dev = open_snapshot(root, branch="dev")
    before = lance_sql.open(root, branch="dev").scan().to_table()
    execute(plan(dev, now=LATER, max_lag=timedelta(0)))
    assert [info.version for info in lance_sql.open(root, branch="dev").versions()] == [4]
    execute(plan(latest(root), now=LATER, max_lag=timedelta(0)))
    assert versions(root) == [2, 6]
    assert lance_sql.open(root, branch="dev").scan().to_table() == before
    assert lance.dataset(root).checkout_version(("dev", None)).to_table() == before
    assert len(keys(root)) == 5


def test_leftovers_go_after_a_week(root: str) -> None:
    young = ["data/young.lance", "_deletions/0-9-1.bin", "_transactions/9-x.txn", "_indices/young/x.lance"]
    old = ["data/old.lance", "data/old/1.blob", "_deletions/0-9-2.bin", "_transactions/9-y.txn", "_indices/old/x.lance"]
    young.append("_versions/.tmp_9.manifest_young")
    old.append("_versions/.tmp_9.manifest_old")
    other = ["notes.txt", "_blobs/x.blob"]
    for path in (*young, *old, *other):
        (Path(root) / path).parent.mkdir(exist_ok=True)
        (Path(root) / path).write_bytes(b"12345")
    eight_days_ago = time.time() - 8 * 24 * 3600
    for path in (*old, *other, *(name for name in files(root) if name.startswith("data/") and len(name) > 30)):
        os.utime(Path(root) / path, (eight_days_ago, eight_days_ago))
    planned = plan(latest(root))
    assert sorted(planned.files) == sorted(old)
    execute(planned)
    assert {*young, *other} <= files(root)
    assert len(keys(root)) == 5


def test_blobs_go_with_their_data_file(tmp_path: Path) -> None:
    root = str(tmp_path / "t.lance")
    snapshot = created(root)
    for fragment in snapshot.manifest.fragments:
        folder = Path(root) / "data" / fragment.files[0].path.removesuffix(".lance")
        folder.mkdir()
        (folder / "1.blob").write_bytes(b"12345")
    operation, affected = deletion(snapshot, {0: [0, 1, 2]})
    commit(snapshot, operation, affected_rows=affected)
    execute(plan(latest(root), now=LATER))
    assert len([path for path in files(root) if path.endswith(".blob")]) == 1
    assert len([path for path in files(root) if path.startswith("data/")]) == 2


def test_a_version_that_got_a_tag_meanwhile_stays(root: str) -> None:
    planned = plan(latest(root), now=LATER)
    refs.create_tag(latest(root).main, "t", 2, branch=None, manifest_size=1)
    before = files(root)
    with pytest.raises(RetryableConflict, match="version 2 has a new tag, branch or cursor"):
        execute(planned)
    assert files(root) == before


def test_files_that_a_new_version_needs_stay(root: str) -> None:
    planned = plan(latest(root), now=LATER)
    commit(latest(root), Restore(1))
    execute(planned)
    assert keys(root) == [0, 1, 2, 3, 4, 5]
    assert versions(root) == [6, 7]


def test_a_table_with_a_version_that_cannot_be_read_is_left_alone(root: str) -> None:
    path = Path(root) / open_snapshot(root, version=3).manifest_path
    path.write_bytes(path.read_bytes()[:-5])
    with pytest.raises(CorruptFile, match=r"^t\.lance version 3: _versions/.* LANC: .* so nothing is removed: restore"):
        plan(latest(root), now=LATER)


def test_arguments_are_checked(root: str) -> None:
    for wrong in (0, -1):
        with pytest.raises(InvalidArgument):
            plan(latest(root), retain_versions=wrong)
    with pytest.raises(InvalidArgument):
        plan(latest(root), older_than=timedelta(days=-1))


def test_a_clone_is_cleaned_without_its_source(root: str, tmp_path: Path) -> None:
    copy = str(tmp_path / "copy.lance")
    clone: Snapshot = shallow_clone(latest(root), copy)
    commit(commit(clone, Delete()), Append(fragments(copy, table([70]))))
    before = files(root)
    execute(plan(latest(copy), now=LATER))
    assert files(root) == before
    assert versions(copy) == [8]
    assert 70 in keys(copy)


def test_writers_go_on_while_old_versions_go(root: str) -> None:
    snapshot = latest(root)
    execute(plan(commit(snapshot, Delete()), retain_versions=1))
    assert commit(snapshot, Append(fragments(root, table([70])))).version == 8
