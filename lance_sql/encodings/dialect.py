"""What a file version lets its writers use, as data: encoders ask for abilities, never for versions."""

from dataclasses import dataclass
from types import MappingProxyType
from typing import Final


@dataclass(frozen=True, slots=True)
class Dialect:
    """The abilities of one file version.

    has_large_chunk: chunk words and sizes of value buffers are 32 bits wide
    max_chunk_bytes: of one chunk with its levels and its header
    run_length_levels: levels may be run-length encoded
    compressed_blocks: dictionaries may be compressed as opaque bytes
    constant_values: a page may hold one value for all items
    compressed_constant_levels: the levels of a constant page may be encoded
    dictionary_bits: widths of the values of fixed width that may have a dictionary
    packed_strings: a packed struct may have fields that vary in length
    """

    name: str
    has_large_chunk: bool
    max_chunk_bytes: int
    run_length_levels: bool
    compressed_blocks: bool
    constant_values: bool
    compressed_constant_levels: bool
    dictionary_bits: tuple[int, ...]
    packed_strings: bool


DIALECTS: Final = MappingProxyType(
    {
        1: Dialect(
            name="2.1",
            has_large_chunk=False,
            max_chunk_bytes=1 << 15,
            run_length_levels=False,
            compressed_blocks=False,
            constant_values=False,
            compressed_constant_levels=False,
            dictionary_bits=(128,),
            packed_strings=False,
        ),
        2: Dialect(
            name="2.2",
            has_large_chunk=True,
            max_chunk_bytes=1 << 31,
            run_length_levels=True,
            compressed_blocks=True,
            constant_values=True,
            compressed_constant_levels=True,
            dictionary_bits=(64, 128),
            packed_strings=True,
        ),
    }
)
"""By the minor number of file version 2."""
