"""The table of the places that keys lead to."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from lance_sql import _kernels
from tests.kernels import oracles

Numbers = npt.NDArray[np.unsignedinteger]

TYPES = st.sampled_from([np.uint8, np.uint16, np.uint32, np.uint64])


@given(data=st.data(), dtype=TYPES, bits=st.integers(1, 18))
def test_keys_are_where_their_products_lead(data: st.DataObject, dtype: type[np.unsignedinteger], bits: int) -> None:
    some = data.draw(arrays(dtype, st.integers(0, 30)))
    others = data.draw(arrays(dtype, st.integers(0, 3000), elements=st.integers(0, np.iinfo(dtype).max)))
    many = np.concatenate((others, some, others))
    marked = _kernels.marked_places(some, some.itemsize, bits)
    expected = oracles.marked_places(some, bits)
    assert marked == expected.tobytes()
    found = _kernels.keys_at_marks(many, many.itemsize, marked)
    assert np.array_equal(found, oracles.keys_at_marks(many, expected))
    assert not np.isin(np.delete(many, found), some).any()


def test_widths_and_tables_that_make_no_sense_are_refused() -> None:
    for width, bits in ((3, 16), (0, 16), (8, 0), (8, 31), (8, -1)):
        with pytest.raises(_kernels.InvalidDataError):
            _kernels.marked_places(b"", width, bits)
    for marked in (b"", b"\1", b"\1" * 3):
        with pytest.raises(_kernels.InvalidDataError):
            _kernels.keys_at_marks(b"", 8, marked)
    with pytest.raises(_kernels.InvalidDataError):
        _kernels.keys_at_marks(b"", 5, b"\0\0")
