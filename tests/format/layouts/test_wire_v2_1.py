"""Page layout messages of file versions 2.1 and 2.2."""

from __future__ import annotations

from typing import Any

import pytest

from lance_sql.errors import CorruptFile, UnsupportedFeature
from lance_sql.format.encodings.tree import Flat, InlineBitpacking, Variable
from lance_sql.format.layouts.tree import Blob, ConstantLayout, FullZip, Layer, MiniBlock, PageLayout
from lance_sql.format.layouts.wire_v2_1 import layout_from_wire
from lance_sql.format.proto import encodings_v2_1_pb2 as pb

FLAT8 = {"flat": {"bits_per_value": 8}}
FLAT16 = {"flat": {"bits_per_value": 16}}
CONSTANT = {"constant_layout": {"layers": [3]}}


def parse(**content: Any) -> PageLayout:
    return layout_from_wire(pb.PageLayout(**content).SerializeToString())


def mini_block(**others: Any) -> PageLayout:
    return parse(
        mini_block_layout={"layers": [1], "value_compression": FLAT8, "num_buffers": 1, "num_items": 5, **others}
    )


def full_zip(**others: Any) -> PageLayout:
    return parse(full_zip_layout={"layers": [1], "value_compression": FLAT8, **others})


def test_a_mini_block_page_with_everything() -> None:
    packed = {"inline_bitpacking": {"uncompressed_bits_per_value": 16}}
    layout = mini_block(
        rep_compression=FLAT16,
        def_compression=packed,
        dictionary={"variable": {"offsets": {"flat": {"bits_per_value": 32}}}},
        num_dictionary_items=7,
        layers=[3, 1, 6],
        num_buffers=2,
        repetition_index_depth=1,
        has_large_chunk=True,
    )
    assert layout == MiniBlock(
        layers=(Layer.NULLABLE_ITEM, Layer.ALL_VALID_ITEM, Layer.NULL_AND_EMPTY_LIST),
        values=Flat(8),
        repetition=Flat(16),
        definition=InlineBitpacking(16),
        dictionary=Variable(32),
        num_dictionary_items=7,
        num_buffers=2,
        repetition_index_depth=1,
        num_items=5,
        has_large_chunk=True,
    )


def test_omitted_fields_of_mini_block_pages_are_absent() -> None:
    layout = mini_block()
    assert isinstance(layout, MiniBlock)
    assert (layout.repetition, layout.definition, layout.dictionary) == (None, None, None)
    assert (layout.repetition_index_depth, layout.has_large_chunk) == (0, False)


def test_full_zip_pages_have_one_of_two_widths() -> None:
    fixed = full_zip(bits_rep=1, bits_def=2, bits_per_value=8, num_items=5, num_visible_items=4)
    assert fixed == FullZip((Layer.ALL_VALID_ITEM,), Flat(8), 1, 2, 8, None, 5, 4)
    variable = full_zip(bits_per_offset=32)
    assert isinstance(variable, FullZip)
    assert (variable.bits_per_value, variable.bits_per_offset) == (None, 32)
    nothing = full_zip(bits_per_value=0)
    assert isinstance(nothing, FullZip)
    assert nothing.bits_per_value == 0


def test_constant_pages_tell_an_empty_value_from_none() -> None:
    assert parse(**CONSTANT) == ConstantLayout((Layer.NULLABLE_ITEM,), None, None, None, 0, 0)
    layout = parse(constant_layout={"layers": [1], "inline_value": b"", "rep_compression": FLAT16, "num_rep_values": 3})
    assert layout == ConstantLayout((Layer.ALL_VALID_ITEM,), b"", Flat(16), None, 3, 0)


def test_blob_pages_hold_another_page() -> None:
    layout = parse(blob_layout={"inner_layout": CONSTANT, "layers": [3]})
    assert layout == Blob((Layer.NULLABLE_ITEM,), ConstantLayout((Layer.NULLABLE_ITEM,), None, None, None, 0, 0))
    with pytest.raises(CorruptFile, match="a blob layout inside a blob layout"):
        parse(blob_layout={"inner_layout": {"blob_layout": {"inner_layout": CONSTANT, "layers": [3]}}, "layers": [3]})


def test_unknown_encodings_are_named() -> None:
    for data in (b"", b"\x2a\x00"):
        with pytest.raises(UnsupportedFeature, match=r"page layout '.*' is not supported"):
            layout_from_wire(data)
    for layers, kind in ([1, 7, 0], 7), ([0], 0), ([3, 100], 100):
        with pytest.raises(UnsupportedFeature, match=f"a layer of kind {kind} "):
            mini_block(layers=layers)
    with pytest.raises(UnsupportedFeature, match="a repetition index of depth 2"):
        mini_block(repetition_index_depth=2)
    with pytest.raises(UnsupportedFeature, match="an encoding that this release does not support"):
        parse(mini_block_layout={"layers": [1], "num_buffers": 1})


@pytest.mark.parametrize(
    "others",
    [
        {"num_buffers": 0},
        {"num_buffers": 2**40},
        {"layers": []},
        {"layers": [1] * 1000},
        {"num_items": 2**63},
        {"num_dictionary_items": 2**63},
    ],
)
def test_impossible_mini_block_pages_are_refused(others: dict[str, Any]) -> None:
    with pytest.raises(CorruptFile):
        mini_block(**others)


@pytest.mark.parametrize(
    "others",
    [{}, {"bits_per_value": 12}, {"bits_per_offset": 16}, {"bits_per_value": 8, "bits_rep": 17, "bits_def": 16}],
)
def test_impossible_full_zip_pages_are_refused(others: dict[str, Any]) -> None:
    with pytest.raises(CorruptFile):
        full_zip(**others)
