"""The source protocol of DuckDB 2.0: statistics for the optimizer, accepted conditions, and columns read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import lance
import numpy as np
import pyarrow as pa
import pytest

import lance_sql
from lance_sql.errors import UnsupportedFeature
from lance_sql.providers.duckdb import protocol, tables
from lance_sql.store import file_statuses
from lance_sql.table.open_fragment import OpenFragment

duckdb_source = pytest.importorskip("lance_sql.providers.duckdb.source", reason="DuckDB has no sources")
from duckdb._sources import nodes  # noqa: E402

from lance_sql.providers.duckdb import filters as duckdb_filters  # noqa: E402
from lance_sql.providers.duckdb.filters import UntranslatableError, to_predicate  # noqa: E402

ROWS = 20_000


@pytest.fixture
def path(tmp_path: Path) -> str:
    path = str(tmp_path / "data.lance")
    rng = np.random.default_rng(0)
    rows = pa.table(
        {
            "id": np.arange(ROWS),
            "share": rng.random(ROWS),
            "group": pa.array([f"g{number % 5}" for number in range(ROWS)]),
            "holes": pa.array([None if number % 9 == 0 else number for number in range(ROWS)]),
            "day": pa.array(np.arange(ROWS) % 100, pa.int32()).cast(pa.date32()),
        }
    )
    lance.write_dataset(rows, path, enable_stable_row_ids=True, max_rows_per_file=ROWS // 4)
    lance.dataset(path).delete("id < 100")
    return path


@pytest.fixture
def connection() -> Any:
    with lance_sql.connect() as connection:
        yield connection


def explained(connection: Any, sql: str) -> str:
    plan: str = connection.execute(f"EXPLAIN {sql}").fetchall()[0][1]
    return plan


def is_taken(connection: Any, path: str, condition: str) -> bool:
    """Whether the scan applies the condition, so that the plan has no filter of its own above it."""
    plan = explained(connection, f"SELECT sum(id) FROM lance_scan('{path}') WHERE {condition}")
    return "─ Filter ─" not in plan


def test_the_protocol_is_the_one_that_is_known() -> None:
    assert protocol.has_sources()
    assert tables._table_class() is duckdb_source.DuckDBSource


@pytest.mark.parametrize("what", ["method", "node"])
def test_another_protocol_is_not_used(monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    if what == "method":
        monkeypatch.setattr(duckdb_source.ArrowScanSource, "stream", lambda self, columns, filters, order: None)
    else:
        monkeypatch.delattr(nodes, "Postfix")
    for cached in (protocol.has_sources, tables._table_class):
        cached.cache_clear()
    try:
        assert tables._table_class() is tables.DuckDBTable
    finally:
        for cached in (protocol.has_sources, tables._table_class):
            cached.cache_clear()


def test_the_optimizer_gets_the_number_of_live_rows(connection: Any, path: str) -> None:
    assert f"~{ROWS - 100:,} rows" in explained(connection, f"SELECT id FROM lance_scan('{path}')")
    assert f"~{ROWS:,} rows" in explained(connection, f"SELECT id FROM lance_scan('{path}', version := 1)")


def test_counting_reads_no_column(connection: Any, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def read(*_: object) -> None:
        raise AssertionError("a column was read")

    monkeypatch.setattr(OpenFragment, "read", read)
    assert connection.execute(f"SELECT count(*) FROM '{path}'").fetchall() == [(ROWS - 100,)]
    count = f"SELECT count(*) FROM lance_scan('{path}') WHERE _row_created_at_version = 1 AND _rowid < 200"
    assert connection.execute(count).fetchall() == [(100,)]


def test_the_column_for_counting_is_seen_by_nobody(connection: Any, path: str) -> None:
    assert connection.sql(f"FROM '{path}'").columns == ["id", "share", "group", "holes", "day"]
    assert tables.NO_COLUMN not in connection.sql(f"FROM lance_scan('{path}')").columns
    lance_sql.register(connection, "named", lance_sql.open(path))
    assert connection.sql("FROM named").columns == ["id", "share", "group", "holes", "day"]


def test_a_table_with_a_column_of_that_name_is_refused_by_name(connection: Any, tmp_path: Path) -> None:
    path = str(tmp_path / "odd.lance")
    lance.write_dataset(pa.table({tables.NO_COLUMN.upper(): [1]}), path)
    with pytest.raises(Exception, match=tables.NO_COLUMN):
        connection.execute(f"FROM '{path}'")
    lance_sql.register(connection, "named", lance_sql.open(path))
    assert connection.execute("FROM named").fetchall() == [(1,)]
    with pytest.raises(UnsupportedFeature):
        tables.table(lance_sql.open(path), with_no_column=True)


@pytest.mark.parametrize(
    ("condition", "taken"),
    [
        ("id = 777", True),
        ("id IN (777, 778)", True),
        ("share < 0.0001", True),
        ("share < 0.5", False),
        ("\"group\" = 'g1'", False),
        ("id IS NOT NULL", True),
        ("holes IS NOT NULL", False),
        ("_rowid < 10000", True),
        ("id % 2 = 0", False),
    ],
)
def test_selective_filters_are_accepted(connection: Any, path: str, condition: str, taken: bool) -> None:
    assert is_taken(connection, path, condition) == taken


def test_small_tables_are_read_in_smaller_batches(connection: Any, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # as of files that were not written just now, of which nothing is kept
    monkeypatch.setattr(file_statuses, "_is_settled", lambda status: True)
    assert not is_taken(connection, path, "share < 0.01")
    monkeypatch.setattr(duckdb_filters, "ROWS_OF_A_LARGE_TABLE", ROWS // 2)
    # what was judged of a condition is kept
    assert not is_taken(connection, path, "share < 0.01")
    assert is_taken(connection, path, "share < 0.011")


def test_small_tables_are_left_to_duckdb(connection: Any, tmp_path: Path) -> None:
    path = str(tmp_path / "small.lance")
    lance.write_dataset(pa.table({"id": range(100)}), path)
    assert not is_taken(connection, path, "id = 7")


STORED = pa.schema(
    [
        ("f", pa.float16()),
        ("s", pa.dictionary(pa.int32(), pa.string())),
        ("t", pa.timestamp("s", "Europe/Berlin")),
        ("tn", pa.timestamp("ns")),
        ("d", pa.date64()),
        ("m", pa.decimal64(10, 2)),
        ("j", pa.struct([("a", pa.int8())])),
    ]
)
DECLARED = STORED.set(0, pa.field("f", pa.float32()))


def lit(value: object, type: str) -> nodes.Lit:
    return nodes.Lit(value, type)


def col(*parts: str) -> nodes.Col:
    return nodes.Col(parts)


@pytest.mark.parametrize(
    ("node", "expected"),
    [
        (nodes.Binary(">", col("f"), lit(0.5, "FLOAT")), "f > 0.5"),
        (nodes.Binary("!=", col("s"), lit("x", "VARCHAR")), "s <> 'x'"),
        (nodes.In(col("s"), [lit("x", "VARCHAR"), lit("y", "VARCHAR")]), "s IN ('x', 'y')"),
        (nodes.Binary("<", col("t"), lit(1_500_000, "TIMESTAMP WITH TIME ZONE")), "t <= '1970-01-01 00:00:01+00'"),
        (nodes.Binary("=", col("j", "a"), lit(5, "TINYINT")), "j.a = 5"),
        (nodes.Postfix("IS NULL", col("tn")), "tn IS NULL"),
        (nodes.Unary("NOT", nodes.Postfix("IS NULL", col("d"))), "NOT (d IS NULL)"),
        (
            nodes.Binary("OR", nodes.Postfix("IS NOT NULL", col("j")), nodes.Binary("=", col("s"), lit("", "VARCHAR"))),
            "NOT (j IS NULL) OR s = ''",
        ),
    ],
)
def test_conditions_become_predicates(node: nodes.Node, expected: str) -> None:
    assert str(to_predicate(node, STORED, DECLARED)) == expected


def deep(levels: int) -> nodes.Node:
    node: nodes.Node = nodes.Postfix("IS NULL", col("s"))
    for _ in range(levels):
        node = nodes.Unary("NOT", node)
    return node


@pytest.mark.parametrize(
    "node",
    [
        # DuckDB cuts these values, or has another type than the constant
        nodes.Binary("=", col("d"), lit(np.datetime64("2020-01-01").item(), "DATE")),
        nodes.Binary("=", col("tn"), lit(0, "TIMESTAMP_NS")),
        nodes.Binary("=", col("m"), lit(1, "INTEGER")),
        nodes.Binary("=", col("s"), lit(None, "VARCHAR")),
        nodes.Binary("=", col("s"), lit(5, "VARCHAR")),
        nodes.Binary("=", col("j", "a"), lit(500, "TINYINT")),
        nodes.In(col("s"), [lit("x", "VARCHAR"), col("s")]),
        # no such column, operator or node
        nodes.Binary("=", col("nothing"), lit("x", "VARCHAR")),
        nodes.Binary("=", col("j", "nothing"), lit("x", "VARCHAR")),
        nodes.Binary("=", col(), lit("x", "VARCHAR")),
        nodes.Binary("LIKE", col("s"), lit("x", "VARCHAR")),
        nodes.Binary("=", lit("x", "VARCHAR"), col("s")),
        nodes.Unary("-", col("s")),
        nodes.In(col("s"), []),
        deep(100_000),
    ],
)
def test_other_conditions_are_left_to_duckdb(node: nodes.Node) -> None:
    with pytest.raises(UntranslatableError):
        to_predicate(node, STORED, DECLARED)
