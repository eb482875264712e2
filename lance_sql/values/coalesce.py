"""Merging of small batches of a stream for consumers with a cost per batch: an engine, a join, a page; and of the
chunks of a column."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

import pyarrow as pa

MIN_ROWS: Final = 256 * 1024
MIN_BYTES: Final = 32 * 1024 * 1024
"""From this many rows or bytes on, waiting for more batches has no benefit."""


def gathered(
    batches: Iterable[pa.RecordBatch], *, min_rows: int = MIN_ROWS, min_bytes: int = MIN_BYTES
) -> Iterator[pa.Table]:
    """Merges several batches at a time, in the same order and without a copy."""
    held: list[pa.RecordBatch] = []
    num_rows = num_bytes = 0
    for batch in batches:
        held.append(batch)
        num_rows += batch.num_rows
        num_bytes += batch.nbytes
        if num_rows >= min_rows or num_bytes >= min_bytes:
            yield pa.Table.from_batches(held)
            held, num_rows, num_bytes = [], 0, 0
    if held:
        yield pa.Table.from_batches(held)


def joined(batches: list[pa.RecordBatch]) -> list[pa.RecordBatch]:
    """Joins batches of one schema into one, if possible."""
    if len(batches) < 2:
        return batches
    try:
        combined: list[pa.RecordBatch] = pa.Table.from_batches(batches).combine_chunks().to_batches()
        return combined
    except pa.ArrowInvalid:
        # the dictionaries together have too many items for the type of the keys
        return batches
