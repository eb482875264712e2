"""Deliveries into three databases: killed at every statement, two loops at once, and rolled back by the database.

The database then has each change of the table once, and the connection that a delivery failed on has nothing open.
"""

from __future__ import annotations

import multiprocessing
import os
import random
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

import lance_sql
from lance_sql import CommitConflict
from lance_sql.changes.deliveries import Delivery
from tests.changes.cursors import databases
from tests.changes.cursors.databases import COLUMNS, Database, deliver

# pylance warns of forks; the children use none of it, and files of the killed are closed by nobody
pytestmark = [
    pytest.mark.filterwarnings("ignore:lance is not fork-safe"),
    pytest.mark.filterwarnings("ignore:This process"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
KILLED: Final = 9


postgresql, database, table = databases.postgresql, databases.database, databases.table


def change(table: str) -> None:
    now = lance_sql.open(table)
    lance_sql.write({"id": [100 + now.version], "v": ["new"]}, table, mode="append")
    lance_sql.open(table).update({"v": f"'{now.version}'"}, "id = 2")


def check(table: str, database: Database) -> None:
    changes = lance_sql.open(table).changes().scan(COLUMNS).to_table().to_pylist()
    assert database.rows() == sorted(tuple(row.values()) for row in changes)


def _dies(table: str, database: Database, step: int) -> None:
    """Delivers in a process that ends before the statement of a number, or after it where the number is odd."""
    os.close(2)
    count = 0
    run = Delivery._run

    def tick() -> None:
        nonlocal count
        count += 1
        if count == step:
            os._exit(KILLED)

    def dying(self: Delivery, statement: str, *parameters: object) -> Any:
        tick()
        found = run(self, statement, *parameters)
        tick()
        return found

    Delivery._run = dying  # type: ignore[method-assign]
    deliver(table, database, lambda place: tick())


def kill(table: str, database: Database, step: int) -> bool:
    """returns: whether the process died at the step, and not at its end"""
    process = multiprocessing.get_context("fork").Process(target=_dies, args=(table, database, step))
    process.start()
    process.join()
    assert process.exitcode in (0, KILLED)
    return process.exitcode == KILLED


def kill_some(table: str, database: Database, steps: list[int]) -> int:
    killed = 0
    for step in steps:
        change(table)
        killed += kill(table, database, step)
        deliver(table, database)
        check(table, database)
    return killed


def test_a_delivery_killed_at_every_statement(table: str, database: Database) -> None:
    deliver(table, database)
    # a statement is killed before and after it; then there are those of the block
    assert kill_some(table, database, list(range(1, 16))) >= 10


def test_a_first_delivery_killed_at_every_statement(tmp_path: Path, database: Database) -> None:
    """It creates the table of positions."""
    for step in range(1, 20, 3):
        path = str(tmp_path / f"{step}.lance")
        lance_sql.write({"id": [1, 2], "v": ["a", "b"]}, path).cursors.open("copy", start="earliest")
        database.clear()
        kill(path, database, step)
        deliver(path, database)
        check(path, database)


@pytest.mark.slow
def test_three_hundred_kills(table: str, database: Database) -> None:
    chance = random.Random(7)
    killed = kill_some(table, database, [chance.randint(1, 18) for _ in range(300)])
    assert killed > 200


def _loops(table: str, database: Database, commits: int) -> int:
    """Two loops with a connection each, over commits that are made meanwhile.

    returns: how many runs lost
    """
    lost, ends, failed = [0], threading.Event(), list[BaseException]()

    def loop(connection: Any) -> None:
        try:
            while not ends.is_set():
                try:
                    deliver(table, database, connection=connection)
                except CommitConflict:
                    lost[0] += 1
        except BaseException as error:
            failed.append(error)

    first = database.connect()
    # a second handle on one file of DuckDB
    second = first.cursor() if type(first).__module__ == "_duckdb" else None
    first.close() if second is None else None
    makers: list[Callable[[], Any]] = [lambda: second, lambda: first] if second is not None else [database.connect] * 2

    def run(make: Callable[[], Any]) -> None:
        # connections of sqlite3 belong to a thread
        connection = make()
        try:
            loop(connection)
        finally:
            if second is None:
                connection.close()

    threads = [threading.Thread(target=run, args=(make,)) for make in makers]
    for thread in threads:
        thread.start()
    for _ in range(commits):
        change(table)
    ends.set()
    for thread in threads:
        thread.join()
    if second is not None:
        # handles on one database refuse to be closed while another one works
        second.close()
        first.close()
    assert not failed, failed
    deliver(table, database)
    check(table, database)
    assert lance_sql.open(table).cursors.open("copy").lag().versions == 0
    return lost[0]


def test_two_loops_at_once(table: str, database: Database) -> None:
    _loops(table, database, 8)


@pytest.mark.slow
def test_two_loops_for_long(table: str, database: Database) -> None:
    _loops(table, database, 200)


@pytest.mark.parametrize("raised", [KeyboardInterrupt, SystemExit, ValueError, CommitConflict])
@pytest.mark.parametrize("place", ["begin", "insert", "commit"])
def test_a_block_that_raises_leaves_nothing(
    table: str, database: Database, raised: type[BaseException], place: str
) -> None:
    connection, count = database.connect(), 0

    def fail(at: str) -> None:
        nonlocal count
        count += at == place
        if at == place and (count == 2 or place != "insert"):
            raise raised("stopped")

    with pytest.raises(raised):
        deliver(table, database, fail, connection)
    lance_sql.open(table).delete("id = 1")
    # the same connection, on which nothing is open
    deliver(table, database, connection=connection)
    connection.close()
    check(table, database)


def test_rows_that_the_database_refuses(table: str, database: Database) -> None:
    connection = database.connect()
    with pytest.raises(Exception, match=r"(?i)constraint|not null|null value"):
        _refused(table, database, connection)
    lance_sql.open(table).delete("id = 2")
    deliver(table, database, connection=connection)
    connection.close()
    check(table, database)


def _refused(table: str, database: Database, connection: Any) -> None:
    with lance_sql.open(table).cursors.open("copy").deliver(connection):
        database.run(connection, "INSERT INTO delivered VALUES (0, 'half', 0, 'half')")
        database.run(connection, "CREATE TEMPORARY TABLE strict (id BIGINT NOT NULL)")
        database.run(connection, "INSERT INTO strict VALUES (NULL)")


def test_a_commit_that_a_deferred_key_refuses(table: str, tmp_path: Path) -> None:
    database = databases.sqlite(tmp_path)
    connection = database.connect()
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute("CREATE TABLE child (id REFERENCES parent (id) DEFERRABLE INITIALLY DEFERRED)")
    connection.execute("CREATE TABLE parent (id INTEGER PRIMARY KEY)")
    with pytest.raises(Exception, match="FOREIGN KEY"), lance_sql.open(table).cursors.open("copy").deliver(connection):
        connection.execute("INSERT INTO child VALUES (7)")
    assert not connection.in_transaction
    deliver(table, database, connection=connection)
    connection.close()
    check(table, database)


def test_a_commit_while_a_reader_holds_the_database(table: str, tmp_path: Path) -> None:
    database = databases.sqlite(tmp_path)
    deliver(table, database)
    change(table)
    connection, reader = database.connect(), database.connect()
    connection.execute("PRAGMA busy_timeout = 10")
    reader.execute("BEGIN")
    reader.execute("SELECT * FROM delivered").fetchone()
    with pytest.raises(CommitConflict, match="run again"):
        deliver(table, database, connection=connection)
    assert not connection.in_transaction
    reader.close()
    deliver(table, database, connection=connection)
    connection.close()
    check(table, database)
