"""Streams of single columns of many kinds, drained batch by batch, as every engine does, against pylance's streams and
against the same column as a table.

Kinds are a type, how its values are stored, and with or without NULLs: those of `tables.columns`, in file version 2.2.
Ratios below 1: we are faster. Page faults are those of one warm stream, per million values.
"""

from __future__ import annotations

import argparse
import resource
from collections.abc import Callable, Mapping
from functools import partial

import lance
import pyarrow as pa

import lance_sql

from . import picture
from .measure import medians, parser, print_versions, versions
from .tables import column_table, columns
from .tpch import geometric_mean


def main() -> None:
    arguments: argparse.ArgumentParser = parser(__doc__, 2_000_000)
    arguments.add_argument("--kinds", nargs="*", help="names of columns; all without one")
    given = arguments.parse_args()
    print_versions("pylance")
    against_pylance: dict[str, float] = {}
    against_table: dict[str, float] = {}
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
            label = f"{name}{', 10 % NULL' if nullable else ''}"
            against_pylance[label] = times["stream"] / times["pylance"]
            against_table[label] = times["stream"] / times["table"]
            table, pylance = (
                f"{times[side]:7.2f} ms x{times['stream'] / times[side]:5.2f}" for side in ("table", "pylance")
            )
            print(
                f"{label:<34} stream {times['stream']:7.2f} ms   table {table}   pylance {pylance}"
                f"   faults {faults:6.0f}",
                flush=True,
            )
    print(f"{len(against_pylance)} kinds; {summary('pylance', against_pylance)}; {summary('table', against_table)}")
    if given.picture:
        picture.save(given.picture, "Streams", against_pylance, peer="pylance", note=versions("pylance"))


def summary(peer: str, ratios: Mapping[str, float]) -> str:
    """The mean and the worst of the ratios."""
    values = list(ratios.values())
    return f"stream / {peer}: geometric mean {geometric_mean(values):.2f}, highest {max(values):.2f}"


def drain(stream: pa.RecordBatchReader) -> int:
    """How many rows a stream has, none of whose batches is kept."""
    return sum(batch.num_rows for batch in stream)


def count_faults(call: Callable[[], object]) -> int:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    call()
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before


if __name__ == "__main__":
    main()
