import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lance_sql import _kernels as kernels

from . import oracles
from .pages import Output, random_values, seeds
from .test_fsst import offsets_of, widths

index_widths = st.sampled_from([8, 16, 32, 64])


def random_indices(seed: int, count: int, num_items: int, bits: int) -> oracles.Array:
    return np.random.default_rng(seed).integers(0, num_items, count).astype(f"<u{bits // 8}")


@given(index_widths, st.integers(0, 3000), st.integers(1, 200), st.integers(0, 17), seeds)
def test_items_of_fixed_width(bits: int, count: int, num_items: int, width: int, seed: int) -> None:
    indices = random_indices(seed, count, num_items, bits)
    items = random_values(seed, num_items * width, np.uint8).reshape(num_items, width)
    out = Output(count * width)
    kernels.gather_fixed(indices, bits, count, items, num_items, width, out.buffer)
    assert out.array().tobytes() == items[indices].tobytes()


@given(
    index_widths,
    st.integers(0, 300),
    st.lists(st.binary(max_size=40), min_size=1, max_size=9),
    st.sampled_from([0, 100, 70_000]),
    widths,
    widths,
    seeds,
)
def test_items_of_variable_width(
    bits: int, count: int, items: list[bytes], more: int, item_bits: int, out_bits: int, seed: int
) -> None:
    items = [*items, bytes(more)]
    indices = random_indices(seed, count, len(items), bits)
    expected = [items[i] for i in indices.tolist()]
    item_offsets = offsets_of(items).astype(f"<u{item_bits // 8}")
    out_offsets = Output((count + 1) * out_bits // 8)
    args = (indices, bits, count, item_offsets, item_bits, len(items))
    total = kernels.gather_variable_offsets(*args, out_offsets.buffer, out_bits)
    assert out_offsets.array(f"<i{out_bits // 8}").tolist() == offsets_of(expected).tolist()
    out = Output(total)
    assert kernels.gather_variable_bytes(*args, b"".join(items), out.buffer) == total
    assert out.array().tobytes() == b"".join(expected)
    if total:
        with pytest.raises(ValueError, match="too short"):
            kernels.gather_variable_bytes(*args, b"".join(items), bytearray(total - 1))


@pytest.mark.parametrize("bits", [8, 16, 32, 64])
@pytest.mark.parametrize("bad", [5, 6, -1])
def test_indices_beyond_the_items_are_refused(bits: int, bad: int) -> None:
    indices = np.zeros(2000, f"<i{bits // 8}")
    kernels.check_indices(indices, bits, 2000, 5)
    indices[1500] = bad
    offsets = np.arange(6, dtype="<i4")
    for call in (
        lambda: kernels.check_indices(indices, bits, 2000, 5),
        lambda: kernels.gather_fixed(indices, bits, 2000, bytes(5), 5, 1, bytearray(2000)),
        lambda: kernels.gather_variable_offsets(indices, bits, 2000, offsets, 32, 5, bytearray(9000), 32),
        lambda: kernels.gather_variable_bytes(indices, bits, 2000, offsets, 32, 5, bytes(5), bytearray(2000)),
    ):
        with pytest.raises(ValueError, match="is not among 5 items"):
            call()


@pytest.mark.parametrize("offsets", [[0, 9, 4], [0, 2**63, 2**63 + 5], [5, 2**64 - 1, 3]])
def test_offsets_of_items_are_checked(offsets: list[int]) -> None:
    indices = np.array([0, 1], "<u1")
    item_offsets = np.array(offsets, "<u8")
    for count in (1, 2):  # fewer indices than items are checked one by one
        args = (indices[2 - count :], 8, count, item_offsets, 64, 2)
        with pytest.raises(ValueError, match="do not rise"):
            kernels.gather_variable_offsets(*args, bytearray(12), 32)
        with pytest.raises(ValueError, match=r"are not in 4|do not rise"):
            kernels.gather_variable_bytes(*args, bytes(4), bytearray(100))


@given(st.lists(st.booleans(), max_size=400), st.integers(0, 20), st.booleans())
def test_runs_of_ones(flags: list[bool], skipped: int, all_ones: bool) -> None:
    flags = [True] * len(flags) if all_ones else flags
    ranges = kernels.mask_to_ranges(oracles.bitmap([True] * skipped + flags), skipped, len(flags))
    assert ranges.shape == (len(ranges), 2)
    expected = np.zeros(len(flags), bool)
    for start, end in ranges:
        expected[start:end] = True
        assert start == 0 or not flags[start - 1]
    assert expected.tolist() == flags


@given(st.lists(st.integers(-(2**64), 2**64), max_size=20))
def test_decimals_are_narrowed_if_all_fit(values: list[int]) -> None:
    wide = b"".join(value.to_bytes(16, "little", signed=True) for value in values)
    out = Output(8 * len(values))
    fits = kernels.narrow_decimal(wide, len(values), out.buffer)
    assert fits == all(-(2**63) <= value < 2**63 for value in values)
    if fits:
        assert out.array("<i8").tolist() == values
