"""Writing TPC-H's lineitem, and a table of orders with an embedding: time and bytes, for each version of data files,
against pylance.

Ratios below 1: we are faster, or smaller. Both sides write stable row ids and their default sizes of files.
"""

from __future__ import annotations

import shutil
from functools import partial
from pathlib import Path
from typing import Literal

import lance
import numpy as np
import pyarrow as pa

import lance_sql

from .measure import medians, parser, print_versions, report
from .tables import orders
from .tpch import generated

VERSIONS: tuple[Literal["2.0", "2.1", "2.2"], ...] = ("2.0", "2.1", "2.2")
DIMENSION = 32


def main() -> None:
    parsed = parser(__doc__, 5_000_000)
    parsed.add_argument("--scale", default="1", help="scale factor of TPC-H: 1 is 6 million rows of lineitem")
    arguments = parsed.parse_args()
    print_versions("pylance")
    table = lance.dataset(generated(arguments.data, arguments.scale) / "lineitem.lance").to_table()
    compare("lineitem", table, arguments.data, arguments.runs)
    table = lance.dataset(orders(arguments.data, arguments.rows)[0]).to_table()
    compare("orders", _with_embedding(table), arguments.data, arguments.runs)


def compare(name: str, table: pa.Table, folder: Path, runs: int) -> None:
    """One table, written by both sides."""
    ours, theirs = folder / "written.lance", folder / "written_by_pylance.lance"
    for version in VERSIONS:
        sides = {"ours": partial(_ours, table, ours, version), "pylance": partial(_pylance, table, theirs, version)}
        times = medians(sides, runs)
        report(f"{name}, {table.num_rows} rows, {version}", times, peer="pylance")
        sizes = _size(ours), _size(theirs)
        print(f"{'':<34}   ours {sizes[0]:>13} bytes  x{sizes[0] / sizes[1]:5.3f}   pylance {sizes[1]:>13} bytes")
        if not lance.dataset(ours).to_table().equals(table):
            raise AssertionError(f"what was written of {name} in {version} reads differently")
    for path in (ours, theirs):
        shutil.rmtree(path)


def _ours(table: pa.Table, path: Path, version: str) -> None:
    shutil.rmtree(path, ignore_errors=True)
    lance_sql.write(table, path, file_version=version)


def _pylance(table: pa.Table, path: Path, version: Literal["2.0", "2.1", "2.2"]) -> None:
    shutil.rmtree(path, ignore_errors=True)
    lance.write_dataset(table, path, data_storage_version=version, enable_stable_row_ids=True)


def _with_embedding(table: pa.Table) -> pa.Table:
    values = np.random.default_rng(7).random(table.num_rows * DIMENSION, np.float32)
    return table.append_column("embedding", pa.FixedSizeListArray.from_arrays(pa.array(values), DIMENSION))


def _size(path: Path) -> int:
    return sum(file.stat().st_size for file in (path / "data").iterdir())


if __name__ == "__main__":
    main()
