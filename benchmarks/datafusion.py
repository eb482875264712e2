"""Queries in DataFusion over lineitem and orders of TPC-H: this library's tables and the same rows as Parquet (zstd).

The answers of both sides must be equal. Ratios below 1: we are faster.
"""

from __future__ import annotations

from functools import partial

import datafusion
import pyarrow as pa

import lance_sql

from . import picture
from .measure import medians, parser, print_versions, versions
from .tpch import generated, geometric_mean

TABLES = ("lineitem", "orders")
QUERIES = {
    "count": "SELECT count(*) FROM lineitem",
    "sum": "SELECT sum(l_quantity), sum(l_partkey) FROM lineitem",
    "Q1": """SELECT l_returnflag, l_linestatus, sum(l_quantity), sum(l_extendedprice),
        sum(l_extendedprice * (1 - l_discount)), sum(l_extendedprice * (1 - l_discount) * (1 + l_tax)), avg(l_quantity),
        avg(l_extendedprice), avg(l_discount), count(*) FROM lineitem WHERE l_shipdate <= DATE '1998-09-02'
        GROUP BY l_returnflag, l_linestatus ORDER BY l_returnflag, l_linestatus""",
    "Q6": """SELECT sum(l_extendedprice * l_discount) FROM lineitem WHERE l_shipdate >= DATE '1994-01-01'
        AND l_shipdate < DATE '1995-01-01' AND l_discount BETWEEN 0.05 AND 0.07 AND l_quantity < 24""",
    "group by few words": "SELECT l_shipmode, count(*), sum(l_quantity) FROM lineitem GROUP BY 1 ORDER BY 1",
    "group by text": "SELECT o_clerk, count(*) FROM orders GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 10",
    "one row by key": "SELECT * FROM orders WHERE o_orderkey = 3000000",
    "top ten": "SELECT l_orderkey, l_extendedprice FROM lineitem ORDER BY l_extendedprice DESC, l_orderkey LIMIT 10",
    "join": """SELECT o_orderpriority, count(*) FROM orders JOIN lineitem ON o_orderkey = l_orderkey
        WHERE l_shipdate < DATE '1993-01-01' GROUP BY 1 ORDER BY 1""",
}


def main() -> None:
    arguments = parser(__doc__)
    arguments.add_argument("--scale", default="1", help="scale factor: 1 is 6 million rows of lineitem")
    given = arguments.parse_args()
    print_versions("datafusion")
    folder = generated(given.data, given.scale)
    ours, parquet = datafusion.SessionContext(), datafusion.SessionContext()
    for name in TABLES:
        lance_sql.register(ours, name, folder / f"{name}.lance")
        parquet.register_parquet(name, str(folder / f"{name}.parquet"))
    ratios = {}
    for name, query in QUERIES.items():
        answers = [run(context, query) for context in (ours, parquet)]
        if not same_rows(*answers):
            raise AssertionError(f"{name}: Parquet and ours give different answers")
        times = medians({"ours": partial(run, ours, query), "parquet": partial(run, parquet, query)}, given.runs)
        ratios[name] = times["ours"] / times["parquet"]
        sides = "   ".join(f"{side} {time:8.2f} ms" for side, time in times.items())
        print(f"{name:<22} {sides}   x{ratios[name]:5.2f}", flush=True)
    values = list(ratios.values())
    print(f"ours / parquet: geometric mean {geometric_mean(values):.2f}, highest {max(values):.2f}")
    if given.picture:
        picture.save(given.picture, "DataFusion", ratios, peer="Parquet", note=versions("datafusion"))


def run(context: datafusion.SessionContext, query: str) -> pa.Table:
    """All rows of the answer."""
    return context.sql(query).to_arrow_table()


def same_rows(a: pa.Table, b: pa.Table) -> bool:
    """Whether two answers are equal, whatever kinds of strings they have."""
    return bool(a.cast(b.schema).equals(b))


if __name__ == "__main__":
    main()
