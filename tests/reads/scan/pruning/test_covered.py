"""Zones that tile fragments, and those that only cover some of their rows."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import lance_sql
from lance_sql.format.index_files.zones import Zones
from lance_sql.reads.scan.candidates import Candidates
from lance_sql.reads.scan.pruning.covered import Covered


@pytest.fixture
def covered(tmp_path: Path) -> Covered:
    """Two fragments of 10 rows."""
    lance_sql.write({"i": range(10)}, tmp_path / "t")
    table = lance_sql.write({"i": range(10)}, tmp_path / "t", mode="append")
    candidates = Candidates.all_of(table.snapshot)
    return Covered(candidates.fragments, candidates.fragment_indices)


@pytest.mark.parametrize(
    ("zones", "expected"),
    [
        ([(0, 0, 5), (0, 5, 10), (1, 0, 10)], True),
        ([(1, 5, 10), (0, 0, 10), (1, 0, 5)], True),
        ([(0, 0, 10), (1, 0, 10), (9, 3, 4)], True),
        ([(0, 0, 10)], False),
        ([(0, 0, 10), (1, 1, 10)], False),
        ([(0, 0, 10), (1, 0, 9)], False),
        ([(0, 0, 10), (1, 0, 4), (1, 5, 10)], False),
        ([(0, 0, 10), (1, 0, 6), (1, 5, 10)], False),
        ([(0, 0, 10), (1, 0, 10), (1, 0, 10)], False),
        ([], False),
    ],
)
def test_zones_tile_fragments_when_they_have_each_row_once(
    covered: Covered, zones: list[tuple[int, int, int]], expected: bool
) -> None:
    numbers = np.array(zones, np.int64).reshape(-1, 3)
    made = Zones(numbers[:, 0], numbers[:, 1], numbers[:, 2], None)
    assert covered.tiled(made) == expected
    # another file is asked anew
    assert not covered.tiled(Zones(numbers[:0, 0], numbers[:0, 1], numbers[:0, 2], None))
    assert covered.tiled(made) == expected
