"""Random SQL conditions: the same three-valued answer, row by row, as a native DuckDB table gives."""

from __future__ import annotations

import datetime
import itertools
from collections.abc import Iterator, Sequence
from decimal import Decimal

import duckdb
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lance_sql.reads.scan.predicates import evaluate, from_sql

_INTEGERS = [None, 0, 1, -1, 2, 7, 100, -100, 127, -128]
_FLOATS = [None, 0.0, -0.0, 1.0, 1.5, -1.5, 0.1, float("nan"), float("inf"), float("-inf"), 1e300, 16777217.0]
_TEXTS = [None, "", "a", "ab", "aB", "b", "a%b", "a_b", "a\\b", "é", "É", "\U0001f600", "zzz", "a\nb"]
_DAYS = [None, "1969-12-31", "1970-01-01", "2000-02-29", "2024-01-31", "2024-02-01"]
_MOMENTS = [
    None,
    "1969-12-31 23:59:59.999999",
    "1970-01-01 00:00:00",
    "2024-01-31 12:00:00.5",
    "2024-02-01 00:00:00",
]
_DECIMALS = [None, "0.00", "1.23", "-1.23", "1.20", "99999999.99", "-0.01"]
_BOOLEANS = [None, True, False]


def _column(values: Sequence[object], type: pa.DataType, step: int) -> pa.Array:
    """120 values; the steps differ from column to column, so that the combinations do."""
    return pa.array([values[(row * step) % len(values)] for row in range(120)], type)


def _day(text: str | None) -> datetime.date | None:
    return None if text is None else datetime.date.fromisoformat(text)


def _moment(text: str | None) -> datetime.datetime | None:
    return None if text is None else datetime.datetime.fromisoformat(text)


def _float32(value: float | None) -> float | None:
    return None if value == 1e300 else value


TABLE = pa.table(
    {
        "i": _column(_INTEGERS, pa.int32(), 1),
        "k": _column(_INTEGERS, pa.int8(), 3),
        "n": _column([None if v is None else abs(v) for v in _INTEGERS], pa.uint64(), 7),
        "f": _column(_FLOATS, pa.float64(), 1),
        "e": _column(_FLOATS, pa.float64(), 5),
        "g": _column([_float32(v) for v in _FLOATS], pa.float32(), 7),
        "s": _column(_TEXTS, pa.string(), 1),
        "r": _column(_TEXTS, pa.large_string(), 5),
        "d": _column([_day(v) for v in _DAYS], pa.date32(), 1),
        "t": _column([_moment(v) for v in _MOMENTS], pa.timestamp("us"), 1),
        "m": _column([None if v is None else Decimal(v) for v in _DECIMALS], pa.decimal128(10, 2), 1),
        "b": _column(_BOOLEANS, pa.bool_(), 1),
        "c": _column(_BOOLEANS, pa.bool_(), 2),
    }
)
_BATCH = TABLE.combine_chunks().to_batches()[0]

_NUMBERS = ["0", "1", "-1", "2", "100", "-100", "127", "128", "300", "0.1", "1.5", "-1.5", "3000000000"]
_CONSTANTS = {
    "i": _NUMBERS,
    "k": _NUMBERS,
    "n": _NUMBERS,
    "f": [*_NUMBERS, "'nan'::DOUBLE", "'inf'::DOUBLE", "'-inf'::DOUBLE", "-0.0", "1e-1", "1e300", "1e0"],
    "g": [*_NUMBERS, "'nan'::DOUBLE", "'inf'::DOUBLE", "'-inf'::DOUBLE", "1e-1", "1e0"],
    "s": ["''", "'a'", "'ab'", "'b'", "'é'", "'a\\b'", "'zz'", "'\U0001f600'"],
    "d": ["'1970-01-01'", "DATE '2000-02-29'", "TIMESTAMP '2024-01-31 12:00:00'", "'2024-02-01'"],
    "t": [
        "'1970-01-01'",
        "DATE '2024-02-01'",
        "TIMESTAMP '2024-01-31 12:00:00.5'",
        "'2024-01-31 12:00:00.500001'",
    ],
    "m": ["0", "1", "1.2", "1.23", "1.231", "-1.225", "99999999.99", "100000000", "-0.005", "'1.23'"],
    "b": ["true", "false"],
}
_OPERATORS = ["=", "<>", "<", "<=", ">", ">=", "IS DISTINCT FROM", "IS NOT DISTINCT FROM"]
_SAME_KIND = [
    ("i", "k"),
    ("i", "n"),
    ("k", "n"),
    ("f", "e"),
    ("f", "g"),
    ("s", "r"),
    ("d", "t"),
    ("b", "c"),
    ("m", "i"),
]
_PATTERNS = ["a%", "%b", "%", "_", "a_b", "a%b", "%a%", "A%", "", "a\\b", "é", "É%", "__", "%\n%"]
_FUNCTIONS = [
    "length(s) {op} 1",
    "strlen(s) {op} 2",
    "lower(s) = 'ab'",
    "upper(s) = 'É'",
    "i + 1 {op} 2",
    "i - k {op} 0",
    "k * 2 {op} -2",
    "i % 3 {op} -1",
    "n % 7 {op} 2",
    "i // 7 {op} -1",
    "n >> 2 {op} 1",
    "-i {op} 1",
    "abs(i) {op} 100",
    "f + 1 {op} 1",
    "f * -1 {op} 0",
    "year(d) {op} 2000",
    "month(t) = 1",
    "extract(day FROM t) {op} 1",
    "hour(t) {op} 12",
    "t::DATE {op} '2024-01-31'",
    "d::TIMESTAMP {op} '2024-01-31 12:00:00'",
    "i::DOUBLE {op} 1.5",
    "i::BIGINT {op} 7",
    "i::VARCHAR {op} '1'",
    "g::DOUBLE {op} 0.1",
    "coalesce(i, 0) {op} 0",
    "coalesce(s, 'a') {op} 'a'",
    "date_trunc('month', t) {op} '2024-01-01'",
    "isnan(f)",
    "isinf(f)",
    "starts_with(s, 'a')",
    "suffix(s, 'b')",
    "contains(s, 'b')",
    "d > DATE '2024-02-01' - INTERVAL 1 DAY",
]


