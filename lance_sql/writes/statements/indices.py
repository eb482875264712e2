"""Index statements: create, drop and optimize. `search_indices` builds those of vectors and words.

    column of the live rows --> a builder of the kind --> files in _indices/<uuid> --> one commit

An index has segments. Optimizing it adds one for the uncovered fragments. Nothing is rebuilt, unless a segment may
still have entries of such a fragment. pylance 14 uses hits of a BTREE or BITMAP for fragments that only another
segment covers, and would find values that rows no longer have.

Source: indices, writing; transactions, CreateIndex.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any
from uuid import uuid4

import numpy as np
import pyarrow as pa

from lance_sql.errors import InvalidArgument, UnsupportedFeature
from lance_sql.format.file.writer import WrittenFile
from lance_sql.format.index_files.vector_model import VectorModel
from lance_sql.format.schema import Field, arrow_field
from lance_sql.format.schema.types import is_json
from lance_sql.reads.scan.scanning import numbers, read_fragments
from lance_sql.reads.scan.system_columns import ROW_ADDRESS, ROW_ID
from lance_sql.runtime.progress import Work
from lance_sql.table import versions
from lance_sql.table.fragment import Fragment
from lance_sql.table.index_kinds import BTREE, FRAGMENT_REUSE
from lance_sql.table.indices import IndexSegment, column_name
from lance_sql.table.paths import INDICES
from lance_sql.table.snapshot import Snapshot
from lance_sql.values import row_ranges
from lance_sql.values.arrays import U64
from lance_sql.values.names import check as check_name
from lance_sql.writes.commit.operations import CreateIndex
from lance_sql.writes.statements import search_indices
from lance_sql.writes.statements.index_building import ALIASES, BUILT, READ_ONLY, BuiltKind, Destination
from lance_sql.writes.statements.session import RowCounts, WriteSession, file_version, on_latest


def create(
    snapshot: Snapshot,
    column: str,
    kind: str,
    *,
    name: str | None = None,
    replace_existing: bool = False,
    properties: Mapping[str, str] | None = None,
    options: Mapping[str, Any] | None = None,
) -> Snapshot:
    """Builds an index on a column of the newest version, over all fragments.

    column: `a.b` is a member of a struct
    kind: one of `BUILT` or `ALIASES`, case-insensitive
    name: `<column>_idx` without it
    replace_existing: the same commit removes an index of this name; otherwise it is refused
    options: of vector and full-text indices; other kinds have none
    raises: ColumnNotFound; InvalidArgument for an unknown kind, and an existing name; UnsupportedFeature for types
        that the kind does not support, and for tables with files of version 0.1
    """
    if not isinstance(kind, str) or not isinstance(column, str):
        raise InvalidArgument(f"A column and a kind of index must be strings, not {column!r} and {kind!r}")
    spelled, kind = kind, ALIASES.get(kind.lower(), kind.lower())
    if kind not in BUILT:
        kinds = ", ".join((*BUILT, *ALIASES))
        if kind in READ_ONLY:
            raise UnsupportedFeature(f"lance-sql uses indices of kind {spelled!r}, but cannot build them: use {kinds}")
        raise InvalidArgument(f"Unknown kind of index {spelled!r}: use {kinds}")
    if options and BUILT[kind].write is not None:
        raise InvalidArgument(f"An index of kind {kind!r} has no option {next(iter(options))!r}: it has none")
    name = check_name(f"{column}_idx" if name is None else name, "index")

    def change(session: WriteSession) -> Snapshot:
        latest = session.snapshot
        old = tuple(segment for segment in latest.indices() if segment.name == name)
        if old and not replace_existing:
            raise InvalidArgument(f"{latest.name} has an index {name!r} already")
        field = _field(latest, column, kind)
        how = None
        fragments = list(latest.manifest.fragments)
        if BUILT[kind].write is None:
            num_rows = sum(each.physical_rows for each in fragments)
            how = search_indices.recipe(kind, field, num_rows, options or {})
        segment = _build(session, name, column, field, kind, fragments, how)
        return session.commit(CreateIndex((segment,), old), RowCounts())

    return on_latest(snapshot, "create_index", change, properties)


def drop(snapshot: Snapshot, name: str, properties: Mapping[str, str] | None = None) -> Snapshot:
    """Drops an index of any kind. Its files are removed with the versions that have it.

    raises: InvalidArgument for a missing index
    """

    def change(session: WriteSession) -> Snapshot:
        old = tuple(segment for segment in session.snapshot.indices() if segment.name == name)
        if not old:
            raise InvalidArgument(f"{session.snapshot.name} has no index {name!r}{_index_names(session.snapshot)}")
        return session.commit(CreateIndex((), old), RowCounts())

    return on_latest(snapshot, "drop_index", change, properties)


def optimize(
    snapshot: Snapshot,
    names: Collection[str] | None = None,
    *,
    rebuild: bool = False,
    properties: Mapping[str, str] | None = None,
) -> Snapshot:
    """Extends indices to the fragments that they do not cover, in one commit; creates none if there are none.

    names: of indices of the kinds in `BUILT`; all of them without it
    rebuild: replaces all segments of each index by one new segment
    raises: InvalidArgument for a missing index; UnsupportedFeature for a named index of another kind
    """

    def change(session: WriteSession) -> Snapshot:
        latest = session.snapshot
        added: list[IndexSegment] = []
        replaced: list[IndexSegment] = []
        for name, segments in _chosen(latest, names).items():
            new, old = _brought_up_to_date(session, name, segments, rebuild=rebuild)
            added += new
            replaced += old
        if not added and not replaced:
            return latest
        return session.commit(CreateIndex(tuple(added), tuple(replaced)), RowCounts())

    return on_latest(snapshot, "optimize_indices", change, properties)


def outdated(snapshot: Snapshot) -> list[str]:
    """Returns the names of indices that `optimize` would change."""
    return [name for name, segments in _chosen(snapshot, None).items() if any(_uncovered(snapshot, segments))]


def _uncovered(snapshot: Snapshot, segments: Sequence[IndexSegment]) -> tuple[set[int], list[IndexSegment]]:
    """Returns the fragments that the segments of an index do not cover, and the segments to remove because no fragment
    of theirs is left."""
    live = set(snapshot.manifest.fragments.ids)
    used = snapshot.open_indices.with_sources(live)
    dead = [segment for segment in segments if segment.fragment_ids is not None and not segment.fragment_ids & used]
    covered = {number for segment in segments for number in snapshot.open_indices.fully_covered(segment, live)}
    left = live - covered
    # the last segment stays, so that the index does
    return left, dead if left else dead[: len(segments) - 1]


def _brought_up_to_date(
    session: WriteSession,
    name: str,
    segments: Sequence[IndexSegment],
    *,
    rebuild: bool,
) -> tuple[list[IndexSegment], list[IndexSegment]]:
    """Returns the segments to add to an index, and those to remove."""
    latest = session.snapshot
    fragments = latest.manifest.fragments
    kind = _kind(segments[0])
    left, dead = _uncovered(latest, segments)
    if not left and not rebuild:
        return [], dead
    if rebuild or (BUILT[kind].names_rows and _have_old_entries(latest, segments, BUILT[kind], left)):
        left, dead = set(fragments.ids), list(segments)
    column, field = _column_of(latest, segments[0].field_ids[0])
    _check_type(field, kind)
    how = None
    if BUILT[kind].write is None:
        how = search_indices.recipe_of(latest, segments, arrow_field(field).type)
        if rebuild and isinstance(how, VectorModel):
            how = replace(how, centroids=None, codebook=None)
    chosen = [fragment for fragment in fragments if fragment.id in left]
    return [_build(session, name, column, field, kind, chosen, how)], dead


def _have_old_entries(
    snapshot: Snapshot, segments: Sequence[IndexSegment], built: BuiltKind, left: Collection[int]
) -> bool:
    """Whether a segment may have entries of rows in fragments that it does not cover, or entries that are
    incompatible with new ones."""
    if built.numbered == ROW_ID and snapshot.manifest.has_stable_row_ids:
        # an updated row moves, but keeps its id
        return True
    if snapshot.open_indices.with_sources(left) != set(left):
        # these fragments were rewritten from others that a segment may have covered
        return True
    if built.kind is BTREE and any(segment.index_version != _version(snapshot, built) for segment in segments):
        # pylance before 14 wrote row ids instead of addresses, and refuses an index with both
        return True
    for segment in segments:
        file = versions.find_version(snapshot.store, segment.dataset_version)
        highest = None if file is None else snapshot.sibling(file).manifest.max_fragment_id
        # fragment ids only grow: one above all earlier ids is new
        newest = max(segment.fragment_ids or (), default=-1)
        if highest is None or any(number <= max(highest, newest) for number in left):
            return True
    return False


def _build(
    session: WriteSession,
    name: str,
    column: str,
    field: Field,
    kind: str,
    fragments: Sequence[Fragment],
    how: search_indices.Recipe | None,
) -> IndexSegment:
    """Builds a segment over some fragments; its files are removed if the session fails."""
    snapshot = session.snapshot
    uuid = uuid4()
    folder = f"{INDICES}/{uuid}"
    if how is None:
        written = _write(snapshot, column, field, kind, fragments, folder)
    else:
        rows = partial(_rows, snapshot, column, ROW_ID, fragments)
        written = search_indices.write(snapshot, column, how, fragments, rows, folder, file_version(snapshot))
    session.track(file.path for file in written)
    return IndexSegment(
        name,
        uuid,
        (field.id,),
        snapshot.version,
        BUILT[kind].kind.details,
        frozenset(fragment.id for fragment in fragments),
        index_version=_version(snapshot, BUILT[kind]) if how is None else search_indices.version(how),
        file_sizes={file.path.rpartition("/")[2]: file.size_bytes for file in written},
        details=BUILT[kind].details if how is None else search_indices.details(how),
        created_at=int(time.time() * 1000),
        checksums={file.path.rpartition("/")[2]: file.checksum for file in written},
    )


def _version(snapshot: Snapshot, built: BuiltKind) -> int:
    """Returns the format version of an index."""
    return built.versions[snapshot.manifest.has_stable_row_ids]


def _kind(segment: IndexSegment) -> str:
    """Returns the name of the kind in `BUILT`; any one for vector indices."""
    return next(name for name, built in BUILT.items() if built.kind is segment.kind)


def _write(
    snapshot: Snapshot,
    column: str,
    field: Field,
    kind: str,
    fragments: Sequence[Fragment],
    folder: str,
) -> tuple[WrittenFile, ...]:
    built = BUILT[kind]
    assert built.write is not None
    rows = _rows(snapshot, column, built.numbered, fragments)
    num_rows = {fragment.id: snapshot.open(fragment).num_rows for fragment in fragments}
    to = Destination(snapshot.store, folder, file_version(snapshot), num_rows)
    return built.write(arrow_field(field).type, rows, to)


def _rows(
    snapshot: Snapshot, column: str, numbered: str, fragments: Sequence[Fragment]
) -> Iterator[tuple[pa.Array, U64]]:
    """Yields the values of the live rows in the order of their addresses, and their addresses or row ids.

    numbered: which of the two, as a system column
    """
    ascending = sorted(fragments, key=lambda fragment: fragment.id)
    work = Work(sum(fragment.physical_rows for fragment in ascending))
    for values, addresses_or_ids in (_with_addresses if numbered == ROW_ADDRESS else _with_ids)(
        snapshot, column, ascending
    ):
        yield values, addresses_or_ids
        work.advance(len(values))


def _with_ids(snapshot: Snapshot, column: str, fragments: Sequence[Fragment]) -> Iterator[tuple[pa.Array, U64]]:
    for batch in read_fragments(snapshot, [column, ROW_ID], fragments):
        yield batch.column(0), numbers(batch, ROW_ID)


def _with_addresses(snapshot: Snapshot, column: str, fragments: Sequence[Fragment]) -> Iterator[tuple[pa.Array, U64]]:
    """Derives addresses from the live rows: a column of them would prevent reading by kernels alone."""
    runs = (_live_addresses(snapshot, fragment) for fragment in fragments)
    run: range | U64 = range(0)
    for batch in read_fragments(snapshot, [column], fragments):
        parts = [np.empty(0, np.uint64)]
        missing = batch.num_rows
        while missing:
            if len(run) == 0:
                run = next(runs)
            part, run = run[:missing], run[missing:]
            parts.append(np.arange(part.start, part.stop, dtype=np.uint64) if isinstance(part, range) else part)
            missing -= len(part)
        yield batch.column(0), parts[1] if len(parts) == 2 else np.concatenate(parts)


def _live_addresses(snapshot: Snapshot, fragment: Fragment) -> range | U64:
    live = snapshot.open(fragment).live_rows()
    first = fragment.id << 32
    if len(live) == 1:
        return range(first + int(live[0, 0]), first + int(live[0, 1]))
    addresses: U64 = row_ranges.expand(live).astype(np.uint64) + np.uint64(first)
    return addresses


def _field(snapshot: Snapshot, column: str, kind: str) -> Field:
    """Returns the field of a column for an index of this kind.

    raises: as `create`
    """
    if snapshot.manifest.data_format == "0.1":
        raise UnsupportedFeature("indices of tables with data files of version 0.1 are not supported")
    *parents, field = snapshot.manifest.schema.resolve(column, table=snapshot.label)
    if any(parent.logical_type != "struct" for parent in parents):
        raise UnsupportedFeature(f"an index on {column!r}, which is inside a list, is not supported")
    _check_type(field, kind)
    return field


def _check_type(field: Field, kind: str) -> None:
    BUILT[kind].check(arrow_field(field).type)
    if is_json(field) and BUILT[kind].write is not None:
        # other readers take the entries for the stored form, and fail
        raise UnsupportedFeature(
            f"a {kind} index on the documents of the JSON column {field.name!r} is not supported: filter its members"
        )


def _column_of(snapshot: Snapshot, field_id: int) -> tuple[str, Field]:
    """Returns the column of a field, by the name that scans use.

    raises: UnsupportedFeature for a missing field
    """
    field = snapshot.manifest.schema.by_id.get(field_id)
    if field is None:
        raise UnsupportedFeature(f"an index on field {field_id}, which is not a column")
    return column_name(snapshot, field_id), field


def _chosen(snapshot: Snapshot, names: Collection[str] | None) -> dict[str, list[IndexSegment]]:
    """Returns the segments of the indices to be optimized, by name."""
    segments_by_name: dict[str, list[IndexSegment]] = {}
    for segment in snapshot.indices():
        segments_by_name.setdefault(segment.name, []).append(segment)
    for name in names or ():
        if name not in segments_by_name:
            raise InvalidArgument(f"{snapshot.name} has no index {name!r}{_index_names(snapshot)}")
        if not is_built(snapshot, segments_by_name[name]):
            raise UnsupportedFeature(
                f"building the index {name!r} of type {segments_by_name[name][0].index_type!r} is not supported: drop"
                " it, or leave it out"
            )
    return {
        name: segments
        for name, segments in segments_by_name.items()
        if (names is None or name in names) and is_built(snapshot, segments)
    }


def is_built(snapshot: Snapshot, segments: Sequence[IndexSegment]) -> bool:
    """Whether an index can be optimized: its kind can be built, and supports the type of its column."""
    written = {built.kind for built in BUILT.values()}
    if not all(segment.kind in written and len(segment.field_ids) == 1 for segment in segments):
        return False
    field = snapshot.manifest.schema.by_id.get(segments[0].field_ids[0])
    if field is None:
        return False
    kind = _kind(segments[0])
    if BUILT[kind].write is not None:
        try:
            _check_type(field, kind)
        except UnsupportedFeature:
            return False
        return True
    return search_indices.is_known(snapshot, segments, arrow_field(field).type)


def _index_names(snapshot: Snapshot) -> str:
    names = sorted({segment.name for segment in snapshot.indices() if segment.index_type != FRAGMENT_REUSE})
    return f"; it has {', '.join(map(repr, names))}" if names else "; it has none"
