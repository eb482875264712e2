"""A cache on disk: cached bytes equal those of the store, whatever happens to the folder."""

from __future__ import annotations

import hashlib
import multiprocessing
import os
import pickle
import random
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pytest

from lance_sql.errors import CorruptFile
from lance_sql.store import ByteRange, ObjectInfo, disk_cache
from lance_sql.store.cached import CachedStore, with_cache
from lance_sql.store.disk_cache import DiskCache
from lance_sql.store.memory import MemoryStore

BLOCK = 64


class FarStore(MemoryStore):
    """A store in memory that counts what it is asked for."""

    def __init__(self) -> None:
        super().__init__({}, "far://bucket/t.lance")
        self.concurrency = 4
        self.asked: list[tuple[str, Sequence[ByteRange]]] = []

    def get_ranges(self, path: str, ranges: Sequence[ByteRange]) -> list[pa.Buffer]:
        self.asked.append((path, ranges))
        return super().get_ranges(path, ranges)

    def tail(self, path: str, num_bytes: int, *, size: int | None = None) -> tuple[int, pa.Buffer]:
        self.asked.append((path, [ByteRange(-num_bytes, 0)]))
        return super().tail(path, num_bytes, size=size)


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disk_cache, "BLOCK_BYTES", BLOCK)


def content(number: int, size: int = 1000) -> bytes:
    return random.Random(number).randbytes(size)


@pytest.fixture
def far() -> FarStore:
    return _filled()


def _filled() -> FarStore:
    store = FarStore()
    for number in range(6):
        store.put(f"data/{number}.lance", content(number), mode="create")
    return store


def read(store: CachedStore, path: str, ranges: list[ByteRange], size: int = 1000) -> list[bytes]:
    store.tail(path, 100, size=size)
    return [buffer.to_pybytes() for buffer in store.get_ranges(path, ranges)]


def test_cached_bytes_are_not_requested_again(far: FarStore, tmp_path: Path) -> None:
    draw = random.Random(1)
    store = CachedStore(far, DiskCache(tmp_path))
    for _ in range(200):
        number = draw.randrange(6)
        starts = [draw.randrange(1000) for _ in range(draw.randrange(4))]
        ranges = [ByteRange(start, draw.randrange(start, 1001)) for start in starts]
        found = read(store, f"data/{number}.lance", ranges)
        assert found == [content(number)[start:end] for start, end in ranges]
    far.asked.clear()
    again = CachedStore(far, DiskCache(tmp_path))
    for number in range(6):
        read(again, f"data/{number}.lance", [ByteRange(0, 1000)])
    far.asked.clear()
    assert read(CachedStore(far, DiskCache(tmp_path)), "data/3.lance", [ByteRange(5, 999)]) == [content(3)[5:999]]
    assert far.asked == []


def test_manifests_are_asked_for_every_time(far: FarStore, tmp_path: Path) -> None:
    far.put("_versions/1.manifest", b"one", mode="create")
    store = CachedStore(far, DiskCache(tmp_path))
    assert store.tail("_versions/1.manifest", 10)[1].to_pybytes() == b"one"
    far.put("_versions/1.manifest", b"two", mode="overwrite")
    assert store.tail("_versions/1.manifest", 10)[1].to_pybytes() == b"two"
    assert list(DiskCache(tmp_path).files()) == []


@pytest.mark.parametrize("seed", range(30))
def test_damage_of_a_kept_file_is_noticed(far: FarStore, tmp_path: Path, seed: int) -> None:
    draw = random.Random(seed)
    read(CachedStore(far, DiskCache(tmp_path)), "data/1.lance", [ByteRange(0, 1000)])
    (kept,) = tmp_path.iterdir()
    damaged = bytearray(kept.read_bytes())
    for _ in range(draw.randrange(1, 4)):
        damaged[draw.randrange(len(damaged))] ^= draw.randrange(1, 256)
    kept.write_bytes(damaged[: draw.randrange(len(damaged))] if seed % 3 == 0 else damaged)
    store = CachedStore(far, DiskCache(tmp_path))
    assert read(store, "data/1.lance", [ByteRange(0, 1000)]) == [content(1)]
    # and is mended
    far.asked.clear()
    assert read(CachedStore(far, DiskCache(tmp_path)), "data/1.lance", [ByteRange(0, 1000)]) == [content(1)]


