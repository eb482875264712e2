"""Index of a vector column: its usable segments, and the reasons why others are not used."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from lance_sql.errors import CorruptFile, InvalidArgument, UnsupportedFeature
from lance_sql.format.index_files.vector_index import METRICS, VectorIndex
from lance_sql.reads.search.stored_vectors import StoredVectors, stored_vectors
from lance_sql.table.index_kinds import VECTOR
from lance_sql.table.indices import IndexSegment
from lance_sql.table.snapshot import Snapshot

if TYPE_CHECKING:
    from lance_sql.reads.search.vector_query import VectorQuery

_MOST_VERSION: Final = 2


@dataclass(frozen=True)
class VectorSegment:
    """A usable segment.

    fragment_ids: covered fragments of the version
    """

    index: VectorIndex
    stored: StoredVectors
    fragment_ids: frozenset[int]


@dataclass(frozen=True)
class ColumnIndex:
    """Usable part of the index of a column.

    name: None without an index
    metric: None if it is unknown, or if there is no index
    """

    name: str | None
    metric: str | None
    segments: Sequence[VectorSegment]
    notes: tuple[str, ...]


NO_INDEX: Final = ColumnIndex(None, None, (), ())


def column_index(snapshot: Snapshot, query: VectorQuery) -> ColumnIndex:
    """Opens the first index of the query's column; later ones are not used.

    raises: InvalidArgument if the metric of the index is unknown, and the query has none
    """
    number = _field_id(query)
    every = [each for each in snapshot.indices() if each.kind is VECTOR and number in each.field_ids[:1]]
    if not every:
        return NO_INDEX
    name = every[0].name
    live = snapshot.manifest.fragments.distinct_ids
    segments: list[VectorSegment] = []
    notes: list[str] = []
    metric: str | None = None
    for segment in (each for each in every if each.name == name):
        try:
            index = _open(snapshot, segment)
            metric = metric or index.metric
            if index.metric != metric:
                raise UnsupportedFeature(f"its metric is {index.metric}, but that of other segments is {metric}")
            segments.append(VectorSegment(index, _check(query, index), live & (segment.fragment_ids or frozenset())))
        except (CorruptFile, UnsupportedFeature) as error:
            notes.append(f"index {name}: a segment is not used, and its rows are compared exactly: {error}")
    if metric is None:
        metric = _said_metric(every[0])
    if metric is None and query.metric is None:
        if every[0].index_version > 0:
            raise InvalidArgument(
                f"The index {name!r} cannot be read, so its metric is unknown: pass metric=. {notes[0]}"
            )
        notes.append("its metric is not known")
    return ColumnIndex(name, metric, segments, tuple(notes))


def _field_id(query: VectorQuery) -> int:
    """Returns the field id of the vectors, which may be a member of structs."""
    field = query.column.field
    assert field is not None
    for name in query.column.path:
        field = next(child for child in field.children if child.name == name)
    return field.id


def _open(snapshot: Snapshot, segment: IndexSegment) -> VectorIndex:
    if segment.index_version > _MOST_VERSION:
        raise UnsupportedFeature(f"version {segment.index_version} of vector indices is not supported by this release")
    index = snapshot.open_indices.open_for_search(segment)
    assert isinstance(index, VectorIndex)
    return index


def _check(query: VectorQuery, index: VectorIndex) -> StoredVectors:
    if query.is_multivector:
        raise UnsupportedFeature("indices of several vectors per row are not supported")
    wanted = query.vectors.dtype
    if index.dimension != query.dimension or index.centroids.dtype != wanted:
        raise CorruptFile(
            f"centroids of {index.dimension} {index.centroids.dtype} for vectors of {query.dimension} {wanted}"
        )
    if (index.metric == "hamming") != (query.value_bits == 8):
        raise CorruptFile(f"the metric {index.metric} does not fit the vectors")
    return stored_vectors(index)


def _said_metric(segment: IndexSegment) -> str | None:
    """Returns the metric in the manifest: field 1 of the details, which is omitted for the first metric."""
    details = segment.details
    if not details:
        return None
    if details[0] != 8 or len(details) < 2:
        return METRICS[0]
    return METRICS[details[1]] if details[1] < len(METRICS) else None
