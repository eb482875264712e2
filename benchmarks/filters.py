"""Filters of several selectivities on several kinds of columns, read as streams of four columns, against the same
stream without a filter, and against pylance. Ratios below 1: we are faster.

inside      texts that contain another, by LIKE
member      a value of a struct
scattered   passing rows are everywhere
clustered   the filter follows the order of the rows, so that passing rows are adjacent
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from decimal import Decimal
from functools import partial
from pathlib import Path

import lance
import numpy as np
import pyarrow as pa

import lance_sql

from . import picture
from .measure import medians, parser, print_versions, versions

SHARES = (0.0001, 0.01, 0.1, 0.5, 0.99, 1.0)
KINDS = ("int64", "double", "decimal", "date", "dictionary", "text", "inside", "member", "ordered")
COLUMNS = {"inside": "text", "member": "place.rank"}
"""Those that are not called like their kind."""

SHARES_OF = {"dictionary": SHARES[1:], "inside": (0.0001, 0.01, 0.1)}
"""Of kinds that do not have all of them."""

RANKS = 10_000
"""A row's rank says which share of all rows has lower ones."""


def make(path: Path, rows: int) -> None:
    """One column for each kind of filter, all by the same ranks, the rank in row order, and three more to read."""
    random = np.random.default_rng(6)
    ranks = random.integers(0, RANKS, rows)
    days = pa.array(ranks.astype(np.int32), pa.date32())
    texts = pa.array([f"customer number {rank:05d} of the market" for rank in range(RANKS)])
    kinds = pa.array([f"kind {number:03d}" for number in range(100)])
    content = pa.table(
        {
            "int64": pa.array(ranks, pa.int64()),
            "double": ranks + random.random(rows) / 2,
            "decimal": pa.array([Decimal(rank) / 100 for rank in range(RANKS)], pa.decimal128(12, 2)).take(ranks),
            "date": days,
            "dictionary": kinds.take(ranks // 100),
            "text": texts.take(ranks),
            "ordered": np.arange(rows) * RANKS // rows,
            "price": random.random(rows),
            "qty": random.integers(0, 1000, rows).astype(np.int32),
            "count": random.integers(0, 50, rows),
            "place": pa.StructArray.from_arrays([pa.array(ranks), pa.array(ranks / 3)], ["rank", "other"]),
        }
    )
    shutil.rmtree(path, ignore_errors=True)
    lance.write_dataset(content, path, data_storage_version="2.2")


def condition(column: str, share: float) -> str:
    """A filter that lets about this share of the rows pass."""
    rank = round(share * RANKS)
    if column == "inside":
        return f"text LIKE '%number {'0' * (5 - len(str(rank - 1)))}%'" if rank > 1 else "text LIKE '%00000%'"
    literal = {
        # a plain 1.25 is a double for pylance, which it does not compare with decimals
        "decimal": f"CAST('{rank // 100}.{rank % 100:02d}' AS DECIMAL(12, 2))",
        "date": f"DATE '{np.datetime64(rank, 'D')}'",
        "dictionary": f"'kind {rank // 100:03d}'",
        "text": f"'customer number {rank:05d}'",
    }.get(column, str(rank))
    return f"{COLUMNS.get(column, column)} < {literal}"


def drain(stream: pa.RecordBatchReader) -> int:
    return sum(batch.num_rows for batch in stream)


def read_ours(table: lance_sql.Dataset, columns: list[str], filter: str | None) -> int:
    return drain(table.scan(columns, filter).to_reader())


def read_pylance(table: lance.LanceDataset, columns: list[str], filter: str) -> int:
    return drain(table.scanner(columns=columns, filter=filter).to_reader())


def main() -> None:
    arguments = parser(__doc__, 5_000_000)
    arguments.add_argument("--kinds", nargs="*", choices=KINDS, help="of filters; all without one")
    given = arguments.parse_args()
    print_versions("pylance")
    given.data.mkdir(parents=True, exist_ok=True)
    path = given.data / f"filtered_{given.rows}.lance"
    if not path.exists():
        make(path, given.rows)
    ours, theirs = lance_sql.open(path), lance.dataset(path)
    ratios: dict[str, float] = {}
    for kind in given.kinds or KINDS:
        columns = [COLUMNS.get(kind, kind), "price", "qty", "count" if kind == "int64" else "int64"]
        for share in SHARES_OF.get(kind, SHARES):
            filter = condition(kind, share)
            sides: dict[str, Callable[[], object]] = {
                "all": partial(read_ours, ours, columns, None),
                "ours": partial(read_ours, ours, columns, filter),
                "pylance": partial(read_pylance, theirs, columns, filter),
            }
            found = read_ours(ours, columns, filter)
            assert found == theirs.count_rows(filter=filter)
            times = medians(sides, given.runs)
            ratios[f"{kind}, {100 * share:g} %"] = times["ours"] / times["all"]
            print(
                f"{kind:<10} {100 * share:6.2f} %  {found:>8} rows   ours {times['ours']:7.2f} ms"
                f"   all rows {times['all']:7.2f} ms  x{times['ours'] / times['all']:5.2f}"
                f"   pylance {times['pylance']:7.2f} ms  x{times['ours'] / times['pylance']:5.2f}",
                flush=True,
            )
    if given.picture:
        picture.save(given.picture, "Filters", ratios, peer="reading all rows", note=versions("pylance"))


if __name__ == "__main__":
    main()
