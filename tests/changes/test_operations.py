"""Changes of each operation in the feed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import lance
import pyarrow as pa
import pytest

import lance_sql
from lance_sql.errors import InvalidArgument
from lance_sql.testing import assert_changes

Change = tuple[Any, ...]

ROWS = pa.table({"id": [1, 2, 3], "s": ["a", "b", None]})


@pytest.fixture
def table(tmp_path: Path) -> lance_sql.Dataset:
    return lance_sql.write(ROWS, tmp_path / "t.lance")


def changes(dataset: lance_sql.Dataset, *arguments: Any, **options: Any) -> list[Change]:
    """Kind, values and version of each image of a feed, as it delivers them."""
    feed = dataset.changes(*arguments, **options)
    names = [name for name in feed.schema.names if name not in ("_change_type", "_commit_timestamp", "_rowid")]
    columns = feed.scan(["_change_type", *names]).to_table().to_pydict()
    return list(zip(*columns.values(), strict=True))


def test_the_first_version_inserts(table: lance_sql.Dataset) -> None:
    assert changes(table) == [("insert", 1, "a", 1), ("insert", 2, "b", 1), ("insert", 3, None, 1)]


def test_an_append_inserts(table: lance_sql.Dataset) -> None:
    made = lance_sql.write(pa.table({"id": [4], "s": ["d"]}), table.uri, mode="append")
    assert changes(made, 2) == [("insert", 4, "d", 2)]
    assert changes(made, 2, mode="insert_only") == [("insert", 4, "d", 2)]
    assert made.changes(2).scan(["_rowid"]).to_table()["_rowid"].to_pylist() == [3]


def test_a_delete_has_the_values(table: lance_sql.Dataset) -> None:
    made = table.delete("id = 2")
    assert changes(made, 2) == [("delete", 2, "b", 2)]
    assert changes(made.delete("true"), 3) == [("delete", 1, "a", 3), ("delete", 3, None, 3)]


def test_an_update_has_both_images(table: lance_sql.Dataset) -> None:
    made = table.update({"s": "'new'"}, "id > 1")
    assert changes(made, 2) == [
        ("update_preimage", 2, "b", 2),
        ("update_preimage", 3, None, 2),
        ("update_postimage", 2, "new", 2),
        ("update_postimage", 3, "new", 2),
    ]
    assert changes(made, 2, mode="insert_only") == []


def test_an_update_to_the_same_values_can_be_left_out(table: lance_sql.Dataset) -> None:
    made = table.update({"s": "'a'"}, "id < 3")
    assert len(changes(made, 2)) == len(changes(made, 2, mode="net")) == 4
    for mode in ("all", "net"):
        left = [("update_preimage", 2, "b", 2), ("update_postimage", 2, "a", 2)]
        assert changes(made, 2, mode=mode, drop_unchanged=True) == left


def test_a_merge_updates_inserts_and_deletes(table: lance_sql.Dataset) -> None:
    made = table.merge(pa.table({"id": [1, 9], "s": ["x", "y"]}), on="id", delete_unmatched="id = 3")
    assert sorted(changes(made, 2), key=repr) == [
        ("delete", 3, None, 2),
        ("insert", 9, "y", 2),
        ("update_postimage", 1, "x", 2),
        ("update_preimage", 1, "a", 2),
    ]


def test_an_overwrite_deletes_all_and_inserts_all(table: lance_sql.Dataset) -> None:
    made = lance_sql.write(pa.table({"id": [1], "s": ["a"]}), table.uri, mode="overwrite")
    deleted = [("delete", 1, "a", 2), ("delete", 2, "b", 2), ("delete", 3, None, 2)]
    assert changes(made, 2) == [*deleted, ("insert", 1, "a", 2)]
    assert changes(made, 2, mode="net") == [*deleted, ("insert", 1, "a", 2)]


def test_columns_of_an_overwritten_table_go_by_name(table: lance_sql.Dataset) -> None:
    made = lance_sql.write(pa.table({"s": ["new"], "other": [1]}), table.uri, mode="overwrite")
    found = changes(made, 1)
    assert found[:3] == [("insert", "a", None, 1), ("insert", "b", None, 1), ("insert", None, None, 1)]
    assert found[-1] == ("insert", "new", 1, 2)


def test_a_restore_is_what_differs(table: lance_sql.Dataset) -> None:
    made = table.delete("id = 1").update({"s": "'new'"}, "id = 2")
    made = lance_sql.write(pa.table({"id": [7], "s": ["g"]}), made.uri, mode="append").restore(1)
    back = [
        ("delete", 7, "g", 5),
        ("update_preimage", 2, "new", 5),
        ("update_postimage", 2, "b", 5),
        ("insert", 1, "a", 5),
    ]
    assert changes(made, 5) == back
    assert changes(made, 2, mode="net") == []
    assert made.scan(filter="_row_last_updated_at_version = 5").count_rows() == 0


def test_a_restore_behind_a_compaction_finds_the_rows_that_differ(table: lance_sql.Dataset) -> None:
    made = lance_sql.write(pa.table({"id": [7], "s": ["g"]}), table.uri, mode="append")
    made = made.update({"s": "'new'"}, "id = 2").maintenance.compact().restore(2)
    version = made.version
    assert changes(made, version) == [("update_preimage", 2, "new", version), ("update_postimage", 2, "b", version)]


def test_a_column_that_two_restores_bring_back_is_one_column(tmp_path: Path) -> None:
    """Both go back to before the range, the later one to a later version."""
    made = lance_sql.write(pa.table({"id": [1], "r": [10]}), tmp_path / "t.lance")
    made = lance_sql.write(pa.table({"id": [2], "r": [20]}), made.uri, mode="append")
    made = lance_sql.write(pa.table({"id": [3]}), made.drop_columns(["r"]).uri, mode="append").restore(1)
    start = made.version
    made = lance_sql.write(pa.table({"id": [4], "r": [40]}), made.uri, mode="append").drop_columns(["r"]).restore(2)
    since: list[dict[str, Any]] = [
        {"id": 4, "r": 40, "_change_type": "insert", "_commit_version": 6},
        {"id": 1, "r": 10, "_change_type": "update_preimage", "_commit_version": 7},
        {"id": 4, "r": 40, "_change_type": "update_preimage", "_commit_version": 7},
        {"id": 1, "r": None, "_change_type": "update_postimage", "_commit_version": 7},
        {"id": 4, "r": None, "_change_type": "update_postimage", "_commit_version": 7},
        {"id": 4, "r": None, "_change_type": "delete", "_commit_version": 8},
        {"id": 1, "r": None, "_change_type": "update_preimage", "_commit_version": 8},
        {"id": 1, "r": 10, "_change_type": "update_postimage", "_commit_version": 8},
        {"id": 2, "r": 20, "_change_type": "insert", "_commit_version": 8},
    ]
    assert start == since[0]["_commit_version"] - 1
    assert made.changes(start + 1).scan(list(since[0])).to_table().to_pylist() == since
    assert made.changes(start).scan(list(since[0])).to_table().to_pylist()[-len(since) :] == since


def test_a_column_that_a_restore_brings_back_has_its_values_again(tmp_path: Path) -> None:
    made = lance_sql.write(ROWS, tmp_path / "t.lance").drop_columns("s")
    made = lance_sql.write(pa.table({"id": [4]}), made.uri, mode="append").restore(1)
    expected = [
        ("delete", 4, None, 4),
        ("update_preimage", 1, None, 4),
        ("update_preimage", 2, None, 4),
        ("update_postimage", 1, "a", 4),
        ("update_postimage", 2, "b", 4),
    ]
    assert changes(made, 4) == changes(made, 4, mode="net") == expected
    # the column was there before the range, and is there at its end
    assert changes(made, 2, mode="net") == []


def test_a_column_that_comes_back_with_other_values_has_changed(tmp_path: Path) -> None:
    """Row 1 has NULL again, as it had between, when there was no column; row 3 is as it was."""
    rows = pa.table({"id": [1, 2, 3], "s": [None, "b", "c"]})
    made = lance_sql.write(rows, tmp_path / "t.lance").update({"s": "'new'"}, "id < 3")
    made = made.drop_columns("s").restore(1)
    expected = [
        ("update_preimage", 1, "new"),
        ("update_preimage", 2, "new"),
        ("update_postimage", 1, None),
        ("update_postimage", 2, "b"),
    ]
    net = changes(made, 3, mode="net")
    assert [each[:3] for each in net] == expected
    # the last commit that changed row 1 is the one that dropped its value
    assert [each[3] for each in net] == [3, 4, 3, 4]
    keyed = made.changes(3, mode="net", key="id").scan(["_change_type", "id", "s"]).to_table().to_pylist()
    assert [(each["_change_type"], each["id"], each["s"]) for each in keyed] == expected
    before = [each for each in changes(made, 3) if each[0] == "update_preimage" and each[3] == 3]
    assert sorted(each[1:3] for each in before) == [(1, "new"), (2, "new"), (3, "c")]
    assert_changes(made, since=2, updated=2)


@pytest.mark.parametrize("stable_row_ids", [False, True])
def test_by_key_a_row_that_was_written_again_as_it_was_is_unchanged(tmp_path: Path, stable_row_ids: bool) -> None:
    made = lance_sql.write({"id": [1, 2], "v": [1, 2]}, tmp_path / "t.lance", stable_row_ids=stable_row_ids)
    made = made.update({"v": "CASE WHEN id = 1 THEN 9 ELSE v END"}, "true")
    assert changes(made, 2, key="id") == [("update_preimage", 1, 1, 2), ("update_postimage", 1, 9, 2)]


def test_operations_without_row_changes_have_no_changes(table: lance_sql.Dataset) -> None:
    made = lance_sql.write(pa.table({"id": [4], "s": ["d"]}), table.uri, mode="append")
    start = made.version + 1
    made = made.maintenance.compact().config.update({"owner": "me"}).rename_columns({"s": "t"})
    made = made.add_columns([pa.field("n", pa.int32())])
    made.tags.create("here")
    dataset: Any = lance.dataset(made.uri)
    dataset.create_scalar_index("id", "BTREE")
    made = lance_sql.open(made.uri).drop_columns("n")
    assert changes(made, start) == changes(made, start, mode="net") == []


def test_an_added_column_updates_where_it_has_values(table: lance_sql.Dataset) -> None:
    made = table.add_columns({"n": "CASE WHEN id > 1 THEN id END"})
    assert changes(made, 2) == [
        ("update_preimage", 2, "b", None, 2),
        ("update_preimage", 3, None, None, 2),
        ("update_postimage", 2, "b", 2, 2),
        ("update_postimage", 3, None, 3, 2),
    ]
    # the range ends before it has the column
    assert changes(made, 1, 1) == [("insert", 1, "a", 1), ("insert", 2, "b", 1), ("insert", 3, None, 1)]


def test_values_of_a_renamed_and_of_a_cast_column_come_from_where_they_were(table: lance_sql.Dataset) -> None:
    made = table.rename_columns({"s": "t"}).alter_column("id", type=pa.int16()).delete("id = 2")
    feed = made.changes(1)
    assert feed.schema.field("id").type == pa.int16()
    assert changes(made) == [
        ("insert", 1, "a", 1),
        ("insert", 2, "b", 1),
        ("insert", 3, None, 1),
        ("delete", 2, "b", 4),
    ]
    assert feed.count_rows("id = 2 AND t = 'b'") == 2


def test_values_that_do_not_fit_a_later_type_name_the_last_version(table: lance_sql.Dataset) -> None:
    made = lance_sql.write(pa.table({"id": [70_000], "s": ["big"]}), table.uri, mode="append")
    made = made.delete("id = 70000").alter_column("id", type=pa.int16())
    with pytest.raises(
        InvalidArgument, match=r"'id' was of type int64 up to version 3, .* end the changes at version 3"
    ):
        made.changes(2).scan().to_table()
    assert changes(made, 2, 3) == [("insert", 70_000, "big", 2), ("delete", 70_000, "big", 3)]
    assert made.changes(2).scan(["s"]).to_table().num_rows == 2


def test_a_replaced_data_file_updates_what_differs(table: lance_sql.Dataset, tmp_path: Path) -> None:
    from lance.file import LanceFileWriter

    name = "replaced.lance"
    with LanceFileWriter(f"{table.uri}/data/{name}", version="2.1") as writer:
        writer.write_batch(pa.table({"s": ["a", "other", "new"]}))
    dataset: Any = lance.dataset(table.uri)
    size = (Path(table.uri) / "data" / name).stat().st_size
    file = lance.fragment.DataFile(
        path=name, fields=[1], column_indices=[0], file_major_version=2, file_minor_version=1, file_size_bytes=size
    )
    operation = lance.LanceOperation.DataReplacement([lance.LanceOperation.DataReplacementGroup(0, file)])
    lance.LanceDataset.commit(dataset.uri, operation, read_version=1)
    assert changes(lance_sql.open(table.uri), 2) == [
        ("update_preimage", 2, "b", 2),
        ("update_preimage", 3, None, 2),
        ("update_postimage", 2, "other", 2),
        ("update_postimage", 3, "new", 2),
    ]


def test_members_of_a_struct_come_and_go(tmp_path: Path) -> None:
    rows = pa.table({"id": [1, 2], "p": [{"x": 1, "y": "a"}, None]})
    made = lance_sql.write(rows, tmp_path / "t.lance").rename_columns({"p.x": "z"}).drop_columns("p.y")
    made = made.update({"id": "id + 10"}, "id = 1")
    assert changes(made) == [
        ("insert", 1, {"z": 1}, 1),
        ("insert", 2, None, 1),
        ("update_preimage", 1, {"z": 1}, 4),
        ("update_postimage", 11, {"z": 1}, 4),
    ]
    assert made.changes().scan(["p.z"], "p.z = 1").to_table()["p.z"].to_pylist() == [1, 1, 1]


def test_row_ids_in_data_files_are_row_ids(tmp_path: Path) -> None:
    """pylance moves what it carries over to hidden columns of data files."""
    path = str(tmp_path / "t.lance")
    rows = pa.table({"id": range(20), "s": ["x"] * 20})
    dataset: Any = lance.write_dataset(rows, path, enable_stable_row_ids=True)
    dataset.update_config({"lance.row_lineage.spill": "true", "lance.row_lineage.inline_max_bytes": "1"})
    lance.dataset(path).update({"s": "'n'"}, where="id % 7 = 0")
    lance.dataset(path).delete("id = 5")
    lance.dataset(path).optimize.compact_files()
    merge: Any = lance.dataset(path).merge_insert("id")
    merge.when_matched_update_all().when_not_matched_insert_all().execute(pa.table({"id": [1, 30], "s": ["m", "new"]}))
    made = lance_sql.open(path)
    assert made.snapshot.manifest.fragments.have_hidden_columns()
    found = [(change[0], change[1]) for change in changes(made, 3, mode="net")]
    updated = [(kind, id) for kind in ("update_postimage", "update_preimage") for id in (0, 1, 14, 7)]
    assert sorted(found) == sorted([("delete", 5), ("insert", 30), *updated])
    assert changes(made, 5, 6) == []


def test_rows_of_every_type_are_compared_by_their_values(tmp_path: Path) -> None:
    columns = {
        "f": pa.array([1.5, float("nan"), -0.0]),
        "l": pa.array([[1, None], [], None], pa.list_(pa.int64())),
        "v": pa.array([[1.0, 2.0], [3.0, 4.0], None], pa.list_(pa.float32(), 2)),
        "p": pa.array([{"x": "a"}, {"x": None}, None], pa.struct([("x", pa.string())])),
        "b": pa.array([True, None, False]),
        "d": pa.array(["u", None, "w"]).dictionary_encode(),
        "n": pa.array([b"1234", None, b"5678"], pa.binary(4)),
    }
    made = lance_sql.write(pa.table({"id": [1, 2, 3], **columns}), tmp_path / "t.lance")
    made = made.update({"id": "id"}, "true")
    assert made.changes(2).count_rows() == 6
    assert made.changes(2, drop_unchanged=True).count_rows() == 0
    for name, value in {"f": "0.0", "l": "[1, 2]", "p": "{'x': 'b'}", "b": "true", "n": "'zzzz'::BLOB"}.items():
        made = made.update({name: value}, "id = 3")
        assert made.changes(made.version, drop_unchanged=True).count_rows() == 2, name
        assert made.changes(2, mode="net", drop_unchanged=True).count_rows("id <> 3") == 0


def test_net_is_one_change_of_a_row(table: lance_sql.Dataset) -> None:
    made = lance_sql.write(pa.table({"id": [4, 5], "s": ["d", "e"]}), table.uri, mode="append")
    made = (
        made.update({"s": "'1'"}, "id IN (1, 4)")
        .maintenance.compact()
        .update({"s": "'2'"}, "id = 1")
        .delete("id IN (2, 5)")
    )
    last = made.version
    assert sorted(changes(made, 2, mode="net"), key=repr) == [
        ("delete", 2, "b", last),
        ("insert", 4, "1", 3),
        ("update_postimage", 1, "2", last - 1),
        ("update_preimage", 1, "a", last - 1),
    ]


def test_rows_without_lasting_ids_need_a_key(tmp_path: Path) -> None:
    made = lance_sql.write(ROWS, tmp_path / "t.lance", stable_row_ids=False)
    made = made.update({"s": "'new'"}, "id = 2").delete("id = 1")
    made = lance_sql.write(pa.table({"id": [4, 1], "s": ["d", "a"]}), made.uri, mode="append").maintenance.compact()
    with pytest.raises(InvalidArgument, match=r"without stable row ids.*key=\['id'\]"):
        made.changes(2)
    assert changes(made, 2, mode="net", key="id") == [
        ("update_preimage", 2, "b", 2),
        ("update_postimage", 2, "new", 2),
        ("insert", 4, "d", 4),
    ]
    assert changes(made, 2, key=["id"]) == [
        ("update_preimage", 2, "b", 2),
        ("update_postimage", 2, "new", 2),
        ("delete", 1, "a", 3),
        ("insert", 4, "d", 4),
        ("insert", 1, "a", 4),
    ]


def test_a_key_finds_rows_over_an_overwrite(table: lance_sql.Dataset) -> None:
    made = lance_sql.write(pa.table({"id": [2, 3, 4], "s": ["b", "c", "d"]}), table.uri, mode="overwrite")
    expected = [
        ("delete", 1, "a", 2),
        ("update_preimage", 3, None, 2),
        ("update_postimage", 3, "c", 2),
        ("insert", 4, "d", 2),
    ]
    assert changes(made, 2, key="id") == changes(made, 2, key="id", mode="net") == expected


def test_a_key_that_is_not_unique_is_refused(table: lance_sql.Dataset) -> None:
    made = lance_sql.write(pa.table({"id": [4, 4], "s": ["d", "e"]}), table.uri, mode="append")
    with pytest.raises(InvalidArgument, match=r"the key \(id\) 4"):
        changes(made, 2, key="id")


def test_the_history_of_rows(table: lance_sql.Dataset) -> None:
    made = table.update({"s": "'new'"}, "id = 1").delete("id = 2").restore(1)
    names = ["id", "s", "valid_from_version", "valid_to_version", "is_current"]
    found = made.row_history().scan(names).to_table().to_pydict()
    assert sorted(zip(*found.values(), strict=True), key=repr) == [
        (1, "a", 1, 2, False),
        (1, "a", 4, None, True),
        (1, "new", 2, 4, False),
        (2, "b", 1, 3, False),
        (2, "b", 4, None, True),
        (3, None, 1, None, True),
    ]
    later = made.row_history(3, 3).scan(names, "valid_from_version IS NULL AND NOT is_current").to_table().to_pylist()
    assert later == [{"id": 2, "s": "b", "valid_from_version": None, "valid_to_version": 3, "is_current": False}]
    current = made.row_history().scan(["id", "s"], "is_current").to_table().sort_by("id")
    assert current == made.scan().to_table().sort_by("id")
