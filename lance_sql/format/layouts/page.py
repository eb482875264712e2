"""What every layout offers: a reader of the kernels for its pages, what they ask of it to test values, and decoding in
Python, which every page can do.
"""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import pyarrow as pa

from lance_sql import _kernels
from lance_sql.format.layouts.matching import ValueTest
from lance_sql.format.layouts.native import NativePage
from lance_sql.format.layouts.nest import Chain
from lance_sql.format.layouts.reading import Reading
from lance_sql.store import ByteRange
from lance_sql.values import dictionaries
from lance_sql.values.row_ranges import RowRanges

PAGE_BYTES = 4096
"""Of memory that an opened page takes beside the bytes of its head, with readers and the answers of tests."""


class KnownPage(Protocol):
    """A page of a column, as those that the kernels read are known to it: of a file, or made of what is known."""

    def reader(self, chain: Chain, *, is_nested: bool) -> tuple[NativePage, ByteRange] | None:
        """What reads the page in the kernels, or at least tests which of its values are NULL, and its bytes in the
        file; None where Python has a part in both.

        chain: what the values become
        is_nested: as arrays of the whole chain, which `nested.is_possible`; otherwise by themselves: around them are
            structs at most, and where one is NULL, so is the value
        """
        ...

    def test(self, test: ValueTest, leaf: pa.DataType) -> _kernels.PageTest | bool | None:
        """The answer of a test that is the same for all rows, or what the kernels ask of the reader to know; None where
        the values have to be decoded.
        """
        ...


class Page(KnownPage, Protocol):
    """A page of a file whose head (chunk table, dictionary, repetition index) has been read."""

    @property
    def num_bytes(self) -> int:
        """Memory that keeping the head takes, roughly."""
        ...

    def decode(self, rows: RowRanges, chain: Chain, gap: int) -> Reading[pa.Array]:
        """Reads `rows` (table rows, relative to the page; not empty) in Python, as an array of `chain.type`.

        gap: so many bytes between two ranges are better read over than asked for separately
        """
        ...


def concat(arrays: Sequence[pa.Array]) -> pa.Array:
    """The arrays as one; dictionary arrays are unified.

    raises: UnsupportedFeature where the items of their dictionaries are too many for the keys
    """
    return dictionaries.concat(arrays)


def cluster(spans: RowRanges, gap: int) -> RowRanges:
    """Groups of neighbours: int64[k, 2] of `[first, end)` positions in `spans` whose gaps are at most `gap` bytes.

    spans: ascending byte ranges that may touch or overlap
    """
    if len(spans) == 1:
        return np.array([[0, 1]], np.int64)
    breaks = np.flatnonzero(spans[1:, 0] - spans[:-1, 1] > gap) + 1
    firsts = np.concatenate(([0], breaks))
    return np.stack((firsts, np.concatenate((breaks, [len(spans)]))), axis=1)
