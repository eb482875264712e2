"""A newest manifest that is damaged: an earlier version is made the newest one again, and nothing is given twice."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path

import lance
import pytest
from click.testing import CliRunner

import lance_sql
from lance_sql import CommitConflict, CorruptFile, VersionNotFound
from lance_sql.cli.main import main
from lance_sql.store import LocalStore, PutMode, Store
from lance_sql.table import table_folders, versions
from lance_sql.table.open_snapshot import list_snapshots
from lance_sql.table.versions import VersionFile
from lance_sql.writes.commit.committer import commit
from lance_sql.writes.commit.operations import Append, ReserveFragments, Restore
from tests.writes.commit.failing_store import FailingStore, on
from tests.writes.commit.tables import created, extend_with_pylance, fragments, history, keys, latest, table


def manifest(root: Path, version: int) -> Path:
    found = {snapshot.version: snapshot.manifest_path for snapshot in list_snapshots(root)}
    return root / found[version]


def overwrite(root: Path, version: int, change: Callable[[bytes], bytes]) -> None:
    path = manifest(root, version)
    path.write_bytes(change(path.read_bytes()))


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda content: b"",
    "cut": lambda content: content[: len(content) // 2],
    "zeros": lambda content: bytes(len(content)),
    "message": lambda content: content[:-40] + b"\xff" * 24 + content[-16:],
}


@pytest.fixture(params=[True, False], ids=["stable", "addresses"])
def root(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Three versions; the last one has appended the keys 8 and 9, and a row of key 0 is gone."""
    path = tmp_path / "t.lance"
    snapshot = created(path, stable_row_ids=request.param)
    made = commit(snapshot, Append(fragments(path, table([6, 7]))))
    commit(made, Append(fragments(path, table([8, 9]))))
    return path


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_restore_goes_above_a_damaged_version(root: Path, damage: str, caplog: pytest.LogCaptureFixture) -> None:
    before = latest(root).manifest
    overwrite(root, 3, DAMAGES[damage])
    with pytest.raises(CorruptFile, match="whose manifest can be read is 2"):
        lance_sql.open(root)
    with caplog.at_level(logging.WARNING, "lance_sql"):
        made = lance_sql.open(root, version=2).restore()
    assert "version 3 cannot be read" in caplog.text
    assert "version 4 is version 2 again" in caplog.text
    assert made.version == 4
    assert keys(root) == list(range(8))
    after = latest(root).manifest
    assert before.max_fragment_id is not None
    assert after.max_fragment_id is not None
    assert after.max_fragment_id > before.max_fragment_id
    more = lance_sql.write(table([20]), root, mode="append")
    assert more.snapshot.manifest.fragments.ids[-1] > before.max_fragment_id
    if before.has_stable_row_ids:
        assert history(root)[20][0] >= before.next_row_id
    extend_with_pylance(root)
    assert [problem.versions for problem in lance_sql.verify(root).problems] == [(3,)]


def test_versions_name_the_damaged_one(root: Path) -> None:
    overwrite(root, 3, DAMAGES["cut"])
    shown = lance_sql.open(root, version=2).versions()
    assert [info.version for info in shown] == [1, 2, 3]
    assert [info.damage is None for info in shown] == [True, True, False]
    assert (shown[2].timestamp, shown[2].operation) == (None, None)


def test_several_damaged_versions_and_ids_that_were_reserved(root: Path) -> None:
    commit(latest(root), ReserveFragments(5_000_000))
    given = commit(latest(root), Append(fragments(root, table([30])))).manifest
    for version in (3, 4, 5):
        overwrite(root, version, DAMAGES["empty"])
    made = lance_sql.open(root, version=1).restore()
    assert made.version == 6
    assert keys(root) == list(range(6))
    new = lance_sql.write(table([31]), root, mode="append").snapshot.manifest
    assert given.max_fragment_id is not None
    assert new.fragments.ids[-1] > given.max_fragment_id
    assert new.next_row_id > given.next_row_id or not given.has_stable_row_ids


