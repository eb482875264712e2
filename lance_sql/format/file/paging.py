"""Splitting of the rows of a leaf into pages. No row spans two pages."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_sql.format.file import shredding
from lance_sql.format.file.shredding import Shape, Shredded

MAX_ENTRIES = 1 << 20
"""Maximum entries of a page with levels, which are encoded all at once."""

MAX_GAP = 1 << 14
"""Longer runs of entries without items get their own page, because a chunk of items can hold only this many."""


class LeafPages:
    """Collects the shredded rows of one leaf.

    page_bytes: input size after which a page ends
    """

    def __init__(self, shape: Shape, page_bytes: int) -> None:
        self._shape = shape
        self._page_bytes = page_bytes
        self._pending: list[Shredded] = []
        self._num_entries = 0
        self.num_bytes = 0

    def add(self, leaf: Shredded) -> Iterator[Shredded]:
        """Adds rows, and yields the pages that they complete."""
        for part, size in self._parts(leaf):
            if self._pending and self.num_bytes + size > self._page_bytes * 5 // 4:
                yield from self.flush()
            self._pending.append(part)
            self.num_bytes += size
            if self._has_levels(part):
                self._num_entries += part.num_entries
            if self.num_bytes >= self._page_bytes or self._num_entries >= MAX_ENTRIES:
                yield from self.flush()

    def flush(self) -> Iterator[Shredded]:
        """Yields the last page, if there are rows left."""
        pending, self._pending, self._num_entries, self.num_bytes = self._pending, [], 0, 0
        if not pending:
            return
        try:
            pages = [shredding.concat(pending)]
        except pa.ArrowInvalid:
            # the dictionaries together have too many items for the type of the keys
            pages = pending
        for page in pages:
            yield from self._without_gaps(page)

    def _without_gaps(self, page: Shredded) -> Iterator[Shredded]:
        """Yields the rows; those with long runs of entries without items get their own pages."""
        if page.marks is None or page.starts is None or page.num_entries - len(page.values) <= MAX_GAP:
            yield page
            return
        absent = np.flatnonzero(~shredding.owns_item(page.marks, self._shape.hidden_to))
        breaks = np.flatnonzero(np.diff(absent) > 1)
        run_firsts, run_ends = absent[np.append(0, breaks + 1)], absent[np.append(breaks, len(absent) - 1)] + 1
        is_long = run_ends - run_firsts > MAX_GAP
        if not is_long.any():
            yield page
            return
        rows = np.append(np.flatnonzero(page.starts == 0), page.num_entries)
        firsts = rows[np.searchsorted(rows, run_firsts[is_long])]
        ends = rows[np.searchsorted(rows, run_ends[is_long], side="right") - 1]
        cuts = np.unique(np.concatenate(([0], firsts, ends, [page.num_entries]))).tolist()
        for first, end in pairwise(cuts):
            yield shredding.slice_rows(page, self._shape, first, end)

    def _has_levels(self, part: Shredded) -> bool:
        return part.marks is not None or part.starts is not None

    def _parts(self, leaf: Shredded) -> Iterator[tuple[Shredded, int]]:
        """Yields parts that are no larger than a page, as far as single rows allow, and the bytes of each."""
        size = leaf.num_bytes
        count = max(-(-size // self._page_bytes), -(-leaf.num_entries // MAX_ENTRIES) if self._has_levels(leaf) else 1)
        if count <= 1:
            yield leaf, size
            return
        cuts = self._cuts(leaf, count)
        for first, end in pairwise(cuts):
            part = shredding.slice_rows(leaf, self._shape, first, end)
            # rows of very different sizes
            size = part.num_bytes
            if size > 2 * self._page_bytes and len(cuts) > 2:
                yield from self._parts(part)
            else:
                yield part, size

    def _cuts(self, leaf: Shredded, count: int) -> list[int]:
        """Returns the first entries of the rows of about `count` parts, and the end."""
        wanted = np.arange(1, count) * leaf.num_entries // count
        cuts: npt.NDArray[np.intp]
        if leaf.starts is not None:
            rows = np.flatnonzero(leaf.starts == 0)
            cuts = rows[np.minimum(np.searchsorted(rows, wanted), len(rows) - 1)]
        else:
            cuts = wanted // self._shape.items_per_row * self._shape.items_per_row
        return [0, *(cut for cut in np.unique(cuts).tolist() if cut), leaf.num_entries]
