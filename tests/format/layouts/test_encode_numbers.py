"""Pages of a few numbers that are encoded together equal those of `encode`."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lance_sql.format import file_versions
from lance_sql.format.encodings.tree import Encoding, Flat, InlineBitpacking
from lance_sql.format.file_versions import PageRules
from lance_sql.format.layouts import encode_numbers
from lance_sql.format.layouts.encode import encode_page
from lance_sql.format.layouts.shredded import EncodedPage
from lance_sql.format.layouts.tree import ConstantLayout, MiniBlock
from lance_sql.format.schema import Field

from .written import flat_page, layout_of

TYPES = [
    pa.int8(), pa.uint8(), pa.int16(), pa.float16(), pa.int32(), pa.float32(), pa.date32(), pa.time32("s"), pa.int64(),
    pa.uint64(), pa.float64(), pa.date64(), pa.time64("us"), pa.duration("ms"), pa.timestamp("us", "UTC"),
]  # fmt: skip
FIELD = Field("x", 0, -1, "int64")


def rules_of(version: file_versions.FileVersion) -> PageRules:
    assert version.pages is not None
    return version.pages


RULES = [rules_of(version) for version in (file_versions.V2_1, file_versions.V2_2)]
each_rules = pytest.mark.parametrize("rules", RULES, ids=["2.1", "2.2"])


@st.composite
def numbers(draw: st.DrawFn) -> pa.Array:
    """Values of few or many bits, that repeat or do not, in arrays that begin anywhere."""
    type = draw(st.sampled_from(TYPES))
    count = draw(st.sampled_from([1, 2, 63, 99, 100, 101, 1000, 1024, 1025, 2048, 2049, 4095]))
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    first = draw(st.integers(0, 3))
    bits = draw(st.integers(0, type.bit_width))
    values = random.integers(0, 2**bits, first + count, np.uint64, endpoint=False) if bits < 64 else None
    if values is None:
        values = np.frombuffer(random.bytes(8 * (first + count)), np.uint64)
    few = draw(st.integers(1, 40))
    match draw(st.sampled_from(["any", "sorted", "runs", "few"])):
        case "sorted":
            values = np.sort(values)
        case "runs":
            values = np.repeat(values, few)[: first + count]
        case "few":
            values = values[random.integers(0, min(few, len(values)), first + count)]
    words = values.astype(f"<u{type.bit_width // 8}")
    return pa.Array.from_buffers(type, first + count, [None, pa.py_buffer(words)], 0)[first:]


def values_of(page: EncodedPage) -> Encoding:
    layout = layout_of(page)
    assert isinstance(layout, MiniBlock)
    return layout.values


def parts(page: EncodedPage) -> tuple[bytes, int, list[bytes]]:
    return page.layout, page.num_rows, [bytes(memoryview(buffer)) for buffer in page.buffers]


@given(pages=st.lists(st.none() | numbers(), max_size=4), rules=st.sampled_from(RULES))
def test_pages_are_the_same_as_one_by_one(pages: list[pa.Array | None], rules: PageRules) -> None:
    for values, page in zip(pages, encode_numbers.encode_pages(pages, rules), strict=True):
        if page is not None:
            assert values is not None
            assert parts(page) == parts(encode_page(flat_page(values), FIELD, rules))


@each_rules
@pytest.mark.parametrize("count", [5, 100, 1000, 1024, 1500, 4095])
def test_usual_numbers_are_made_together(rules: PageRules, count: int) -> None:
    random = np.random.default_rng(1)
    prices, keys = pa.array(random.normal(size=count)), pa.array(random.permutation(count))
    pages = encode_numbers.encode_pages([keys, prices, keys.cast(pa.int32()), None, prices], rules)
    # a group of 1024 that is mostly padding takes more than the values
    keys_are = InlineBitpacking if count >= 1000 else Flat
    encodings = [None if page is None else type(values_of(page)) for page in pages]
    assert encodings == [keys_are, Flat, keys_are, None, Flat]


@each_rules
def test_ambiguous_values_are_left_to_the_choice(rules: PageRules) -> None:
    one, runs = np.full(500, 7), np.repeat([1, 2**40, 3], 300)
    pages = [pa.array(one), pa.array(runs), pa.array([], pa.int64())]
    few = pa.array(np.random.default_rng(1).integers(0, 9, 1000) << 50)
    same, *left, last = encode_numbers.encode_pages([*pages, few], rules)
    assert (same is None) == (not rules.constant_values)
    assert same is None or isinstance(layout_of(same), ConstantLayout)
    assert left == [None, None]
    assert (last is None) == (64 in rules.dictionary_bits)


def test_only_whole_words_are_numbers() -> None:
    assert all(encode_numbers.are_numbers(type) for type in TYPES)
    others = [pa.bool_(), pa.string(), pa.decimal128(9, 2), pa.binary(4), pa.null(), pa.list_(pa.int8()), pa.uuid()]
    assert not any(encode_numbers.are_numbers(type) for type in others)
