"""Conversion of Python values to an Arrow array, exactly, or with an error that names the row.

Arrow truncates Python values to a given type: 1.9 becomes 1 among integers, and a datetime a date. It reports only
values that it cannot convert at all. Values of classes that can lose something are therefore checked first.

    integers       floats and decimals with digits after the point, booleans
    dates          times of day
    times          fractions of the unit
    structs        unknown members

A float among decimals stands for its shortest text: 19.99 is a value of decimal(9, 2), 1 / 3 is not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from functools import partial
from typing import Any, Final, TypeAlias
from uuid import UUID

import numpy as np
import pyarrow as pa

from lance_sql.errors import InvalidArgument
from lance_sql.format.casts.conversion import convert
from lance_sql.values import kinds

_Loss: TypeAlias = Callable[[Any], str | None]
"""Describes the loss for a value other than None; returns None without loss."""

_ERRORS: Final = (pa.ArrowException, TypeError, ValueError, OverflowError, AttributeError)
"""Errors that Arrow raises for values that it cannot convert."""

_NONE: Final = type(None)


def array(values: Sequence[Any], type: pa.DataType, name: str) -> pa.Array:
    """Converts values to a type, None to NULL. Floats are rounded to a narrower type.

    name: of the column, for messages
    raises: InvalidArgument with the column, the row and the value for a value that does not fit the type
    """
    stored = storage_type(type)
    is_plain = stored == type and not _has_decimals(type)
    values = list(values) if is_plain else [_stored(value, type) for value in values]
    _check(values, _check_of(stored), type, name)
    try:
        made = pa.array(values, stored)
    except _ERRORS as error:
        raise _named(values, stored, name, error) from error
    if _may_overflow(stored) and _has_infinity(made):
        _check(values, _check_of(stored, narrow_floats=True), type, name)
    return convert(made if isinstance(made, pa.Array) else made.combine_chunks(), type)


def _check(values: Sequence[Any], check: _Kept | None, type: pa.DataType, name: str) -> None:
    if check is None or check.passes(values):
        return
    for row, value in enumerate(values):
        loss = check.of(value)
        if loss is not None:
            raise InvalidArgument(f"Column {name!r}, row {row}: {value!r} does not fit {type}: {loss}")


def _named(values: Sequence[Any], type: pa.DataType, name: str, error: Exception) -> InvalidArgument:
    """Returns the error for the first value that Arrow cannot convert."""
    for row, value in enumerate(values):
        try:
            pa.array([value], type)
        except _ERRORS as own:
            reason = "it is no UUID" if isinstance(value, _NoUuid) else " ".join(str(own).split())
            return InvalidArgument(f"Column {name!r}, row {row}: {value!r} does not fit {type}: {reason}")
    return InvalidArgument(f"Column {name!r} does not fit {type}: {error}")


def storage_type(type: pa.DataType) -> pa.DataType:
    """Returns the type with the storage of extension types, at any depth: Arrow cannot build nested extension types."""
    return kinds.with_leaves(
        type, lambda leaf: storage_type(leaf.storage_type) if isinstance(leaf, pa.BaseExtensionType) else leaf
    )


class _NoUuid:
    """Text that is not a UUID, which Arrow would accept if it has 16 letters."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return repr(self._text)


def _stored(value: Any, type: pa.DataType) -> Any:
    """Returns a value with the bytes of its UUIDs, which may be text, and with decimals for floats among decimals."""
    if value is None:
        return None
    if pa.types.is_dictionary(type):
        return _stored(value, type.value_type)
    if pa.types.is_decimal(type):
        # infinities and NaN are for Arrow to refuse
        is_number = isinstance(value, (float, np.floating)) and np.isfinite(value)
        return Decimal(str(value)) if is_number else value
    if isinstance(type, pa.UuidType):
        if isinstance(value, UUID):
            return value.bytes
        try:
            return UUID(value).bytes if isinstance(value, str) else value
        except ValueError:
            return _NoUuid(value)
    if pa.types.is_struct(type) and isinstance(value, Mapping):
        return {
            name: _stored(each, type.field(name).type) if type.get_field_index(name) >= 0 else each
            for name, each in value.items()
        }
    if pa.types.is_map(type):
        pairs = value.items() if isinstance(value, Mapping) else value
        return [(_stored(key, type.key_type), _stored(item, type.item_type)) for key, item in pairs]
    if pa.types.is_nested(type) and isinstance(value, Iterable) and not isinstance(value, (str, bytes, Mapping)):
        return [_stored(item, type.value_type) for item in value]
    return value


def _has_decimals(type: pa.DataType) -> bool:
    if pa.types.is_dictionary(type):
        return _has_decimals(type.value_type)
    return any(_has_decimals(field.type) for field in kinds.members(type)) or bool(pa.types.is_decimal(type))


class _Kept:
    """The check of values for one type.

    exact: classes without loss
    loss: describes the loss for a value of another class
    """

    def __init__(self, exact: Iterable[type], loss: _Loss) -> None:
        self._exact = frozenset((*exact, _NONE))
        self._loss = loss

    def passes(self, values: Iterable[Any]) -> bool:
        """Whether no value needs a check."""
        return self._exact.issuperset(map(type, values))

    def of(self, value: Any) -> str | None:
        """Describes the loss for the value; None without loss."""
        return None if type(value) in self._exact else self._loss(value)


