"""What every layout offers: from rows of a page to the byte ranges they need, and from the bytes to Arrow.

Two steps, so that the ranges of all pages and columns of a batch are fetched together.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pyarrow as pa

from lance_sql import _kernels
from lance_sql.layouts.matching import PageMatch, ValueTest
from lance_sql.layouts.native import Form, NativePage, Part
from lance_sql.layouts.nest import Chain
from lance_sql.layouts.reading import Reading
from lance_sql.row_ranges import RowRanges
from lance_sql.store import ByteRange

PAGE_BYTES = 4096
"""Of memory that an opened page takes beside the bytes of its head, with readers and the answers of tests."""


@dataclass(frozen=True, slots=True)
class PageRead:
    """Some rows of one page: `decode` takes the buffers of `ranges`, in order, and returns the rows as one array."""

    ranges: Sequence[ByteRange]
    decode: Callable[[Sequence[pa.Buffer]], pa.Array]


@dataclass(frozen=True, slots=True)
class BlobRead:
    """The same where these bytes say what else is to be read.

    rows: takes the buffers of `ranges`, and goes on to read the rows
    """

    ranges: Sequence[ByteRange]
    rows: Callable[[Sequence[pa.Buffer]], Reading[pa.Array]]


@dataclass(frozen=True, slots=True)
class NativeRead:
    """The same where the kernels read the rows, those of all columns in one call.

    parts: takes the buffers of `ranges`, and makes the parts for which the kernels are asked, in the order of the rows
    """

    ranges: Sequence[ByteRange]
    parts: Callable[[Sequence[pa.Buffer]], list[Part]]
    form: Form


class Page(Protocol):
    """A page whose head (chunk table, dictionary, repetition index) has been read."""

    @property
    def num_bytes(self) -> int:
        """Memory that keeping the head takes, roughly."""
        ...

    def read(self, rows: RowRanges, chain: Chain, gap: int) -> PageRead | NativeRead | BlobRead:
        """Plans to read `rows` (table rows, relative to the page; not empty) as an array of `chain.type`.

        gap: so many bytes between two ranges are better read over than asked for separately
        """
        ...

    def native(self, chain: Chain) -> tuple[NativePage, ByteRange] | None:
        """What reads the values of the page in the kernels, and their bytes in the file; None where Python has a part.

        chain: what the values become; around them are structs at most, and where one is NULL, so is the value
        """
        ...

    def nested(self, chain: Chain) -> tuple[NativePage, ByteRange] | None:
        """The same for values inside of the lists and structs of the chain, which may be NULL or empty.

        chain: one that `nested.is_possible`
        """
        ...

    def test(self, test: ValueTest, leaf: pa.DataType) -> _kernels.PageTest | bool | None:
        """The answer of a test that is the same for all rows, or what the kernels ask of `native` to know; None where
        the values have to be decoded.
        """
        ...

    def match(self, rows: RowRanges, test: ValueTest, chain: Chain, gap: int) -> PageMatch | bool | None:
        """Plans to test `rows`: True or False where the answer is the same for all of them, None where they have to be
        read to know.

        chain: of a column of which every row is one value, as its page stores it
        """
        ...

    def select(self, rows: RowRanges, chain: Chain, gap: int) -> NativeRead | None:
        """Like `read`, where the kernels can read some of the rows; None where that is no faster than to read all.

        chain: of a column without anything around it
        """
        ...


def concat(arrays: Sequence[pa.Array]) -> pa.Array:
    """The arrays as one; dictionary arrays are unified."""
    return arrays[0] if len(arrays) == 1 else pa.concat_arrays(arrays)


def cluster(spans: RowRanges, gap: int) -> RowRanges:
    """Groups of neighbours: int64[k, 2] of `[first, end)` positions in `spans` whose gaps are at most `gap` bytes.

    spans: ascending byte ranges that may touch or overlap
    """
    if len(spans) == 1:
        return np.array([[0, 1]], np.int64)
    breaks = np.flatnonzero(spans[1:, 0] - spans[:-1, 1] > gap) + 1
    firsts = np.concatenate(([0], breaks))
    return np.stack((firsts, np.concatenate((breaks, [len(spans)]))), axis=1)
