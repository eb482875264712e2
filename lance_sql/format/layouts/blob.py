"""Blob pages: each value is a descriptor (position, size) of bytes elsewhere in the same file.

The descriptors are a packed struct in a separate page without levels. A descriptor of size 0 is an empty value at
position 0. At other positions it is null, and the position contains the levels, `definition << 16 | repetition`.
Source: message BlobLayout.
"""

from collections.abc import Callable

import numpy as np
import pyarrow as pa

from lance_sql import _kernels
from lance_sql.errors import CorruptFile, UnsupportedFeature
from lance_sql.format.encodings.blocks import VariableWidth
from lance_sql.format.encodings.from_arrow import from_array
from lance_sql.format.file_versions import PageRules
from lance_sql.format.layouts.nest import Chain, Slots, nest
from lance_sql.format.layouts.page import cluster, concat
from lance_sql.format.layouts.reading import Reading
from lance_sql.format.layouts.shredded import EncodedPage, ShreddedPage
from lance_sql.format.layouts.stored_page import StoredPage
from lance_sql.format.layouts.tree import Blob, Layer, Layers, max_definition
from lance_sql.format.schema import Field
from lance_sql.format.schema.field import PACKED_KEYS
from lance_sql.store import ByteRange
from lance_sql.values.arrays import U64
from lance_sql.values.row_ranges import RowRanges

DESCRIPTOR = pa.struct([("position", pa.uint64()), ("size", pa.uint64())])


_PACKED = Field("", -1, -1, "struct", metadata={PACKED_KEYS[0]: b"true"})


def describe(values: pa.Array, put: Callable[[pa.Buffer], int]) -> pa.StructArray:
    """Writes the bytes of values to the file in one piece, and returns their descriptors.

    values: large_binary; a NULL gets the descriptor of files without levels
    put: writes bytes, and returns their position
    """
    positions, sizes = put_values(values, put)
    positions[sizes == 0] = 0
    positions[values.is_null().to_numpy(zero_copy_only=False)] = 1
    return pa.StructArray.from_arrays([positions, sizes], fields=list(DESCRIPTOR))


def put_values(values: pa.Array, put: Callable[[pa.Buffer], int]) -> tuple[U64, U64]:
    """Writes the bytes of values in one piece, and returns position and size of each; a NULL has no size."""
    block = from_array(values)
    assert isinstance(block, VariableWidth)
    offsets = np.frombuffer(block.offsets, np.int64, len(values) + 1)
    sizes = np.diff(offsets).astype(np.uint64)
    start = 0
    if offsets[-1] > offsets[0]:
        start = put(block.data.slice(int(offsets[0]), int(offsets[-1] - offsets[0])))
    positions = (offsets[:-1] - offsets[0] + start).astype(np.uint64)
    sizes[values.is_null().to_numpy(zero_copy_only=False)] = 0
    return positions, sizes


def encode_page(page: ShreddedPage, rules: PageRules) -> EncodedPage:
    """Encodes descriptors, not below lists, as one page. The descriptor of a NULL marks it."""
    # readers do not need the encoding modules
    from lance_sql.format.layouts.encode import encode_layout
    from lance_sql.format.layouts.wire_v2_1 import layout_to_wire

    positions, sizes = (page.values.field(i).fill_null(0).to_numpy() for i in range(2))
    if page.definition is not None:
        positions = np.where(page.definition > 0, page.definition.astype(np.uint64) << 16, positions)
        sizes = np.where(page.definition > 0, 0, sizes).astype(np.uint64)
    values = pa.StructArray.from_arrays([positions, sizes], fields=list(DESCRIPTOR))
    inner = ShreddedPage(values, (Layer.ALL_VALID_ITEM,), None, None, page.num_rows)
    layout, buffers = encode_layout(inner, _PACKED, rules)
    return EncodedPage(layout_to_wire(Blob(page.layers, layout)), buffers, page.num_rows)


