"""Conversion of ArrayEncoding messages of file version 2.0 to the tree of encodings, and back.

Source: messages `lance.encodings.ArrayEncoding` and its members.
"""

from functools import lru_cache

from google.protobuf.any_pb2 import Any

from lance_sql.errors import CorruptFile, UnsupportedFeature
from lance_sql.format.encodings.tree import (
    Compression,
    Constant,
    Encoding,
    FixedSizeList,
    Flat,
    Fsst,
    General,
    OutOfLineBitpacking,
    PackedStruct,
)
from lance_sql.format.encodings.wire_v2_1 import MAX_BITS, MAX_DEPTH
from lance_sql.format.old_files.tree import (
    ArrayTree,
    Binary,
    Bitpacked,
    Dictionary,
    FixedSizeBinary,
    List,
    Nullable,
    Stored,
    StructHeader,
)
from lance_sql.format.proto import encodings_v2_0_pb2 as pb

MAX_ITEMS = 1 << 48

_COMPRESSIONS = {"zstd": Compression.ZSTD, "lz4": Compression.LZ4}
_WORD_BITS = (8, 16, 32, 64)


def encoding_from_wire(message: pb.ArrayEncoding, depth: int = 0) -> Encoding:
    """Parses an encoding from `message`.

    raises: UnsupportedFeature for an unknown member, with its name; CorruptFile for impossible widths
    """
    if depth > MAX_DEPTH:
        raise CorruptFile(f"encodings are nested more than {MAX_DEPTH} deep")
    kind = message.WhichOneof("array_encoding")
    match kind:
        case "flat":
            return _flat(message.flat)
        case "nullable":
            return _nullable(message.nullable, depth)
        case "fixed_size_list":
            lists = message.fixed_size_list
            if lists.has_validity:
                raise UnsupportedFeature("encoding 'fixed_size_list' with a validity of its own is not supported")
            if lists.dimension == 0:
                raise CorruptFile("a fixed-size list of 0 items is not possible")
            return FixedSizeList(lists.dimension, encoding_from_wire(lists.items, depth + 1), False)
        case "list":
            _check_count(message.list.num_items, "list")
            ends = encoding_from_wire(message.list.offsets, depth + 1)
            return List(ends, message.list.null_offset_adjustment, message.list.num_items)
        case "struct":
            return StructHeader()
        case "binary":
            return _binary(message.binary, depth)
        case "dictionary":
            indices = encoding_from_wire(message.dictionary.indices, depth + 1)
            items = encoding_from_wire(message.dictionary.items, depth + 1)
            return Dictionary(indices, items, message.dictionary.num_dictionary_items)
        case "fsst":
            return Fsst(message.fsst.symbol_table, encoding_from_wire(message.fsst.binary, depth + 1))
        case "packed_struct":
            bits = tuple(_fixed_bits(encoding_from_wire(inner, depth + 1)) for inner in message.packed_struct.inner)
            if not 0 < sum(bits) <= MAX_BITS:
                raise CorruptFile(f"packed structs of {sum(bits)} bits are not possible")
            return PackedStruct(bits, Stored(_buffer(message.packed_struct.buffer), Flat(sum(bits))))
        case "bitpacked":
            packed = message.bitpacked
            word, width = packed.uncompressed_bits_per_value, packed.compressed_bits_per_value
            _check_packing(word, width)
            return Stored(_buffer(packed.buffer), Bitpacked(word, width, packed.signed))
        case "bitpacked_for_non_neg":
            groups = message.bitpacked_for_non_neg
            word, width = groups.uncompressed_bits_per_value, groups.compressed_bits_per_value
            _check_packing(word, width)
            return Stored(_buffer(groups.buffer), OutOfLineBitpacking(word, width))
        case "fixed_size_binary":
            num_bytes = message.fixed_size_binary.byte_width
            return FixedSizeBinary(num_bytes, encoding_from_wire(message.fixed_size_binary.bytes, depth + 1))
        case None:
            raise UnsupportedFeature("an encoding that this release does not support (no known member is set)")
        case _:
            raise UnsupportedFeature(f"encoding '{kind}' is not supported")


def tree_from_wire(message: bytes) -> ArrayTree:
    """Parses the layout of a page.

    raises: InvalidDataError for bytes that are not a message; UnsupportedFeature, CorruptFile as `encoding_from_wire`
    """
    return ArrayTree((), encoding_from_wire(pb.ArrayEncoding.FromString(message)))


@lru_cache(maxsize=1024)
def is_blob(column_encoding: bytes) -> bool:
    """Whether a ColumnEncoding of file version 2.0 marks blobs; later versions mark them in the page."""
    wrapped = Any.FromString(column_encoding)
    if wrapped.type_url.rpartition("/")[2] != "lance.encodings.ColumnEncoding":
        return False
    encoding = pb.ColumnEncoding.FromString(wrapped.value)
    # statistics around a column do not change its pages
    while encoding.WhichOneof("column_encoding") == "zone_index":
        encoding = encoding.zone_index.inner
    return bool(encoding.WhichOneof("column_encoding") == "blob")


def page_to_wire(encoding: Encoding) -> bytes:
    """Serializes the encoding of a page for the metadata of its column."""
    message = Any(type_url="/lance.encodings.ArrayEncoding", value=encoding_to_wire(encoding).SerializeToString())
    serialized: bytes = message.SerializeToString()
    return serialized


