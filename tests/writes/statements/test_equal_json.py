"""JSON is compared as JSON: documents that differ by blanks, the order of keys or the form of numbers are equal."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import lance_sql
from lance_sql import testing
from lance_sql.errors import InvalidArgument

JSON = pa.field("item", pa.string(), metadata={"ARROW:extension:name": "arrow.json"})
SHAPES: dict[str, tuple[pa.Field, Any]] = {
    "column": (JSON.with_name("j"), lambda text: text),
    "struct": (pa.field("j", pa.struct([JSON, pa.field("n", pa.int64())])), lambda text: {"item": text, "n": 1}),
    "list": (pa.field("j", pa.list_(JSON)), lambda text: [text, None, text]),
    "lists of structs": (pa.field("j", pa.list_(pa.struct([JSON]))), lambda text: [{"item": text}]),
}
GIVEN = ['{"k": 1, "a": [2e2, null]}', "[1, 2]", None, '"x"', "{}"]
OTHERS = ['{"a":[200.0,null],"k":1}', "[1,2]", None, ' "x"', "{ }"]


def rows(shape: str, texts: list[str | None]) -> pa.Table:
    field, value = SHAPES[shape]
    values = [None if text is None else value(text) for text in texts]
    schema = pa.schema([("id", pa.int64()), field])
    return pa.table({"id": range(len(texts)), "j": values}, schema=schema)


@pytest.mark.parametrize("shape", SHAPES)
def test_rows_that_are_equal_as_json_stay(tmp_path: Path, shape: str) -> None:
    table = lance_sql.write(rows(shape, GIVEN), str(tmp_path / "t.lance"), file_version="2.2")
    for texts in (GIVEN, OTHERS):
        merged = table.merge(rows(shape, texts), on="id")
        assert merged.last_change is not None
        assert (merged.last_change.rows_equal, merged.last_change.rows_updated) == (len(GIVEN), 0)
        assert merged.version == table.version
        testing.assert_table_equal(table, rows(shape, texts), key="id")
        testing.assert_table_equal(rows(shape, texts), table)
    changed = table.merge(rows(shape, [*OTHERS[:-1], '{"k": 2}']), on="id")
    assert changed.last_change is not None
    assert (changed.last_change.rows_equal, changed.last_change.rows_updated) == (len(GIVEN) - 1, 1)
    with pytest.raises(AssertionError, match="1 of 5 rows"):
        testing.assert_table_equal(changed, rows(shape, GIVEN), key="id")


def test_text_that_is_no_json_is_refused_with_its_row(tmp_path: Path) -> None:
    table = lance_sql.write(rows("column", GIVEN), str(tmp_path / "t.lance"))
    with pytest.raises(InvalidArgument, match="not JSON in row"):
        table.merge(rows("column", [*GIVEN[:-1], "{"]), on="id")


def test_json_is_no_key(tmp_path: Path) -> None:
    given = rows("column", GIVEN)
    table = lance_sql.write(given, str(tmp_path / "t.lance"))
    other = lance_sql.write(given, str(tmp_path / "other.lance"))
    message = "Column 'j' of JSON cannot be a key"
    with pytest.raises(InvalidArgument, match=message):
        table.merge(given, on="j")
    with pytest.raises(InvalidArgument, match=message):
        lance_sql.diff(table, other, key="j")
    with pytest.raises(InvalidArgument, match=message):
        testing.assert_table_equal(table, given, key="j")
    with pytest.raises(InvalidArgument, match=message):
        table.set_rule("unique", "unique(j)")
