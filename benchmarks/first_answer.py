"""Time of processes until the first result: processor seconds, with start and imports.

Sides: the command `lance-sql`; a script with pylance and DuckDB; DuckDB and pyarrow without a table.
"""

from __future__ import annotations

import random
import resource
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median

from .measure import parser, print_versions
from .tables import column_table, columns

_COUNT = "SELECT count(*) FROM '{path}'"
_PYLANCE = "import duckdb, lance; rows = lance.dataset('{path}'); print(duckdb.sql('SELECT count(*) FROM rows'))"
_DUCKDB = "import duckdb, pyarrow; print(duckdb.sql('SELECT 1').to_arrow_table())"


def main() -> None:
    arguments = parser(__doc__, 100_000)
    given = arguments.parse_args()
    print_versions()
    (name, values), *_ = columns(given.rows, nullable=False).items()
    path = str(column_table(given.data, name, values, "2.1", nullable=False))
    command = str(Path(sys.executable).with_name("lance-sql"))
    sides = {
        "lance-sql, count(*)": (command, _COUNT.format(path=path)),
        "pylance and DuckDB, count(*)": (sys.executable, "-c", _PYLANCE.format(path=path)),
        "lance-sql, SELECT 1": (command, "SELECT 1"),
        "DuckDB and pyarrow, SELECT 1": (sys.executable, "-c", _DUCKDB),
        "lance-sql --version": (command, "--version"),
    }
    for side, seconds in processor_seconds(sides, given.runs).items():
        print(f"{side:<30} {seconds:6.3f} s", flush=True)


def processor_seconds(sides: Mapping[str, Sequence[str]], runs: int) -> dict[str, float]:
    """Medians by side, in any order, after one run of each that does not count."""
    times: dict[str, list[float]] = {name: [] for name in sides}
    draw = random.Random(0)
    for run in range(runs + 1):
        for name in draw.sample(list(sides), len(sides)):
            before = _of_children()
            subprocess.run(sides[name], stdout=subprocess.DEVNULL, check=True)
            if run:
                times[name].append(_of_children() - before)
    return {name: median(values) for name, values in times.items()}


def _of_children() -> float:
    taken = resource.getrusage(resource.RUSAGE_CHILDREN)
    return taken.ru_utime + taken.ru_stime


if __name__ == "__main__":
    main()