def test_nothing_else_writes_beside_a_damaged_version(root: Path) -> None:
    job = lance_sql.begin_write(latest(root).manifest.schema.arrow, root, mode="append")
    new = job.write_fragments(table([40]))
    commit(latest(root), Append(fragments(root, table([41]))))
    overwrite(root, 4, DAMAGES["cut"])
    stale = lance_sql.open(root, version=3)
    changes: list[Callable[[], object]] = [
        lambda: stale.delete("k = 1"),
        lambda: stale.update({"v": "'x'"}, "true"),
        lambda: stale.maintenance.compact(target_rows=100),
        lambda: stale.config.update({"a": "b"}),
        lambda: lance_sql.write(table([1]), root, mode="append"),
        lambda: lance_sql.write(table([1]), root, mode="overwrite"),
        lambda: job.commit(new),
    ]
    for change in changes:
        with pytest.raises(CorruptFile):
            change()
    assert len(list((root / "_versions").glob("*.manifest"))) == 4
    stale.restore()
    with pytest.raises(CommitConflict, match="version 4: its transaction is missing or unreadable"):
        job.commit(new)
    assert keys(root) == list(range(10))


def test_unreadable_versions_are_not_restored(root: Path) -> None:
    overwrite(root, 3, DAMAGES["cut"])
    stale = lance_sql.open(root, version=1)
    with pytest.raises(VersionNotFound, match="Version 7 does not exist"):
        stale.restore(7)
    with pytest.raises(CorruptFile):
        stale.restore(3)
    overwrite(root, 2, DAMAGES["empty"])
    with pytest.raises(CorruptFile):
        stale.restore(2)
    assert stale.restore(1).version == 4


class Overtaken(FailingStore):
    """Another writer restores right before the first manifest is put."""

    def __init__(self, root: Path) -> None:
        super().__init__(LocalStore(str(root)))
        self.root: Path | None = root

    def put(self, path: str, data: bytes, *, mode: PutMode) -> None:
        if path.startswith("_versions/") and self.root is not None:
            other, self.root = self.root, None
            lance_sql.open(other, version=1).restore()
        super().put(path, data, mode=mode)


def test_two_writers_that_restore_make_two_versions(root: Path) -> None:
    overwrite(root, 3, DAMAGES["cut"])
    made = lance_sql.Dataset(on(Overtaken(root), lance_sql.open(root, version=2).snapshot)).restore()
    assert made.version == 5
    assert keys(root) == list(range(8))
    assert lance_sql.open(root, version=4).count_rows() == 6


def test_a_table_that_is_dropped_during_a_restore_is_not_damaged(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    newest = latest(root)
    assert newest.manifest.version == 3
    find = versions.find_version

    def find_then_drop(store: Store, version: int) -> VersionFile | None:
        found = find(store, version)
        if found is not None:
            table_folders.drop(str(root))
        return found

    monkeypatch.setattr(versions, "find_version", find_then_drop)
    with pytest.raises(VersionNotFound):
        commit(newest, Restore(1))


def test_a_version_that_is_gone_is_not_damaged(root: Path) -> None:
    *_, unread = list_snapshots(root)
    table_folders.drop(str(root))
    with pytest.raises(VersionNotFound, match="it was cleaned up, or the table was dropped"):
        _ = unread.manifest


def test_a_damaged_index_section_of_the_newest_version_does_not_count(tmp_path: Path) -> None:
    root = tmp_path / "t.lance"
    lance.write_dataset(table(range(10)), root)
    lance.dataset(root).create_scalar_index("k", "BTREE")
    made = lance.dataset(root)
    section = latest(root).manifest.index_section
    assert section is not None
    overwrite(root, made.version, lambda content: content[:section] + b"\xff" * 4 + content[section + 4 :])
    assert lance_sql.open(root).restore(1).version == made.version + 1
    assert keys(root) == list(range(10))


def test_the_command_line_restores(root: Path) -> None:
    overwrite(root, 3, DAMAGES["cut"])
    shown = CliRunner().invoke(main, ["versions", f"{root}@2"])
    assert shown.exit_code == 0
    assert "(damaged)" in shown.stdout
    dry = CliRunner().invoke(main, ["restore", f"{root}@2", "--dry-run"])
    assert "version 3, which is damaged" in dry.stderr
    assert "to version 2 (8 rows)" in dry.stderr
    done = CliRunner().invoke(main, ["restore", f"{root}@2", "--yes"])
    assert done.exit_code == 0
    assert done.stderr.endswith("t.lance is at version 4\n")
    assert CliRunner().invoke(main, ["restore", f"{root}@3", "--yes"]).exit_code == 3
