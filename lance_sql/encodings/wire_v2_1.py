"""CompressiveEncoding messages of file versions 2.1 and 2.2 <-> the tree of encodings.

Source: messages `lance.encodings21.CompressiveEncoding` and its members.
"""

from lance_sql.encodings.tree import (
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
from lance_sql.errors import CorruptFile, UnsupportedFeature
from lance_sql.proto import encodings_v2_1_pb2 as pb

MAX_DEPTH = 32
"""Deeper trees than this mean nothing that a writer has a use for."""

MAX_BITS = 1 << 32
"""Widest value that is accepted, in bits (512 MiB)."""

_COMPRESSIONS = {pb.COMPRESSION_ALGORITHM_LZ4: Compression.LZ4, pb.COMPRESSION_ALGORITHM_ZSTD: Compression.ZSTD}
_SCHEMES = {compression: scheme for scheme, compression in _COMPRESSIONS.items()}
_WORD_BITS = (8, 16, 32, 64)


def encoding_from_wire(message: pb.CompressiveEncoding, depth: int = 0) -> Encoding:
    """The encoding that `message` describes.

    raises: UnsupportedFeature for a member this release does not know, by name; CorruptFile for impossible widths
    """
    if depth > MAX_DEPTH:
        raise CorruptFile(f"encodings are nested more than {MAX_DEPTH} deep")
    kind = message.WhichOneof("compression")
    match kind:
        case "flat":
            if message.flat.HasField("data"):
                raise UnsupportedFeature("encoding 'flat' with compressed data is not supported")
            return Flat(_width(message.flat.bits_per_value, "flat"))
        case "variable":
            if message.variable.HasField("values"):
                raise UnsupportedFeature("encoding 'variable' with compressed values is not supported")
            return Variable(_offset_bits(message.variable.offsets, depth))
        case "constant":
            return Constant(message.constant.value if message.constant.HasField("value") else None)
        case "inline_bitpacking":
            if message.inline_bitpacking.HasField("values"):
                raise UnsupportedFeature("encoding 'inline_bitpacking' with compressed values is not supported")
            return InlineBitpacking(_word(message.inline_bitpacking.uncompressed_bits_per_value))
        case "out_of_line_bitpacking":
            return _out_of_line(message.out_of_line_bitpacking, depth)
        case "fsst":
            return Fsst(message.fsst.symbol_table, encoding_from_wire(message.fsst.values, depth + 1))
        case "rle":
            values = encoding_from_wire(message.rle.values, depth + 1)
            return Rle(values, encoding_from_wire(message.rle.run_lengths, depth + 1))
        case "byte_stream_split":
            return ByteStreamSplit(encoding_from_wire(message.byte_stream_split.values, depth + 1))
        case "general":
            return General(scheme(message.general.compression), encoding_from_wire(message.general.values, depth + 1))
        case "fixed_size_list":
            lists = message.fixed_size_list
            dimension = lists.items_per_value
            if not 0 < dimension <= MAX_BITS:
                raise CorruptFile(f"a fixed-size list of {dimension} items is not possible")
            return FixedSizeList(dimension, encoding_from_wire(lists.values, depth + 1), lists.has_validity)
        case "packed_struct":
            bits = tuple(_width(bits, "packed_struct") for bits in message.packed_struct.bits_per_value)
            return PackedStruct(bits, encoding_from_wire(message.packed_struct.values, depth + 1))
        case "variable_packed_struct":
            return VariablePackedStruct(
                tuple(_packed_field(field, depth) for field in message.variable_packed_struct.fields)
            )
        case None:
            raise UnsupportedFeature("an encoding that this release does not know (no known member is set)")
        case _:
            raise UnsupportedFeature(f"encoding '{kind}' is not supported")


def encoding_to_wire(encoding: Encoding) -> pb.CompressiveEncoding:
    """The message that describes `encoding`."""
    message = pb.CompressiveEncoding()
    match encoding:
        case Flat(bits_per_value=bits):
            message.flat.bits_per_value = bits
        case Variable(offset_bits=bits):
            message.variable.offsets.flat.bits_per_value = bits
        case Constant(value=value):
            message.constant.SetInParent()
            if value is not None:
                message.constant.value = value
        case InlineBitpacking(word_bits=bits):
            message.inline_bitpacking.uncompressed_bits_per_value = bits
        case OutOfLineBitpacking(word_bits=word_bits, num_bits=num_bits):
            message.out_of_line_bitpacking.uncompressed_bits_per_value = word_bits
            message.out_of_line_bitpacking.values.flat.bits_per_value = num_bits
        case Fsst(symbol_table=table, values=values):
            message.fsst.symbol_table = table
            message.fsst.values.CopyFrom(encoding_to_wire(values))
        case Rle(values=values, run_lengths=lengths):
            message.rle.values.CopyFrom(encoding_to_wire(values))
            message.rle.run_lengths.CopyFrom(encoding_to_wire(lengths))
        case ByteStreamSplit(values=values):
            message.byte_stream_split.values.CopyFrom(encoding_to_wire(values))
        case General(compression=compression, values=values):
            message.general.compression.scheme = _SCHEMES[compression]
            message.general.values.CopyFrom(encoding_to_wire(values))
        case FixedSizeList(dimension=dimension, values=values, has_validity=has_validity):
            message.fixed_size_list.items_per_value = dimension
            message.fixed_size_list.values.CopyFrom(encoding_to_wire(values))
            message.fixed_size_list.has_validity = has_validity
        case PackedStruct(field_bits=field_bits, values=values):
            message.packed_struct.bits_per_value.extend(field_bits)
            message.packed_struct.values.CopyFrom(encoding_to_wire(values))
        case VariablePackedStruct(fields=fields):
            message.variable_packed_struct.fields.extend(_packed_field_to_wire(field) for field in fields)
        case _:
            raise AssertionError(encoding)
    return message


def _packed_field_to_wire(field: PackedField) -> pb.VariablePackedStruct.FieldEncoding:
    value = encoding_to_wire(field.values)
    if field.bits_per_value is not None:
        return pb.VariablePackedStruct.FieldEncoding(value=value, bits_per_value=field.bits_per_value)
    return pb.VariablePackedStruct.FieldEncoding(value=value, bits_per_length=field.bits_per_length)


def _width(bits: int, what: str) -> int:
    # fixed-size binaries may be of no byte
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


def _out_of_line(message: pb.OutOfLineBitpacking, depth: int) -> OutOfLineBitpacking:
    word_bits = _word(message.uncompressed_bits_per_value)
    if not message.HasField("values"):
        raise CorruptFile("encoding 'out_of_line_bitpacking' without values")
    if message.values.WhichOneof("compression") != "flat":
        raise UnsupportedFeature("encoding 'out_of_line_bitpacking' over anything but 'flat' is not supported")
    num_bits = int(message.values.flat.bits_per_value)
    if num_bits > word_bits:
        raise CorruptFile(f"bit-packing of {word_bits}-bit words into {num_bits} bits is not possible")
    return OutOfLineBitpacking(word_bits, num_bits)


def scheme(message: pb.BufferCompression) -> Compression:
    """The compressor that a message names.

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
