"""The fragments in which two versions differ, and the rows affected. Reads no pages, and nothing of shared fragments.

    before                    after
    fragment 0                fragment 0                    the same bytes: nothing changed
    fragment 1                fragment 1, row 7 deleted     row 7 is only before
    fragment 2                                              all its rows are only before
                              fragment 3                    all its rows are only after
    fragment 4: a.lance       fragment 4: b.lance           its rows are in both, at the same place, in other files

A row whose place is only before may be at another place after: `image_matching` decides.
"""

from __future__ import annotations

import bisect
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from lance_sql.changes import earlier_columns
from lance_sql.changes.changed_rows import RowSelection
from lance_sql.changes.earlier_columns import Sources
from lance_sql.errors import UnsupportedFeature
from lance_sql.store import concurrently
from lance_sql.table.fragment import Fragment
from lance_sql.table.fragments import Fragments
from lance_sql.table.open_fragment import OpenFragment
from lance_sql.table.open_fragments import OpenFragments
from lance_sql.table.snapshot import Snapshot
from lance_sql.values import row_ranges
from lance_sql.values.arrays import I64
from lance_sql.values.row_ranges import RowRanges

_NONE: Final = np.empty(0, np.int64)


@dataclass(frozen=True)
class ComparedVersion:
    """One of two versions that are compared.

    snapshot: None for the time before the table's first version
    files: opens its fragments
    """

    snapshot: Snapshot | None
    files: OpenFragments

    def deleted(self, fragment: Fragment) -> I64:
        """Returns the deleted rows of a fragment of the version, ascending.

        raises: CorruptFile
        """
        if fragment.deletion_file is None:
            return _NONE
        # kept with the open fragment, for later reads
        return self.files.get(fragment).deletions.astype(np.int64)

    def open(self, fragment: Fragment) -> OpenFragment:
        """Opens the fragment without deletions, so that versions with other deletions share it."""
        return self.files.get(fragment.without_deletions)

    def load_deleted(self, fragments: Sequence[Fragment]) -> None:
        """Reads the deletion files of fragments, concurrently if the store allows it.

        raises: CorruptFile
        """
        if self.files.concurrency > 1:
            opened = [self.files.get(each) for each in fragments if each.deletion_file is not None]
            concurrently([each.load_deletions for each in opened], self.files.concurrency)

    def live(self, fragment: Fragment) -> RowRanges:
        return row_ranges.without(row_ranges.single(0, self.open(fragment).num_rows), self.deleted(fragment))

    @property
    def fragments(self) -> Fragments:
        return self.snapshot.manifest.fragments if self.snapshot is not None else Fragments.of(())


@dataclass(frozen=True)
class FragmentDifference:
    """Rows by their places.

    before: rows whose place is not in the later version
    after: rows whose place was not in the earlier one
    rewritten: rows at the same place in both versions, in fragments with other data files or other visible columns:
        the fragment before, the fragment after, and the rows
    """

    before: RowSelection
    after: RowSelection
    rewritten: tuple[tuple[Fragment, Fragment, RowRanges], ...]


def compare(old: ComparedVersion, new: ComparedVersion, was: Sources, now: Sources) -> FragmentDifference:
    """Compares the fragments of two versions.

    was, now: the columns of the feed in both. If they differ, shared fragments are compared too: files may still have
        values of a column that came back
    raises: CorruptFile; UnsupportedFeature for fragments with parts that this release does not support
    """
    before: list[tuple[Fragment, RowRanges]] = []
    after: list[tuple[Fragment, RowRanges]] = []
    rewritten = []
    is_same_schema = earlier_columns.are_stored_alike(was, now)
    changed = list(changed_fragments(old.fragments, new.fragments, with_unchanged=not is_same_schema))
    old.load_deleted([earlier for earlier, _ in changed if earlier is not None])
    new.load_deleted([later for _, later in changed if later is not None])
    for earlier, later in changed:
        if earlier is None or later is None or not _has_same_rows(earlier, later, old.files, new.files):
            if earlier is not None:
                before.append((earlier, old.live(earlier)))
            if later is not None:
                after.append((later, new.live(later)))
            continue
        deleted_before, deleted_after = old.deleted(earlier), new.deleted(later)
        if earlier.deletion_file != later.deletion_file:
            newly_deleted = _without(deleted_after, deleted_before)
            before.append((earlier, row_ranges.from_sorted(newly_deleted)))
            # most commits delete, and bring no row back
            if len(deleted_after) - len(newly_deleted) != len(deleted_before):
                after.append((later, row_ranges.from_sorted(_without(deleted_before, deleted_after))))
        if earlier.files != later.files or not is_same_schema:
            in_both = row_ranges.without(old.live(earlier), deleted_after)
            if len(in_both):
                rewritten.append((earlier, later, in_both))
    return FragmentDifference(RowSelection.of(old.files, before), RowSelection.of(new.files, after), tuple(rewritten))


