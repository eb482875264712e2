"""Pages whose values are all equal: found whatever the values look like, in steps that do not follow their length."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lance_sql.format import file_versions
from lance_sql.format.encodings.from_arrow import from_array
from lance_sql.format.encodings.scalar import scalar_of
from lance_sql.format.layouts.encode import encode_layout
from lance_sql.format.layouts.shredded import ShreddedPage
from lance_sql.format.layouts.tree import Layer
from lance_sql.format.schema.from_arrow import from_arrow


def calls_of(function: Callable[[], Any]) -> int:
    """Counts calls of functions, C functions included, while the function runs."""
    count = 0

    def seen(frame: Any, event: str, argument: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(seen)
    try:
        function()
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("type", [pa.string(), pa.large_binary()])
def test_the_steps_do_not_follow_the_length_of_the_value(type: pa.DataType, count: int) -> None:
    def calls(length: int) -> int:
        values = from_array(pa.array([b"x" * length] * count).cast(type))
        return calls_of(lambda: scalar_of(values, None))

    assert calls(1 << 20) <= calls(1 << 4) + 20


def test_a_page_of_one_large_value_takes_few_steps() -> None:
    def calls(length: int) -> int:
        array = pa.array([b"x" * length], pa.large_binary())
        (field,) = from_arrow(pa.schema([pa.field("v", pa.large_binary(), nullable=False)])).fields
        page = ShreddedPage(array, (Layer.ALL_VALID_ITEM,), None, None, 1)
        rules = file_versions.V2_2.pages
        assert rules is not None
        return calls_of(lambda: encode_layout(page, field, rules))

    assert calls(1 << 20) <= calls(1 << 10) + 200


@given(
    st.lists(st.sampled_from([b"", b"a", b"ab", b"ba", b"abc" * 100]), min_size=1, max_size=40),
    st.randoms(use_true_random=False),
    st.integers(0, 3),
)
def test_equal_strings_are_found_and_others_are_not(values: list[bytes], random: Any, start: int) -> None:
    nulls = [random.random() < 0.3 for _ in values]
    nulls[random.randrange(len(values))] = False
    kept = {value for value, null in zip(values, nulls, strict=True) if not null}
    # slots of NULLs hold bytes of their own
    array = pa.array([b"junk"] * start + values, pa.binary()).slice(start)
    found = scalar_of(from_array(array), np.array(nulls))
    assert (found is not None) == (len(kept) == 1)
    if found is not None:
        assert found[1] in kept
