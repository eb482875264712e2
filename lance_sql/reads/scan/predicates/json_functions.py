"""Functions of members of JSON in filters, as pylance and DuckDB define them, evaluated on stored documents.

A document is the binary form of a column of JSON, or its text. `documents_of` names the columns that a filter needs in
the binary form only, so that no text is written for them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import pyarrow as pa

from lance_sql import _kernels
from lance_sql._kernels import JsonFaultKind, JsonResult
from lance_sql.errors import InvalidArgument
from lance_sql.format.schema import jsonb
from lance_sql.values import kinds

from . import json_paths
from .function import Function, Types
from .tree import And, Call, ColumnRef, IsNull, IsUnknown, Not, Or, Path, Predicate, Term

DOCUMENT: Final = pa.large_binary()
"""Type of a document that is a member of another one."""

BY_NAME: Final = {
    "json_get": (JsonResult.DOCUMENT, DOCUMENT),
    "json_get_int": (JsonResult.INTEGER, pa.int64()),
    "json_get_float": (JsonResult.FLOAT, pa.float64()),
    "json_get_bool": (JsonResult.BOOLEAN, pa.bool_()),
    "json_get_string": (JsonResult.SCALAR, pa.large_string()),
}
"""Functions whose second argument is the name of a member, or the number of an item."""

BY_PATH: Final = {
    "json_extract": (JsonResult.TEXT, pa.large_string()),
    "json_extract_string": (JsonResult.STRING, pa.large_string()),
    "json_integer": (JsonResult.INTEGER, pa.int64()),
    "json_float": (JsonResult.FLOAT, pa.float64()),
    "json_boolean": (JsonResult.BOOLEAN, pa.bool_()),
    "json_exists": (JsonResult.EXISTS, pa.bool_()),
    "json_array_length": (JsonResult.LENGTH, pa.int64()),
    "json_array_contains": (JsonResult.CONTAINS, pa.bool_()),
}
"""Functions whose second argument is a path. json_integer, json_float and json_boolean are casts of members."""

MEMBER_TYPES: Final = {
    "VARCHAR": (JsonResult.STRING, pa.large_string()),
    "BIGINT": (JsonResult.INTEGER, pa.int64()),
    "DOUBLE": (JsonResult.FLOAT, pa.float64()),
    "BOOLEAN": (JsonResult.BOOLEAN, pa.bool_()),
    "JSON": (JsonResult.TEXT, pa.large_string()),
}
"""Types of members as columns, by their names in SQL."""


def documents_of(predicate: Predicate) -> frozenset[str]:
    """Returns the columns of which a predicate needs documents and NULLs alone, if they are columns of JSON."""
    as_values = frozenset(_values(predicate))
    return frozenset(path[0] for path in predicate.columns if len(path) == 1) - {path[0] for path in as_values}


def _values(node: Predicate | Term) -> Iterator[Path]:
    """Yields the paths of columns whose own values are needed."""
    match node:
        case IsNull(ColumnRef()):
            return
        case Call(function, (ColumnRef(), *_)) if function in JSON_FUNCTIONS:
            return
        case Call(_, arguments) | And(arguments) | Or(arguments):
            for argument in arguments:
                yield from _values(argument)
        case IsUnknown(argument) | Not(argument):
            yield from _values(argument)
        case ColumnRef(path):
            yield path
        case Predicate():
            inside = [part for name in ("left", "right", "operand") if (part := getattr(node, name, None)) is not None]
            for part in inside:
                yield from _values(part)
            if not inside:
                yield from node.columns


def member(documents: pa.Array, path: str, type: str) -> pa.Array:
    """Returns the members at a path of documents, or of their texts.

    type: one of `MEMBER_TYPES`
    raises: InvalidArgument for a member that cannot become the type; CorruptFile, UnsupportedFeature for damaged
        documents
    """
    result, made = MEMBER_TYPES[type]
    if len(documents) == 0:
        return pa.array([], made)
    return _members(_stored(documents), json_paths.parse(path), result, made, "")


def _function(result: JsonResult, type: pa.DataType, *, by_name: bool) -> Function:
    def accepted(types: Types) -> pa.DataType | None:
        return type if kinds.is_text(types[0]) or types[0] == DOCUMENT else None

    def evaluate(_: pa.DataType, documents: pa.Array, member: pa.Array, wanted: pa.Array | None = None) -> pa.Array:
        if len(documents) == 0:
            return pa.array([], type)
        text = member[0].as_py()
        path = json_paths.either(text) if by_name else json_paths.parse(text)
        return _members(_stored(documents), path, result, type, "" if wanted is None else wanted[0].as_py())

    return Function(accepted, evaluate)


def _stored(documents: pa.Array) -> pa.Array:
    if documents.type == DOCUMENT:
        return documents
    try:
        return jsonb.from_text(documents)
    except jsonb.InvalidJson as error:
        shown = documents[error.index].as_py()[:60]
        raise InvalidArgument(f"The text {shown!r} is not JSON: {error.reason}") from error


def _members(
    documents: pa.Array, path: Sequence[_kernels.JsonStep], result: JsonResult, type: pa.DataType, wanted: str
) -> pa.Array:
    made, fault = _kernels.json_members(documents, path, result, wanted)
    if made is None:
        assert fault is not None
        kind, _, message = fault
        if kind == JsonFaultKind.MISMATCH:
            raise InvalidArgument(f"{message[0].upper()}{message[1:]}")
        raise jsonb.error_of(fault)
    return pa.Array._import_from_c(made.address, type)


JSON_FUNCTIONS: Final[dict[str, Function]] = {
    **{name: _function(*entry, by_name=True) for name, entry in BY_NAME.items()},
    **{name: _function(*entry, by_name=False) for name, entry in BY_PATH.items()},
}
