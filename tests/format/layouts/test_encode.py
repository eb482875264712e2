"""Pages that are written: their rows come back, and the layout is the one that the values call for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lance_sql.errors import InvalidArgument, UnsupportedFeature
from lance_sql.format.encodings import tree
from lance_sql.format.encodings.tree import Compression
from lance_sql.format.layouts.nest import Chain
from lance_sql.format.layouts.shredded import EncodedPage, ShreddedPage
from lance_sql.format.layouts.tree import ConstantLayout, FullZip, Layer, MiniBlock
from lance_sql.values import row_ranges
from tests.strategies import RandomArrow

from .by_hand import some_rows, take
from .shredding import chain_of, random_rows
from .written import ITEM, NULLABLE, encode, flat_page, layout_of, nested_page, opened

MINORS = [1, 2]
minors = pytest.mark.parametrize("minor", MINORS)

KNOBS: list[dict[str, str]] = [
    {},
    {},
    {"compression": "zstd"},
    {"compression": "zstd", "compression-level": "9"},
    {"compression": "lz4"},
    {"compression": "lz4", "bss": "on"},
    {"compression": "none"},
    {"compression": "fsst"},
    {"structural-encoding": "fullzip"},
    {"structural-encoding": "fullzip", "compression": "zstd"},
    {"structural-encoding": "miniblock"},
    {"rle-threshold": "0"},
    {"rle-threshold": "0.5"},
    {"dict-divisor": "10", "dict-size-ratio": "1.0", "dict-values-compression": "zstd"},
    {"dict-values-compression": "none"},
    {"minichunk-size": "128"},
]


def knobs(**values: str) -> dict[str, str]:
    return {f"lance-encoding:{key.replace('_', '-')}": value for key, value in values.items()}


_OTHERS = [
    pa.date32(),
    pa.timestamp("us", "UTC"),
    pa.float16(),
    pa.decimal256(50, 3),
    pa.large_binary(),
    pa.binary(16),
    pa.binary(300),
    pa.dictionary(pa.int8(), pa.string()),
    pa.dictionary(pa.uint32(), pa.int64()),
    pa.list_(pa.list_(pa.int16(), 2), 3),
    pa.list_(pa.float32(), 80),
    pa.null(),
]


@st.composite
def leaves(draw: st.DrawFn, most: int = 6000) -> pa.Array:
    """Any array that is a leaf, with any share of NULLs; some begin inside their buffers."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    random = RandomArrow(int(rng.integers(2**32)), file_version="2.2")
    length = draw(st.one_of(st.integers(1, 40), st.integers(1, most)))
    skip = draw(st.sampled_from([0, 0, 3, 8]))
    type = draw(st.sampled_from(_OTHERS)) if draw(st.booleans()) else random.type(0)
    array = _sorted(draw, _array(random, rng, type, length + skip))
    return array.slice(skip)


def _array(random: RandomArrow, rng: np.random.Generator, type: pa.DataType, length: int) -> pa.Array:
    if pa.types.is_dictionary(type):
        items = pa.array([str(i) for i in range(100)]) if type.value_type == pa.string() else pa.array(range(100))
        numbers = [
            None if number is None else abs(number) % 100 for number in random.array(pa.int8(), length).to_pylist()
        ]
        return pa.DictionaryArray.from_arrays(pa.array(numbers, type.index_type), items)
    if pa.types.is_null(type):
        return pa.nulls(length)
    if pa.types.is_fixed_size_list(type):
        num_items = length * type.list_size
        values = _array(random, rng, type.value_type, num_items)
        mask = rng.random(length) < rng.choice([0, 0.2])
        return pa.FixedSizeListArray.from_arrays(values, type=type, mask=pa.array(mask))
    if pa.types.is_fixed_size_binary(type) and not pa.types.is_decimal(type):
        kinds = [rng.bytes(type.byte_width) for _ in range(int(rng.choice([1, 20])))]
        mask = rng.random(length) < rng.choice([0, 0.2, 1])
        return pa.array([kinds[i] for i in rng.integers(0, len(kinds), length)], type, mask=mask)
    if pa.types.is_temporal(type):
        mask = rng.random(length) < rng.choice([0, 0.2])
        return pa.array(rng.integers(0, 20_000, length, dtype=f"i{type.bit_width // 8}"), mask=mask).cast(type)
    return random.array(type, length)


