"""Arrow expressions as trees: `pyarrow.compute.Expression` exposes its structure only in its serialized form.

That form is an Arrow IPC file with one record batch of one row. Its columns are the literals and the function
options. The metadata of its schema is the expression in prefix order, as pairs with repeated keys:

    literal <column>      field_ref <name>      nested_field_ref <n>, then n field_ref
    call <function>, arguments, [options <column>], end <function>

The layout is internal to Arrow; a test pins it for every form.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Final, TypeAlias

import pyarrow as pa

from lance_sql.errors import InvalidArgument, UnsupportedFeature

from .tree import Path


@dataclass(frozen=True, slots=True)
class ColumnPath:
    """A column, or a field of struct columns."""

    path: Path


@dataclass(frozen=True, slots=True)
class Scalar:
    scalar: pa.Scalar


@dataclass(frozen=True, slots=True)
class Call:
    """A call. options: the function's options as a struct, None without.

    pairs: position of the whole call in the serialized form, a half-open range
    """

    name: str
    arguments: tuple[Node, ...]
    options: pa.StructScalar | None
    pairs: tuple[int, int]


Node: TypeAlias = ColumnPath | Scalar | Call


@dataclass(frozen=True, slots=True)
class Decoded:
    """A whole expression: its tree, and the data for serializing a part of it."""

    root: Node
    batch: pa.RecordBatch
    pairs: tuple[tuple[str, str], ...]

    def serialize(self, function: Call) -> bytes:
        """Serializes one call of the tree as a separate expression, in Arrow's format."""
        start, end = function.pairs
        metadata = pa.KeyValueMetadata(list(self.pairs[start:end]))
        batch = self.batch.replace_schema_metadata(metadata)
        sink = pa.BufferOutputStream()
        with pa.ipc.new_file(sink, batch.schema) as writer:
            writer.write_batch(batch)
        return bytes(sink.getvalue())


def decode(expression: object) -> Decoded:
    """Parses a `pyarrow.compute.Expression` into a tree.

    raises: UnsupportedFeature for an expression that Arrow cannot serialize (a column given by its position),
    or serializes in an unknown form
    """
    try:
        payload = expression.__reduce__()[1][0]
        batch = pa.ipc.open_file(payload).get_batch(0)
    except (pa.ArrowException, TypeError, LookupError) as error:
        if not type(expression).__module__.startswith("pyarrow."):
            raise InvalidArgument(
                f"filter={expression!r} is not a filter: pass SQL text such as 'id > 3', or an Arrow expression"
            ) from None
        raise UnsupportedFeature(f"The filter {expression} cannot be read: {error}") from error
    pairs = _metadata_pairs(batch.schema)
    return Decoded(_parse(pairs, batch, expression), batch, tuple(pairs))


def _parse(pairs: list[tuple[str, str]], batch: pa.RecordBatch, expression: object) -> Node:
    """Parses pairs in one pass with a stack of open calls, so that a long chain of ORs needs no recursion."""
    open_calls: list[_OpenCall] = []
    position = 0
    while position < len(pairs):
        start = position
        key, value = pairs[position]
        position += 1
        node: Node
        match key:
            case "literal":
                node = Scalar(batch.column(int(value))[0])
            case "field_ref":
                node = ColumnPath((value,))
            case "nested_field_ref":
                end = position + int(value)
                node = ColumnPath(tuple(name for _, name in pairs[position:end]))
                position = end
            case "call":
                open_calls.append(_OpenCall(value, start, []))
                continue
            case "options" if open_calls:
                open_calls[-1].options = batch.column(int(value))[0]
                continue
            case "end" if open_calls:
                node = open_calls.pop().close(position)
            case _:
                raise UnsupportedFeature(f"The filter {expression} has a part {key!r}, which is unknown")
        if not open_calls:
            return node
        open_calls[-1].arguments.append(node)
    raise UnsupportedFeature(f"The filter {expression} cannot be read: its serialized form ends early")


@dataclass(slots=True)
class _OpenCall:
    name: str
    start: int
    arguments: list[Node]
    options: pa.StructScalar | None = None

    def close(self, end: int) -> Call:
        return Call(self.name, tuple(self.arguments), self.options, (self.start, end))


class _ArrowSchema(ctypes.Structure):
    """The head of struct ArrowSchema of the Arrow C data interface."""

    _fields_ = (
        ("format", ctypes.c_char_p),
        ("name", ctypes.c_char_p),
        ("metadata", ctypes.c_void_p),
    )


_capsule_pointer: Final = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)


def _metadata_pairs(schema: pa.Schema) -> list[tuple[str, str]]:
    """Returns the schema's metadata in order; `schema.metadata` is a dict and loses repeated keys.

    source: Arrow C data interface, ArrowSchema.metadata: int32 count, then per entry two strings, each
    preceded by its int32 length
    """
    capsule = schema.__arrow_c_schema__()
    address = _ArrowSchema.from_address(_capsule_pointer(capsule, b"arrow_schema")).metadata
    if not address:
        return []
    reader = _Cursor(address)
    pairs = [(reader.string(), reader.string()) for _ in range(reader.int32())]
    # The capsule owns the memory that was read.
    del capsule
    return pairs


class _Cursor:
    def __init__(self, address: int) -> None:
        self._address = address

    def int32(self) -> int:
        value = ctypes.c_int32.from_address(self._address).value
        self._address += 4
        return value

    def string(self) -> str:
        length = self.int32()
        data = ctypes.string_at(self._address, length)
        self._address += length
        return data.decode()
