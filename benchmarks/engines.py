"""Queries in DuckDB: over this library, over pylance, over the official lance extension, and over the same rows in
Parquet.

The extension is measured where it is installed for the DuckDB at hand (package duckdb-extension-lance).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import duckdb
import lance

import lance_sql

from .measure import equal_rows, medians, parser, print_versions, report
from .tables import orders

QUERIES = {
    "group by mode, qty < 25": "SELECT mode, count(*), sum(price) FROM {t} WHERE qty < 25 GROUP BY 1 ORDER BY 1",
    "sum of two columns": "SELECT sum(qty), sum(price) FROM {t}",
    "longest text": "SELECT max(comment), min(cust) FROM {t}",
    "top customers": "SELECT cust, count(*) FROM {t} GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 5",
    "count": "SELECT count(*) FROM {t}",
    "one row by key": "SELECT id, qty, price, cust, mode, comment FROM {t} WHERE id = 1234567",
    "0.1 % of the rows, all columns": "SELECT max(comment), sum(price), min(cust) FROM {t} WHERE price < 1",
}

Run = Callable[[str], list[tuple[object, ...]]]


def main() -> None:
    arguments = parser(__doc__, 5_000_000).parse_args()
    print_versions("duckdb", "pylance", "duckdb-extension-lance")
    path, parquet = orders(arguments.data, arguments.rows)
    sides = _sides(path, parquet)
    for what, query in QUERIES.items():
        answers = {name: run(query) for name, run in sides.items()}
        for name, answer in answers.items():
            if not equal_rows(answer, answers["ours"]):
                raise AssertionError(f"{what}: {name} answers {answer}, ours {answers['ours']}")
        report(what, medians({name: partial(run, query) for name, run in sides.items()}, arguments.runs))


def _sides(path: Path, parquet: Path) -> dict[str, Run]:
    ours, plain = lance_sql.connect(), duckdb.connect()
    plain.register("peer", lance.dataset(path))
    sides: dict[str, Run] = {
        "ours": lambda query: ours.execute(query.format(t=f"lance_scan('{path}')")).fetchall(),
        "pylance": lambda query: plain.execute(query.format(t="peer")).fetchall(),
    }
    official = extension("lance")
    if official is not None:
        sides["extension"] = lambda query: official.execute(query.format(t=f"'{path}'")).fetchall()
    sides["parquet"] = lambda query: plain.execute(query.format(t=f"'{parquet}'")).fetchall()
    return sides


def extension_file(name: str) -> Path | None:
    """The file of an extension that PyPI has, where its package is installed for the DuckDB at hand."""
    package = find_spec(f"duckdb_extension_{name}")
    if package is None or package.origin is None:
        return None
    file = Path(package.origin).parent / "extensions" / f"v{duckdb.__version__}" / f"{name}.duckdb_extension"
    return file if file.exists() else None


def extension(name: str) -> duckdb.DuckDBPyConnection | None:
    """Returns a connection with another extension, "lance" (the official one) or "vortex"; None without it."""
    file = extension_file(name)
    if file is None:
        return None
    connection = duckdb.connect(config={"allow_unsigned_extensions": True})
    connection.execute(f"LOAD '{file}'")
    return connection


if __name__ == "__main__":
    main()