def _without(rows: I64, removed: I64) -> I64:
    """Returns `rows` without those in `removed`; both ascend."""
    positions = removed.searchsorted(rows)
    are_removed = positions < len(removed)
    are_removed[are_removed] = removed[positions[are_removed]] == rows[are_removed]
    return rows[~are_removed]


def changed_fragments(
    old: Fragments, new: Fragments, *, with_unchanged: bool
) -> Iterator[tuple[Fragment | None, Fragment | None]]:
    """Yields pairs of fragments with the same id that are stored differently; None if a version lacks the id.

    with_unchanged: also yield fragments that are stored alike
    """
    for fragments in (old, new):
        if repeated := fragments.repeated_ids():
            raise UnsupportedFeature(
                f"{fragments.file}: several fragments have the id {repeated[0]}, so the changes cannot be determined"
            )
    are_read_alike = not with_unchanged and old.trust_rows == new.trust_rows
    first, last = _alike(old, new) if are_read_alike else (0, 0)
    old_indices = {fragment_id: first + index for index, fragment_id in enumerate(old.ids[first : len(old) - last])}
    # most of those between are alike
    was, now = _messages(old, first, len(old) - last), _messages(new, first, len(new) - last)
    for index in range(first, len(new) - last):
        old_index = old_indices.pop(new.ids[index], None)
        if old_index is None:
            yield None, new.known(index)
        elif not are_read_alike or was[old_index - first] != now[index - first]:
            earlier, later = old.known(old_index), new.known(index)
            if with_unchanged or earlier != later:
                yield earlier, later
    for old_index in old_indices.values():
        yield old.known(old_index), None


def _messages(fragments: Fragments, first: int, end: int) -> list[bytes]:
    """Returns the messages of the fragments at indices `[first, end)`."""
    content, table = fragments.content, fragments.table
    bounds = zip(table.starts[first:end].tolist(), table.ends[first:end].tolist(), strict=True)
    return [content[start:stop] for start, stop in bounds]


def _alike(old: Fragments, new: Fragments) -> tuple[int, int]:
    """Counts the fragments stored alike at the beginning, and the others stored alike at the end."""
    most = min(len(old), len(new))

    def begins_otherwise(count: int) -> bool:
        end = int(old.table.ends[count - 1])
        return old.content[:end] != new.content[:end]

    first = bisect.bisect_left(range(1, most + 1), True, key=begins_otherwise)

    def ends_otherwise(count: int) -> bool:
        mine, theirs = int(old.table.starts[-count]), int(new.table.starts[-count])
        return old.content[mine:] != new.content[theirs:]

    return first, bisect.bisect_left(range(1, most - first + 1), True, key=ends_otherwise)


def _has_same_rows(old: Fragment, new: Fragment, old_files: OpenFragments, new_files: OpenFragments) -> bool:
    """Whether fragments of one id have the same rows at the same positions. Old writers restarted fragment ids when
    they overwrote a table."""
    if old.physical_rows != new.physical_rows:
        return False
    if not (old_files.files.has_stable_row_ids and new_files.files.has_stable_row_ids):
        paths = {file.path for file in old.files}
        return any(file.path in paths for file in new.files)
    if isinstance(old.row_ids, bytes) and old.row_ids == new.row_ids:
        return True
    a, b = old_files.get(old).row_id_sequence, new_files.get(new).row_id_sequence
    return a.num_rows == b.num_rows and bool(np.array_equal(a.expand(), b.expand()))
