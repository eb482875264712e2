"""Values for the chunks of a mini-block page: the output of codecs in the mini-block context."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from lance_sql.format.encodings.tree import Encoding
from lance_sql.values.arrays import I64

Starts = I64
"""The starts of the chunks of a page, then the end of the last: int64[chunks + 1], from 0."""


@dataclass(frozen=True, slots=True)
class Parts:
    """One buffer of every chunk: that of chunk i is `data[starts[i]:starts[i + 1]]`."""

    data: pa.Buffer
    starts: Starts

    @property
    def sizes(self) -> Starts:
        """Bytes of each part."""
        return self.starts[1:] - self.starts[:-1]


@dataclass(frozen=True, slots=True)
class ChunkedValues:
    """The value buffers of all chunks of a page; the first parts are buffer 0 of each chunk."""

    encoding: Encoding
    buffers: tuple[Parts, ...]


@dataclass(frozen=True, slots=True)
class ChunkCodec:
    """A way to encode the values of a page in chunks of `1 << log2_items` items, or fewer.

    num_bytes: approximate size of the values
    """

    log2_items: int
    num_bytes: int
    encode: Callable[[Starts], ChunkedValues]


def log2_items(bits_per_value: int, most_bytes: int, most_items: int) -> int:
    """Returns the largest power of two of items within both limits; at least two items."""
    count = max(min(most_items, most_bytes * 8 // max(bits_per_value, 1)), 2)
    return count.bit_length() - 1


def uniform_starts(num_items: int, log2_items: int) -> Starts:
    """Returns the starts of chunks of `1 << log2_items` items each; the last one has the rest."""
    starts = np.arange(0, num_items + (1 << log2_items), 1 << log2_items, dtype=np.int64)
    starts[-1] = num_items
    return starts
