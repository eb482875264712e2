"""What a predicate can be on a page of which only statistics are known: for each page, whether it may hold a match.

Each predicate is asked two questions, whether it may be true and whether it may be false for a row of the page, so that
NOT only swaps them. Whatever statistics do not tell is a maybe.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from functools import lru_cache, reduce
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from .tree import And, ColumnRef, Compare, Const, In, IsNan, IsNull, Literal, Not, Or, Path, Predicate, TextMatch, Value

if TYPE_CHECKING:
    from lance_sql.file.statistics import PageStatistics

Pages: TypeAlias = npt.NDArray[np.bool_]

_FEW_VALUES: Final = 64
"""Of longer lists only the ends are looked at."""

_LIMITS: Final = {
    pa.from_numpy_dtype(name): np.iinfo(name)
    for name in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
}

_NEGATED: Final = {"=": "<>", "<>": "=", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}


def may_match(predicate: Predicate, statistics: Mapping[Path, PageStatistics], num_pages: int) -> Pages:
    """Whether each of `num_pages` pages may hold a row for which the predicate is true.

    statistics: of the columns of which there are any; all of them over the same pages
    """
    return _answers(predicate, statistics, num_pages).true


def must_match(predicate: Predicate, statistics: Mapping[Path, PageStatistics], num_pages: int) -> Pages:
    """Whether the predicate is true for every row of each of `num_pages` pages, as far as statistics tell.

    statistics: as for `may_match`
    """
    return _certain(predicate, statistics, num_pages).true


def _certain(predicate: Predicate, statistics: Mapping[Path, PageStatistics], num_pages: int) -> _Answers:
    """For each page, whether the predicate is true, and whether it is false, for all of its rows."""
    never = np.zeros(num_pages, np.bool_)
    match predicate:
        case Const(value):
            return _Answers(never | (value is True), never | (value is False))
        case And(arguments):
            parts = [_certain(argument, statistics, num_pages) for argument in arguments]
            return _Answers(
                reduce(np.logical_and, (part.true for part in parts)),
                reduce(np.logical_or, (part.false for part in parts)),
            )
        case Or(arguments):
            parts = [_certain(argument, statistics, num_pages) for argument in arguments]
            return _Answers(
                reduce(np.logical_or, (part.true for part in parts)),
                reduce(np.logical_and, (part.false for part in parts)),
            )
        case Not(argument):
            part = _certain(argument, statistics, num_pages)
            return _Answers(part.false, part.true)
        case Compare(op, ColumnRef(path), Literal(value)) if path in statistics:
            known = statistics[path]
            no_nulls = ~_may_hold(known.null_counts, ">", 0)
            return _Answers(
                no_nulls & ~_may_compare(_NEGATED[op], known, value), no_nulls & ~_may_compare(op, known, value)
            )
        case In(ColumnRef(path), values, _, has_null) if path in statistics:
            known = statistics[path]
            no_nulls = ~_may_hold(known.null_counts, ">", 0)
            return _Answers(never, no_nulls & ~_may_be_one_of(known, values) & (not has_null))
        case IsNull(ColumnRef(path)) if path in statistics:
            known = statistics[path]
            return _Answers(~_have_values(known), ~_may_hold(known.null_counts, ">", 0))
    return _Answers(never, never)


class _Answers(NamedTuple):
    """For each page, whether the predicate may be true and whether it may be false for one of its rows."""

    true: Pages
    false: Pages


def _answers(predicate: Predicate, statistics: Mapping[Path, PageStatistics], num_pages: int) -> _Answers:
    maybe = np.ones(num_pages, np.bool_)
    match predicate:
        case Const(value):
            return _Answers(maybe & (value is True), maybe & (value is False))
        case And(arguments):
            parts = [_answers(argument, statistics, num_pages) for argument in arguments]
            return _Answers(
                reduce(np.logical_and, (part.true for part in parts)),
                reduce(np.logical_or, (part.false for part in parts)),
            )
        case Or(arguments):
            parts = [_answers(argument, statistics, num_pages) for argument in arguments]
            return _Answers(
                reduce(np.logical_or, (part.true for part in parts)),
                reduce(np.logical_and, (part.false for part in parts)),
            )
        case Not(argument):
            part = _answers(argument, statistics, num_pages)
            return _Answers(part.false, part.true)
        case Compare(op, ColumnRef(path), Literal(value)) if path in statistics:
            known = statistics[path]
            return _Answers(_may_compare(op, known, value), _may_compare(_NEGATED[op], known, value))
        case In(ColumnRef(path), values) if path in statistics:
            return _Answers(_may_be_one_of(statistics[path], values), maybe)
        case TextMatch("prefix", ColumnRef(path), pattern) if path in statistics:
            return _Answers(_may_start_with(statistics[path], pattern), maybe)
        case IsNull(ColumnRef(path)) if path in statistics:
            known = statistics[path]
            return _Answers(_may_hold(known.null_counts, ">", 0), _have_values(known))
        case IsNan(ColumnRef(path)) if path in statistics:
            return _Answers(_may_have_nan(statistics[path]), _have_numbers(statistics[path]))
    return _Answers(maybe, maybe)


def _may_compare(op: str, known: PageStatistics, value: Value) -> Pages:
    """Whether a value that is not NULL may stand to `value` as `op` says."""
    if pa.types.is_floating(known.mins.type):
        return _may_compare_float(op, known, value)
    return _may_compare_numbers(op, known, value) & _have_values(known)


def _may_compare_float(op: str, known: PageStatistics, value: Value) -> Pages:
    # a NaN, which is above all other numbers, is in no bounds
    have_nan = _may_have_nan(known)
    if value != value:
        match op:
            case "=" | ">=":
                return have_nan
            case ">":
                return np.zeros(len(have_nan), np.bool_)
            case "<" | "<>":
                return _have_numbers(known)
            case _:
                return _have_values(known)
    numbers = _may_compare_numbers(op, known, value) & _have_numbers(known)
    return numbers | have_nan if op in (">", ">=", "<>") else numbers


def _may_compare_numbers(op: str, known: PageStatistics, value: Value) -> Pages:
    """The same for values that lie between the bounds."""
    match op:
        case "=":
            return _may_hold(known.mins, "<=", value) & _may_hold(known.maxs, ">=", value)
        case "<>":
            return _may_hold(known.mins, "<>", value) | _may_hold(known.maxs, "<>", value)
        case "<" | "<=":
            return _may_hold(known.mins, op, value)
        case _:
            return _may_hold(known.maxs, op, value)


def _may_have_nan(known: PageStatistics) -> Pages:
    if known.nan_counts is None:
        return np.ones(len(known.mins), np.bool_)
    return _may_hold(known.nan_counts, ">", 0)


def _have_values(known: PageStatistics) -> Pages:
    """Whether there may be a value that is not NULL."""
    return _may_differ(known.null_counts, known.num_values)


def _have_numbers(known: PageStatistics) -> Pages:
    """Whether there may be one that is not NaN either."""
    import pyarrow.compute as pc

    if known.nan_counts is None:
        return _have_values(known)
    return _may_differ(pc.add(known.null_counts, known.nan_counts), known.num_values)


def _may_be_one_of(known: PageStatistics, values: Sequence[Value]) -> Pages:
    if any(value != value for value in values):
        numbers = [value for value in values if value == value]
        rest = _may_be_one_of(known, numbers) if numbers else np.zeros(len(known.mins), np.bool_)
        return rest | _may_have_nan(known)
    if pa.types.is_integer(known.mins.type) and len(values) > 1:
        return _may_hold_one_of(known, values) & _have_values(known)
    if len(values) > _FEW_VALUES:
        least, most = min(values), max(values)
        return _may_hold(known.mins, "<=", most) & _may_hold(known.maxs, ">=", least) & _have_values(known)
    return reduce(np.logical_or, [_may_compare("=", known, value) for value in values])


def _may_hold_one_of(known: PageStatistics, values: Sequence[Value]) -> Pages:
    """Whether one of several integers lies between the bounds."""
    type = known.mins.type
    ascending = np.sort(pa.array(values, type).to_numpy())
    floor, ceiling = pa.scalar(_LIMITS[type].min, type), pa.scalar(_LIMITS[type].max, type)
    first = np.searchsorted(ascending, known.mins.fill_null(floor).to_numpy(), "left")
    end = np.searchsorted(ascending, known.maxs.fill_null(ceiling).to_numpy(), "right")
    answers: Pages = first < end
    return answers


def _may_start_with(known: PageStatistics, prefix: str) -> Pages:
    import pyarrow.compute as pc

    # what starts with the prefix is at least the prefix, and a maximum below it would bound that away
    from_below = _may_hold(known.maxs, ">=", prefix)
    begins = pc.utf8_slice_codeunits(known.mins, 0, len(prefix))
    return from_below & _may_hold(begins, "<=", prefix) & _have_values(known)


def _may_hold(bounds: pa.Array, op: str, value: Value) -> Pages:
    """`bound op value` for each page; true where there is no bound."""
    from . import comparisons

    numbers = _numbers(bounds) if type(value) in (int, float) else None
    if numbers is not None:
        compared: Pages = _NUMPY[op](numbers, value)
        return compared
    held = comparisons.compare_value(op, comparisons.plain(bounds), value)
    answers: Pages = held.fill_null(True).to_numpy(zero_copy_only=False)
    return answers


def _may_differ(counts: pa.Array, totals: pa.Array) -> Pages:
    import pyarrow.compute as pc

    numbers, others = _numbers(counts), _numbers(totals)
    if numbers is not None and others is not None:
        differ: Pages = numbers != others
        return differ
    answers: Pages = pc.not_equal(counts, totals).fill_null(True).to_numpy(zero_copy_only=False)
    return answers


_NUMPY: Final = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def _numbers(array: pa.Array) -> npt.NDArray[np.generic] | None:
    """Numbers, dates and times as NumPy has them, which takes less time than a comparison in Arrow; None where one is
    NULL, and for other types."""
    dtype = _dtype(array.type)
    if dtype is None or array.null_count:
        return None
    return np.frombuffer(array.buffers()[1], dtype, len(array), array.offset * dtype.itemsize)


@lru_cache(maxsize=256)
def _dtype(type: pa.DataType) -> np.dtype[np.generic] | None:
    if pa.types.is_float32(type) or pa.types.is_float64(type):
        return np.dtype(f"f{type.bit_width // 8}")
    if pa.types.is_unsigned_integer(type):
        return np.dtype(f"u{type.bit_width // 8}")
    if pa.types.is_signed_integer(type) or (pa.types.is_temporal(type) and not pa.types.is_interval(type)):
        return np.dtype(f"i{type.bit_width // 8}")
    return None
