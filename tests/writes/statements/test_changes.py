"""Statements one by one: what they do, what they refuse, and that pylance sees the same."""

from __future__ import annotations

import shutil
import threading
from datetime import timedelta
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import lance
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import lance_sql
from lance_sql import (
    ColumnNotFound,
    CommitConflict,
    Dataset,
    InvalidArgument,
    TableNotFound,
    UnsupportedFeature,
    VersionNotFound,
)
from lance_sql.reads.scan import key_matching
from lance_sql.store import LocalStore, Sink
from tests.damaged.messages import with_manifest
from tests.json_documents import FIELD
from tests.writes.commit.failing_store import Broken, FailingStore, on

HIDDEN = ["_rowid", "_row_created_at_version", "_row_last_updated_at_version"]


@pytest.fixture
def table(tmp_path: Path) -> Dataset:
    """Two fragments of three rows, version 2."""
    path = tmp_path / "t.lance"
    lance_sql.write(rows(1, 2, 3), path)
    return lance_sql.write(rows(4, 5, 6), path, mode="append")


def rows(*keys: int) -> pa.Table:
    return pa.table(
        {
            "k": pa.array(keys, pa.int64()),
            "v": pa.array([key * 10 for key in keys], pa.int32()),
            "s": pa.array([f"text {key}" if key % 2 else None for key in keys], pa.string()),
            "price": pa.array([Decimal(key) for key in keys], pa.decimal128(8, 2)),
        }
    )


def by_key(table: Dataset, *columns: str) -> list[tuple[Any, ...]]:
    """Rows by `k`, which pylance reads as well."""
    names = list(columns)
    ours = table.scan(["k", *names]).to_table().sort_by("k")
    theirs = lance.dataset(table.uri, version=table.version).scanner(columns=["k", *names]).to_table().sort_by("k")
    assert theirs.to_pylist() == ours.to_pylist()
    return list(zip(*(ours.column(name).to_pylist() for name in ["k", *names]), strict=True))


EXTENSIONS = {
    "uuid": (pa.uuid(), b"0123456789abcdef", "30313233-3435-3637-3839-616263646566"),
    "bool8": (pa.bool8(), 1, "1"),
    "json": (pa.json_(pa.string()), '{"k":1}', '{"k":1}'),
    "opaque": (pa.opaque(pa.binary(), "blob", "test"), b"abc", "abc"),
}


@pytest.mark.parametrize("kind", EXTENSIONS)
@pytest.mark.parametrize("file_version", ["2.0", "2.1", "2.2"])
def test_columns_of_extension_types_become_others(tmp_path: Path, kind: str, file_version: str) -> None:
    type, value, text = EXTENSIONS[kind]
    values = pa.ExtensionArray.from_storage(type, pa.array([value, None], type.storage_type))
    schema = pa.schema([("id", pa.int64()), pa.field("x", type, metadata={"comment": "kept"})])
    content = pa.Table.from_arrays([pa.array([1, 2]), values], schema=schema)
    path = tmp_path / "t.lance"
    changed = lance_sql.write(content, path, file_version=file_version).alter_column("x", type=pa.string())
    assert lance.dataset(path).to_table()["x"].to_pylist() == [text, None]
    assert changed.schema.field("x").metadata == {b"comment": b"kept"}
    assert lance_sql.write(changed, path, mode="append").to_table()["x"].to_pylist() == [text, None] * 2
    assert changed.changes().scan(["x"]).to_table()["x"].to_pylist() == [text, None]
    back = changed.latest().alter_column("x", type=type)
    shown = lance.dataset(path).to_table()["x"]
    assert shown.type == (type if kind != "opaque" else shown.type)
    assert back.to_table()["x"].to_pylist() == [value, None] * 2


def test_blobs_become_text(tmp_path: Path) -> None:
    for version in ("2.0", "2.1", "2.2"):
        schema = pa.schema([pa.field("x", pa.large_binary(), metadata={"lance-encoding:blob": "true"})])
        table = lance_sql.write(pa.table({"x": [b"abc"]}, schema), tmp_path / version, file_version=version)
        table.add_columns({"id": "1"}).alter_column("x", type=pa.string())
        assert lance.dataset(tmp_path / version).to_table().to_pylist() == [{"x": "abc", "id": 1}]


