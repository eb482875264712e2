"""Fragments of a table version.

The rows of a table are those of its fragments in order, without the deleted ones.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Final, overload

import numpy as np

from lance_sql.errors import CorruptFile, InvalidArgument, at
from lance_sql.format.proto import table_pb2
from lance_sql.runtime.cached_property import cached_property
from lance_sql.table import fragment_wire
from lance_sql.table.fragment import DataFile, Fragment
from lance_sql.table.fragment_table import FragmentTable
from lance_sql.values.arrays import I64

_MOST_ROWS: Final = 2**62

_MOST_KEPT_BYTES: Final = 4096
"""Limit of messages whose parsed fragment is cached for other versions. Longer ones contain row ids of their own."""


class Fragments(Sequence[Fragment]):
    """The fragments of a manifest in scan order: columns for all of them, and lazily parsed values.

    Unchanged fragments are written again byte for byte, including fields of later releases.

    content: their messages, as fields of a manifest, concatenated
    trust_rows: the recorded row counts are right; False makes them unknown
    file: path of the manifest, for messages
    raises: CorruptFile for bytes that are not fragments; errors inside a fragment are raised when it is parsed
    """

    def __init__(self, content: bytes, *, trust_rows: bool, file: str) -> None:
        self.content = content
        self.trust_rows = trust_rows
        self.file = file
        with at(file=file):
            self.table = FragmentTable(content)
            self.ids: tuple[int, ...] = tuple(self.table.ids.tolist())
        self._made: list[Fragment | None] = [None] * len(self.ids)
        self._known: set[int] = set()

    def __len__(self) -> int:
        return len(self._made)

    @overload
    def __getitem__(self, index: int) -> Fragment: ...
    @overload
    def __getitem__(self, index: slice) -> list[Fragment]: ...
    def __getitem__(self, index: int | slice) -> Fragment | list[Fragment]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        return self._made[index] or self._make(index, self._message(index))

    def __iter__(self) -> Iterator[Fragment]:
        return (self[i] for i in range(len(self)))

    def __reduce__(self) -> tuple[Callable[..., Fragments], tuple[bytes, bool, str]]:
        return _restore, (self.content, self.trust_rows, self.file)

    @classmethod
    def of(cls, fragments: Iterable[Fragment], *, file: str = "") -> Fragments:
        """Returns these fragments, in the order of their ids."""
        return cls(b"", trust_rows=True, file=file).edited(added=fragments)

    def repeated_ids(self) -> tuple[int, ...]:
        """Returns duplicate ids, ascending. Some early releases wrote them, and the next commit repairs them."""
        ids = self.table.ids
        # as every writer that sorts them stores them
        if (ids[1:] > ids[:-1]).all() or len(set(self.ids)) == len(self.ids):
            return ()
        return tuple(sorted(number for number, count in Counter(self.ids).items() if count > 1))

    @cached_property
    def distinct_ids(self) -> frozenset[int]:
        return frozenset(self.ids)

    @cached_property
    def index_of(self) -> Mapping[int, int]:
        """Index of each fragment by id; the last one of duplicates."""
        return {number: index for index, number in enumerate(self.ids)}

    @cached_property
    def recorded_rows(self) -> I64 | None:
        """Physical rows of each fragment; None if only a data file records those of one."""
        rows = self.table.physical_rows.astype(np.int64)
        return rows if self.trust_rows and bool((rows > 0).all()) else None

    @cached_property
    def recorded_live_rows(self) -> I64 | None:
        """Live rows of each fragment; None if only files record those of one."""
        rows = self.recorded_rows
        if rows is None:
            return None
        deleted = self.table.num_deleted_rows.astype(np.int64)
        live = rows - deleted
        is_unknown = (self.table.have_deletions & (deleted == 0)) | (live < 0)
        return None if bool(is_unknown.any()) else live

    @cached_property
    def num_recorded_live_rows(self) -> int | None:
        """Live rows of all fragments; None if only files record those of one."""
        live = self.recorded_live_rows
        return None if live is None else self.total(live)

    def total(self, counts: I64) -> int:
        """Returns the sum of row counts, none of which is negative.

        raises: CorruptFile for a sum that is too large
        """
        if len(counts) and int(np.maximum.reduce(counts)) > _MOST_ROWS // len(counts):
            with at(file=self.file or None):
                raise CorruptFile("fragments with more rows than can be counted")
        return int(np.add.reduce(counts))

    def have_deletions(self) -> bool:
        return bool(self.table.have_deletions.any())

    def have_hidden_columns(self) -> bool:
        """Whether a data file contains row ids or versions of a fragment."""
        return self.table.have_hidden_columns()

    def first_file_version(self) -> tuple[int, int] | None:
        """Returns the major and minor version of the first data file; None without any. Parses no fragment."""
        for index in self.table.num_files.nonzero()[0][:1].tolist():
            file = self._message(index).files[0]
            return file.file_major_version, file.file_minor_version
        return None

    def picked(self, indices: I64) -> Fragments:
        """Returns the fragments at these ascending indices."""
        return Fragments(_pick(self.content, self.table, indices), trust_rows=self.trust_rows, file=self.file)

    def by_id(self, ids: Collection[int]) -> dict[int, Fragment]:
        """Returns the existing fragments with these ids."""
        return {number: self[i] for i, number in enumerate(self.ids) if number in ids}

    def edited(
        self, *, removed: Collection[int] = (), replaced: Iterable[Fragment] = (), added: Iterable[Fragment] = ()
    ) -> Fragments:
        """Returns the fragments of the next version, ascending by id.

        removed: ids
        replaced: by their ids, which must exist
        raises: UnsupportedFeature for a replaced fragment with unknown fields; InvalidArgument for duplicate ids
        """
        changed = {fragment.id: fragment for fragment in replaced}
        indices = []
        for index, number in enumerate(self.ids):
            if number in changed:
                message = self._message(index)
                with at(file=self.file):
                    fragment_wire.check_known(message, "which this release does not support and would lose")
            elif number not in removed:
                indices.append(index)
        assert changed.keys() <= set(self.ids)
        made = [fragment for number, fragment in changed.items() if number not in removed] + list(added)
        content = _pick(self.content, self.table, np.array(indices, np.int64))
        message = table_pb2.Manifest(fragments=[fragment_wire.serialize(fragment) for fragment in made])
        content += bytes(message.SerializeToString())
        together = FragmentTable(content)
        if len(together) > 1 and (together.ids[1:] < together.ids[:-1]).any():
            content = _pick(content, together, np.argsort(together.ids, kind="stable"))
        edited = Fragments(content, trust_rows=self.trust_rows, file=self.file)
        if repeated := edited.repeated_ids():
            raise InvalidArgument(f"two fragments would have the id {repeated[0]}")
        return edited

    def known(self, index: int) -> Fragment:
        """Returns the fragment at an index, which must have no unknown fields.

        raises: UnsupportedFeature for unknown fields; CorruptFile
        """
        if index not in self._known:
            content = self.message_bytes(index)
            with at(file=self.file):
                # fragments of neighboring versions are mostly the same
                parse = _known if len(content) <= _MOST_KEPT_BYTES else _known.__wrapped__
                known = parse(content, self.trust_rows)
            self._made[index] = self._made[index] or known
            self._known.add(index)
        return self[index]

    def message_bytes(self, index: int) -> bytes:
        """Returns the stored message of the fragment at an index."""
        return self.content[int(self.table.starts[index]) : int(self.table.ends[index])]

    def _make(self, index: int, message: table_pb2.DataFragment) -> Fragment:
        with at(file=self.file):
            made = fragment_wire.parse(message, trust_rows=self.trust_rows)
        # Two threads may both parse it; the results are equal.
        self._made[index] = made
        return made

    def _message(self, index: int) -> table_pb2.DataFragment:
        message = table_pb2.DataFragment()
        with at(file=self.file):
            message.ParseFromString(self.message_bytes(index))
        return message


@lru_cache(maxsize=4096)
def _known(content: bytes, trust_rows: bool) -> Fragment:
    """Parses the fragment in a message without unknown fields.

    raises: CorruptFile, UnsupportedFeature
    """
    with at():
        message = table_pb2.DataFragment.FromString(content)
        fragment_wire.check_known(message, "which this release does not support")
        return fragment_wire.parse(message, trust_rows=trust_rows)


def _restore(content: bytes, trust_rows: bool, file: str) -> Fragments:
    return Fragments(content, trust_rows=trust_rows, file=file)


def _pick(content: bytes, table: FragmentTable, indices: I64) -> bytes:
    """Copies the fields of the fragments at these indices; neighbors are copied together."""
    if len(indices) == 0:
        return b""
    bounds = np.concatenate(([0], table.ends))
    firsts = np.concatenate(([0], (np.diff(indices) != 1).nonzero()[0] + 1))
    lasts = np.concatenate((firsts[1:] - 1, [len(indices) - 1]))
    starts, ends = bounds[indices[firsts]], bounds[indices[lasts] + 1]
    return b"".join([content[start:end] for start, end in zip(starts.tolist(), ends.tolist(), strict=True)])


def new_files(mine: Fragments, theirs: Fragments) -> list[tuple[Fragment, DataFile]]:
    """Returns the files of `mine` that `theirs` does not have, with their fragments. Byte-identical fragments are
    not parsed."""
    messages = {theirs.message_bytes(index) for index in range(len(theirs))}
    changed = [mine[index] for index in range(len(mine)) if mine.message_bytes(index) not in messages]
    earlier = theirs.by_id([fragment.id for fragment in changed])
    known = {(file.path, file.base_id) for fragment in earlier.values() for file in fragment.files}
    return [(each, file) for each in changed for file in each.files if (file.path, file.base_id) not in known]
