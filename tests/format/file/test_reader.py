"""Reading rows of data files: requests to the store, and errors of contradictory files."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path

import fsspec
import numpy as np
import pyarrow as pa
import pytest

import lance_sql
from lance_sql.errors import CorruptFile, UnsupportedFeature
from lance_sql.format import file_versions
from lance_sql.format.file import file_bytes
from lance_sql.format.file.column_rows import read_columns
from lance_sql.format.file.kernel_column import KernelColumn
from lance_sql.format.file.page_cache import PageCache
from lance_sql.format.file.reader import FileReader
from lance_sql.format.layouts.nest import Chain
from lance_sql.format.proto import file2_pb2
from lance_sql.store import MemoryStore
from lance_sql.values import row_ranges
from tests.damaged.messages import with_columns
from tests.damaged.tables import data_file, in_memory, write

from .counting import CountingStore

NUM_ROWS = 20_000


def sample() -> pa.Table:
    rng = np.random.default_rng(4)
    lengths = rng.integers(0, 4, NUM_ROWS)
    offsets = np.concatenate(([0], np.cumsum(lengths)))
    values = pa.array(rng.integers(0, 1000, offsets[-1]), pa.int32())
    return pa.table(
        {
            "id": pa.array(np.arange(NUM_ROWS), pa.int64()),
            "text": [f"row {i} of {NUM_ROWS}" if i % 5 else None for i in range(NUM_ROWS)],
            "list": pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), values),
            "vector": pa.FixedSizeListArray.from_arrays(pa.array(rng.random(NUM_ROWS * 70), pa.float32()), 70),
            "point": pa.StructArray.from_arrays(
                [pa.array(rng.random(NUM_ROWS)), pa.array(rng.random(NUM_ROWS))], ["x", "y"]
            ),
        }
    )


@pytest.fixture(scope="module", params=["2.1", "2.2"])
def files(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    return write(tmp_path_factory.mktemp("sample") / "t.lance", sample(), request.param)


def test_a_batch_takes_two_rounds_however_many_columns_it_has(files: dict[str, bytes]) -> None:
    store = CountingStore(files, gap=2**16)
    table = store.open().scan(batch_size=NUM_ROWS).to_table()
    assert table.num_rows == NUM_ROWS
    heads, values = store.data_requests()
    assert len(heads) >= 4
    assert len(values) >= 5


def test_heads_that_are_known_are_not_read_again(files: dict[str, bytes]) -> None:
    store = CountingStore(files, gap=2**16)
    dataset = store.open()
    dataset.take([5])
    store.clear()
    dataset.take([6])
    assert len(store.data_requests()) == 1


def test_few_rows_read_few_chunks(files: dict[str, bytes]) -> None:
    store = CountingStore(files, gap=0)
    dataset = store.open()
    dataset.take([0])
    store.clear()
    rows = [17, 9_000, 9_001, 19_999]
    assert dataset.take(rows).equals(sample().take(rows))
    (ranges,) = store.data_requests()
    assert len(ranges) >= 5 * 3
    assert store.data_bytes() < 3 * (8 * 1024 * 6 + 280)
    vectors = [end - start for start, end in ranges if end - start in (280, 560)]
    assert vectors == [280, 560, 280], "values without levels are found by their numbers"


def test_ranges_within_the_gap_are_asked_for_as_one(files: dict[str, bytes]) -> None:
    counts = []
    # a megabyte lies between two of the vectors
    for gap in (0, 2**21):
        store = CountingStore(files, gap=gap)
        dataset = store.open()
        dataset.scan(["vector"], limit=1).to_table()
        store.clear()
        dataset.take(range(0, NUM_ROWS, 4000), ["vector"])
        counts.append([len(ranges) for ranges in store.data_requests()])
    assert counts == [[5], [1]]


def test_only_the_columns_that_are_asked_for_are_read(files: dict[str, bytes]) -> None:
    store = CountingStore(files)
    assert store.open().scan(["point.y"]).to_table().num_rows == NUM_ROWS
    assert store.data_bytes() < 8 * NUM_ROWS + 2000


def test_random_rows_are_slices_of_a_full_read(files: dict[str, bytes]) -> None:
    expected = sample()
    rng = np.random.default_rng(7)
    stores = [CountingStore(files, gap=gap) for gap in (0, 300, 2**40)]
    datasets = [store.open() for store in stores]
    for share in (0.0005, 0.01, 0.3, 0.95):
        rows = np.flatnonzero(rng.random(NUM_ROWS) < share)
        for dataset in datasets:
            assert dataset.take(rows).equals(expected.take(pa.array(rows)))


def test_every_store_gives_the_same(files: dict[str, bytes], tmp_path: Path) -> None:
    remote = fsspec.filesystem("memory")
    for path, content in files.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_bytes(content)
        remote.pipe_file(f"/reader-test/{path}", content)
    expected = sample()
    for dataset in (lance_sql.open(tmp_path), lance_sql.open("memory://reader-test"), in_memory(files)):
        assert dataset.to_table().equals(expected)
        assert dataset.take([3, 19_000]).equals(expected.take([3, 19_000]))
    remote.rm("/reader-test", recursive=True)


def test_metadata_beyond_the_tail_is_read_in_further_requests(tmp_path: Path) -> None:
    table = pa.table({f"column {i}": pa.array([i, i + 1], pa.int64()) for i in range(3000)})
    files = write(tmp_path / "wide", table, "2.2")
    assert len(files[data_file(files)]) > 2 * file_bytes.TAIL_BYTES
    store = CountingStore(files)
    dataset = store.open()
    assert dataset.scan(["column 0", "column 2999"]).to_table().to_pydict() == {
        "column 0": [0, 1],
        "column 2999": [2999, 3000],
    }
    assert len(store.requests) < 10
    assert dataset.to_table().equals(table)


def opened(data: bytes, path: str = "data/x.lance") -> FileReader:
    return FileReader(MemoryStore({path: data}), path, PageCache())


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    files = write(tmp_path_factory.mktemp("small") / "t", pa.table({"a": [1, 2, 3], "b": ["x", None, "z"]}), "2.2")
    return files[data_file(files)]


def test_open_files_describe_themselves(small: bytes) -> None:
    file = opened(small)
    assert (file.num_rows, file.num_columns, file.bytes.size) == (3, 2, len(small))
    assert file.file_version is file_versions.V2_2
    assert opened(small[:-8] + struct.pack("<HH4s", 2, 1, b"LANC")).file_version is file_versions.V2_1


@pytest.mark.parametrize(
    ("version", "name"),
    [
        ((2, 4), "2.4"),
        ((3, 0), "3.0"),
        ((0, 9), "0.9"),
    ],
)
def test_other_versions_are_refused_by_name(small: bytes, version: tuple[int, int], name: str) -> None:
    data = small[:-8] + struct.pack("<HH4s", *version, b"LANC")
    with pytest.raises(UnsupportedFeature, match=rf"data/x\.lance: data file version {name} is not supported"):
        opened(data)


@pytest.mark.parametrize("length", [0, 1, 7, 8, 39])
def test_a_file_too_short_for_a_footer_is_refused(small: bytes, length: int) -> None:
    with pytest.raises(CorruptFile, match=r"data/x\.lance: .*(too short|does not end)"):
        opened(small[len(small) - length :])


FOOTER = struct.Struct("<QQQIIHH4s")


@pytest.mark.parametrize("field", range(1, 5))
@pytest.mark.parametrize("value", [2**32 - 1, 2**40, 2**63, 2**64 - 1, 0, 1])
def test_tables_outside_of_the_file_are_refused(small: bytes, field: int, value: int) -> None:
    values = list(FOOTER.unpack(small[-40:]))
    if values[field] == value or (field == 4 and value < 2):
        return
    values[field] = value if field < 3 else value & (2**32 - 1)
    with pytest.raises(CorruptFile):
        read_b(small[:-40] + FOOTER.pack(*values))


def read_b(data: bytes) -> None:
    file = opened(data)
    read_columns([KernelColumn(file, 1, Chain(pa.string()), "b")], row_ranges.single(0, 3))


def changed(data: bytes, change: Callable[[file2_pb2.ColumnMetadata], None]) -> bytes:
    """The file with other metadata for its first column."""

    def columns(parts: list[bytes]) -> list[bytes]:
        message = file2_pb2.ColumnMetadata.FromString(parts[0])
        change(message)
        return [bytes(message.SerializeToString()), *parts[1:]]

    return with_columns(data, columns)


def read_a(data: bytes) -> list[int | None]:
    file = opened(data)
    column = KernelColumn(file, 0, Chain(pa.int64()), "a")
    (array,) = read_columns([column], row_ranges.single(0, file.num_rows))
    return list(array.to_pylist())


def test_pages_add_up_to_the_rows_of_the_file(small: bytes) -> None:
    def drop(column: file2_pb2.ColumnMetadata) -> None:
        del column.pages[:]

    def double(column: file2_pb2.ColumnMetadata) -> None:
        column.pages.add().CopyFrom(column.pages[0])

    def shorten(column: file2_pb2.ColumnMetadata) -> None:
        column.pages[0].length = 2

    assert read_a(small) == [1, 2, 3]
    for change in (drop, double, shorten):
        with pytest.raises(
            CorruptFile, match=r"data/x\.lance: column 'a': the pages of the column hold . rows, the file 3"
        ):
            read_a(changed(small, change))


def test_pages_without_rows_are_skipped(small: bytes) -> None:
    def surround(column: file2_pb2.ColumnMetadata) -> None:
        page = column.pages[0]
        pages = [file2_pb2.ColumnMetadata.Page(), page, file2_pb2.ColumnMetadata.Page()]
        pages[0].CopyFrom(page)
        pages[0].length = 0
        pages[2].CopyFrom(pages[0])
        copies = [file2_pb2.ColumnMetadata.Page.FromString(each.SerializeToString()) for each in pages]
        del column.pages[:]
        column.pages.extend(copies)

    assert read_a(changed(small, surround)) == [1, 2, 3]


def test_errors_in_a_page_name_file_column_and_page(small: bytes) -> None:
    def garble(column: file2_pb2.ColumnMetadata) -> None:
        column.pages[0].encoding.direct.encoding = b"\x0a\x02ab"

    def defer(column: file2_pb2.ColumnMetadata) -> None:
        column.pages[0].encoding.indirect.buffer_location = 3

    def cut(column: file2_pb2.ColumnMetadata) -> None:
        del column.pages[0].buffer_offsets[-1]

    def leave(column: file2_pb2.ColumnMetadata) -> None:
        column.pages[0].buffer_sizes[0] = 2**63

    with pytest.raises(
        UnsupportedFeature, match=r"data/x\.lance: column 'a', page 0: page encoding 'ab' is not supported"
    ):
        read_a(changed(small, garble))
    with pytest.raises(UnsupportedFeature, match=r"data/x\.lance: .*not stored beside its page"):
        read_a(changed(small, defer))
    with pytest.raises(CorruptFile, match=r"data/x\.lance: .*buffer offsets for"):
        read_a(changed(small, cut))
    with pytest.raises(CorruptFile, match=r"data/x\.lance: .*a buffer of \d+ bytes at byte"):
        read_a(changed(small, leave))


def test_a_column_that_the_file_does_not_have_is_refused(small: bytes) -> None:
    with pytest.raises(CorruptFile, match=r"data/x\.lance: column 2 of 2 columns"):
        opened(small).column(2)


def test_the_cache_of_heads_is_bounded() -> None:
    class CachedPage:
        num_bytes = 10

    cache = PageCache(budget=25)
    heads = [CachedPage() for _ in range(5)]
    for number, head in enumerate(heads):
        cache.keep(number, head)
        cache.keep(number, heads[0])
    assert [cache.get(number) for number in range(5)] == [None, None, None, heads[3], heads[4]]
    PageCache(budget=1).keep(0, heads[0])


def test_the_manifest_and_the_file_agree_on_the_rows(files: dict[str, bytes], tmp_path: Path) -> None:
    other = write(tmp_path / "other", pa.table({"id": [1]}), "2.2")
    mixed = {**files, data_file(files): other[data_file(other)]}
    with pytest.raises(CorruptFile, match=r"the file has 1 rows, its fragment 20000"):
        in_memory(mixed).scan(["id"]).to_table()
