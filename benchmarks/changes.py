"""The change feed, all columns, against pylance: 1,000 inserted rows; 100 updated ones, with both images and
with the later one alone; 1,000 deleted ones with their values; and the net changes of 100 commits.

pylance's delta has inserted and updated rows as they are later, and the ids of deleted rows: images of before are
taken from the version before by their ids, which is what its users do. The table is opened anew for every read, on
both sides. A second table, ten times as large, shows how much the size of the table counts. Goals are of milliseconds,
and of the ratio between both tables.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import lance
import pyarrow as pa

import lance_sql

from .measure import medians, parser, print_versions, report
from .tables import FILES, changed

INSERTS = FILES + 1
UPDATES = FILES + 2
DELETES = FILES + 3
LAST = DELETES + 100

LARGER = 10
MOST_OF_LARGER = 1.3

Read = Callable[[Path], pa.Table]


def main() -> None:
    arguments = parser(__doc__, 5_000_000).parse_args()
    print_versions("pylance")
    found: dict[str, float] = {}
    for rows in (arguments.rows, LARGER * arguments.rows):
        path = changed(arguments.data, rows)
        for what, (ours, theirs, goal) in CASES.items():
            mine, other = ours(path), theirs(path)
            check(what, mine, other)
            sides = {"ours": partial(ours, path), "pylance": partial(theirs, path)}
            times = medians(sides, arguments.runs)
            report(f"{mine.num_rows} {what} of {rows}", times, peer="pylance")
            if what not in found:
                found[what] = times["ours"]
                print(f"{'':<34}   goal {goal:8.2f} ms   {_verdict(times['ours'], goal)}")
            else:
                ratio = times["ours"] / found[what]
                print(f"{'':<34}   x{ratio:.2f} of the smaller table, goal {MOST_OF_LARGER}   ", end="")
                print(_verdict(ratio, MOST_OF_LARGER), flush=True)


def _verdict(value: float, goal: float) -> str:
    return "reached" if value <= goal else "missed"


def check(what: str, ours: pa.Table, theirs: pa.Table) -> None:
    """Makes sure that both sides have read the same rows."""
    theirs = theirs.select([name for name in theirs.column_names if name in ours.column_names])
    keys: list[Any] = [("_rowid", "ascending"), ("price", "ascending")]
    mine = ours.select(theirs.column_names).cast(theirs.schema)
    if not mine.sort_by(keys).equals(theirs.sort_by(keys)):
        raise AssertionError(f"{what}: the rows differ")


def _feed(start: int, end: int, mode: Any, filter: str | None, path: Path) -> pa.Table:
    return lance_sql.open(path, version=end).changes(start, end, mode=mode).scan(filter=filter).to_table()


def _delta(start: int, end: int, path: Path) -> tuple[Any, Any]:
    dataset: Any = lance.dataset(path, version=end)
    return dataset, dataset.delta(begin_version=start - 1, end_version=end)


def _inserted(path: Path) -> pa.Table:
    return _delta(INSERTS, INSERTS, path)[1].get_inserted_rows().read_all()


def _updated(path: Path) -> pa.Table:
    return _delta(UPDATES, UPDATES, path)[1].get_updated_rows().read_all()


def _with_both_images(path: Path) -> pa.Table:
    after = _updated(path)
    return pa.concat_tables([_before(UPDATES - 1, after["_rowid"], path), after.select(_before_columns(after))])


def _deleted(path: Path) -> pa.Table:
    ids = _delta(DELETES, DELETES, path)[1].get_deleted_row_ids().read_all()["_rowid"]
    return _before(DELETES - 1, ids, path)


def _net(path: Path) -> pa.Table:
    _, delta = _delta(DELETES + 1, LAST, path)
    inserted = delta.get_inserted_rows().read_all()
    after = delta.get_updated_rows().read_all()
    names = _before_columns(inserted)
    deleted = delta.get_deleted_row_ids().read_all()["_rowid"]
    parts = [inserted.select(names), after.select(names)]
    return pa.concat_tables([*parts, _before(DELETES, after["_rowid"], path), _before(DELETES, deleted, path)])


def _before_columns(table: pa.Table) -> list[str]:
    return [name for name in table.column_names if not name.startswith("_row_")]


def _before(version: int, ids: pa.ChunkedArray, path: Path) -> pa.Table:
    """Rows of a version by their ids."""
    dataset: Any = lance.dataset(path, version=version)
    shown = ", ".join(map(str, ids.to_pylist()))
    return dataset.to_table(filter=f"_rowid IN ({shown})", with_row_id=True)


CASES: dict[str, tuple[Read, Read, float]] = {
    "inserted": (partial(_feed, INSERTS, INSERTS, "insert_only", None), _inserted, 5),
    "updated": (partial(_feed, UPDATES, UPDATES, "all", "_change_type = 'update_postimage'"), _updated, 30),
    "images of updates": (partial(_feed, UPDATES, UPDATES, "all", None), _with_both_images, 30),
    "deleted": (partial(_feed, DELETES, DELETES, "all", None), _deleted, 30),
    "images, net over 100 commits": (partial(_feed, DELETES + 1, LAST, "net", None), _net, 100),
}
"""What is read by both, and in how many milliseconds of the smaller table it should be."""


if __name__ == "__main__":
    main()
