"""Every operation, committed by hand and read, taken from and extended by pylance, and the other way round."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any, Literal

import lance
import numpy as np
import pyarrow as pa
import pytest

import lance_sql
from lance_sql.errors import InvalidArgument, TableExists, UnsupportedFeature
from lance_sql.format.schema import Field, Schema
from lance_sql.format.schema.from_arrow import from_arrow
from lance_sql.table import row_ids, row_versions
from lance_sql.table.fragment import Fragment
from lance_sql.table.paths import NamingScheme
from lance_sql.table.snapshot import Snapshot
from lance_sql.writes.commit.committer import commit, create
from lance_sql.writes.commit.operations import (
    Append,
    DataReplacement,
    Delete,
    Merge,
    Overwrite,
    Project,
    Replacement,
    ReserveFragments,
    Restore,
    Rewrite,
    RewriteGroup,
    Update,
    UpdateConfig,
    UpdateMap,
    UpdateMode,
)
from tests.damaged.messages import with_manifest
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

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


@pytest.fixture
def root(tmp_path: Path) -> str:
    return str(tmp_path / "t.lance")


@pytest.fixture(params=[True, False], ids=["stable", "addresses"])
def stable(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


@pytest.mark.parametrize("file_version", ["2.0", "2.1", "2.2"])
@pytest.mark.parametrize("naming", list(NamingScheme))
def test_a_table_is_created(root: str, stable: bool, file_version: str, naming: NamingScheme) -> None:
    snapshot = created(root, stable_row_ids=stable, file_version=file_version, naming=naming)
    assert snapshot.version == 1
    assert (snapshot.manifest.data_format, snapshot.manifest.has_stable_row_ids) == (file_version, stable)
    assert keys(root) == [0, 1, 2, 3, 4, 5]
    if stable:
        assert history(root) == {key: (key, 1, 1) for key in range(6)}
    extend_with_pylance(root)
    names = {path.name for path in (Path(root) / "_versions").glob("*.manifest")}
    assert all((len(name) == 29) == (naming is NamingScheme.V2) for name in names)


def test_a_table_is_created_once(root: str) -> None:
    created(root)
    with pytest.raises(TableExists, match="already"):
        created(root)
    assert keys(root) == [0, 1, 2, 3, 4, 5]


def test_an_empty_table_is_created(root: str) -> None:
    create(root, Overwrite((), from_arrow(table([]).schema)))
    assert rows(root) == []
    assert lance.dataset(root).schema == table([]).schema
    lance.write_dataset(table([3]), root, mode="append")
    assert history(root) == {3: (0, 2, 2)}


def test_rows_are_appended(root: str, stable: bool) -> None:
    created(root, stable_row_ids=stable)
    commit(latest(root), Append(fragments(root, table([6, 7, 8]), rows=2)))
    assert [row["k"] for row in rows(root)] == list(range(9))
    if stable:
        assert history(root)[8] == (8, 2, 2)
    extend_with_pylance(root)
    commit(latest(root), Append(fragments(root, table([9]))))
    assert keys(root)[9] == 9
    extend_with_pylance(root)


def test_rows_are_deleted(root: str, stable: bool) -> None:
    snapshot = created(root, stable_row_ids=stable)
    operation, affected = deletion(snapshot, {0: [1], 1: [0, 1, 2]})
    commit(snapshot, operation, affected_rows=affected)
    assert keys(root) == [0, 2]
    assert latest(root).manifest.fragments.ids == (0,)
    lance.dataset(root).delete("k = 0")
    operation, affected = deletion(latest(root), {0: [2]})
    assert operation.deleted_fragment_ids == (0,)
    commit(latest(root), operation, affected_rows=affected)
    assert rows(root) == []
    commit(latest(root), Append(fragments(root, table([7]))))
    assert keys(root) == [7]
    extend_with_pylance(root)


def test_a_delete_of_nothing_is_a_version(root: str) -> None:
    assert commit(created(root), Delete()).version == 2
    assert keys(root) == [0, 1, 2, 3, 4, 5]


def test_updated_rows_keep_their_ids(root: str, stable: bool) -> None:
    created(root, stable_row_ids=stable)
    lance.write_dataset(table([6, 7, 8]), root, mode="append")
    lance.dataset(root).delete("k = 7")
    operation, affected = update(latest(root), {0: [2, 1], 2: [0, 2]}, table([1, 2, 6, 8, 99], "new"))
    snapshot = commit(latest(root), operation, affected_rows=affected)
    assert snapshot.version == 4
    assert keys(root) == [0, 1, 2, 3, 4, 5, 6, 8, 99]
    assert {row["k"]: row["v"] for row in rows(root)}[6] == "new6"
    if stable:
        found = history(root)
        assert [found[key] for key in (0, 1, 2, 6, 8, 99)] == [
            (0, 1, 1), (1, 1, 4), (2, 1, 4), (6, 2, 4), (8, 2, 4), (9, 4, 4),
        ]  # fmt: skip
    extend_with_pylance(root)


def test_carried_ids_are_those_of_rows_that_go(root: str) -> None:
    snapshot = created(root)
    operation, affected = update(snapshot, {0: [1]}, table([1, 50]))
    (new,) = operation.new_fragments
    for ids in ([4], [1, 1], [77], [1, 2, 3]):
        wrong = dataclasses.replace(new, row_ids=row_ids.serialize(np.array(ids, np.uint64)))
        with pytest.raises((InvalidArgument, lance_sql.CorruptFile)):
            commit(snapshot, dataclasses.replace(operation, new_fragments=(wrong,)), affected_rows=affected)
    with pytest.raises(InvalidArgument, match="same row id"):
        commit(snapshot, dataclasses.replace(operation, new_fragments=(new, new)), affected_rows=affected)
    assert latest(root).version == 1


def test_ids_and_versions_in_hidden_columns_are_carried_over(root: str) -> None:
    created(root)
    lance.dataset(root).update_config({"lance.row_lineage.spill": "true", "lance.row_lineage.inline_max_bytes": "0"})
    lance.dataset(root).update({"v": "'x'"}, where="k IN (1, 4)")
    assert latest(root).manifest.fragments.have_hidden_columns()
    operation, affected = update(latest(root), {0: [0], 2: [1]}, table([0, 4, 60], "new"))
    snapshot = commit(latest(root), operation, affected_rows=affected)
    assert snapshot.manifest.reader_flags & 2048
    found = history(root)
    assert [found[key] for key in (0, 1, 4, 60)] == [(0, 1, 4), (1, 1, 3), (4, 1, 4), (6, 4, 4)]
    operation_, affected = deletion(latest(root), {2: [0]})
    snapshot = commit(latest(root), operation_, affected_rows=affected)
    assert not snapshot.manifest.fragments.have_hidden_columns()
    assert not snapshot.manifest.reader_flags & 2048
    extend_with_pylance(root)


def test_a_table_is_overwritten(root: str, stable: bool) -> None:
    created(root, stable_row_ids=stable)
    lance.dataset(root).update_config({"kept": "1"})
    lance.dataset(root).create_scalar_index("k", "BTREE")
    other = pa.table({"n": pa.array([1.5, None]), "k": pa.array([8, 9], pa.int32())})
    operation = Overwrite(fragments(root, other, mode="overwrite"), from_arrow(other.schema), {"new": "2"})
    snapshot = commit(latest(root), operation)
    assert snapshot.manifest.fragments.ids == (2,)
    assert snapshot.indices() == ()
    assert snapshot.manifest.config == {"kept": "1", "new": "2"}
    assert lance_sql.open(root).scan().to_table() == other
    if stable:
        assert history(root) == {8: (6, 4, 4), 9: (7, 4, 4)}
    assert lance.dataset(root).config() == {"kept": "1", "new": "2"}
    lance.write_dataset(other.select(["n", "k"]), root, mode="append")
    assert keys(root) == [8, 8, 9, 9]


@pytest.mark.parametrize("by", ["lance_sql", "pylance"])
def test_an_overwritten_table_has_the_columns_of_a_new_one(tmp_path: Path, by: str) -> None:
    key, plain = {"lance-schema:unenforced-primary-key": "true"}, pa.array([1])
    words = pa.array([b"0123456789abcdef"], pa.binary(16))
    special = {
        "key": (pa.field("c", pa.int64(), False, key), plain),
        "json": (pa.field("c", pa.json_(pa.string())), pa.ExtensionArray.from_storage(pa.json_(), pa.array(["1"]))),
        "uuid": (pa.field("c", pa.uuid()), pa.ExtensionArray.from_storage(pa.uuid(), words)),
        "wkb": (pa.field("c", pa.binary(16), metadata={"ARROW:extension:name": "geoarrow.wkb"}), words),
        "plain": (pa.field("c", pa.int64()), plain),
        "struct": (pa.field("c", pa.struct({"a": pa.int64()})), pa.array([{"a": 1}])),
    }
    content = {name: pa.table([values], pa.schema([field])) for name, (field, values) in special.items()}
    for name, later in content.items():
        expected = lance_sql.write(later, tmp_path / f"{name}.lance").snapshot.manifest.origin
        assert expected is not None
        for before, earlier in content.items():
            path = tmp_path / f"{before}-{name}.lance"
            if by == "pylance":
                lance.write_dataset(earlier, path, data_storage_version="2.2")
            else:
                lance_sql.write(earlier, path)
            found = lance_sql.write(later, path, mode="overwrite").snapshot.latest().manifest.origin
            assert found is not None
            assert list(found.message.fields) == list(expected.message.fields), (before, name)
            lance_sql.write(later, path, mode="append")
            assert lance.dataset(path).to_table().num_rows == 2


def test_an_overwrite_may_change_the_file_version(root: str) -> None:
    snapshot = created(root, file_version="2.0")
    content = table([1])
    with pytest.raises(InvalidArgument, match=r"has version 2\.2, but the table has 2\.0"):
        commit(snapshot, Append(fragments(root, content)))
    snapshot = commit(snapshot, Overwrite(fragments(root, content), from_arrow(content.schema)))
    assert snapshot.manifest.data_format == "2.2"
    extend_with_pylance(root)


def compacted(snapshot: Snapshot, content: pa.Table, new_id: int) -> Fragment:
    """The fragment that has the live rows of all others."""
    ids: list[int] = []
    created_at: list[int] = []
    updated_at: list[int] = []
    if not snapshot.manifest.has_stable_row_ids:
        (new,) = fragments(snapshot.uri, content)
        return dataclasses.replace(new, id=new_id)
    for fragment in snapshot.manifest.fragments:
        live = np.setdiff1d(np.arange(fragment.physical_rows), snapshot.open(fragment).deletions)
        for found, sequence in (
            (ids, snapshot.open(fragment).row_id_sequence),
            (created_at, snapshot.open(fragment).created_at_sequence),
            (updated_at, snapshot.open(fragment).last_updated_at_sequence),
        ):
            assert isinstance(sequence, row_ids.RowIds | row_versions.RowVersions)
            found += sequence.take(live).tolist()
    (new,) = fragments(snapshot.uri, content)
    return dataclasses.replace(
        new,
        id=new_id,
        row_ids=row_ids.serialize(np.array(ids, np.uint64)),
        created_at=row_versions.serialize(row_versions.from_values(np.array(created_at, np.uint64))),
        last_updated_at=row_versions.serialize(row_versions.from_values(np.array(updated_at, np.uint64))),
    )


Kind = Literal["BTREE", "BITMAP", "ZONEMAP", "BLOOMFILTER"]
INDICES: list[Kind] = ["BTREE", "BITMAP", "ZONEMAP", "BLOOMFILTER"]


def answers(root: str, key: int) -> int:
    return int(lance.dataset(root).to_table(filter=f"k = {key}").num_rows)


@pytest.mark.parametrize("kind", INDICES)
def test_rows_move_and_keep_their_history(root: str, stable: bool, kind: Kind) -> None:
    created(root, stable_row_ids=stable)
    lance.dataset(root).update({"v": "'x'"}, where="k IN (1, 4)")
    lance.dataset(root).delete("k = 0")
    lance.dataset(root).create_scalar_index("k", kind)
    before = history(root) if stable else None
    snapshot = commit(latest(root), ReserveFragments(1))
    assert snapshot.manifest.max_fragment_id == 3
    content = lance_sql.open(root).scan().to_table()
    group = RewriteGroup(tuple(snapshot.manifest.fragments), (compacted(snapshot, content, 3),))
    commit(snapshot, Rewrite((group,)))
    assert latest(root).manifest.fragments.ids == (3,)
    if stable:
        assert history(root) == before
    assert [answers(root, key) for key in range(6)] == [0, 1, 1, 1, 1, 1]
    lance.dataset(root).optimize.optimize_indices()
    assert [answers(root, key) for key in range(6)] == [0, 1, 1, 1, 1, 1]
    extend_with_pylance(root)


def test_an_index_of_row_ids_covers_all_of_a_group_or_nothing(root: str) -> None:
    created(root)
    lance.dataset(root).create_scalar_index("k", "BITMAP")
    lance.write_dataset(table([6]), root, mode="append")
    snapshot = commit(latest(root), ReserveFragments(1))
    content = lance_sql.open(root).scan().to_table()
    group = RewriteGroup(tuple(snapshot.manifest.fragments), (compacted(snapshot, content, 3),))
    with pytest.raises(UnsupportedFeature, match="'k_idx' covers only in part"):
        commit(snapshot, Rewrite((group,)))


def test_ids_of_moved_rows_are_reserved_before(root: str) -> None:
    snapshot = created(root)
    content = lance_sql.open(root).scan().to_table()
    for new_id in (1, 2, 100):
        group = RewriteGroup((snapshot.manifest.fragments[0],), (compacted(snapshot, content, new_id),))
        with pytest.raises(InvalidArgument, match=f"id {new_id} of a rewrite was not reserved"):
            commit(snapshot, Rewrite((group,)))
    with pytest.raises(InvalidArgument):
        commit(snapshot, ReserveFragments(2**32))


def with_column(snapshot: Snapshot, name: str, field_id: int) -> tuple[tuple[Fragment, ...], Schema]:
    """All fragments with a data file more each, which holds the keys as text."""
    changed = []
    for fragment in snapshot.manifest.fragments:
        offsets = range(3 * fragment.id, 3 * fragment.id + fragment.physical_rows)
        (new,) = fragments(snapshot.uri + "_elsewhere", pa.table({name: [f"c{key}" for key in offsets]}))
        file = dataclasses.replace(new.files[0], fields=(field_id,))
        source = Path(snapshot.uri + "_elsewhere") / "data" / file.path
        source.rename(Path(snapshot.uri) / "data" / file.path)
        changed.append(dataclasses.replace(fragment, files=(*fragment.files, file)))
    schema = snapshot.manifest.schema
    return tuple(changed), Schema((*schema.fields, Field(name, field_id, -1, "string")), schema.metadata)


def test_columns_are_added(root: str, stable: bool) -> None:
    snapshot = created(root, stable_row_ids=stable)
    changed, schema = with_column(snapshot, "c", 2)
    commit(snapshot, Merge(changed, schema, preserves_nullability=True))
    assert [row["c"] for row in rows(root)] == [f"c{key}" for key in range(6)]
    if stable:
        assert history(root)[4] == (4, 1, 2)
    extend_with_pylance(root)


def test_a_column_of_nulls_changes_no_row(root: str) -> None:
    snapshot = created(root)
    schema = Schema((*snapshot.manifest.schema.fields, Field("c", 2, -1, "int64")))
    snapshot = commit(snapshot, Merge(tuple(snapshot.manifest.fragments), schema, preserves_nullability=True))
    assert [row["c"] for row in rows(root)] == [None] * 6
    assert history(root)[4] == (4, 1, 1)
    commit(snapshot, Merge(tuple(snapshot.manifest.fragments), schema, preserves_nullability=True))
    extend_with_pylance(root)


def test_columns_are_dropped_and_renamed(root: str, stable: bool) -> None:
    snapshot = created(root, stable_row_ids=stable)
    lance.dataset(root).add_columns({"c": "k + 1"})
    lance.dataset(root).create_scalar_index("c", "BTREE")
    lance.dataset(root).create_scalar_index("k", "BTREE")
    snapshot = latest(root)
    kept, value, _ = snapshot.manifest.schema.fields
    renamed = value._replace(name="w")
    snapshot = commit(snapshot, Project(Schema((renamed, kept)), preserves_nullability=True))
    assert [(row["w"], row["k"]) for row in rows(root)] == [(f"v{key}", key) for key in range(6)]
    assert [index.name for index in snapshot.indices()] == ["k_idx"]
    assert all(len(fragment.files) == 1 for fragment in snapshot.manifest.fragments)
    lance.dataset(root).delete("k = 3")
    assert keys(root) == [0, 1, 2, 4, 5]


def test_a_fragment_keeps_a_file_when_all_of_its_columns_go(root: str) -> None:
    snapshot = created(root)
    schema = Schema((*snapshot.manifest.schema.fields, Field("c", 2, -1, "int64")))
    snapshot = commit(snapshot, Merge(tuple(snapshot.manifest.fragments), schema, preserves_nullability=True))
    commit(snapshot, Project(Schema(schema.fields[2:]), preserves_nullability=True))
    assert [row["c"] for row in rows(root)] == [None] * 6


def test_an_earlier_version_is_restored(root: str, stable: bool) -> None:
    created(root, stable_row_ids=stable)
    before = rows(root)
    lance.write_dataset(table([6, 7]), root, mode="append")
    lance.dataset(root).delete("k < 4")
    lance.dataset(root).add_columns({"c": "k"})
    snapshot = commit(latest(root), Restore(1))
    assert rows(root) == before
    assert snapshot.version == 5
    assert (snapshot.manifest.max_fragment_id, snapshot.manifest.next_row_id) == (2, 8 if stable else 0)
    lance.write_dataset(table([9]), root, mode="append")
    if stable:
        assert history(root)[9] == (8, 6, 6)
    with pytest.raises(lance_sql.VersionNotFound):
        commit(latest(root), Restore(77))
    extend_with_pylance(root)


def test_config_and_metadata_are_changed(root: str) -> None:
    created(root)
    lance.dataset(root).update_config({"a": "1", "b": "2"})
    operation = UpdateConfig(
        config=UpdateMap({"a": None, "c": "3"}),
        table_metadata=UpdateMap({"t": "x"}),
        schema_metadata=UpdateMap({"s": "y"}),
        field_metadata={1: UpdateMap({"f": "z"})},
    )
    snapshot = commit(latest(root), operation)
    theirs = lance.dataset(root)
    assert snapshot.manifest.config == theirs.config() == {"b": "2", "c": "3"}
    assert theirs.metadata == {"t": "x"} == snapshot.manifest.table_metadata
    assert theirs.schema.metadata == {b"s": b"y"}
    assert theirs.schema.field("v").metadata == {b"f": b"z"}
    assert lance_sql.open(root).schema.field("v").metadata == {b"f": b"z"}
    operation = UpdateConfig(
        config=UpdateMap({}, replace=True),
        table_metadata=UpdateMap({"u": "1"}, replace=True),
        schema_metadata=UpdateMap({"s": None}),
        field_metadata={1: UpdateMap({"f": None})},
    )
    snapshot = commit(snapshot, operation)
    assert snapshot.manifest.config == lance.dataset(root).config() == {}
    assert lance.dataset(root).metadata == {"u": "1"}
    assert lance.dataset(root).schema.field("v").metadata in (None, {})
    extend_with_pylance(root)


def test_the_primary_key_stays(root: str) -> None:
    key = {b"lance-schema:unenforced-primary-key": b"true"}
    schema = pa.schema([pa.field("k", pa.int64(), nullable=False, metadata=key), pa.field("v", pa.string())])
    lance.write_dataset(table([1]).cast(schema), root)
    for change in (UpdateMap({}, replace=True), UpdateMap({key_.decode(): None for key_ in key})):
        with pytest.raises(InvalidArgument, match="primary key"):
            commit(latest(root), UpdateConfig(field_metadata={0: change}))
    snapshot = commit(latest(root), UpdateConfig(field_metadata={0: UpdateMap({"a": "b"})}))
    assert snapshot.manifest.origin is not None
    assert snapshot.manifest.origin.message.fields[0].unenforced_primary_key
    assert lance.dataset(root).schema.field("k").metadata == {**key, b"a": b"b"}


def replacing_file(snapshot: Snapshot, content: pa.Table) -> Any:
    (new,) = fragments(snapshot.uri + "_elsewhere", content)
    file = dataclasses.replace(new.files[0], fields=(1,))
    (Path(snapshot.uri + "_elsewhere") / "data" / file.path).rename(Path(snapshot.uri) / "data" / file.path)
    return file


def test_values_are_replaced(root: str, stable: bool) -> None:
    created(root, stable_row_ids=stable)
    lance.dataset(root).create_scalar_index("v", "BTREE")
    snapshot = latest(root)
    file = replacing_file(snapshot, pa.table({"v": ["x", "y", "z"]}))
    snapshot = commit(snapshot, DataReplacement((Replacement(1, file),)))
    assert [row["v"] for row in rows(root)] == ["v0", "v1", "v2", "x", "y", "z"]
    assert [file.fields for file in snapshot.manifest.fragments[1].files] == [(0, -2), (1,)]
    assert snapshot.indices()[0].fragment_ids == frozenset({0})
    assert lance.dataset(root).to_table(filter="v = 'y'").num_rows == 1
    assert lance.dataset(root).to_table(filter="v = 'v4'").num_rows == 0
    if stable:
        assert [history(root)[key] for key in (0, 4)] == [(0, 1, 1), (4, 1, 3)]
    again = replacing_file(snapshot, pa.table({"v": ["p", "q", "r"]}))
    snapshot = commit(snapshot, DataReplacement((Replacement(1, again),)))
    assert [file.fields for file in snapshot.manifest.fragments[1].files] == [(0, -2), (1,)]
    assert [row["v"] for row in rows(root)][3:] == ["p", "q", "r"]
    extend_with_pylance(root)


def test_columns_are_rewritten_in_place(root: str) -> None:
    created(root)
    lance.dataset(root).create_scalar_index("v", "BTREE")
    lance.dataset(root).create_scalar_index("k", "BTREE")
    snapshot = latest(root)
    fragment = snapshot.manifest.fragments[0]
    file = replacing_file(snapshot, pa.table({"v": ["v0", "new", "v2"]}))
    old = dataclasses.replace(fragment.files[0], fields=(0, -2))
    operation = Update(
        updated_fragments=(dataclasses.replace(fragment, files=(old, file)),),
        fields_modified=(1,),
        mode=UpdateMode.REWRITE_COLUMNS,
        updated_offsets={0: np.array([1], np.uint32)},
    )
    snapshot = commit(snapshot, operation)
    assert [row["v"] for row in rows(root)][:3] == ["v0", "new", "v2"]
    assert [history(root)[key] for key in (0, 1, 2)] == [(0, 1, 1), (1, 1, 4), (2, 1, 1)]
    assert {index.name: index.fragment_ids for index in snapshot.indices()} == {
        "v_idx": frozenset({1}),
        "k_idx": frozenset({0, 1}),
    }
    assert lance.dataset(root).to_table(filter="v = 'new'").num_rows == 1
    extend_with_pylance(root)


@pytest.mark.parametrize("kind", INDICES)
@pytest.mark.parametrize("column", ["k", "v"])
def test_indices_are_carried_over_and_still_answer(root: str, stable: bool, kind: Kind, column: str) -> None:
    created(root, stable_row_ids=stable)
    lance.dataset(root).create_scalar_index(column, kind)
    before = latest(root).indices()
    commit(latest(root), Append(fragments(root, table([6, 7]))))
    update_, affected = update(latest(root), {0: [1]}, table([100]))
    commit(latest(root), update_, affected_rows=affected)
    delete, affected = deletion(latest(root), {1: [1]})
    commit(latest(root), delete, affected_rows=affected)
    commit(latest(root), UpdateConfig(UpdateMap({"a": "b"})))
    assert latest(root).indices() == before
    for key, found in ((0, 1), (1, 0), (4, 0), (6, 1), (100, 1)):
        condition = f"k = {key}" if column == "k" else f"v = 'v{key}'"
        assert lance.dataset(root).to_table(filter=condition).num_rows == found
    lance.dataset(root).optimize.optimize_indices()
    extend_with_pylance(root)


def test_a_commit_is_recorded_where_others_look(root: str) -> None:
    snapshot = commit(created(root), Append(fragments(root, table([6]))), properties={"by": "hand"})
    (transaction,) = (Path(root) / "_transactions").glob("1-*.txn")
    assert snapshot.manifest.transaction_file == transaction.name
    found = snapshot.transaction()
    assert found is not None
    assert (found.read_version, found.operation) == (1, "append")
    recorded = lance.dataset(root).read_transaction(2)
    assert recorded is not None
    assert type(recorded.operation).__name__ == "Append"
    assert recorded.transaction_properties == {"by": "hand"}
    hint = json.loads((Path(root) / "_versions" / "latest_version_hint.json").read_text())
    assert hint == {"version": 2}


def test_tables_that_need_more_of_a_writer_are_refused(root: str) -> None:
    snapshot = created(root)
    new = fragments(root, table([6]))
    path = next((Path(root) / "_versions").glob("*.manifest"))
    path.write_bytes(with_manifest(path.read_bytes(), lambda message: setattr(message, "writer_feature_flags", 64)))
    assert snapshot.version == 1
    for operation in (Append(new), Delete()):
        with pytest.raises(UnsupportedFeature, match="flag 64, which this release cannot write"):
            commit(latest(root), operation)
    assert len(list((Path(root) / "_versions").glob("*.manifest"))) == 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"physical_rows": 0}, "fragment of 0 rows"),
        ({"files": ()}, "no data files"),
        ({"row_ids": b"\xff"}, "not a valid message"),
    ],
)
def test_fragments_that_make_no_sense_are_refused(root: str, change: dict[str, Any], message: str) -> None:
    snapshot = created(root)
    (fragment,) = fragments(root, table([6]))
    with pytest.raises(lance_sql.LanceError, match=message):
        commit(snapshot, Append((dataclasses.replace(fragment, **change),)))
    assert latest(root).version == 1
