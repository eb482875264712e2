"""TPC-H in DuckDB: all 22 queries over this library, and over the same tables as Parquet, as DuckDB's own tables,
through pylance, through the official lance extension, as vortex files through vortex' extension, and as this library's
own Arrow batches held in memory.

That side reads nothing: the additional time of ours is reading. Ours opens each table by
its path for every query, as views over Parquet do. The tables of pylance and those in memory are objects that were
given to DuckDB once; "registered" is ours in the same way, one version of each table.

DuckDB's tpch extension (package duckdb-extension-tpch) makes tables and queries, once, with a DuckDB of matching
version in a separate process. Lance tables are written by pylance as 2.2. The answers of all sides must be equal, but
for `WRONG`.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import duckdb
import lance
import pyarrow as pa
import pyarrow.parquet

import lance_sql
from lance_sql.providers.duckdb.tables import table

from . import picture
from .engines import extension
from .measure import equal_rows, medians, parser, print_versions, report, versions
from .tables import cached

TABLES = ("customer", "lineitem", "nation", "orders", "part", "partsupp", "region", "supplier")
GENERATOR = "1.5.5"
"""The newest DuckDB that the extension with the generator exists for."""

PEERS = ("parquet", "native", "pylance", "extension", "vortex", "in memory", "registered")

WRONG = frozenset({("vortex", 22)})
"""Sides and queries that they answer otherwise than all others, with duckdb-extension-vortex 1.5.5: left out."""

Run = Callable[[str], list[tuple[object, ...]]]

_GENERATE = """
import json, pathlib, sys
import duckdb, duckdb_extension_tpch
folder, scale, *tables = sys.argv[1:]
extension = pathlib.Path(duckdb_extension_tpch.__file__).parent / "extensions" / f"v{duckdb.__version__}"
connection = duckdb.connect()
connection.execute(f"LOAD '{extension / 'tpch.duckdb_extension'}'")
connection.execute(f"CALL dbgen(sf = {scale})")
for name in tables:
    connection.execute(f"COPY {name} TO '{folder}/{name}.parquet' (FORMAT parquet, COMPRESSION zstd)")
