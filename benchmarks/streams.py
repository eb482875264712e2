"""Streams of single columns of many kinds, drained batch by batch, as every engine does, against pylance's streams and
against the same column as a table.

Kinds are a type, how its values are stored, and with or without NULLs: those of `tables.columns`, in file version 2.2.
Ratios below 1: we are faster. Page faults are those of one warm stream, per million values.
"""

from __future__ import annotations

import argparse
import resource
from collections.abc import Callable
from functools import partial

import lance
import pyarrow as pa

import lance_sql

from .measure import medians, parser, print_versions
from .tables import column_table, columns
from .tpch import geometric_mean


def main() -> None:
    arguments: argparse.ArgumentParser = parser(__doc__, 2_000_000)
    arguments.add_argument("--kinds", nargs="*", help="names of columns; all without one")
    given = arguments.parse_args()
    print_versions("pylance")
    against_pylance, against_table = [], []
    for nullable in (False, True):
        for name, column in columns(given.rows, nullable=nullable).items():
            if given.kinds and name not in given.kinds:
                continue
            path = column_table(given.data, name, column, "2.2", nullable=nullable)
            ours, theirs = lance_sql.open(path), lance.dataset(path)
            expected = len(column)
            assert drain(ours.scan().to_reader()) == drain(theirs.scanner().to_reader()) == expected
            sides: dict[str, Callable[[], object]] = {
                "stream": lambda ours=ours: drain(ours.scan().to_reader()),
                "table": lambda ours=ours: ours.scan().to_table(),
                "pylance": lambda theirs=theirs: drain(theirs.scanner().to_reader()),
            }
            times = medians(sides, given.runs)
            faults = count_faults(partial(drain, ours.scan().to_reader())) / expected * 1e6
            against_pylance.append(times["stream"] / times["pylance"])
            against_table.append(times["stream"] / times["table"])
            label = f"{name}{', 10 % NULL' if nullable else ''}"
            table, pylance = (
                f"{times[side]:7.2f} ms x{times['stream'] / times[side]:5.2f}" for side in ("table", "pylance")
            )
            print(
                f"{label:<34} stream {times['stream']:7.2f} ms   table {table}   pylance {pylance}"
                f"   faults {faults:6.0f}",
                flush=True,
            )
    print(
        f"{len(against_pylance)} kinds; stream / pylance: geometric mean {geometric_mean(against_pylance):.2f}, highest"
        f" {max(against_pylance):.2f}; stream / table: geometric mean {geometric_mean(against_table):.2f}, highest"
        f" {max(against_table):.2f}"
    )


def drain(stream: pa.RecordBatchReader) -> int:
    """How many rows a stream has, none of whose batches is kept."""
    return sum(batch.num_rows for batch in stream)


def count_faults(call: Callable[[], object]) -> int:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    call()
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before


if __name__ == "__main__":
    main()
