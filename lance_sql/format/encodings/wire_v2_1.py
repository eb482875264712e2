"""Conversion of CompressiveEncoding messages of file versions 2.1 and 2.2 to the tree of encodings, and back.

Source: messages `lance.encodings21.CompressiveEncoding` and its members.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from lance_sql.errors import CorruptFile, UnsupportedFeature
from lance_sql.format.encodings.tree import (
    ByteStreamSplit,
    Compression,
    Constant,
    Encoding,
    FixedSizeList,
    Flat,
    Fsst,
    General,
    InlineBitpacking,
    OutOfLineBitpacking,
    PackedField,
    PackedStruct,
    Rle,
    Variable,
    VariablePackedStruct,
)
from lance_sql.format.proto import encodings_v2_1_pb2 as pb

MAX_DEPTH = 32
"""Maximum depth of trees; no writer needs deeper ones."""

MAX_BITS = 1 << 32
"""Widest value that is accepted, in bits (512 MiB)."""

_COMPRESSIONS = {pb.COMPRESSION_ALGORITHM_LZ4: Compression.LZ4, pb.COMPRESSION_ALGORITHM_ZSTD: Compression.ZSTD}
_SCHEMES = {compression: scheme for scheme, compression in _COMPRESSIONS.items()}
_WORD_BITS = (8, 16, 32, 64)


def encoding_from_wire(message: pb.CompressiveEncoding, depth: int = 0) -> Encoding:
    """Parses an encoding from `message`.

    raises: UnsupportedFeature for an unknown member, with its name; CorruptFile for impossible widths
    """
    if depth > MAX_DEPTH:
        raise CorruptFile(f"encodings are nested more than {MAX_DEPTH} deep")
    name = message.WhichOneof("compression")
    if name is None:
        raise UnsupportedFeature("an encoding that this release does not support (no known member is set)")
    spelling = BY_NAME.get(name)
    if spelling is None:
        raise UnsupportedFeature(f"encoding '{name}' is not supported")
    return spelling.read(getattr(message, name), depth)


def encoding_to_wire(encoding: Encoding) -> pb.CompressiveEncoding:
    """Returns the message of `encoding`."""
    spelling = BY_TYPE[type(encoding)]
    message = pb.CompressiveEncoding()
    member = getattr(message, spelling.name)
    # its presence may be all that the message contains
    member.SetInParent()
    spelling.write(encoding, member)
    return message


def _read_flat(message: pb.Flat, depth: int) -> Flat:
    if message.HasField("data"):
        raise UnsupportedFeature("encoding 'flat' with compressed data is not supported")
    return Flat(_width(message.bits_per_value, "flat"))


def _write_flat(encoding: Flat, message: pb.Flat) -> None:
    message.bits_per_value = encoding.bits_per_value


def _read_variable(message: pb.Variable, depth: int) -> Variable:
    if message.HasField("values"):
        raise UnsupportedFeature("encoding 'variable' with compressed values is not supported")
    return Variable(_offset_bits(message.offsets, depth))


def _write_variable(encoding: Variable, message: pb.Variable) -> None:
    message.offsets.flat.bits_per_value = encoding.offset_bits


def _read_constant(message: pb.Constant, depth: int) -> Constant:
    return Constant(message.value if message.HasField("value") else None)


def _write_constant(encoding: Constant, message: pb.Constant) -> None:
    if encoding.value is not None:
        message.value = encoding.value


def _read_inline(message: pb.InlineBitpacking, depth: int) -> InlineBitpacking:
    if message.HasField("values"):
        raise UnsupportedFeature("encoding 'inline_bitpacking' with compressed values is not supported")
    return InlineBitpacking(_word(message.uncompressed_bits_per_value))


def _write_inline(encoding: InlineBitpacking, message: pb.InlineBitpacking) -> None:
    message.uncompressed_bits_per_value = encoding.word_bits


def _read_out_of_line(message: pb.OutOfLineBitpacking, depth: int) -> OutOfLineBitpacking:
    word_bits = _word(message.uncompressed_bits_per_value)
    if not message.HasField("values"):
        raise CorruptFile("encoding 'out_of_line_bitpacking' without values")
    if message.values.WhichOneof("compression") != "flat":
        raise UnsupportedFeature("encoding 'out_of_line_bitpacking' over anything but 'flat' is not supported")
    num_bits = int(message.values.flat.bits_per_value)
    if num_bits > word_bits:
        raise CorruptFile(f"bit-packing of {word_bits}-bit words into {num_bits} bits is not possible")
    return OutOfLineBitpacking(word_bits, num_bits)


def _write_out_of_line(encoding: OutOfLineBitpacking, message: pb.OutOfLineBitpacking) -> None:
    message.uncompressed_bits_per_value = encoding.word_bits
    message.values.flat.bits_per_value = encoding.num_bits


def _read_fsst(message: pb.Fsst, depth: int) -> Fsst:
    return Fsst(message.symbol_table, encoding_from_wire(message.values, depth + 1))


def _write_fsst(encoding: Fsst, message: pb.Fsst) -> None:
    message.symbol_table = encoding.symbol_table
    message.values.CopyFrom(encoding_to_wire(encoding.values))


def _read_rle(message: pb.Rle, depth: int) -> Rle:
    values = encoding_from_wire(message.values, depth + 1)
    return Rle(values, encoding_from_wire(message.run_lengths, depth + 1))


def _write_rle(encoding: Rle, message: pb.Rle) -> None:
    message.values.CopyFrom(encoding_to_wire(encoding.values))
    message.run_lengths.CopyFrom(encoding_to_wire(encoding.run_lengths))


def _read_byte_stream_split(message: pb.ByteStreamSplit, depth: int) -> ByteStreamSplit:
    return ByteStreamSplit(encoding_from_wire(message.values, depth + 1))


def _write_byte_stream_split(encoding: ByteStreamSplit, message: pb.ByteStreamSplit) -> None:
    message.values.CopyFrom(encoding_to_wire(encoding.values))


def _read_general(message: pb.General, depth: int) -> General:
    return General(scheme(message.compression), encoding_from_wire(message.values, depth + 1))


def _write_general(encoding: General, message: pb.General) -> None:
    message.compression.scheme = _SCHEMES[encoding.compression]
    message.values.CopyFrom(encoding_to_wire(encoding.values))


def _read_fixed_size_list(message: pb.FixedSizeList, depth: int) -> FixedSizeList:
    dimension = message.items_per_value
    if not 0 < dimension <= MAX_BITS:
        raise CorruptFile(f"a fixed-size list of {dimension} items is not possible")
    return FixedSizeList(dimension, encoding_from_wire(message.values, depth + 1), message.has_validity)


def _write_fixed_size_list(encoding: FixedSizeList, message: pb.FixedSizeList) -> None:
    message.items_per_value = encoding.dimension
    message.values.CopyFrom(encoding_to_wire(encoding.values))
    message.has_validity = encoding.has_validity


def _read_packed_struct(message: pb.PackedStruct, depth: int) -> PackedStruct:
    bits = tuple(_width(bits, "packed_struct") for bits in message.bits_per_value)
    return PackedStruct(bits, encoding_from_wire(message.values, depth + 1))


def _write_packed_struct(encoding: PackedStruct, message: pb.PackedStruct) -> None:
    message.bits_per_value.extend(encoding.field_bits)
    message.values.CopyFrom(encoding_to_wire(encoding.values))


def _read_variable_packed_struct(message: pb.VariablePackedStruct, depth: int) -> VariablePackedStruct:
    return VariablePackedStruct(tuple(_packed_field(field, depth) for field in message.fields))


def _write_variable_packed_struct(encoding: VariablePackedStruct, message: pb.VariablePackedStruct) -> None:
    message.fields.extend(_packed_field_to_wire(field) for field in encoding.fields)


def _packed_field_to_wire(field: PackedField) -> pb.VariablePackedStruct.FieldEncoding:
    value = encoding_to_wire(field.values)
    if field.bits_per_value is not None:
        return pb.VariablePackedStruct.FieldEncoding(value=value, bits_per_value=field.bits_per_value)
    return pb.VariablePackedStruct.FieldEncoding(value=value, bits_per_length=field.bits_per_length)


def _width(bits: int, what: str) -> int:
    # fixed-size binaries may have zero bytes
    if not (what != "flat") <= bits <= MAX_BITS:
        raise CorruptFile(f"encoding '{what}' with {bits} bits a value is not possible")
    return int(bits)


def _word(bits: int) -> int:
    if bits not in _WORD_BITS:
        raise CorruptFile(f"bit-packing of {bits}-bit words is not possible")
    return int(bits)


def _offset_bits(message: pb.CompressiveEncoding, depth: int) -> int:
    offsets = encoding_from_wire(message, depth + 1)
    if not isinstance(offsets, Flat) or offsets.bits_per_value not in (32, 64):
        raise UnsupportedFeature(f"offsets encoded as {offsets} are not supported")
    return offsets.bits_per_value


def scheme(message: pb.BufferCompression) -> Compression:
    """Returns the compressor of a message.

    raises: UnsupportedFeature for another
    """
    try:
        return _COMPRESSIONS[message.scheme]
    except KeyError:
        raise UnsupportedFeature(f"compression scheme {message.scheme} is not supported") from None


def _packed_field(message: pb.VariablePackedStruct.FieldEncoding, depth: int) -> PackedField:
    values = encoding_from_wire(message.value, depth + 1)
    match message.WhichOneof("layout"):
        case "bits_per_value":
            bits = _width(message.bits_per_value, "variable_packed_struct")
            if bits % 8:
                raise CorruptFile(f"a packed field of {bits} bits is not byte aligned")
            return PackedField(values, bits, None)
        case "bits_per_length":
            if message.bits_per_length not in (32, 64):
                raise CorruptFile(f"a packed field with lengths of {message.bits_per_length} bits is not possible")
            return PackedField(values, None, int(message.bits_per_length))
        case _:
            raise CorruptFile("a packed field without a width")


@dataclass(frozen=True, slots=True)
class EncodingMember:
    """An encoding as a member of the message.

    read: takes the member, and how deep it is
    write: fills the member
    """

    name: str
    type: type[Encoding]
    read: Callable[[Any, int], Encoding]
    write: Callable[[Any, Any], None]


_SPELLINGS: Final = (
    EncodingMember("flat", Flat, _read_flat, _write_flat),
    EncodingMember("variable", Variable, _read_variable, _write_variable),
    EncodingMember("constant", Constant, _read_constant, _write_constant),
    EncodingMember("out_of_line_bitpacking", OutOfLineBitpacking, _read_out_of_line, _write_out_of_line),
    EncodingMember("inline_bitpacking", InlineBitpacking, _read_inline, _write_inline),
    EncodingMember("fsst", Fsst, _read_fsst, _write_fsst),
    EncodingMember("rle", Rle, _read_rle, _write_rle),
    EncodingMember("byte_stream_split", ByteStreamSplit, _read_byte_stream_split, _write_byte_stream_split),
    EncodingMember("general", General, _read_general, _write_general),
    EncodingMember("fixed_size_list", FixedSizeList, _read_fixed_size_list, _write_fixed_size_list),
    EncodingMember("packed_struct", PackedStruct, _read_packed_struct, _write_packed_struct),
    EncodingMember(
        "variable_packed_struct", VariablePackedStruct, _read_variable_packed_struct, _write_variable_packed_struct
    ),
)

BY_NAME: Final = {each.name: each for each in _SPELLINGS}
BY_TYPE: Final = {each.type: each for each in _SPELLINGS}
