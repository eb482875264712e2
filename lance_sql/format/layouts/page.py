"""Pages that Python knows: readers of the kernels, and tests of values."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import pyarrow as pa

from lance_sql import _kernels
from lance_sql.format.layouts.form import OpenPage
from lance_sql.format.layouts.matching import ValueTest
from lance_sql.format.layouts.nest import Chain
from lance_sql.store import ByteRange
from lance_sql.values import dictionaries
from lance_sql.values.row_ranges import RowRanges

PAGE_BYTES = 4096
"""Memory of an open page in addition to the bytes of its head, for readers and the answers of tests."""


class KnownPage(Protocol):
    """A page that no file 2.1 or 2.2 has: of earlier files, or constant."""

    def reader(self, chain: Chain, *, is_nested: bool) -> tuple[OpenPage, ByteRange] | None:
        """Returns the reader of the page in the kernels, and its bytes in the file; None if it needs Python.

        chain: the type that the page has
        is_nested: as arrays of the whole chain; otherwise only the values, inside structs at most, where a value is
            NULL if a struct is
        raises: CorruptFile, UnsupportedFeature, ValueError if the page cannot have the values
        """
        ...

    def test(self, test: ValueTest, leaf: pa.DataType) -> _kernels.PageTest | bool | None:
        """Returns the answer of a test that is the same for all rows, or a test for the reader in the kernels; None if
        the values must be decoded.
        """
        ...


def concat(arrays: Sequence[pa.Array]) -> pa.Array:
    """Joins arrays into one, and unifies dictionaries.

    raises: UnsupportedFeature if their dictionaries together have too many items for the keys
    """
    return dictionaries.concat(arrays)


def cluster(spans: RowRanges, gap: int) -> RowRanges:
    """Groups neighbors: int64[k, 2] of `[first, end)` positions in `spans` whose gaps are at most `gap` bytes.

    spans: ascending byte ranges that may touch or overlap
    """
    if len(spans) == 1:
        return np.array([[0, 1]], np.int64)
    breaks = np.flatnonzero(spans[1:, 0] - spans[:-1, 1] > gap) + 1
    firsts = np.concatenate(([0], breaks))
    return np.stack((firsts, np.concatenate((breaks, [len(spans)]))), axis=1)
