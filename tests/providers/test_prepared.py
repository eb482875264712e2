"""Prepared statements of DuckDB: each run reads what there is then, by every function, whatever was done between."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Final

import duckdb
import lance
import pyarrow as pa
import pytest

import lance_sql
from lance_sql.providers.duckdb.registration import register
from lance_sql.providers.table_functions import FUNCTIONS, METADATA

WORDS: Final = ["a b", "b c", "c d", "d e"]


def rows_of(ids: Iterable[int], words: list[str]) -> pa.Table:
    ids = list(ids)
    vectors = pa.array([[float(each), 0.0] for each in ids], pa.list_(pa.float32(), 2))
    return pa.table({"id": ids, "v": vectors, "w": words})


def make(path: str) -> None:
    lance_sql.write(rows_of(range(4), WORDS), path)
    table = lance_sql.open(path)
    table.tags.create("t")
    table.indices.create("id", "btree")


QUERIES: Final[dict[str, str]] = {
    "lance_scan": "SELECT id FROM lance_scan('{path}')",
    "lance_table": "SELECT id FROM lance_table('{path}')",
    "lance_changes": "FROM lance_changes('{path}', since := 0)",
    "lance_insertions": "FROM lance_insertions('{path}')",
    "lance_deletions": "FROM lance_deletions('{path}')",
    "lance_row_history": "FROM lance_row_history('{path}')",
    "lance_vector_search": "SELECT id FROM lance_vector_search('{path}', 'v', [0, 0]::FLOAT[], k := 10)",
    "lance_fts": "SELECT id FROM lance_fts('{path}', 'w', 'b')",
    "lance_hybrid_search": "SELECT id FROM lance_hybrid_search('{path}', 'v', [0, 0]::FLOAT[], 'w', 'b')",
    "lance_vector_join": "SELECT id FROM lance_vector_join('{path}', 'v', [[0, 0]]::FLOAT[][], k := 10)",
    "lance_search_changes": "SELECT id FROM lance_search_changes('{path}', 1, text_column := 'w', query := 'b')",
    **{f"lance_{name}": f"FROM lance_{name}('{{path}}')" for name in METADATA},
    # the same functions with other arguments
    "net": "FROM lance_changes('{path}', since := 0, mode := 'net')",
    "of a tag": "SELECT id FROM lance_scan('{path}', tag := 't')",
    "filter :=": "SELECT count(*) FROM lance_scan('{path}', filter := 'id < 3')",
    "a list": "SELECT id FROM lance_scan(['{path}', '{path}'])",
    "fresh": "SELECT id FROM lance_scan('{path}', fresh := true)",
    "a count": "SELECT count(*) FROM lance_changes('{path}')",
    "a path": "SELECT id FROM '{path}'",
    "a pattern": "SELECT id FROM '{folder}/t*.lance'",
    "an attached table": "SELECT id FROM lake.t",
    "a view": "SELECT id FROM seen",
    "a join": "SELECT a.id FROM '{path}' a JOIN lance_changes('{path}') b USING (id)",
    "a parameter": "SELECT id FROM lance_scan('{path}') WHERE id < $1",
}
NEEDS_CONNECT: Final = ("a path", "a pattern", "an attached table", "a join")


def test_every_function_is_tried() -> None:
    assert set(FUNCTIONS) <= set(QUERIES)


def delete(path: str) -> None:
    lance_sql.open(path).delete("id = 1")


def everything(path: str) -> None:
    """Changes what every function shows."""
    table = lance_sql.open(path)
    table.add_columns({"x": "id + 1"})
    table = table.latest().update({"w": "'b b'"}, "id = 3").delete("id = 1")
    table.tags.delete("t")
    table.latest().tags.create("t")
    table.branches.create("dev")
    table.cursors.open("c")
    table.latest().indices.create("x", "btree")
    table.latest().rules.set("positive", "id >= 0")
    table.latest().config.update_field_metadata("x", {"note": "new"})
    dataset = lance.dataset(path)
    dataset.update_metadata({"owner": "us"})
    dataset.update_schema_metadata({"made": "by hand"})


def again(path: str) -> None:
    """Another table is at the place, with the same version numbers."""
    shutil.rmtree(path)
    lance_sql.write(rows_of([7, 8], ["b", "c"]), path).tags.create("t")


HAPPENINGS: Final[tuple[Callable[[str], None], ...]] = (delete, everything, again)


def _rows(connection: Any, query: str) -> list[str]:
    return sorted(map(str, connection.execute(query).fetchall()))


@pytest.mark.parametrize("name", QUERIES)
def test_each_run_of_a_prepared_statement_is_of_its_time(tmp_path: Path, name: str) -> None:
    has_paths = name in NEEDS_CONNECT or len(name) % 2
    for happens in HAPPENINGS if name in ("lance_scan", "lance_changes", "a path") else [everything]:
        folder = tmp_path / happens.__name__
        folder.mkdir()
        path = str(folder / "t.lance")
        make(path)
        connection: Any = lance_sql.connect(catalog=str(folder)) if has_paths else register(duckdb.connect())
        connection.execute(f"CREATE VIEW memory.main.seen AS SELECT id FROM lance_scan('{path}')")
        query = QUERIES[name].format(path=path, folder=folder)
        for statement in ("never_run", "was_run"):
            connection.execute(f"PREPARE {statement} AS {query}")
        run = "(2)" if "$1" in query else ""
        query = query.replace("$1", "2")
        before = _rows(connection, query)
        assert _rows(connection, f"EXECUTE was_run{run}") == before
        happens(path)
        expected = _rows(connection, query)
        if happens is everything:
            assert expected != before, "nothing to tell them apart"
        for _ in range(2):
            for statement in ("never_run", "was_run"):
                assert _rows(connection, f"EXECUTE {statement}{run}") == expected, (happens, statement)
        connection.close()


def test_a_statement_that_names_a_version_reads_it(tmp_path: Path) -> None:
    path = str(tmp_path / "t.lance")
    make(path)
    connection: Any = lance_sql.connect()
    connection.execute(f"PREPARE q AS SELECT count(*) FROM '{path}@1'")
    delete(path)
    for _ in range(2):
        assert connection.execute("EXECUTE q").fetchall() == [(4,)]


def test_a_poll_by_a_prepared_statement_sees_each_change(tmp_path: Path) -> None:
    path = str(tmp_path / "t.lance")
    make(path)
    connection: Any = lance_sql.connect()
    connection.execute(f"PREPARE poll AS SELECT max(_commit_version) FROM lance_changes('{path}', since := 1)")
    for number in range(4):
        lance_sql.open(path).update({"w": f"'{number}'"}, "id = 0")
        assert connection.execute("EXECUTE poll").fetchall() == [(lance_sql.open(path).version,)]
