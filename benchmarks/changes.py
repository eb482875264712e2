"""What the last commits changed: 1,000 inserted and 100 updated rows, all columns, against the same filter in pylance.

The table is opened anew for every read, on both sides. A second table, four times as large, shows how much the size
of the table counts.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

import lance
import pyarrow as pa

import lance_sql

from .measure import medians, parser, print_versions, report
from .tables import history


def main() -> None:
    arguments = parser(__doc__, 5_000_000).parse_args()
    print_versions("pylance")
    for rows in (arguments.rows, 4 * arguments.rows):
        path = history(arguments.data, rows)
        version = lance_sql.open(path).version
        created, updated = "_row_created_at_version", "_row_last_updated_at_version"
        filters = {
            "inserted": f"{created} > {version - 2} AND {created} <= {version - 1}",
            "updated": f"{created} < {version} AND {updated} = {version}",
        }
        for what, condition in filters.items():
            ours, theirs = _ours(path, condition), _pylance(path, condition)
            if not ours.sort_by("id").cast(theirs.schema).equals(theirs.sort_by("id")):
                raise AssertionError(f"{what}: the rows differ")
            sides = {"ours": partial(_ours, path, condition), "pylance": partial(_pylance, path, condition)}
            times = medians(sides, arguments.runs)
            report(f"{ours.num_rows} {what} of {rows}", times, peer="pylance")


def _ours(path: Path, condition: str) -> pa.Table:
    return lance_sql.open(path).scan(filter=condition).to_table()


def _pylance(path: Path, condition: str) -> pa.Table:
    return lance.dataset(path).to_table(filter=condition)


if __name__ == "__main__":
    main()
