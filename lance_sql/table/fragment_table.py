"""Fragments of a manifest as columns, for planning over all of them at once.

    fragment    id   physical_rows   num_deleted_rows   row ids       created at   last updated at
           0     0             200                  1   0 .. 199      1 .. 1       1 .. 4
           1     1             200                  0   200 .. 399    1 .. 1       1 .. 1

One kernel reads them from the stored messages. The bounds of sequences, which are most of some manifests, are read
on demand. A fragment becomes a value only when its files are opened.

Source: message lance.table.DataFragment.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from lance_sql import _kernels
from lance_sql._kernels import FragmentColumn, SequenceForm
from lance_sql.runtime.cached_property import cached_property
from lance_sql.values.arrays import I64, U64, BoolMask

_NO_BOUND: Final = 2**64 - 1

_HIDDEN: Final = int(SequenceForm.HIDDEN_COLUMN)
_FORMS: Final = [
    int(FragmentColumn.ROW_IDS_FORM),
    int(FragmentColumn.CREATED_AT_FORM),
    int(FragmentColumn.LAST_UPDATED_AT_FORM),
]


@dataclass(frozen=True, slots=True, eq=False)
class SequenceBounds:
    """Bounds of the row ids or versions of each fragment.

    forms: `SequenceForm` of each
    least, greatest: bounds of all values, both included; 0 and 2^64 - 1 if unknown
    """

    forms: I64
    least: U64
    greatest: U64

    @property
    def are_known(self) -> BoolMask:
        """Mask of the fragments with known bounds."""
        known: BoolMask = (self.least > 0) | (self.greatest < np.uint64(_NO_BOUND))
        return known


class FragmentTable:
    """Columns of some fragments, one entry for each; see the module. Read-only.

    content: the messages, as fields of a manifest, concatenated
    raises: InvalidDataError for bytes that are not such fields
    """

    def __init__(self, content: bytes) -> None:
        self._content = content
        self._values = _kernels.fragment_table(content, False)

    def __len__(self) -> int:
        return len(self._values)

    @cached_property
    def starts(self) -> I64:
        """Start offset of the message of each fragment."""
        return self._column(FragmentColumn.START)

    @cached_property
    def ends(self) -> I64:
        """End offset of each message; the field of the next fragment begins there."""
        return self._column(FragmentColumn.START) + self._column(FragmentColumn.SIZE)

    @cached_property
    def ids(self) -> U64:
        """Ids as stored; values of more than 32 bits are damaged."""
        return self._unsigned(FragmentColumn.ID)

    @cached_property
    def physical_rows(self) -> U64:
        """Physical rows, including deleted ones; 0 if only the data files record them."""
        return self._unsigned(FragmentColumn.PHYSICAL_ROWS)

    @cached_property
    def num_files(self) -> I64:
        """Numbers of data files."""
        return self._column(FragmentColumn.NUM_FILES)

    @cached_property
    def size_bytes(self) -> I64:
        """Total bytes of all data files; 0 if unknown."""
        return self._column(FragmentColumn.SIZE_BYTES)

    @cached_property
    def have_deletions(self) -> BoolMask:
        """Mask of the fragments with a deletion file."""
        return self._flags(FragmentColumn.HAS_DELETIONS)

    @cached_property
    def num_deleted_rows(self) -> U64:
        """Numbers of deleted rows; 0 without a deletion file, or if only that file records it."""
        return self._unsigned(FragmentColumn.NUM_DELETED_ROWS)

    @cached_property
    def have_statistics(self) -> BoolMask:
        """Mask of the fragments with a data file of version 0.1, according to the manifest, which may have page
        statistics."""
        return self._flags(FragmentColumn.HAS_LEGACY_FILES)

    @cached_property
    def row_ids(self) -> SequenceBounds:
        """Stable row ids."""
        return self._sequence(
            FragmentColumn.ROW_IDS_FORM, FragmentColumn.ROW_IDS_LEAST, FragmentColumn.ROW_IDS_GREATEST
        )

    @cached_property
    def created_at(self) -> SequenceBounds:
        """Versions that inserted the rows."""
        return self._sequence(
            FragmentColumn.CREATED_AT_FORM, FragmentColumn.CREATED_AT_LEAST, FragmentColumn.CREATED_AT_GREATEST
        )

    @cached_property
    def last_updated_at(self) -> SequenceBounds:
        """Versions that last changed the rows."""
        return self._sequence(
            FragmentColumn.LAST_UPDATED_AT_FORM,
            FragmentColumn.LAST_UPDATED_AT_LEAST,
            FragmentColumn.LAST_UPDATED_AT_GREATEST,
        )

    def have_hidden_columns(self) -> bool:
        """Whether a data file contains row ids or versions of a fragment."""
        return bool((self._values[:, _FORMS] == _HIDDEN).any())

    @cached_property
    def _with_bounds(self) -> I64:
        return _kernels.fragment_table(self._content, True)

    def _column(self, column: FragmentColumn) -> I64:
        return self._values[:, column]

    def _flags(self, column: FragmentColumn) -> BoolMask:
        flags: BoolMask = self._values[:, column] != 0
        return flags

    def _unsigned(self, column: FragmentColumn) -> U64:
        return self._values[:, column].view(np.uint64)

    def _sequence(self, form: FragmentColumn, least: FragmentColumn, greatest: FragmentColumn) -> SequenceBounds:
        bounds = self._with_bounds.view(np.uint64)
        return SequenceBounds(self._column(form), bounds[:, least], bounds[:, greatest])