def test_a_record_without_its_block_is_no_block(far: FarStore, tmp_path: Path) -> None:
    """As after a crash of the machine, when the record came to the disk and the bytes did not."""
    read(CachedStore(far, DiskCache(tmp_path)), "data/1.lance", [ByteRange(0, 1000)])
    (kept,) = tmp_path.iterdir()
    with kept.open("r+b") as file:
        file.seek(4096)
        file.write(bytes(300))
    assert read(CachedStore(far, DiskCache(tmp_path)), "data/1.lance", [ByteRange(0, 1000)]) == [content(1)]


def test_a_file_of_another_size_is_another_file(far: FarStore, tmp_path: Path) -> None:
    read(CachedStore(far, DiskCache(tmp_path)), "data/1.lance", [ByteRange(0, 1000)])
    far.delete("data/1.lance")
    far.put("data/1.lance", content(77, 900), mode="create")
    store = CachedStore(far, DiskCache(tmp_path))
    assert read(store, "data/1.lance", [ByteRange(0, 900)], 900) == [content(77, 900)]


def test_a_file_that_is_written_anew_through_the_store_is_forgotten(far: FarStore, tmp_path: Path) -> None:
    store = CachedStore(far, DiskCache(tmp_path))
    read(store, "data/1.lance", [ByteRange(0, 1000)])
    store.delete("data/1.lance")
    store.put("data/1.lance", content(78), mode="create")
    assert read(store, "data/1.lance", [ByteRange(0, 1000)]) == [content(78)]


def test_the_folder_stays_within_its_bound(tmp_path: Path) -> None:
    far = FarStore()
    size = 100_000
    for number in range(20):
        far.put(f"data/{number}.lance", content(number, size), mode="create")
    cache = DiskCache(tmp_path, most_bytes=500_000)
    store = CachedStore(far, cache)
    for number in range(20):
        assert read(store, f"data/{number}.lance", [ByteRange(0, size)], size) == [content(number, size)]
        assert sum(each.stat().st_blocks * 512 for each in tmp_path.iterdir()) < 700_000
    # the last ones are there
    far.asked.clear()
    read(CachedStore(far, DiskCache(tmp_path, 500_000)), "data/19.lance", [ByteRange(0, size)], size)
    assert far.asked == []


def test_a_folder_that_is_cleared_meanwhile_or_cannot_be_written_costs_only_requests(
    far: FarStore, tmp_path: Path
) -> None:
    cache = DiskCache(tmp_path)
    store = CachedStore(far, cache)
    read(store, "data/1.lance", [ByteRange(0, 500)])
    held = store.get_ranges("data/1.lance", [ByteRange(0, 500)])[0]
    assert DiskCache(tmp_path).clear() == 1
    assert held.to_pybytes() == content(1)[:500]
    assert read(store, "data/1.lance", [ByteRange(0, 1000)]) == [content(1)]
    (tmp_path / "file").write_text("no folder")
    blocked = CachedStore(far, DiskCache(tmp_path / "file"))
    assert read(blocked, "data/2.lance", [ByteRange(0, 1000)]) == [content(2)]


def test_ranges_outside_of_the_file_are_errors(far: FarStore, tmp_path: Path) -> None:
    store = CachedStore(far, DiskCache(tmp_path))
    store.tail("data/1.lance", 10, size=1000)
    with pytest.raises(CorruptFile, match="1001"):
        store.get_ranges("data/1.lance", [ByteRange(0, 1001)])
    # a size that the table has wrong
    with pytest.raises(CorruptFile):
        read(store, "data/2.lance", [ByteRange(0, 2000)], 2000)


