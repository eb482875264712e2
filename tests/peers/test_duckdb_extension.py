"""The runner of the extension's tests; the tests themselves where LANCE_SQL_DUCKDB_EXTENSION names a checkout."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import pytest

import lance_sql
from lance_sql.providers.duckdb.protocol import has_sources

from .duckdb_extension import Record, records, run, run_file

TEXT = """# name: a.test
require lance

statement ok
COPY (SELECT 1 AS id, NULL::VARCHAR AS s) TO '{0}/t.lance'
(FORMAT lance);

query IT rowsort
SELECT id, s FROM '{0}/t.lance'
----
1	NULL

query I
SELECT id + 1 FROM '{0}/t.lance'
----
3

statement error
SELECT nothing FROM '{0}/t.lance'
----
Binder Error:

statement ok
UPDATE '{0}/t.lance' SET id = 1

query II
EXPLAIN SELECT id FROM '{0}/t.lance'
----
physical_plan	<REGEX>:.*LANCE_SCAN.*
"""


def test_records_have_lines_texts_and_rows() -> None:
    first, second, *_, error, _, _ = records(TEXT)
    assert (first.line, first.num_columns, first.expected) == (4, 0, None)
    assert second == Record(8, "SELECT id, s FROM '{0}/t.lance'", False, 2, True, ["1\tNULL"])
    assert error.fails


@pytest.mark.skipif(not has_sources(), reason="connections of DuckDB 1.5 parse no statements")
def test_outcomes_are_told_apart(tmp_path: Path) -> None:
    path = tmp_path / "a.test"
    path.write_text(TEXT.format(tmp_path))
    assert [each.kind for each in run_file(path)] == ["equal", "equal", "different", "equal", "refused", "plan"]


@pytest.mark.slow
@pytest.mark.skipif("LANCE_SQL_DUCKDB_EXTENSION" not in os.environ, reason="no checkout of the extension is named")
def test_the_tests_of_the_extension() -> None:
    outcomes = run(Path(os.environ["LANCE_SQL_DUCKDB_EXTENSION"]))
    counts = Counter(each.kind for of_file in outcomes.values() for each in of_file)
    assert counts["equal"] >= 0.85 * counts.total()


@pytest.mark.skipif(not has_sources(), reason="connections of DuckDB 1.5 parse no statements")
def test_what_differs_as_the_page_says(tmp_path: Path) -> None:
    path = tmp_path / "t.lance"
    lance_sql.write({"id": [1, 2]}, path).indices.create("id", "btree")
    connection = lance_sql.connect()
    shown = connection.sql(f"SHOW INDEXES ON '{path}'").to_arrow_table()
    assert shown == connection.sql(f"FROM lance_indices('{path}')").to_arrow_table()
    connection.execute(f"DELETE FROM '{path}'")
    assert [column[0] for column in connection.description] == [
        *("operation", "version", "rows_inserted", "rows_updated", "rows_deleted")
    ]
    assert connection.execute(f"SELECT _rowaddr >> 32 FROM '{path}' VERSION AS OF 1").fetchall() == [(0,), (0,)]
