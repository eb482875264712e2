"""Streams of single columns of many kinds, drained batch by batch, as every engine does, against pylance's streams and
against the same column as a table.

A kind is a type, the encoding of its values, and with or without NULLs: those of `tables.columns`, in file version 2.2;
and row ids.
Ratios below 1: we are faster. Page faults are those of one warm stream, per million values.
"""

from __future__ import annotations

import argparse
import resource
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path

import lance
import pyarrow as pa

import lance_sql

from . import picture
from .measure import medians, parser, print_versions, versions
from .tables import column_table, columns
from .tpch import geometric_mean

WITH_ROW_IDS = "int64 signed"
"""A column whose table is also read with the row ids, which no file has."""


def main() -> None:
    arguments: argparse.ArgumentParser = parser(__doc__, 2_000_000)
    arguments.add_argument("--kinds", nargs="*", help="names of columns; all without one")
    given = arguments.parse_args()
    print_versions("pylance")
    against_pylance: dict[str, float] = {}
    against_table: dict[str, float] = {}
    for label, path, names in kinds(given):
        ours, theirs = lance_sql.open(path), lance.dataset(path)
        expected = theirs.count_rows()
        assert read_ours(ours, names) == read_pylance(theirs, names) == expected
        sides: dict[str, Callable[[], object]] = {
            "stream": partial(read_ours, ours, names),
            "table": partial(read_table, ours, names),
            "pylance": partial(read_pylance, theirs, names),
        }
        times = medians(sides, given.runs)
        faults = count_faults(partial(drain, ours.scan(names).to_reader())) / expected * 1e6
        against_pylance[label] = times["stream"] / times["pylance"]
        against_table[label] = times["stream"] / times["table"]
        table, pylance = (
            f"{times[side]:7.2f} ms x{times['stream'] / times[side]:5.2f}" for side in ("table", "pylance")
        )
        print(
            f"{label:<34} stream {times['stream']:7.2f} ms   table {table}   pylance {pylance}   faults {faults:6.0f}",
            flush=True,
        )
    print(f"{len(against_pylance)} kinds; {summary('pylance', against_pylance)}; {summary('table', against_table)}")
    if given.picture:
        picture.save(given.picture, "Streams", against_pylance, peer="pylance", note=versions("pylance"))


def kinds(given: argparse.Namespace) -> Iterator[tuple[str, Path, list[str] | None]]:
    """The name of each kind, its table, and the columns that are read; None for all."""
    for nullable in (False, True):
        for name, column in columns(given.rows, nullable=nullable).items():
            if given.kinds and name not in given.kinds:
                continue
            path = column_table(given.data, name, column, "2.2", nullable=nullable)
            yield f"{name}{', 10 % NULL' if nullable else ''}", path, None
            if name == WITH_ROW_IDS and not nullable:
                yield "row_id", path, ["_rowid"]
                yield f"row_id beside {name}", path, [*lance.dataset(path).schema.names, "_rowid"]


def summary(peer: str, ratios: Mapping[str, float]) -> str:
    """The mean and the worst of the ratios."""
    values = list(ratios.values())
    return f"stream / {peer}: geometric mean {geometric_mean(values):.2f}, highest {max(values):.2f}"


def read_ours(table: lance_sql.Dataset, names: list[str] | None) -> int:
    return drain(table.scan(names).to_reader())


def read_table(table: lance_sql.Dataset, names: list[str] | None) -> int:
    return int(table.scan(names).to_table().num_rows)


def read_pylance(table: lance.LanceDataset, names: list[str] | None) -> int:
    return drain(table.scanner(names).to_reader())


def drain(stream: pa.RecordBatchReader) -> int:
    """Returns the number of rows of a stream, without holding its batches."""
    return sum(batch.num_rows for batch in stream)


def count_faults(call: Callable[[], object]) -> int:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    call()
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before


if __name__ == "__main__":
    main()
