"""Statistics of pages."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from lance_sql.format.file.statistics import PageStatistics


def test_pages_are_taken_by_number() -> None:
    known = PageStatistics(pa.array([1, 2]), pa.array([0, None]), pa.array(["a", "b"]), pa.array(["c", None]))
    taken = known.take(np.array([1, 1, 0]))
    assert taken.num_values.to_pylist() == [2, 2, 1]
    assert taken.null_counts.to_pylist() == [None, None, 0]
    assert taken.mins.to_pylist() == ["b", "b", "a"]
    assert taken.maxs.to_pylist() == [None, None, "c"]