@st.composite
def leaves(draw: st.DrawFn) -> str:
    column = draw(st.sampled_from(sorted(_CONSTANTS)))
    constants = st.sampled_from([*_CONSTANTS[column], "NULL"])
    op = draw(st.sampled_from(_OPERATORS))
    match draw(st.sampled_from(["compare", "in", "null", "between", "columns", "like", "function", "bool"])):
        case "compare":
            sides = [column, draw(constants)]
            return f" {op} ".join(sides if draw(st.booleans()) else sides[::-1])
        case "in":
            listed = ", ".join(draw(st.lists(constants, min_size=1, max_size=5)))
            return f"{column} {draw(st.sampled_from(['IN', 'NOT IN']))} ({listed})"
        case "null":
            return f"{column} IS {draw(st.sampled_from(['NULL', 'NOT NULL']))}"
        case "between":
            return f"{column} BETWEEN {draw(constants)} AND {draw(constants)}"
        case "columns":
            return f" {op} ".join(draw(st.permutations(draw(st.sampled_from(_SAME_KIND)))))
        case "like":
            words = draw(st.sampled_from(["LIKE", "NOT LIKE", "ILIKE", "NOT ILIKE"]))
            escape = draw(st.sampled_from(["", " ESCAPE '\\'"]))
            pattern = draw(st.sampled_from([p for p in _PATTERNS if not escape or p != "a\\b"]))
            return f"s {words} '{pattern}'{escape if 'ILIKE' not in words else ''}"
        case "function":
            return draw(st.sampled_from(_FUNCTIONS)).format(op=op)
    return draw(st.sampled_from(["b", "NOT b", "b IS TRUE", "b IS NOT FALSE", "b IS NOT TRUE", "b = c", "b < c"]))


conditions = st.recursive(
    leaves(),
    lambda inner: st.one_of(
        st.tuples(inner, inner).map(lambda pair: f"({pair[0]}) AND ({pair[1]})"),
        st.tuples(inner, inner).map(lambda pair: f"({pair[0]}) OR ({pair[1]})"),
        inner.map(lambda part: f"NOT ({part})"),
        inner.map(lambda part: f"({part}) IS NULL"),
    ),
    max_leaves=4,
)


@pytest.fixture(scope="module")
def native() -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection with TABLE as a native table `t0`."""
    source = TABLE.append_column("row", pa.array(range(TABLE.num_rows)))
    with duckdb.connect() as connection:
        connection.register("source", source)
        connection.execute("CREATE TABLE t0 AS SELECT * FROM source")
        connection.unregister("source")
        yield connection


def _native(connection: duckdb.DuckDBPyConnection, condition: str) -> list[bool | None]:
    rows = connection.execute(f"SELECT ({condition})::BOOLEAN FROM t0 ORDER BY row").fetchall()
    return list(itertools.chain.from_iterable(rows))


@settings(max_examples=300, suppress_health_check=list(HealthCheck))
@given(condition=conditions)
def test_a_condition_has_the_answers_of_a_native_table(native: duckdb.DuckDBPyConnection, condition: str) -> None:
    predicate = from_sql(condition, TABLE.schema)
    assert evaluate(predicate, _BATCH).to_pylist() == _native(native, condition), str(predicate)