def _work(folder: Path, seed: int) -> None:
    disk_cache.BLOCK_BYTES = BLOCK  # type: ignore[misc]  # of a process of its own
    draw = random.Random(seed)
    store = CachedStore(_filled(), DiskCache(folder, 4000))
    for _ in range(150):
        number = draw.randrange(6)
        start = draw.randrange(1000)
        wanted = ByteRange(start, draw.randrange(start, 1001))
        assert read(store, f"data/{number}.lance", [wanted]) == [content(number)[wanted.start : wanted.end]]
        if draw.random() < 0.05:
            DiskCache(folder).clear()


def test_processes_share_a_folder(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=_work, args=(tmp_path, seed)) for seed in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(120)
    assert [worker.exitcode for worker in workers] == [0] * 4


def test_a_folder_asks_for_it(far: FarStore, tmp_path: Path) -> None:
    assert with_cache(far, None, 1 << 20) is far
    assert isinstance(with_cache(far, str(tmp_path), 1 << 20), CachedStore)
    near = MemoryStore({})
    assert with_cache(near, str(tmp_path), 1 << 20) is near
    assert os.fspath(tmp_path) in repr(pickle.loads(pickle.dumps(DiskCache(tmp_path).folder)))


class TaggedStore(FarStore):
    """A store whose listings tell the tag of a content.

    before_read: called once, before the next end of a file is read
    """

    before_read: Callable[[], object] | None = None

    def files(self, prefix: str) -> Iterator[ObjectInfo]:
        for info in super().files(prefix):
            size, whole = MemoryStore.tail(self, info.path, 10_000)
            yield ObjectInfo(info.path, size, hashlib.md5(whole.to_pybytes()).hexdigest())

    def tail(self, path: str, num_bytes: int, *, size: int | None = None) -> tuple[int, pa.Buffer]:
        if (call := self.before_read) is not None:
            self.before_read = None
            call()
        return super().tail(path, num_bytes, size=size)


MANIFEST = "_versions/1.manifest"


def _open(store: CachedStore) -> bytes:
    """The newest manifest, as a table that is opened reads it."""
    (info, *_) = store.files("_versions")
    _, found = store.tail(info.path, 4096, size=info.size)
    return bytes(memoryview(found))


def test_a_manifest_is_read_once_for_each_tag_that_is_listed(tmp_path: Path) -> None:
    far = TaggedStore()
    far.put(MANIFEST, content(1), mode="create")
    for _ in range(3):
        assert _open(CachedStore(far, DiskCache(tmp_path))) == content(1)
    assert len(far.asked) == 1
    # the table was replaced, in as many bytes
    far.put(MANIFEST, content(2), mode="overwrite")
    for _ in range(2):
        assert _open(CachedStore(far, DiskCache(tmp_path))) == content(2)
    assert len(far.asked) == 2


def test_a_manifest_that_was_not_listed_just_now_is_asked_for(tmp_path: Path) -> None:
    far = TaggedStore()
    far.put(MANIFEST, content(1), mode="create")
    store = CachedStore(far, DiskCache(tmp_path))
    _open(store)
    assert _open(store) == content(1)
    far.put(MANIFEST, content(2), mode="overwrite")
    assert store.tail(MANIFEST, 4096)[1].to_pybytes() == content(2)


def test_a_manifest_that_was_replaced_between_listing_and_reading_is_not_kept(tmp_path: Path) -> None:
    far = TaggedStore()
    far.put(MANIFEST, content(1), mode="create")
    far.before_read = lambda: far.put(MANIFEST, content(2), mode="overwrite")
    _open(CachedStore(far, DiskCache(tmp_path)))
    far.put(MANIFEST, content(1), mode="overwrite")
    assert _open(CachedStore(far, DiskCache(tmp_path))) == content(1)


def test_a_manifest_that_does_not_come_as_a_whole_is_read_as_before(tmp_path: Path) -> None:
    far = TaggedStore()
    far.put(MANIFEST, content(1, 9000), mode="create")
    for _ in range(2):
        assert _open(CachedStore(far, DiskCache(tmp_path))) == content(1, 9000)[-4096:]
    assert len(far.asked) == 2