@pytest.mark.parametrize(
    ("column", "key", "value"),
    [
        ("b", "lance-encoding:blob", "true"),
        ("blob", "lance-encoding:blob", None),
        ("s", "lance-encoding:packed", "true"),
        ("s", "packed", "true"),
        ("t", "ARROW:extension:name", "lance.json"),
        ("b", "ARROW:extension:name", "lance.blob.v2"),
        ("j", "ARROW:extension:name", None),
    ],
)
def test_metadata_that_stored_values_need_cannot_change(
    tmp_path: Path, column: str, key: str, value: str | None
) -> None:
    schema = pa.schema(
        [
            pa.field("b", pa.large_binary()),
            pa.field("blob", pa.large_binary(), metadata={"lance-encoding:blob": "true"}),
            pa.field("s", pa.struct([("a", pa.int64())])),
            pa.field("t", pa.string()),
            FIELD.with_name("j"),
        ]
    )
    content = pa.table({"b": [b"b"], "blob": [b"c"], "s": [{"a": 1}], "t": ["t"], "j": ["1"]}, schema)
    table = lance_sql.write(content, tmp_path / "t.lance", file_version="2.1")
    with pytest.raises(InvalidArgument, match="determines how the values of column"):
        table.config.update_field_metadata(column, {key: value})
    table.config.update_field_metadata(column, {"comment": "c", "packed": None})


def test_values_are_sql_arrow_expressions_or_constants(table: Dataset) -> None:
    changed = table.update({"v": "v + k", "s": pc.field("s"), "price": Decimal("7.50")}, "k > 4")
    assert by_key(changed, "v", "price")[3:] == [
        (4, 40, Decimal("4.00")),
        (5, 55, Decimal("7.50")),
        (6, 66, Decimal("7.50")),
    ]


def test_expressions_see_the_rows_as_they_were(table: Dataset) -> None:
    changed = table.update({"k": "v", "v": "k"}, "true")
    assert by_key(changed, "v")[0] == (10, 1)


def test_decimals_are_rounded_as_sql_assigns(table: Dataset) -> None:
    assert by_key(table.update({"price": "price * 1.005"}, "true"), "price")[0] == (1, Decimal("1.01"))


def test_decimals_become_the_nearest_double(tmp_path: Path) -> None:
    path = str(tmp_path / "t")
    rows = pa.table({"f": [0.0], "d": pa.array([Decimal("19.99")], pa.decimal128(10, 2))})
    dataset = lance_sql.write(rows, path)
    assert dataset.update({"f": "4.35"}, "true").count_rows("f = 4.35") == 1
    assert dataset.update({"f": "d"}, "true").to_table()["f"].to_pylist() == [19.99]
    assert dataset.update({"f": Decimal("1001.3")}, "true").to_table()["f"].to_pylist() == [1001.3]
    # images of the feed have the values of the column as it is now
    changed = dataset.alter_column("d", type=pa.float64())
    assert changed.to_table()["d"].to_pylist() == [19.99]
    assert set(changed.changes(since=1).to_table()["d"].to_pylist()) == {19.99}
    assert changed.add_columns({"g": "d"}).alter_column("g", type=pa.float32()).count_rows("g = 19.99::FLOAT") == 1


