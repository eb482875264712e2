"""New values of columns: what SQL, Arrow expressions and constants may be, and how they take a column's type."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import lance_sql
from lance_sql import ColumnNotFound, Dataset, InvalidArgument

TYPES: dict[str, pa.DataType] = {
    "k": pa.int64(),
    "f16": pa.float16(),
    "f32": pa.float32(),
    "price": pa.decimal128(5, 2),
    "ns": pa.timestamp("ns"),
    "m": pa.map_(pa.string(), pa.int32()),
    "p": pa.struct([("x", pa.int32()), ("y", pa.string())]),
    "ps": pa.list_(pa.struct([("x", pa.int32())])),
    "v": pa.list_(pa.float32(), 2),
    "s": pa.string(),
}


@pytest.fixture
def table(tmp_path: Path) -> Dataset:
    columns = {name: pa.array([1, 2] if name == "k" else [None, None], type) for name, type in TYPES.items()}
    return lance_sql.write(pa.table(columns), tmp_path / "t.lance", max_rows_per_file=1)


@pytest.mark.parametrize(
    ("name", "value", "made"),
    [
        ("k", "'7'", 7),
        ("k", "2.0", 2),
        ("k", "K + 1 -- a comment", 2),
        ("k", "list_sum([x + k FOR x IN [1, 2]])", 5),
        ("f16", "1.5", 1.5),
        ("f32", "k", 1.0),
        ("f32", "'inf'::DOUBLE", float("inf")),
        ("price", 3, Decimal("3.00")),
        ("price", "k", Decimal("1.00")),
        ("price", "1.005", Decimal("1.01")),
        ("ns", datetime(2026, 1, 2, 3, 4, 5), datetime(2026, 1, 2, 3, 4, 5)),
        ("m", {"a": 1}, [("a", 1)]),
        ("m", "MAP {'a': 1}", [("a", 1)]),
        ("p", {"x": 5}, {"x": 5, "y": None}),
        ("p", "{'y': s, 'x': k}", {"x": 1, "y": None}),
        ("v", [0.5, 1.0], [0.5, 1.0]),
        ("v", "CASE WHEN k = 1 THEN [0.5, k] END", [0.5, 1.0]),
        ("s", None, None),
    ],
)
def test_values_in_the_type_of_a_column(table: Dataset, name: str, value: Any, made: Any) -> None:
    assert table.update({name: value}, "true").scan([name], "_rowid = 0").to_table()[name].to_pylist() == [made]


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("f32", "1e300", "too large"),
        ("f32", "'1e300'", "too large"),
        ("f16", 70000, "too large"),
        ("price", "k * 1000", "does not fit in precision 5"),
        ("k", 2**70, "too large"),
        ("p", {"x": 1, "z": 2}, "no member 'z'"),
        ("p", "{'x': 1, 'z': 2}", "no member 'z'"),
        ("ps", "[{'z': 2}]", "no member 'z'"),
        ("v", "[1]", "'v'"),
    ],
)
def test_values_that_a_column_does_not_hold(table: Dataset, name: str, value: Any, message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        table.update({name: value}, "true")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("sum(k) OVER ()", "a window function"),
        ("row_number() OVER (ORDER BY k)", "a window function"),
        ("(SELECT max(k) FROM rows)", "a subquery"),
        ("k IN (SELECT 1)", "a subquery"),
        ("unnest([k])", "UNNEST"),
        ("*", r"\*"),
        ("COLUMNS('k')", "COLUMNS"),
        ("#1", "by its number"),
        ("$1", "a parameter"),
    ],
)
def test_expressions_that_are_none_of_a_row(table: Dataset, text: str, message: str) -> None:
    """Rows come in batches: such an expression would see those of a batch."""
    with pytest.raises(InvalidArgument, match=message):
        table.update({"k": text}, "true")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("k +", "something is missing at column 3$"),
        ("'k", "not an SQL expression"),
        ("", "not an SQL expression"),
        ("nothing(k)", "nothing does not exist"),
    ],
)
def test_messages_are_about_what_was_written(table: Dataset, text: str, message: str) -> None:
    with pytest.raises(InvalidArgument, match=message) as caught:
        table.update({"k": text}, "true")
    for internal in ("\x1b", "sqlglot", "rows", "__row", "SELECT"):
        assert internal not in str(caught.value)


def test_text_without_quotes_is_a_column(table: Dataset) -> None:
    with pytest.raises(ColumnNotFound, match=r"No column 'open' .* Text needs quotes: \"'open'\""):
        table.update({"s": "open"}, "true")


def test_times_are_those_of_utc_wherever_the_machine_is(tmp_path: Path) -> None:
    path = str(tmp_path / "t")
    lance_sql.write(pa.table({"t": pa.array([0], pa.timestamp("us", "UTC")), "d": ["0"]}), path)
    program = (
        "import sys, lance_sql\n"
        "values = {'t': \"TIMESTAMPTZ '2026-01-01 00:00:00'\", 'd': 't::DATE::VARCHAR'}\n"
        "lance_sql.open(sys.argv[1]).update(values, 'true')"
    )
    subprocess.run([sys.executable, "-c", program, path], env={**os.environ, "TZ": "America/New_York"}, check=True)
    assert lance_sql.open(path).to_table().to_pylist() == [{"t": datetime(2026, 1, 1, tzinfo=UTC), "d": "1970-01-01"}]
