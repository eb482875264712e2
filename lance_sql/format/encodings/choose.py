"""Which encoding the values of a page get: the one that takes the fewest bytes, within what the field asks for."""

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
from lance_sql.format.encodings.blocks import Block, Dictionary, FixedWidth, Lists, Struct, VariableWidth
from lance_sql.format.encodings.chunked import ChunkCodec, uniform_starts
from lance_sql.format.encodings.preferences import Preferences
from lance_sql.format.encodings.tree import Compression, Encoding, Flat, General, InlineBitpacking, Variable
from lance_sql.format.file_versions import PageRules

CHUNK_BYTES = 1 << 14
"""Values of a chunk in bytes, where chunks may be that large."""

DENSE_CHUNK_BYTES = 1 << 15
"""Of strings that are compressed to be small: what repeats is found within a chunk, all of which a row needs."""

FEW_VALUES = dictionary.SAMPLED_VALUES
"""Of a page of so many, nothing is found out on a sample."""

_BITPACKED = (8, 16, 32, 64)
_SPLIT = (32, 64)
"""Widths of the values that bit-packing, and byte stream split, are for."""

_TRIAL_VALUES = 1 << 14
_TRIED_RUNS = 0.25

_FEWEST_SYMBOL_BYTES = 1 << 15
_SHORTEST_SYMBOLS = 5
"""Strings for FSST: enough of them to make up for the table, and long enough for symbols."""

_COMPRESSED_VALUE_BYTES = 1 << 15
_COMPRESSED_AVERAGE_BYTES = 1 << 12
"""Strings that are worth being compressed one by one."""

_DICTIONARY_DIVISOR = 2
_DICTIONARY_RATIO = 0.8
_EXPECTED_SYMBOLS = 0.5
"""The share of the bytes of strings that FSST is expected to leave, where the choice comes before the trial."""


def chunk_codec(values: Block, preferences: Preferences, rules: PageRules) -> ChunkCodec:
    """How the values become chunks of a mini-block page.

    raises: UnsupportedFeature for values that chunks cannot hold
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
) -> Dictionary | None:
    """The values as a dictionary, where that takes clearly less than anything else.

    otherwise: how values of one width would be encoded without
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
    """What pages of a few words become, where that is found out at a glance and no field asks for anything.

    How they are encoded, None for pages of one value everywhere; the binary logarithm of the items of a chunk; and
    which pages these are. Those that may become runs or a dictionary are left out.

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
    if rules.constant_values and (same := np.flatnonzero(num_changes == 0)).size:
        yield None, 0, same.tolist()
    if (packed := np.flatnonzero(are_clear & are_packed)).size:
        yield InlineBitpacking(bits), bitpacking.LOG2_GROUP, packed.tolist()
    if (plain := np.flatnonzero(are_clear & ~are_packed)).size:
        yield Flat(bits), flat.log2_chunk_items(bits, _most_bytes(rules)), plain.tolist()


def _most_bytes(rules: PageRules) -> int:
    """Of the values of a chunk."""
    return min(CHUNK_BYTES, rules.max_chunk_bytes // 2)


def _fixed_width(values: FixedWidth, preferences: Preferences, most_bytes: int) -> ChunkCodec:
    """Runs, bit-packing or the plain values, whichever takes the fewest bytes."""
    codec = flat.chunks(values, most_bytes)
    if preferences.plain or values.bits_per_value not in _BITPACKED:
        return _compressed(codec, preferences)
    if preferences.compression is not None:
        return _compressed(_before_compression(values, preferences, most_bytes), preferences)
    codec = min([codec, *(packing(values) for packing in PACKINGS)], key=lambda each: each.num_bytes)
    return _runs(values, preferences, codec) or codec


PACKINGS: Final[list[Callable[[FixedWidth], ChunkCodec]]] = [bitpacking.chunks]
"""How words of a mini-block page become shorter, beside runs; the one that takes the fewest bytes is taken."""


def _runs(values: FixedWidth, preferences: Preferences, other: ChunkCodec) -> ChunkCodec | None:
    """Runs, where they take less than `other` and the share of values that begin one is small enough."""
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
    """The encoding that compression makes the most of, found out on the first values."""
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
    """Codes of symbols where that helps, or the plain strings."""
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
    """How strings are stored one by one, as full-zip pages do."""
    total, longest = variable.num_bytes(values), variable.longest(values)
    plain = Variable(values.offset_bits)
    if total >= _FEWEST_SYMBOL_BYTES and not preferences.plain and not preferences.symbols:
        is_large = longest > _COMPRESSED_VALUE_BYTES and total >= _COMPRESSED_AVERAGE_BYTES * values.num_values
        if preferences.compression is not None or (is_large and general.shrinks(values)):
            # lz4 is not for single values
            compressed = general.encode_values(values, Compression.ZSTD, preferences.compression_level)
            return General(Compression.ZSTD, plain), compressed
        if is_large:
            return plain, values
    if _suits_symbols(values, preferences) and (encoded := fsst.encode(values)):
        return encoded
    return plain, values
