"""Differences between two versions, and between two tables."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lance_sql
from lance_sql.errors import ColumnNotFound, InvalidArgument
from lance_sql.health.differences import Difference
from lance_sql.runtime.terminal_text import width_of

Rows = Sequence[Mapping[str, Any]]


def by_brute_force(before: Rows, after: Rows, key: str, columns: Sequence[str]) -> dict[str, Any]:
    """Counts, and the cells that differ by key."""
    old, new = ({row[key]: row for row in rows} for rows in (before, after))
    cells = {
        name: {column for column in columns if repr(old[name][column]) != repr(new[name][column])}
        for name in old.keys() & new.keys()
    }
    return {
        "inserted": new.keys() - old.keys(),
        "deleted": old.keys() - new.keys(),
        "updated": {name: found for name, found in cells.items() if found},
    }


def told(found: Difference, key: str) -> dict[str, Any]:
    place = found.shown.index(key)
    return {
        "inserted": set(found.inserted[key].to_pylist()) if found.rows_inserted else set(),
        "deleted": set(found.deleted[key].to_pylist()) if found.rows_deleted else set(),
        "updated": {row.key[place]: {cell.column for cell in row.cells} for row in found.updated},
    }


def rows_of(dataset: lance_sql.Dataset) -> Rows:
    rows: Rows = dataset.scan().to_table().to_pylist()
    return rows


@pytest.fixture
def table(tmp_path: Path) -> lance_sql.Dataset:
    """Versions: 1 written, 2 an update of rows 2 and 3 that writes row 0 too, 3 a merge, 4 a delete, 5 a compaction."""
    made = lance_sql.write(
        {"id": list(range(6)), "a": [1.0, 2.0, None, 4.0, 5.0, 6.0], "b": list("uvwxyz")}, tmp_path / "t.lance"
    )
    values = {"a": "CASE WHEN id = 0 THEN a ELSE 7.5 END", "b": "CASE WHEN id = 0 THEN b ELSE 'changed' END"}
    made = made.update(values, "id IN (0, 2, 3)")
    made = made.merge({"id": [0, 9], "b": ["u", "new"]}, on="id")
    made = made.delete("id = 5")
    return made.maintenance.compact()


def test_versions_are_compared_by_row_ids(table: lance_sql.Dataset) -> None:
    found = lance_sql.diff(f"{table.uri}@1", table)
    assert told(found, "id") == {"inserted": {9}, "deleted": {5}, "updated": {2: {"a", "b"}, 3: {"a", "b"}}}
    assert found.key == ("_rowid",)
    assert (found.rows_inserted, found.rows_deleted, found.rows_updated, found.rows_rewritten) == (1, 1, 2, 1)
    assert found.cells_updated == {"a": 2, "b": 2}
    assert [(cell.before, cell.after) for cell in found.updated[0].cells] == [(None, 7.5), ("w", "changed")]
    assert (found.before.rows, found.after.rows) == (6, 6)
    assert {file.path for file in found.files_added} == {
        f"data/{file.path}" for each in table.snapshot.manifest.fragments for file in each.files
    }


def test_the_way_back_is_the_reverse(table: lance_sql.Dataset) -> None:
    found = lance_sql.diff(table, f"{table.uri}@1")
    assert told(found, "id") == {"inserted": {5}, "deleted": {9}, "updated": {2: {"a", "b"}, 3: {"a", "b"}}}
    assert [(cell.before, cell.after) for cell in found.updated[0].cells] == [(7.5, None), ("changed", "w")]
    assert found.reversed() == lance_sql.diff(f"{table.uri}@1", table)


def test_a_compaction_is_no_difference(table: lance_sql.Dataset) -> None:
    found = lance_sql.diff(f"{table.uri}@4", table)
    assert not found.has_differences
    assert found.files_added
    assert str(found).endswith("No differences.")


def test_rows_beyond_the_limit_are_counted(table: lance_sql.Dataset) -> None:
    found = lance_sql.diff(f"{table.uri}@1", table, max_rows=1)
    assert (len(found.updated), found.rows_updated, found.cells_updated["a"]) == (1, 2, 2)
    assert "  ... 1 more" in str(found)
    assert lance_sql.diff(f"{table.uri}@1", table, max_rows=0).rows_inserted == 1


def test_columns_that_both_have_are_compared(table: lance_sql.Dataset) -> None:
    made = table.rename_columns({"b": "c"}).add_columns({"d": "id + 1"}).drop_columns("a")
    made = made.update({"c": "'again'"}, "id = 4")
    found = lance_sql.diff(table, made)
    assert [(each.kind, each.name, each.before, each.after) for each in found.columns] == [
        ("dropped", "a", "double", None),
        ("renamed", "c", "b", "c"),
        ("added", "d", None, "int64"),
    ]
    assert told(found, "id")["updated"] == {4: {"c"}}
    assert found.rows_rewritten == 5
    back = lance_sql.diff(made, table)
    assert {(each.kind, each.name) for each in back.columns} == {("added", "a"), ("renamed", "b"), ("dropped", "d")}


def test_a_column_of_another_type_is_compared_by_its_values(table: lance_sql.Dataset) -> None:
    made = table.alter_column("id", type=pa.int16())
    found = lance_sql.diff(table, made)
    assert [(each.kind, each.before, each.after) for each in found.columns] == [("type", "int64", "int16")]
    assert found.rows_updated == 0
    copy = lance_sql.write(made, Path(table.uri).parent / "copy.lance")
    found = lance_sql.diff(table, copy, "id")
    assert (found.rows_inserted, found.rows_updated, found.rows_deleted) == (0, 0, 0)
    assert not found.is_one_table


def test_columns_without_a_common_type_are_named(tmp_path: Path) -> None:
    a = lance_sql.write({"id": [1], "v": [[1]]}, tmp_path / "a.lance")
    b = lance_sql.write({"id": [1], "v": ["x"]}, tmp_path / "b.lance")
    found = lance_sql.diff(a, b, "id")
    assert found.not_compared == ("v",)
    assert found.has_differences
    assert "! v is not compared" in str(found)


@pytest.mark.parametrize(("stable", "key"), [(True, None), (True, "id"), (False, "id")])
def test_types_that_do_not_fit_are_no_obstacle(tmp_path: Path, stable: bool, key: str | None) -> None:
    first = lance_sql.write({"id": [1, 2], "f": [b"a", b"b"]}, tmp_path / "t.lance", stable_row_ids=stable)
    other = lance_sql.write({"id": [1, 5], "f": [[1], [2]]}, first, mode="overwrite")
    now = other.restore(1).update({"f": pa.scalar(b"z")}, "id = 2")
    found = lance_sql.diff(first, now, key=key)
    assert (found.rows_inserted, found.rows_updated, found.rows_deleted) == (0, 1, 0)
    assert found.is_one_table
    found = lance_sql.diff(first, other, key=key)
    assert found.not_compared == ("f",)
    expected = (1, 0, 1) if key else (2, 0, 2)
    assert (found.rows_inserted, found.rows_updated, found.rows_deleted) == expected


def test_rows_of_a_cleaned_up_history_are_compared_by_their_ids(table: lance_sql.Dataset) -> None:
    table.tags.create("first", 1)
    expected = lance_sql.diff(f"{table.uri}@1", table)
    table.maintenance.cleanup(retain_versions=1)
    assert [info.version for info in table.versions()] == [1, table.version]
    found = lance_sql.diff(f"{table.uri}@first", table)
    assert told(found, "id") == told(expected, "id")
    assert found.is_one_table


def test_branches_that_went_apart_need_a_key(table: lance_sql.Dataset) -> None:
    branch = table.branches.create("dev").update({"b": "'dev'"}, "id = 1")
    assert told(lance_sql.diff(table, branch), "id")["updated"] == {1: {"b"}}
    main = table.delete("id = 0")
    with pytest.raises(InvalidArgument, match="pass the columns that identify a row"):
        lance_sql.diff(main, branch)
    assert told(lance_sql.diff(main, branch, "id"), "id") == {"inserted": {0}, "deleted": set(), "updated": {1: {"b"}}}


def test_a_table_without_row_ids_is_compared_by_key(tmp_path: Path) -> None:
    made = lance_sql.write({"id": [1, 2, None], "v": [1, 2, 3]}, tmp_path / "t.lance", stable_row_ids=False)
    made = made.update({"v": "v + id"}, "true")
    with pytest.raises(
        InvalidArgument,
        match=r"by their row ids \(_rowid\): pass the columns that identify a row, such as key=\['id'\] \(--key id\)",
    ):
        lance_sql.diff(f"{made.uri}@1", made)
    found = lance_sql.diff(f"{made.uri}@1", made, "id")
    # NULL is a key like any other
    assert told(found, "id")["updated"] == {1: {"v"}, 2: {"v"}, None: {"v"}}
    assert found.rows_inserted == found.rows_deleted == 0


def test_wrong_keys_are_refused(table: lance_sql.Dataset, tmp_path: Path) -> None:
    other = lance_sql.write({"id": [1, 1], "list": [[1], [2]]}, tmp_path / "other.lance")
    with pytest.raises(InvalidArgument, match=r"Two rows of other.lance version 1 have the key id=1"):
        lance_sql.diff(table, other, "id")
    with pytest.raises(ColumnNotFound):
        lance_sql.diff(table, other, "list")
    with pytest.raises(InvalidArgument, match="cannot be a key"):
        lance_sql.diff(other, f"{other.uri}@1", "list")
    with pytest.raises(InvalidArgument, match="key= is empty"):
        lance_sql.diff(table, other, [])
    with pytest.raises(InvalidArgument, match="max_rows=-1 is not"):
        lance_sql.diff(table, table, max_rows=-1)


def test_json_has_all_of_it(table: lance_sql.Dataset) -> None:
    content = json.loads(json.dumps(lance_sql.diff(f"{table.uri}@1", table).to_dict()))
    assert content["rows_updated"] == 2
    assert content["updated"][0] == {
        "key": {"_rowid": 2, "id": 2},
        "cells": [{"column": "a", "before": None, "after": 7.5}, {"column": "b", "before": "w", "after": "changed"}],
    }
    assert content["inserted"] == [{"_rowid": 6, "id": 9, "a": None, "b": "new"}]


def test_text_is_one_line_a_cell_and_fits(tmp_path: Path) -> None:
    made = lance_sql.write({"id": [1], "v": ["a"]}, tmp_path / "t.lance")
    made = made.merge({"id": [1], "v": ["\x1b[31m\n" + "\u65e5\u672c" * 100]}, on="id")
    text = lance_sql.diff(f"{made.uri}@1", made).to_text(width=60)
    assert "\x1b" not in text
    assert max(map(width_of, text.splitlines())) in (59, 60)


VALUES = st.one_of(st.none(), st.floats(width=32), st.sampled_from([0.0, -0.0]))
TABLES = st.dictionaries(st.one_of(st.none(), st.integers(-5, 40)), st.tuples(VALUES, st.text(max_size=3)), max_size=30)


@settings(max_examples=25)
@given(TABLES, TABLES)
def test_two_tables_differ_as_their_rows_do(tmp_path_factory: pytest.TempPathFactory, a: Any, b: Any) -> None:
    folder = tmp_path_factory.mktemp("tables")
    schema = pa.schema([("id", pa.int64()), ("x", pa.float64()), ("s", pa.string())])
    tables = []
    for name, rows in (("a", a), ("b", b)):
        content = [{"id": key, "x": x, "s": s} for key, (x, s) in rows.items()]
        tables.append(lance_sql.write(pa.Table.from_pylist(content, schema), folder / f"{name}.lance"))
    found = lance_sql.diff(tables[0], tables[1], "id")
    expected = by_brute_force(rows_of(tables[0]), rows_of(tables[1]), "id", ["x", "s"])
    assert told(found, "id") == expected


CHANGES = st.lists(
    st.one_of(
        st.tuples(st.just("update"), st.integers(0, 12)),
        st.tuples(st.just("delete"), st.integers(0, 12)),
        st.tuples(st.just("insert"), st.integers(100, 120)),
        st.tuples(st.just("restore"), st.integers(0, 3)),
        st.tuples(st.just("compact"), st.just(0)),
    ),
    max_size=6,
)


@settings(max_examples=15)
@given(CHANGES, st.booleans(), st.booleans())
def test_two_versions_differ_as_their_rows_do(
    tmp_path_factory: pytest.TempPathFactory, changes: list[tuple[str, int]], stable: bool, backwards: bool
) -> None:
    folder = tmp_path_factory.mktemp("versions")
    first = made = lance_sql.write(
        {"id": list(range(10)), "v": list(range(10))}, folder / "t.lance", stable_row_ids=stable
    )
    for step, (what, number) in enumerate(changes):
        if what == "update":
            made = made.update({"v": f"{number} + {step}"}, f"id = {number}")
        elif what == "delete":
            made = made.delete(f"id = {number}")
        elif what == "insert":
            made = made.merge({"id": [number], "v": [number]}, on="id")
        elif what == "restore":
            made = made.restore(max(made.version - number, 1))
        else:
            made = made.maintenance.compact()
    a, b = (made, first) if backwards else (first, made)
    found = lance_sql.diff(a, b, None if stable else "id")
    assert told(found, "id") == by_brute_force(rows_of(a), rows_of(b), "id", ["v"])


def test_files_of_the_parent_are_not_new_on_a_branch(tmp_path: Path) -> None:
    table = lance_sql.write({"id": list(range(40))}, tmp_path / "t.lance", max_rows_per_file=10)
    branch = table.branches.create("load")
    branch = lance_sql.write({"id": [100]}, branch, mode="append").delete("id = 5")
    found = lance_sql.diff(table, branch)
    assert (found.files_removed, len(found.files_added)) == ((), 1)
    assert (found.rows_inserted, found.rows_deleted) == (1, 1)
    back = lance_sql.diff(branch, table)
    assert (len(back.files_removed), back.files_added) == (1, ())
    table.maintenance.compact(target_rows=100)
    compacted = lance_sql.open(table.uri, branch="load").maintenance.compact(target_rows=100)
    found = lance_sql.diff(table, compacted)
    assert (len(found.files_removed), len(found.files_added)) == (4, 1)


def test_a_branch_and_a_main_that_both_got_rows_are_compared_by_key(tmp_path: Path) -> None:
    table = lance_sql.write({"id": [1, 2, 3], "v": ["a", "b", "c"]}, tmp_path / "t.lance")
    branch = lance_sql.write({"id": [4], "v": ["mine"]}, table.branches.create("load"), mode="append")
    table = lance_sql.write({"id": [5], "v": ["theirs"]}, table, mode="append")
    with pytest.raises(InvalidArgument, match=r"such as key=\['id'\] \(--key id\)"):
        lance_sql.diff(table, branch)
    found = lance_sql.diff(table, branch, ["id"])
    assert (found.rows_inserted, found.rows_deleted, found.rows_updated) == (1, 1, 0)