def encoding_to_wire(encoding: Encoding) -> pb.ArrayEncoding:
    """Returns the message of an encoding that can be written.

    raises: UnsupportedFeature for others
    """
    match encoding:
        case Constant(value=None):
            return pb.ArrayEncoding(nullable=pb.Nullable(all_nulls=pb.Nullable.AllNull()))
        case Nullable(validity, values):
            some = pb.Nullable.SomeNull(validity=_plain(validity), values=_plain(values))
            return pb.ArrayEncoding(nullable=pb.Nullable(some_nulls=some))
        case List(ends, adjustment, num_items):
            lists = pb.List(offsets=encoding_to_wire(ends), null_offset_adjustment=adjustment, num_items=num_items)
            return pb.ArrayEncoding(list=lists)
        case Binary(ends, data, adjustment):
            strings = pb.Binary(indices=encoding_to_wire(ends), bytes=_plain(data), null_adjustment=adjustment)
            return pb.ArrayEncoding(binary=strings)
        case Dictionary(indices, items, num_items):
            looked_up = pb.Dictionary(
                indices=encoding_to_wire(indices), items=encoding_to_wire(items), num_dictionary_items=num_items
            )
            return pb.ArrayEncoding(dictionary=looked_up)
        case Fsst(table, strings):
            return pb.ArrayEncoding(fsst=pb.Fsst(binary=encoding_to_wire(strings), symbol_table=table))
        case PackedStruct(field_bits, Stored(buffer_index, _)):
            inner = [encoding_to_wire(Stored(0, Flat(bits))) for bits in field_bits]
            packed = pb.PackedStruct(inner=inner, buffer=pb.Buffer(buffer_index=buffer_index))
            return pb.ArrayEncoding(packed_struct=packed)
        case StructHeader():
            return pb.ArrayEncoding(struct=pb.SimpleStruct())
    none = pb.Nullable.NoNull(values=_plain(encoding))
    return pb.ArrayEncoding(nullable=pb.Nullable(no_nulls=none))


def _plain(encoding: Encoding) -> pb.ArrayEncoding:
    """Returns the message without a node for NULLs."""
    match encoding:
        case Stored(buffer_index, Flat(bits)):
            return pb.ArrayEncoding(flat=pb.Flat(bits_per_value=bits, buffer=pb.Buffer(buffer_index=buffer_index)))
        case Stored(buffer_index, General(scheme, Flat(bits))):
            flat = pb.Flat(bits_per_value=bits, buffer=pb.Buffer(buffer_index=buffer_index))
            flat.compression.scheme = scheme.value
            return pb.ArrayEncoding(flat=flat)
        case FixedSizeList(dimension, values):
            lists = pb.FixedSizeList(dimension=dimension, items=encoding_to_wire(values))
            return pb.ArrayEncoding(fixed_size_list=lists)
    raise UnsupportedFeature(f"encoding {type(encoding).__name__} is not written in file version 2.0")


def _flat(message: pb.Flat) -> Encoding:
    bits = message.bits_per_value
    if bits != 1 and (bits % 8 or not 0 <= bits <= MAX_BITS):
        raise CorruptFile(f"encoding 'flat' with {bits} bits a value is not possible")
    flat: Encoding = Flat(bits)
    # early writers name a scheme for bitmaps as well, without compressing them
    if bits > 1 and message.compression.scheme not in ("", "none"):
        scheme = _COMPRESSIONS.get(message.compression.scheme)
        if scheme is None:
            raise UnsupportedFeature(f"compression scheme {message.compression.scheme!r} is not supported")
        flat = General(scheme, flat)
    return Stored(_buffer(message.buffer), flat)


def _nullable(message: pb.Nullable, depth: int) -> Encoding:
    match message.WhichOneof("nullability"):
        case "no_nulls":
            return encoding_from_wire(message.no_nulls.values, depth + 1)
        case "some_nulls":
            validity = encoding_from_wire(message.some_nulls.validity, depth + 1)
            return Nullable(validity, encoding_from_wire(message.some_nulls.values, depth + 1))
        case "all_nulls":
            return Constant(None)
        case _:
            raise CorruptFile("encoding 'nullable' without a statement on nulls")


def _binary(message: pb.Binary, depth: int) -> Binary:
    ends = encoding_from_wire(message.indices, depth + 1)
    data = encoding_from_wire(message.bytes, depth + 1)
    if not isinstance(data, Stored) or not _is_bytes(data.values):
        raise UnsupportedFeature(f"the bytes of strings encoded as {data} are not supported")
    return Binary(ends, data, message.null_adjustment)


def _is_bytes(encoding: Encoding) -> bool:
    match encoding:
        case General(values=inner):
            return _is_bytes(inner)
        case Flat(bits_per_value=8) | Bitpacked(word_bits=8) | OutOfLineBitpacking(word_bits=8):
            return True
    return False


def _fixed_bits(encoding: Encoding) -> int:
    """Returns the width of a member of a packed struct; its buffer is ignored."""
    match encoding:
        case Stored(values=Flat(bits_per_value=bits)) if bits % 8 == 0:
            return bits
        case FixedSizeList(dimension=dimension, values=values):
            return dimension * _fixed_bits(values)
    raise UnsupportedFeature(f"packed structs with members encoded as {encoding} are not supported")


def _buffer(message: pb.Buffer) -> int:
    if message.buffer_type != pb.Buffer.page:
        raise UnsupportedFeature(f"buffers of type {message.buffer_type} are not supported")
    return message.buffer_index


def _check_packing(word_bits: int, num_bits: int) -> None:
    if word_bits not in _WORD_BITS or not 0 < num_bits <= word_bits:
        raise CorruptFile(f"bit-packing of {word_bits}-bit words into {num_bits} bits is not possible")


def _check_count(count: int, what: str) -> None:
    if count > MAX_ITEMS:
        raise CorruptFile(f"encoding '{what}' with {count} items is not possible")
