"""Random SELECTs with unusual clauses over Lance tables, compared with the same engine over its own tables.

What the engine does over its own tables, it does over Lance tables, or the statement is refused by name.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pytest

import lance_sql
from lance_sql.errors import InvalidArgument, UnsupportedFeature
from tests.cross.clause_generator import ROWS, Queries
from tests.seeds import seeds

QUERIES_OF_A_SEED: Final = 100
_MOST_REFUSED: Final = 0.2

_Run = Callable[[str], pa.Table]


def rows_of(table: pa.Table) -> tuple[list[str], list[str]]:
    """Returns the names of the columns, and the rows as text, in one order."""
    return table.column_names, sorted(repr(list(row.values())) for row in _unique(table).to_pylist())


def _unique(table: pa.Table) -> pa.Table:
    return table.rename_columns([str(at) for at in range(table.num_columns)])


def compared(engine: str, seed: int, native: _Run, ours: _Run, count: int = QUERIES_OF_A_SEED) -> None:
    """Runs the queries of a seed.

    native: runs one over tables t and u of the engine
    ours: runs one over 't.lance' and 'u.lance' of the working folder
    """
    generator = Queries(random.Random(seed), engine)
    answered, refused, different = 0, [], []
    for text in (generator.query() for _ in range(2 * count)):
        if answered == count:
            break
        try:
            expected = rows_of(native(text.replace("{t}", "t_own").replace("{u}", "u_own")))
        except Exception:
            # the engine does not have this combination
            continue
        answered += 1
        spelled = text.replace("{t}", "'t.lance'").replace("{u}", "'u.lance'")
        try:
            found = rows_of(ours(spelled))
        except (InvalidArgument, UnsupportedFeature) as error:
            refused.append((text, str(error)))
            continue
        if found != expected:
            different.append((spelled, found, expected))
    assert answered == count
    assert not different
    assert len(refused) <= _MOST_REFUSED * count, refused


@pytest.fixture(autouse=True)
def _tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_tables()


def write_tables() -> None:
    """Writes the tables of the queries into the working folder."""
    lance_sql.write(ROWS, "t.lance")
    lance_sql.write(ROWS.slice(3), "u.lance")


@seeds(range(1), range(1, 50))
def test_duckdb(seed: int) -> None:
    duckdb = pytest.importorskip("duckdb")
    connection = lance_sql.connect()
    rows = {"t_own": ROWS, "u_own": ROWS.slice(3)}
    for name, table in rows.items():
        connection.register(f"{name}_given", table)
        connection.execute(f"CREATE TABLE {name} AS FROM {name}_given")
    # as text of the connection, and through the translator
    ways: list[Any] = [lambda text: connection.sql(text).to_arrow_table()]
    ways.append(lambda text: lance_sql.sql(text, connection=connection).to_table())
    ways.append(lambda text: lance_sql.sql(text, connection=connection, dialect="duckdb").to_table())
    ours = ways[seed % len(ways)]
    assert duckdb.__version__
    compared("duckdb", seed, lambda text: connection.sql(text).to_arrow_table(), ours)


@seeds(range(1), range(1, 50))
def test_datafusion(seed: int) -> None:
    datafusion = pytest.importorskip("datafusion")
    context = datafusion.SessionContext()
    context.register_record_batches("t_own", [ROWS.to_batches()])
    context.register_record_batches("u_own", [ROWS.slice(3).to_batches()])

    def native(text: str) -> pa.Table:
        return context.sql(text).to_arrow_table()

    compared("datafusion", seed, native, lambda text: lance_sql.sql(text, session=context).to_table())


def compared_in_spark(engine: str, session: Any, seed: int, count: int = QUERIES_OF_A_SEED) -> None:
    """Runs the queries of a seed in Spark or Sail."""
    session.createDataFrame(ROWS).createOrReplaceTempView("t_own")
    session.createDataFrame(ROWS.slice(3)).createOrReplaceTempView("u_own")
    compared(
        engine,
        seed,
        lambda text: session.sql(text).toArrow(),
        lambda text: lance_sql.sql(text, session=session).to_table(),
        count,
    )
