"""Tables as text."""

from __future__ import annotations

import io

import pyarrow as pa

from lance_sql.cli.formats import write


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
