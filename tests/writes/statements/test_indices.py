"""Indices that are built here: pylance opens and uses them, filters find the same rows, and changes keep them right."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import lance
import numpy as np
import pyarrow as pa
import pytest

import lance_sql
from lance_sql.errors import ColumnNotFound, InvalidArgument, UnsupportedFeature
from lance_sql.writes.commit import committer
from lance_sql.writes.commit.operations import CreateIndex
from tests.properties.test_filters import TABLE

KINDS = ("zonemap", "btree", "bitmap", "bloomfilter")
PYLANCE_NAMES = {"zonemap": "ZoneMap", "btree": "BTree", "bitmap": "Bitmap", "bloomfilter": "BloomFilter"}

RANGES = [
    "id > 590",
    "f > 1e200",
    "f < -2",
    "m = cast(1.23 as decimal(10, 2))",
    "b = true",
    "t < timestamp '1980-01-01 00:00:00'",
    "i IS NOT NULL AND id < 100",
]
VALUES = ["id = 17", "i = 7", "s = 'ab'", "f = 1.5", "f = 0", "d = date '2000-02-29'", "i IS NULL", "s IN ('', 'zzz')"]


def rows(first: int = 0) -> pa.Table:
    table = pa.concat_tables([TABLE] * 5)
    numbers = pa.array(range(first, first + table.num_rows))
    return table.append_column("id", numbers).append_column(
        "p", pa.StructArray.from_arrays([numbers, table.column("s").combine_chunks()], ["x", "y"])
    )


def indexed(path: Path, kind: str, *, stable: bool, file_version: Any) -> lance_sql.Dataset:
    """A table with deletions and an index of one kind on each column that can have one."""
    lance.write_dataset(
        rows(), path, max_rows_per_file=250, enable_stable_row_ids=stable, data_storage_version=file_version
    )
    dataset = lance_sql.open(path).delete("id % 9 = 4")
    for name in [*TABLE.column_names, "id", "p.x"]:
        if kind != "bloomfilter" or name not in ("m", "b", "c"):
            dataset = dataset.indices.create(name, kind)
    return dataset


def check(path: Path, condition: str, *, pylance_too: bool = True) -> None:
    """Both find the rows that they find without indices."""
    expected = lance_sql.open(path, use_indices=False).scan(["id"], condition).to_table()
    assert lance_sql.open(path).scan(["id"], condition).to_table().equals(expected), condition
    if pylance_too:
        theirs = lance.dataset(path)
        without = theirs.to_table(["id"], filter=condition, use_scalar_index=False)
        assert theirs.to_table(["id"], filter=condition).equals(without), condition


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("stable", "file_version"), [(False, "2.0"), (True, "2.1"), (False, "2.2"), (True, "2.2")])
def test_pylance_uses_what_is_built(tmp_path: Path, kind: str, file_version: str, *, stable: bool) -> None:
    path = tmp_path / "t"
    dataset = indexed(path, kind, stable=stable, file_version=file_version)
    assert all(each.num_uncovered == 0 and each.kind == kind for each in dataset.indices.list())
    for condition in VALUES + (RANGES if kind != "bloomfilter" else []):
        plan = lance.dataset(path).scanner(columns=["id"], filter=condition).explain_plan()
        assert f"({PYLANCE_NAMES[kind]})" in plan, condition
        check(path, condition)


@pytest.mark.parametrize("kind", KINDS)
def test_filters_are_answered_with_what_is_built(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "t"
    lance.write_dataset(pa.table({"i": pa.array(np.arange(40_000))}), path)
    dataset = lance_sql.open(path).indices.create("i", kind)
    left = dataset.scan(["i"], "i = 20000").plan.num_candidates
    assert left == (1 if kind in ("btree", "bitmap") else 8192)
    assert f"i_idx ({kind}): covers 1 of 1 fragments" in dataset.scan(["i"], "i = 20000").explain()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("stable", [False, True])
def test_operations_keep_what_is_built_right(tmp_path: Path, kind: str, *, stable: bool) -> None:
    path = tmp_path / "t"
    dataset = indexed(path, kind, stable=stable, file_version="2.2")

    def check_all() -> None:
        for condition in ["i = 7", "id = 17", "id = 1007", "s = 'ab'", "f = 99.5", "p.x = 30", "i IS NULL AND id < 9"]:
            check(path, condition)

    dataset = lance_sql.write(rows(1000), path, mode="append")
    check_all()
    dataset = dataset.update({"f": "99.5", "i": "7"}, "id % 7 = 3")
    check_all()
    dataset = dataset.indices.optimize()
    assert all(each.num_uncovered == 0 for each in dataset.indices.list())
    check_all()
    dataset = dataset.merge({"id": [17, 5000], "i": [7, 7]}, on="id")
    check_all()
    with pytest.raises(InvalidArgument, match="a number is too large"):
        dataset.alter_column("f", type=pa.float32())
    dataset = dataset.update({"f": "99.5"}, "f > 1e38 AND f < 'inf'::DOUBLE").update({"f": "-1.5"}, "f < -1e38")
    dataset = dataset.alter_column("f", type=pa.float32())
    assert "f_idx" not in [each.name for each in dataset.indices.list()]
    check_all()
    dataset = dataset.drop_columns("s").add_columns({"s": "'ab'"})
    assert "s_idx" not in [each.name for each in dataset.indices.list()]
    check_all()
    lance.dataset(path).delete("id = 1007")
    lance.dataset(path).optimize.compact_files()
    check_all()
    dataset = lance_sql.open(path).indices.optimize()
    check_all()
    dataset.restore(3)
    check_all()
    lance_sql.write(rows(), path, mode="overwrite")
    assert lance_sql.open(path).indices.list() == ()


def test_an_index_over_what_another_writer_changes_meanwhile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from lance_sql.writes.statements import indices as indexing

    path = tmp_path / "t"
    lance.write_dataset(rows(), path, max_rows_per_file=250)
    write = indexing._write
    moved: list[lance_sql.Dataset] = []

    def overtaken(*arguments: Any) -> Any:
        written = write(*arguments)
        if not moved:
            moved.append(lance_sql.open(path).update({"i": "1000"}, "id % 5 = 1"))
            lance.dataset(path).optimize.compact_files()
        return written

    monkeypatch.setattr(indexing, "_write", overtaken)
    dataset = lance_sql.open(path).indices.create("i", "btree")
    assert dataset.indices.list()[0].num_uncovered == 0
    check(path, "i = 1000")
    assert len(list((path / "_indices").iterdir())) == 1 or len(list((path / "_indices").glob("*/*"))) == 2


def test_two_writers_of_one_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from lance_sql.writes.statements import indices as indexing

    path = tmp_path / "t"
    lance.write_dataset(rows(), path)
    write = indexing._write

    def overtaken(*arguments: Any) -> Any:
        monkeypatch.undo()
        lance_sql.open(path).indices.create("i", "btree")
        return write(*arguments)

    monkeypatch.setattr(indexing, "_write", overtaken)
    with pytest.raises(InvalidArgument, match="'i_idx' already"):
        lance_sql.open(path).indices.create("i", "bitmap")
    assert [each.kind for each in lance_sql.open(path).indices.list()] == ["btree"]
    assert len(list((path / "_indices").glob("*/*.lance"))) == 2


def test_unsupported_indices_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "t"
    table = rows().append_column("lists", pa.array([[1]] * 600))
    table = table.append_column("words", pa.array(["x"] * 600).dictionary_encode())
    lance.write_dataset(table, path)
    dataset = lance_sql.open(path)
    with pytest.raises(InvalidArgument, match="Unknown kind of index 'hash'"):
        dataset.indices.create("i", "hash")
    with pytest.raises(ColumnNotFound):
        dataset.indices.create("nope", "btree")
    for column in ("lists", "words", "p"):
        with pytest.raises(UnsupportedFeature, match="index on a column of type"):
            dataset.indices.create(column, "btree")
    with pytest.raises(UnsupportedFeature, match="bloom filter on a column of type bool"):
        dataset.indices.create("b", "bloomfilter")
    with pytest.raises(InvalidArgument, match="cannot be the name"):
        dataset.indices.create("i", "btree", name="__lance_frag_reuse")
    dataset = dataset.indices.create("i", "btree")
    with pytest.raises(InvalidArgument, match="'i_idx' already"):
        dataset.indices.create("i", "bitmap")
    assert [each.kind for each in dataset.indices.create("i", "bitmap", replace=True).indices.list()] == ["bitmap"]
    with pytest.raises(InvalidArgument, match="no index 'j_idx'; it has 'i_idx'"):
        dataset.indices.drop("j_idx")
    assert dataset.indices.drop("i_idx").indices.list() == ()
    assert not list((path / "data").glob("*.tmp"))


def test_there_is_nothing_to_do_for_indices_that_cover_everything(tmp_path: Path) -> None:
    path = tmp_path / "t"
    lance.write_dataset(rows(), path)
    dataset = lance_sql.open(path).indices.create("i", "btree")
    assert dataset.indices.optimize().version == dataset.version
    rebuilt = dataset.indices.optimize("i_idx", rebuild=True)
    assert rebuilt.version == dataset.version + 1
    assert rebuilt.indices.list()[0].num_segments == 1


def test_progress_counts_rows(tmp_path: Path) -> None:
    path = tmp_path / "t"
    lance.write_dataset(rows(), path)
    told: list[tuple[int, int | None]] = []
    lance_sql.open(path).indices.create("i", "zonemap", progress=lambda done, total: told.append((done, total)))
    assert told[-1] == (600, 600)


NAN, MINUS_NAN = np.float64("nan"), -np.float64("nan")


@pytest.mark.parametrize(
    "values",
    [
        [NAN, NAN],
        [MINUS_NAN],
        [MINUS_NAN, NAN, None],
        [1.0, NAN],
        [1.0, MINUS_NAN, None],
        [0.0],
        [-0.0],
        [None],
        [np.inf, -np.inf],
    ],
    ids=str,
)
@pytest.mark.parametrize("type", [pa.float64(), pa.float32(), pa.float16()], ids=str)
def test_numbers_that_are_none(tmp_path: Path, values: list[Any], type: pa.DataType) -> None:
    """Each zone map, BTREE, BITMAP and bloom filter over a few special numbers, beside a fragment of usual ones."""
    array = pa.array(np.array([0.0 if value is None else value for value in values]), pa.float64())
    array = pa.array(array.to_numpy(), mask=np.array([value is None for value in values])).cast(type)
    table = pa.table({"f": pa.concat_arrays([array, pa.array([5.0, 6.0], type)]), "id": range(len(values) + 2)})
    numbers = ("0", "-0.0", "1", "5", "'inf'::DOUBLE", "'-inf'::DOUBLE", "'nan'::DOUBLE")
    compared = [f"f {op} {number}" for op in ("=", "<>", "<", "<=", ">", ">=") for number in numbers]
    conditions = [*compared, *(f"NOT ({each})" for each in compared)]
    conditions += ["f IS NULL", "f IS NOT NULL", "isnan(f)", "f IN (5, 'nan'::DOUBLE)", "f IN (0, 1)"]
    plain = tmp_path / "plain"
    lance.write_dataset(table, plain, max_rows_per_file=len(values))
    opened = lance_sql.open(plain)
    expected = {each: opened.scan(["id"], each).to_table() for each in conditions}
    for kind in KINDS if type != pa.float16() else KINDS[:3]:
        path = tmp_path / kind
        lance.write_dataset(table, path, max_rows_per_file=len(values))
        opened = lance_sql.open(path).indices.create("f", kind)
        for each in conditions:
            assert opened.scan(["id"], each).to_table().equals(expected[each]), each


@pytest.mark.parametrize("stable", [False, True])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("choice", ["update", "keep", "drop"])
def test_a_compaction_moves_rows_of_indices(
    tmp_path: Path, kind: str, choice: Literal["update", "keep", "drop"], *, stable: bool
) -> None:
    path = tmp_path / "t"
    lance.write_dataset(rows(), path, max_rows_per_file=100, enable_stable_row_ids=stable)
    dataset = lance_sql.open(path).indices.create("id", kind).delete("id % 9 = 4")
    lance.dataset(path).create_scalar_index("i", "BTREE", name="theirs")
    dataset = lance_sql.open(path).maintenance.compact(target_rows=300, indices=choice)
    knows_ids = stable and kind == "bitmap"
    found = {each.name: each.num_uncovered for each in dataset.indices.list()}
    if choice == "drop" and not knows_ids:
        assert "id_idx" not in found
    else:
        follows = choice == "update" and not (stable and kind in ("zonemap", "bloomfilter"))
        assert found["id_idx"] == (0 if follows or knows_ids else len(dataset.snapshot.manifest.fragments))
    for condition in ("id = 17", "id = 440", "i = 7 AND id < 300", "i = 7"):
        check(path, condition)
    lance.dataset(path).optimize.optimize_indices()
    for condition in ("id = 17", "id = 440", "i = 7"):
        check(path, condition)


def test_there_are_three_choices_for_indices(tmp_path: Path) -> None:
    lance.write_dataset(rows(), tmp_path / "t", max_rows_per_file=100)
    with pytest.raises(InvalidArgument, match="'update', 'keep', 'drop'"):
        lance_sql.open(tmp_path / "t").maintenance.compact(indices="remap")  # type: ignore[arg-type]  # wrong on purpose


def test_row_ids_that_change_their_meaning_meanwhile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from lance_sql.writes.statements import indices as indexing

    path = tmp_path / "t"
    lance.write_dataset(rows(), path, max_rows_per_file=250)
    write = indexing._write

    def overtaken(*arguments: Any) -> Any:
        monkeypatch.undo()
        lance_sql.open(path).maintenance.enable_stable_row_ids(indices="keep")
        return write(*arguments)

    monkeypatch.setattr(indexing, "_write", overtaken)
    dataset = lance_sql.open(path).indices.create("id", "btree")
    assert [segment.index_version for segment in dataset.snapshot.indices()] == [1]
    check(path, "id = 440")


@pytest.mark.parametrize("kind", ["btree", "bitmap"])
def test_new_fragments_get_a_segment_and_changed_ones_a_new_index(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "t"
    lance.write_dataset(rows(), path, max_rows_per_file=250)
    dataset = lance_sql.open(path).indices.create("i", kind)
    lance_sql.write(rows(1000), path, mode="append")
    dataset = dataset.indices.optimize()
    assert [each.num_segments for each in dataset.indices.list()] == [2]
    check(path, "i = 7")
    fragment = lance.dataset(path).get_fragments()[2]
    table = fragment.to_table(["id"], with_row_address=True)
    new = pa.table({"_rowaddr": table["_rowaddr"], "i": pa.array([7] * table.num_rows, pa.int32())})
    updated, fields = fragment.update_columns(new, left_on="_rowaddr")
    version = lance.dataset(path).version
    operation = lance.LanceOperation.Update(updated_fragments=[updated], fields_modified=fields)
    lance.LanceDataset.commit(path, operation, read_version=version)
    assert lance_sql.open(path).indices.list()[0].num_uncovered == 1
    dataset = lance_sql.open(path).indices.optimize()
    assert [(each.num_segments, each.num_uncovered) for each in dataset.indices.list()] == [(1, 0)]
    for condition in ("i = 7", "i = 100", "i < 0"):
        check(path, condition)


@pytest.mark.parametrize("kind", ["zonemap", "bloomfilter"])
def test_a_compaction_leaves_zones_of_rows_with_ids_without_them(tmp_path: Path, kind: str) -> None:
    """As pylance 14 leaves them: earlier readers take addresses in them for row ids."""
    for name in ("ours", "theirs"):
        dataset = lance_sql.write({"i": range(100)}, tmp_path / name).indices.create("i", kind)
        dataset.indices.create("i", "btree", name="tree").delete("i % 4 = 3")
    ours = lance_sql.open(tmp_path / "ours").maintenance.compact()
    lance.dataset(tmp_path / "theirs").optimize.compact_files()
    theirs = lance_sql.open(tmp_path / "theirs")
    covered = [
        {(each.name, each.index_type): each.fragment_ids for each in table.snapshot.indices()}
        for table in (ours, theirs)
    ]
    assert covered[0] == covered[1]
    assert {each.name: each.num_fragments for each in ours.indices.list()} == {"i_idx": 0, "tree": 1}
    assert ours.indices.optimize().indices.list()[0].num_fragments == 1


def test_an_index_of_row_ids_and_addresses_becomes_one_of_addresses(tmp_path: Path) -> None:
    """pylance 10 and 11 write BTREEs of row ids, and pylance 14 refuses one that has segments of both."""
    dataset = lance_sql.write({"i": range(50)}, tmp_path / "t").indices.create("i", "btree")
    (segment,) = dataset.snapshot.indices()
    # in the only fragment, ids are addresses
    old = replace(segment, index_version=0)
    committer.commit(dataset.snapshot, CreateIndex((old,), (segment,)))
    lance_sql.write({"i": range(50, 80)}, tmp_path / "t", mode="append")
    segments = lance_sql.open(tmp_path / "t").indices.optimize().snapshot.indices()
    assert [(each.index_version, each.fragment_ids) for each in segments] == [(1, frozenset({0, 1}))]
    lance.dataset(tmp_path / "t").delete("i = 60")
    assert lance_sql.open(tmp_path / "t").count_rows("i >= 48 AND i < 62") == 13
