"""Names that would lose something are refused, however rows are given: NUL in the name of a column or of a member, at
which Arrow's C streams cut it, and two columns of one name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

import lance_sql
from lance_sql import Dataset
from lance_sql.errors import InvalidArgument

NAME = "a\0b"


def _polars(rows: dict[str, list[Any]]) -> Any:
    return pytest.importorskip("polars").DataFrame(rows)


TOP: dict[str, list[Any]] = {"id": [1], NAME: [7]}
NESTED: dict[str, list[Any]] = {"id": [1], "s": [{NAME: 7}]}
DEEP: dict[str, list[Any]] = {"id": [1], "s": [[{"m": {NAME: 7}}]]}
FORMS: dict[str, Callable[[dict[str, list[Any]]], Any]] = {
    "dict": lambda rows: rows,
    "list": lambda rows: [{name: values[0] for name, values in rows.items()}],
    "table": pa.table,
    "batch": lambda rows: pa.table(rows).to_batches()[0],
    "reader": lambda rows: pa.table(rows).to_reader(),
    "polars": _polars,
    "lazy": lambda rows: _polars(rows).lazy(),
    "pandas": lambda rows: pytest.importorskip("pandas").DataFrame(rows),
}
VERBS: dict[str, Callable[[Dataset, Any], object]] = {
    "write": lambda table, rows: lance_sql.write(rows, table.uri + ".new.lance"),
    "append": lambda table, rows: lance_sql.write(rows, table, mode="append"),
    "overwrite": lambda table, rows: lance_sql.write(rows, table, mode="overwrite"),
    "merge": lambda table, rows: table.merge(rows, on="id"),
    "apply": lambda table, rows: lance_sql.apply_changes(table, rows, "id"),
}


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("form", FORMS)
def test_rows_with_nul_in_a_name_are_refused(tmp_path: Path, form: str, verb: str) -> None:
    table = lance_sql.write({"id": [1], "a": [5]}, tmp_path / "t.lance")
    for rows in (TOP, NESTED, DEEP):
        with pytest.raises(InvalidArgument, match="NUL"):
            VERBS[verb](table, FORMS[form](rows))
    assert table.latest().version == 1
    assert not Path(table.uri + ".new.lance").exists()


def _pandas(rows: list[list[Any]], columns: Any, **options: Any) -> Any:
    return pytest.importorskip("pandas").DataFrame(rows, columns=columns, **options)


def _levels() -> Any:
    pandas = pytest.importorskip("pandas")
    index = pandas.MultiIndex.from_tuples([(7, 8)], names=["a", "a"])
    return _pandas([[1]], ["id"], index=index)


TWICE = pa.table([pa.array([1]), pa.array([7]), pa.array([8])], names=["id", "a", "a"])
TWICE_FORMS: dict[str, Callable[[], Any]] = {
    "table": lambda: TWICE,
    "batch": lambda: TWICE.to_batches()[0],
    "batches": lambda: iter(TWICE.to_batches()),
    "reader": TWICE.to_reader,
    "duckdb": lambda: duckdb.sql("SELECT 1 AS id, 7 AS a, 8 AS a"),
    "pandas": lambda: _pandas([[1, 7, 8]], ["id", "a", "a"]),
    "pandas chunks": lambda: iter([_pandas([[1, 7, 8]], ["id", "a", "a"])]),
    "pandas number and text": lambda: _pandas([[1, 7, 8]], ["id", 1, "1"]),
    "pandas levels": _levels,
    # of types that pyarrow converts only column by column
    "pandas maps": lambda: _pandas([[1, {"k": 1}, {2: 3}]], ["id", "a", "a"]),
}


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("form", TWICE_FORMS)
def test_rows_with_two_columns_of_one_name_are_refused(tmp_path: Path, form: str, verb: str) -> None:
    table = lance_sql.write({"id": [1], "a": [5]}, tmp_path / "t.lance")
    with pytest.raises(InvalidArgument, match="same name"):
        VERBS[verb](table, TWICE_FORMS[form]())
    assert table.latest().version == 1
    assert not Path(table.uri + ".new.lance").exists()


def test_new_names_of_columns_have_no_nul(tmp_path: Path) -> None:
    table = lance_sql.write({"id": [1], "s": [{"m": 1}]}, tmp_path / "t.lance")
    changes: list[Callable[[], object]] = [
        lambda: table.add_columns({NAME: "1"}),
        lambda: table.add_columns([pa.field(NAME, pa.int64())]),
        lambda: table.add_columns([pa.field("x", pa.struct([pa.field(NAME, pa.int64())]))]),
        lambda: table.rename_columns({"id": NAME}),
        lambda: table.rename_columns({"s.m": NAME}),
    ]
    for change in changes:
        with pytest.raises(InvalidArgument, match="NUL"):
            change()
    assert table.latest().version == 1


@pytest.mark.parametrize("name", ["\ud800", "a\udfffb"])
def test_names_that_utf8_cannot_encode_are_refused(tmp_path: Path, name: str) -> None:
    table = lance_sql.write({"id": [1]}, tmp_path / "t.lance")
    changes: list[Callable[[], object]] = [
        lambda: lance_sql.write({name: [1]}, tmp_path / "u.lance"),
        lambda: lance_sql.write([{name: 1}], tmp_path / "u.lance"),
        lambda: table.add_columns({name: "1"}),
        lambda: table.rename_columns({"id": name}),
    ]
    for change in changes:
        with pytest.raises(InvalidArgument, match="UTF-8 cannot encode it"):
            change()
