"""Index statements: create, drop and optimize. `search_indices` builds those of vectors and words.

    column of the live rows --> a builder of the kind --> files in _indices/<uuid> --> one commit

An index has segments. Optimizing it adds one for the uncovered fragments. Nothing is rebuilt, unless a segment may
still have entries of such a fragment. pylance 14 uses hits of a BTREE or BITMAP for fragments that only another
segment covers, and would find values that rows no longer have.

Source: indices, writing; transactions, CreateIndex.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final
from uuid import uuid4

import pyarrow as pa

from lance_sql.errors import InvalidArgument, UnsupportedFeature
from lance_sql.format.file.writer import WrittenFile
from lance_sql.format.index_files.vector_model import VectorModel
from lance_sql.format.schema.types import is_json
from lance_sql.reads.scan.system_columns import ROW_ID
from lance_sql.table import json_index, versions
from lance_sql.table.fragment import Fragment
from lance_sql.table.index_kinds import BTREE, FRAGMENT_REUSE
from lance_sql.table.indices import IndexSegment
from lance_sql.table.paths import INDICES
from lance_sql.table.snapshot import Snapshot
from lance_sql.values.names import check as check_name
from lance_sql.writes.commit.operations import CreateIndex
from lance_sql.writes.statements import indexed_columns, search_indices
from lance_sql.writes.statements.index_building import ALIASES, BUILT, OF_MEMBERS, READ_ONLY, BuiltKind, Destination
from lance_sql.writes.statements.indexed_columns import IndexedColumn
from lance_sql.writes.statements.session import RowCounts, WriteSession, file_version, on_latest

_LOG: Final = logging.getLogger("lance_sql")


def create(
    snapshot: Snapshot,
    column: str,
    kind: str,
    *,
    name: str | None = None,
    replace_existing: bool = False,
    train: bool = True,
    properties: Mapping[str, str] | None = None,
    options: Mapping[str, Any] | None = None,
) -> Snapshot:
    """Builds an index on a column of the newest version, over all fragments.

    column: `a.b` is a member of a struct, or of JSON documents
    kind: one of `BUILT` or `ALIASES`, case-insensitive
    name: `<column>_idx` without it
    replace_existing: the same commit removes an index of this name; otherwise it is refused
    train: without it, the index covers no fragment until `optimize`
    options: of vector and full-text indices; other kinds have none
    raises: ColumnNotFound; InvalidArgument for an unknown kind, an existing name, and members of JSON of several types;
        UnsupportedFeature for types that the kind does not support, and for tables with files of version 0.1
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
    if not train and BUILT[kind].write is None:
        raise UnsupportedFeature(f"An index of kind {kind!r} is built from rows: leave train=False out")
    name = check_name(f"{column}_idx" if name is None else name, "index")

    def change(session: WriteSession) -> Snapshot:
        latest = session.snapshot
        old = tuple(segment for segment in latest.indices() if segment.name == name)
        if old and not replace_existing:
            raise InvalidArgument(f"{latest.name} has an index {name!r} already")
        indexed = _indexed(latest, column, kind)
        how = None
        fragments = list(latest.manifest.fragments) if train else []
        if BUILT[kind].write is None:
            num_rows = sum(each.physical_rows for each in fragments)
            how = search_indices.recipe(kind, indexed.field, num_rows, options or {})
        if indexed.type is None:
            # text for members that are all NULL, as pylance has it
            type = indexed_columns.type_of_members(latest, indexed, fragments) or pa.string()
            indexed = replace(indexed, type=type)
        segment = _build(session, name, indexed, kind, fragments, how)
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
    skips_mixed: bool = False,
    properties: Mapping[str, str] | None = None,
) -> Snapshot:
    """Extends indices to the fragments that they do not cover, in one commit; creates none if there are none.

    names: of indices of the kinds in `BUILT`; all of them without it
    rebuild: replaces all segments of each index by one new segment
    skips_mixed: leaves indices of members of JSON as they are if the members have got several types
    raises: InvalidArgument for a missing index, and such members; UnsupportedFeature for a named index of another kind
    """

    def change(session: WriteSession) -> Snapshot:
        latest = session.snapshot
        added: list[IndexSegment] = []
        replaced: list[IndexSegment] = []
        for name, segments in _chosen(latest, names).items():
            try:
                new, old = _brought_up_to_date(session, name, segments, rebuild=rebuild)
            except indexed_columns.MixedTypes as error:
                if not skips_mixed:
                    raise
                _LOG.warning("%s: the index %r is not extended: %s", latest.label, name, error)
                continue
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
    indexed = indexed_columns.of_segment(latest, segments[0])
    _check_type(indexed, kind)
    built = _built(indexed, kind)
    if rebuild or (built.names_rows and _have_old_entries(latest, segments, built, left)):
        left, dead = set(fragments.ids), list(segments)
    if indexed.type is None:
        kept = [segment for segment in segments if segment not in dead]
        indexed, fits = _typed(latest, indexed, kept, left)
        if not fits:
            left, dead = set(fragments.ids), list(segments)
    how = None
    if built.write is None:
        how = search_indices.recipe_of(latest, segments, indexed.type)
        if rebuild and isinstance(how, VectorModel):
            how = replace(how, centroids=None, codebook=None)
    chosen = [fragment for fragment in fragments if fragment.id in left]
    return [_build(session, name, indexed, kind, chosen, how)], dead


