"""Scalar indices in a scan: candidate rows, `explain`, and unusable indices."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import lance
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lance.indices import IndexConfig

import lance_sql
from lance_sql.format.index_files import writing
from lance_sql.writes.commit import committer
from lance_sql.writes.commit.operations import CreateIndex

ROWS = 6000


def write(path: Path, kind: str, column: str = "i", **options: Any) -> lance.LanceDataset:
    """A table of three fragments with one index."""
    numbers = np.arange(ROWS)
    table = pa.table(
        {
            "i": pa.array(numbers, pa.int64()),
            "k": pa.array(numbers % 40, pa.int32()),
            "s": pa.array([f"text {number % 500:03}" for number in numbers]),
            "p": pa.StructArray.from_arrays([pa.array(numbers), pa.array(numbers % 7)], ["x", "y"]),
        }
    )
    dataset = lance.write_dataset(table, path, max_rows_per_file=ROWS // 3, **options)
    parameters = {"rows_per_zone": 500} if kind == "zonemap" else {}
    dataset.create_scalar_index(column, IndexConfig(index_type=kind, parameters=parameters))
    return dataset


def candidates(path: Path, condition: str) -> int:
    return lance_sql.open(path).scan(["i"], condition).plan.num_candidates


def check(path: Path, condition: str) -> None:
    expected = lance_sql.open(path, use_indices=False).scan(None, condition).to_table()
    assert lance_sql.open(path).scan(None, condition).to_table().equals(expected)


@pytest.mark.parametrize(
    ("kind", "column", "condition", "left"),
    [
        ("zonemap", "i", "i = 700", 500),
        ("zonemap", "i", "i BETWEEN 400 AND 600", 1000),
        ("zonemap", "i", "i IN (0, 5999)", 1000),
        ("zonemap", "i", "NOT (i >= 500)", 500),
        ("zonemap", "i", "i < 0 OR i IS NULL", 0),
        ("zonemap", "i", "i = 700 AND k = 3", 500),
        ("zonemap", "i", "i = 700 OR k = 3", ROWS),
        ("zonemap", "i", "i + 1 = 700", ROWS),
        ("btree", "i", "i = 700", 1),
        ("btree", "i", "i > 700 AND i < 710", 9),
        ("btree", "i", "i IN (1, 2, 2, 7000)", 2),
        ("btree", "i", "i IS NULL", 0),
        ("btree", "i", "i <> 3", ROWS - 1),
        ("btree", "s", "s = 'text 007'", 12),
        ("btree", "s", "s LIKE 'text 00%'", 120),
        ("btree", "p.x", "p.x = 17", 1),
        ("bitmap", "k", "k = 3", 150),
        ("bitmap", "k", "k IN (3, 4)", 300),
        ("bitmap", "k", "k > 37", 300),
        ("bitmap", "k", "k IS NULL", 0),
        ("bitmap", "k", "NOT (k <> 39)", 150),
        ("bitmap", "p.y", "p.y = 6 AND i < 10", 857),
    ],
)
def test_rows_that_an_index_leaves(tmp_path: Path, kind: str, column: str, condition: str, left: int) -> None:
    write(tmp_path / "t", kind, column)
    assert candidates(tmp_path / "t", condition) == left
    check(tmp_path / "t", condition)


@pytest.mark.parametrize("kind", ["zonemap", "btree"])
@pytest.mark.parametrize("stable", [False, True])
def test_fragments_that_the_index_does_not_know_are_looked_at(tmp_path: Path, kind: str, *, stable: bool) -> None:
    dataset = write(tmp_path / "t", kind, enable_stable_row_ids=stable)
    dataset.insert(dataset.to_table(limit=100))
    assert candidates(tmp_path / "t", "i = 4000") == (500 if kind == "zonemap" else 1) + 100
    check(tmp_path / "t", "i = 4000")
    check(tmp_path / "t", "i = 40")


@pytest.mark.parametrize("kind", ["zonemap", "btree", "bitmap"])
@pytest.mark.parametrize("stable", [False, True])
def test_rows_that_were_changed_are_found_with_their_new_values(tmp_path: Path, kind: str, *, stable: bool) -> None:
    write(tmp_path / "t", kind, "k", enable_stable_row_ids=stable)
    dataset = lance_sql.open(tmp_path / "t").update({"k": "k + 1000"}, "i % 100 = 3")
    lance.dataset(tmp_path / "t").optimize.optimize_indices(num_indices_to_merge=0)
    dataset.delete("i = 103")
    for condition in ("k = 1003", "k = 3", "k > 900", "k IN (3, 1003, 23)"):
        check(tmp_path / "t", condition)
    assert candidates(tmp_path / "t", "k = 1003") < ROWS


def test_values_that_are_replaced_in_place_leave_the_index(tmp_path: Path) -> None:
    write(tmp_path / "t", "btree", "k")
    lance_sql.open(tmp_path / "t").alter_column("s", nullable=True).add_columns({"z": "k"})
    fragment = lance.dataset(tmp_path / "t").get_fragments()[0]
    new = pa.table({"_rowaddr": pa.array(range(2000), pa.uint64()), "k": pa.array([7000] * 2000, pa.int32())})
    updated, fields = fragment.update_columns(new, left_on="_rowaddr")
    lance.LanceDataset.commit(
        tmp_path / "t",
        lance.LanceOperation.Update(updated_fragments=[updated], fields_modified=fields),
        read_version=lance.dataset(tmp_path / "t").version,
    )
    check(tmp_path / "t", "k = 7000")
    check(tmp_path / "t", "k = 3")


def test_a_compaction_that_leaves_indices_for_later(tmp_path: Path) -> None:
    """The files have addresses of fragments that are gone, while the manifest names new ones."""
    for kind in ("btree", "zonemap", "bitmap"):
        path = tmp_path / kind
        dataset = write(path, kind, "k")
        dataset.optimize.compact_files(target_rows_per_fragment=ROWS, defer_index_remap=True)
        assert "__lance_frag_reuse" in [segment.name for segment in lance_sql.open(path).snapshot.indices()]
        check(path, "k = 3")
        lance.dataset(path).create_scalar_index("i", "BTREE")
        check(path, "k = 3")
        check(path, "k = 3 AND i = 43")
        lance.dataset(path).create_scalar_index("k", "BITMAP", name="later")
        check(path, "k = 3")


@pytest.mark.parametrize("change", ["update", "delete", "merge"])
@pytest.mark.parametrize(
    ("kind", "column", "conditions"),
    [
        ("BTREE", "x", ["x = 1", "x IS NULL", "x IS NOT NULL AND x < 2", "x IN (1, 99)", "x <> 1"]),
        ("BITMAP", "x", ["x = 1", "x IS NULL", "x IN (1, 99)"]),
        ("ZONEMAP", "x", ["x = 1", "x IS NULL"]),
        ("BLOOMFILTER", "x", ["x = 1", "x IS NULL"]),
        ("LABEL_LIST", "l", ["list_contains(l, 1)"]),
        ("NGRAM", "s", ["contains(s, 'word1')"]),
    ],
)
def test_a_deferred_compaction_and_a_direct_one(
    tmp_path: Path, kind: Any, column: str, conditions: list[str], change: str
) -> None:
    """pylance names the fragments of the second one in the index, whose entries lead to those of the first one."""
    path = str(tmp_path / "t.lance")
    numbers = [None if i % 8 == 7 else i % 8 for i in range(200)]
    rows = {"id": range(200), "x": numbers, "s": [f"word{i}" for i in numbers], "l": [[i or 0] for i in numbers]}
    lance.write_dataset(pa.table({**rows, "o": range(200)}), path, max_rows_per_file=50)
    if kind == "BTREE" and change == "update":
        lance_sql.open(path).indices.create(column, "btree")
    else:
        lance.dataset(path).create_scalar_index(column, kind)
    lance.dataset(path).optimize.compact_files(defer_index_remap=True)
    if change == "update":
        lance.dataset(path).update({"o": "o"}, "id >= 20 AND id < 60")
    elif change == "delete":
        lance.dataset(path).delete("id >= 20 AND id < 60")
    else:
        new = lance.dataset(path).to_table(filter="id >= 20 AND id < 60")
        lance.dataset(path).merge_insert("id").when_matched_update_all().execute(new)
    lance.dataset(path).optimize.compact_files()
    for condition in conditions:
        expected = lance_sql.open(path, use_indices=False).count_rows(condition)
        assert lance_sql.open(path).count_rows(condition) == expected, condition
    table = lance_sql.open(path)
    if kind == "BTREE":
        (problem,) = lance_sql.verify(path, version=table.version, deep=True).problems
        assert problem.index == f"{column}_idx"
        assert "entries lead to fragment 4, which is gone" in problem.message
        # before the second compaction, the index is whole
        assert lance_sql.verify(path, version=table.version - 1, deep=True).is_healthy
    (affected,) = lance_sql.sql(f"SELECT count(*) FROM '{path}' WHERE {conditions[0]}").fetchall()[0]
    assert affected == lance_sql.open(path, use_indices=False).count_rows(conditions[0])
    deleted = table.delete(conditions[0])
    assert lance_sql.open(path, use_indices=False).count_rows(conditions[0]) == 0
    assert deleted.count_rows() == table.count_rows() - affected


def test_explain_counts_rows_pruned_by_indices(tmp_path: Path) -> None:
    write(tmp_path / "t", "btree")
    text = lance_sql.open(tmp_path / "t").scan(["i"], "i = 700 AND _rowaddr < 4294967296").explain()
    assert "ruled out by row lineage: 2 of 3 fragments, 2 of 3 pages, 4000 of 6000 rows" in text
    assert "ruled out by scalar indices: 0 of 1 fragments, 0 of 1 pages, 1999 of 2000 rows" in text
    assert "i_idx (btree): covers 1 of 1 fragments" in text
    assert "ruled out" not in lance_sql.open(tmp_path / "t", use_indices=False).scan(["i"], "i = 700").explain()


def remove(path: Path) -> None:
    path.unlink()


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-5])


def empty(path: Path) -> None:
    path.write_bytes(b"")


def zeros(path: Path) -> None:
    content = path.read_bytes()
    path.write_bytes(bytes(len(content) - 40) + content[-40:])


@pytest.mark.parametrize("damage", [remove, cut, empty, zeros])
@pytest.mark.parametrize(("kind", "file"), [("btree", "page_lookup"), ("btree", "page_data"), ("zonemap", "zonemap")])
def test_a_damaged_index_rules_out_nothing(
    tmp_path: Path, kind: str, file: str, damage: Callable[[Path], None], caplog: pytest.LogCaptureFixture
) -> None:
    write(tmp_path / "t", kind)
    (found,) = (tmp_path / "t" / "_indices").glob(f"*/{file}.lance")
    damage(found)
    assert candidates(tmp_path / "t", "i = 700") == ROWS
    check(tmp_path / "t", "i = 700")
    assert (
        f"i_idx: not used: _indices/{found.parent.name}/{found.name}"
        in lance_sql.open(tmp_path / "t").scan(["i"], "i = 700").explain()
    )
    assert "is damaged and not used" in caplog.text


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(kind=st.sampled_from(["btree", "zonemap", "bitmap"]), place=st.floats(0, 1), byte=st.integers(0, 255))
def test_a_changed_byte_of_an_index_ends_no_scan(
    tmp_path_factory: pytest.TempPathFactory, kind: str, place: float, byte: int
) -> None:
    path = tmp_path_factory.getbasetemp() / f"bytes-{kind}"
    if not path.exists():
        write(path, kind, "k")
    changed = tmp_path_factory.mktemp("changed") / "t"
    shutil.copytree(path, changed)
    for file in (changed / "_indices").glob("*/*.lance"):
        content = bytearray(file.read_bytes())
        content[int(place * (len(content) - 1))] = byte
        file.write_bytes(content)
    # A value or a row of the index may be another one now; no sum would tell.
    found = lance_sql.open(changed).scan(None, "k = 3").to_table()
    assert set(found.column("k").to_pylist()) <= {3}


def test_without_a_readable_index_section_there_are_no_indices(tmp_path: Path) -> None:
    write(tmp_path / "t", "btree")
    snapshot = lance_sql.open(tmp_path / "t").snapshot
    manifest = tmp_path / "t" / snapshot.manifest_path
    content = bytearray(manifest.read_bytes())
    assert snapshot.manifest.index_section is not None
    content[snapshot.manifest.index_section + 4] = 0xFF
    manifest.write_bytes(content)
    scan = lance_sql.open(tmp_path / "t").scan(["i"], "i = 700")
    assert scan.to_table().num_rows == 1
    assert "not used: _versions/" in scan.explain()


@pytest.mark.parametrize("kind", ["btree", "zonemap", "bitmap", "bloomfilter"])
def test_a_check_of_the_table_finds_damaged_indices(tmp_path: Path, kind: str) -> None:
    write(tmp_path / "t", kind, "k")
    assert lance_sql.verify(tmp_path / "t", deep=True).is_healthy
    for file in (tmp_path / "t" / "_indices").glob("*/*.lance"):
        content = file.read_bytes()
        for damage in (remove, cut, zeros):
            damage(file)
            report = lance_sql.verify(tmp_path / "t", deep=True)
            assert [problem.file for problem in report.problems] == [f"_indices/{file.parent.name}/{file.name}"]
            assert report.readable_columns == {}
            file.write_bytes(content)


@pytest.mark.usefixtures("maps_files")
def test_zones_of_a_release_that_did_not_count_deleted_rows(tmp_path: Path) -> None:
    """They are those of other rows, and end before the fragment does."""
    write(tmp_path / "t", "btree")
    dataset = lance_sql.open(tmp_path / "t").indices.drop("i_idx").delete("i < 1000").indices.create("i", "zonemap")
    (segment,) = dataset.snapshot.indices()
    file = f"_indices/{segment.uuid}/zonemap.lance"
    (tmp_path / "t" / file).unlink()
    # by fragment: 1000, 2000 and 2000 live rows
    places = [(0, 0), (0, 500), *((fragment, start) for fragment in (1, 2) for start in range(0, 2000, 500))]
    least = [1000 + 500 * zone for zone in range(len(places))]
    batch = pa.RecordBatch.from_pydict(
        {
            "min": pa.array(least, pa.int64()),
            "max": pa.array([value + 499 for value in least], pa.int64()),
            "null_count": pa.array([0] * len(places), pa.uint32()),
            "nan_count": pa.array([0] * len(places), pa.uint32()),
            "fragment_id": pa.array([fragment for fragment, _ in places], pa.uint64()),
            "zone_start": pa.array([start for _, start in places], pa.uint64()),
            "zone_length": pa.array([500] * len(places), pa.uint64()),
        }
    )
    store = dataset.snapshot.store
    size = writing.write(store, file, batch.schema, [batch], file_version="2.2", notes={}).size_bytes
    removed = dataset.snapshot.indices()
    made = replace(segment, file_sizes={"zonemap.lance": size})
    committer.commit(dataset.snapshot, CreateIndex((made,), removed))
    for condition, left in (("i = 1700", 1000), ("i = 1200", 1000), ("i = 2100", 1500), ("i = 5900", 1500)):
        check(tmp_path / "t", condition)
        assert candidates(tmp_path / "t", condition) == left


@pytest.mark.parametrize("kind", ["zonemap", "bloomfilter"])
def test_fragments_that_only_the_manifest_names_are_read(tmp_path: Path, kind: str) -> None:
    """Early releases made indices of zones cover what a compaction or an update had written."""
    lance_sql.write({"i": [1, None, 3]}, tmp_path / "t")
    lance_sql.open(tmp_path / "t").indices.create("i", kind)
    dataset = lance_sql.write({"i": [4, None, None, 1]}, tmp_path / "t", mode="append")
    segments = dataset.snapshot.indices()
    made = tuple(replace(segment, fragment_ids=frozenset({0, 1})) for segment in segments)
    committer.commit(dataset.snapshot, CreateIndex(made, segments))
    for condition in ("i IS NULL", "i = 4", "i = 1", "i IS NULL OR i = 1", "i IS NOT NULL", "i = 77"):
        check(tmp_path / "t", condition)
    assert lance_sql.open(tmp_path / "t").count_rows("i IS NULL") == 3


@pytest.fixture(scope="module")
def many_keys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """140,000 rows of as many values: what is read of an index in parts has several of them."""
    path = tmp_path_factory.mktemp("many") / "t.lance"
    numbers = np.random.default_rng(4).permutation(140_000)
    made = lance_sql.write({"k": numbers, "b": numbers, "v": np.arange(140_000)}, path)
    made.indices.create("k", "bitmap").indices.create("b", "btree")
    return path


@pytest.mark.parametrize("column", ["k", "b"])
@pytest.mark.parametrize(
    "values", [[0], [65_535], [65_536], [70_001], [131_071, 131_072], [139_999], [3, 65_537, 131_073], [140_000]]
)
def test_keys_behind_the_first_part_of_an_index_are_found(many_keys: Path, column: str, values: list[int]) -> None:
    condition = f"{column} IN ({', '.join(map(str, values))})"
    expected = [value for value in values if value < 140_000]
    plan = lance_sql.open(many_keys).scan([column], condition).plan
    assert plan.num_candidates == len(expected)
    rows = lance_sql.open(many_keys).scan([column], condition).to_table()[column].to_pylist()
    assert sorted(rows) == expected
    check(many_keys, condition)
