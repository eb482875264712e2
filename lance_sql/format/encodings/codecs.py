"""Dispatch of encodings to codecs: one table for each context, at the end of this file.

The kernels decode the values of pages of files 2.1 and later. These are the codecs of whole buffers: dictionaries,
levels, and trees of files up to 2.0. The specification closes these sets. Encodings without a codec raise an error
that names them.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

import pyarrow as pa

from lance_sql.errors import UnsupportedFeature
from lance_sql.format.encodings import bitpacking, flat, general, rle, variable
from lance_sql.format.encodings.blocks import Block, FixedWidth
from lance_sql.format.encodings.tree import (
    Bitpacked,
    Encoding,
    Flat,
    General,
    InlineBitpacking,
    OutOfLineBitpacking,
    Rle,
    Variable,
)

T = TypeVar("T")


def decode_block(encoding: Encoding, data: pa.Buffer, num_values: int) -> Block:
    """Decodes `num_values` values from one buffer."""
    return _codec(BLOCK, encoding, "a block")(encoding, data, num_values)


def decode_stored(encoding: Encoding, data: pa.Buffer, num_values: int) -> FixedWidth:
    """Decodes the first `num_values` values of a buffer of a tree, or of a part of it that begins a unit.

    See `stored.unit`; bit-packed groups are always complete.
    """
    return _codec(STORED, encoding, "a buffer of its own")(encoding, data, num_values)


def _codec(table: Mapping[type[Encoding], T], encoding: Encoding, where: str) -> T:
    codec = table.get(type(encoding))
    if codec is None:
        raise UnsupportedFeature(f"encoding {type(encoding).__name__} is not supported in {where}")
    return codec


def _general_block(encoding: General, data: pa.Buffer, num_values: int) -> Block:
    return decode_block(encoding.values, general.decompress(encoding.compression, data), num_values)


def _out_of_line_groups(encoding: OutOfLineBitpacking, data: pa.Buffer, num_values: int) -> FixedWidth:
    # the last group is complete as well
    num_groups = -(-num_values // bitpacking.GROUP)
    return bitpacking.out_of_line_block(encoding, data, num_groups * bitpacking.GROUP)


BLOCK: Final[Mapping[type[Encoding], Callable[[Any, pa.Buffer, int], Block]]] = {
    Flat: flat.block,
    Variable: variable.block,
    InlineBitpacking: bitpacking.inline_block,
    OutOfLineBitpacking: bitpacking.out_of_line_block,
    Rle: rle.block,
    General: _general_block,
}
STORED: Final[Mapping[type[Encoding], Callable[[Any, pa.Buffer, int], FixedWidth]]] = {
    Flat: flat.block,
    Bitpacked: bitpacking.side_by_side,
    OutOfLineBitpacking: _out_of_line_groups,
}
