"""The tools of docs/frames.md, if they are installed."""

from __future__ import annotations

from typing import Any

import duckdb
import polars
import pytest

import lance_sql
from tests.documents import ROOT

ORDERS = str(ROOT / "examples" / "orders.lance")


def test_polars_pushes_columns_and_filters(monkeypatch: pytest.MonkeyPatch) -> None:
    orders = lance_sql.open(ORDERS)
    asked: list[dict[str, Any]] = []
    scanner = type(orders).scanner

    def recorded(self: lance_sql.Dataset, **arguments: Any) -> Any:
        asked.append(arguments)
        return scanner(self, **arguments)

    monkeypatch.setattr(type(orders), "scanner", recorded)
    lazy = polars.scan_pyarrow_dataset(orders).filter(polars.col("status") == "open", polars.col("id") > 100)
    found = lazy.select("id").collect()
    expected = orders.scan(["id"], "status = 'open' AND id > 100").to_table()["id"].to_pylist()
    assert found["id"].to_list() == expected
    (arguments,) = asked
    assert "customer" not in arguments["columns"]
    assert "status" in str(arguments["filter"])
    assert "100" in str(arguments["filter"])


def test_sqlalchemy() -> None:
    wrapper = pytest.importorskip("duckdb_engine").ConnectionWrapper
    sqlalchemy = pytest.importorskip("sqlalchemy")
    connection = lance_sql.connect()
    engine = sqlalchemy.create_engine("duckdb:///:memory:", creator=lambda: wrapper(connection.cursor()))
    with engine.connect() as session:
        query = f"SELECT count(*) FROM '{ORDERS}' WHERE status = :status"
        assert session.execute(sqlalchemy.text(query), {"status": "open"}).scalar() == 104


@pytest.mark.skipif(not hasattr(duckdb.DuckDBPyConnection, "fetch_arrow_table"), reason="Ibis 12 needs DuckDB 1.5")
def test_ibis() -> None:
    ibis = pytest.importorskip("ibis")
    connection = lance_sql.connect()
    backend = ibis.duckdb.from_connection(connection)
    connection.execute("SET python_enable_replacements = true")
    orders = backend.sql(f"FROM lance_table('{ORDERS}')")
    assert orders.filter(orders.status == "open").count().execute() == 104


def test_jupysql() -> None:
    pytest.importorskip("sql.magic", reason="pip install jupysql")
    session = pytest.importorskip("IPython.core.interactiveshell").InteractiveShell.instance()
    session.run_line_magic("load_ext", "sql")
    session.user_ns["connection"] = lance_sql.connect()
    session.run_line_magic("sql", "connection")
    result = session.run_cell_magic("sql", "", f"SELECT count(*) AS n FROM '{ORDERS}'")
    assert "370" in str(result)
