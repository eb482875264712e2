"""Whole columns into memory, one table for each kind of column, against pylance.

ours: a handle that is open; reopened: with `lance_sql.open`, footers and new mappings each time. Ratios below 1: we
    are faster.
A column that needs no decoding (embeddings without NULLs) is a mapping of the file: its values are summed up on both
sides, so that every byte is read.
"""

from __future__ import annotations

from pathlib import Path

import lance
import numpy as np
import pyarrow as pa

import lance_sql

from .measure import medians, parser, print_versions, report
from .tables import FILE_VERSIONS, column_table, columns


def main() -> None:
    arguments = parser(__doc__, 5_000_000).parse_args()
    print_versions("pylance")
    for nullable in (False, True):
        for name, column in columns(arguments.rows, nullable=nullable).items():
            for file_version in FILE_VERSIONS:
                if name == "map" and file_version == "2.1":
                    continue
                path = column_table(arguments.data, name, column, file_version, nullable=nullable)
                label = f"{name}{', 10 % NULL' if nullable else ''}, {file_version}"
                report(label, _times(path, arguments.runs), peer="pylance")


def _times(path: Path, runs: int) -> dict[str, float]:
    ours, peer = lance_sql.open(path), lance.dataset(path)
    if not _values(ours.to_table()).equals(_values(peer.to_table())):
        raise AssertionError(f"{path} reads differently")
    read = _touched if pa.types.is_fixed_size_list(ours.schema.field("c").type) else _same
    return medians(
        {
            "ours": lambda: read(ours.to_table()),
            "pylance": lambda: read(peer.to_table()),
            "reopened": lambda: read(lance_sql.open(path).to_table()),
        },
        runs,
    )


def _values(table: pa.Table) -> pa.ChunkedArray:
    """The column, without the dictionaries of single batches."""
    column = table.column("c")
    return column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column


def _same(table: pa.Table) -> pa.Table:
    return table


def _touched(table: pa.Table) -> float:
    chunks = table.column("c").chunks
    return sum(float(np.frombuffer(chunk.values.buffers()[1], np.uint64)[::512].sum()) for chunk in chunks)


if __name__ == "__main__":
    main()
