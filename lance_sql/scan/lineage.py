"""Planning by row lineage: filters on system columns are answered from the manifest, before any data file is opened.

Versions are stored as runs, so a filter on them is evaluated once per run, for all fragments together. Ids and
addresses exclude whole fragments by their bounds; what is left is evaluated row by row, still without a page being
read.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_sql import row_ranges
from lance_sql.row_ranges import RowRanges
from lance_sql.scan import system_columns
from lance_sql.scan.fragments import FragmentRows
from lance_sql.scan.masks import true_ranges
from lance_sql.scan.predicates import And, Compare, Const, In, Literal, Or, Predicate, evaluate
from lance_sql.scan.system_columns import CREATED_AT, LAST_UPDATED_AT, ROW_ADDRESS, ROW_ID

_RUN_COLUMNS = frozenset({(CREATED_AT,), (LAST_UPDATED_AT,)})
_LINEAGE_COLUMNS = frozenset((name,) for name in system_columns.NAMES)
_ONE_ROW = pa.RecordBatch.from_arrays([pa.nulls(1)], [ROW_ADDRESS])


def is_lineage(predicate: Predicate) -> bool:
    """Whether the predicate reads system columns only."""
    return predicate.columns <= _LINEAGE_COLUMNS


def select(fragments: Sequence[FragmentRows], predicates: Sequence[Predicate]) -> list[RowRanges]:
    """The live rows of each fragment that pass every predicate; all of them must be `is_lineage`."""
    constants = [predicate for predicate in predicates if not predicate.columns]
    if constants and not len(matching(_ONE_ROW, constants)):
        return [row_ranges.EMPTY] * len(fragments)
    predicates = [predicate for predicate in predicates if predicate.columns]
    by_runs = [predicate for predicate in predicates if predicate.columns <= _RUN_COLUMNS]
    by_rows = [predicate for predicate in predicates if not predicate.columns <= _RUN_COLUMNS]
    selected = _select_runs(fragments, by_runs) if by_runs else [None] * len(fragments)
    out = []
    for fragment, passed in zip(fragments, selected, strict=True):
        if (passed is not None and len(passed) == 0) or not all(_may_match(part, fragment) for part in by_rows):
            out.append(row_ranges.EMPTY)
            continue
        rows = fragment.live_rows()
        if passed is not None:
            rows = row_ranges.intersect(rows, passed)
        if by_rows and len(rows):
            rows = row_ranges.compose(rows, matching(_system_batch(fragment, rows, by_rows), by_rows))
        out.append(rows)
    return out


def matching(batch: pa.RecordBatch, predicates: Sequence[Predicate]) -> RowRanges:
    """The positions in the batch where every predicate is true."""
    mask = evaluate(And(tuple(predicates)) if len(predicates) > 1 else predicates[0], batch)
    return true_ranges(mask)


def _system_batch(fragment: FragmentRows, rows: RowRanges, predicates: Sequence[Predicate]) -> pa.RecordBatch:
    names = sorted({path[0] for predicate in predicates for path in predicate.columns})
    return pa.RecordBatch.from_arrays([system_columns.read(name, fragment, rows) for name in names], names)


def _select_runs(fragments: Sequence[FragmentRows], predicates: Sequence[Predicate]) -> list[RowRanges]:
    """The rows of each fragment whose runs of versions pass."""
    edges, created, updated = [], [], []
    for fragment in fragments:
        a, b = fragment.created_at_sequence(), fragment.last_updated_at_sequence()
        ends = np.union1d(np.cumsum(a.lengths), np.cumsum(b.lengths))
        starts = np.concatenate(([0], ends))[:-1]
        edges.append(np.stack((starts, ends), axis=1))
        created.append(a.versions[np.searchsorted(np.cumsum(a.lengths), starts, side="right")])
        updated.append(b.versions[np.searchsorted(np.cumsum(b.lengths), starts, side="right")])
    batch = pa.RecordBatch.from_arrays(
        [pa.array(_concat(created), pa.uint64()), pa.array(_concat(updated), pa.uint64())],
        [CREATED_AT, LAST_UPDATED_AT],
    )
    passed = matching(batch, predicates)
    out = []
    first = 0
    for runs in edges:
        inside = row_ranges.clip(passed, first, first + len(runs)) - first
        first += len(runs)
        # neighbouring runs touch, so a range of runs is a range of rows
        out.append(np.stack((runs[inside[:, 0], 0], runs[inside[:, 1] - 1, 1]), axis=1))
    return out


def _concat(parts: Sequence[npt.NDArray[np.uint64]]) -> npt.NDArray[np.uint64]:
    return np.concatenate(parts) if parts else np.empty(0, np.uint64)


def _may_match(predicate: Predicate, fragment: FragmentRows) -> bool:
    """False when no row of the fragment can pass, judging by the bounds of its ids and addresses."""
    match predicate:
        case And(arguments):
            return all(_may_match(argument, fragment) for argument in arguments)
        case Or(arguments):
            return any(_may_match(argument, fragment) for argument in arguments)
        case Const(value):
            return value is True
        case Compare(op, left, Literal(value=int(value))) if len(predicate.columns) == 1:
            bounds = _bounds(predicate, fragment) if not hasattr(left, "function") else None
            return bounds is None or _overlaps(op, bounds, value)
        case In(operand, values) if not hasattr(operand, "function"):
            bounds = _bounds(predicate, fragment)
            return bounds is None or any(isinstance(v, int) and _overlaps("=", bounds, v) for v in values)
        case _:
            return True


def _bounds(predicate: Predicate, fragment: FragmentRows) -> tuple[int, int] | None:
    """The smallest and largest value of the predicate's column in the fragment; None when that is not known cheaply."""
    (path,) = predicate.columns
    base = fragment.fragment_id << 32
    if path == (ROW_ID,):
        return fragment.row_id_sequence().bounds()
    if path == (ROW_ADDRESS,):
        return base, base + max(fragment.num_rows - 1, 0)
    return None


def _overlaps(op: str, bounds: tuple[int, int], value: int) -> bool:
    low, high = bounds
    return {
        "=": low <= value <= high,
        "<": low < value,
        "<=": low <= value,
        ">": high > value,
        ">=": high >= value,
        "<>": not low == high == value,
    }[op]
