"""Processes that are killed (SIGKILL) at a random moment of an operation, and what is left of it.

    python -m tests.lifecycles.kills --rounds 300

A round has a table with a branch, a tag and a cursor, and one operation in a process of its own, which is killed. Then
the table has the rows of before or of after the operation, each reference is read by both libraries, `verify` finds no
damage, and the operation is done again to its end: nothing is lost, and nothing is there twice.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import random
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, Final

import lance

import lance_sql
from lance_sql import Dataset, InvalidArgument, LanceError, TableNotFound, VersionNotFound
from lance_sql.table import table_folders
from tests.changes.cursors import databases, server
from tests.changes.cursors.databases import COLUMNS, Database, deliver

Ids = list[int]
MAIN: Final = [*range(1, 20), 30]
LOAD: Final = [*range(20), 20, 21]
NEW: Final = 40


def ids(table: Any) -> Ids:
    return sorted(table.to_table()["id"].to_pylist())


def make(path: Path) -> None:
    """Main has MAIN, with a tag `kept` of its first version; the branch `load` began there, and has LOAD."""
    lance_sql.write({"id": range(20), "v": [str(number) for number in range(20)]}, path).tags.create("kept")
    table = lance_sql.open(path)
    table.branches.create("load")
    table.branches.create("other")
    table.cursors.open("copy", start="earliest")
    for number in (20, 21):
        lance_sql.write({"id": [number], "v": ["load"]}, path, mode="append", branch="load")
    lance_sql.write({"id": [30], "v": ["main"]}, path, mode="append").delete("id = 0").maintenance.compact()


class Round:
    """One operation, and the states of the table that are right after it was killed.

    postgresql: the URI of a server
    """

    def __init__(self, folder: Path, postgresql: str | None) -> None:
        self.folder, self.path = folder, folder / "t.lance"
        self.postgresql = postgresql
        make(self.path)

    def open(self, branch: str | None = None) -> Dataset:
        return lance_sql.open(self.path, branch=branch)

    def check(self, *main: Ids, load: bool | None = True, path: Path | None = None) -> Ids:
        """Reads every reference with both libraries, and returns the rows of main, which are one of some.

        load: whether there is the branch; None where it may be there
        """
        path = path or self.path
        table = lance_sql.open(path)
        report = lance_sql.verify(path, deep=True)
        assert report.is_healthy, str(report)
        found = ids(table)
        assert found in main, found
        assert ids(lance.dataset(str(path))) == found
        assert ids(lance_sql.open(path, tag="kept")) == list(range(20))
        for name in table.branches.list():
            rows = ids(lance_sql.open(path, branch=name))
            assert rows == (LOAD if name == "load" else list(range(20))), (name, rows)
            assert ids(lance.dataset(str(path)).checkout_version((name, None))) == rows
        assert load is None or ("load" in table.branches.list()) == load
        return found

    # operations: what is killed, and what has to be right then

    def do_publish(self) -> None:
        self.open().branches.publish("load")

    def after_publish(self) -> None:
        merged = sorted([*MAIN, 20, 21])
        if self.check(MAIN, merged, load=None) == MAIN:
            assert "load" in self.open().branches.list()
        with suppress(VersionNotFound):
            self.do_publish()
        self.check(merged, load=None)
        if "load" in self.open().branches.list() or (self.path / "tree/load/_versions").exists():
            with suppress(VersionNotFound):
                self.open().branches.delete("load")
        self.check(merged, load=False)

    def do_cleanup(self) -> None:
        self.open().maintenance.cleanup(retain_versions=1, max_lag=None)

    def after_cleanup(self) -> None:
        self.check(MAIN)
        self.do_cleanup()
        self.check(MAIN)
        self.after_publish()

    def do_restore(self) -> None:
        self.open().restore(1)

    def after_restore(self) -> None:
        if self.check(MAIN, list(range(20))) == MAIN:
            self.do_restore()
        self.check(list(range(20)))

    def do_rename(self) -> None:
        for name in ("load", "other"):
            with suppress(VersionNotFound):
                self.open().branches.delete(name)
        table_folders.move(str(self.path), str(self.folder / "renamed.lance"))

    def after_rename(self) -> None:
        if self.path.exists():
            self.check(MAIN, load=None)
            self.do_rename()
        assert not self.path.exists()
        self.check(MAIN, load=False, path=self.folder / "renamed.lance")

    def do_drop(self) -> None:
        table_folders.drop(str(self.path))

    def after_drop(self) -> None:
        try:
            found = ids(self.open())
        except TableNotFound:
            found = None
        assert found is None or set(found) <= {*range(20), 30}, found
        with suppress(TableNotFound):
            self.do_drop()
        # what a removal that did not end has left is no table
        assert ids(lance_sql.write({"id": [1]}, self.path)) == [1]
        assert lance_sql.verify(self.path, deep=True).is_healthy
        table_folders.drop(str(self.path))
        assert not self.path.exists()

    def do_delete_branch(self) -> None:
        self.open().branches.delete("load")

    def after_delete_branch(self) -> None:
        self.check(MAIN, load=None)
        with suppress(VersionNotFound):
            self.do_delete_branch()
        self.check(MAIN, load=False)
        assert ids(self.open().branches.create("load")) == MAIN

    def do_create_branch(self) -> None:
        self.open().branches.create("new")

    def after_create_branch(self) -> None:
        table = self.open()
        if "new" in table.branches.list():
            assert ids(self.open("new")) == MAIN
        try:
            self.do_create_branch()
        except InvalidArgument:
            table.branches.delete("new")
            self.do_create_branch()
        assert ids(self.open("new")) == MAIN
        table.branches.delete("new")
        self.check(MAIN)

    def do_numbered(self) -> None:
        rows = {"id": [NEW], "v": ["new"]}
        lance_sql.write(rows, self.path, mode="append", txn_app_id="app", txn_version=1)

    def after_numbered(self) -> None:
        self.check(MAIN, [*MAIN, NEW])
        self.do_numbered()
        self.do_numbered()
        self.check([*MAIN, NEW])

    def do_copy(self) -> None:
        """Moves the cursor, after changes were applied to a copy."""
        copy = self.folder / "copy.lance"
        while True:
            with self.open().cursors.open("copy").read(target=copy) as changes:
                if changes.end < changes.start:
                    return
                lance_sql.apply_changes(copy, changes, "id")

    def after_copy(self) -> None:
        self.check(MAIN)
        self.do_copy()
        assert ids(lance_sql.open(self.folder / "copy.lance")) == MAIN
        assert self.open().cursors.open("copy").lag().versions == 0

    def database(self, kind: str) -> Database:
        if kind == "sqlite":
            return databases.sqlite(self.folder)
        if kind == "duckdb":
            return databases.in_duckdb(self.folder)
        assert self.postgresql is not None
        return databases.postgres(self.postgresql)

    def delivered(self, kind: str) -> None:
        self.check(MAIN)
        database = self.database(kind)
        deliver(str(self.path), database)
        changes = self.open().changes().scan(COLUMNS).to_table().to_pylist()
        assert database.rows() == sorted(tuple(row.values()) for row in changes)
        assert self.open().cursors.open("copy").lag().versions == 0

    def do_sqlite(self) -> None:
        deliver(str(self.path), self.database("sqlite"))

    def after_sqlite(self) -> None:
        self.delivered("sqlite")

    def do_duckdb(self) -> None:
        deliver(str(self.path), self.database("duckdb"))

    def after_duckdb(self) -> None:
        self.delivered("duckdb")

    def do_postgresql(self) -> None:
        deliver(str(self.path), self.database("postgresql"))

    def after_postgresql(self) -> None:
        self.delivered("postgresql")


OPERATIONS: Final = [name.removeprefix("do_") for name in vars(Round) if name.startswith("do_")]


def _run(call: Callable[[], None]) -> None:
    os.close(2)
    call()


def _seconds(operation: str, postgresql: str | None) -> float:
    """Returns the time of an operation that is not killed."""
    folder = Path(tempfile.mkdtemp(prefix="lance-sql-kill-"))
    try:
        each = _ready(folder, operation, postgresql)
        began = time.monotonic()
        process = multiprocessing.get_context("fork").Process(target=_run, args=(getattr(each, f"do_{operation}"),))
        process.start()
        process.join()
        return time.monotonic() - began
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _ready(folder: Path, operation: str, postgresql: str | None) -> Round:
    each = Round(folder, postgresql)
    if operation == "postgresql":
        each.database("postgresql").clear()
    return each


def kill(operation: str, seconds: float, postgresql: str | None) -> bool:
    """One round.

    returns: whether the operation was killed before its end
    raises: AssertionError for rows that are lost or there twice; LanceError
    """
    folder = Path(tempfile.mkdtemp(prefix="lance-sql-kill-"))
    try:
        each = _ready(folder, operation, postgresql)
        process = multiprocessing.get_context("fork").Process(target=_run, args=(getattr(each, f"do_{operation}"),))
        process.start()
        time.sleep(seconds)
        assert process.pid is not None
        with suppress(ProcessLookupError):
            os.kill(process.pid, signal.SIGKILL)
        process.join()
        getattr(each, f"after_{operation}")()
        return process.exitcode == -signal.SIGKILL
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def kill_some(rounds: int, seed: int, operations: list[str], postgresql: str | None) -> tuple[int, list[str]]:
    """Rounds of all operations in turn.

    returns: how many were killed before their end, and what went wrong
    """
    chance, wrong, killed = random.Random(seed), [], 0
    lasts = {operation: _seconds(operation, postgresql) for operation in operations}
    for number in range(rounds):
        operation = operations[number % len(operations)]
        seconds = chance.uniform(0, lasts[operation])
        try:
            killed += kill(operation, seconds, postgresql)
        except (AssertionError, LanceError, OSError, ValueError, RuntimeError):
            wrong.append(f"{operation}, killed after {seconds:.4f} s: {traceback.format_exc()}")
    return killed, wrong


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.lifecycles.kills", description=__doc__)
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--operations", nargs="*", default=OPERATIONS)
    options = parser.parse_args()
    with ExitStack() as stack:
        operations, reason = list(options.operations), server.missing()
        postgresql = None
        if "postgresql" in operations and reason is not None:
            operations.remove("postgresql")
            print(f"skipped: {reason}")
        elif "postgresql" in operations:
            postgresql = stack.enter_context(server.postgresql())
        killed, wrong = kill_some(options.rounds, options.seed, operations, postgresql)
    for each in wrong:
        print(each)
    print(f"{options.rounds} rounds, {killed} killed before the end, {len(wrong)} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
