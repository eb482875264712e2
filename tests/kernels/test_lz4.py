"""The size of an LZ4 block against what it was made from."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lance_sql import _kernels as kernels

LZ4 = pa.Codec("lz4_raw")


@given(st.integers(0, 2**32 - 1), st.integers(1, 5000), st.sampled_from([1, 2, 5, 256]))
def test_the_size_is_that_of_the_original(seed: int, size: int, kinds: int) -> None:
    data = np.random.default_rng(seed).integers(0, kinds, size, dtype=np.uint8).tobytes()
    assert kernels.lz4_size(LZ4.compress(data)) == size


def test_long_runs_have_lengths_of_many_bytes() -> None:
    assert kernels.lz4_size(LZ4.compress(bytes(1_000_000))) == 1_000_000
    assert kernels.lz4_size(b"\0") == 0
    assert kernels.lz4_size(b"") == 0


@pytest.mark.parametrize("block", [b"\x10", b"\xf0", b"\xf0\xff", b"\x10a\0", b"\x1fa\1\0", b"\x1fa\1\0\xff"])
def test_a_block_that_ends_early_is_refused(block: bytes) -> None:
    with pytest.raises(ValueError, match="an LZ4 block ends inside of"):
        kernels.lz4_size(block)
