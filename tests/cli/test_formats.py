"""Tables as text."""

from __future__ import annotations

import io
import re

import pyarrow as pa
import pytest

from lance_sql.cli.formats import write
from lance_sql.errors import InvalidArgument


def shown(table: pa.Table, *, boxes: bool) -> str:
    stream = io.StringIO()
    write(table.to_reader(), "table", stream, boxes=boxes)
    return stream.getvalue()


def test_a_terminal_gets_lines_and_a_count() -> None:
    table = pa.table({"n": [1, 20], "text": ["a", None]})
    assert shown(table, boxes=True) == (
        "┌────┬──────┐\n"
        "│  n │ text │\n"
        "├────┼──────┤\n"
        "│  1 │ a    │\n"
        "│ 20 │ NULL │\n"
        "└────┴──────┘\n"
        "2 rows\n"
    )  # fmt: skip


def test_wide_and_control_characters_keep_the_columns_aligned() -> None:
    table = pa.table({"a": ["日本", "x\ny\x1b[0m"], "b": [1, 2]})
    assert shown(table, boxes=False) == ("a            b\n-----------  -\n日本         1\nx\\ny\\x1b[0m  2\n")


def test_long_texts_are_cut_on_a_terminal_only() -> None:
    table = pa.table({"a": ["x" * 200]})
    assert "…" in shown(table, boxes=True)
    assert "x" * 200 in shown(table, boxes=False)


def test_no_rows_leave_the_header() -> None:
    table = pa.table({"a": pa.array([], pa.int64())})
    assert shown(table, boxes=False) == "a\n-\n"


def test_types_stand_below_names_on_a_terminal() -> None:
    stream = io.StringIO()
    table = pa.table({"n": pa.array([1], pa.int8()), "s": pa.array([{"a": 1, "b": "x" * 9}])})
    write(table.to_reader(), "table", stream, boxes=True, types=True)
    lines = stream.getvalue().splitlines()
    assert lines[2].startswith("│ int8 │ struct<a: int64, b: str…")
    stream = io.StringIO()
    write(table.to_reader(), "table", stream, boxes=False, types=True)
    assert "int8" not in stream.getvalue()


@pytest.mark.parametrize("boxes", [True, False])
@pytest.mark.parametrize("batch_rows", [1, 3, 1000])
@pytest.mark.parametrize(("most", "shown"), [(4, [0, 1, 2, 99]), (8, [0, 1, 2, 3, 4, 5, 98, 99]), (3, [0, 1, 2])])
def test_many_rows_are_cut_to_the_first_and_last(boxes: bool, batch_rows: int, most: int, shown: list[int]) -> None:
    table = pa.table({"n": range(100)})
    stream = io.StringIO()
    reader = pa.RecordBatchReader.from_batches(table.schema, table.to_batches(batch_rows))
    write(reader, "table", stream, boxes=boxes, max_rows=most)
    text = stream.getvalue()
    assert [int(number) for number in re.findall(r"^[│ ]*(\d+)[ │]*$", text, re.MULTILINE)] == shown
    assert (f"100 rows ({most} shown)" if boxes else f"... {100 - most} more rows") in text


def test_as_many_rows_as_there_is_room_for_are_all_shown() -> None:
    stream = io.StringIO()
    write(pa.table({"n": range(8)}).to_reader(), "table", stream, boxes=True, max_rows=8)
    assert "·" not in stream.getvalue()
    assert stream.getvalue().endswith("\n8 rows\n")


EVIL = "\x1b]8;;http://evil\x1b\\link\x1b[31m\u202e\x9b31m"


@pytest.mark.parametrize("output", ["table", "json", "csv", "markdown"])
@pytest.mark.parametrize("where", ["value", "name"])
def test_a_terminal_gets_no_control_characters(output: str, where: str) -> None:
    rows = pa.table({EVIL: ["a\nb"]} if where == "name" else {"c": [EVIL, "a\nb"]})
    stream = io.StringIO()
    write(rows.to_reader(), output, stream, boxes=True, escaped=True)
    assert not {"\x1b", "\x9b", "\u202e"} & set(stream.getvalue())
    assert "evil" in stream.getvalue()


@pytest.mark.parametrize("output", ["csv", "markdown"])
def test_a_pipe_gets_the_bytes(output: str) -> None:
    stream = io.StringIO()
    write(pa.table({"c": [EVIL]}).to_reader(), output, stream, boxes=False)
    assert "\x1b]8;;" in stream.getvalue()


def test_json_of_columns_with_one_name_is_refused() -> None:
    rows = pa.Table.from_arrays([pa.array([1]), pa.array([2])], ["a", "a"])
    with pytest.raises(InvalidArgument, match="Several columns are named 'a'"):
        write(rows.to_reader(), "json", io.StringIO(), boxes=False)
