"""Dispatch of the encodings of buffers of trees to codecs, for files up to 2.0: one table, at the end of this file.

The specification closes the set. Encodings without a codec raise an error that names them.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

import pyarrow as pa

from lance_sql.errors import UnsupportedFeature
from lance_sql.format.encodings import bitpacking, flat
from lance_sql.format.encodings.blocks import FixedWidth
from lance_sql.format.encodings.tree import Bitpacked, Encoding, Flat, OutOfLineBitpacking


def decode_stored(encoding: Encoding, data: pa.Buffer, num_values: int) -> FixedWidth:
    """Decodes the first `num_values` values of a buffer of a tree, or of a part of it that begins a unit.

    See `stored.unit`; bit-packed groups are always complete.
    """
    codec = STORED.get(type(encoding))
    if codec is None:
        raise UnsupportedFeature(f"encoding {type(encoding).__name__} is not supported in a buffer of its own")
    return codec(encoding, data, num_values)


def _out_of_line_groups(encoding: OutOfLineBitpacking, data: pa.Buffer, num_values: int) -> FixedWidth:
    # the last group is complete as well
    num_groups = -(-num_values // bitpacking.GROUP)
    return bitpacking.out_of_line_block(encoding, data, num_groups * bitpacking.GROUP)


STORED: Final[Mapping[type[Encoding], Callable[[Any, pa.Buffer, int], FixedWidth]]] = {
    Flat: flat.block,
    Bitpacked: bitpacking.side_by_side,
    OutOfLineBitpacking: _out_of_line_groups,
}
