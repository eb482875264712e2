"""The flags of keys, and which keys pass them."""

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
def test_keys_pass_where_their_flag_is_set(data: st.DataObject, dtype: type[np.unsignedinteger], bits: int) -> None:
    some = data.draw(arrays(dtype, st.integers(0, 30)))
    others = data.draw(arrays(dtype, st.integers(0, 3000), elements=st.integers(0, np.iinfo(dtype).max)))
    many = np.concatenate((others, some, others))
    flags = _kernels.key_filter(some, some.itemsize, bits)
    expected = oracles.key_filter(some, bits)
    assert flags == expected.tobytes()
    found = _kernels.passing_keys(many, many.itemsize, flags)
    assert np.array_equal(found, oracles.passing_keys(many, expected))
    assert not np.isin(np.delete(many, found), some).any()


def test_widths_and_tables_that_make_no_sense_are_refused() -> None:
    for width, bits in ((3, 16), (0, 16), (8, 0), (8, 31), (8, -1)):
        with pytest.raises(_kernels.InvalidDataError):
            _kernels.key_filter(b"", width, bits)
    for flags in (b"", b"\1", b"\1" * 3):
        with pytest.raises(_kernels.InvalidDataError):
            _kernels.passing_keys(b"", 8, flags)
    with pytest.raises(_kernels.InvalidDataError):
        _kernels.passing_keys(b"", 5, b"\0\0")
