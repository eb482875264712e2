"""Rows of slices, of every nesting of lists that Arrow gets wrong, and some that it does not."""

from __future__ import annotations

import pyarrow as pa
import pytest

from lance_sql.values import selection

PAIRS = pa.list_(pa.int32(), 2)
ARRAYS = [
    pa.array([[[i, i + 1], [i + 2, None]] if i % 4 else None for i in range(20)], pa.list_(PAIRS, 2)),
    pa.array([[[[i, i + 1]]] for i in range(20)], pa.list_(pa.list_(PAIRS, 1), 1)),
    pa.array([[[i, i + 1]] * (i % 3) for i in range(20)], pa.list_(PAIRS)),
    pa.array([{"p": [[i, i + 1]]} for i in range(20)], pa.struct([("p", pa.list_(PAIRS, 1))])),
    pa.array(range(20)),
]


@pytest.mark.parametrize("array", ARRAYS, ids=lambda array: str(array.type))
@pytest.mark.parametrize("start", [0, 1, 7])
def test_rows_of_a_slice(array: pa.Array, start: int) -> None:
    part = array.slice(start, 9)
    values = part.to_pylist()
    mask = pa.array([i % 3 == 0 for i in range(9)])
    batch = pa.record_batch([part], ["c"])
    table = pa.table({"c": pa.chunked_array([part, array.slice(2, 3)])})
    assert selection.take(batch, pa.array([8, 0, 4, 4])).column(0).to_pylist() == [values[i] for i in (8, 0, 4, 4)]
    assert selection.filter(batch, mask).column(0).to_pylist() == values[::3]
    assert selection.filter_array(part, mask).to_pylist() == values[::3]
    everything = table.column(0).to_pylist()
    assert selection.take(table, pa.array([11, 3])).column(0).to_pylist() == [everything[i] for i in (11, 3)]