def _check_of(type: pa.DataType, *, narrow_floats: bool = False) -> _Kept | None:
    """Returns the check for a type, or None if Arrow loses nothing.

    narrow_floats: whether numbers may be too large for the type
    """
    inner = partial(_check_of, narrow_floats=narrow_floats)
    if pa.types.is_dictionary(type):
        return inner(type.value_type)
    if pa.types.is_integer(type):
        return _Kept([int], _of_integer)
    if pa.types.is_floating(type):
        is_narrow = narrow_floats and type.bit_width < 64
        return _Kept([] if is_narrow else [float, int], partial(_of_float, kind=type.to_pandas_dtype()))
    if pa.types.is_date(type):
        return _Kept([date], _of_date)
    if pa.types.is_timestamp(type):
        exact = [date, datetime] if type.unit in ("us", "ns") else [date]
        return _Kept(exact, partial(_of_moment, unit=type.unit))
    if pa.types.is_time(type):
        return _Kept([time] if type.unit in ("us", "ns") else [], partial(_of_time, unit=type.unit))
    if pa.types.is_duration(type):
        return _Kept([timedelta] if type.unit in ("us", "ns") else [], partial(_of_span, unit=type.unit))
    if pa.types.is_struct(type):
        return _Kept([], partial(_of_struct, members={field.name: inner(field.type) for field in type}))
    if pa.types.is_map(type):
        return _Kept([], partial(_of_map, keys=inner(type.key_type), items=inner(type.item_type)))
    if pa.types.is_nested(type):
        items = inner(type.value_type)
        return None if items is None else _Kept([], partial(_of_list, items=items))
    return None


def _of_integer(value: Any) -> str | None:
    if isinstance(value, (bool, np.bool_)):
        return "it is a boolean"
    if not isinstance(value, (float, Decimal, np.floating)):
        return None
    try:
        return None if value == int(value) else "it has digits after the point: round it first"
    except (OverflowError, ValueError):
        # NaN and infinities, which Arrow refuses
        return None


def _of_float(value: Any, *, kind: Callable[[Any], Any]) -> str | None:
    if isinstance(value, (bool, np.bool_)):
        return "it is a boolean"
    if not isinstance(value, (int, float, np.number)):
        return None
    try:
        with np.errstate(over="ignore"):
            is_too_large = np.isfinite(float(value)) and not np.isfinite(kind(float(value)))
    except OverflowError:
        is_too_large = True
    return "it is too large" if is_too_large else None


def _of_date(value: Any) -> str | None:
    if isinstance(value, datetime) and value == value:
        is_day = not (
            value.hour or value.minute or value.second or value.microsecond or getattr(value, "nanosecond", 0)
        )
    else:
        is_day = not isinstance(value, np.datetime64) or np.isnat(value) or value.astype("M8[D]") == value
    return None if is_day else "it has a time of day: take its date"


def _of_moment(value: Any, *, unit: str) -> str | None:
    if isinstance(value, np.datetime64):
        is_whole = np.isnat(value) or value.astype(f"M8[{unit}]") == value
    else:
        is_whole = not isinstance(value, datetime) or value != value or _is_whole(value.microsecond, value, unit)
    return None if is_whole else _FRACTION


def _of_time(value: Any, *, unit: str) -> str | None:
    return _FRACTION if isinstance(value, time) and not _is_whole(value.microsecond, value, unit) else None


def _of_span(value: Any, *, unit: str) -> str | None:
    if isinstance(value, np.timedelta64):
        is_whole = np.isnat(value) or value.astype(f"m8[{unit}]") == value
    else:
        is_whole = not isinstance(value, timedelta) or value != value or _is_whole(value.microseconds, value, unit)
    return None if is_whole else _FRACTION


_FRACTION: Final = "it has a fraction of the unit: round it first"


def _is_whole(microseconds: int, value: Any, unit: str) -> bool:
    """Whether a time is a whole number of units. Those of pandas have nanoseconds."""
    nanoseconds = getattr(value, "nanosecond", getattr(value, "nanoseconds", 0))
    return bool((microseconds * 1000 + nanoseconds) % kinds.NANOSECONDS[unit] == 0)


def _of_struct(value: Any, *, members: Mapping[str, _Kept | None]) -> str | None:
    if not isinstance(value, Mapping):
        return None
    for name, member in value.items():
        if name not in members:
            return f"there is no member {name!r}"
        check = members[name]
        loss = None if check is None else check.of(member)
        if loss is not None:
            return f"{name} is {member!r}: {loss}"
    return None


def _of_map(value: Any, *, keys: _Kept | None, items: _Kept | None) -> str | None:
    try:
        pairs = [(key, item) for key, item in (value.items() if isinstance(value, Mapping) else value)]
    except (TypeError, ValueError):
        return None
    sides = ((keys, [key for key, _ in pairs]), (items, [item for _, item in pairs]))
    return next((loss for check, side in sides if check is not None and (loss := _first(side, check))), None)


def _of_list(value: Any, *, items: _Kept) -> str | None:
    if isinstance(value, (str, bytes)) or not isinstance(value, Iterable):
        return None
    return _first(list(value), items)


def _first(values: Sequence[Any], check: _Kept) -> str | None:
    if check.passes(values):
        return None
    return next((f"{value!r}: {loss}" for value in values if (loss := check.of(value)) is not None), None)


def _may_overflow(type: pa.DataType) -> bool:
    return kinds.any_leaf(type, lambda leaf: bool(pa.types.is_float16(leaf) or pa.types.is_float32(leaf)))


def _has_infinity(values: pa.Array) -> bool:
    type = values.type
    if pa.types.is_struct(type):
        return any(map(_has_infinity, values.flatten()))
    if pa.types.is_map(type):
        return _has_infinity(values.keys) or _has_infinity(values.items)
    if pa.types.is_nested(type):
        return _has_infinity(values.values)
    return bool(pa.types.is_floating(type) and np.isinf(values.to_numpy(zero_copy_only=False)).any())
