"""One of several processes that change the same table at the same time, with keys of its own.

    python worker.py TABLE WORKER LIBRARY COMMITS LOG [OPTIONS]

Writes to LOG, as JSON, which rows it has left and how many of its acknowledged commits changed some. OPTIONS are
storage options as JSON; with them, a change may fail without an answer, and what its rows may be is written as well.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

KEYS_PER_WORKER: Final = 1_000_000


class Table:
    """What a worker does to the table, by this library."""

    def __init__(self, path: str, options: dict[str, str] | None) -> None:
        self.path = path
        self.options = options

    def append(self, rows: pa.Table) -> None:
        import lance_sql

        lance_sql.write(rows, self.path, mode="append", storage_options=self.options)

    def delete(self, where: str) -> None:
        import lance_sql

        lance_sql.open(self.path, storage_options=self.options).delete(where)

    def update(self, where: str) -> None:
        import lance_sql

        lance_sql.open(self.path, storage_options=self.options).update({"v": "v + 1"}, where)

    def merge(self, rows: pa.Table) -> None:
        import lance_sql

        lance_sql.open(self.path, storage_options=self.options).merge(rows, on="k")

    def compact(self) -> None:
        import lance_sql

        lance_sql.open(self.path, storage_options=self.options).maintenance.compact(target_rows=200)


class PylanceTable(Table):
    """The same by pylance."""

    def append(self, rows: pa.Table) -> None:
        import lance

        lance.write_dataset(rows, self.path, mode="append", storage_options=self.options)

    def delete(self, where: str) -> None:
        import lance

        lance.dataset(self.path, storage_options=self.options).delete(where)

    def update(self, where: str) -> None:
        import lance

        lance.dataset(self.path, storage_options=self.options).update({"v": "v + 1"}, where=where)

    def merge(self, rows: pa.Table) -> None:
        import lance

        builder: Any = lance.dataset(self.path, storage_options=self.options).merge_insert("k")
        builder.when_matched_update_all().when_not_matched_insert_all().execute(rows)

    def compact(self) -> None:
        import lance

        lance.dataset(self.path, storage_options=self.options).optimize.compact_files(target_rows_per_fragment=200)


def run(path: str, worker: int, library: str, commits: int, options: dict[str, str] | None = None) -> dict[str, Any]:
    """So many acknowledged commits; those that lost against others are counted, and change nothing.

    returns: "rows", and under "unsure" the rows of each change that got no answer, as they were and as they may be
    """
    table = (PylanceTable if library == "pylance" else Table)(path, options)
    generator = random.Random(worker)
    rows: dict[int, int] = {}
    next_key = worker * KEYS_PER_WORKER
    acknowledged = refused = made = 0
    unsure: list[list[list[tuple[int, int]]]] = []
    while acknowledged < commits:
        if refused > 20 * commits:
            raise RuntimeError(f"{refused} commits were refused, {acknowledged} were not")
        kind = generator.choice(["append", "append", "delete", "update", "merge", "compact"])
        some = sorted(generator.sample(sorted(rows), min(len(rows), 3)))
        where = f"k IN ({', '.join(map(str, some or [-2]))})"
        after = dict(rows)
        new = dict.fromkeys(range(next_key, next_key + 4), 0)
        change: Callable[[], None]
        if kind == "append":
            after.update(new)
            change = partial(table.append, _rows(new))
        elif kind == "delete":
            after = {key: value for key, value in rows.items() if key not in some}
            change = partial(table.delete, where)
        elif kind == "update":
            after.update({key: rows[key] + 1 for key in some})
            change = partial(table.update, where)
        elif kind == "merge":
            merged = {**dict.fromkeys(some, 100), **new}
            after.update(merged)
            change = partial(table.merge, _rows(merged))
        else:
            change = table.compact
        next_key += 4
        try:
            change()
        except (OSError, RuntimeError, ValueError, _error()) as error:
            refused += 1
            if not _is_conflict(error):
                if options is None:
                    raise
                touched = {*some, *new}
                unsure.append(
                    [[each for each in sorted(state.items()) if each[0] in touched] for state in (rows, after)]
                )
                rows = {key: value for key, value in rows.items() if key not in touched}
        else:
            acknowledged += 1
            # a change of no row makes no version, and neither does a compaction with nothing to do
            made += after != rows
            rows = after
    return {"rows": sorted(rows.items()), "made": made, "refused": refused, "unsure": unsure}


def _rows(values: dict[int, int]) -> pa.Table:
    return pa.table({"k": list(values), "v": list(values.values())})


def _conflict() -> type[Exception]:
    from lance_sql.errors import CommitConflict

    return CommitConflict


def _error() -> type[Exception]:
    from lance_sql.errors import LanceError

    return LanceError


def _is_conflict(error: Exception) -> bool:
    text = str(error).lower()
    return isinstance(error, _conflict()) or "conflict" in text or "too much contention" in text


if __name__ == "__main__":
    path, worker, library, commits, log, *options = sys.argv[1:]
    found = run(path, int(worker), library, int(commits), json.loads(options[0]) if options else None)
    Path(log).write_text(json.dumps(found))
