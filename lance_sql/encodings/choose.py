"""Which encoding the values of a page get."""

from lance_sql.encodings import fixed_size_list, flat, packed_struct, variable
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
            return flat.chunks(values, most_bytes)
        case VariableWidth():
            return variable.chunks(values, most_bytes)
        case Lists():
            return fixed_size_list.chunks(values, most_bytes)
        case Struct() if packed_struct.is_fixed(values):
            return packed_struct.chunks(values, most_bytes)
        case _:
            raise UnsupportedFeature(f"a mini-block page of {type(values).__name__} values is not supported")
