"""Opened index segments of a version, cached with a memory limit.

Unusable indices raise an error with the reason, and the caller scans rows instead.

Source: indices, metadata; combination rule.
"""

from __future__ import annotations

import copy
import logging
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Final, NamedTuple, TypeAlias
from uuid import UUID

import numpy as np
import pyarrow as pa

from lance_sql.errors import CorruptFile, LanceError, UnsupportedFeature, at
from lance_sql.format.index_files import row_sets
from lance_sql.format.index_files.full_text import LISTS
from lance_sql.format.index_files.index_file import IndexFile
from lance_sql.format.schema import Field, Schema, arrow_field
from lance_sql.format.schema.types import is_json
from lance_sql.runtime.caches import LruCache
from lance_sql.store import ByteRange
from lance_sql.table import fragment_reuse, json_index
from lance_sql.table.files import TableFiles
from lance_sql.table.fragment_reuse import FragmentReuse
from lance_sql.table.index_kinds import BTREE, FRAGMENT_REUSE, Opened
from lance_sql.table.indices import IndexSegment
from lance_sql.values.bitmaps import deserialize_64

_LOG: Final = logging.getLogger("lance_sql")

Path: TypeAlias = tuple[str, ...]
_Key = tuple[UUID, int | None]

BUDGET_BYTES: Final = 128 << 20
"""Memory limit of cached content of index files."""

# Columns of sets of rows, which are only decoded when a search needs one.
_SETS: Final[Mapping[str, Callable[[bytes], object]]] = {
    "bitmaps": row_sets.check,
    "posting_list": deserialize_64,
}


class _Held(NamedTuple):
    """An open segment with its files, or the reason why it cannot be used."""

    opened: Opened | LanceError
    files: Sequence[IndexFile]


