"""Blob pages: descriptors in a page, bytes anywhere in the file."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from lance_sql.errors import CorruptFile, UnsupportedFeature
from lance_sql.format.encodings.tree import Flat, PackedStruct
from lance_sql.format.layouts.blob import DESCRIPTOR, places
from lance_sql.format.layouts.nest import Chain
from lance_sql.format.layouts.tree import Blob, Layer, Layers, MiniBlock
from tests.kernels.pages import Chunk, build

from .by_hand import HandPage
from .shredding import chain_of

ITEM, NULLABLE = Layer.ALL_VALID_ITEM, Layer.NULLABLE_ITEM
BLOBS = Chain(pa.large_binary())

# The first blob stands at position 0 of the file.
FILE = b"first blob, second"
NULL = (1 << 16, 0)


def blob_page(
    descriptors: list[tuple[int, int]], layers: Layers = (NULLABLE,), chunk_rows: int | None = None
) -> HandPage:
    """Descriptors (position, size) in a mini-block page of their own."""
    size = chunk_rows or len(descriptors)
    parts = [descriptors[start : start + size] for start in range(0, len(descriptors), size)]
    page = build([Chunk(len(part), [np.array(part, "<u8").tobytes()]) for part in parts], large=False)
    inner = MiniBlock(
        layers=(ITEM,),
        values=PackedStruct((64, 64), Flat(128)),
        repetition=None,
        definition=None,
        dictionary=None,
        num_dictionary_items=0,
        num_buffers=1,
        repetition_index_depth=0,
        num_items=len(descriptors),
        has_large_chunk=False,
    )
    return HandPage(Blob(layers, inner), [page.metadata, page.data], len(descriptors), in_front=FILE)


def test_descriptors_become_the_bytes_that_they_point_at() -> None:
    page = blob_page([(0, 10), (0, 0), NULL, (12, 6), (0, 18)])
    values = [b"first blob", b"", None, b"second", FILE]
    assert page.read(BLOBS).to_pylist() == values
    assert page.read(BLOBS, np.array([[1, 2], [3, 5]])).to_pylist() == [values[1], *values[3:]]


def test_descriptors_that_are_far_apart_are_requested_apart() -> None:
    page = blob_page([(0, 5), NULL, (0, 0), (12, 6)] * 64, chunk_rows=16)
    rows = np.array([[0, 2], [3, 4], [250, 252]])
    assert page.read(BLOBS, rows).to_pylist() == [b"first", None, b"second", b"", b"second"]
    near, far, *blobs = page.requested(BLOBS, rows)
    assert near.end - near.start == far.end - far.start == 8 + 16 * 16
    assert [(blob.start, blob.end) for blob in blobs] == [(0, 5), (12, 18), (12, 18)]


def test_nulls_of_structs_around_a_blob_are_in_its_descriptor() -> None:
    page = blob_page([(0, 5), NULL, (2 << 16, 0), (0, 0)], (NULLABLE, NULLABLE))
    chain = chain_of((NULLABLE, NULLABLE), pa.large_binary())
    assert page.read(chain).to_pylist() == [{"f": b"first"}, {"f": None}, None, {"f": b""}]


@pytest.mark.parametrize("descriptor", [(0, 10_000), (10_000, 5), (2**63, 1), (0, 2**63), (2**64 - 1, 2**64 - 1)])
def test_blobs_lie_inside_of_the_file(descriptor: tuple[int, int]) -> None:
    page = blob_page([(0, 5), descriptor])
    with pytest.raises((CorruptFile, AssertionError)):
        page.read(BLOBS)


def test_levels_that_the_layers_do_not_have_are_refused() -> None:
    with pytest.raises(CorruptFile, match="a blob of level 7 in layers with 1"):
        blob_page([(0, 5), (7 << 16, 0)]).read(BLOBS)


def test_blobs_below_lists_are_not_supported() -> None:
    layers = (NULLABLE, Layer.NULL_AND_EMPTY_LIST)
    with pytest.raises(UnsupportedFeature, match="blobs below lists"):
        blob_page([(0, 5)], layers).read(chain_of(layers, pa.large_binary()))


@pytest.mark.parametrize("member", [0, 1])
def test_a_descriptor_without_a_member_is_refused(member: int) -> None:
    members = [pa.array([0, 3], pa.uint64()) for _ in range(2)]
    members[member] = pa.array([0, None], pa.uint64())
    with pytest.raises(CorruptFile, match="without a position or a size"):
        places(pa.StructArray.from_arrays(members, fields=list(DESCRIPTOR)))
