"""Tables of every release and kind: a commit on top of them is read by pylance and by us, or refused by name."""

from __future__ import annotations

import shutil
from pathlib import Path

import lance
import pytest

import lance_sql
from lance_sql.errors import UnsupportedFeature
from lance_sql.table.open_snapshot import open_snapshot
from lance_sql.table.snapshot import Snapshot
from lance_sql.values.arrays import U32
from lance_sql.writes.commit.committer import commit
from lance_sql.writes.commit.operations import Operation, Restore, UpdateConfig, UpdateMap
from tests.conftest import Case
from tests.writes.commit.tables import deletion


def first_row(snapshot: Snapshot) -> tuple[Operation, dict[int, U32]] | None:
    """The deletion of the first live row."""
    for fragment in snapshot.manifest.fragments:
        opened = snapshot.open(fragment)
        gone = set(opened.deletions.tolist())
        live = next((row for row in range(opened.num_rows) if row not in gone), None)
        if live is not None:
            return deletion(snapshot, {fragment.id: [live]})
    return None


def test_commits_on_top_of_the_corpus(corpus_case: Case, tmp_path: Path) -> None:
    root = str(tmp_path / "t.lance")
    shutil.copytree(corpus_case.table, root, symlinks=True)
    try:
        before = lance.dataset(root).count_rows()
        rows = lance_sql.open(root).count_rows()
    except Exception:
        pytest.skip("not readable by both")
    if before != rows:
        pytest.skip("counted differently by both")
    snapshot = open_snapshot(root)
    version = snapshot.version
    try:
        snapshot = commit(snapshot, UpdateConfig(UpdateMap({"a": "b"})))
    except UnsupportedFeature:
        assert open_snapshot(root).version == version
        return
    assert lance.dataset(root).config()["a"] == "b"
    check(root, rows)
    found = first_row(snapshot)
    if found is not None:
        operation, affected = found
        commit(snapshot, operation, affected_rows=affected)
        check(root, rows - 1)
    commit(snapshot, Restore(version))
    check(root, rows)
    theirs = lance.dataset(root)
    theirs.update_config({"c": "d"})
    assert lance.dataset(root).version == open_snapshot(root).version


def check(root: str, num_rows: int) -> None:
    theirs = lance.dataset(root)
    assert lance_sql.open(root).count_rows() == num_rows
    assert theirs.count_rows() == num_rows
    assert theirs.scanner(columns=[], with_row_id=True).to_table().num_rows == num_rows
