"""Planning by row lineage: filters on system columns are evaluated from the manifest, before any data file is opened.

The bounds of ids, addresses and versions of all fragments are columns of the manifest. Most fragments are pruned,
or taken whole, by comparing these. The others are evaluated one by one: versions once per run; ids and addresses
row by row, unless a list of them names the rows to look up. No page is read.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from lance_sql._kernels import SequenceForm
from lance_sql.format.file.statistics import PageStatistics
from lance_sql.reads.scan import system_columns
from lance_sql.reads.scan.candidates import Candidates
from lance_sql.reads.scan.masks import true_ranges
from lance_sql.reads.scan.predicates import (
    ColumnRef,
    Compare,
    In,
    Literal,
    Path,
    Predicate,
    conjunction,
    evaluate,
    may_match,
    must_match,
)
from lance_sql.reads.scan.system_columns import CREATED_AT, LAST_UPDATED_AT, ROW_ADDRESS, ROW_ID
from lance_sql.table.fragment_table import FragmentTable, SequenceBounds
from lance_sql.table.open_fragment import OpenFragment, check_row_history
from lance_sql.table.row_versions import DEFAULT_VERSION
from lance_sql.values import row_ranges
from lance_sql.values.arrays import I64, U64, BoolMask
from lance_sql.values.row_ranges import RowRanges

_RUN_COLUMNS = frozenset({(CREATED_AT,), (LAST_UPDATED_AT,)})
_NUMBERS = frozenset({ROW_ID, ROW_ADDRESS})
_ONE_ROW = pa.RecordBatch.from_struct_array(pa.Array.from_buffers(pa.struct([]), 1, [None]))
_LINEAGE_COLUMNS = frozenset((name,) for name in system_columns.NAMES)


def is_lineage(predicate: Predicate) -> bool:
    """Whether the predicate reads only system columns, or nothing at all."""
    return predicate.columns <= _LINEAGE_COLUMNS


def select(candidates: Candidates, predicates: Sequence[Predicate]) -> Candidates:
    """Returns the live rows that pass every predicate; all of them must be `is_lineage`."""
    constants = [part for part in predicates if not part.columns]
    if constants and not len(matching(_ONE_ROW, constants)):
        return candidates.narrowed(candidates.fragment_indices[:0], {})
    predicates = [part for part in predicates if part.columns]
    if not predicates:
        return candidates
    predicate = conjunction(predicates)
    if predicate.columns & _RUN_COLUMNS:
        check_row_history(candidates.snapshot.open_fragments.files)
    known = {column: _as_statistics(*_bounds(candidates, column)) for column in predicate.columns}
    count = len(candidates)
    possible = may_match(predicate, known, count)
    whole = must_match(predicate, known, count)
    undecided = candidates.fragment_indices[possible & ~whole].tolist()
    by_runs = [part for part in predicates if part.columns <= _RUN_COLUMNS]
    by_rows = [part for part in predicates if not part.columns <= _RUN_COLUMNS]
    parts: dict[int, RowRanges] = {}
    if undecided:
        opened = [candidates.open(fragment_index) for fragment_index in undecided]
        passed = _select_runs(opened, by_runs) if by_runs else [None] * len(opened)
        for fragment_index, fragment, inside in zip(undecided, opened, passed, strict=True):
            parts[fragment_index] = _select_rows(candidates.live_rows(fragment_index), fragment, inside, by_rows)
    return candidates.narrowed(candidates.fragment_indices[possible], parts)


def with_row_ids(candidates: Candidates, wanted: U64) -> I64:
    """Returns the indices of fragments that may have a row with one of these ids."""
    least, greatest, _ = _bounds(candidates, (ROW_ID,))
    ascending = np.sort(wanted)
    first = ascending.searchsorted(least, "left")
    end = ascending.searchsorted(greatest, "right")
    fragment_indices: I64 = candidates.fragment_indices[first < end]
    return fragment_indices


def matching(batch: pa.RecordBatch, predicates: Sequence[Predicate]) -> RowRanges:
    """Returns the positions in the batch where every predicate is true."""
    mask = evaluate(conjunction(predicates), batch)
    return true_ranges(mask)


_Bounds: TypeAlias = tuple[U64, U64, BoolMask]
"""The least and the greatest value of each fragment, 0 and 2^64 - 1 if unknown, and whether they are known."""


def _bounds(candidates: Candidates, column: Path) -> _Bounds:
    table, fragment_indices = candidates.fragments.table, candidates.fragment_indices
    stable = candidates.snapshot.manifest.has_stable_row_ids
    if column == (CREATED_AT,):
        return _bounded(table.created_at, fragment_indices, default=DEFAULT_VERSION)
    if column == (LAST_UPDATED_AT,):
        return _bounded(table.last_updated_at, fragment_indices, default=DEFAULT_VERSION)
    if column == (ROW_ID,) and stable:
        return _bounded(table.row_ids, fragment_indices, default=None)
    return _addresses(table, fragment_indices)


def _addresses(table: FragmentTable, fragment_indices: I64) -> _Bounds:
    firsts = table.ids[fragment_indices] << np.uint64(32)
    return firsts, firsts | np.uint64(2**32 - 1), np.ones(len(fragment_indices), np.bool_)


def _bounded(sequences: SequenceBounds, fragment_indices: I64, *, default: int | None) -> _Bounds:
    """default: the value of every row without a sequence; None if that is damage"""
    least, greatest = sequences.least[fragment_indices], sequences.greatest[fragment_indices]
    known = sequences.are_known[fragment_indices]
    if default is not None:
        absent = sequences.forms[fragment_indices] == SequenceForm.NONE
        least, greatest = np.where(absent, np.uint64(default), least), np.where(absent, np.uint64(default), greatest)
        known = known | absent
    return least, greatest, known


def _as_statistics(least: U64, greatest: U64, known: BoolMask) -> PageStatistics:
    count = len(least)
    return PageStatistics(
        pa.nulls(count, pa.int64()),
        pa.array(np.zeros(count, np.int64)),
        pa.array(least, pa.uint64(), mask=~known),
        pa.array(greatest, pa.uint64(), mask=~known),
    )


def _select_rows(
    rows: RowRanges, fragment: OpenFragment, passed: RowRanges | None, by_rows: Sequence[Predicate]
) -> RowRanges:
    """Returns those of the rows that pass.

    passed: the rows of the fragment whose versions pass; None for all of them
    """
    if passed is not None:
        rows = row_ranges.intersect(rows, passed)
    others = []
    for predicate in by_rows:
        listed = _listed(predicate)
        if listed is None:
            others.append(predicate)
        else:
            rows = row_ranges.intersect(rows, _numbered(fragment, *listed))
    if others and len(rows):
        rows = row_ranges.compose(rows, matching(_system_batch(fragment, rows, others), others))
    return rows


def _listed(predicate: Predicate) -> tuple[str, U64] | None:
    """Returns the column of ids or addresses, and the numbers that the predicate allows; None for other predicates."""
    match predicate:
        case Compare("=", ColumnRef((name,)), Literal(value)) if name in _NUMBERS:
            values: Sequence[object] = [value]
        case In(ColumnRef((name,)), values) if name in _NUMBERS:
            pass
        case _:
            return None
    return name, np.unique(np.array(values, np.uint64))


def _numbered(fragment: OpenFragment, column: str, numbers: U64) -> RowRanges:
    """Looks up the rows of a fragment with these ids or addresses."""
    if column == ROW_ID:
        _, offsets = fragment.row_id_sequence.positions(numbers)
        return row_ranges.from_sorted(np.unique(offsets))
    inside = numbers[numbers >> np.uint64(32) == fragment.id] & np.uint64(2**32 - 1)
    return row_ranges.from_sorted(inside.astype(np.int64))


def _system_batch(fragment: OpenFragment, rows: RowRanges, predicates: Sequence[Predicate]) -> pa.RecordBatch:
    names = sorted({path[0] for predicate in predicates for path in predicate.columns})
    return pa.RecordBatch.from_arrays([system_columns.read(name, fragment, rows) for name in names], names)


def _select_runs(fragments: Sequence[OpenFragment], predicates: Sequence[Predicate]) -> list[RowRanges]:
    """Returns the rows of each fragment whose runs of versions pass."""
    edges, created, updated = [], [], []
    for fragment in fragments:
        a, b = fragment.created_at_sequence, fragment.last_updated_at_sequence
        a_ends, b_ends = a.lengths.cumsum(), b.lengths.cumsum()
        ends = np.union1d(a_ends, b_ends)
        starts = np.concatenate(([0], ends))[:-1]
        edges.append(np.stack((starts, ends), axis=1))
        created.append(a.versions[a_ends.searchsorted(starts, side="right")])
        updated.append(b.versions[b_ends.searchsorted(starts, side="right")])
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
        # neighboring runs touch, so a range of runs is a range of rows
        out.append(np.stack((runs[inside[:, 0], 0], runs[inside[:, 1] - 1, 1]), axis=1))
    return out


def _concat(parts: Sequence[U64]) -> U64:
    return np.concatenate(parts) if parts else np.empty(0, np.uint64)
