"""Functions of texts, lists and decimals in filters give what DuckDB's own do."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lance_sql
from lance_sql.errors import InvalidArgument, UnsupportedFeature
from lance_sql.reads.scan.predicates import evaluate, from_sql
from tests.covering import covering

SPACES = " \t\n\u00a0\u2003\u3000\x1f"
TEXTS = st.text(st.sampled_from("aAbß.é😀" + SPACES), max_size=6) | st.none()
DECIMALS = st.decimals(-999, 999, places=2) | st.none()
LISTS = st.lists(st.sampled_from(["a", "b", None, "a b"]), max_size=3) | st.none()
NUMBERS = st.lists(st.integers(-2, 2) | st.none(), max_size=3) | st.none()
ROWS = st.lists(st.tuples(TEXTS, TEXTS, DECIMALS, DECIMALS, LISTS, NUMBERS), max_size=8)
SCHEMA = pa.schema(
    [
        ("t", pa.string()),
        ("u", pa.large_string()),
        ("d", pa.decimal128(5, 2)),
        ("e", pa.decimal128(7, 3)),
        ("words", pa.list_(pa.string())),
        ("numbers", pa.list_(pa.int16())),
    ]
)
FILTERS = [
    "trim(t) = 'a'",
    "ltrim(t) = 'a '",
    "rtrim(t) = ' a'",
    "length(trim(t)) = 1",
    "t || u = 'aa'",
    "t || 'b' = u",
    "concat(t, u) = 'a'",
    "concat(t, '-', u) <> 'a-a'",
    "substring(t, 2, 2) = 'aA'",
    "substring(t, 1, 0) = ''",
    "left(t, 2) = 'aA'",
    "left(t, 2) || 'a' = u",
    "regexp_matches(t, 'a+')",
    "regexp_matches(t, '^.$')",
    "NOT regexp_matches(t, '[[:space:]]')",
    "regexp_matches(t, '(?i)^A')",
    "regexp_full_match(t, 'a|.b')",
    "regexp_full_match(t, 'a?')",
    "len(words) = 2",
    "array_length(words) > 1",
    "len(numbers) <> 1",
    "list_contains(words, 'a')",
    "array_contains(words, 'a b')",
    "NOT list_has(words, 'b')",
    "list_contains(numbers, 1)",
    "list_contains(numbers, -2) OR list_contains(words, 'b')",
    "list_contains(numbers, 1) IS NULL",
    "list_has_any(words, ['a', 'b'])",
    "NOT array_has_any(words, ['a'])",
    "words && ['b', 'nothing'] OR numbers && [-2]",
    "list_has_all(words, ['a', 'b'])",
    "NOT array_has_all(numbers, [1, 2])",
    "numbers @> [1] IS NULL",
    "d + 1 > 3.5",
    "d - e = 0",
    "d + 0.125 >= e",
    "d * e > 100",
    "d * 2 = e",
    "abs(d) < 10.005",
    "-d > 5",
    "-d + 1 <= e",
]


@pytest.mark.parametrize("text", FILTERS)
@settings(max_examples=25)
@given(ROWS)
def test_a_function_is_that_of_duckdb(text: str, rows: list[tuple[Any, ...]]) -> None:
    columns = list(zip(*rows, strict=True)) or [()] * len(SCHEMA)
    arrays = [pa.array(values, field.type) for values, field in zip(columns, SCHEMA, strict=True)]
    batch = pa.RecordBatch.from_arrays(arrays, schema=SCHEMA)
    given = pa.Table.from_batches([batch])  # noqa: F841 - by DuckDB
    expected = [value for (value,) in duckdb.execute(f"SELECT {text} FROM given").fetchall()]
    assert evaluate(from_sql(text, SCHEMA), batch).to_pylist() == expected


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("t ~ 'a'", "The operator ~ is not supported in a filter"),
        ("substring(t, -1, 2) = 'a'", "'substring' is not supported"),
        ("substring(t, 1) = 'a'", "'substring' is not supported"),
        ("substring(t, 0, 2) = 'a'", "'substring' is not supported"),
        ("trim(t, 'x') = 'a'", "trim"),
        ("list_contains(words, NULL)", "array_contains"),
        ("list_contains(words, t)", "array_contains"),
        ("list_contains(t, 'a')", "array_contains"),
        ("list_has_any(words, [])", "array_overlaps"),
        ("list_has_any(words, ['a', NULL])", "array_contains"),
        ("array_has_all(['a'], words)", "array_contains_all"),
        ("list_has_all(words, t)", "list_has_all"),
        ("regexp_matches(t, u)", "regexp_like"),
        ("regexp_matches(t, 'a', 'i')", "regexp_like"),
    ],
)
def test_functions_with_other_meanings_are_refused(text: str, says: str) -> None:
    with pytest.raises(UnsupportedFeature) as refused:
        from_sql(text, SCHEMA)
    assert says in str(refused.value)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("regexp_matches(t, '(')", "'(' is not a regular expression"),
        ("regexp_full_match(t, 'a)|(b')", "'a)|(b' is not a regular expression"),
        ("list_contains(numbers, 'a')", "Cannot look for 'a' in numbers"),
        ("t = X'0'", "X'0' has an odd number of digits"),
        ("t = X'00'", "Cannot compare"),
    ],
)
def test_invalid_filters_are_reported(text: str, says: str) -> None:
    with pytest.raises(InvalidArgument) as refused:
        from_sql(text, SCHEMA)
    assert says in str(refused.value)


def test_they_filter_tables(tmp_path: Path) -> None:
    table = pa.table(
        {
            "t": [f" row {number % 7} " for number in range(5_000)],
            "d": pa.array([Decimal(number) / 100 for number in range(5_000)], pa.decimal128(9, 2)),
            "words": [["even"] if number % 2 == 0 else ["odd", "one"] for number in range(5_000)],
        }
    )
    made = lance_sql.write(table, tmp_path / "t.lance")
    found = made.count_rows("trim(t) = 'row 3' AND list_contains(words, 'odd') AND d * 2 > 50")
    assert found == sum(number % 7 == 3 and number % 2 == 1 and number > 2_500 for number in range(5_000))
    assert made.delete("len(words) = 2").count_rows() == 2_500


@covering(
    unit=["s", "ms", "us", "ns"],
    text=["1970-01-01", "1970-01-01 00:00:00.001", "1970-01-01 00:00:00.0000019", "1969-12-31 12:00:00"],
    operator=["=", "<>", "<", ">=", "IS NOT DISTINCT FROM"],
)
def test_date_trunc_returns_a_timestamp(unit: str, text: str, operator: str) -> None:
    moments = pa.array([None, -86_400, -1, 0, 1, 86_400, 1_711_843_201], pa.int64()).cast(pa.timestamp("s"))
    rows = pa.table({"m": moments.cast(pa.timestamp(unit)), "row": range(len(moments))})
    connection = duckdb.connect()
    connection.register("rows", rows)
    for part in ("day", "hour", "year"):
        condition = f"date_trunc('{part}', m) {operator} '{text}'"
        expected = connection.execute(f"SELECT ({condition}) FROM rows ORDER BY row").fetchall()
        found = evaluate(from_sql(condition, rows.schema), rows.to_batches()[0]).to_pylist()
        assert found == [each for (each,) in expected], condition


@pytest.mark.parametrize("filter", ["b = X'05'", "b > x'05'", "b IN (X'', X'1fFF')", "X'05' <= b", "b <> X''"])
def test_bytes_in_hexadecimal_digits(tmp_path: Path, filter: str) -> None:
    rows = pa.table({"id": range(4), "b": [b"\x05", b"\x1f\xff", b"", None]})
    found = lance_sql.write(rows, tmp_path / "t.lance").scan(["id"], filter).to_table()
    expected = duckdb.connect().execute(f"SELECT id FROM rows WHERE {filter}").fetchall()
    assert found.to_pydict() == {"id": [n for (n,) in expected]}
