"""Conversion of CompressiveEncoding messages of file version 2.3 to the tree of encodings.

2.3 has the encodings of 2.1 and 2.2, and some additional nested ones: numbers as ranges and as differences, run lengths
of two bytes, encoded offsets of strings, blocks with dictionaries.
"""

from lance_sql.errors import CorruptFile, UnsupportedFeature
from lance_sql.format.encodings import wire_v2_1
from lance_sql.format.encodings.tree import (
    Delta,
    DictionaryBlock,
    Encoding,
    Flat,
    Fsst,
    General,
    OffsetVariable,
    Range,
    Rle,
    Variable,
)
from lance_sql.format.proto import encodings_v2_1_pb2 as pb

_WIDTHS = (8, 16, 32, 64)
_NO_LATER = (Delta, DictionaryBlock, OffsetVariable, Range)


def encoding_from_wire(message: pb.CompressiveEncoding, depth: int = 0) -> Encoding:
    """Parses an encoding from `message`.

    raises: UnsupportedFeature for an unknown member, with its name; CorruptFile for impossible widths
    """
    if depth > wire_v2_1.MAX_DEPTH:
        raise CorruptFile(f"encodings are nested more than {wire_v2_1.MAX_DEPTH} deep")
    match message.WhichOneof("compression"):
        case "range":
            return Range(_width(message.range.bits_per_value), message.range.start, message.range.step)
        case "delta":
            deltas = encoding_from_wire(message.delta.deltas, depth + 1)
            return Delta(_width(message.delta.bits_per_value), message.delta.base, deltas)
        case "dictionary":
            both = message.dictionary
            return DictionaryBlock(
                encoding_from_wire(both.indices, depth + 1),
                encoding_from_wire(both.items, depth + 1),
                both.num_dictionary_items,
            )
        case "variable":
            if message.variable.HasField("values"):
                raise UnsupportedFeature("encoding 'variable' with compressed values is not supported")
            offsets = encoding_from_wire(message.variable.offsets, depth + 1)
            if isinstance(offsets, Flat) and offsets.bits_per_value in (32, 64):
                return Variable(offsets.bits_per_value)
            return OffsetVariable(offsets)
        case "fsst":
            return Fsst(message.fsst.symbol_table, encoding_from_wire(message.fsst.values, depth + 1))
        case "rle":
            values = encoding_from_wire(message.rle.values, depth + 1)
            return Rle(values, encoding_from_wire(message.rle.run_lengths, depth + 1))
        case "general":
            inside = encoding_from_wire(message.general.values, depth + 1)
            return General(wire_v2_1.scheme(message.general.compression), inside)
    return wire_v2_1.encoding_from_wire(message, depth)


def is_of_v2_2(encoding: Encoding) -> bool:
    """Whether files of version 2.2 have the encoding as well."""
    match encoding:
        case Rle(values=values, run_lengths=lengths):
            return lengths == Flat(8) and is_of_v2_2(values)
        case Fsst(values=values) | General(values=values):
            return is_of_v2_2(values)
    return not isinstance(encoding, _NO_LATER)


def _width(bits: int) -> int:
    if bits not in _WIDTHS:
        raise CorruptFile(f"numbers of {bits} bits are not possible")
    return int(bits)