def _typed(
    snapshot: Snapshot, indexed: IndexedColumn, kept: Sequence[IndexSegment], left: Collection[int]
) -> tuple[IndexedColumn, bool]:
    """Returns the column of an index of members with their type, and whether segments that are kept have it. Otherwise
    the type is that of the members in all fragments.

    left: fragments to cover
    raises: MixedTypes
    """
    fragments = snapshot.manifest.fragments
    type = indexed_columns.type_of_members(snapshot, indexed, [each for each in fragments if each.id in left])
    old = [getattr(snapshot.open_indices.open(segment), "type", None) for segment in kept]
    if type is None and old:
        type = old[0]
    fits = all(each == type for each in old)
    if not fits:
        type = indexed_columns.type_of_members(snapshot, indexed, list(fragments))
    return replace(indexed, type=type or pa.string()), fits


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
    indexed: IndexedColumn,
    kind: str,
    fragments: Sequence[Fragment],
    how: search_indices.Recipe | None,
) -> IndexSegment:
    """Builds a segment over some fragments; its files are removed if the session fails."""
    snapshot = session.snapshot
    built = _built(indexed, kind)
    uuid = uuid4()
    folder = f"{INDICES}/{uuid}"
    if how is None:
        written = _write(snapshot, indexed, built, fragments, folder)
    else:
        rows = partial(indexed_columns.rows, snapshot, indexed.output(snapshot), ROW_ID, fragments)
        written = search_indices.write(snapshot, indexed.name, how, fragments, rows, folder, file_version(snapshot))
    session.track(file.path for file in written)
    details = built.details if how is None else search_indices.details(how)
    return IndexSegment(
        name,
        uuid,
        (indexed.field.id,),
        snapshot.version,
        built.kind.details if indexed.path is None else json_index.DETAILS,
        frozenset(fragment.id for fragment in fragments),
        index_version=_version(snapshot, built) if how is None else search_indices.version(how),
        file_sizes={file.path.rpartition("/")[2]: file.size_bytes for file in written},
        details=details if indexed.path is None else json_index.serialize(indexed.path, built.kind, details),
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
    snapshot: Snapshot, indexed: IndexedColumn, built: BuiltKind, fragments: Sequence[Fragment], folder: str
) -> tuple[WrittenFile, ...]:
    assert built.write is not None
    rows = indexed_columns.rows(snapshot, indexed.output(snapshot), built.numbered, fragments)
    num_rows = {fragment.id: snapshot.open(fragment).num_rows for fragment in fragments}
    to = Destination(snapshot.store, folder, file_version(snapshot), num_rows)
    return built.write(indexed.type, rows, to)


def _built(indexed: IndexedColumn, kind: str) -> BuiltKind:
    return BUILT[kind] if indexed.path is None else OF_MEMBERS[kind]


def _indexed(snapshot: Snapshot, column: str, kind: str) -> IndexedColumn:
    """Returns the column for an index of this kind.

    raises: as `create`
    """
    if snapshot.manifest.data_format == "0.1":
        raise UnsupportedFeature("indices of tables with data files of version 0.1 are not supported")
    indexed = indexed_columns.by_name(snapshot, column)
    _check_type(indexed, kind)
    return indexed


def _check_type(indexed: IndexedColumn, kind: str) -> None:
    if indexed.path is not None:
        if kind not in OF_MEMBERS:
            raise UnsupportedFeature(
                f"a {kind} index on the member {indexed.name!r} of JSON is not supported: use {', '.join(OF_MEMBERS)}"
            )
        return
    BUILT[kind].check(indexed.type)
    if is_json(indexed.field) and BUILT[kind].write is not None:
        # other readers take the entries for the stored form, and fail
        raise UnsupportedFeature(
            f"a {kind} index on the documents of the JSON column {indexed.name!r} is not supported: index a member,"
            f" such as '{indexed.name}.id'"
        )


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
    kind = _kind(segments[0])
    try:
        indexed = indexed_columns.of_segment(snapshot, segments[0])
        if BUILT[kind].write is not None:
            _check_type(indexed, kind)
            return True
    except UnsupportedFeature:
        return False
    return search_indices.is_known(snapshot, segments, indexed.type)


def _index_names(snapshot: Snapshot) -> str:
    names = sorted({segment.name for segment in snapshot.indices() if segment.index_type != FRAGMENT_REUSE})
    return f"; it has {', '.join(map(repr, names))}" if names else "; it has none"
