"""Statistics of written files, compared with the values read."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from lance_sql.format.old_files.statistics import of_written

NUM_VALUES = np.array([10, 10, 10], np.int64)
NULL_COUNTS = pa.array([0, 3, None], pa.int64())


def test_bounds_beside_nulls_that_are_lost_are_unknown() -> None:
    found = of_written(NUM_VALUES, NULL_COUNTS, pa.array([1, 2, 3]), pa.array([4, 5, 6]), nulls_are_kept=False)
    assert found.mins.to_pylist() == [1, None, None]
    assert found.maxs.to_pylist() == [4, None, None]
    assert found.null_counts.to_pylist() == [None] * 3
    assert found.num_values.to_pylist() == [10] * 3


def test_bounds_beside_nulls_that_are_kept_hold() -> None:
    found = of_written(
        NUM_VALUES, NULL_COUNTS, pa.array(["a", None, "c"]), pa.array(["x", "y", None]), nulls_are_kept=True
    )
    assert found.mins.to_pylist() == ["a", None, "c"]
    assert found.maxs.to_pylist() == ["x", "y", None]


def test_nan_bounds_nothing() -> None:
    nan = float("nan")
    found = of_written(
        NUM_VALUES, pa.array([0, 0, 0]), pa.array([nan, 1.0, 2.0]), pa.array([1.0, nan, 3.0]), nulls_are_kept=False
    )
    assert found.mins.to_pylist() == [None, 1.0, 2.0]
    assert found.maxs.to_pylist() == [1.0, None, 3.0]
