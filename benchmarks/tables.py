"""The tables that benchmarks read, written by pylance with its defaults; made once, then reused."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import lance
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet

FileVersion = Literal["2.2", "2.1"]
FILE_VERSIONS: tuple[FileVersion, ...] = ("2.2", "2.1")
"""The versions that pylance writes and this library reads."""

FILES = 10
NULL_SHARE = 0.1


def cached(path: Path, make: Callable[[Path], object]) -> Path:
    """The table at `path`, made first if it is not there."""
    if not path.exists():
        unfinished = path.with_name(path.name + ".unfinished")
        shutil.rmtree(unfinished, ignore_errors=True)
        path.parent.mkdir(parents=True, exist_ok=True)
        make(unfinished)
        unfinished.rename(path)
    return path


def columns(rows: int, *, nullable: bool) -> dict[str, pa.Array]:
    """One column for each kind that the default writer stores in its own way."""
    rng = np.random.default_rng(7)

    def words(*choices: str) -> pa.Array:
        return pa.array(np.array(choices)[rng.integers(0, len(choices), rows)])

    def numbered(prefix: str, limit: int, suffix: str = "", count: int = rows) -> pa.Array:
        numbers = pa.array(rng.integers(0, limit, count)).cast(pa.string())
        return pc.binary_join_element_wise(prefix, numbers, suffix, "")

    lengths = rng.integers(0, 8, rows // 5)
    offsets = pa.array(np.concatenate(([0], np.cumsum(lengths))), pa.int32())
    num_items = int(offsets[-1].as_py())
    items = pa.array(rng.integers(0, 1000, num_items))
    made: dict[str, pa.Array] = {
        "int64 sequence": pa.array(np.arange(rows)),
        "int64 signed": pa.array(rng.integers(-1000, 1000, rows)),
        "int64 runs": pa.array(np.repeat(rng.integers(0, 1000, -(-rows // 100)), 100)[:rows]),
        "int32 small": pa.array(rng.integers(0, 50, rows).astype(np.int32)),
        "int16": pa.array(rng.integers(0, 300, rows).astype(np.int16)),
        "int8": pa.array(rng.integers(0, 100, rows).astype(np.int8)),
        "double": pa.array(rng.random(rows) * 1000),
        "float": pa.array(rng.normal(size=rows).astype(np.float32)),
        "bool": pa.array(rng.random(rows) < 0.5),
        "timestamp": pa.array(1_700_000_000_000_000 + rng.integers(0, 10**12, rows), pa.timestamp("us")),
        "date": pa.array(rng.integers(18_000, 19_000, rows).astype(np.int32), pa.int32()).cast(pa.date32()),
        "decimal": pa.array(rng.integers(0, 10**6, rows)).cast(pa.decimal128(21, 2)),
        "string 1 byte": words("A", "N", "R"),
        "string 18 bytes": numbered("Customer#00000", 100_000),
        "string 36 bytes": numbered("order number ", 10**9, " for somebody"),
        "string of 4": words("AIR", "SHIP", "RAIL", "TRUCK"),
        "binary 6 bytes": pa.array([value.tobytes() for value in rng.integers(0, 256, (rows // 5, 6), np.uint8)]),
        "uuid": pa.array([value.tobytes() for value in rng.integers(0, 256, (rows // 5, 16), np.uint8)], pa.binary(16)),
        "constant": pa.array(np.full(rows, 7)),
        "dictionary type": words("AIR", "SHIP", "RAIL").dictionary_encode(),
        "text 340 bytes": numbered("lorem ipsum dolor sit amet " * 12, 10**9, count=rows // 25),
        "vector 16 floats": _vectors(rng, rows // 5, 16),
        "embedding 256 floats": _vectors(rng, rows // 25, 256),
        "list of int64": pa.ListArray.from_arrays(offsets, items),
        "list of string": pa.ListArray.from_arrays(offsets, numbered("", 1000, count=num_items)),
        "map": pa.MapArray.from_arrays(offsets, numbered("k", 1000, count=num_items), items),
        "struct of 3": pa.StructArray.from_arrays(
            [
                pa.array(rng.integers(0, 100, rows // 5)),
                pa.array(rng.random(rows // 5)),
                numbered("", 10**6, count=rows // 5),
            ],
            ["a", "b", "c"],
        ),
    }
    return {name: _with_nulls(rng, column) if nullable else column for name, column in made.items()}


def column_table(folder: Path, name: str, column: pa.Array, file_version: FileVersion, *, nullable: bool) -> Path:
    """A table of one column."""
    kind = name.replace(" ", "_") + ("_nullable" if nullable else "")
    path = folder / f"column_{kind}_{len(column)}_{file_version}.lance"
    per_file = max(-(-len(column) // FILES), 1)
    table = pa.table({"c": column})
    return cached(
        path, lambda to: lance.write_dataset(table, to, max_rows_per_file=per_file, data_storage_version=file_version)
    )


def orders(folder: Path, rows: int) -> tuple[Path, Path]:
    """A wide table of orders: as Lance, and the same rows as Parquet with zstd."""
    path = folder / f"orders_{rows}.lance"
    parquet = folder / f"orders_{rows}.parquet"
    cached(path, lambda to: lance.write_dataset(_orders(0, rows), to, max_rows_per_file=-(-rows // FILES)))
    table = lance.dataset(path)
    cached(parquet, lambda to: pyarrow.parquet.write_table(table.to_table(), to, compression="zstd"))
    return path, parquet


def changed(folder: Path, rows: int) -> Path:
    """A table with stable row ids: `rows` rows in ten commits, then 1,000 inserted rows, 100 updated ones, 1,000
    deleted ones, and 100 commits that insert, update or delete a few rows each."""

    def make(to: Path) -> None:
        step = rows // FILES
        for start in range(0, step * FILES, step):
            mode = "append" if start else "create"
            lance.write_dataset(_orders(start, step), to, mode=mode, enable_stable_row_ids=True, max_rows_per_file=step)
        lance.write_dataset(_orders(rows, 1000), to, mode="append")
        ids = np.random.default_rng(3).choice(rows, 1600, replace=False)
        _update(to, ids[:100])
        lance.dataset(to).delete(_among(ids[100:1100]))
        for number in range(100):
            few = ids[1100 + 5 * number : 1105 + 5 * number]
            if number % 3 == 0:
                lance.write_dataset(_orders(rows + 1000 + 10 * number, 10), to, mode="append")
            elif number % 3 == 1:
                _update(to, few)
            else:
                lance.dataset(to).delete(_among(few))

    return cached(folder / f"changed_{rows}.lance", make)


def _update(path: Path, ids: np.ndarray[tuple[int], np.dtype[np.int64]]) -> None:
    lance.dataset(path).update({"price": "price + 1"}, where=_among(ids))


def _among(ids: np.ndarray[tuple[int], np.dtype[np.int64]]) -> str:
    return f"id IN ({', '.join(map(str, ids))})"


def _orders(first: int, rows: int) -> pa.Table:
    rng = np.random.default_rng(first + 1)
    return pa.table(
        {
            "id": np.arange(first, first + rows),
            "qty": rng.integers(0, 50, rows).astype(np.int32),
            "price": rng.random(rows) * 1000,
            "ts": pa.array(1_700_000_000_000_000 + rng.integers(0, 10**12, rows), pa.timestamp("us")),
            "flag": rng.random(rows) < 0.5,
            "cust": pc.binary_join_element_wise(
                "Customer#00000", pa.array(rng.integers(0, 100_000, rows)).cast(pa.string()), ""
            ),
            "mode": np.array(["AIR", "SHIP", "RAIL", "TRUCK"])[rng.integers(0, 4, rows)],
            "comment": pc.binary_join_element_wise(
                "order number ", pa.array(rng.integers(0, 10**9, rows)).cast(pa.string()), ""
            ),
        }
    )


def _vectors(rng: np.random.Generator, rows: int, dimension: int) -> pa.Array:
    return pa.FixedSizeListArray.from_arrays(pa.array(rng.random(rows * dimension, np.float32)), dimension)


def _with_nulls(rng: np.random.Generator, column: pa.Array) -> pa.Array:
    keep = pa.array(rng.random(len(column)) >= NULL_SHARE)
    index = pc.if_else(keep, pa.array(np.arange(len(column))), pa.scalar(None, pa.int64()))
    return column.take(index)
