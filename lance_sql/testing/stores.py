"""The contract of a store, as tests for its authors.

    class TestMyStore(StoreContract):
        @pytest.fixture
        def store(self, tmp_path):
            store = MyStore(...)
            for path, content in FILES.items():
                store.put(path, content, mode="overwrite")
            return store

If a store does not support a part, such as creating a file only once, it overrides the test with one for its error.
"""

from __future__ import annotations

import pickle
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from lance_sql.errors import CorruptFile
from lance_sql.store import ByteRange, ObjectInfo, Store

CONTENT = bytes(range(256)) * 8

"""Content of `data/a.lance`."""

FILES = {
    "_versions/1.manifest": b"one",
    "_versions/2.manifest": b"two!",
    "data/a.lance": CONTENT,
    "data/nested/b.blob": b"blob",
    "data/empty.lance": b"",
}
"""Files of the tested store."""


class StoreContract:
    """Contract of every store; a subclass provides one with FILES as the fixture `store`."""

    @pytest.fixture
    def store(self, tmp_path: Path) -> Store:
        raise NotImplementedError

    def test_ranges_come_in_the_order_asked_for(self, store: Store) -> None:
        ranges = [ByteRange(100, 200), ByteRange(0, 10), ByteRange(150, 160), ByteRange(2048, 2048), ByteRange(5, 5)]
        buffers = store.get_ranges("data/a.lance", ranges)
        assert [buffer.to_pybytes() for buffer in buffers] == [CONTENT[start:end] for start, end in ranges]

    def test_no_ranges_are_no_buffers(self, store: Store) -> None:
        assert store.get_ranges("data/a.lance", []) == []

    @pytest.mark.parametrize("wanted", [(0, 2049), (2048, 2049), (5000, 6000), (-1, 5), (7, 3)])
    def test_a_range_outside_of_the_file_is_an_error_that_names_it(self, store: Store, wanted: tuple[int, int]) -> None:
        with pytest.raises(CorruptFile, match=r"data/a\.lance"):
            store.get_ranges("data/a.lance", [ByteRange(0, 10), ByteRange(*wanted)])

    @pytest.mark.parametrize("num_bytes", [0, 1, 100, 2048, 10_000])
    def test_the_tail_is_the_end_of_the_file_and_its_size(self, store: Store, num_bytes: int) -> None:
        size, tail = store.tail("data/a.lance", num_bytes)
        assert size == 2048
        assert tail.to_pybytes() == CONTENT[max(0, 2048 - num_bytes) :]

    def test_a_size_that_is_known_changes_nothing(self, store: Store) -> None:
        assert store.tail("data/a.lance", 8, size=2048)[1].to_pybytes() == CONTENT[-8:]

    def test_an_empty_file_has_an_empty_tail(self, store: Store) -> None:
        size, tail = store.tail("data/empty.lance", 64)
        assert (size, tail.size) == (0, 0)
        assert store.get_ranges("data/empty.lance", [ByteRange(0, 0)])[0].size == 0

    def test_a_listing_has_the_files_of_one_folder(self, store: Store) -> None:
        assert sorted(info.path for info in store.files("data")) == ["data/a.lance", "data/empty.lance"]
        assert all(info.size in (None, len(FILES[info.path])) for info in store.files("_versions"))
        assert all(isinstance(info, ObjectInfo) for info in store.files("_versions"))

    def test_a_folder_that_is_not_there_is_empty(self, store: Store) -> None:
        assert list(store.files("_refs/tags")) == []
        assert list(store.folders("_refs")) == []

    def test_folders_are_listed_by_name(self, store: Store) -> None:
        assert sorted(store.folders("")) == ["_versions", "data"]
        assert list(store.folders("data")) == ["nested"]

    def test_a_missing_file_is_not_found(self, store: Store) -> None:
        with pytest.raises(FileNotFoundError):
            store.get_ranges("data/missing.lance", [ByteRange(0, 1)])
        with pytest.raises(FileNotFoundError):
            store.tail("data/missing.lance", 8)

    def test_a_folder_is_no_file(self, store: Store) -> None:
        with pytest.raises(IsADirectoryError):
            store.tail("data", 8)

    @pytest.mark.parametrize(
        "path", ["", "/etc/hostname", "../x", "data/../../x", "data//a", "./a", "a\0b", "a" * 2000]
    )
    def test_paths_stay_below_the_root(self, store: Store, path: str) -> None:
        with pytest.raises(CorruptFile):
            store.get_ranges(path, [ByteRange(0, 1)])
        with pytest.raises(CorruptFile):
            store.tail(path, 8)

    @pytest.mark.parametrize("kind", [bytes, pa.py_buffer])
    def test_a_file_is_put_as_a_whole(self, store: Store, kind: Callable[[bytes], Any]) -> None:
        store.put("_new/deep/x.json", kind(b"first"), mode="overwrite")
        assert store.tail("_new/deep/x.json", 99)[1] == b"first"
        store.put("_new/deep/x.json", kind(b"second!"), mode="overwrite")
        assert store.tail("_new/deep/x.json", 99)[1] == b"second!"
        assert [info.path for info in store.files("_new/deep")] == ["_new/deep/x.json"]

    def test_what_was_read_before_is_not_served_again(self, store: Store) -> None:
        (before,) = store.get_ranges("data/a.lance", [ByteRange(0, 4)])
        store.put("data/a.lance", b"changed", mode="overwrite")
        assert store.get_ranges("data/a.lance", [ByteRange(0, 7)])[0] == b"changed"
        assert before == CONTENT[:4]
        store.delete("data/a.lance")
        with pytest.raises(FileNotFoundError):
            store.get_ranges("data/a.lance", [ByteRange(0, 1)])

    def test_a_file_is_created_once(self, store: Store) -> None:
        store.put("_versions/3.manifest", b"three", mode="create")
        for path in ("_versions/3.manifest", "_versions/1.manifest"):
            with pytest.raises(FileExistsError):
                store.put(path, b"other", mode="create")
        assert store.tail("_versions/3.manifest", 9)[1] == b"three"
        assert store.tail("_versions/1.manifest", 9)[1] == b"one"
        assert sorted(info.path for info in store.files("_versions")) == [f"_versions/{i}.manifest" for i in (1, 2, 3)]

    def test_one_of_many_concurrent_creates_succeeds(self, store: Store) -> None:
        start = threading.Barrier(8)

        def attempt(number: int) -> bool:
            start.wait()
            try:
                store.put("_versions/4.manifest", bytes([number]) * 100_000, mode="create")
            except FileExistsError:
                return False
            return True

        with ThreadPoolExecutor(8) as pool:
            won = list(pool.map(attempt, range(8)))
        assert sum(won) == 1
        assert store.tail("_versions/4.manifest", 200_000)[1] == bytes([won.index(True)]) * 100_000

    def test_a_file_is_written_piece_by_piece(self, store: Store) -> None:
        sink = store.create("data/new/b.lance")
        sink.write(b"abc")
        assert sink.tell() == 3
        sink.write(pa.py_buffer(CONTENT))
        sink.write(memoryview(np.arange(1000, dtype="<u8").tobytes()))
        sink.write(b"")
        assert sink.tell() == 3 + 2048 + 8000
        sink.close()
        sink.abort()
        size, content = store.tail("data/new/b.lance", 2**20)
        assert size == 10_051
        assert content == b"abc" + CONTENT + np.arange(1000, dtype="<u8").tobytes()

    def test_an_aborted_file_is_gone(self, store: Store) -> None:
        sink = store.create("data/c.lance")
        sink.write(b"abc" * 100_000)
        sink.abort()
        sink.abort()
        assert "data/c.lance" not in [info.path for info in store.files("data")]

    def test_files_have_a_time_or_none(self, store: Store) -> None:
        before = datetime.now(UTC) - timedelta(seconds=5)
        store.put("_new/x", b"", mode="overwrite")
        modified = store.modified("_new/x")
        assert modified is None or before < modified < datetime.now(UTC) + timedelta(seconds=5)
        with pytest.raises(FileNotFoundError):
            store.modified("_new/y")

    def test_deleting_needs_no_file(self, store: Store) -> None:
        for _ in range(2):
            store.delete("_versions/2.manifest")
        store.delete("nowhere/x")
        assert [info.path for info in store.files("_versions")] == ["_versions/1.manifest"]

    @pytest.mark.parametrize("path", ["", "/tmp/x", "../x", "data/../../x", "a\0b"])
    def test_nothing_is_written_outside_of_the_root(self, store: Store, path: str) -> None:
        with pytest.raises(CorruptFile):
            store.put(path, b"", mode="overwrite")
        with pytest.raises(CorruptFile):
            store.create(path)
        with pytest.raises(CorruptFile):
            store.delete(path)

    def test_a_pickled_store_reads_the_same(self, store: Store) -> None:
        again = pickle.loads(pickle.dumps(store))
        assert again.uri == store.uri
        assert again.tail("data/a.lance", 4) == store.tail("data/a.lance", 4)
