"""Pruning of pages by statistics: whether each page may contain a match for a predicate.

For each predicate, the module computes whether it may be true, or may be false, for a row of the page. NOT swaps
the two. Unknown statistics count as maybe.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np
import pyarrow as pa

from lance_sql.values.arrays import BoolMask

from .build import OPPOSITE
from .numbers import compared
from .numbers import numbers as stored_numbers
from .tree import And, ColumnRef, Compare, Const, In, IsNan, IsNull, Literal, Not, Or, Path, Predicate, TextMatch, Value

if TYPE_CHECKING:
    from lance_sql.format.file.statistics import PageStatistics

Pages: TypeAlias = BoolMask

_FEW_VALUES: Final = 64
"""Limit of list values that are tested one by one; of longer lists only the ends are used."""

_LIMITS: Final = {
    pa.from_numpy_dtype(name): np.iinfo(name)
    for name in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
}


def may_match(predicate: Predicate, statistics: Mapping[Path, PageStatistics], num_pages: int) -> Pages:
    """Returns whether each of `num_pages` pages may contain a row for which the predicate is true.

    statistics: of the columns with statistics; all of them over the same pages
    """
    return _possible(predicate, statistics, num_pages, True)


def must_match(predicate: Predicate, statistics: Mapping[Path, PageStatistics], num_pages: int) -> Pages:
    """Returns whether the predicate is true for every row of each of `num_pages` pages, according to the statistics.

    statistics: as for `may_match`
    """
    return _certain(predicate, statistics, num_pages, True)


def _certain(predicate: Predicate, statistics: Mapping[Path, PageStatistics], num_pages: int, answer: bool) -> Pages:
    """Returns for each page whether the predicate has this answer for all of its rows."""
    match predicate:
        case Const(value):
            return np.full(num_pages, value is answer)
        case And(arguments) | Or(arguments):
            parts = [_certain(argument, statistics, num_pages, answer) for argument in arguments]
            return reduce(np.logical_and if isinstance(predicate, And) is answer else np.logical_or, parts)
        case Not(argument):
            return _certain(argument, statistics, num_pages, not answer)
        case Compare(op, ColumnRef(path), Literal(value)) if path in statistics:
            known = statistics[path]
            return _have_no_nulls(known) & ~_may_compare(OPPOSITE[op] if answer else op, known, value)
        case In(ColumnRef(path), values, _, has_null) if path in statistics and not (answer or has_null):
            known = statistics[path]
            return _have_no_nulls(known) & ~_may_be_one_of(known, values)
        case IsNull(ColumnRef(path)) if path in statistics:
            known = statistics[path]
            return ~_have_values(known) if answer else _have_no_nulls(known)
    return np.zeros(num_pages, np.bool_)


def _possible(predicate: Predicate, statistics: Mapping[Path, PageStatistics], num_pages: int, answer: bool) -> Pages:
    """Returns for each page whether the predicate may have this answer for one of its rows."""
    match predicate:
        case Const(value):
            return np.full(num_pages, value is answer)
        case And(arguments) | Or(arguments):
            parts = [_possible(argument, statistics, num_pages, answer) for argument in arguments]
            return reduce(np.logical_and if isinstance(predicate, And) is answer else np.logical_or, parts)
        case Not(argument):
            return _possible(argument, statistics, num_pages, not answer)
        case Compare(op, ColumnRef(path), Literal(value)) if path in statistics:
            return _may_compare(op if answer else OPPOSITE[op], statistics[path], value)
        case In(ColumnRef(path), values) if path in statistics and answer:
            return _may_be_one_of(statistics[path], values)
        case TextMatch("prefix", ColumnRef(path), pattern) if path in statistics and answer:
            return _may_start_with(statistics[path], pattern)
        case IsNull(ColumnRef(path)) if path in statistics:
            known = statistics[path]
            return ~_have_no_nulls(known) if answer else _have_values(known)
        case IsNan(ColumnRef(path)) if path in statistics:
            return _may_have_nan(statistics[path]) if answer else _have_numbers(statistics[path])
    return np.ones(num_pages, np.bool_)


def _may_compare(op: str, known: PageStatistics, value: Value) -> Pages:
    """Returns whether a value that is not NULL may satisfy `op` with `value`."""
    if pa.types.is_floating(known.mins.type):
        return _may_compare_float(op, known, value)
    return _may_compare_numbers(op, known, value) & _have_values(known)


def _may_compare_float(op: str, known: PageStatistics, value: Value) -> Pages:
    # a NaN, which is above all other numbers, is outside all bounds
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
    """Returns whether a value between the bounds may satisfy `op` with `value`."""
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


def _have_no_nulls(known: PageStatistics) -> Pages:
    return ~_may_hold(known.null_counts, ">", 0)


def _have_values(known: PageStatistics) -> Pages:
    """Returns whether there may be a value that is not NULL."""
    return _may_differ(known.null_counts, known.num_values)


def _have_numbers(known: PageStatistics) -> Pages:
    """Returns whether there may be a value that is neither NULL nor NaN."""
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
    """Returns whether one of several integers is between the bounds."""
    type = known.mins.type
    ascending = np.sort(pa.array(values, type).to_numpy())
    floor, ceiling = pa.scalar(_LIMITS[type].min, type), pa.scalar(_LIMITS[type].max, type)
    first = ascending.searchsorted(known.mins.fill_null(floor).to_numpy(), "left")
    end = ascending.searchsorted(known.maxs.fill_null(ceiling).to_numpy(), "right")
    answers: Pages = first < end
    return answers


def _may_start_with(known: PageStatistics, prefix: str) -> Pages:
    import pyarrow.compute as pc

    from . import comparisons

    # a text with the prefix is at least the prefix, which a maximum below the prefix excludes
    from_below = _may_hold(known.maxs, ">=", prefix)
    # by bytes, which have the order of texts, because bounds in a file need not be valid text
    least = comparisons.plain(known.mins)
    least = least.view(pa.large_binary() if pa.types.is_large_string(least.type) else pa.binary())
    start = prefix.encode()
    return from_below & _may_hold(pc.binary_slice(least, 0, len(start)), "<=", start) & _have_values(known)


def _may_hold(bounds: pa.Array, op: str, value: Value) -> Pages:
    """Computes `bound op value` for each page; true without a bound."""
    from . import comparisons

    if isinstance(value, (int, float)) and not isinstance(value, bool):
        numbers = stored_numbers(bounds)
        if numbers is not None:
            return compared(op, numbers, value)
    held = comparisons.compare_value(op, comparisons.plain(bounds), value)
    answers: Pages = held.fill_null(True).to_numpy(zero_copy_only=False)
    return answers


def _may_differ(counts: pa.Array, totals: pa.Array) -> Pages:
    import pyarrow.compute as pc

    numbers, others = stored_numbers(counts), stored_numbers(totals)
    if numbers is not None and others is not None:
        differ: Pages = numbers != others
        return differ
    answers: Pages = pc.not_equal(counts, totals).fill_null(True).to_numpy(zero_copy_only=False)
    return answers
