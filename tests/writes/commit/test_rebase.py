"""Commits from a version that is no longer the latest: ours over pylance's, pylance's over ours, ours over ours."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import lance
import pytest

from lance_sql.errors import CommitConflict, RetryableConflict, UnsupportedFeature
from lance_sql.format.schema import Field, Schema
from lance_sql.format.schema.from_arrow import from_arrow
from lance_sql.table.fragment import DeletionFileType
from lance_sql.table.snapshot import Snapshot
from lance_sql.writes.commit.committer import commit
from lance_sql.writes.commit.operations import (
    Append,
    Clone,
    Delete,
    Merge,
    Other,
    Overwrite,
    Project,
    UpdateBases,
    UpdateConfig,
    UpdateMap,
)
from tests.writes.commit.tables import (
    created,
    deletion,
    extend_with_pylance,
    fragments,
    history,
    keys,
    latest,
    rows,
    table,
    update,
)


@pytest.fixture
def root(tmp_path: Path) -> str:
    return str(tmp_path / "t.lance")


@pytest.fixture(params=[True, False], ids=["stable", "addresses"])
def snapshot(request: pytest.FixtureRequest, root: str) -> Snapshot:
    return created(root, stable_row_ids=request.param)


def test_deletes_of_different_rows_are_joined(snapshot: Snapshot, root: str) -> None:
    ours, affected = deletion(snapshot, {0: [1], 1: [0]})
    lance.dataset(root).delete("k = 2")
    made = commit(snapshot, ours, affected_rows=affected)
    assert keys(root) == [0, 4, 5]
    first, second = made.manifest.fragments
    assert first.deletion_file is not None
    assert first.deletion_file.file_type is DeletionFileType.BITMAP
    assert (first.deletion_file.read_version, first.deletion_file.num_deleted_rows) == (2, 2)
    assert second.deletion_file == ours.updated_fragments[1].deletion_file
    found = made.transaction()
    assert found is not None
    assert found.read_version == 2
    extend_with_pylance(root)


def test_pylance_joins_its_deletes_with_ours(snapshot: Snapshot, root: str) -> None:
    stale = lance.dataset(root)
    ours, affected = deletion(snapshot, {0: [1]})
    commit(snapshot, ours, affected_rows=affected)
    stale.delete("k = 2")
    assert keys(root) == [0, 3, 4, 5]


def test_a_fragment_that_both_sides_empty_is_removed(snapshot: Snapshot, root: str) -> None:
    ours, affected = deletion(snapshot, {0: [0, 2]})
    lance.dataset(root).delete("k = 1")
    made = commit(snapshot, ours, affected_rows=affected)
    assert keys(root) == [3, 4, 5]
    assert made.manifest.fragments.ids == (1,)


@pytest.mark.parametrize("by", ["delete", "update"])
def test_the_same_row_is_a_conflict_that_can_be_retried(snapshot: Snapshot, root: str, by: str) -> None:
    ours, affected = deletion(snapshot, {0: [1, 2]})
    if by == "delete":
        lance.dataset(root).delete("k = 2")
    else:
        lance.dataset(root).update({"v": "'x'"}, where="k = 2")
    with pytest.raises(RetryableConflict, match="a row of fragment 0 was changed"):
        commit(snapshot, ours, affected_rows=affected)
    with pytest.raises(RetryableConflict, match="rows of fragment 0 were deleted"):
        commit(snapshot, ours)
    assert latest(root).version == 2
    again, affected = deletion(latest(root), {0: [1]})
    commit(latest(root), again, affected_rows=affected)
    assert 1 not in keys(root)


def test_updates_of_different_rows_are_joined(snapshot: Snapshot, root: str) -> None:
    ours, affected = update(snapshot, {0: [1]}, table([1, 50], "ours"))
    lance.dataset(root).update({"v": "'theirs'"}, where="k = 2")
    lance.write_dataset(table([6]), root, mode="append")
    commit(snapshot, ours, affected_rows=affected)
    assert {row["k"]: row["v"] for row in rows(root)} == {
        0: "v0", 1: "ours1", 2: "theirs", 3: "v3", 4: "v4", 5: "v5", 6: "v6", 50: "ours50",
    }  # fmt: skip
    if snapshot.manifest.has_stable_row_ids:
        found = history(root)
        assert (found[1], found[2], found[6], found[50]) == ((1, 1, 4), (2, 1, 2), (6, 3, 3), (7, 4, 4))
    extend_with_pylance(root)


def test_pylance_joins_its_updates_with_ours(snapshot: Snapshot, root: str) -> None:
    stale = lance.dataset(root)
    ours, affected = update(snapshot, {0: [1]}, table([1, 50], "ours"))
    commit(snapshot, ours, affected_rows=affected)
    stale.update({"v": "'theirs'"}, where="k IN (1, 2)")
    found = {row["k"]: row["v"] for row in rows(root)}
    # It found that a row had changed, and started again.
    assert (found[1], found[2], found[50]) == ("theirs", "theirs", "ours50")


def test_appends_are_numbered_again(snapshot: Snapshot, root: str) -> None:
    ours = Append(fragments(root, table([6, 7])))
    lance.write_dataset(table([8]), root, mode="append")
    lance.dataset(root).delete("k = 0")
    made = commit(snapshot, ours)
    assert keys(root) == [1, 2, 3, 4, 5, 6, 7, 8]
    assert made.manifest.fragments.ids == (0, 1, 2, 3)
    found = made.transaction()
    assert found is not None
    assert found.read_version == 1
    if snapshot.manifest.has_stable_row_ids:
        assert history(root)[7] == (8, 4, 4)
    stale = lance.dataset(root, version=2)
    lance.write_dataset(table([9]), stale, mode="append")
    assert 9 in keys(root)


def test_an_append_beside_a_new_column_has_none_of_it(snapshot: Snapshot, root: str) -> None:
    ours = Append(fragments(root, table([6])))
    lance.dataset(root).add_columns({"c": "k + 1"})
    commit(snapshot, ours)
    assert {row["k"]: row["c"] for row in rows(root)}[6] is None


def test_an_append_goes_to_columns_that_were_renamed(snapshot: Snapshot, root: str) -> None:
    ours = Append(fragments(root, table([6])))
    rename: Any = {"path": "v", "name": "w"}
    lance.dataset(root).alter_columns(rename)
    commit(snapshot, ours)
    assert {row["k"]: row["w"] for row in rows(root)}[6] == "v6"


def test_an_append_does_not_go_to_a_column_that_got_an_id_again(snapshot: Snapshot, root: str) -> None:
    key, value = snapshot.manifest.schema.fields
    ours = Append(fragments(root, table([6])))
    made = commit(snapshot, Project(Schema((key,)), preserves_nullability=True))
    kept = commit(snapshot, ours)
    assert [row["k"] for row in rows(root)] == list(range(7))
    again = Schema((key, value._replace(name="w")))
    commit(kept, Merge(tuple(kept.manifest.fragments), again, preserves_nullability=True))
    for start in (snapshot, made):
        with pytest.raises(RetryableConflict, match="another commit changed the type or parent of column 'w'"):
            commit(start, ours)


def test_commits_over_an_overwrite_fail(snapshot: Snapshot, root: str) -> None:
    ours, affected = deletion(snapshot, {0: [1]})
    content = table([1])
    commit(snapshot, Overwrite(fragments(root, content, mode="overwrite"), from_arrow(content.schema)))
    for operation in (ours, Append(fragments(root, table([6])))):
        with pytest.raises(
            CommitConflict, match=r"(Delete|Append) conflicts with Overwrite of t\.lance version 2"
        ) as raised:
            commit(snapshot, operation, affected_rows=affected)
        assert not isinstance(raised.value, RetryableConflict)
    assert keys(root) == [1]


def test_an_overwrite_passes_over_appends(snapshot: Snapshot, root: str) -> None:
    content = table([1])
    ours = Overwrite(fragments(root, content, mode="overwrite"), from_arrow(content.schema))
    lance.write_dataset(table([8]), root, mode="append")
    made = commit(snapshot, ours)
    assert keys(root) == [1]
    assert made.manifest.fragments.ids == (3,)


def test_commits_over_compaction_fail_for_the_fragments_that_moved(snapshot: Snapshot, root: str) -> None:
    ours, affected = deletion(snapshot, {0: [1]})
    lance.dataset(root).optimize.compact_files()
    with pytest.raises(RetryableConflict, match="conflicts with Rewrite"):
        commit(snapshot, ours, affected_rows=affected)


def test_a_merge_is_computed_again(snapshot: Snapshot, root: str) -> None:
    schema = Schema((*snapshot.manifest.schema.fields, Field("c", 2, -1, "int64")))
    ours = Merge(tuple(snapshot.manifest.fragments), schema, preserves_nullability=True)
    lance.write_dataset(table([8]), root, mode="append")
    with pytest.raises(RetryableConflict, match="Merge conflicts with Append"):
        commit(snapshot, ours)


def test_missing_transactions_are_conflicts(snapshot: Snapshot, root: str) -> None:
    lance.write_dataset(table([8]), root, mode="append")
    lance.write_dataset(table([9]), root, mode="append")
    for path in (Path(root) / "_versions").glob("*4.manifest"):
        assert path.name.endswith("614.manifest")
    second = next(path for path in (Path(root) / "_versions").glob("*613.manifest"))
    second.unlink()
    with pytest.raises(RetryableConflict, match="version 1 is too old to commit from, because version 2"):
        commit(snapshot, Delete())
    assert commit(latest(root), Delete()).version == 4


def test_a_version_without_a_transaction_cannot_be_passed_over(snapshot: Snapshot, root: str) -> None:
    made = commit(snapshot, Delete())
    path = Path(root) / made.manifest_path
    content = path.read_bytes()
    origin = made.manifest.origin
    assert origin is not None
    message = type(origin.message)()
    message.CopyFrom(origin.message)
    message.ClearField("transaction_section")
    body = message.SerializeToString()
    path.write_bytes(struct.pack("<I", len(body)) + body + struct.pack("<qHH", 0, 0, 2) + content[-4:])
    assert commit(snapshot, Delete()).version == 3
    (Path(root) / "_transactions" / made.manifest.transaction_file).unlink()
    with pytest.raises(CommitConflict, match="version 2: its transaction is missing"):
        commit(snapshot, Delete())
    assert commit(latest(root), Delete()).version == 4


def test_config_of_two_writers_is_joined(snapshot: Snapshot, root: str) -> None:
    commit(snapshot, UpdateConfig(UpdateMap({"a": "1"})))
    stale = lance.dataset(root)
    made = commit(snapshot, UpdateConfig(UpdateMap({"b": "2"})))
    assert made.manifest.config == {"a": "1", "b": "2"}
    stale.update_config({"c": "3"})
    assert latest(root).manifest.config == {"a": "1", "b": "2", "c": "3"}
    with pytest.raises(CommitConflict):
        commit(snapshot, UpdateConfig(UpdateMap({"a": "2"})))


def test_rows_inserted_by_key_do_not_go_beside_others(snapshot: Snapshot, root: str) -> None:
    ours, affected = update(snapshot, {0: [1]}, table([1, 50]))
    lance.dataset(root).delete("k = 5")
    commit(snapshot, ours, affected_rows=affected, inserts_by_key=True)
    base = latest(root)
    for change in ("append", "update"):
        ours, affected = update(base, {0: [2]}, table([2, 60]))
        if change == "append":
            lance.write_dataset(table([60]), root, mode="append")
        else:
            lance.dataset(root).update({"k": "61"}, where="k = 50")
        with pytest.raises(RetryableConflict, match=r"Update conflicts with (Append|Update)"):
            commit(base, ours, affected_rows=affected, inserts_by_key=True)
        base = latest(root)


def test_operations_that_are_only_judged_are_refused(snapshot: Snapshot) -> None:
    for operation in (Clone(1, "/x"), UpdateBases(()), Other(None)):
        with pytest.raises(UnsupportedFeature, match=f"commits of {type(operation).__name__}"):
            commit(snapshot, operation)
