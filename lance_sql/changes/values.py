"""Comparison of two images of a row; see `equal_values`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from lance_sql.changes import earlier_columns
from lance_sql.changes.earlier_columns import ColumnSource
from lance_sql.changes.image_matching import Pairs
from lance_sql.values import selection
from lance_sql.values.arrays import BoolMask
from lance_sql.values.equal_values import same

PAIRS_AT_ONCE = 64 * 1024
"""Maximum number of pairs whose images are in memory at the same time."""


def differing(pairs: Pairs, was: Sequence[ColumnSource], now: Sequence[ColumnSource]) -> BoolMask:
    """Returns for each pair whether its images differ in one of some columns. Reads both images of these columns.

    was, now: the columns before and after, parallel; one that does not exist is NULL
    """
    both = [(a, b) for a, b in zip(was, now, strict=True) if a.stored is not None or b.stored is not None]
    was, now = [a for a, _ in both], [b for _, b in both]
    differ = np.zeros(pairs.num_rows, np.bool_)
    if not was:
        return differ
    for start in range(0, pairs.num_rows, PAIRS_AT_ONCE):
        part = slice(start, start + PAIRS_AT_ONCE)
        at_new = pairs.at_new[part]
        order = np.argsort(at_new, kind="stable")
        ranks = np.empty(len(order), np.int64)
        ranks[order] = np.arange(len(order))
        before = earlier_columns.read(pairs.old.pick(pairs.at_old[part]), was)
        after = earlier_columns.read(pairs.new.pick(at_new[order]), now)
        for a, b in zip(before, after, strict=True):
            is_sorted = bool((ranks[1:] > ranks[:-1]).all())
            other = b if is_sorted else selection.unsliced(b).take(pa.array(ranks))
            differ[part] |= ~same(a, other)
    return differ
