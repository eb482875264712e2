"""Search of an opened index segment for a filter on its column, one function for each kind (`SEARCHES`).

    filter on one column --> zones, pages, keys that may match --> rows

All answers are supersets: a row outside them does not pass. Each function takes the opened segment, the covered
fragments, and the question. It returns None if reading the column costs less, or if the index has no answer, and
raises CorruptFile for damage.

Source: indices; search of each kind.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from lance_sql.errors import UnsupportedFeature
from lance_sql.format.index_files import bloom_values, ngram, row_sets
from lance_sql.format.index_files.bitmap import Bitmaps
from lance_sql.format.index_files.bloom import BloomFilters
from lance_sql.format.index_files.btree import BTree
from lance_sql.format.index_files.label_list import Labels
from lance_sql.format.index_files.ngram import Postings
from lance_sql.format.index_files.zone_map import ZoneMap
from lance_sql.format.index_files.zones import Zones
from lance_sql.reads.scan.candidates import Candidates
from lance_sql.reads.scan.predicates import (
    And,
    Call,
    ColumnRef,
    Compare,
    Const,
    In,
    IsNull,
    Literal,
    Or,
    Path,
    Predicate,
    TextMatch,
    Value,
    may_match,
    passing,
    plain_type,
)
from lance_sql.reads.scan.pruning.covered import Covered
from lance_sql.reads.scan.pruning.known_rows import KnownRows
from lance_sql.table import index_kinds
from lance_sql.table.index_kinds import IndexKind
from lance_sql.values import kinds
from lance_sql.values.arrays import U64, BoolMask

if TYPE_CHECKING:
    from pyroaring import BitMap64


MIN_ROWS: Final = 1 << 16
SHARE_OF_ENTRIES: Final = 16
SHARE_OF_ROWS: Final = 8
# Each text requires reading lists of rows: for more texts than this, reading the column is faster.
MOST_TEXTS: Final = 16
"""A row index is not used if more than 1/16 of its entries must be read, or more than 1/8 of the rows match:
reading the column costs less then. Up to 65,536 rows are always looked up."""


@dataclass(frozen=True, slots=True)
class Question:
    """A filter on a column.

    type: of the column
    with_ids_of: the candidate rows, if the numbers in the files of the segment are stable row ids; None if they are
        addresses
    """

    path: Path
    type: pa.DataType
    predicate: Predicate
    with_ids_of: Candidates | None


def in_zone_map(zone_map: ZoneMap, covered: Covered, question: Question) -> KnownRows | None:
    """Returns all rows except those of zones whose bounds exclude them."""
    zones = zone_map.zones
    covered, nulls = _in_zones(zones, covered, question)
    if nulls is not None:
        return nulls
    return _but_for_zones(
        zones, covered, may_match(question.predicate, {question.path: zone_map.statistics}, len(zones))
    )


def _in_zones(zones: Zones, covered: Covered, question: Question) -> tuple[Covered, KnownRows | None]:
    """Returns what the zones cover, and the rows that are NULL if the question is for them and they are recorded."""
    covered = covered.without(covered.without_zones(zones))
    if zones.null_rows is None:
        return covered.without(covered.not_tiled(zones)), None
    if question.predicate != IsNull(ColumnRef(question.path)):
        return covered, None
    nulls = row_sets.parse(zones.null_rows, keys=covered.ids_in_files)
    return covered, None if nulls is None else covered.rows(nulls)


def _but_for_zones(zones: Zones, covered: Covered, possible: BoolMask) -> KnownRows:
    """Returns all rows except those of zones that cannot match. Rows between zones were deleted before the zones
    were built, and may stay."""
    if covered.tiled(zones):
        return KnownRows(covered.fragment_indices, covered.zones_as_rows(zones, possible))
    known = KnownRows.but_for(covered.fragment_indices, covered.zones_as_rows(zones, ~possible))
    if not possible.any():
        return known
    return known.with_segment(KnownRows(covered.fragment_indices, covered.zones_as_rows(zones, possible)))


def in_bloom_filters(filters: BloomFilters, covered: Covered, question: Question) -> KnownRows | None:
    """Returns all rows except those of zones whose filters contain none of the wanted values."""
    zones = filters.zones
    covered, nulls = _in_zones(zones, covered, question)
    if nulls is not None:
        return nulls
    asked = np.isin(zones.fragment_ids, covered.ids_in_files.astype(np.int64))
    possible = _may_be_in(filters, question.predicate, asked)
    return None if possible.all() else _but_for_zones(zones, covered, possible)


def _may_be_in(filters: BloomFilters, predicate: Predicate, asked: BoolMask) -> BoolMask:
    """Returns whether the predicate may be true for a row of each zone."""
    match predicate:
        case And(arguments):
            return reduce(np.logical_and, [_may_be_in(filters, argument, asked) for argument in arguments])
        case Or(arguments):
            return reduce(np.logical_or, [_may_be_in(filters, argument, asked) for argument in arguments])
        case Const(value):
            return np.full(len(asked), value is True)
        case Compare("=", ColumnRef(), Literal(value, type)):
            return filters.may_contain(_hashes([value], type), asked) if value == value else np.ones(len(asked), bool)
        case In(ColumnRef(), values, type) if all(value == value for value in values):
            return filters.may_contain(_hashes(values, type), asked)
        case IsNull(ColumnRef()):
            return filters.has_null
    return np.ones(len(asked), np.bool_)


def _hashes(values: Sequence[Value], type: pa.DataType) -> U64:
    """Returns the hashes of literals; of both zeros for zero.

    raises: UnsupportedFeature for types without bloom filters
    """
    if pa.types.is_floating(type) and 0.0 in values:
        values = [*values, 0.0, -0.0]
    bloom_values.check(type)
    if pa.types.is_temporal(type):
        return bloom_values.hashes(pa.array(values, f"int{type.bit_width}").view(type))
    return bloom_values.hashes(pa.array(values, type))


def in_btree(tree: BTree, covered: Covered, question: Question) -> KnownRows | None:
    """Returns the rows of matching values in the pages whose bounds may match."""
    path, predicate = question.path, question.predicate
    lookup = tree.lookup
    pages = may_match(predicate, {path: lookup.statistics}, len(lookup.starts)).nonzero()[0]
    num_entries = int((lookup.ends[pages] - lookup.starts[pages]).sum())
    if num_entries > max(MIN_ROWS, tree.data.num_rows // SHARE_OF_ENTRIES):
        return None
    parts = [np.empty(0, np.uint64)]
    for values, ids in tree.read(pages):
        parts.append(ids[passing(predicate, path, values)])
    numbers = np.concatenate(parts)
    if question.with_ids_of is None:
        return covered.addresses(numbers)
    return covered.row_ids(numbers, question.with_ids_of)


def in_bitmaps(bitmaps: Bitmaps, covered: Covered, question: Question) -> KnownRows | None:
    """Returns the rows in the sets of all keys that match."""
    first = 0
    parts = [np.empty(0, np.int64)]
    for keys in bitmaps.key_parts():
        parts.append(first + passing(question.predicate, question.path, keys).nonzero()[0])
        first += len(keys)
    positions = np.concatenate(parts)
    limit = max(MIN_ROWS, covered.num_rows // SHARE_OF_ROWS)
    total = 0
    sets = []
    upper_halves = None if question.with_ids_of is not None else covered.ids_in_files
    for each in bitmaps.sets(positions, upper_halves=upper_halves, most_rows=limit):
        if each is None:
            return None
        total += len(each.numbers)
        if total > limit:
            return None
        sets.append(each)
    return covered.rows(row_sets.union(sets), with_ids_of=question.with_ids_of)


def in_postings(postings: Postings, covered: Covered, question: Question) -> KnownRows | None:
    """Returns the rows with all trigrams of the wanted texts.

    raises: UnsupportedFeature for a column that is not text
    """
    plain = plain_type(question.type)
    if not kinds.is_text(plain):
        raise UnsupportedFeature(f"an n-gram index on a column of type {question.type} is not supported")
    bitmap = _with_trigrams(postings, question.predicate)
    if bitmap is None or len(bitmap) > max(MIN_ROWS, covered.num_rows // SHARE_OF_ROWS):
        return None
    numbers = np.array(bitmap.to_array(), np.uint64)
    if question.with_ids_of is None:
        return covered.addresses(numbers)
    return covered.row_ids(numbers, question.with_ids_of)


def _with_trigrams(postings: Postings, predicate: Predicate) -> BitMap64 | None:
    """Returns the rows with the trigrams that the predicate requires; None if it requires none."""
    match predicate:
        case Or(arguments) if len(arguments) > MOST_TEXTS:
            return None
        case And(arguments) | Or(arguments):
            parts = [_with_trigrams(postings, argument) for argument in arguments]
            known = [part for part in parts if part is not None]
            if not known or (isinstance(predicate, Or) and len(known) < len(parts)):
                return None
            return reduce(operator.and_ if isinstance(predicate, And) else operator.or_, known)
        case Compare("=", ColumnRef(), Literal(str(value))):
            return _with_all(postings, [value])
        case In(ColumnRef(), values):
            return _with_trigrams(postings, Or(tuple(_equals(predicate, value) for value in values)))
        case TextMatch("like", ColumnRef(), pattern):
            return _with_all(postings, _literals(pattern))
        case TextMatch(_, ColumnRef(), pattern):
            return _with_all(postings, [pattern])
    return None


def _equals(predicate: In, value: Value) -> Predicate:
    assert isinstance(predicate.operand, ColumnRef)
    return Compare("=", predicate.operand, Literal(value, predicate.type))


def _with_all(postings: Postings, texts: Sequence[str]) -> BitMap64 | None:
    wanted = [trigram for text in texts for trigram in ngram.trigrams(text)]
    return postings.rows_with(wanted) if wanted else None


def _literals(pattern: str) -> list[str]:
    """Returns the texts between the wildcards of LIKE, where a backslash takes the next character literally."""
    texts = [""]
    characters = iter(pattern)
    for character in characters:
        if character in "%_":
            texts.append("")
        else:
            texts[-1] += next(characters, "") if character == "\\" else character
    return texts


def wanted_item(predicate: Predicate) -> Literal | None:
    """Returns the constant that must be an item of a list, if that is the whole predicate."""
    match predicate:
        case Compare("=", Call("list_contains", (ColumnRef(), Literal() as item)), Literal(True)):
            return item
    return None


def in_labels(labels: Labels, covered: Covered, question: Question) -> KnownRows | None:
    """Returns the rows of lists with the item, the only supported predicate on lists."""
    item = wanted_item(question.predicate)
    assert item is not None
    return in_bitmaps(labels.items, covered, replace(question, predicate=Compare("=", ColumnRef(question.path), item)))


SEARCHES: Final[Mapping[IndexKind, Callable[[Any, Covered, Question], KnownRows | None]]] = {
    index_kinds.LABEL_LIST: in_labels,
    index_kinds.BITMAP: in_bitmaps,
    index_kinds.BTREE: in_btree,
    index_kinds.N_GRAM: in_postings,
    index_kinds.ZONE_MAP: in_zone_map,
    index_kinds.BLOOM_FILTER: in_bloom_filters,
}
"""Search of each kind that filters, on the result of its `read`."""
