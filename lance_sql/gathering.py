"""Batches of a stream put together until there is enough for what has a cost of its own: an engine, a join, a page."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Final, TypeVar

import pyarrow as pa

Part = TypeVar("Part")
Result = TypeVar("Result")

MIN_ROWS: Final = 256 * 1024
MIN_BYTES: Final = 32 * 1024 * 1024
"""With so many rows, or so many bytes of them, nothing is gained by waiting for others."""


def gathered(
    batches: Iterable[pa.RecordBatch], *, min_rows: int = MIN_ROWS, min_bytes: int = MIN_BYTES
) -> Iterator[pa.Table]:
    """The same rows in the same order, several batches together, which are not copied."""
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


def one_ahead(parts: Iterable[Part], compute: Callable[[Part], Result]) -> Iterator[Result]:
    """`compute` of each part, in order and one at a time: by a thread of its own, while the results before are used and
    the next part is made."""
    rest = iter(parts)
    first = next(rest, None)
    if first is None:
        return
    second = next(rest, None)
    if second is None:
        yield compute(first)
        return
    with ThreadPoolExecutor(1, "lance-compute") as pool:
        waiting: Future[Result] = pool.submit(compute, first)
        part: Part | None = second
        while part is not None:
            before, waiting = waiting, pool.submit(compute, part)
            yield before.result()
            part = next(rest, None)
        yield waiting.result()


def joined(batches: list[pa.RecordBatch]) -> list[pa.RecordBatch]:
    """The batches, which have one schema, as one where that is possible."""
    if len(batches) < 2:
        return batches
    try:
        made: list[pa.RecordBatch] = pa.Table.from_batches(batches).combine_chunks().to_batches()
        return made
    except pa.ArrowInvalid:
        # the items of several dictionaries are too many for the type of the keys
        return batches
