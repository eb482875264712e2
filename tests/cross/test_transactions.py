"""A change of a Lance table within a transaction of DuckDB is refused, by whatever door it comes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import lance_sql
from lance_sql.cli import main
from lance_sql.errors import InvalidArgument
from lance_sql.providers.duckdb.protocol import has_sources

Door = Callable[[str], None]


@pytest.fixture(autouse=True)
def _table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    lance_sql.write({"id": [1, 2, 3]}, "t.lance")
    lance_sql.write({"id": [1, 2, 3]}, "t.lance", mode="overwrite")


def _by_sql(text: str, **options: Any) -> None:
    connection = lance_sql.connect()
    connection.begin()
    connection.execute("CREATE TABLE source AS SELECT 7::BIGINT AS id")
    try:
        lance_sql.sql(text, connection=connection, all_rows=True, **options).fetchall()
    finally:
        connection.rollback()


def _by_connection(text: str) -> None:
    connection = lance_sql.connect()
    connection.execute("BEGIN; CREATE TABLE source AS SELECT 7::BIGINT AS id")
    try:
        connection.execute(text)
    finally:
        connection.execute("ROLLBACK")


def _by_relation(text: str) -> None:
    connection = lance_sql.connect()
    connection.begin()
    connection.execute("CREATE TABLE source AS SELECT 7::BIGINT AS id")
    connection.sql(text)


def _by_command_line(text: str) -> None:
    arguments = ["--yes", "--all"]
    begun = "BEGIN; CREATE TABLE source AS SELECT 7::BIGINT AS id"
    result = CliRunner().invoke(main, [f"{begun}; {text}; ROLLBACK", *arguments])
    if result.exit_code:
        raise InvalidArgument(result.stderr)


_STATEMENTS = pytest.mark.skipif(not has_sources(), reason="connections of DuckDB 1.5 take no statements")
_DOORS = [
    _by_sql,
    pytest.param(_by_connection, marks=_STATEMENTS),
    pytest.param(_by_relation, marks=_STATEMENTS),
    _by_command_line,
]


@pytest.mark.parametrize("door", _DOORS)
@pytest.mark.parametrize(
    "text",
    [
        "INSERT INTO 't.lance' SELECT * FROM source",
        "INSERT INTO 't.lance' VALUES (9)",
        "UPDATE 't.lance' SET id = 9 WHERE id = 1",
        "DELETE FROM 't.lance' WHERE id = 1",
        "TRUNCATE 't.lance'",
        "MERGE INTO 't.lance' t USING source s ON t.id = s.id WHEN NOT MATCHED THEN INSERT *",
        "CREATE TABLE 'u.lance' AS FROM source",
        "CREATE TABLE 'u.lance' (id BIGINT)",
        "COPY (FROM source) TO 'u.lance' (FORMAT lance)",
        "ALTER TABLE 't.lance' CREATE TAG x",
        "ALTER TABLE 't.lance' ADD COLUMN b INTEGER",
        "ALTER TABLE 't.lance' ADD CONSTRAINT c CHECK (id > 0)",
        "ALTER TABLE 't.lance' RENAME TO 'u.lance'",
        "VACUUM 't.lance' RETAIN 0 HOURS",
        "OPTIMIZE 't.lance'",
        "DROP TABLE 't.lance'",
        "CREATE INDEX ON 't.lance' (id)",
        "CREATE MATERIALIZED VIEW 'u.lance' AS SELECT id FROM 't.lance'",
        "COMMENT ON TABLE 't.lance' IS 'x'",
        "CALL lance_set_config('t.lance', 'a', 'b')",
        "SELECT Count FROM lance_compact_files('t.lance')",
        "ALTER TABLE 't.lance' ADD COLUMNS b FROM (SELECT 0 AS _rowaddr, 1 AS b)",
        "ALTER TABLE 't.lance' UPDATE COLUMNS id FROM (SELECT 0 AS _rowaddr, 9 AS id)",
    ],
)
def test_changes_are_refused(door: Door, text: str, tmp_path: Path) -> None:
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(InvalidArgument, match="ROLLBACK would not undo"):
        door(text)
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("door", _DOORS)
@pytest.mark.parametrize(
    "text", ["FROM 't.lance' VERSION AS OF 1", "VACUUM 't.lance' DRY RUN", "DESCRIBE HISTORY 't.lance'"]
)
def test_questions_are_answered(door: Door, text: str) -> None:
    door(text)


def test_a_rehearsal_is_no_change() -> None:
    _by_sql("INSERT INTO 't.lance' SELECT * FROM source", dry_run=True)
    assert lance_sql.open("t.lance").version == 2
