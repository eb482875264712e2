"""Peak resident memory of `SELECT sum(price)` in DuckDB, over a table and over one ten times larger.

Each query runs in a process of its own.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from .measure import parser, print_versions
from .tables import orders

_QUERY = """
import re, sys, lance_sql
connection = lance_sql.connect()
connection.execute("SELECT sum(price) FROM lance_scan(?)", [sys.argv[1]]).fetchall()
# not ru_maxrss, which a process inherits from the one that started it
print(re.search(r"VmHWM:\\s+(\\d+) kB", open("/proc/self/status").read())[1])
"""


def main() -> None:
    arguments = parser(__doc__, 2_000_000).parse_args()
    print_versions("duckdb")
    small, large = (_peak(orders(arguments.data, rows)[0]) for rows in (arguments.rows, 10 * arguments.rows))
    print(f"{arguments.rows} rows: {small} MiB; {10 * arguments.rows} rows: {large} MiB; x{large / small:.2f}")


def _peak(path: Path) -> int:
    done = subprocess.run([sys.executable, "-c", _QUERY, str(path)], check=True, capture_output=True, text=True)
    return int(done.stdout) // 1024


if __name__ == "__main__":
    main()
