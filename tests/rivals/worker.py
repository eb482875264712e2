"""One of several processes that change the same table at the same time, with keys of its own.

    python worker.py TABLE WORKER LIBRARY COMMITS LOG

Writes to LOG, as JSON, which rows it has left and how many of its commits were acknowledged.
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

    def __init__(self, path: str) -> None:
        self.path = path

    def append(self, rows: pa.Table) -> None:
        import lance_sql

        lance_sql.write(rows, self.path, mode="append")

    def delete(self, where: str) -> None:
        import lance_sql

        lance_sql.open(self.path).delete(where)

    def update(self, where: str) -> None:
        import lance_sql

        lance_sql.open(self.path).update({"v": "v + 1"}, where)

    def merge(self, rows: pa.Table) -> None:
        import lance_sql

        lance_sql.open(self.path).merge(rows, on="k")

    def compact(self) -> None:
        import lance_sql

        lance_sql.open(self.path).compact(target_rows=200)


class PylanceTable(Table):
    """The same by pylance."""

    def append(self, rows: pa.Table) -> None:
        import lance

        lance.write_dataset(rows, self.path, mode="append")

    def delete(self, where: str) -> None:
        import lance

        lance.dataset(self.path).delete(where)

    def update(self, where: str) -> None:
        import lance

        lance.dataset(self.path).update({"v": "v + 1"}, where=where)

    def merge(self, rows: pa.Table) -> None:
        import lance

        builder: Any = lance.dataset(self.path).merge_insert("k")
        builder.when_matched_update_all().when_not_matched_insert_all().execute(rows)

    def compact(self) -> None:
        import lance

        lance.dataset(self.path).optimize.compact_files(target_rows_per_fragment=200)


def run(path: str, worker: int, library: str, commits: int) -> dict[str, Any]:
    """So many acknowledged commits; those that lost against others are counted, and change nothing."""
    table = PylanceTable(path) if library == "pylance" else Table(path)
    generator = random.Random(worker)
    rows: dict[int, int] = {}
    next_key = worker * KEYS_PER_WORKER
    acknowledged = refused = 0
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
        except (OSError, RuntimeError, ValueError, _conflict()) as error:
            if not _is_conflict(error):
                raise
            refused += 1
        else:
            acknowledged += 1
            rows = after
    return {"rows": sorted(rows.items()), "acknowledged": acknowledged, "refused": refused}


def _rows(values: dict[int, int]) -> pa.Table:
    return pa.table({"k": list(values), "v": list(values.values())})


def _conflict() -> type[Exception]:
    from lance_sql.errors import CommitConflict

    return CommitConflict


def _is_conflict(error: Exception) -> bool:
    text = str(error).lower()
    return isinstance(error, _conflict()) or "conflict" in text or "too much contention" in text


if __name__ == "__main__":
    path, worker, library, commits, log = sys.argv[1:]
    Path(log).write_text(json.dumps(run(path, int(worker), library, int(commits))))
