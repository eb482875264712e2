"""Drafts of versions: the ids and lineage of new fragments, and changes of existing ones.

    new fragment      id max + 1    row ids: carried ones, then next_row_id ..    versions: see `lineage`
    changed fragment  the current one with other files or another deletion file

Source: table format, transactions, building the manifest; row lineage, what each operation does.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

import numpy as np

from lance_sql.errors import CommitConflict, CorruptFile, InvalidArgument, UnsupportedFeature
from lance_sql.table import features, indices, row_ids, row_versions
from lance_sql.table.fragment import Fragment
from lance_sql.table.fragments import Fragments
from lance_sql.table.manifest import Manifest
from lance_sql.table.row_ids import RowIds
from lance_sql.table.segments import IdRange
from lance_sql.table.snapshot import Snapshot
from lance_sql.values.arrays import I64, U32, U64, BoolMask
from lance_sql.values.bitmaps import U64Set
from lance_sql.writes.commit import data_files

# Number of newest fragments that are checked for row ids that should be unused.
_YOUNGEST: Final = 16
MAX_FRAGMENT_ID: Final = 2**32 - 1


@dataclass(frozen=True, slots=True)
class NextVersion:
    """Version to be written: `manifest.serialize` makes its file."""

    manifest: Manifest
    index_section: bytes | None


@dataclass(slots=True)
class Draft:
    """A version under construction.

    latest: the version before; None for the first one
    manifest: so far
    version: of the draft
    """

    latest: Snapshot | None
    manifest: Manifest
    index_section: bytes | None
    version: int

    def __post_init__(self) -> None:
        if self.latest is not None:
            self.change(fragments=recounted(self.latest))
        ids = self.manifest.fragments.ids
        if ids:
            if max(ids) > MAX_FRAGMENT_ID:
                raise CorruptFile(f"a fragment with the id {max(ids)}")
            # A recorded maximum may be lower than the ids in the list.
            self.change(max_fragment_id=max(*ids, self.manifest.max_fragment_id or 0))

    def finish(self, timestamp: datetime, transaction_file: str) -> NextVersion:
        """Returns the version to be written.

        raises: UnsupportedFeature
        """
        manifest = self.manifest
        if any(field.dictionary is not None for field in manifest.schema.by_id.values()):
            raise UnsupportedFeature(
                "writing to tables of file version 0.1 with dictionaries in the manifest is not supported"
            )
        reader_flags, writer_flags = features.describe(
            manifest.fragments,
            stable_row_ids=manifest.has_stable_row_ids,
            has_config=bool(manifest.config),
            has_base_paths=bool(manifest.base_paths),
            has_covering_indices=indices.have_covering_fields(self.index_section),
            before=manifest.reader_flags | (0 if self.latest is None else self.latest.manifest.reader_flags),
        )
        self.change(
            version=self.version,
            timestamp=timestamp,
            transaction_file=transaction_file,
            reader_flags=reader_flags,
            writer_flags=writer_flags,
        )
        return NextVersion(self.manifest, self.index_section)

    def change(self, **values: object) -> None:
        """Sets fields of the manifest."""
        self.manifest = self.manifest.changed(values)

    def edit(
        self, *, removed: Collection[int] = (), replaced: Iterable[Fragment] = (), added: Iterable[Fragment] = ()
    ) -> None:
        """Sets fragments; see `Fragments.edited`."""
        removed = frozenset(removed)
        self.change(fragments=self.manifest.fragments.edited(removed=removed, replaced=replaced, added=added))

    def lose_values(self, changed: Mapping[int, Collection[int]]) -> None:
        """Removes fragments with in-place changes from the coverage of indices, under their old ids as well.

        changed: fragments by the ids of the indexed fields
        """
        if self.index_section is None or not changed:
            return
        assert self.latest is not None
        opened = self.latest.open_indices
        with_sources = {field: opened.with_sources(ids) for field, ids in changed.items()}
        self.index_section = indices.without_values(self.index_section, with_sources)

    def check_present(self, ids: Iterable[int]) -> None:
        """Makes sure that the latest version has these fragments.

        raises: CommitConflict
        """
        missing = set(ids) - set(self.manifest.fragments.ids)
        if missing:
            raise CommitConflict(f"fragment {min(missing)} is missing from the latest version")

    def current(self, fragments: Iterable[Fragment]) -> dict[int, Fragment]:
        """Returns the fragments of the latest version with the ids of these."""
        return self.manifest.fragments.by_id({fragment.id for fragment in fragments})

    def with_deletions(self, fragments: Sequence[Fragment]) -> list[Fragment]:
        """Returns the current fragments with the deletion files of these."""
        current = self.current(fragments)
        return [
            dataclasses.replace(current[fragment.id], deletion_file=fragment.deletion_file) for fragment in fragments
        ]

    def next_fragment_id(self, count: int = 1) -> int:
        """Returns the first of `count` unused fragment ids."""
        highest = -1 if self.manifest.max_fragment_id is None else self.manifest.max_fragment_id
        if not 1 <= count <= MAX_FRAGMENT_ID - highest:
            raise InvalidArgument(f"no {count} fragment ids above {highest}")
        return highest + 1

    def inserted(self, fragment: Fragment, replaces: Iterable[Fragment] = ()) -> Fragment:
        """Returns a new fragment with its id, its row ids and their versions.

        replaces: current fragments that lose rows, whose ids the first new rows may carry
        """
        data_files.check_new(fragment, self.manifest)
        fragment_id = self.next_fragment_id()
        self.change(max_fragment_id=fragment_id)
        if not self.manifest.has_stable_row_ids:
            return dataclasses.replace(fragment, id=fragment_id, row_ids=None, created_at=None, last_updated_at=None)
        carried = RowIds(())
        if isinstance(fragment.row_ids, bytes):
            carried = row_ids.parse_prefix(fragment.row_ids, fragment.physical_rows)
        elif fragment.row_ids is not None:
            raise UnsupportedFeature("new fragments with row ids in separate files are not supported")
        num_carried = carried.num_rows
        num_fresh = fragment.physical_rows - num_carried
        created_at = row_versions.constant(fragment.physical_rows, self.version)
        parts = carried.segments
        if num_carried:
            assert self.latest is not None
            versions = created_at_of(self.latest, replaces, carried.expand())
            if num_fresh:
                versions = np.concatenate((versions, np.full(num_fresh, self.version, np.uint64)))
            created_at = row_versions.from_values(versions)
        if num_fresh:
            parts = (*parts, self._fresh_row_ids(num_fresh))
        return dataclasses.replace(
            fragment,
            id=fragment_id,
            row_ids=row_ids.serialize(RowIds(parts)),
            created_at=row_versions.serialize(created_at),
            last_updated_at=self.updated_now(fragment),
        )

    def _fresh_row_ids(self, count: int) -> IdRange:
        """Returns unused row ids.

        raises: CorruptFile if a row of the newest fragments has one of them; UnsupportedFeature if there are none left
        """
        start = self.manifest.next_row_id
        before = self.latest.manifest if self.latest is not None else None
        if before is not None and start == before.next_row_id:
            # for most fragments the manifest records that their ids are lower
            greatest = before.fragments.table.row_ids.greatest[-_YOUNGEST:]
            first = len(before.fragments) - len(greatest)
            for fragment_index in (first + (greatest >= np.uint64(start)).nonzero()[0]).tolist():
                _check_row_ids(before.fragments[fragment_index], start)
        if start + count >= 2**64:
            raise UnsupportedFeature(f"{count} row ids above {start} are not supported")
        self.change(next_row_id=start + count)
        return IdRange(start, start + count)

    def updated_now(self, fragment: Fragment) -> bytes | None:
        """Returns the row versions of a fragment that changes completely with this commit."""
        if not self.manifest.has_stable_row_ids:
            return None
        return row_versions.serialize(row_versions.constant(fragment.physical_rows, self.version))

    def updated_at(self, fragment: Fragment, offsets: np.ndarray) -> bytes | None:
        """Returns the row versions of a fragment of which only the rows at these offsets change with this commit."""
        if not self.manifest.has_stable_row_ids:
            return None
        assert self.latest is not None
        if len(offsets) and int(offsets.max()) >= fragment.physical_rows:
            raise InvalidArgument(f"fragment {fragment.id} has no row {offsets.max()}")
        values = self.latest.open(fragment).last_updated_at_sequence.expand()
        values[offsets] = self.version
        return row_versions.serialize(row_versions.from_values(values))


def _check_row_ids(fragment: Fragment, start: int) -> None:
    """
    raises: CorruptFile if a row has an id that should be unused
    """
    if isinstance(fragment.row_ids, bytes):
        bounds = row_ids.parse(fragment.row_ids, fragment.physical_rows).bounds()
        if bounds is not None and bounds[1] >= start:
            raise CorruptFile(f"the next row id is {start}, and fragment {fragment.id} has the row {bounds[1]}")


def recounted(snapshot: Snapshot) -> Fragments:
    """Returns the fragments with correct row counts: those of the data files if an early writer recorded wrong
    ones."""
    if snapshot.manifest.fragments.trust_rows or snapshot.manifest.fragments.repeated_ids():
        return snapshot.manifest.fragments
    return Fragments.of(
        [
            dataclasses.replace(fragment, physical_rows=snapshot.open(fragment).num_rows)
            for fragment in snapshot.manifest.fragments
        ],
        file=snapshot.manifest_path,
    )


_IDS_AT_ONCE: Final = 1 << 17
"""Number of ids searched together. The search takes several times their memory, and few ids cost as much as many."""


def created_at_of(snapshot: Snapshot, fragments: Iterable[Fragment], ids: U64) -> U64:
    """Returns the versions that inserted the rows with these ids, in their order.

    fragments: fragments with the live rows
    raises: InvalidArgument for a row that is not live, or an id that occurs twice
    """
    if len(U64Set.of(ids)) != len(ids):
        raise InvalidArgument("two rows of new fragments carry the same row id")
    fragments = list(fragments)
    created_at = np.empty(len(ids), np.uint64)
    for start in range(0, len(ids), _IDS_AT_ONCE):
        part = slice(start, start + _IDS_AT_ONCE)
        created_at[part] = _created_at(snapshot, fragments, ids[part])
    return created_at


def _created_at(snapshot: Snapshot, fragments: Sequence[Fragment], ids: U64) -> U64:
    created_at = np.zeros(len(ids), np.uint64)
    missing = np.arange(len(ids))
    for fragment in fragments:
        if not len(missing):
            break
        opened = snapshot.open(fragment)
        indices, offsets = opened.row_id_sequence.positions(ids[missing])
        alive = ~_contains(opened.deletions, offsets)
        indices, offsets = indices[alive], offsets[alive]
        created_at[missing[indices]] = opened.created_at_sequence.take(offsets)
        missing = np.delete(missing, indices)
    if len(missing):
        raise InvalidArgument(
            f"the row id {ids[missing[0]]} is carried over, but no fragment that the update touches has such a row in"
            f" {snapshot.label}"
        )
    return created_at


def _contains(ascending: U32, values: I64) -> BoolMask:
    if not len(ascending):
        return np.zeros(len(values), np.bool_)
    positions = np.minimum(ascending.searchsorted(values), len(ascending) - 1)
    is_contained: BoolMask = ascending[positions] == values
    return is_contained
