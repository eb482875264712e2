"""The fragments of a manifest as columns: what planning asks of all of them at once.

    fragment    id   physical_rows   num_deleted_rows   row ids       created at   last updated at
           0     0             200                  1   0 .. 199      1 .. 1       1 .. 4
           1     1             200                  0   200 .. 399    1 .. 1       1 .. 1

One kernel reads them from the stored messages; the bounds of sequences, which are most of some manifests, when they are
asked for. A fragment becomes a value of its own only where its files are opened.

Source: message lance.table.DataFragment.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np

from lance_sql import _kernels
from lance_sql._kernels import FragmentColumn, SequenceForm
from lance_sql.values.arrays import I64, U64, BoolMask

_NO_BOUND: Final = 2**64 - 1


@dataclass(frozen=True, slots=True, eq=False)
class SequenceBounds:
    """The row ids or versions of each fragment.

    forms: `SequenceForm` of each
    least, greatest: every value lies between them, both included; 0 and 2^64 - 1 where nothing is known
    """

    forms: I64
    least: U64
    greatest: U64

    @property
    def are_known(self) -> BoolMask:
        """Where the bounds say something."""
        known: BoolMask = (self.least > 0) | (self.greatest < np.uint64(_NO_BOUND))
        return known


class FragmentTable:
    """The columns of some fragments, one entry for each; see the module. Read-only.

    content: the messages, as fields of a manifest, back to back
    raises: InvalidDataError for bytes that are no such fields
    """

    def __init__(self, content: bytes) -> None:
        self._content = content
        self._values = _kernels.fragment_table(content, False)

    def __len__(self) -> int:
        return len(self._values)

    @cached_property
    def starts(self) -> I64:
        """Where the message of each fragment begins."""
        return self._column(FragmentColumn.START)

    @cached_property
    def ends(self) -> I64:
        """Where it ends; the field of the next fragment begins there."""
        return self._column(FragmentColumn.START) + self._column(FragmentColumn.SIZE)

    @cached_property
    def ids(self) -> U64:
        """As they are stored: more than 32 bits are damage."""
        return self._unsigned(FragmentColumn.ID)

    @cached_property
    def physical_rows(self) -> U64:
        """Deleted rows included; 0 where the data files have to be asked."""
        return self._unsigned(FragmentColumn.PHYSICAL_ROWS)

    @cached_property
    def num_files(self) -> I64:
        """Data files."""
        return self._column(FragmentColumn.NUM_FILES)

    @cached_property
    def size_bytes(self) -> I64:
        """Bytes of all data files; 0 where that is not known."""
        return self._column(FragmentColumn.SIZE_BYTES)

    @cached_property
    def have_deletions(self) -> BoolMask:
        """Where there is a deletion file."""
        return self._flags(FragmentColumn.HAS_DELETIONS)

    @cached_property
    def num_deleted_rows(self) -> U64:
        """0 where the deletion file has to be asked, if there is one."""
        return self._unsigned(FragmentColumn.NUM_DELETED_ROWS)

    @cached_property
    def have_statistics(self) -> BoolMask:
        """Where a data file of version 0.1, judging by the manifest, may have statistics of its pages."""
        return self._flags(FragmentColumn.HAS_LEGACY_FILES)

    @cached_property
    def row_ids(self) -> SequenceBounds:
        """Stable row ids."""
        return self._sequence(
            FragmentColumn.ROW_IDS_FORM, FragmentColumn.ROW_IDS_LEAST, FragmentColumn.ROW_IDS_GREATEST
        )

    @cached_property
    def created_at(self) -> SequenceBounds:
        """The versions that inserted the rows."""
        return self._sequence(
            FragmentColumn.CREATED_AT_FORM, FragmentColumn.CREATED_AT_LEAST, FragmentColumn.CREATED_AT_GREATEST
        )

    @cached_property
    def last_updated_at(self) -> SequenceBounds:
        """The versions that changed the rows last."""
        return self._sequence(
            FragmentColumn.LAST_UPDATED_AT_FORM,
            FragmentColumn.LAST_UPDATED_AT_LEAST,
            FragmentColumn.LAST_UPDATED_AT_GREATEST,
        )

    def have_hidden_columns(self) -> bool:
        """Whether row ids or versions of a fragment are in a data file."""
        forms = (FragmentColumn.ROW_IDS_FORM, FragmentColumn.CREATED_AT_FORM, FragmentColumn.LAST_UPDATED_AT_FORM)
        return any(bool((self._column(form) == SequenceForm.HIDDEN_COLUMN).any()) for form in forms)

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