class OpenIndices:
    """The index segments of a version. Thread-safe.

    by_path: the segments on each column, or member of a struct, of plain values or lists of them, by the name of
        their index
    types: of these columns
    converted: columns whose values are shown in another form than stored
    of_members: the segments on members of each column of JSON
    covered: results of scans about the fragments that a segment covers, by the segment's `id`
    """

    def __init__(self, files: TableFiles, segments: Sequence[IndexSegment], schema: Schema) -> None:
        """
        schema: of the version
        """
        self.segments = tuple(segments)
        self.types: dict[Path, pa.DataType] = {}
        self.converted: set[Path] = set()
        self.by_path: dict[Path, dict[str, list[IndexSegment]]] = {}
        self.of_members: dict[Path, dict[str, list[IndexSegment]]] = {}
        self.covered: dict[int, object] = {}
        self._sort_by_column(schema)
        self._files = files
        self._open: LruCache[_Key, _Held] = LruCache("index segments", most_bytes=BUDGET_BYTES, num_bytes=_size)
        self._moves: list[FragmentReuse | LanceError] | None = None

    def take_over(self, earlier: OpenIndices) -> None:
        """Takes over the open segments of the same table that another version has as well, if their files are unchanged
        as far as the store can detect that.

        earlier: of the same branch of the same table
        """
        for segment in self.segments:
            held = earlier._open.peek((segment.uuid, segment.base_id))
            if held is None or not held.files or segment.base_id is not None:
                continue
            # through the store of this version, which from now on compares the files with what they were
            store = self._files.location.store
            if all(file.is_unchanged(store) for file in held.files):
                self._open.keep((segment.uuid, segment.base_id), held)

    @property
    def moves(self) -> FragmentReuse | None:
        """Moves of rows that segments have at old addresses; None without any.

        raises: CorruptFile, UnsupportedFeature
        """
        if self._moves is None:
            self._moves = self._read_moves()
        for each in self._moves:
            if isinstance(each, LanceError):
                raise copy.copy(each)
            return each
        return None

    @property
    def num_bytes(self) -> int:
        """Approximate memory of cached content of the segments."""
        return self._open.num_bytes

    def fully_covered(self, segment: IndexSegment, fragment_ids: Collection[int]) -> set[int]:
        """Returns those of the fragments of which a segment covers every row, at old or new addresses."""
        covered = segment.fragment_ids or frozenset()
        try:
            moves = self.moves
        except (CorruptFile, UnsupportedFeature):
            # an entry may refer to a row that has moved
            return set()
        if moves is None:
            return set(covered.intersection(fragment_ids))
        unknown = moves.unknown_rows(fragment_ids, covered)
        return {number for number, rows in unknown.items() if len(rows) == 0}

    def with_sources(self, fragment_ids: Collection[int]) -> set[int]:
        """Returns fragments, and those they were rewritten from, which indices may still name."""
        try:
            moves = self.moves
        except (CorruptFile, UnsupportedFeature):
            # all fragment ids that the segments name
            return {*fragment_ids, *(number for each in self.segments for number in each.fragment_ids or ())}
        return set(fragment_ids) if moves is None else moves.sources(fragment_ids)

    @property
    def has_stable_row_ids(self) -> bool:
        """Whether the table has stable row ids."""
        return self._files.has_stable_row_ids

    def check(self, segment: IndexSegment) -> None:
        """Makes sure that the segment can be used, according to the manifest.

        raises: UnsupportedFeature with the reason
        """
        kind = segment.kind
        if kind is None or not kind.filters:
            name = (segment.index_type or "unknown") if kind is None else kind.name
            raise UnsupportedFeature(f"indices of kind {name} are not used for filters")
        if segment.of_json is not None and kind not in json_index.SEARCHED:
            raise UnsupportedFeature(f"indices of kind {kind.name} on members of JSON are not used for filters")
        if segment.index_version > kind.max_version:
            raise UnsupportedFeature(f"version {segment.index_version} of {kind.name} is not supported by this release")
        if segment.fragment_ids is None:
            raise UnsupportedFeature("the manifest does not record which fragments it covers")
        if len(segment.field_ids) != 1:
            raise UnsupportedFeature(f"it covers {len(segment.field_ids)} columns, and one is supported")

    def open_for_search(self, segment: IndexSegment) -> Opened:
        """Opens the files of a segment whose entries are rows of this version.

        raises: as `open`; UnsupportedFeature if its rows are not known
        """
        if segment.fragment_ids is None:
            raise UnsupportedFeature("the manifest does not record which fragments it covers")
        if self.moves is not None:
            raise UnsupportedFeature("a deferred compaction has moved rows since it was built")
        return self.open(segment)

    def open(self, segment: IndexSegment) -> Opened:
        """Opens the files of a segment, once.

        raises: CorruptFile, UnsupportedFeature, in every call
        """
        key = segment.uuid, segment.base_id
        held = self._open.get(key)
        if held is not None:
            opened = held.opened
        else:
            files: list[IndexFile] = []
            try:
                with at(table=self._files.label):
                    opened = self._read(segment, files)
            except (CorruptFile, UnsupportedFeature) as error:
                # A copy has no traceback, whose frames would keep the version alive as long as the version keeps
                # the error.
                opened = copy.copy(error)
                if isinstance(error, CorruptFile):
                    _LOG.warning(
                        "%s: the index %r is damaged and not used: %s", self._files.label, segment.name, error.in_table
                    )
                files.clear()
            self._open.keep(key, _Held(opened, files))
        if isinstance(opened, LanceError):
            raise copy.copy(opened)
        return opened

    def verify(self, segment: IndexSegment, *, deep: bool, live_rows: Mapping[int, int] | None = None) -> None:
        """Reads the part of the files that a search starts with, or all of them; skips other kinds of indices, and
        those that no search reads.

        live_rows: of each fragment of the version by its id, for a deep check of entries that have moved

        raises: CorruptFile
        """
        if segment.index_type == FRAGMENT_REUSE:
            with suppress(UnsupportedFeature):
                _ = self.moves
        kind = segment.kind
        if kind is None or not kind.filters or segment.index_version > kind.max_version:
            return
        files = [self._file(segment, name, uses_cache=False) for name in kind.files]
        for file in files:
            size = segment.file_sizes.get(file.path.rpartition("/")[2])
            if size and size != file.num_bytes:
                with at(file=file.path):
                    raise CorruptFile(f"the file has {file.num_bytes} bytes, the manifest records {size}")
        try:
            self._read(segment, [], uses_cache=False)
        except UnsupportedFeature:
            # as zone maps of structs and maps by other writers, which no search reads
            return
        for file in files if deep else ():
            for name in file.names:
                for part in file.parts(name):
                    with at(file=file.path, column=name):
                        part.validate(full=True)
                        if name in _SETS:
                            _check_sets(part, _SETS[name])
        if deep and kind is BTREE and live_rows is not None and not self.has_row_ids(segment):
            self._check_moved(segment, files, live_rows)

    def _check_moved(self, segment: IndexSegment, files: Sequence[IndexFile], live_rows: Mapping[int, int]) -> None:
        """Checks that the entries cover the fragments that the segment names, if rows have moved since it was built.

        raises: CorruptFile
        """
        moves = self.moves
        if moves is None:
            return
        for file in files:
            for name in set(file.names) & {"ids", "row_ids"}:
                parts = [np.asarray(part, np.uint64) for part in file.parts(name)]
                moved = moves.moved(np.concatenate(parts)) if parts else np.empty(0, np.uint64)
                ids, counts = np.unique(moved[moved != fragment_reuse.NOWHERE] >> np.uint64(32), return_counts=True)
                entries = dict(zip(ids.tolist(), counts.tolist(), strict=True))
                gone = min(entries.keys() - live_rows.keys(), default=None)
                for number in sorted((segment.fragment_ids or frozenset()) & live_rows.keys()):
                    if gone is not None and number > gone and entries.get(number, 0) < live_rows[number]:
                        with at(file=file.path, column=name):
                            raise CorruptFile(
                                f"entries lead to fragment {gone}, which is gone, and fragment {number} has"
                                f" {entries.get(number, 0)} entries for {live_rows[number]} rows: build the index again"
                            )

    def has_row_ids(self, segment: IndexSegment) -> bool:
        """Whether the numbers in a segment's files are stable row ids; otherwise they are addresses."""
        kind = segment.kind
        return self.has_stable_row_ids and kind is not None and kind.has_row_ids(segment.index_version)

    def _sort_by_column(self, schema: Schema) -> None:
        columns = {field.id: (path, field) for path, field in _indexed_columns(schema.fields)}
        for segment in self.segments:
            located = columns.get(segment.field_ids[0]) if segment.field_ids else None
            if located is not None and segment.index_type == json_index.DETAILS:
                self.of_members.setdefault(located[0], {}).setdefault(segment.name, []).append(segment)
            elif located is not None and segment.index_type != FRAGMENT_REUSE:
                path, field = located
                self.types[path] = arrow_field(field).type
                if is_json(field):
                    self.converted.add(path)
                self.by_path.setdefault(path, {}).setdefault(segment.name, []).append(segment)

    def _read_moves(self) -> list[FragmentReuse | LanceError]:
        moves: list[FragmentReuse | LanceError] = []
        for segment in self.segments:
            if segment.index_type != FRAGMENT_REUSE:
                continue
            try:
                with at(file=self._files.location.manifest_path):
                    if segment.index_version > fragment_reuse.MAX_VERSION or moves:
                        raise UnsupportedFeature(
                            f"version {segment.index_version} of a fragment reuse index is not supported"
                        )
                    moves.append(fragment_reuse.parse(segment.details, partial(self._range_of, segment)))
            except (CorruptFile, UnsupportedFeature) as error:
                _LOG.warning("%s: indices are not used: %s", self._files.label, error)
                moves = [copy.copy(error)]
        return moves

    def _range_of(self, segment: IndexSegment, name: str, offset: int, size: int) -> bytes:
        store, path = self._files.resolve_index(segment.base_id, f"{segment.uuid}/{name}")
        with at(file=path):
            (content,) = store.get_ranges(path, [ByteRange(offset, offset + size)])
        return bytes(memoryview(content))

    def _read(self, segment: IndexSegment, files: list[IndexFile], *, uses_cache: bool = True) -> Opened:
        """Reads a segment, and adds the files that are opened for it to `files`."""
        kind = segment.kind
        if kind is None:
            raise UnsupportedFeature(f"an index of kind {segment.index_type or 'unknown'} is not supported")

        def opened(name: str) -> IndexFile:
            files.append(self._file(segment, name, uses_cache=uses_cache))
            return files[-1]

        return kind.read(opened, segment.index_version)

    def _file(self, segment: IndexSegment, name: str, *, uses_cache: bool = True) -> IndexFile:
        store, path = self._files.resolve_index(segment.base_id, f"{segment.uuid}/{name}")
        # the lists of documents are followed by their lengths and offsets
        is_lists = name.endswith(LISTS)
        size = segment.file_sizes.get(name) or None
        return IndexFile(store, path, size=size, has_short_end=is_lists, uses_cache=uses_cache)


def _size(held: _Held) -> int:
    return 256 if isinstance(held.opened, LanceError) else held.opened.num_bytes


def _indexed_columns(fields: Iterable[Field], above: Path = ()) -> Iterator[tuple[Path, Field]]:
    """Yields the columns, and members of structs, of plain values or lists of them."""
    for field in fields:
        path = (*above, field.name)
        if not field.children:
            if not pa.types.is_nested(arrow_field(field).type):
                yield path, field
        elif field.logical_type in ("list", "large_list") and not field.children[0].children:
            yield path, field
        elif field.logical_type == "struct" and not field.is_blob_v2:
            yield from _indexed_columns(field.children, path)


def _check_sets(sets: pa.Array, check: Callable[[bytes], object]) -> None:
    if sets.null_count:
        raise CorruptFile("a set of rows is NULL")
    for each in sets:
        check(each.as_buffer().to_pybytes())
