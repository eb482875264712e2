"""Deletion files of both forms, and what they must not hold."""

from __future__ import annotations

import io
import struct
import threading
import time

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyroaring import BitMap

from lance_sql.errors import CorruptFile
from lance_sql.store import MemoryStore, PutMode
from lance_sql.table import deletions
from lance_sql.table.fragment import DeletionFileType

PATH = "_deletions/0-1-2.arrow"


def arrow_file(*columns: pa.Array, compression: str | None = None) -> bytes:
    batch = pa.record_batch(list(columns), names=["row_id", "more"][: len(columns)])
    sink = io.BytesIO()
    with pa.ipc.new_file(sink, batch.schema, options=pa.ipc.IpcWriteOptions(compression=compression)) as writer:
        writer.write_batch(batch)
    return sink.getvalue()


def read(content: bytes, file_type: DeletionFileType = DeletionFileType.ARROW, rows: int = 100) -> list[int]:
    offsets = deletions.read(MemoryStore({PATH: content}), PATH, file_type, rows)
    assert offsets.dtype == np.uint32
    return [int(offset) for offset in offsets]


@pytest.mark.parametrize("compression", [None, "zstd", "lz4"])
def test_an_arrow_file_lists_offsets_in_any_order(compression: str | None) -> None:
    content = arrow_file(pa.array([7, 0, 99, 7], pa.uint32()), compression=compression)
    assert read(content) == [0, 7, 99]


def test_signed_offsets_are_tolerated_when_they_are_offsets() -> None:
    assert read(arrow_file(pa.array([3, 1], pa.int32()))) == [1, 3]
    with pytest.raises(CorruptFile, match="negative"):
        read(arrow_file(pa.array([-3], pa.int32())))


@pytest.mark.parametrize(
    "columns",
    [
        [pa.array(["a"])],
        [pa.array([1], pa.int64())],
        [pa.array([1.0])],
        [pa.array([None], pa.uint32())],
        [pa.array([1], pa.uint32()), pa.array([2], pa.uint32())],
    ],
    ids=["text", "int64", "float", "null", "two columns"],
)
def test_other_columns_are_refused(columns: list[pa.Array]) -> None:
    with pytest.raises(CorruptFile, match=PATH):
        read(arrow_file(*columns))


def test_rows_that_the_fragment_does_not_have_are_refused() -> None:
    with pytest.raises(CorruptFile, match="row 100 is deleted in a fragment of 100 rows"):
        read(arrow_file(pa.array([3, 100], pa.uint32())))
    with pytest.raises(CorruptFile, match="row 100 is deleted"):
        read(BitMap([3, 100]).serialize(), DeletionFileType.BITMAP)


@pytest.mark.parametrize("file_type", list(DeletionFileType))
def test_files_of_the_other_form_and_no_files_are_refused(file_type: DeletionFileType) -> None:
    other = {
        DeletionFileType.ARROW: BitMap([1]).serialize(),
        DeletionFileType.BITMAP: arrow_file(pa.array([1], pa.uint32())),
    }
    for content in (b"", b"\0" * 100, other[file_type]):
        with pytest.raises(CorruptFile, match=PATH):
            read(content, file_type)
    with pytest.raises(CorruptFile, match="is missing"):
        deletions.read(MemoryStore({}), PATH, file_type, 10)


containers = st.one_of(
    st.sets(st.integers(0, 2**16 - 1), max_size=50).map(sorted),
    st.tuples(st.integers(0, 2**16 - 1), st.integers(1, 9000)).map(lambda p: list(range(p[0], min(sum(p), 2**16)))),
    st.integers(2, 9).map(lambda step: list(range(0, 2**16, step))),
)


@given(st.dictionaries(st.integers(0, 2**16 - 1), containers, max_size=5), st.booleans())
def test_a_bitmap_file_holds_what_was_written(parts: dict[int, list[int]], runs: bool) -> None:
    values = [high << 16 | low for high, lows in sorted(parts.items()) for low in lows]
    bitmap = BitMap(values)
    if runs:
        bitmap.run_optimize()
    assert _read_bitmap(bitmap.serialize(), 2**32).tolist() == values


