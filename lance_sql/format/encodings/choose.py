"""Choice of the encoding of a page's values: the smallest one, within the preferences of the field."""

from collections.abc import Callable, Iterator, Sequence
from typing import Final

import numpy as np
import pyarrow as pa

from lance_sql import _kernels
from lance_sql.errors import UnsupportedFeature
from lance_sql.format.encodings import (
    bitpacking,
    byte_stream_split,
    dictionary,
    fixed_size_list,
    flat,
    fsst,
    general,
    packed_struct,
    rle,
    variable,
)
from lance_sql.format.encodings.blocks import Block, DictionaryValues, FixedWidth, Lists, Struct, VariableWidth
from lance_sql.format.encodings.chunked import ChunkCodec, uniform_starts
from lance_sql.format.encodings.preferences import Preferences
from lance_sql.format.encodings.tree import Compression, Encoding, Flat, General, InlineBitpacking, Variable
from lance_sql.format.file_versions import PageRules

CHUNK_BYTES = 1 << 14
"""Maximum bytes of the values of a chunk, if chunks may be that large."""

DENSE_CHUNK_BYTES = 1 << 15
"""Larger chunks for strings with strong compression: repetitions are found within a chunk, and a row needs all of
it."""

FEW_VALUES = dictionary.SAMPLED_VALUES
"""Pages with fewer values are encoded without sampling."""

_BITPACKED = (8, 16, 32, 64)
_SPLIT = (32, 64)
"""Widths of values for bit-packing and byte stream split."""

_TRIAL_VALUES = 1 << 14
_TRIED_RUNS = 0.25

_FEWEST_SYMBOL_BYTES = 1 << 15
_SHORTEST_SYMBOLS = 5
"""Limits for FSST: enough strings to compensate for the table, and long enough for symbols."""

_COMPRESSED_VALUE_BYTES = 1 << 15
_COMPRESSED_AVERAGE_BYTES = 1 << 12
"""Strings of at least this average size are compressed individually."""

_DICTIONARY_DIVISOR = 2
_DICTIONARY_RATIO = 0.8
_EXPECTED_SYMBOLS = 0.5
"""The expected share of the bytes of strings after FSST, for decisions before a trial."""


def chunk_codec(values: Block, preferences: Preferences, rules: PageRules) -> ChunkCodec:
    """Returns the codec of the values for chunks of a mini-block page.

    raises: UnsupportedFeature for values that chunks do not support
    """
    most_bytes = _most_bytes(rules)
    match values:
        case FixedWidth():
            return _fixed_width(values, preferences, most_bytes)
        case VariableWidth():
            return _strings(values, preferences, rules)
        case Lists():
            return fixed_size_list.chunks(values, most_bytes)
        case Struct() if packed_struct.is_fixed(values):
            return packed_struct.chunks(values, most_bytes)
        case _:
            raise UnsupportedFeature(f"a mini-block page of {type(values).__name__} values is not supported")


def dictionary_of(
    values: Block, preferences: Preferences, rules: PageRules, otherwise: ChunkCodec | None
) -> DictionaryValues | None:
    """Returns the values as a dictionary, if that is clearly smaller than anything else.

    otherwise: codec of fixed-width values without a dictionary
    """
    most_items = values.num_values // (preferences.dictionary_divisor or _DICTIONARY_DIVISOR)
    ratio = preferences.dictionary_ratio or _DICTIONARY_RATIO
    match values:
        case FixedWidth(bits_per_value=bits) if bits in rules.dictionary_bits and otherwise is not None:
            return dictionary.make(values, most_items, ratio * otherwise.num_bytes)
        case VariableWidth():
            offset_bytes = values.num_values * values.offset_bits // 8
            num_bytes = variable.num_bytes(values)
            # without FSST, or below it, nothing but a dictionary makes strings shorter
            share = _EXPECTED_SYMBOLS if _suits_symbols(values, preferences) else 1.0
            return dictionary.make(values, most_items, ratio * (offset_bytes + share * num_bytes))
        case _:
            return None


