"""Constant pages: every form, for many types."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from lance_sql.errors import CorruptFile
from lance_sql.format.encodings.tree import Flat, OutOfLineBitpacking, Rle
from lance_sql.format.layouts.nest import Chain
from lance_sql.format.layouts.tree import ConstantLayout, Layer
from lance_sql.values import row_ranges
from tests.kernels import oracles

from .by_hand import HandPage, some_rows, take
from .shredding import chain_of, shred

ITEM, NULLABLE = Layer.ALL_VALID_ITEM, Layer.NULLABLE_ITEM

SCALARS: list[tuple[pa.DataType, Any]] = [
    (pa.bool_(), True),
    (pa.bool_(), False),
    (pa.int8(), -3),
    (pa.uint64(), 2**63),
    (pa.float64(), 1.5),
    (pa.decimal128(20, 2), -12345),
    (pa.decimal256(50, 0), 10**30),
    (pa.binary(3), b"abc"),
    (pa.date32(), 7),
    (pa.timestamp("us", "UTC"), 10**15),
    (pa.string(), "hello"),
    (pa.string(), ""),
    (pa.large_string(), "größe"),
    (pa.binary(), b"\0\xff"),
    (pa.large_binary(), b"bytes"),
]


def scalar_of(type: pa.DataType, value: Any) -> pa.Array:
    return pa.array([value], type)


def inline(array: pa.Array) -> bytes:
    """The Arrow bytes of the one value."""
    *_, data = array.buffers()
    if pa.types.is_boolean(array.type):
        return bytes([array[0].as_py()])
    if len(array.buffers()) == 3:
        return bytes(data) if data else b""
    return bytes(data)[: array.type.bit_width // 8]


def scalar_buffer(array: pa.Array) -> bytes:
    """u32 number of buffers, u32 length of each, the buffers."""
    parts = [inline(array)]
    if len(array.buffers()) == 3:
        width = 8 if pa.types.is_large_string(array.type) or pa.types.is_large_binary(array.type) else 4
        parts.insert(0, array.buffers()[1].to_pybytes()[: 2 * width])
    return struct.pack(f"<{1 + len(parts)}I", len(parts), *map(len, parts)) + b"".join(parts)


def layout(layers: tuple[Layer, ...], **others: Any) -> ConstantLayout:
    fields = {"inline_value": None, "repetition": None, "definition": None, "num_rep_values": 0, "num_def_values": 0}
    return ConstantLayout(layers, **{**fields, **others})


@pytest.mark.parametrize(("type", "value"), SCALARS, ids=str)
def test_one_scalar_for_every_row(type: pa.DataType, value: Any) -> None:
    scalar = scalar_of(type, value)
    expected = pa.concat_arrays([scalar] * 7)
    for page in (
        HandPage(layout((ITEM,), inline_value=inline(scalar)), [], 7),
        HandPage(layout((ITEM,)), [scalar_buffer(scalar)], 7),
    ):
        assert page.read(Chain(type)).equals(expected)
        assert page.read(Chain(type), np.array([[1, 3], [6, 7]])).equals(expected.slice(0, 3))


@pytest.mark.parametrize(("type", "value"), SCALARS, ids=str)
def test_one_scalar_under_levels(type: pa.DataType, value: Any) -> None:
    scalar = scalar_of(type, value)
    levels = np.array([0, 1, 1, 0, 0], "<u2")
    expected = pa.array([None if level else 0 for level in levels], pa.int64())
    expected = scalar.take(expected)
    raw = levels.tobytes()
    pages = [
        HandPage(layout((NULLABLE,), inline_value=inline(scalar)), [b"", raw], 5),
        HandPage(layout((NULLABLE,)), [scalar_buffer(scalar), b"", raw], 5),
        HandPage(
            layout((NULLABLE,), inline_value=inline(scalar), definition=Rle(Flat(16), Flat(8)), num_def_values=5),
            [b"", oracles.run_block(levels)],
            5,
        ),
    ]
    for page in pages:
        assert page.read(Chain(type)).equals(expected)
        assert page.read(Chain(type), np.array([[1, 4]])).equals(expected.slice(1, 3))


def test_a_dictionary_type_has_the_scalar_of_its_values() -> None:
    type = pa.dictionary(pa.int16(), pa.string())
    scalar = pa.array(["hello"])
    documented = bytes.fromhex("02000000 08000000 05000000 00000000 05000000") + b"hello"
    assert scalar_buffer(scalar) == documented
    for page in (
        HandPage(layout((ITEM,), inline_value=b"hello"), [], 3),
        HandPage(layout((ITEM,)), [documented], 3),
    ):
        array = page.read(Chain(type))
        assert array.to_pylist() == ["hello"] * 3
    levels = np.array([1, 0, 1], "<u2").tobytes()
    page = HandPage(layout((NULLABLE,)), [documented, b"", levels], 3)
    assert page.read(Chain(type)).to_pylist() == [None, "hello", None]
    numbers = pa.dictionary(pa.int8(), pa.int64())
    page = HandPage(layout((ITEM,), inline_value=(9).to_bytes(8, "little")), [], 2)
    assert page.read(Chain(numbers)).to_pylist() == [9, 9]


@pytest.mark.parametrize(
    "type",
    [
        *dict.fromkeys(type for type, _ in SCALARS),
        pa.null(),
        pa.dictionary(pa.int32(), pa.string()),
        pa.list_(pa.float32(), 3),
        pa.struct([("a", pa.int32()), ("b", pa.string())]),
    ],
    ids=str,
)
def test_nothing_but_nulls(type: pa.DataType) -> None:
    page = HandPage(layout((NULLABLE,)), [], 5)
    assert page.read(Chain(type)).to_pylist() == [None] * 5
    assert page.read(Chain(type), np.array([[1, 2], [3, 5]])).to_pylist() == [None] * 3
    levels = np.ones(5, "<u2").tobytes()
    page = HandPage(layout((NULLABLE,)), [b"", levels], 5)
    assert page.read(Chain(type), np.array([[2, 4]])).to_pylist() == [None] * 2


def test_a_struct_without_members_is_there_although_nothing_is_stored() -> None:
    page = HandPage(layout((NULLABLE,)), [], 4)
    assert page.read(Chain(pa.struct([]))).to_pylist() == [{}] * 4


def test_null_structs_take_memory_only_when_they_are_read() -> None:
    layers = (NULLABLE, NULLABLE)
    page = HandPage(layout(layers), [], 1 << 40)
    assert (
        page.read(chain_of(layers, pa.int32()), np.array([[5, 6], [1 << 39, (1 << 39) + 1]])).to_pylist() == [None] * 2
    )


LISTS = (NULLABLE, NULLABLE, Layer.NULL_AND_EMPTY_LIST)


@pytest.mark.parametrize("rows", [[None, [], [None, None], []], [[], None], [None]])
@pytest.mark.parametrize("encoded", [False, True])
def test_lists_without_a_value(rows: list[Any], encoded: bool) -> None:
    layers = (NULLABLE, Layer.NULL_AND_EMPTY_LIST)
    shredded = shred(rows, layers)
    assert shredded.rep is not None
    assert shredded.def_ is not None
    count = shredded.num_entries
    others: dict[str, Any] = {}
    buffers = [shredded.rep.tobytes(), shredded.def_.tobytes()]
    if encoded:
        packed = OutOfLineBitpacking(16, 2)
        others = {"repetition": packed, "definition": packed, "num_rep_values": count, "num_def_values": count}
        buffers = [oracles.pack_groups(v, 2, raw_tail=False) for v in (shredded.rep, shredded.def_)]
    chain = chain_of(layers, pa.string())
    page = HandPage(layout(layers, **others), buffers, len(rows))
    assert page.read(chain).equals(pa.array(rows, chain.type))
    assert page.read(chain, row_ranges.single(len(rows) - 1, len(rows))).to_pylist() == rows[-1:]


def test_lists_of_one_scalar() -> None:
    rng = np.random.default_rng(1)
    kinds: list[Any] = [None, [], [{"f": 7}, None, {"f": None}], [{"f": 7}]]
    rows = [kinds[int(rng.integers(4))] for _ in range(60)]
    shredded, chain = shred(rows, LISTS), chain_of(LISTS, pa.int32())
    assert shredded.rep is not None
    assert shredded.def_ is not None
    page = HandPage(
        layout(LISTS, inline_value=(7).to_bytes(4, "little")), [shredded.rep.tobytes(), shredded.def_.tobytes()], 60
    )
    expected = pa.array(rows, chain.type)
    assert page.read(chain).equals(expected)
    wanted = some_rows(rng, 60)
    assert page.read(chain, wanted).equals(take(expected, wanted))


def test_lists_of_strings_without_definition_levels() -> None:
    layers = (ITEM, Layer.ALL_VALID_LIST)
    page = HandPage(layout(layers, inline_value=b"ab"), [np.array([1, 0, 1], "<u2").tobytes(), b""], 2)
    assert page.read(chain_of(layers, pa.string())).to_pylist() == [["ab", "ab"], ["ab"]]


def test_nothing_is_fetched() -> None:
    page = HandPage(layout((NULLABLE,)), [b"", np.array([0, 1], "<u2").tobytes()], 2)
    assert page.planned(np.array([[0, 2]]), Chain(pa.int32())) == []


def u16(*levels: int) -> bytes:
    return np.array(levels, "<u2").tobytes()


@pytest.mark.parametrize(
    ("page", "buffers"),
    [
        (layout((ITEM,)), []),
        (layout((ITEM,), inline_value=bytes(4)), [b"x"]),
        (layout((ITEM,)), [b"", b"", b"", b""]),
        (layout((ITEM,), inline_value=bytes(3)), []),
        (layout((ITEM,)), [b"\1\0\0"]),
        (layout((ITEM,)), [struct.pack("<II", 3, 4) + bytes(4)]),
        (layout((ITEM,)), [struct.pack("<II", 1, 5) + bytes(4)]),
        (layout((ITEM,)), [struct.pack("<III", 2, 4, 1) + bytes(5)]),
        (layout((NULLABLE,)), [b"", u16(0)]),
        (layout((NULLABLE,)), [b"", u16(0, 0, 0)]),
        (layout((NULLABLE,)), [b"", b"\0\0\0"]),
        (layout((ITEM,)), [b"", u16(0, 0)]),
        (layout((ITEM, Layer.ALL_VALID_LIST)), []),
        (layout((ITEM,), definition=OutOfLineBitpacking(16, 0), num_def_values=2**60), [b"", b"x"]),
    ],
)
def test_pages_that_cannot_be_are_refused(page: ConstantLayout, buffers: list[bytes]) -> None:
    chain = chain_of(page.layers, pa.int32())
    with pytest.raises(CorruptFile):
        HandPage(page, buffers, 2).read(chain)


@pytest.mark.parametrize("rep", [u16(1), u16(1, 0), u16(0, 1, 1), u16(1, 1, 1), u16(1, 2)])
def test_repetition_levels_have_the_rows_of_the_page(rep: bytes) -> None:
    page = HandPage(layout((NULLABLE, Layer.NULLABLE_LIST)), [rep, b""], 2)
    with pytest.raises(CorruptFile, match=r"levels of . rows in a page of 2"):
        page.read(chain_of((NULLABLE, Layer.NULLABLE_LIST), pa.int32()))


def test_both_kinds_of_levels_have_the_same_number() -> None:
    page = HandPage(layout((NULLABLE, Layer.NULLABLE_LIST)), [u16(1, 1), u16(0, 0, 0)], 2)
    with pytest.raises(CorruptFile, match="2 repetition and 3 definition levels"):
        page.read(chain_of((NULLABLE, Layer.NULLABLE_LIST), pa.int32()))


@pytest.mark.parametrize("offsets", [(0, 6), (3, 2), (6, 6)])
def test_a_scalar_string_lies_inside_of_its_buffer(offsets: tuple[int, int]) -> None:
    data = struct.pack("<III2I", 2, 8, 5, *offsets) + b"hello"
    with pytest.raises(CorruptFile, match=r"a constant string at"):
        HandPage(layout((ITEM,)), [data], 2).read(Chain(pa.string()))
