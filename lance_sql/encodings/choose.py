"""Which encoding the values of a page get."""

from lance_sql.encodings import (
    bitpacking,
    byte_stream_split,
    fixed_size_list,
    flat,
    general,
    packed_struct,
    rle,
    variable,
)
from lance_sql.encodings.blocks import Block, FixedWidth, Lists, Struct, VariableWidth
from lance_sql.encodings.chunked import ChunkCodec
from lance_sql.encodings.dialect import Dialect
from lance_sql.encodings.preferences import Preferences
from lance_sql.errors import UnsupportedFeature

CHUNK_BYTES = 1 << 15
"""Values of a chunk in bytes, where chunks may be that large."""


def chunk_codec(values: Block, preferences: Preferences, dialect: Dialect) -> ChunkCodec:
    """How the values become chunks of a mini-block page.

    raises: UnsupportedFeature for values that chunks cannot hold
    """
    most_bytes = min(CHUNK_BYTES, dialect.max_chunk_bytes // 2)
    match values:
        case FixedWidth():
            return _fixed_width(values, preferences, most_bytes)
        case VariableWidth():
            return _compressed(variable.chunks(values, most_bytes), preferences)
        case Lists():
            return fixed_size_list.chunks(values, most_bytes)
        case Struct() if packed_struct.is_fixed(values):
            return packed_struct.chunks(values, most_bytes)
        case _:
            raise UnsupportedFeature(f"a mini-block page of {type(values).__name__} values is not supported")


def _fixed_width(values: FixedWidth, preferences: Preferences, most_bytes: int) -> ChunkCodec:
    """Runs, bit-packing or the plain values, whichever takes the fewest bytes."""
    codec = flat.chunks(values, most_bytes)
    if preferences.plain or values.bits_per_value not in (8, 16, 32, 64):
        return _compressed(codec, preferences)
    if _wants_byte_streams(values, preferences):
        return _compressed(byte_stream_split.chunks(values), preferences)
    packed = bitpacking.chunks(values)
    if packed.num_bytes < codec.num_bytes:
        codec = packed
    return _compressed(_runs(values, preferences, codec) or codec, preferences)


def _runs(values: FixedWidth, preferences: Preferences, other: ChunkCodec) -> ChunkCodec | None:
    """Runs, where they take less than `other` and the share of values that begin one is small enough."""
    most_runs = values.num_values * (preferences.rle_threshold if preferences.rle_threshold is not None else 1)
    run_bytes = values.bits_per_value // 8 + 1
    fewest = rle.num_changes(values) + 1
    if fewest >= most_runs or fewest * run_bytes >= other.num_bytes:
        return None
    runs = rle.chunks(values)
    return runs if runs.num_bytes < other.num_bytes else None


def _wants_byte_streams(values: FixedWidth, preferences: Preferences) -> bool:
    # alone it saves nothing
    if preferences.compression is None or values.bits_per_value not in (32, 64):
        return False
    return preferences.byte_stream_split is True


def _compressed(codec: ChunkCodec, preferences: Preferences) -> ChunkCodec:
    if preferences.compression is None:
        return codec
    return general.chunks(codec, preferences.compression, preferences.compression_level)
