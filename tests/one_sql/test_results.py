"""Results of queries that are used several times: at once, by threads, and by the connection that computes them."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

import lance_sql
from lance_sql.errors import InvalidArgument, LanceError
from lance_sql.handles.maintenance import TableMaintenance
from lance_sql.providers.duckdb.protocol import has_sources

_ROWS = 50_000
_SUM = _ROWS * (_ROWS - 1) // 2


def _with_temporary_table() -> Any:
    connection = lance_sql.connect()
    connection.execute("CREATE TEMP TABLE wanted AS SELECT 1 AS a")
    return connection


def _with_setting() -> Any:
    connection = lance_sql.connect()
    connection.execute("SET TimeZone = 'Asia/Tokyo'")
    return connection


def _in_transaction() -> Any:
    connection = lance_sql.connect()
    connection.begin()
    return connection


CONNECTIONS: list[Callable[[], Any]] = [
    lambda: None,
    lance_sql.connect,
    duckdb.connect,
    _with_temporary_table,
    _with_setting,
    _in_transaction,
]


@pytest.fixture(params=CONNECTIONS, ids=["none", "connect", "duckdb", "temporary", "setting", "transaction"])
def connection(request: pytest.FixtureRequest) -> Any:
    return request.param()


@pytest.fixture
def rows(connection: Any, tmp_path: Path) -> Any:
    lance_sql.write({"id": range(_ROWS)}, tmp_path / "t.lance")
    return lance_sql.sql(f"SELECT id FROM '{tmp_path / 't.lance'}'", connection=connection)


def _outcome(use: Callable[[], Any], expected: Any) -> None:
    """A use is right, or says in a line that it cannot be."""
    try:
        assert use() == expected
    except (LanceError, duckdb.Error) as error:
        message = str(error).strip()
        assert "another" in message
        assert "to_table()" in message or "separate connection" in message


def _asked(connection: Any, query: str, x: Any) -> Any:
    """The answer to a query over a result, which DuckDB finds as the variable x."""
    assert x is not None
    return connection.execute(query).fetchall()


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("SELECT count(*), sum(id) FROM (FROM x UNION ALL FROM x)", [(2 * _ROWS, 2 * _SUM)]),
        ("SELECT (SELECT count(*) FROM x), (SELECT sum(id) FROM x)", [(_ROWS, _SUM)]),
        ("SELECT count(*) FROM x AS a JOIN x AS b USING (id)", [(_ROWS,)]),
    ],
)
def test_a_query_names_a_result_twice(query: str, expected: Any, rows: Any, connection: Any) -> None:
    if connection is None:
        assert _asked(duckdb.connect(), query, rows) == expected
    else:
        _outcome(lambda: _asked(duckdb.connect(), query, rows), expected)


def test_four_threads_read_a_result(rows: Any, connection: Any) -> None:
    results: list[Any] = []

    def read() -> None:
        try:
            results.append(rows.to_table().num_rows)
        except InvalidArgument as error:
            results.append(error)

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    numbers = [result for result in results if isinstance(result, int)]
    assert set(numbers) == {_ROWS}
    assert len(results) == 4
    assert len(numbers) == 4 or (connection is not None and has_sources())


def test_two_readers_are_open(rows: Any) -> None:
    first = rows.to_reader()
    _outcome(lambda: rows.to_table().num_rows, _ROWS)
    assert first.read_all().num_rows == _ROWS
    assert pa.table(rows).num_rows == _ROWS


def test_the_connection_of_a_result_reads_it(rows: Any, connection: Any) -> None:
    if connection is None:
        pytest.skip("nobody has the connection")
    _outcome(lambda: _asked(connection, "SELECT count(*), sum(id) FROM x", rows), [(_ROWS, _SUM)])


def test_a_result_keeps_what_belongs_to_its_connection(tmp_path: Path) -> None:
    lance_sql.write({"id": range(10)}, tmp_path / "t.lance")
    path = tmp_path / "t.lance"
    connection = lance_sql.connect()
    connection.execute(
        "CREATE TEMP TABLE wanted AS SELECT 7 AS id; SET VARIABLE v = 8; CREATE TEMP MACRO plus(a) AS a + 1"
    )
    result = lance_sql.sql(
        f"SELECT plus(id), getvariable('v') FROM '{path}' JOIN wanted USING (id)", connection=connection
    )
    assert result.fetchall() == [(8, 8)]
    assert result.fetchall() == [(8, 8)]


@pytest.mark.parametrize("text", ["SELECT id FROM '{}' LIMIT (SELECT 3)", "SELECT 1 // (id - id) FROM '{}'"])
def test_errors_of_datafusion_are_ours(text: str, tmp_path: Path) -> None:
    lance_sql.write({"id": range(10)}, tmp_path / "t.lance")
    with pytest.raises(LanceError):
        lance_sql.sql(text.replace("//", "/").format(tmp_path / "t.lance"), "datafusion").fetchall()


ENGINES = ["duckdb", "datafusion"]


@pytest.mark.parametrize("engine", ENGINES)
def test_results_have_the_methods_of_duckdb(engine: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lance_sql.write({"id": range(3), "v": ["a", "b", None]}, tmp_path / "t.lance")
    rows = lance_sql.sql(f"SELECT id, v FROM '{tmp_path / 't.lance'}' ORDER BY id", engine)
    everything = [(0, "a"), (1, "b"), (2, None)]
    assert rows.fetchone() == (0, "a")
    assert rows.fetchmany(5) == everything[1:]
    assert rows.fetchone() is None
    assert rows.fetchall() == rows.fetchall() == everything
    assert rows.df()["id"].tolist() == rows.pl()["id"].to_list() == [0, 1, 2]
    assert rows.arrow().read_all().equals(rows.to_table())
    rows.show(max_width=80)
    shown = capsys.readouterr().out
    assert "│ NULL │" in shown.replace("   ", " ").replace("  ", " ")
    assert "3 rows" in shown
    rows.show(max_rows=1)
    assert "3 rows (1 shown)" in capsys.readouterr().out


def test_what_a_statement_wrote_has_them_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    done = lance_sql.sql(f"CREATE TABLE '{tmp_path / 't.lance'}' AS SELECT 1 AS a")
    assert done.fetchone() == done.fetchall()[0] == ("create", 1, 1, 0, 0)
    assert done.fetchone() is None
    assert done.df()["operation"].tolist() == ["create"]
    done.show()
    assert "create" in capsys.readouterr().out


def test_one_row_of_many_is_fetched_without_the_others(tmp_path: Path) -> None:
    lance_sql.write({"id": range(_ROWS)}, tmp_path / "t.lance")
    first = lance_sql.sql(f"SELECT sum(id) FROM '{tmp_path / 't.lance'}'").fetchone()
    assert first == (_SUM,)


def test_a_row_that_is_fetched_holds_a_connection(tmp_path: Path) -> None:
    connection = lance_sql.connect()
    connection.begin()
    lance_sql.write({"id": range(_ROWS)}, tmp_path / "t.lance")
    rows = lance_sql.sql(f"SELECT id FROM '{tmp_path / 't.lance'}'", connection=connection)
    assert rows.fetchone() == (0,)
    _outcome(lambda: len(rows.fetchall()), _ROWS)


@pytest.mark.parametrize("is_indexed", [False, True])
def test_optimize_counts_what_it_rewrote(tmp_path: Path, is_indexed: bool) -> None:
    path = tmp_path / "t.lance"
    table = lance_sql.write({"id": range(40), "s": ["x"] * 40}, path, max_rows_per_file=10)
    table = table.update({"s": "'y'"}, "id = 35").delete("id < 10")
    table = table.indices.create("id", "btree") if is_indexed else table
    before = {fragment.id: len(fragment.files) for fragment in table.snapshot.manifest.fragments}
    counts = {"fragments_removed": len(before), "fragments_added": 1, "files_removed": sum(before.values())}
    for dry_run in (True, False):
        (row,) = lance_sql.sql(f"OPTIMIZE '{path}'", dry_run=dry_run).to_pylist()
        assert {name: row[name] for name in counts} == counts
        assert row["files_added"] == 1
    (row,) = lance_sql.sql(f"ALTER TABLE '{path}' EXECUTE optimize").to_pylist()
    assert [row[name] for name in counts] == [0, 0, 0]


def test_optimize_counts_no_commits_of_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "t.lance"
    table = lance_sql.write({"id": range(40)}, path, max_rows_per_file=10)
    compact = TableMaintenance.compact

    def after_others(self: Any, **options: Any) -> Any:
        compact(table.maintenance, target_rows=20)
        table.append({"id": range(40, 60)}, max_rows_per_file=10)
        made = compact(self, **options)
        table.append({"id": [60]})
        return made

    monkeypatch.setattr(TableMaintenance, "compact", after_others)
    (row,) = lance_sql.sql(f"OPTIMIZE '{path}'").to_pylist()
    assert [row[name] for name in ("fragments_removed", "fragments_added", "files_removed")] == [4, 1, 4]


@pytest.mark.parametrize("train", [True, False])
def test_an_index_counts_its_fragments(tmp_path: Path, train: bool) -> None:
    path = tmp_path / "t.lance"
    lance_sql.write({"id": range(40)}, path, max_rows_per_file=10)
    text = f"CREATE INDEX IF NOT EXISTS \"By Id\" ON '{path}' (id) WITH (train = {str(train).lower()})"
    for _ in range(2):
        (row,) = lance_sql.sql(text).to_pylist()
        assert row["fragments_indexed"] == (4 if train else 0)
