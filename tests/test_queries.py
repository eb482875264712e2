"""Runs queries/*.slt in DuckDB and DataFusion, over tables of several writers; Spark's turn is in tests/providers.

The rows are equal in every engine, for tables of every writer. queries/<engine>/ is in an engine's own dialect.
"""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import lance_sql
from tests.conftest import Case
from tests.documents import ROOT
from tests.queries import NEEDS_TRANSLATION, QUERIES, SHARED, Run, about_times, records, write_orders

ENGINES = ("duckdb", "datafusion")
WRITERS = ("pylance", "lance-sql")


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Where orders.lance is, by its writer."""
    own = tmp_path_factory.mktemp("orders")
    write_orders(own / "orders.lance")
    return {"pylance": ROOT / "examples", "lance-sql": own}


def itself(engine: str) -> Run:
    """The engine without a translation."""
    if engine == "duckdb":
        connection = lance_sql.connect()
        return lambda sql: connection.execute(sql).fetchall()
    datafusion = pytest.importorskip("datafusion")
    context = lance_sql.register(datafusion.SessionContext())
    return lambda sql: [tuple(row.values()) for row in context.sql(sql).to_pylist()]


def translated(engine: str) -> Run:
    own = {"duckdb": lance_sql.connect, "datafusion": lambda: None}[engine]()
    return lambda sql: lance_sql.sql(sql, engine, dialect="duckdb", connection=own).fetchall()


def test_there_are_many() -> None:
    assert sum(1 for path in SHARED for _ in records(path)) >= 60


@pytest.mark.parametrize("writer", WRITERS)
@pytest.mark.parametrize("path", SHARED, ids=lambda path: path.stem)
@pytest.mark.parametrize("engine", ENGINES)
def test_shared_queries(
    engine: str, path: Path, writer: str, folders: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folders[writer])
    run = translated(engine)
    for record in records(path):
        if writer == "pylance" or not about_times(record):
            record.check(run)


@pytest.mark.parametrize("writer", WRITERS)
@pytest.mark.parametrize("path", [each for each in SHARED if each.name not in NEEDS_TRANSLATION], ids=lambda p: p.stem)
def test_shared_queries_in_duckdb_itself(
    path: Path, writer: str, folders: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folders[writer])
    run = itself("duckdb")
    for record in records(path):
        record.check(run)


@pytest.mark.parametrize(
    ("engine", "path"),
    [pytest.param(e, path, id=f"{e}-{path.stem}") for e in ENGINES for path in sorted((QUERIES / e).glob("*.slt"))],
)
def test_queries_in_the_words_of_an_engine(engine: str, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT / "examples")
    run = itself(engine)
    for record in records(path):
        record.check(run)


def test_tables_of_older_writers(corpus_case: Case) -> None:
    """The same aggregates in every engine as over the expected rows, for the newest version of a table."""
    branch, version = corpus_case.versions()[-1]
    expected = corpus_case.expected(version)
    major = int(str(corpus_case.info["writer_version"]).partition(".")[0])
    if major >= 8 or branch is not None or expected is None:
        pytest.skip("the newest version is of a new writer, on a branch, or has no expected rows")
    plain = [
        field.name
        for field in expected.schema
        if pa.types.is_integer(field.type) or pa.types.is_string(field.type) or pa.types.is_boolean(field.type)
    ]
    # DuckDB does not distinguish columns that differ only in case
    folded = [name.lower() for name in expected.schema.names]
    plain = [name for name in plain if not name.startswith("_row") and folded.count(name.lower()) == 1][:3]
    quoted = [name.replace('"', '""') for name in plain]
    wanted = ", ".join(["count(*)", *(f'{f}("{name}")' for name in quoted for f in ("count", "min", "max"))])
    values = [expected.column(name).drop_null().to_pylist() for name in plain]
    row = [each for column in values for each in (len(column), min(column, default=None), max(column, default=None))]
    for engine in ENGINES:
        text = f"SELECT {wanted} FROM lance_scan('{corpus_case.table}', version => {version['version']})"
        assert lance_sql.sql(text, engine, dialect="duckdb").fetchall() == [(expected.num_rows, *row)], engine
