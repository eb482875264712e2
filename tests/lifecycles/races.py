"""Pairs of operations in two processes at once, and what comes of both: a table of conflicts.

    python -m tests.lifecycles.races --rounds 5

Both begin with the same version. For each pair the table says what came of it in all rounds:

    both                      both are done, in one order or the other; one may have been tried again
    one, CommitConflict       one is done, and the other one is refused with this error
"""

from __future__ import annotations

import argparse
import multiprocessing
import shutil
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Final

import lance_sql
from lance_sql import Dataset, LanceError
from lance_sql.table import table_folders

VERBS: Final[dict[str, Callable[[Dataset], object]]] = {
    "append": lambda table: lance_sql.write({"id": [100], "v": [0]}, table, mode="append"),
    "overwrite": lambda table: lance_sql.write({"id": [200], "v": [0]}, table, mode="overwrite"),
    "update row 1": lambda table: table.update({"v": "v + 1"}, "id = 1"),
    "update row 2": lambda table: table.update({"v": "v + 1"}, "id = 2"),
    "delete row 1": lambda table: table.delete("id = 1"),
    "merge new key": lambda table: table.merge({"id": [300], "v": [0]}, on="id"),
    "compact": lambda table: table.maintenance.compact(),
    "maintain": lambda table: table.maintenance.maintain(retain_versions=1),
    "create index": lambda table: table.indices.create("v", "btree", replace=True),
    "add column": lambda table: table.add_columns({"w": "v * 2"}),
    "restore": lambda table: table.restore(1),
    "publish": lambda table: table.branches.publish("load"),
    "commit to branch": lambda table: lance_sql.write({"id": [400], "v": [0]}, table.uri, mode="append", branch="load"),
    "delete branch": lambda table: table.branches.delete("load"),
    "create branch": lambda table: table.branches.create("new"),
    "create tag": lambda table: lance_sql.open(table.uri, version=2).tags.create("kept"),
    "move cursor": lambda table: table.cursors.open("job", start=2).seek("latest"),
    "cleanup": lambda table: table.maintenance.cleanup(retain_versions=1),
    "drop": lambda table: table_folders.drop(table.uri),
}


def _table(path: Path) -> None:
    lance_sql.write({"id": [0, 1, 2], "v": [0, 0, 0]}, path)
    table = lance_sql.write({"id": [3, 4], "v": [0, 0]}, path, mode="append").delete("id = 0")
    table.branches.create("load")
    lance_sql.write({"id": [5], "v": [0]}, path, mode="append", branch="load")


def _do(path: Path, verb: str, began: Barrier, said: multiprocessing.Queue[tuple[str, str]]) -> None:
    table = lance_sql.open(path)
    began.wait()
    try:
        VERBS[verb](table)
        said.put((verb, ""))
    except LanceError as error:
        said.put((verb, type(error).__name__))
    except Exception as error:
        said.put((verb, f"RAW {type(error).__name__}: {error}"))


def race(first: str, second: str, rounds: int) -> tuple[set[str], list[str]]:
    """What came of a pair in some rounds, and what was wrong."""
    context = multiprocessing.get_context("fork")
    outcomes, wrong = set(), []
    folder = Path(tempfile.mkdtemp(prefix="lance-sql-race-"))
    for number in range(rounds):
        path = folder / f"{number}.lance"
        _table(path)
        began, said = context.Barrier(2), context.Queue()
        both = [context.Process(target=_do, args=(path, verb, began, said)) for verb in (first, second)]
        for each in both:
            each.start()
        answers = [said.get(timeout=60) for _ in both]
        for each in both:
            each.join()
        wrong += [f"{first} / {second}: {verb}: {error}" for verb, error in answers if error.startswith("RAW")]
        errors = [error for _, error in answers if error]
        outcomes.add("both" if not errors else ("one, " if len(errors) == 1 else "none, ") + " ".join(sorted(errors)))
        if "drop" not in (first, second):
            report = lance_sql.verify(path, deep=True)
            if not report.is_healthy:
                wrong.append(f"{first} / {second}: {report}")
            for branch in lance_sql.open(path).branches.list():
                lance_sql.open(path, branch=branch).to_table()
            wrong += _lost(path, first, second, dict(answers))
        elif path.exists() and not ("overwrite" in dict(answers) and lance_sql.verify(path, deep=True).is_healthy):
            wrong.append(f"{first} / {second}: {[str(each) for each in path.rglob('*')]} is left")
    shutil.rmtree(folder, ignore_errors=True)
    return outcomes, wrong


def _lost(path: Path, first: str, second: str, answers: dict[str, str]) -> list[str]:
    """Rows of operations that both said to be done, and that are not there."""
    replaces = {"overwrite", "restore"}
    if replaces & {first, second}:
        return []
    table = lance_sql.open(path)
    rows = table.to_table().to_pylist()
    with suppress(LanceError):
        rows += lance_sql.open(path, branch="load").to_table().to_pylist()
    made = {"append": 100, "merge new key": 300, "publish": 5, "commit to branch": 400}
    wanted = [number for verb, number in made.items() if answers.get(verb) == ""]
    if "delete branch" in answers:
        wanted = [number for number in wanted if number != 400]
    ids = {row["id"] for row in rows}
    return [f"{first} / {second}: row {number} is lost" for number in wanted if number not in ids]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.lifecycles.races", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--verbs", nargs="*", default=list(VERBS))
    options = parser.parse_args()
    verbs, faults = options.verbs, []
    print("| |", " | ".join(verbs), "|")
    print("|---" * (len(verbs) + 1) + "|")
    for at, first in enumerate(verbs):
        cells = []
        for second in verbs[: at + 1]:
            outcomes, wrong = race(first, second, options.rounds)
            faults += wrong
            cells.append(" or ".join(sorted(outcomes)))
        print(f"| {first} |", " | ".join(cells), "|", flush=True)
    for fault in faults:
        print(fault)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