@given(st.sets(st.integers(0, 200_000), min_size=1, max_size=50), st.data())
def test_a_damaged_bitmap_file_is_an_error_or_other_rows(values: set[int], data: st.DataObject) -> None:
    content = bytearray(BitMap(values).serialize())
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    try:
        found = _read_bitmap(bytes(content), 200_001)
    except CorruptFile:
        return
    assert np.all(found[1:] > found[:-1])


@pytest.mark.parametrize("byte", [0x00, 0xFE, 0xFF])
def test_a_bitmap_file_with_a_wrong_count_is_refused(byte: int) -> None:
    # a container of 65,536 bits that claims 4,097 values
    content = struct.pack("<IIHHI", 12346, 1, 0, 4096, 16) + bytes([byte]) * 8192
    with pytest.raises(CorruptFile):
        _read_bitmap(content, 2**32)


def test_a_bitmap_file_of_more_values_than_rows_is_refused_before_it_is_expanded() -> None:
    full = BitMap(range(2**20))
    full.run_optimize()
    with pytest.raises(CorruptFile, match="1048576 rows are deleted in a fragment of 10 rows"):
        _read_bitmap(full.serialize(), 10)
    assert len(full.serialize()) < 300


def _read_bitmap(content: bytes, num_rows: int) -> np.ndarray:
    return deletions.read(MemoryStore({"d.bin": content}), "d.bin", DeletionFileType.BITMAP, num_rows)


@pytest.mark.parametrize("compression", ["zstd", "lz4"])
def test_a_buffer_that_claims_more_than_its_rows_need_is_refused_before_it_is_made(compression: str) -> None:
    content = bytearray(arrow_file(pa.array(np.zeros(100_000, np.uint32)), compression=compression))
    assert read(bytes(content), rows=100_000) == [0]
    claim = content.index(struct.pack("<q", 400_000))
    for claimed, said in (
        (2**40, "100000 deleted rows claim"),
        (399_999, "are not the 100000 rows"),
        (400_001, "deleted rows"),
    ):
        struct.pack_into("<q", content, claim, claimed)
        with pytest.raises(CorruptFile, match=said):
            read(bytes(content), rows=100_000)


@pytest.mark.parametrize("compression", [None, "zstd", "lz4"])
@given(parts=st.lists(st.lists(st.integers(0, 2**31 - 1), max_size=40), max_size=4))
def test_all_record_batches_of_a_file_are_read(compression: str | None, parts: list[list[int]]) -> None:
    options = pa.ipc.IpcWriteOptions(compression=compression)
    for type_ in (pa.uint32(), pa.int32()):
        sink = io.BytesIO()
        with pa.ipc.new_file(sink, pa.schema([("row_id", type_)]), options=options) as writer:
            for part in parts:
                writer.write_batch(pa.record_batch([pa.array(part, type_)], ["row_id"]))
        assert read(sink.getvalue(), rows=2**31) == sorted({value for part in parts for value in part})


@pytest.mark.parametrize("compression", ["zstd", "lz4"])
def test_buffers_of_a_compressed_file_may_be_stored_as_they_are(compression: str) -> None:
    values = np.random.default_rng(1).integers(0, 2**32, 500, np.uint32)
    content = bytearray(arrow_file(pa.array(values), compression=compression))
    claim = content.index(struct.pack("<q", 2000))
    struct.pack_into("<q", content, claim, -1)
    # no writer that is at hand leaves them: so the values are what the compressor has made, which is larger
    stored = np.frombuffer(content, "<u4", 500, claim + 8)
    assert read(bytes(content), rows=2**32) == sorted(set(stored.tolist()))