def _sorted(draw: st.DrawFn, array: pa.Array) -> pa.Array:
    """Sometimes sorts the values into runs."""
    if not draw(st.sampled_from([False, False, True])):
        return array
    return array.take(pa.array(np.sort(np.random.default_rng(0).integers(0, len(array), len(array)))))


@given(leaves(), st.sampled_from(MINORS), st.sampled_from(KNOBS), st.booleans())
@settings(max_examples=400)
def test_leaves_come_back(array: pa.Array, minor: int, knob: dict[str, str], has_levels: bool) -> None:
    page = flat_page(array, nullable=has_levels or array.null_count > 0 or pa.types.is_null(array.type))
    written = encode(page, minor, knobs(**knob))
    assert written.num_rows == len(array)
    chain = Chain(array.type)
    assert same(opened(written).read(chain), array)
    rows = some_rows(np.random.default_rng(len(array)), len(array))
    assert same(opened(written).read(chain, rows), take(unsliced(array), rows))


def unsliced(array: pa.Array) -> pa.Array:
    """Returns the array from the start of its buffers: Arrow takes other values of sliced lists inside lists."""
    return pa.concat_arrays([array, array.slice(0, 0)])


def same(a: pa.Array, b: pa.Array) -> bool:
    """Equal values of one type; NaN equals itself, and dictionaries may list their items as they like."""
    if a.type != b.type or len(a) != len(b):
        return False
    if pa.types.is_dictionary(a.type):
        return bool(a.dictionary_decode().equals(b.dictionary_decode()))
    if not a.is_valid().equals(b.is_valid()):
        return False
    if pa.types.is_fixed_size_list(a.type):
        return same(a.flatten(), b.flatten())
    if pa.types.is_floating(a.type):
        bits = {16: pa.int16(), 32: pa.int32(), 64: pa.int64()}[a.type.bit_width]
        return bool(a.view(bits).equals(b.view(bits)))
    return bool(a.equals(b))


LAYERS = [
    (ITEM, Layer.ALL_VALID_LIST),
    (NULLABLE, Layer.NULL_AND_EMPTY_LIST),
    (NULLABLE, NULLABLE),
    (ITEM, NULLABLE),
    (ITEM, Layer.EMPTYABLE_LIST),
    (NULLABLE, NULLABLE, Layer.NULL_AND_EMPTY_LIST),
    (ITEM, Layer.NULL_AND_EMPTY_LIST, Layer.NULL_AND_EMPTY_LIST),
    (NULLABLE, Layer.EMPTYABLE_LIST, ITEM, Layer.NULLABLE_LIST),
]


@given(
    leaves(300),
    st.sampled_from(LAYERS),
    st.sampled_from([1, 7, 600]),
    st.sampled_from(MINORS),
    st.sampled_from(KNOBS),
    st.integers(0, 2**32),
)
@settings(max_examples=150)
def test_nested_rows_come_back(
    pool: pa.Array, layers: tuple[Layer, ...], num_rows: int, minor: int, knob: dict[str, str], seed: int
) -> None:
    rng = np.random.default_rng(seed)
    pool = unsliced(unsliced(pool).drop_null())
    if len(pool) == 0:
        pool = pa.array([1])
    rows = _with_positions(random_rows(rng, layers, num_rows), rng, len(pool))
    written = encode(nested_page(rows, layers, pool), minor, knobs(**knob))
    chain = chain_of(layers, pool.type)
    values = pool.to_pylist()
    expected = pa.array([_filled(row, values) for row in rows], _decoded(chain.type))
    assert repr(opened(written).read(chain).to_pylist()) == repr(expected.to_pylist())
    chosen = some_rows(rng, num_rows)
    assert repr(opened(written).read(chain, chosen).to_pylist()) == repr(take(expected, chosen).to_pylist())


def _with_positions(value: Any, rng: np.random.Generator, count: int) -> Any:
    if isinstance(value, list):
        return [_with_positions(item, rng, count) for item in value]
    if isinstance(value, dict):
        return {"f": _with_positions(value["f"], rng, count)}
    return None if value is None else int(rng.integers(count))


def _filled(value: Any, values: list[Any]) -> Any:
    if isinstance(value, list):
        return [_filled(item, values) for item in value]
    if isinstance(value, dict):
        return {"f": _filled(value["f"], values)}
    return None if value is None else values[value]


