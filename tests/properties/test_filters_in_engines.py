"""Random conditions in SQL over a Lance table: the rows of a native DuckDB table, in every engine.

An engine pushes what it can and evaluates the rest itself; either way no row may differ.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import duckdb
import lance
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import lance_sql
from lance_sql.providers.duckdb import tables
from tests.properties.test_filters import TABLE

# Constants that both dialects read as the same value of the column's type.
_CONSTANTS = {
    "i": ["0", "1", "-1", "2", "100", "127", "3000000000"],
    "k": ["0", "1", "-1", "7", "-128"],
    "f": [
        "0.0",
        "1.5",
        "-1.5",
        "0.1",
        "1e300",
        "CAST('NaN' AS DOUBLE)",
        "CAST('inf' AS DOUBLE)",
        "CAST('-inf' AS DOUBLE)",
    ],
    "s": ["''", "'a'", "'ab'", "'b'", "'é'", "'a\\b'", "'zz'", "'\U0001f600'"],
    "d": ["DATE '1969-12-31'", "DATE '2000-02-29'", "DATE '2024-02-01'"],
    "t": ["TIMESTAMP '1970-01-01 00:00:00'", "TIMESTAMP '2024-01-31 12:00:00.5'"],
    "m": ["CAST(1.23 AS DECIMAL(10,2))", "CAST(-0.01 AS DECIMAL(10,2))", "CAST(99999999.99 AS DECIMAL(10,2))"],
    "b": ["true", "false"],
}
_PATTERNS = ["a%", "%b", "%", "a_b", "%a%", "é%"]


@st.composite
def leaves(draw: st.DrawFn) -> str:
    column = draw(st.sampled_from(sorted(_CONSTANTS)))
    constants = st.sampled_from(_CONSTANTS[column])
    op = draw(st.sampled_from(["=", "<>", "<", "<=", ">", ">="]))
    match draw(st.sampled_from(["compare", "compare", "in", "null", "between", "like"])):
        case "compare":
            return f"{column} {op} {draw(constants)}"
        case "in":
            listed = ", ".join(draw(st.lists(constants, min_size=1, max_size=5)))
            return f"{column} {draw(st.sampled_from(['IN', 'NOT IN']))} ({listed})"
        case "null":
            return f"{column} IS {draw(st.sampled_from(['NULL', 'NOT NULL']))}"
        case "between":
            return f"{column} BETWEEN {draw(constants)} AND {draw(constants)}"
    return f"s {draw(st.sampled_from(['LIKE', 'NOT LIKE']))} '{draw(st.sampled_from(_PATTERNS))}'"


conditions = st.recursive(
    leaves(),
    lambda inner: st.one_of(
        st.tuples(inner, inner).map(lambda pair: f"({pair[0]}) AND ({pair[1]})"),
        st.tuples(inner, inner).map(lambda pair: f"({pair[0]}) OR ({pair[1]})"),
        inner.map(lambda part: f"NOT ({part})"),
    ),
    max_leaves=4,
)

Rows = Callable[[str], list[int]]


@pytest.fixture(scope="module")
def engines(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Rows]]:
    """For each engine, the numbers of the rows that a condition keeps; "native" is the truth."""
    path = str(tmp_path_factory.mktemp("filters") / "data.lance")
    source = TABLE.append_column("row", pa.array(range(TABLE.num_rows)))
    lance.write_dataset(source, path, max_rows_per_file=50, enable_stable_row_ids=True)
    variable = lance_sql.open(path)
    connection = lance_sql.connect()
    connection.execute("CREATE TABLE native AS FROM source")

    def in_duckdb(table: str) -> Rows:
        def rows(condition: str) -> list[int]:
            found = connection.execute(f"SELECT row FROM {table} WHERE {condition} ORDER BY row").fetchall()
            return [row for (row,) in found]

        return rows

    in_scan = in_duckdb(f"lance_scan('{path}')")

    def as_dataset(condition: str) -> list[int]:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(tables, "_table_class", lambda: tables.DuckDBTable)
            return in_scan(condition)

    answers = {"native": in_duckdb("native"), "lance_scan": in_scan, "lance_scan as dataset": as_dataset}
    if tables._table_class() is not tables.DuckDBTable:
        from lance_sql.providers.duckdb import source as duckdb_source

        def with_every_filter(condition: str) -> list[int]:
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(duckdb_source, "is_worthwhile", lambda *_: True)
                return in_scan(condition)

        answers["lance_scan with every filter"] = with_every_filter
    connection.register("variable", variable)
    answers["dataset"] = in_duckdb("variable")
    answers["datafusion"] = _in_datafusion(path)
    answers["scan"] = lambda condition: sorted(variable.scan(["row"], condition).to_table()["row"].to_pylist())
    yield answers
    connection.close()


def _in_datafusion(path: str) -> Rows:
    import datafusion

    context: Any = lance_sql.register(datafusion.SessionContext())

    def rows(condition: str) -> list[int]:
        batches = context.sql(f"SELECT row FROM lance_scan('{path}') WHERE {condition} ORDER BY row").to_arrow_table()
        found: list[int] = batches["row"].to_pylist()
        return found

    return rows


@settings(max_examples=120, suppress_health_check=list(HealthCheck))
@given(condition=conditions)
def test_every_engine_keeps_the_rows_of_a_native_table(engines: dict[str, Rows], condition: str) -> None:
    expected = engines["native"](condition)
    found = {name: rows(condition) for name, rows in engines.items() if name != "native"}
    assert found == dict.fromkeys(found, expected), duckdb.__version__