queries = connection.execute("SELECT query FROM tpch_queries() ORDER BY query_nr").fetchall()
pathlib.Path(folder, "queries.json").write_text(json.dumps([query for (query,) in queries]))
"""


def main() -> None:
    arguments = parser(__doc__)
    arguments.add_argument("--scale", default="1", help="scale factor: 1 is 6 million rows of lineitem")
    arguments.add_argument("--sides", nargs="*", choices=PEERS, default=PEERS, help="what ours is compared with")
    arguments.add_argument("--queries", nargs="*", type=int, default=range(1, 23), help="numbers of queries")
    arguments.set_defaults(runs=3)
    given = arguments.parse_args()
    print_versions("duckdb", "pylance", "duckdb-extension-lance", "duckdb-extension-vortex")
    folder = generated(given.data, given.scale)
    sides = _sides(folder, given.sides)
    queries = json.loads((folder / "queries.json").read_text())
    times = {}
    for number in given.queries:
        query = queries[number - 1]
        expected = sides["ours"](query)
        compared = {name: run for name, run in sides.items() if (name, number) not in WRONG}
        for name, run in compared.items():
            if not equal_rows(run(query), expected):
                raise AssertionError(f"query {number}: {name} and ours give different answers")
        times[number] = medians({name: partial(run, query) for name, run in compared.items()}, given.runs)
        report(f"query {number}", times[number])
    for name in given.sides:
        _print_ratio("ours", name, times)
    _print_ratio("registered", "in memory", times)
    if given.picture:
        shown = {f"query {number}": each["ours"] / each["parquet"] for number, each in times.items()}
        picture.save(given.picture, "TPC-H in DuckDB", shown, peer="Parquet (zstd)", note=versions("duckdb"))


def _print_ratio(side: str, peer: str, times: dict[int, dict[str, float]]) -> None:
    ratios = [each[side] / each[peer] for each in times.values() if side in each and peer in each]
    if ratios:
        print(f"{side} / {peer}: geometric mean {geometric_mean(ratios):.2f}, highest {max(ratios):.2f}", flush=True)


def generated(data: Path, scale: str) -> Path:
    """A folder with each table as Parquet (zstd) and as Lance, and with queries.json."""
    folder = data / f"tpch_{scale}"
    cached(folder, partial(_generate, data, scale))
    for name in TABLES:
        rows = folder / f"{name}.parquet"
        cached(folder / f"{name}.lance", lambda to, rows=rows: _write(rows, to))
    return folder


def geometric_mean(values: list[float]) -> float:
    """Returns the geometric mean of positive numbers."""
    return math.exp(sum(map(math.log, values)) / len(values))


def _generate(data: Path, scale: str, to: Path) -> None:
    packages = data / f"duckdb_{GENERATOR}"
    wanted = [f"duckdb=={GENERATOR}", f"duckdb-extension-tpch=={GENERATOR}"]
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target"]
    cached(packages, lambda path: subprocess.run([*install, str(path), *wanted], check=True))
    to.mkdir(parents=True)
    environment = {**os.environ, "PYTHONPATH": str(packages)}
    subprocess.run([sys.executable, "-c", _GENERATE, str(to), scale, *TABLES], check=True, env=environment)


def _write(rows: Path, to: Path) -> None:
    file = pyarrow.parquet.ParquetFile(rows)
    reader = pa.RecordBatchReader.from_batches(file.schema_arrow, file.iter_batches(batch_size=128 * 1024))
    lance.write_dataset(reader, to, data_storage_version="2.2")


def _sides(folder: Path, wanted: list[str]) -> dict[str, Run]:
    """Returns a function that runs a query for each side; each side has its own connection, with views or registered
    tables.
    """
    connections = {"ours": lance_sql.connect()}
    for name in TABLES:
        connections["ours"].execute(f"CREATE VIEW {name} AS FROM lance_scan('{folder / name}.lance')")
    for side in wanted:
        if side == "extension":
            official = extension("lance")
            if official is None:
                continue
            connections[side] = official
        elif side == "vortex":
            vortex = extension("vortex")
            if vortex is None:
                continue
            connections[side] = vortex
        elif side == "native":
            connections[side] = duckdb.connect(_native(folder), read_only=True)
        else:
            connections[side] = duckdb.connect()
        for name in TABLES if side != "native" else ():
            stored = folder / f"{name}.lance"
            if side == "parquet":
                connections[side].execute(f"CREATE VIEW {name} AS FROM '{folder / name}.parquet'")
            elif side == "extension":
                connections[side].execute(f"CREATE VIEW {name} AS FROM '{stored}'")
            elif side == "vortex":
                copied = cached(folder / f"{name}.vortex", partial(_to_vortex, connections[side], folder, name))
                connections[side].execute(f"CREATE VIEW {name} AS FROM '{copied}'")
            elif side == "pylance":
                connections[side].register(name, lance.dataset(stored))
            elif side == "registered":
                lance_sql.register(connections[side], name, lance_sql.open(stored))
            else:
                batches = table(lance_sql.open(stored)).to_batches()
                connections[side].register(name, pa.Table.from_batches(batches))
    return {side: _runner(connection) for side, connection in connections.items()}


def _runner(connection: duckdb.DuckDBPyConnection) -> Run:
    return lambda query: connection.execute(query).fetchall()


def _to_vortex(connection: duckdb.DuckDBPyConnection, folder: Path, name: str, to: Path) -> None:
    connection.execute(f"COPY (FROM '{folder / name}.parquet') TO '{to}' (FORMAT vortex)")


def _native(folder: Path) -> Path:
    """A database file with the tables, written by the DuckDB at hand."""

    def make(to: Path) -> None:
        with duckdb.connect(to) as connection:
            for name in TABLES:
                connection.execute(f"CREATE TABLE {name} AS FROM '{folder / name}.parquet'")

    return cached(folder / f"native_{duckdb.__version__}.duckdb", make)


if __name__ == "__main__":
    main()