@pytest.mark.parametrize("end", [-(2**31) + 4096, -1, 2**31 - 1])
def test_a_record_batch_outside_of_its_file_is_refused_also_where_it_is_empty(end: int) -> None:
    content = bytearray(arrow_file(pa.array([], pa.uint32())))
    message = content.index(b"\xff\xff\xff\xff", 16)
    (size,) = struct.unpack_from("<i", content, message + 4)
    block = content.index(struct.pack("<qi", message, size + 8))
    struct.pack_into("<i", content, block + 8, end - message)
    with pytest.raises(CorruptFile, match="inside of an Arrow file"):
        read(bytes(content))


@pytest.mark.parametrize("compression", [None, "zstd", "lz4"])
@given(st.data())
def test_a_damaged_arrow_file_is_an_error_or_other_rows(compression: str | None, data: st.DataObject) -> None:
    content = bytearray(arrow_file(pa.array(np.arange(0, 900, 3, dtype=np.uint32)), compression=compression))
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    del content[data.draw(st.integers(0, len(content)) | st.just(len(content))) :]
    try:
        found = read(bytes(content), rows=1000)
    except CorruptFile:
        return
    assert found == sorted(set(found))


def test_an_arrow_file_of_more_values_than_rows_is_refused() -> None:
    with pytest.raises(CorruptFile, match="101 rows are deleted in a fragment of 100 rows"):
        read(arrow_file(pa.array(np.zeros(101, np.uint32))))


@pytest.mark.parametrize("kind", [None, *DeletionFileType])
@pytest.mark.parametrize("num_rows", [1, 7, 4999, 5000, 100_000])
def test_written_sequences_are_read_back(kind: DeletionFileType | None, num_rows: int) -> None:
    offsets = np.arange(0, 3 * num_rows, 3, dtype=np.uint32)
    files: dict[str, bytes] = {}
    store = MemoryStore(files)
    file = deletions.write(store, 3, 41, offsets, kind=kind)
    assert list(files) == [f"_deletions/{file.name(3)}"]
    assert (file.read_version, file.num_deleted_rows, file.base_id) == (41, num_rows, None)
    chosen = DeletionFileType.BITMAP if num_rows >= 5000 else DeletionFileType.ARROW
    assert file.file_type is (kind or chosen)
    assert np.array_equal(deletions.read(store, next(iter(files)), file.file_type, 3 * num_rows), offsets)


def test_two_files_of_one_version_have_different_names() -> None:
    store = MemoryStore({})
    names = {deletions.write(store, 0, 1, np.array([1], np.uint32)).name(0) for _ in range(20)}
    assert len(names) == 20


class _SlowStore(MemoryStore):
    """Puts of which none is done before all have begun; those of one fragment fail."""

    def __init__(self, count: int, failing: int | None = None) -> None:
        super().__init__({})
        self._begun = threading.Barrier(count, timeout=60)
        self._failing = failing
        self.num_done = 0

    def put(self, path: str, data: bytes | pa.Buffer, *, mode: PutMode) -> None:
        self._begun.wait()
        if path.startswith(f"_deletions/{self._failing}-"):
            raise OSError("the disk is full")
        time.sleep(0.05)
        super().put(path, data, mode=mode)
        self.num_done += 1


def test_files_of_several_fragments_are_written_at_once() -> None:
    store = _SlowStore(5)
    offsets = {number: np.arange(number + 1, dtype=np.uint32) for number in range(5)}
    files = deletions.write_all(store, 3, offsets)
    assert [files[number].num_deleted_rows for number in range(5)] == [1, 2, 3, 4, 5]
    for number, file in files.items():
        path = f"_deletions/{file.name(number)}"
        assert deletions.read(store, path, file.file_type, 10).tolist() == list(range(number + 1))


def test_nothing_is_written_after_one_failed() -> None:
    store = _SlowStore(5, failing=0)
    with pytest.raises(OSError, match="full"):
        deletions.write_all(store, 3, {number: np.arange(2, dtype=np.uint32) for number in range(5)})
    assert store.num_done == 4
