"""Columns of a table, and texts that differ in what does not count."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import lance_sql
from lance_sql.errors import InvalidArgument
from lance_sql.testing import assert_schema, assert_table_equal

SCHEMA = pa.schema([pa.field("id", pa.int64(), nullable=False), ("s", pa.string())])


def test_columns_are_named_with_what_is_wrong(tmp_path: Path) -> None:
    table = lance_sql.write(pa.table({"id": [1], "s": ["a"]}, schema=SCHEMA), tmp_path / "t.lance")
    assert_schema(table, SCHEMA, check_nullable=True)
    assert_schema(table.uri, {"id": "int64", "s": pa.string()})
    assert_schema({"id": [1]}, {"id": "int64"})
    assert_schema(table, {"s": "string"}, allow_others=True)
    assert_schema(table, {"s": "string", "id": "int64"}, ignore_column_order=True)
    with pytest.raises(AssertionError) as failed:
        assert_schema(table, {"id": "int32", "x": "date32[day]"})
    assert str(failed.value).splitlines() == [
        "t.lance version 1 has other columns:",
        "  x: missing, expected date32[day]",
        "  s: not expected, string",
        "  id: int64, expected int32",
    ]
    with pytest.raises(AssertionError, match="in the order id, s, expected s, id"):
        assert_schema(table, {"s": "string", "id": "int64"})
    with pytest.raises(AssertionError, match="id: may not be NULL"):
        assert_schema(table, pa.schema([("id", pa.int64()), ("s", pa.string())]), check_nullable=True)


@pytest.mark.parametrize("key", [None, "id"])
def test_case_and_spaces_may_be_ignored(key: str | None) -> None:
    actual = {"id": [1, 2, 3], "s": ["Ada  Ltd", " borgo", None], "t": ["X", "y", "z"]}
    expected = {"id": [3, 1, 2], "s": [None, "ada ltd", "BORGO "], "t": ["z", "X", "y"]}
    assert_table_equal(actual, expected, key=key, ignore_case=True, ignore_spaces="s")
    for options in ({}, {"ignore_case": True}, {"ignore_spaces": True}, {"ignore_case": "t", "ignore_spaces": True}):
        with pytest.raises(AssertionError, match="differ"):
            assert_table_equal(actual, expected, key=key, **options)
    with pytest.raises(AssertionError, match="Ada  Ltd"):
        assert_table_equal(
            actual, {**expected, "s": [None, "eve", "BORGO"]}, key=key, ignore_case=True, ignore_spaces=True
        )
    with pytest.raises(InvalidArgument, match="'id' is not a text column"):
        assert_table_equal(actual, expected, ignore_case="id")
