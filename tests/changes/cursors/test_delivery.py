"""Changes that are delivered to a database arrive once each, whenever a run dies, and whatever runs beside it."""

from __future__ import annotations

import shutil
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import lance_sql
from lance_sql.changes.deliveries import Delivery
from lance_sql.errors import CommitConflict, InvalidArgument, VersionNotFound

from . import databases
from .databases import COLUMNS, Database, deliver
from .test_consumers import Killed, dying_at

PLACES = ("begin", "insert", "commit")


postgresql, database, table = databases.postgresql, databases.database, databases.table


def change(table: str) -> None:
    """Three commits."""
    now = lance_sql.open(table)
    number = now.version
    lance_sql.write({"id": [100 + number], "v": ["new"]}, table, mode="append")
    lance_sql.open(table).update({"v": f"'{number}'"}, "id = 2").delete(f"id = {100 + number}")


def expected(table: str) -> list[tuple[Any, ...]]:
    return sorted(tuple(row.values()) for row in lance_sql.open(table).changes().scan(COLUMNS).to_table().to_pylist())


def test_a_run_that_dies_delivers_nothing_twice(table: str, database: Database) -> None:
    for place in PLACES:
        change(table)

        def die(at: str, place: str = place) -> None:
            if at == place:
                raise Killed

        with suppress(Killed):
            deliver(table, database, die)
        deliver(table, database)
        assert database.rows() == expected(table), place
        assert lance_sql.open(table).cursors.open("copy").lag().versions == 0


def test_a_run_may_die_at_every_change_of_the_store(
    table: str, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    for step in range(1, 9):
        change(table)
        with suppress(Killed), dying_at(step, monkeypatch):
            deliver(table, database)
        deliver(table, database)
        assert database.rows() == expected(table), step


def test_one_of_two_concurrent_runs_delivers(table: str, database: Database) -> None:
    for _ in range(5):
        change(table)
        with ThreadPoolExecutor(2) as pool:
            for run in [pool.submit(deliver, table, database) for _ in range(2)]:
                run.exception()
        deliver(table, database)
        assert database.rows() == expected(table)


@pytest.mark.parametrize("has_table", [False, True])
@pytest.mark.parametrize("step", range(1, 12))
def test_another_first_run_may_come_before_every_statement(
    step: int, has_table: bool, table: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = databases.in_duckdb(tmp_path)
    connection = database.connect()
    other = connection.cursor()
    if has_table:
        # another cursor has delivered before
        with lance_sql.open(table).cursors.open("other", start="latest").deliver(connection):
            pass
    run, count = Delivery._run, 0

    def interrupted(self: Delivery, statement: str, *parameters: object) -> Any:
        nonlocal count
        count += 1
        if count == step:
            # the other run ends before this one goes on, or loses against it
            with suppress(CommitConflict):
                deliver(table, database, connection=other)
        return run(self, statement, *parameters)

    with monkeypatch.context() as patched, suppress(CommitConflict):
        patched.setattr(Delivery, "_run", interrupted)
        deliver(table, database, connection=connection)
    deliver(table, database, connection=connection)
    other.close()
    connection.close()
    assert count >= min(step, 6)
    assert database.rows() == expected(table)


def test_a_database_that_was_restored_gets_the_changes_again(table: str, database: Database) -> None:
    deliver(table, database)
    earlier, position = database.rows(), database.position()
    change(table)
    deliver(table, database)
    with database.transaction() as connection:
        database.run(connection, "DELETE FROM delivered WHERE version > 1")
        database.run(connection, "UPDATE lance_sql_positions SET position = ?", position)
    assert database.rows() == earlier
    deliver(table, database)
    assert database.rows() == expected(table)


def test_a_new_database_begins_where_the_cursor_began(table: str, database: Database) -> None:
    change(table)
    deliver(table, database)
    database.clear()
    deliver(table, database)
    assert database.rows() == expected(table)


def test_a_cursor_that_was_put_elsewhere_goes_on_there(table: str, database: Database) -> None:
    deliver(table, database)
    change(table)
    lance_sql.open(table).cursors.open("copy").seek("latest")
    change(table)
    deliver(table, database)
    versions = {version for version, *_ in database.rows()}
    assert versions == {1, *range(5, lance_sql.open(table).version + 1)}


def test_a_position_of_another_table_is_refused(table: str, tmp_path: Path) -> None:
    """The folder is restored from a backup, cursor and all, and other commits follow."""
    database = databases.sqlite(tmp_path)
    shutil.copytree(table, tmp_path / "backup.lance")
    change(table)
    deliver(table, database)
    shutil.rmtree(table)
    shutil.copytree(tmp_path / "backup.lance", table)
    change(table)
    with pytest.raises(VersionNotFound, match="is another commit now"):
        deliver(table, database)


@pytest.mark.parametrize("text", ["7", "a b c", "x 1"])
def test_a_text_that_is_no_position_is_refused(table: str, text: str) -> None:
    with (
        pytest.raises(InvalidArgument, match="is not a cursor position"),
        lance_sql.open(table).cursors.open("copy").read(after=text),
    ):
        pass
