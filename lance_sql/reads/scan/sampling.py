"""Sampling of a few rows that represent all candidates of a plan."""

from __future__ import annotations

import numpy as np

from lance_sql.reads.scan.candidates import Candidates
from lance_sql.reads.scan.fragment_scans import FragmentScan
from lance_sql.values import row_ranges

SPOTS = 8
ROWS_PER_SPOT = 1024
"""Rows are taken in runs, because values are stored in chunks of about this size."""


def sample(candidates: Candidates) -> list[FragmentScan]:
    """Returns live rows at evenly spaced places among the candidates, in scan order; all of them if there are few.

    raises: CorruptFile for a damaged deletion file
    """
    counts = candidates.counts()
    ends = np.cumsum(counts)
    total = int(ends[-1]) if len(ends) else 0
    # the middle of each of `SPOTS` equal parts
    middles = total * (2 * np.arange(SPOTS, dtype=np.int64) + 1) // (2 * SPOTS)
    starts = np.maximum(middles - ROWS_PER_SPOT // 2, 0)
    spots = row_ranges.coalesce(np.stack((starts, np.minimum(starts + ROWS_PER_SPOT, total)), axis=1), 0)
    scans = []
    indices = candidates.fragment_indices.tolist()
    for fragment_index, count, end in zip(indices, counts.tolist(), ends.tolist(), strict=True):
        inside = row_ranges.clip(spots, end - count, end)
        if len(inside):
            rows = row_ranges.compose(candidates.live_rows(fragment_index), inside - (end - count))
            scans.append(FragmentScan(candidates.fragments[fragment_index], rows))
    return scans
