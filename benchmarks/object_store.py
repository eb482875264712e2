"""Tables in an object store that is 20 ms away, through DuckDB: requests, bytes and times of queries over this library,
over pylance, and over the same rows as Parquet through httpfs.

The server is one of our own on this machine (`object_store_server`): every request waits 20 ms, every connection
brings 90 MB/s. Each query opens its tables anew. First seven queries of lineitem (six million rows, twelve files), then
the 22 of TPC-H. The answers of all sides must be equal. httpfs is measured where it is installed for the DuckDB at hand
(package duckdb-extension-httpfs).
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import duckdb
import lance
import pyarrow as pa
import pyarrow.parquet

import lance_sql

from .engines import extension_file
from .measure import equal_rows, medians, parser, print_versions
from .object_store_server import BUCKET, Count, StoreServer
from .tables import cached
from .tpch import TABLES, generated, geometric_mean

LINEITEM = "lineitem_12"
ROWS_PER_FILE = 512 * 1024
SIDES = ("ours", "pylance", "parquet", "warm", "local")
"""`warm` is ours with all that it has read before in a cache on disk, `local` ours over the same tables on disk."""

Rows = list[tuple[object, ...]]


@dataclass(frozen=True, slots=True)
class Query:
    """A query, and the tables that it is about: names, and where each is in the bucket."""

    what: str
    sql: str
    tables: dict[str, str]


def main() -> None:
    arguments = parser(__doc__)
    arguments.add_argument("--scale", default="1", help="scale factor: 1 is 6 million rows of lineitem")
    arguments.add_argument("--sides", nargs="*", choices=SIDES, default=SIDES[:3])
    arguments.add_argument("--only", nargs="*", help="queries whose names contain one of these")
    arguments.set_defaults(runs=3)
    given = arguments.parse_args()
    print_versions("duckdb", "pylance", "obstore", "duckdb-extension-httpfs")
    folder = generated(given.data, given.scale)
    cached(folder / f"{LINEITEM}.lance", partial(_write, folder / "lineitem.parquet"))
    texts = json.loads((folder / "queries.json").read_text())
    with StoreServer(folder) as server:
        sides = _sides(server, folder, given.sides)
        chosen = [each for each in _queries(texts) if not given.only or any(part in each.what for part in given.only)]
        measured = [_measure(server, sides, each, given.runs) for each in chosen]
    for side, peer in (("ours", "pylance"), ("ours", "parquet"), ("warm", "local")):
        ratios = [times[side] / times[peer] for times in measured if peer in times and side in times]
        if ratios:
            print(f"{side} / {peer}: geometric mean {geometric_mean(ratios):.2f}, highest {max(ratios):.2f}")


def _queries(texts: Sequence[str]) -> list[Query]:
    one = {"lineitem": LINEITEM}
    seven = [
        Query("TPC-H Q6", texts[5], one),
        Query("TPC-H Q1", texts[0], one),
        Query("sum of a column", "SELECT sum(l_quantity) FROM lineitem", one),
        Query("count(*)", "SELECT count(*) FROM lineitem", one),
        Query("an order by key", "SELECT * FROM lineitem WHERE l_orderkey = 3000001 ORDER BY l_linenumber", one),
        Query("top 5", "SELECT * FROM lineitem ORDER BY l_extendedprice DESC, l_orderkey, l_linenumber LIMIT 5", one),
        Query("LIMIT 5", "SELECT count(l_comment) FROM (FROM lineitem LIMIT 5)", one),
    ]
    tpch = [
        Query(f"query {number}", text, {name: name for name in TABLES if name in text})
        for number, text in enumerate(texts, 1)
    ]
    return seven + tpch


def _measure(
    server: StoreServer, sides: dict[str, Callable[[Query], Rows]], query: Query, runs: int
) -> dict[str, float]:
    counts: dict[str, Count] = {}
    answers: dict[str, Rows] = {}
    for name, run in sides.items():
        if name == "warm":
            run(query)
        server.take_count()
        answers[name] = run(query)
        counts[name] = server.take_count()
    for name, answer in answers.items():
        if not equal_rows(answer, next(iter(answers.values()))):
            raise AssertionError(f"{query.what}: {name} answers {answer[:3]}, not {next(iter(answers.values()))[:3]}")
    times = medians({name: partial(run, query) for name, run in sides.items()}, runs)
    parts = [
        f"{name} {count.requests:5d} requests {count.num_bytes / 1e6:7.1f} MB {times[name]:7.0f} ms"
        for name, count in counts.items()
    ]
    print(f"{query.what:<16}   {'   '.join(parts)}", flush=True)
    return times


def _sides(server: StoreServer, folder: Path, wanted: Sequence[str]) -> dict[str, Callable[[Query], Rows]]:
    def uri(name: str) -> str:
        return f"s3://{BUCKET}/{name}.lance"

    connections = {side: duckdb.connect(config={"allow_unsigned_extensions": True}) for side in wanted}

    def ours(query: Query) -> Rows:
        for name, place in query.tables.items():
            table = lance_sql.open(uri(place), storage_options=server.options)
            lance_sql.register(connections["ours"], name, table)
        return connections["ours"].execute(query.sql).fetchall()

    def near(side: str, open_table: Callable[[str], lance_sql.Dataset], query: Query) -> Rows:
        for name, place in query.tables.items():
            lance_sql.register(connections[side], name, open_table(place))
        return connections[side].execute(query.sql).fetchall()

    cache = tempfile.TemporaryDirectory(prefix="lance-sql-cache")
    warm = partial(
        near,
        "warm",
        lambda place: lance_sql.open(uri(place), storage_options=server.options, cache=cache.name),
    )
    local = partial(near, "local", lambda place: lance_sql.open(folder / f"{place}.lance", learn_statistics=False))

    def pylance(query: Query) -> Rows:
        for name, place in query.tables.items():
            connections["pylance"].register(name, lance.dataset(uri(place), storage_options=server.options))
        return connections["pylance"].execute(query.sql).fetchall()

    def parquet(query: Query) -> Rows:
        return connections["parquet"].execute(query.sql).fetchall()

    extension = extension_file("httpfs")
    if "parquet" in wanted and extension is not None:
        connections["parquet"].execute(f"LOAD '{extension}'")
        connections["parquet"].execute(
            f"CREATE SECRET (TYPE s3, KEY_ID 'key', SECRET 'secret', ENDPOINT '{server.address}', USE_SSL false,"
            " URL_STYLE 'path', REGION 'us-east-1')"
        )
        # or it would keep what it has read
        connections["parquet"].execute("SET enable_external_file_cache = false")
        for name in TABLES:
            connections["parquet"].execute(f"CREATE VIEW {name} AS FROM 's3://{BUCKET}/{name}.parquet'")

    sides = {"ours": ours, "pylance": pylance, "parquet": parquet, "warm": warm, "local": local}
    return {name: sides[name] for name in wanted if name != "parquet" or extension is not None}


def _write(rows: Path, to: Path) -> None:
    file = pyarrow.parquet.ParquetFile(rows)
    reader = pa.RecordBatchReader.from_batches(file.schema_arrow, file.iter_batches(batch_size=128 * 1024))
    lance.write_dataset(reader, to, max_rows_per_file=ROWS_PER_FILE, data_storage_version="2.2")


if __name__ == "__main__":
    main()