def _decoded(type: pa.DataType) -> pa.DataType:
    """The type with plain leaves, which Python values can be turned into."""
    if pa.types.is_dictionary(type):
        return type.value_type
    if pa.types.is_list(type):
        return pa.list_(_decoded(type.value_type))
    if pa.types.is_struct(type):
        return pa.struct([("f", _decoded(type.field(0).type))])
    return type


def values_of(written: EncodedPage) -> tree.Encoding:
    layout = layout_of(written)
    assert isinstance(layout, MiniBlock | FullZip)
    return layout.values


COUNT = 20_000
RNG = np.random.default_rng(5)


@pytest.mark.parametrize(
    ("array", "expected"),
    [
        (pa.array(np.arange(COUNT)), tree.InlineBitpacking),
        (pa.array(RNG.integers(-(2**60), 2**60, COUNT)), tree.Flat),
        (pa.array(np.repeat(RNG.integers(0, 2**60, 100), COUNT // 100)), tree.Rle),
        (pa.array(RNG.random(COUNT) < 0.5), tree.Flat),
        (pa.array([f"user-{i}@example.com" for i in range(COUNT)]), tree.Fsst),
        (pa.array([f"user-{i}@example.com" for i in range(COUNT)], pa.large_string()), tree.Fsst),
        (pa.array([RNG.bytes(20) for _ in range(COUNT)]), tree.Variable),
        (pa.array(["abc", "de"]), tree.Variable),
        (pa.array([[1.0] * 4] * COUNT, pa.list_(pa.float32(), 4)), tree.FixedSizeList),
    ],
)
@minors
def test_values_get_the_smallest_encoding(array: pa.Array, expected: type, minor: int) -> None:
    assert isinstance(values_of(encode(flat_page(array), minor)), expected)


def test_values_that_repeat_get_a_dictionary() -> None:
    for array in (
        pa.array([f"kind-{i % 700}" for i in range(COUNT)]),
        pa.array([2**50 + (i % 700) * 2**40 for i in range(COUNT)]),
        pa.array([2**50 + (i % 700) * 2**40 for i in range(COUNT)]).cast(pa.decimal128(30, 2)),
    ):
        layout = layout_of(encode(flat_page(array)))
        assert isinstance(layout, MiniBlock)
        assert layout.num_dictionary_items == 700
    layout = layout_of(encode(flat_page(pa.array(np.arange(COUNT) % 700)), 2))
    assert isinstance(layout, MiniBlock), "bits are fewer than those of indices"
    assert layout.dictionary is None


def test_a_dictionary_of_numbers_needs_a_file_that_can_hold_it() -> None:
    array = pa.array([2**62 + (i * 7919 % 700) * 2**40 for i in range(COUNT)])
    layouts = [layout_of(encode(flat_page(array), minor)) for minor in MINORS]
    assert [layout.dictionary is None for layout in layouts if isinstance(layout, MiniBlock)] == [True, False]


@pytest.mark.parametrize("value", [7, True, "hello", b"", "x" * 300, b"0" * 40])
@pytest.mark.parametrize("count", [COUNT, 900, 1])
def test_one_value_takes_no_room(value: Any, count: int) -> None:
    for array in (pa.array([value] * count), pa.array([None, value] * count)):
        written = encode(flat_page(array))
        layout = layout_of(written)
        # levels beside the value are not packed, so that many of them are better off with values
        assert isinstance(layout, ConstantLayout) == (array.null_count == 0 or count < 1000)
        assert opened(written).read(Chain(array.type)).equals(array)
        assert written.num_bytes <= (4 * min(count, 1000) + count // 2 + 100 if array.null_count else 0) + 700
        assert not isinstance(layout_of(encode(flat_page(array), 1)), ConstantLayout), "2.1 has constants of NULL only"


def test_large_values_get_a_place_of_their_own() -> None:
    lists = pa.FixedSizeListArray.from_arrays(pa.array(RNG.random(64 * 100).astype("f4")), 64)
    written = encode(flat_page(lists))
    assert isinstance(layout_of(written), FullZip)
    assert [bytes(buffer) for buffer in written.buffers] == [bytes(lists.values.buffers()[1])]
    texts = pa.array([RNG.bytes(200).hex() for i in range(100)])
    layout = layout_of(encode(flat_page(texts)))
    assert isinstance(layout, FullZip)
    assert layout.bits_per_offset == 32
    few = pa.array(["short"] * 1000 + [RNG.bytes(200).hex()])
    assert isinstance(layout_of(encode(flat_page(few), 2, knobs(dict_divisor="1000000"))), MiniBlock)


def test_items_of_dictionaries_that_no_row_has_are_left_out() -> None:
    array = pa.array([f"item {i}" for i in range(5000)]).dictionary_encode().slice(100, 7)
    written = encode(flat_page(array))
    layout = layout_of(written)
    assert isinstance(layout, MiniBlock)
    assert layout.num_dictionary_items == 7
    assert same(opened(written).read(Chain(array.type)), array)


def test_very_large_values_are_compressed_one_by_one_where_that_helps() -> None:
    text = pa.array([f"{i} " * 30_000 for i in range(5)])
    noise = pa.array([RNG.bytes(50_000) for _ in range(5)])
    assert values_of(encode(flat_page(text))) == tree.General(Compression.ZSTD, tree.Variable(32))
    assert values_of(encode(flat_page(noise))) == tree.Variable(32)
    for array in (text, noise):
        assert opened(encode(flat_page(array))).read(Chain(array.type)).equals(array)


def test_metadata_chooses_among_encodings() -> None:
    numbers, doubles = pa.array(np.arange(COUNT) % 100), pa.array(RNG.random(COUNT).round(2))
    texts = pa.array([f"user-{i}@example.com" for i in range(COUNT)])
    assert values_of(encode(flat_page(numbers), 2, knobs(compression="none", dict_divisor="1000000"))) == tree.Flat(64)
    assert isinstance(values_of(encode(flat_page(numbers), 2, knobs(compression="zstd"))), tree.General)
    split = values_of(encode(flat_page(doubles), 2, knobs(compression="zstd", bss="on", dict_divisor="1000000")))
    assert split == tree.General(Compression.ZSTD, tree.ByteStreamSplit(tree.Flat(64)))
    assert values_of(encode(flat_page(texts), 2, knobs(compression="none"))) == tree.Variable(32)
    assert values_of(encode(flat_page(texts), 2, knobs(compression="lz4"))) == tree.General(
        Compression.LZ4, tree.Variable(32)
    )
    runs = pa.array(np.repeat(np.arange(100), 200))
    assert isinstance(values_of(encode(flat_page(runs))), tree.Rle)
    assert not isinstance(values_of(encode(flat_page(runs), 2, knobs(rle_threshold="0"))), tree.Rle)
    wide = layout_of(encode(flat_page(numbers), 2, knobs(structural_encoding="fullzip", dict_divisor="1000000")))
    assert isinstance(wide, FullZip)


def test_compression_gets_the_encoding_that_it_makes_the_most_of() -> None:
    smooth = pa.array(np.cumsum(RNG.normal(size=COUNT)).astype("f4"))
    split = tree.General(Compression.ZSTD, tree.ByteStreamSplit(tree.Flat(32)))
    assert values_of(encode(flat_page(smooth), 2, knobs(compression="zstd"))) == split
    assert values_of(encode(flat_page(smooth), 2, knobs(compression="zstd", bss="off"))) != split
    texts = pa.array([f"{i} lorem ipsum dolor " * 40 for i in range(200)])
    together = tree.General(Compression.ZSTD, tree.Variable(32))
    assert isinstance(layout_of(encode(flat_page(texts), 2, knobs(compression="zstd"))), MiniBlock)
    for minor in MINORS:
        written = encode(flat_page(texts), minor, knobs(compression="zstd"))
        assert values_of(written) == together
        assert opened(written).read(Chain(texts.type)).equals(texts)


def packed(*fields: tuple[str, pa.Array], mask: Any = None) -> ShreddedPage:
    array = pa.StructArray.from_arrays([array for _, array in fields], [name for name, _ in fields])
    if mask is None:
        return ShreddedPage(array, (ITEM,), None, None, len(array))
    return ShreddedPage(array, (NULLABLE,), None, np.array(mask, np.uint16), len(array))


NUMBERS, TEXTS = pa.array(range(1000), pa.int32()), pa.array([f"text {i}" for i in range(1000)])
VECTORS = pa.array([[i, None, i] for i in range(1000)], pa.list_(pa.int16(), 3))


@minors
def test_members_of_one_width_are_packed_into_chunks(minor: int) -> None:
    page = packed(("a", NUMBERS), ("b", pa.array(np.arange(1000.0))))
    written = encode(page, minor)
    assert values_of(written) == tree.PackedStruct((32, 64), tree.Flat(96))
    assert opened(written).read(Chain(page.values.type)).equals(page.values)


def test_members_that_vary_are_packed_into_entries() -> None:
    page = packed(("a", NUMBERS), ("t", TEXTS), ("v", VECTORS), ("b", TEXTS.cast(pa.large_binary())))
    written = encode(page, 2)
    assert isinstance(values_of(written), tree.VariablePackedStruct)
    assert opened(written).read(Chain(page.values.type)).equals(page.values)
    with pytest.raises(UnsupportedFeature, match="packed structs of numbers only"):
        encode(page, 1)


def test_bitmaps_are_left_out_where_only_items_of_null_lists_are_null() -> None:
    array = pa.array([None if i % 3 == 0 else [[i, 1], [2, 3]] for i in range(50)], pa.list_(pa.list_(pa.int8(), 2), 2))
    assert array.flatten().null_count == 0
    inside = pa.FixedSizeListArray.from_arrays(pa.nulls(100, pa.list_(pa.int8(), 2)), 2)
    array = pa.concat_arrays(
        [array, pa.FixedSizeListArray.from_arrays(inside.values, type=array.type, mask=pa.array([True] * 50))]
    )
    written = encode(flat_page(array))
    assert opened(written).read(Chain(array.type)).equals(array)
    inner = tree.FixedSizeList(2, tree.Flat(8), False)
    assert values_of(written) == tree.FixedSizeList(2, inner, False)


def test_packed_structs_may_be_null_and_their_members_may_not() -> None:
    mask = [i % 3 == 0 for i in range(1000)]
    for fields in ([("a", NUMBERS)], [("a", NUMBERS), ("t", TEXTS)]):
        page = packed(*fields, mask=mask)
        back = opened(encode(page)).read(Chain(page.values.type))
        expected = page.values.to_pylist()
        assert back.to_pylist() == [None if null else row for row, null in zip(expected, mask, strict=True)]
    holes = pa.array([None if i % 3 == 0 else i for i in range(1000)], pa.int32())
    encode(packed(("a", holes), mask=mask))
    with pytest.raises(InvalidArgument, match="member 'a' of a packed struct is NULL"):
        encode(packed(("a", holes)))
    with pytest.raises(UnsupportedFeature, match="packed struct"):
        encode(packed(("a", pa.array([True, False])), ("t", pa.array(["a", "b"]))))


def test_structs_without_members_are_constant() -> None:
    empty = pa.array([{}] * 5, pa.struct([]))
    written = encode(ShreddedPage(empty, (ITEM, ITEM), None, None, 5))
    assert layout_of(written) == ConstantLayout((NULLABLE,), None, None, None, 0, 0)
    with pytest.raises(UnsupportedFeature, match="without members"):
        encode(ShreddedPage(empty, (NULLABLE,), None, np.array([0, 1, 0, 0, 0], np.uint16), 5))


MASKS = pa.list_(pa.bool_(), 8)


@minors
@pytest.mark.parametrize("empties", [40_000, 70_000, 200_000])
def test_any_number_of_empty_lists_in_a_row_is_possible(minor: int, empties: int) -> None:
    layers = (ITEM, Layer.EMPTYABLE_LIST)
    rows: list[Any] = [[1, 2], *([[]] * empties), [3], [4, 5, 6], *([[]] * empties)]
    for pool in (
        pa.array(range(10)),
        pa.array([i % 3 == 0 for i in range(10)]),
        pa.array([[True, None, False, True] * 2] * 10, MASKS),
    ):
        written = encode(nested_page(rows, layers, pool), minor)
        back = opened(written).read(chain_of(layers, pool.type), np.array([[0, 2], [empties, empties + 3]]))
        values = pool.to_pylist()
        assert back.to_pylist() == [[values[1], values[2]], [], [], [values[3]], values[4:7]]


@minors
def test_chunks_of_bits_begin_at_whole_bytes(minor: int) -> None:
    layers = (NULLABLE, Layer.EMPTYABLE_LIST)
    # chunks of two and three items, between which there are many entries without one
    rows: list[Any] = [row for i in range(9) for row in [[i % 5, None, 3, 4][: i % 4 + 1], *([[]] * 15_000)]]
    for pool in (
        pa.array([True, False, True, False, True]),
        pa.array([[True, False, i % 2 > 0] for i in range(5)], pa.list_(pa.bool_(), 3)),
    ):
        written = encode(nested_page(rows, layers, pool), minor)
        values = pool.to_pylist()
        expected = [[None if i is None else values[i] for i in row] for row in rows]
        assert opened(written).read(chain_of(layers, pool.type)).to_pylist() == expected


@minors
def test_long_rows_span_chunks(minor: int) -> None:
    layers = (NULLABLE, Layer.NULL_AND_EMPTY_LIST)
    rows: list[Any] = [[i % 10 for i in range(30_000)], None, [], [None] * 9000, [1]]
    written = encode(nested_page(rows, layers, pa.array(range(10))), minor)
    back = opened(written).read(chain_of(layers, pa.int64()))
    assert back.to_pylist() == rows
    for i in range(5):
        row = opened(written).read(chain_of(layers, pa.int64()), row_ranges.single(i, i + 1))
        assert row.to_pylist() == rows[i : i + 1]


@minors
def test_chunks_keep_to_the_limits_of_the_file_version(minor: int) -> None:
    big = pa.array([RNG.bytes(20_000) for _ in range(50)])
    written = encode(flat_page(big), minor, knobs(structural_encoding="miniblock"))
    assert opened(written).read(Chain(big.type)).equals(big)
    assert isinstance(layout_of(written), FullZip if minor == 1 else MiniBlock)
    wide = pa.array([RNG.bytes(10_000) for _ in range(50)], pa.binary(10_000))
    written = encode(flat_page(wide), minor, knobs(structural_encoding="miniblock"))
    assert opened(written).read(Chain(wide.type)).equals(wide)
    bits = pa.array([[True] * 200_001] * 2 + [None], pa.list_(pa.bool_(), 200_001))
    if minor == 2:
        assert opened(encode(flat_page(bits))).read(Chain(bits.type)).equals(bits)
    else:
        with pytest.raises(UnsupportedFeature, match="lists of booleans"):
            encode(flat_page(bits), 1)


def test_levels_that_do_not_fit_the_values_are_never_written() -> None:
    values, level = pa.array([1, 2]), np.array([0, 1], np.uint16)
    for page in (
        ShreddedPage(values, (ITEM,), None, None, 3),
        ShreddedPage(values, (NULLABLE,), None, level[:1], 1),
        ShreddedPage(values, (NULLABLE,), None, level + np.uint16(1), 2),
        ShreddedPage(values, (ITEM, Layer.ALL_VALID_LIST), None, None, 2),
        ShreddedPage(values, (ITEM, Layer.ALL_VALID_LIST), level, None, 2),
        ShreddedPage(values, (ITEM, Layer.EMPTYABLE_LIST), level + np.uint16(1), level, 2),
    ):
        with pytest.raises(AssertionError):
            encode(page)


def test_unwritable_values_are_refused() -> None:
    with pytest.raises(InvalidArgument, match="without rows"):
        encode(flat_page(pa.array([], pa.int64())))
    with pytest.raises(UnsupportedFeature, match="list"):
        encode(flat_page(pa.array([[1]])))
    with pytest.raises(UnsupportedFeature, match="items"):
        encode(flat_page(pa.array([["a"]], pa.list_(pa.string(), 1))))
    with pytest.raises(InvalidArgument, match="NULL among its values"):
        encode(flat_page(pa.DictionaryArray.from_arrays(pa.array([0, 1]), pa.array(["a", None]))))
    with pytest.raises(InvalidArgument, match="index 5 of a dictionary of 1 items"):
        encode(flat_page(pa.DictionaryArray.from_arrays(pa.array([5]), pa.array(["a"]), safe=False)))
    with pytest.raises(UnsupportedFeature, match="a dictionary of FixedWidth values"):
        encode(flat_page(pa.DictionaryArray.from_arrays(pa.array([0]), pa.array([True]))))
