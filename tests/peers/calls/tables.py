"""Tables that calls are made on, written by pylance with stable row ids."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import lance
import numpy as np
import pyarrow as pa

_DAY = datetime.datetime(2026, 1, 1)


def make_table(name: str, path: Path) -> None:
    """Writes a table of pylance: numbers, vectors, words, blobs or json.

    pylance builds no index of JSON on tables with stable row ids
    """
    rows, options = _TABLES[name]()
    lance.write_dataset(rows, path, **{"enable_stable_row_ids": True} | options)


def _numbers() -> tuple[pa.Table, dict[str, Any]]:
    ids = range(100)
    rows = pa.table(
        {
            "id": pa.array(ids),
            "a": pa.array([None if n % 10 == 9 else n % 7 for n in ids], pa.int64()),
            "f": pa.array([n / 4 for n in ids]),
            "s": pa.array([f"row {n % 13}" for n in ids]),
            "b": pa.array([n % 3 == 0 for n in ids]),
            "d": pa.array([(_DAY + datetime.timedelta(days=n)).date() for n in ids]),
            "ts": pa.array([_DAY + datetime.timedelta(hours=n) for n in ids], pa.timestamp("us")),
            "bytes": pa.array([bytes([n]) for n in ids]),
            "tags": pa.array([[f"t{n % 3}", f"t{n % 5}"] for n in ids]),
            "st": pa.array([{"x": n, "y": f"y{n % 4}"} for n in ids]),
        }
    )
    return rows, {"max_rows_per_file": 20}


def _vectors() -> tuple[pa.Table, dict[str, Any]]:
    values = np.random.default_rng(3).random((512, 8), np.float32)
    vectors = pa.FixedSizeListArray.from_arrays(values.ravel(), 8)
    return pa.table({"id": range(512), "v": vectors, "k": [n % 5 for n in range(512)]}), {"max_rows_per_file": 256}


def _words() -> tuple[pa.Table, dict[str, Any]]:
    animals = ("fox", "dog", "cat", "quick fox", "lazy dog", "brown fox jumps", "the cat sat", "nothing here")
    text = [f"{animals[n % 8]} number{n}" for n in range(64)]
    return pa.table({"id": range(64), "text": text}), {}


def _blobs() -> tuple[pa.Table, dict[str, Any]]:
    field = pa.field("blob", pa.large_binary(), metadata={"lance-encoding:blob": "true"})
    values = [b"first bytes", None, b"", b"x" * 10_000]
    return pa.table({"id": range(4), "blob": values}, pa.schema([pa.field("id", pa.int64()), field])), {
        "data_storage_version": "2.1"
    }


def _json() -> tuple[pa.Table, dict[str, Any]]:
    texts = [f'{{"n": {n}, "name": "u{n % 3}", "deep": {{"on": {str(n % 2 == 0).lower()}}}}}' for n in range(20)]
    return pa.table({"id": range(20), "j": pa.array(texts, pa.json_())}), {"enable_stable_row_ids": False}


_TABLES = {"numbers": _numbers, "vectors": _vectors, "words": _words, "blobs": _blobs, "json": _json}