class BlobPage:
    """One page of descriptors. Reading it fetches their bytes."""

    def __init__(self, layout: Blob, stored: StoredPage, num_rows: int) -> None:
        self._layers = layout.layers
        self._stored = stored
        self._num_rows = num_rows

    def decode(self, rows: RowRanges, chain: Chain, gap: int) -> Reading[pa.Array]:
        """Reads rows; only the descriptors have the positions of the blobs.

        gap: maximum bytes between two descriptors that are cheaper to read over than to request separately
        """
        chain.check(self._layers)
        if not chain.is_flat:
            raise UnsupportedFeature("blobs below lists are not supported")
        check_type(chain)
        descriptors = yield from self._descriptors(np.ascontiguousarray(rows), gap)
        positions, sizes = places(descriptors)
        levels = np.where(sizes == 0, positions >> np.uint64(16), 0)
        if int(levels.max(initial=0)) > max_definition(self._layers):
            raise CorruptFile(f"a blob of level {int(levels.max())} in layers with {max_definition(self._layers)}")
        slots = _slots(levels, self._layers)
        values = yield from read_blobs(positions, sizes, slots[0].validity, slots[0].null_count)
        return nest(chain.finish(values) if chain.finish else values, slots[1:], chain)

    def _descriptors(self, rows: RowRanges, gap: int) -> Reading[pa.Array]:
        """Reads the descriptors of rows, by the kernels."""
        opened = self._stored.reader(Chain(DESCRIPTOR), is_nested=True, are_places=True)
        if opened is None or opened[0].form is None:
            raise CorruptFile("descriptors of blobs that are no structs")
        page, where = opened
        column = _kernels.ColumnReader(np.array([0, self._num_rows], np.int64))
        column.open(0, page.reader, where.start, where.end)
        spans = [_kernels.spans([(column, rows[index : index + 1])])[0] for index in range(len(rows))]
        # a page of one descriptor for all rows has no bytes
        places = np.array([parts[0][1:] if parts else (0, 0) for parts in spans], np.int64)
        groups = cluster(places, gap)
        ranges = [ByteRange(int(places[first, 0]), int(places[end - 1, 1])) for first, end in groups.tolist()]
        buffers = (yield ranges) if any(spans) else [pa.py_buffer(b"")] * len(ranges)
        wanted = [
            (column, rows[first:end], [(0, data, where.start)] if data.size else [])
            for (first, end), where, data in zip(groups.tolist(), ranges, buffers, strict=True)
        ]
        _, arrays, failure = _kernels.read_rows([], wanted, None)
        if failure is not None:
            raise CorruptFile(failure[3])
        return concat([pa.Array._import_from_c(array.address, DESCRIPTOR) for array in arrays])


def _slots(levels: U64, layers: Layers) -> list[Slots]:
    """Returns the slots of each layer of structs around values, from the inside."""
    slots = []
    base = 0
    for layer in layers:
        valid = levels <= base
        nulls = int(np.count_nonzero(~valid)) if layer.num_levels else 0
        slots.append(Slots(len(levels), pa.py_buffer(np.packbits(valid, bitorder="little")) if nulls else None, nulls))
        base += layer.num_levels
    return slots


def check_type(chain: Chain) -> None:
    """Makes sure that the table's column type for blobs is bytes.

    raises: CorruptFile
    """
    stored = chain.stored or chain.leaf
    if stored != pa.large_binary():
        raise CorruptFile(f"blobs in a column of type {stored}")


def places(descriptors: pa.StructArray) -> tuple[U64, U64]:
    """Returns the positions and the sizes of blobs.

    raises: CorruptFile for one that is NULL
    """
    members = [descriptors.field(i) for i in range(2)]
    if any(member.null_count for member in members):
        raise CorruptFile("a blob descriptor without a position or a size")
    positions, sizes = (member.to_numpy() for member in members)
    return positions, sizes


def read_blobs(positions: U64, sizes: U64, validity: pa.Buffer | None, null_count: int) -> Reading[pa.Array]:
    """Reads the byte ranges as a large_binary array; one of size 0 is not fetched.

    raises: CorruptFile
    """
    if int(sizes.max(initial=0)) >= 1 << 48 or int(positions.max(initial=0)) >= 1 << 62:
        raise CorruptFile("a blob descriptor that points outside of any file")
    present = np.flatnonzero(sizes)
    starts, lengths = positions[present].tolist(), sizes[present].tolist()
    ranges = [ByteRange(start, start + length) for start, length in zip(starts, lengths, strict=True)]
    data = (yield ranges) if ranges else ()
    offsets = np.zeros(len(sizes) + 1, np.int64)
    np.cumsum(sizes.astype(np.int64), out=offsets[1:])
    content = data[0] if len(data) == 1 else pa.py_buffer(b"".join(data))
    return pa.Array.from_buffers(pa.large_binary(), len(sizes), [validity, pa.py_buffer(offsets), content], null_count)