def numbers(
    pages: Sequence[pa.Buffer], bits: int, count: int, rules: PageRules
) -> Iterator[tuple[InlineBitpacking | Flat | None, int, list[int]]]:
    """Yields encodings of pages of a few words that are obvious, without preferences of a field.

    Yields the encoding, None for pages of one constant value; the binary logarithm of the items of a chunk; and
    the page numbers. Pages that may become runs or a dictionary are left out.

    pages: `count` words of `bits` bits each, fewer than FEW_VALUES
    """
    num_changes, packed_bytes = _kernels.number_facts(pages, bits, count).T
    plain_bytes = count * bits // 8
    are_packed = packed_bytes < plain_bytes
    num_bytes = np.minimum(packed_bytes, plain_bytes)
    fewest_runs = num_changes + 1
    are_clear = (num_changes > 0) & ((fewest_runs >= count) | (fewest_runs * (bits // 8 + 1) >= num_bytes))
    if bits in rules.dictionary_bits:
        are_clear &= ~dictionary.may_help(pages, bits, count, _DICTIONARY_RATIO * num_bytes)
    if rules.constant_values and (same := (num_changes == 0).nonzero()[0]).size:
        yield None, 0, same.tolist()
    if (packed := (are_clear & are_packed).nonzero()[0]).size:
        yield InlineBitpacking(bits), bitpacking.LOG2_GROUP, packed.tolist()
    if (plain := (are_clear & ~are_packed).nonzero()[0]).size:
        yield Flat(bits), flat.log2_chunk_items(bits, _most_bytes(rules)), plain.tolist()


def _most_bytes(rules: PageRules) -> int:
    """Returns the maximum bytes of the values of a chunk."""
    return min(CHUNK_BYTES, rules.max_chunk_bytes // 2)


def _fixed_width(values: FixedWidth, preferences: Preferences, most_bytes: int) -> ChunkCodec:
    """Returns runs, bit-packing or the plain values, whichever is smallest."""
    codec = flat.chunks(values, most_bytes)
    if preferences.plain or values.bits_per_value not in _BITPACKED:
        return _compressed(codec, preferences)
    if preferences.compression is not None:
        return _compressed(_before_compression(values, preferences, most_bytes), preferences)
    codec = min([codec, *(packing(values) for packing in PACKINGS)], key=lambda each: each.num_bytes)
    return _runs(values, preferences, codec) or codec


PACKINGS: Final[list[Callable[[FixedWidth], ChunkCodec]]] = [bitpacking.chunks]
"""Encodings of words of a mini-block page, besides runs; the smallest one is used."""


def _runs(values: FixedWidth, preferences: Preferences, other: ChunkCodec) -> ChunkCodec | None:
    """Returns runs, if they are smaller than `other` and the share of values that begin one is small enough."""
    fewest = rle.num_changes(values) + 1
    if fewest >= values.num_values * _most_runs(preferences):
        return None
    if fewest * (values.bits_per_value // 8 + 1) >= other.num_bytes:
        return None
    runs = rle.chunks(values)
    return runs if runs.num_bytes < other.num_bytes else None


def _most_runs(preferences: Preferences) -> float:
    return 1.0 if preferences.rle_threshold is None else preferences.rle_threshold


def _before_compression(values: FixedWidth, preferences: Preferences, most_bytes: int) -> ChunkCodec:
    """Returns the encoding that compresses best, by a trial on the first values."""
    candidates: list[Callable[[FixedWidth], ChunkCodec]] = []
    if preferences.byte_stream_split is not False and values.bits_per_value in _SPLIT:
        candidates.append(byte_stream_split.chunks)
    if preferences.byte_stream_split is not True or not candidates:
        candidates += [lambda part: flat.chunks(part, most_bytes), bitpacking.chunks]
        if rle.num_changes(values) + 1 < values.num_values * min(_most_runs(preferences), _TRIED_RUNS):
            candidates.append(rle.chunks)
    count = min(values.num_values, _TRIAL_VALUES)
    trial = FixedWidth(count, values.bits_per_value, values.data)

    def trial_bytes(candidate: Callable[[FixedWidth], ChunkCodec]) -> int:
        codec = _compressed(candidate(trial), preferences)
        encoded = codec.encode(uniform_starts(count, codec.log2_items))
        return sum(int(part.sizes.sum()) for part in encoded.buffers)

    return min(candidates, key=trial_bytes)(values)


def _compressed(codec: ChunkCodec, preferences: Preferences) -> ChunkCodec:
    if preferences.compression is None:
        return codec
    return general.chunks(codec, preferences.compression, preferences.compression_level)


def _strings(values: VariableWidth, preferences: Preferences, rules: PageRules) -> ChunkCodec:
    """Returns FSST codes if that helps, or the plain strings."""
    most_bytes, chunk_bytes = _most_bytes(rules), preferences.chunk_bytes or variable.CHUNK_BYTES
    if preferences.compression is Compression.ZSTD:
        most_bytes = min(DENSE_CHUNK_BYTES, rules.max_chunk_bytes // 2)
        chunk_bytes = preferences.chunk_bytes or most_bytes
    if _suits_symbols(values, preferences) and (codec := fsst.chunks(values, most_bytes, chunk_bytes)):
        return codec
    return _compressed(variable.chunks(values, most_bytes, chunk_bytes), preferences)


def _suits_symbols(values: VariableWidth, preferences: Preferences) -> bool:
    if preferences.plain or preferences.compression is not None:
        return False
    return variable.num_bytes(values) >= _FEWEST_SYMBOL_BYTES and variable.longest(values) >= _SHORTEST_SYMBOLS


def value_strings(values: VariableWidth, preferences: Preferences) -> tuple[Encoding, VariableWidth]:
    """Returns the encoding of individual strings, as in full-zip pages."""
    total, longest = variable.num_bytes(values), variable.longest(values)
    plain = Variable(values.offset_bits)
    if total >= _FEWEST_SYMBOL_BYTES and not preferences.plain and not preferences.symbols:
        is_large = longest > _COMPRESSED_VALUE_BYTES and total >= _COMPRESSED_AVERAGE_BYTES * values.num_values
        if preferences.compression is not None or (is_large and general.shrinks(values)):
            # lz4 is not used for single values
            compressed = general.encode_values(values, Compression.ZSTD, preferences.compression_level)
            return General(Compression.ZSTD, plain), compressed
        if is_large:
            return plain, values
    if _suits_symbols(values, preferences) and (encoded := fsst.encode(values)):
        return encoded
    return plain, values
