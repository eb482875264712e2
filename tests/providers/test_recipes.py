"""The tools of docs/frames.md, if they are installed."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import duckdb
import polars
import pytest

import lance_sql
from lance_sql.errors import InvalidArgument
from lance_sql.providers.duckdb.protocol import has_sources
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


def test_sqlalchemy(tmp_path: Path) -> None:
    wrapper = pytest.importorskip("duckdb_engine").ConnectionWrapper
    sqlalchemy = pytest.importorskip("sqlalchemy")
    connection = lance_sql.connect()
    engine = sqlalchemy.create_engine(
        "duckdb:///:memory:", creator=lambda: wrapper(connection.cursor()), poolclass=sqlalchemy.QueuePool
    )

    def count(_: int) -> Any:
        with engine.connect() as session:
            query = f"SELECT count(*) FROM '{ORDERS}' WHERE status = :status"
            return session.execute(sqlalchemy.text(query), {"status": "open"}).scalar()

    with ThreadPoolExecutor(16) as threads:
        assert set(threads.map(count, range(64))) == {104}
    if not has_sources():
        return
    table = lance_sql.write({"id": [1, 2]}, tmp_path / "t.lance")
    change = sqlalchemy.text(f"DELETE FROM '{table.uri}' WHERE id = 1")
    with pytest.raises(InvalidArgument, match="ROLLBACK"), engine.begin() as session:
        session.execute(change)
    engine.dialect.do_begin = lambda connection: None
    with engine.begin() as session:
        session.execute(change)
    assert table.latest().count_rows() == 1


def test_flight(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pyarrow.flight")
    frames = (ROOT / "docs" / "frames.md").read_text()
    block = next(each for each in frames.split("```text\n") if each.startswith("import pyarrow.flight"))
    monkeypatch.chdir(ROOT / "examples")
    names: dict[str, Any] = {"lance_sql": lance_sql}
    exec(block.partition("```")[0], names)
    assert names["rows"]["id"].to_pylist() == lance_sql.open(ORDERS).scan(["id"], "id < 5").to_table()["id"].to_pylist()


def test_delta_as_source_and_target(tmp_path: Path) -> None:
    deltalake = pytest.importorskip("deltalake")
    orders = lance_sql.open(ORDERS).scan(["id", "status"], "id > 100")
    deltalake.write_deltalake(str(tmp_path / "delta"), orders.to_reader())
    table = lance_sql.write(deltalake.DeltaTable(str(tmp_path / "delta")), tmp_path / "t.lance")
    assert table.count_rows() == orders.count_rows() > 0


@pytest.mark.parametrize("of", [lambda scan: scan, lambda scan: scan.tasks(1)[0]], ids=["scan", "task"])
def test_a_scan_and_a_task_are_taken_where_a_table_is(tmp_path: Path, of: Any) -> None:
    table = lance_sql.write({"id": [1, 2, 3], "v": [1, 2, 3]}, tmp_path / "t.lance")
    source = of(table.scan(["id", "v"], "id > 1"))
    copy = lance_sql.write(source, tmp_path / "copy.lance")
    assert copy.append(source).count_rows() == 4
    assert copy.latest().merge(source, "v", when_not_matched="ignore").count_rows() == 4
    assert lance_sql.apply_changes(tmp_path / "applied.lance", source, "id").count_rows() == 2
    assert polars.DataFrame(source).height == 2
    connection = lance_sql.connect()
    assert connection.execute("SELECT count(*) FROM source").fetchall() == [(2,)]
    assert connection.sql("SELECT sum(v) FROM source").fetchall() == [(5,)]
    with pytest.raises(InvalidArgument, match="not the path of a table"):
        lance_sql.register(connection, "x", source)


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
