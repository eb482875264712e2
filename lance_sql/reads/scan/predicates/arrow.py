"""Conversion of Arrow expressions to predicates: the filters of DuckDB, DataFusion and Arrow users.

The semantics are SQL's for all callers: engines pass `is_in` and float comparisons and expect their own semantics,
not Arrow's. Expressions without a tree form are left to Arrow as an Opaque leaf, unless they read a floating-point
column, where Arrow's order could differ: those are refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, TypeAlias

import pyarrow as pa

from lance_sql.errors import InvalidArgument, UnsupportedFeature
from lance_sql.values import kinds

from . import column_names, folding
from .arrow_expression import Call, ColumnPath, Decoded, Node, Scalar, decode
from .build import MIRRORED, conjunction, disjunction, negate, never
from .constants import from_array, from_scalar, plain_type
from .evaluation import evaluate
from .tree import ColumnRef, Const, In, IsNan, IsNull, IsUnknown, Opaque, Predicate

if TYPE_CHECKING:
    import pyarrow.compute as pc

_COMPARISONS: Final = {
    "equal": "=",
    "not_equal": "<>",
    "less": "<",
    "less_equal": "<=",
    "greater": ">",
    "greater_equal": ">=",
}
_TEXT_MATCHES: Final = {
    "starts_with": "prefix",
    "ends_with": "suffix",
    "match_substring": "contains",
    "match_like": "like",
}
_CONDITIONS: Final = frozenset(
    [
        *_COMPARISONS,
        *_TEXT_MATCHES,
        "and_kleene",
        "and",
        "or_kleene",
        "or",
        "invert",
        "is_null",
        "is_valid",
        "is_nan",
        "is_in",
    ]
)
"""Functions whose result is true, false or unknown."""

_Typed: TypeAlias = tuple[ColumnRef, pa.DataType]


def from_arrow(expression: pc.Expression, schema: pa.Schema, *, table: str = "the table") -> Predicate:
    """Converts a `pyarrow.compute.Expression` to a predicate, in SQL semantics.

    schema: the columns that the filter may use; table: name of the table in messages
    raises: ColumnNotFound; InvalidArgument for types that cannot be compared; UnsupportedFeature for expressions
    that can neither be translated nor left to Arrow

    >>> import pyarrow.compute as pc
    >>> schema = pa.schema([("qty", pa.int64())])
    >>> str(from_arrow(pc.field("qty") > 1.5, schema))
    'qty > 1'
    """
    decoded = decode(expression)
    translator = _Translator(decoded, schema, table)
    try:
        return translator.predicate(decoded.root)
    except RecursionError:
        raise UnsupportedFeature("The filter is nested too deeply") from None


class _UnknownFormError(Exception):
    """Raised for a part without a translation, which becomes an Opaque leaf."""


class _Translator:
    def __init__(self, decoded: Decoded, schema: pa.Schema, table: str) -> None:
        self._decoded = decoded
        self._schema = schema
        self._table = table

    def predicate(self, node: Node) -> Predicate:
        match node:
            case ColumnPath(path):
                column, type = self._resolve(path)
                return folding.compare("=", column, type, True)
            case Scalar(scalar):
                value = from_scalar(scalar)
                if value is None or isinstance(value, bool):
                    return Const(value)
                raise InvalidArgument(f"The filter is {scalar}, not a condition")
            case Call():
                try:
                    return self._call(node)
                except _UnknownFormError:
                    return self._opaque(node)

    def _call(self, call: Call) -> Predicate:
        match call.name, call.arguments:
            case (("and_kleene" | "and"), _):
                return conjunction([self.predicate(part) for part in _chain(call)])
            case (("or_kleene" | "or"), _):
                return disjunction([self.predicate(part) for part in _chain(call)])
            case "invert", (argument,):
                return negate(self.predicate(argument))
            case "is_null", (Call(name) as condition,) if name in _CONDITIONS:
                return IsUnknown(self.predicate(condition))
            case "is_valid", (Call(name) as condition,) if name in _CONDITIONS:
                return negate(IsUnknown(self.predicate(condition)))
            case "is_null", (operand,):
                column, _ = self._operand(operand)
                null = IsNull(column)
                nan_is_null = call.options is not None and call.options["nan_is_null"].as_py()
                return disjunction([null, self._nan(operand)]) if nan_is_null else null
            case "is_valid", (operand,):
                return negate(IsNull(self._operand(operand)[0]))
            case "is_nan", (operand,):
                return self._nan(operand)
            case "is_in", (operand,):
                return self._member(call, operand)
            case "if_else", (condition, then, otherwise):
                return self._choice(condition, then, otherwise)
            case name, (left, right) if name in _COMPARISONS:
                return self._compare(_COMPARISONS[name], left, right)
            case name, (operand,) if name in _TEXT_MATCHES:
                return self._match(call, operand)
        raise _UnknownFormError

    def _compare(self, op: str, left: Node, right: Node) -> Predicate:
        left, right = _without_cast(left), _without_cast(right)
        if op in ("=", "<>") and (_is_condition(left) or _is_condition(right)):
            return _equal(self.predicate(left), self.predicate(right) if op == "=" else negate(self.predicate(right)))
        if isinstance(left, Scalar) and isinstance(right, Scalar):
            raise _UnknownFormError
        if isinstance(left, Scalar):
            return self._compare(MIRRORED[op], right, left)
        column, type = self._operand(left)
        if isinstance(right, Scalar):
            return folding.compare(op, column, type, from_scalar(right.scalar))
        other, other_type = self._operand(right)
        return folding.compare_terms(op, column, type, other, other_type)

    def _member(self, call: Call, operand: Node) -> Predicate:
        if call.options is None:
            raise _UnknownFormError
        column, type = self._operand(operand)
        listed = call.options["value_set"].values
        return folding.member(column, type, from_array(listed))

    def _choice(self, condition: Node, then: Node, otherwise: Node) -> Predicate:
        """Converts if_else with a condition that is never unknown, as `if_else(is_valid(x), is_in(x), null)`."""
        test = self.predicate(condition)
        if not (isinstance(test, IsNull) or isinstance(negate(test), IsNull)):
            raise _UnknownFormError
        yes, no = self.predicate(then), self.predicate(otherwise)
        if no == Const(None) and isinstance(yes, In) and test == negate(IsNull(yes.operand)):
            return yes
        return disjunction([conjunction([test, yes]), conjunction([negate(test), no])])

    def _match(self, call: Call, operand: Node) -> Predicate:
        column, type = self._operand(operand)
        if call.options is None or call.options["ignore_case"].as_py() or not kinds.is_text(plain_type(type)):
            raise _UnknownFormError
        pattern = call.options["pattern"].as_py()
        return folding.match_text(_TEXT_MATCHES[call.name], column, type, pattern)

    def _nan(self, operand: Node) -> Predicate:
        column, type = self._operand(operand)
        if pa.types.is_floating(plain_type(type)):
            return IsNan(column)
        return never(column)

    def _operand(self, node: Node) -> _Typed:
        node = _without_cast(node)
        if isinstance(node, ColumnPath):
            return self._resolve(node.path)
        if isinstance(node, Call) and node.name == "cast":
            column, type = self._operand(node.arguments[0])
            if _widens(plain_type(type), plain_type(_cast_target(node))):
                return column, type
        raise _UnknownFormError

    def _resolve(self, path: tuple[str, ...]) -> _Typed:
        return column_names.resolve(self._schema, path, self._table)

    def _opaque(self, call: Call) -> Predicate:
        used = list(dict.fromkeys(_fields(call)))
        for path in used:
            _, type = self._resolve(path)
            if kinds.any_leaf(type, lambda leaf: bool(pa.types.is_floating(plain_type(leaf)))):
                raise UnsupportedFeature(
                    f"Not supported in a filter on column {'.'.join(path)!r} ({type}), because Arrow's order "
                    f"of floating-point numbers is not SQL's: {_shown(call)}"
                )
        predicate = Opaque(self._decoded.serialize(call), tuple(used), _shown(call))
        self._check(predicate)
        return predicate

    def _check(self, predicate: Opaque) -> None:
        """Binds the expression to the schema now, so that an error is raised before the first batch."""
        names = {path[0] for path in predicate.paths}
        empty = pa.RecordBatch.from_pylist([], pa.schema([f for f in self._schema if f.name in names]))
        evaluate(predicate, empty)


def _chain(call: Call) -> Iterator[Node]:
    """Returns the operands of `a & b & c`, for any nesting to the left."""
    parts: list[Node] = []
    node: Node = call
    while isinstance(node, Call) and node.name == call.name and len(node.arguments) == 2:
        parts.append(node.arguments[1])
        node = node.arguments[0]
    parts.append(node)
    return reversed(parts)


def _fields(node: Node) -> Iterator[tuple[str, ...]]:
    match node:
        case ColumnPath(path):
            yield path
        case Call(arguments=arguments):
            for argument in arguments:
                yield from _fields(argument)


def _equal(left: Predicate, right: Predicate) -> Predicate:
    """Returns a predicate that is true if both are true or both false; unknown if one is unknown."""
    return disjunction([conjunction([left, right]), conjunction([negate(left), negate(right)])])


def _is_condition(node: Node) -> bool:
    return isinstance(node, Call) and node.name in _CONDITIONS


def _without_cast(node: Node) -> Node:
    """Evaluates the cast of a constant: comparisons are exact between all types anyway."""
    if isinstance(node, Call) and node.name == "cast" and isinstance(node.arguments[0], Scalar):
        scalar = node.arguments[0].scalar
        try:
            return Scalar(scalar.cast(_cast_target(node)))
        except pa.ArrowException:
            return node
    return node


def _cast_target(call: Call) -> pa.DataType:
    if call.options is None:
        raise _UnknownFormError
    return call.options["to_type"].type


def _widens(source: pa.DataType, target: pa.DataType) -> bool:
    """Whether a cast preserves every value and its order, so that a comparison needs no cast at all."""
    if source == target:
        return True
    if pa.types.is_integer(source):
        if pa.types.is_integer(target):
            signed = pa.types.is_signed_integer(source), pa.types.is_signed_integer(target)
            spare = target.bit_width - source.bit_width
            return bool(spare >= 0 if signed[0] == signed[1] else signed[1] and spare > 0)
        if pa.types.is_floating(target):
            return bool(source.bit_width < {16: 8, 32: 24, 64: 53}[target.bit_width])
        return pa.types.is_decimal(target) and bool(target.precision - target.scale >= 20)
    if pa.types.is_floating(source):
        return bool(pa.types.is_floating(target) and target.bit_width >= source.bit_width)
    if pa.types.is_decimal(source) and pa.types.is_decimal(target):
        digits = target.precision - target.scale - (source.precision - source.scale)
        return bool(digits >= 0 and target.scale >= source.scale)
    return False


def _shown(node: Node) -> str:
    match node:
        case ColumnPath(path):
            return ".".join(path)
        case Scalar(scalar):
            return str(scalar)
        case Call(name, arguments):
            return f"{name}({', '.join(map(_shown, arguments))})"