@pytest.mark.parametrize(
    ("values", "error", "message"),
    [
        ({"v": "v +"}, InvalidArgument, "not an SQL expression"),
        ({"v": "nothing"}, InvalidArgument, "nothing"),
        ({"v": "'text'"}, InvalidArgument, "'v'"),
        ({"v": "3000000000"}, InvalidArgument, "'v'"),
        ({"v": "sum(v)"}, InvalidArgument, "one value for each row"),
        ({"v": 1.5}, InvalidArgument, "'v'"),
        ({"w": "1"}, ColumnNotFound, "'w'"),
        ({"v": object()}, InvalidArgument, "type"),
        ({}, InvalidArgument, "No column"),
    ],
)
def test_values_that_make_no_sense(
    table: Dataset, values: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        table.update(values, "k = 1")
    assert table.snapshot.latest().version == 2


def test_changes_of_no_row_commit_nothing(table: Dataset) -> None:
    missing = pa.table({"k": pa.array([99], pa.int64()), "v": pa.array([1], pa.int32())})
    files = sorted(Path(table.uri).rglob("*"))
    assert table.delete("k = 99") == table
    assert table.update({"v": 1}, "k = 99") == table
    assert table.merge(missing, on="k", when_not_matched="ignore") == table
    assert table.merge(missing.slice(0, 0), on="k") == table
    assert table.merge(missing, on="k", when_not_matched="ignore", delete_unmatched="k = 98") == table
    assert sorted(Path(table.uri).rglob("*")) == files
    assert table.snapshot.latest().version == 2


def test_a_change_of_no_row_returns_the_newest_version(table: Dataset) -> None:
    lance.dataset(table.uri).delete("k = 1")
    assert table.delete("k = 1").version == 3


def test_changes_apply_to_the_newest_version(table: Dataset) -> None:
    lance.dataset(table.uri).delete("k = 1")
    assert len(by_key(table.delete("k = 2"))) == 4


def test_deleting_takes_filters_of_every_kind(table: Dataset) -> None:
    assert len(by_key(table.delete(pc.field("s").is_null()))) == 3
    assert len(by_key(table.delete("_row_created_at_version = 2"))) == 2
    assert by_key(table.delete("true")) == []


def test_no_filter_is_no_choice_of_all_rows(table: Dataset) -> None:
    with pytest.raises(InvalidArgument, match="Pass a filter"):
        table.delete(None)  # type: ignore[arg-type]  # wrong on purpose
    with pytest.raises(InvalidArgument, match="delete_unmatched=None"):
        table.merge(rows(1), on="k", delete_unmatched=None)  # type: ignore[arg-type]  # wrong on purpose
    with pytest.raises(InvalidArgument, match="The filter is empty"):
        table.delete("")


@pytest.mark.parametrize(
    "change",
    [
        lambda table: table.update({"v": 0}, "true"),
        lambda table: table.merge(rows(1, 9), on="k"),
        lambda table: table.delete("k = 1"),
        lambda table: table.add_columns({"one": 1}),
        lambda table: table.maintenance.compact(),
        lambda table: lance_sql.write(rows(9), table.uri, mode="append"),
        lambda table: lance_sql.write(rows(9), table.uri, mode="overwrite"),
    ],
)
def test_tables_that_need_more_of_a_writer_are_refused_before_anything_is_written(table: Dataset, change: Any) -> None:
    path = Path(table.uri) / table.snapshot.manifest_path
    path.write_bytes(with_manifest(path.read_bytes(), lambda message: setattr(message, "writer_feature_flags", 64)))
    files = sorted(Path(table.uri).rglob("*"))
    with pytest.raises(UnsupportedFeature, match="flag 64"):
        change(lance_sql.open(table.uri))
    assert sorted(Path(table.uri).rglob("*")) == files


def test_upsert(table: Dataset) -> None:
    changed = table.merge(rows(2, 7).set_column(1, "v", pa.array([-2, -7], pa.int32())), on="k")
    assert by_key(changed, "v", *HIDDEN) == [
        (1, 10, 0, 1, 1),
        (2, -2, 1, 1, 3),
        (3, 30, 2, 1, 1),
        (4, 40, 3, 2, 2),
        (5, 50, 4, 2, 2),
        (6, 60, 5, 2, 2),
        (7, -7, 6, 3, 3),
    ]


@pytest.mark.parametrize(
    ("arguments", "keys", "updated"),
    [
        ({}, [1, 2, 3, 4, 5, 6, 7], [2]),
        ({"when_not_matched": "ignore"}, [1, 2, 3, 4, 5, 6], [2]),
        ({"when_matched": "keep"}, [1, 2, 3, 4, 5, 6, 7], []),
        ({"when_matched": "delete"}, [1, 3, 4, 5, 6, 7], []),
        ({"delete_unmatched": True}, [2, 7], [2]),
        ({"delete_unmatched": "k > 4"}, [1, 2, 3, 4, 7], [2]),
        ({"when_matched": "delete", "when_not_matched": "ignore", "delete_unmatched": "k < 3"}, [3, 4, 5, 6], []),
    ],
)
def test_merges(table: Dataset, arguments: dict[str, Any], keys: list[int], updated: list[int]) -> None:
    source = rows(2, 7).set_column(1, "v", pa.array([-1, -1], pa.int32()))
    changed = table.merge(source, on="k", **arguments)
    assert [row[0] for row in by_key(changed)] == keys
    assert [row[0] for row in by_key(changed, "v") if row[1] == -1 and row[0] != 7] == updated


def test_merge_of_some_columns(table: Dataset) -> None:
    changed = table.merge({"k": [2, 7], "v": [-2, -7]}, on="k")
    assert by_key(changed, "v", "s", "price")[1] == (2, -2, None, Decimal("2.00"))
    assert by_key(changed, "v", "s", "price")[-1] == (7, -7, None, None)


def test_merging_through_an_older_handle(table: Dataset) -> None:
    """Values take the types that the columns have now."""
    table.alter_column("v", type=pa.int64()).add_columns({"n": "1"})
    assert table.merge({"k": [2], "v": [2**40], "n": [5]}, on="k").count_rows(f"v = {2**40} AND n = 5") == 1


def test_null_matches_nothing(table: Dataset) -> None:
    source = pa.table({"s": [None, "text 1"], "v": pa.array([-1, -2], pa.int32())})
    changed = table.merge(source, on="s")
    assert changed.count_rows("v = -2 AND k = 1") == 1
    assert changed.count_rows("v = -1 AND k IS NULL") == 1


def test_merge_by_several_columns(table: Dataset) -> None:
    source = pa.table({"k": [1, 1], "v": pa.array([10, 11], pa.int32()), "s": ["same", "new"]})
    assert table.merge(source, on=["k", "v"]).count_rows("s = 'same'") == 1


@pytest.mark.parametrize(
    ("source", "arguments", "message"),
    [
        (rows(1, 1), {"on": "k"}, "Two rows of the source"),
        (rows(1), {"on": "k", "when_matched": "fail"}, "a row with this key already"),
        (rows(1), {"on": "k", "when_matched": "replace"}, "when_matched"),
        (rows(1), {}, "no primary key"),
        (rows(1), {"on": []}, "at least one"),
        (rows(1), {"on": "x"}, "'x'"),
        (rows(1).drop_columns("k"), {"on": "k"}, "'k'"),
        (rows(1).append_column("x", pa.array([1])), {"on": "k"}, "x: no such column"),
    ],
)
def test_merges_that_make_no_sense(table: Dataset, source: pa.Table, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        table.merge(source, **arguments)
    assert table.snapshot.latest().version == 2


def test_kept_rows_may_be_matched_twice(table: Dataset) -> None:
    kept = table.merge(rows(1, 1, 7), on="k", when_matched="keep", delete_unmatched="k = 6")
    assert [row[0] for row in by_key(kept)] == [1, 2, 3, 4, 5, 7]


def test_arguments_of_other_kinds(table: Dataset) -> None:
    wrong: Any = table
    with pytest.raises(InvalidArgument, match="whole number"):
        wrong.restore([1])
    with pytest.raises(InvalidArgument, match="by column"):
        wrong.update(["v"])
    with pytest.raises(InvalidArgument, match="No key"):
        wrong.config.update({})
    assert table.snapshot.latest().version == 2


def test_merge_of_many_keys(tmp_path: Path) -> None:
    table = lance_sql.write({"k": range(20_000), "v": [0] * 20_000}, tmp_path / "t", max_rows_per_file=7000)
    changed = table.merge({"k": range(15_000, 25_000), "v": [1] * 10_000}, on="k")
    assert (changed.count_rows(), changed.count_rows("v = 1")) == (25_000, 10_000)
    assert len(set(changed.scan(["_rowid"]).to_table()["_rowid"].to_pylist())) == 25_000


@pytest.mark.parametrize("num_keys", [100, 5000])
def test_rows_are_matched_part_by_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, num_keys: int) -> None:
    monkeypatch.setattr(key_matching, "MIN_PART_ROWS", 1500)
    durations = pa.array(range(20_000), pa.duration("ms"))
    columns = {"k": durations, "v": pa.array([0] * 20_000)}
    table = lance_sql.write(pa.table(columns), tmp_path / "t", max_rows_per_file=700)
    source = {"k": durations.take(pa.array(range(0, 20_000, 20_000 // num_keys))), "v": [1] * num_keys}
    changed = table.merge(pa.table(source), on="k")
    assert (changed.count_rows(), changed.count_rows("v = 1")) == (20_000, num_keys)
    assert sorted(changed.scan(["_rowid"]).to_table()["_rowid"].to_pylist()) == list(range(20_000))
    assert by_key(changed, "v")[-1] == (timedelta(milliseconds=19_999), 0)


def test_added_columns(table: Dataset) -> None:
    table = table.delete("k = 2")
    made = table.add_columns({"double_v": "v * 2", "constant": "'c'", "arrow": pc.field("k")})
    assert by_key(made, "double_v", "constant", "arrow")[0] == (1, 20, "c", 1)
    made = made.add_columns([pa.field("nested", pa.struct([("x", pa.list_(pa.int64()))]))])
    assert by_key(made, "nested")[0] == (1, None)
    assert by_key(made.update({"nested": "{'x': [k]}"}, "k = 1"), "nested")[:2] == [(1, {"x": [1]}), (3, None)]


def test_added_columns_make_rows_updated_and_null_columns_do_not(table: Dataset) -> None:
    assert table.add_columns([pa.field("n", pa.int8())]).count_rows("_row_last_updated_at_version = 3") == 0
    assert table.add_columns({"one": 1}).count_rows("_row_last_updated_at_version = 4") == 6


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda table: table.add_columns({"V": "1"}), "differ only in case"),
        (lambda table: table.add_columns({"v": "1"}), "version 2 has a column 'v' already"),
        (lambda table: table.add_columns([pa.field("v", pa.int8())]), "version 2 has a column 'v' already"),
        (lambda table: table.add_columns({}), "No column"),
        (lambda table: table.add_columns(["n"]), "not 'n'"),
        (lambda table: table.add_columns(pa.schema([])), "No column"),
        (lambda table: table.drop_columns([]), "No column"),
        (lambda table: table.rename_columns({}), "No column"),
        (lambda table: table.add_columns({"_rowid": "1"}), "reserved"),
        (lambda table: table.add_columns([pa.field("n", pa.int8(), nullable=False)]), "nullable"),
        (lambda table: table.drop_columns("x"), "'x'"),
        (lambda table: table.drop_columns(["k", "v", "s", "price"]), "no column left"),
        (lambda table: table.rename_columns({"k": "v"}), "same name"),
        (lambda table: table.rename_columns({"k": "a.b"}), "dot"),
        (lambda table: table.alter_column("k"), "Pass a change for column"),
        (lambda table: table.alter_column("s", type=pa.int64()), "'s'"),
        (lambda table: table.alter_column("s", nullable=False), "3 rows .* NULL"),
    ],
)
def test_columns_that_cannot_be(table: Dataset, change: Any, message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        change(table)
    assert table.snapshot.latest().version == 2


def test_columns_are_dropped_renamed_and_changed(table: Dataset) -> None:
    table = table.rename_columns({"v": "amount"}).drop_columns("price").alter_column("amount", type=pa.int64())
    table = table.alter_column("amount", nullable=False)
    assert table.schema == pa.schema(
        [("k", pa.int64()), pa.field("amount", pa.int64(), nullable=False), ("s", pa.string())]
    )
    assert by_key(table, "amount", "_row_last_updated_at_version")[0] == (1, 10, 5)
    with pytest.raises(InvalidArgument, match="NULL"):
        lance_sql.write({"k": [1], "amount": [None]}, table.uri, mode="append")
    table = table.alter_column("amount", nullable=True)
    assert lance_sql.write({"k": [9], "amount": [None]}, table.uri, mode="append").count_rows() == 7


def test_members_of_structs(tmp_path: Path) -> None:
    table = lance_sql.write({"k": [1], "p": [{"x": 1, "y": 2}]}, tmp_path / "t")
    assert by_key(table.rename_columns({"p.x": "z"}), "p") == [(1, {"z": 1, "y": 2})]
    assert by_key(table.drop_columns("p.y"), "p") == [(1, {"z": 1})]
    with pytest.raises(InvalidArgument, match="no member left"):
        table.drop_columns("p.z")


def test_compaction(table: Dataset) -> None:
    before = by_key(table.delete("k = 2").update({"v": 0}, "k = 5"), "v", *HIDDEN)
    assert [group.fragment_ids for group in table.maintenance.plan_compaction()] == [(0, 1, 2)]
    made = table.maintenance.compact()
    assert by_key(made, "v", *HIDDEN) == before
    assert len(made.snapshot.manifest.fragments) == 1
    assert made.snapshot.manifest.fragments[0].deletion_file is None
    assert made.maintenance.compact().version == made.version
    assert made.maintenance.plan_compaction() == []


def test_compaction_respects_its_limits(table: Dataset) -> None:
    assert table.maintenance.plan_compaction(target_rows=3) == []
    table = table.delete("k = 2")
    assert [group.fragment_ids for group in table.maintenance.plan_compaction(target_rows=3)] == [(0,)]
    assert table.maintenance.plan_compaction(target_rows=3, max_deleted_share=0.5) == []


def test_a_compaction_that_fails_leaves_no_files(table: Dataset) -> None:
    """Two groups of fragments, with a long one between them; the second one is not written to its end."""
    lance_sql.write(rows(*range(10, 30)), table.uri, mode="append")
    for key in (7, 8):
        table = lance_sql.write(rows(key), table.uri, mode="append")
    assert len(table.maintenance.plan_compaction(target_rows=10)) == 2
    before = sorted(Path(table.uri).rglob("*"))

    class FullStore(FailingStore):
        """Has room for one file."""

        num_created = 0

        def create(self, path: str) -> Sink:
            if self.num_created:
                raise Broken("no space left")
            self.num_created += 1
            return super().create(path)

    full = Dataset(on(FullStore(LocalStore(table.uri)), table.snapshot))
    with pytest.raises(Broken):
        full.maintenance.compact(target_rows=10)
    assert sorted(Path(table.uri).rglob("*")) == before


def test_compaction_of_indexed_tables(table: Dataset, tmp_path: Path) -> None:
    lance.dataset(table.uri).create_scalar_index("k", "BTREE")
    made = lance_sql.open(table.uri).maintenance.compact()
    assert lance.dataset(made.uri).to_table(filter="k = 5").num_rows == 1
    assert lance_sql.write(rows(7), made.uri, mode="append").count_rows("k = 7") == 1
    assert lance.dataset(made.uri).to_table(filter="k >= 5").num_rows == 3
    lance.write_dataset(rows(1), tmp_path / "unstable")
    lance.write_dataset(rows(2), tmp_path / "unstable", mode="append")
    lance.dataset(tmp_path / "unstable").create_scalar_index("k", "BTREE")
    made = lance_sql.open(tmp_path / "unstable").maintenance.compact()
    assert made.indices.list()[0].num_uncovered == 0
    assert lance.dataset(made.uri).to_table(filter="k = 1").num_rows == made.count_rows("k = 1")


def test_restore(table: Dataset) -> None:
    before = by_key(lance_sql.open(table.uri, version=1), "v", *HIDDEN)
    assert by_key(table.delete("true").restore(1), "v", *HIDDEN) == before
    assert by_key(lance_sql.open(table.uri, version=2).restore(), "v") == by_key(table, "v")
    appended = lance_sql.write(rows(9), table.uri, mode="append")
    assert by_key(appended, "_rowid")[-1] == (9, 6)
    with pytest.raises(VersionNotFound, match="Version 99"):
        table.restore(99)


def test_tags(table: Dataset) -> None:
    table.tags.create("first", 1)
    table.tags.create("now")
    assert lance.dataset(table.uri, version="first").version == 1
    assert {name: tag.version for name, tag in table.tags.list().items()} == {"first": 1, "now": 2}
    table.tags.move("now", 1)
    assert lance.dataset(table.uri).tags.get_version("now") == 1
    table.tags.delete("now")
    with pytest.raises(VersionNotFound):
        table.tags.move("now")
    with pytest.raises(VersionNotFound):
        table.tags.delete("now")
    with pytest.raises(VersionNotFound):
        table.tags.create("other", 9)
    with pytest.raises(InvalidArgument, match="already"):
        table.tags.create("first")


def test_branches(table: Dataset) -> None:
    branch = table.branches.create("dev")
    lance_sql.write(rows(100), table.uri, mode="append", branch="dev")
    assert lance_sql.open(table.uri, branch="dev").delete("k = 1").count_rows() == 6
    assert lance_sql.open(table.uri).count_rows() == 6
    assert lance.dataset(table.uri).checkout_version(("dev", None)).count_rows() == 6
    assert branch.branch == "dev"
    assert repr(branch) == f"lance_sql.Dataset({table.uri!r}, version=2, branch='dev')"
    table.branches.delete("dev")
    assert table.branches.list() == {}


def test_shallow_clones(table: Dataset, tmp_path: Path) -> None:
    clone = table.branches.shallow_clone(tmp_path / "clone")
    assert by_key(clone, "v") == by_key(table, "v")
    assert len(by_key(clone.delete("k = 1"))) == 5
    assert len(by_key(lance_sql.open(table.uri))) == 6


def test_cleanup(table: Dataset) -> None:
    table.tags.create("first", 1)
    table = table.update({"v": 0}, "k = 1").maintenance.compact()
    planned = table.maintenance.cleanup(retain_versions=1, dry_run=True)
    assert [file.version for file in planned.versions] == [2, 3, 4]
    assert [info.version for info in table.versions()] == [1, 2, 3, 4, 5]
    table.maintenance.cleanup(retain_versions=1)
    assert [info.version for info in table.versions()] == [1, 5]
    assert len(by_key(lance_sql.open(table.uri, version=1))) == 3
    assert len(by_key(table)) == 6
    assert lance_sql.verify(table.uri, deep=True).is_healthy
    assert table.maintenance.cleanup(older_than=timedelta(hours=1)).versions == ()


def test_config(table: Dataset) -> None:
    table.config.update({"a": "1", "b": "2"}).config.update({"a": None})
    assert lance.dataset(table.uri).config() == {"b": "2"}
    with pytest.raises(InvalidArgument, match="text"):
        table.config.update({"a": 1})  # type: ignore[dict-item]  # wrong on purpose


def test_statements_on_the_same_rows_are_computed_again(table: Dataset) -> None:
    """Each of the updates is applied to what the others have made."""
    threads = [
        threading.Thread(target=lambda: lance_sql.open(table.uri).update({"v": "v + 1"}, "k = 1")) for _ in "abc"
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert by_key(lance_sql.open(table.uri), "v")[0] == (1, 13)


def test_appending_to_a_table_that_was_overwritten(table: Dataset) -> None:
    job = lance_sql.begin_write(rows().schema, table.uri, mode="append")
    fragments = job.write_fragments(rows(7))
    lance_sql.write({"x": [1]}, table.uri, mode="overwrite")
    with pytest.raises(CommitConflict, match="Overwrite"):
        job.commit(fragments)


@pytest.mark.parametrize(
    "change",
    [
        lambda table: table.delete("k = 1"),
        lambda table: table.update({"v": 0}, "true"),
        lambda table: table.merge(rows(1), on="k"),
        lambda table: table.maintenance.compact(),
        lambda table: table.restore(),
        lambda table: table.config.update({"a": "1"}),
        lambda table: table.tags.create("now"),
        lambda table: table.maintenance.cleanup(),
    ],
)
def test_a_table_that_is_gone(table: Dataset, change: Any) -> None:
    table = lance_sql.open(table.uri)
    shutil.rmtree(table.uri)
    with pytest.raises(TableNotFound, match="was dropped or moved"):
        change(table)
    assert not Path(table.uri).exists()


@pytest.mark.parametrize("where", [None, "", "  "])
@pytest.mark.parametrize("verb", ["delete", "update"])
def test_a_change_of_all_rows_has_to_be_meant(tmp_path: Path, verb: str, where: Any) -> None:
    table = lance_sql.write({"id": [1, 2]}, tmp_path / "t.lance")
    change = table.delete if verb == "delete" else partial(table.update, {"id": "7"})
    with pytest.raises(InvalidArgument, match=f"'true' {verb}s all rows"):
        change(where)
    assert table.latest().version == 1
    assert change("true").count_rows("id = 7") == (0 if verb == "delete" else 2)
