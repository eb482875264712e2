"""Strings that contain a text."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lance_sql import _kernels as kernels
from lance_sql.reads.scan.predicates import substrings

from . import oracles
from .pages import Output

# few letters, so that parts of the text are everywhere, also across the ends of strings
texts = st.text("abä", max_size=200)
types = st.sampled_from([pa.string(), pa.large_string()])


@given(st.lists(st.none() | texts, max_size=40), st.text("abä", min_size=1, max_size=9), types, st.data())
@example([None, "ab", "", "ba"], "ab", pa.string(), None)
@example(["a" * 63 + "b"], "ab", pa.string(), None)
@example(["a" * 64, "b"], "ab", pa.string(), None)
def test_it_matches_arrow(values: list[str | None], text: str, type: pa.DataType, data: st.DataObject | None) -> None:
    array = pa.array(values, type)
    start = data.draw(st.integers(0, len(values))) if data is not None else 0
    array = array.slice(start, data.draw(st.integers(0, len(array) - start)) if data is not None else None)
    found = substrings.contain(array, text)
    found.validate(full=True)
    assert found.equals(pc.match_substring(array, text))


@pytest.mark.parametrize("size", [1, 2, 3, 17, 63, 64, 65, 200])
@pytest.mark.parametrize("position", [0, 1, 62, 63, 64, 127, 128, 800])
def test_a_text_of_each_length_anywhere(size: int, position: int) -> None:
    text = "x" * (size - 1) + "y"
    for behind in (0, 1, 63, 64, 100):
        array = pa.array(["z" * position + text + "z" * behind, "x" * 500, text[:-1], "y"])
        assert substrings.contain(array, text).to_pylist() == [True, False, False, size == 1]


def test_without_a_text_or_strings_nothing_is_looked_for() -> None:
    assert substrings.contain(pa.array(["a", "", None]), "").to_pylist() == [True, True, None]
    assert substrings.contain(pa.array([], pa.string()), "a").to_pylist() == []
    assert substrings.contain(pa.nulls(3, pa.string()), "a").to_pylist() == [None] * 3
    assert substrings.contain(pa.array([b"\0\xff", b"\xff"]), b"\0\xff").to_pylist() == [True, False]


@pytest.mark.parametrize("bits", [32, 64])
def test_offsets_are_checked(bits: int) -> None:
    out = Output(1)
    for offsets in ([0, 2, 1], [-1, 1, 2], [0, 1, 9], [3, 2, 2], [0, 1, 2**31 - 1]):
        stored = np.array(offsets, f"<i{bits // 8}").tobytes()
        with pytest.raises(kernels.InvalidDataError):
            kernels.contains(stored, bits, 2, b"abcdefgh", b"b", out.buffer)
    with pytest.raises(kernels.InvalidDataError, match="offsets"):
        kernels.contains(bytes(bits // 4), bits, 2, b"", b"b", out.buffer)
    with pytest.raises(kernels.InvalidDataError, match="no bytes"):
        kernels.contains(bytes(3 * bits // 8), bits, 2, b"", b"", out.buffer)
    with pytest.raises(kernels.InvalidDataError, match="bits"):
        kernels.contains(bytes(64), 16, 2, b"", b"b", out.buffer)
    kernels.contains(np.array([2, 4, 6], f"<i{bits // 8}").tobytes(), bits, 2, b"bbaabbaa", b"bb", out.buffer)
    assert out.array().tobytes() == oracles.bitmap(np.array([False, True]))
