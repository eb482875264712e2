"""The local store: what it opens, and what it keeps open."""

from __future__ import annotations

import errno
import gc
import os
import shutil
import signal
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import lance_sql
from lance_sql import _kernels
from lance_sql.errors import CorruptFile, TableNotFound, UnsupportedFeature
from lance_sql.store import ByteRange, LocalStore, touched
from lance_sql.store import local as local_module


def test_a_link_out_of_the_table_is_refused(tmp_path: Path) -> None:
    (tmp_path / "t.lance" / "data").mkdir(parents=True)
    (tmp_path / "secret").write_bytes(b"secret")
    (tmp_path / "t.lance" / "data" / "a.lance").symlink_to(tmp_path / "secret")
    (tmp_path / "t.lance" / "elsewhere").symlink_to(tmp_path)
    # a neighbour whose name begins with that of the table
    (tmp_path / "t.lance2").mkdir()
    (tmp_path / "t.lance2" / "secret").write_bytes(b"secret")
    (tmp_path / "t.lance" / "data" / "b.lance").symlink_to("../../t.lance2/secret")
    (tmp_path / "t.lance" / "data" / "below").symlink_to("../../t.lance2")
    store = LocalStore(tmp_path / "t.lance")
    for path in ("data/a.lance", "data/b.lance", "data/below/secret", "elsewhere/secret", "elsewhere/t.lance2/secret"):
        with pytest.raises(CorruptFile, match="points outside the table"):
            store.get_ranges(path, [ByteRange(0, 6)])


def test_links_inside_and_to_the_table_are_followed(tmp_path: Path) -> None:
    (tmp_path / "t.lance" / "data").mkdir(parents=True)
    (tmp_path / "t.lance" / "data" / "a.lance").write_bytes(b"abc")
    (tmp_path / "t.lance" / "data" / "b.lance").symlink_to("a.lance")
    (tmp_path / "link.lance").symlink_to(tmp_path / "t.lance")
    store = LocalStore(tmp_path / "link.lance")
    assert store.tail("data/b.lance", 3)[1].to_pybytes() == b"abc"


def test_a_name_that_is_too_long_is_nothing(tmp_path: Path) -> None:
    store = LocalStore(tmp_path / ("x" * 5000))
    assert store.names("_versions") == []
    assert list(store.files("_versions")) == []
    with pytest.raises(TableNotFound, match="no such folder"):
        lance_sql.open(tmp_path / ("x" * 5000))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes on this system")
def test_a_pipe_is_no_file_and_nothing_waits_for_it(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(IsADirectoryError):
        LocalStore(tmp_path).tail("pipe", 8)


def test_slices_outlive_their_mapping(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_module, "MAX_MAPPINGS", 2)
    store = LocalStore(tmp_path)
    buffers = []
    for i in range(6):
        (tmp_path / f"{i}.lance").write_bytes(bytes([i]) * 100)
        buffers += store.get_ranges(f"{i}.lance", [ByteRange(10, 20)])
    assert [buffer.to_pybytes() for buffer in buffers] == [bytes([i]) * 10 for i in range(6)]


def test_a_file_that_took_the_place_of_another_is_read(tmp_path: Path) -> None:
    """A table that was dropped and written again has manifests of the same names."""
    store, theirs = LocalStore(tmp_path), LocalStore(tmp_path)
    store.put("a.manifest", b"of before", mode="overwrite")
    assert store.get_ranges("a.manifest", [ByteRange(0, 9)])[0].to_pybytes() == b"of before"
    theirs.delete("a.manifest")
    theirs.put("a.manifest", b"of now, and longer", mode="create")
    assert store.get_ranges("a.manifest", [ByteRange(0, 18)])[0].to_pybytes() == b"of now, and longer"
    theirs.delete("a.manifest")
    with pytest.raises(FileNotFoundError):
        store.get_ranges("a.manifest", [ByteRange(0, 1)])


def test_nothing_is_written_behind_a_link_out_of_the_table(tmp_path: Path) -> None:
    (tmp_path / "t.lance").mkdir()
    (tmp_path / "t.lance" / "elsewhere").symlink_to(tmp_path)
    store = LocalStore(tmp_path / "t.lance")
    for path in ("elsewhere/x", "elsewhere/new/x"):
        with pytest.raises(CorruptFile, match="points outside the table"):
            store.put(path, b"", mode="overwrite")
        with pytest.raises(CorruptFile, match="points outside the table"):
            store.create(path)
    assert [entry.name for entry in tmp_path.iterdir()] == ["t.lance"]


def test_a_table_folder_is_made_with_those_above(tmp_path: Path) -> None:
    store = LocalStore(tmp_path / "a" / "b" / "t.lance")
    store.put("_versions/1.manifest", b"one", mode="create")
    assert (tmp_path / "a" / "b" / "t.lance" / "_versions" / "1.manifest").read_bytes() == b"one"


def test_no_temporary_file_stays_after_a_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise OSError(errno.EIO, "broken")

    for name in ("link", "replace", "fsync"):
        with monkeypatch.context() as patch:
            patch.setattr(os, name, fail)
            for mode in ("create", "overwrite"):
                if (name, mode) not in (("link", "overwrite"), ("replace", "create")):
                    with pytest.raises(OSError, match="broken"):
                        LocalStore(tmp_path).put("x", b"content", mode=mode)
    assert list(tmp_path.iterdir()) == []


def test_a_file_system_without_links_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.EPERM, "not permitted")

    monkeypatch.setattr(os, "link", refuse)
    with pytest.raises(UnsupportedFeature, match=r"no hard links.*pass manifest_store"):
        LocalStore(tmp_path).put("x", b"content", mode="create")
    assert list(tmp_path.iterdir()) == []
    # nothing of a table that could not be made, and nothing that is taken for one
    with pytest.raises(UnsupportedFeature):
        lance_sql.write({"id": [1]}, tmp_path / "t.lance")
    assert not [path for path in (tmp_path / "t.lance").rglob("*") if path.is_file()]
    with pytest.raises(TableNotFound) as raised:
        lance_sql.open(tmp_path / "tt.lance")
    assert "Did you mean" not in str(raised.value)


def folders_fail(monkeypatch: pytest.MonkeyPatch, number: int, below: str = "") -> None:
    """Flushing a folder ends in an error, as `strace` sees it on some file systems."""
    flush = os.fsync

    def fail(descriptor: int) -> None:
        path = os.readlink(f"/proc/self/fd/{descriptor}")
        if os.path.isdir(path) and path.endswith(below):
            raise OSError(number, os.strerror(number))
        flush(descriptor)

    monkeypatch.setattr(os, "fsync", fail)


@pytest.mark.parametrize("number", [errno.EINVAL, errno.ENOTSUP])
def test_folders_that_cannot_be_flushed_are_written_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    folders_fail(monkeypatch, number)
    assert lance_sql.write({"id": [1]}, tmp_path / "t.lance").delete("id = 1").version == 2


def test_a_commit_that_the_disk_has_not_confirmed_is_not_acknowledged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = lance_sql.write({"id": [1, 2]}, tmp_path / "t.lance")
    with monkeypatch.context() as patch:
        folders_fail(patch, errno.EIO, "_versions")
        with pytest.raises(OSError, match="has not confirmed that it survives a crash") as raised:
            lance_sql.write({"id": [3]}, made.uri, mode="append")
        assert raised.value.errno == errno.EIO
    # it is there all the same, and so are its files
    assert lance_sql.open(made.uri).scan().to_table()["id"].to_pylist() == [1, 2, 3]


@pytest.mark.parametrize("is_moved", [True, False])
def test_a_commit_whose_folder_is_moved_or_removed_right_after_it_is_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_moved: bool
) -> None:
    made = lance_sql.write({"id": [1, 2]}, tmp_path / "t.lance")
    link = os.link

    def link_then_go(source: str, target: str) -> None:
        link(source, target)
        if is_moved:
            Path(made.uri).rename(tmp_path / "moved.lance")
        else:
            shutil.rmtree(made.uri)

    monkeypatch.setattr(os, "link", link_then_go)
    deleted = made.delete("id = 1")
    assert deleted.version == 2
    assert not Path(made.uri).exists()
    if is_moved:
        assert lance_sql.open(tmp_path / "moved.lance").to_table()["id"].to_pylist() == [2]
        assert lance_sql.verify(tmp_path / "moved.lance", deep=True).is_healthy


@pytest.fixture
def given_back(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Mappings whose memory the store has given back."""
    found: list[object] = []

    class Noted(_kernels.FileMapping):
        def give_back(self) -> None:
            found.append(self)
            super().give_back()

    monkeypatch.setattr(_kernels, "FileMapping", Noted)
    monkeypatch.setattr(touched, "MAX_TOUCHED_BLOCKS", 32)
    return found


class _Memory:
    """What files take in the memory of the process, as the store is told."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.num_blocks: float | None = 100
        monkeypatch.setattr(touched, "resident_file_blocks", self._told)

    def _told(self) -> int | None:
        return None if self.num_blocks is None else int(self.num_blocks)


@pytest.fixture
def memory(monkeypatch: pytest.MonkeyPatch) -> _Memory:
    return _Memory(monkeypatch)


def _ask_for_blocks(folder: Path, memory: _Memory, share: float) -> None:
    """Asks for three files of 24 blocks one block after the other, of which such a share is looked at."""
    store = LocalStore(folder)
    for name in ("a", "b", "c"):
        (folder / name).write_bytes(bytes(24 * touched.BLOCK_BYTES))
        for i in range(24):
            store.get_ranges(name, [ByteRange(i * touched.BLOCK_BYTES, (i + 1) * touched.BLOCK_BYTES)])
            if memory.num_blocks is not None:
                memory.num_blocks += share


@pytest.mark.parametrize(("share", "times"), [(0.1, 0), (0.3, 0), (1, 1)])
def test_memory_of_files_is_given_back_when_much_of_them_was_looked_at(
    share: float, times: int, tmp_path: Path, given_back: list[object], memory: _Memory
) -> None:
    _ask_for_blocks(tmp_path, memory, share)
    assert (len(given_back) >= times) if times else not given_back


def test_whole_ranges_count_without_residency_information(
    tmp_path: Path, given_back: list[object], memory: _Memory
) -> None:
    memory.num_blocks = None
    _ask_for_blocks(tmp_path, memory, 0)
    assert len(given_back) == 2


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="the system does not tell what files take in memory")
def test_touched_pages_count_as_memory_of_files(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(bytes(96 * touched.BLOCK_BYTES))
    (content,) = LocalStore(tmp_path).get_ranges("a", [ByteRange(0, 96 * touched.BLOCK_BYTES)])
    before = touched.resident_file_blocks()
    assert not np.frombuffer(content, np.uint8).any()
    after = touched.resident_file_blocks()
    assert before is not None
    assert after is not None
    assert 48 <= after - before <= 192


def test_the_bound_goes_back_when_files_that_it_was_raised_for_go(
    tmp_path: Path, given_back: list[object], memory: _Memory
) -> None:
    """A few pages of many files raise the bound: another file, read whole, must not profit from them."""
    block = touched.BLOCK_BYTES
    store = LocalStore(tmp_path)
    names = [f"sparse_{i}" for i in range(8)]
    for name in names:
        (tmp_path / name).write_bytes(bytes(24 * block))
    (tmp_path / "dense").write_bytes(bytes(48 * block))
    for name in names:
        store.get_ranges(name, [ByteRange(0, 24 * block)])
    assert not given_back
    for name in names[1:]:
        store.delete(name)
    for i in range(48):
        store.get_ranges("dense", [ByteRange(i * block, (i + 1) * block)])
        assert memory.num_blocks is not None
        memory.num_blocks += 1
    assert given_back


def _read_all(store: LocalStore, num_blocks: int, times: int) -> None:
    """Reads the file from its begin to its end, block by block, so many times."""
    block = touched.BLOCK_BYTES
    for _ in range(times):
        for i in range(num_blocks):
            store.get_ranges("a", [ByteRange(i * block, (i + 1) * block)])


@pytest.mark.parametrize(("share", "is_kept"), [(1000, True), (20, False), (0, False)])
def test_repeatedly_read_blocks_stay_within_a_share_of_memory(
    share: int,
    is_kept: bool,
    tmp_path: Path,
    given_back: list[object],
    memory: _Memory,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    memory.num_blocks = None
    monkeypatch.setattr(touched, "share_of_memory", lambda: share)
    (tmp_path / "a").write_bytes(bytes(80 * touched.BLOCK_BYTES))
    store = LocalStore(tmp_path)
    _read_all(store, 80, 1)
    assert len(given_back) == 2
    _read_all(store, 80, 6)
    assert len(given_back) == 2 if is_kept else len(given_back) >= 8


def test_concurrently_requested_blocks_stay_resident(
    tmp_path: Path, given_back: list[object], memory: _Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory.num_blocks = None
    # stores of other tests may hold all of the process's share
    monkeypatch.setattr(touched, "share_of_memory", lambda: 1000)
    (tmp_path / "a").write_bytes(bytes(80 * touched.BLOCK_BYTES))
    store = LocalStore(tmp_path)
    for _ in range(4):
        store.get_ranges("a", [ByteRange(0, 80 * touched.BLOCK_BYTES)])
    before = len(given_back)
    for _ in range(4):
        store.get_ranges("a", [ByteRange(0, 80 * touched.BLOCK_BYTES)])
    assert len(given_back) == before


def test_stores_share_the_memory_and_give_it_back(
    tmp_path: Path, given_back: list[object], memory: _Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory.num_blocks = None
    gc.collect()
    taken = _kernels.ProcessShare.total()
    monkeypatch.setattr(touched, "share_of_memory", lambda: taken + 100)
    (tmp_path / "a").write_bytes(bytes(80 * touched.BLOCK_BYTES))
    first, second = LocalStore(tmp_path), LocalStore(tmp_path)
    _read_all(first, 80, 4)
    of_first = _kernels.ProcessShare.total() - taken
    assert 48 <= of_first <= 80
    _read_all(second, 80, 4)
    assert _kernels.ProcessShare.total() == taken + 100
    before = len(given_back)
    _read_all(first, 80, 4)
    assert len(given_back) == before
    _read_all(second, 80, 4)
    assert len(given_back) > before
    del first
    gc.collect()
    assert _kernels.ProcessShare.total() == taken + 100 - of_first
    _read_all(second, 80, 4)
    before = len(given_back)
    _read_all(second, 80, 4)
    assert len(given_back) == before


def test_a_file_in_the_place_of_another_begins_anew(tmp_path: Path, given_back: list[object], memory: _Memory) -> None:
    memory.num_blocks = None
    store = LocalStore(tmp_path)
    (tmp_path / "a").write_bytes(bytes(80 * touched.BLOCK_BYTES))
    _read_all(store, 80, 1)
    taken = _kernels.ProcessShare.total()
    (tmp_path / "b").write_bytes(bytes(80 * touched.BLOCK_BYTES))
    os.replace(tmp_path / "b", tmp_path / "a")
    _read_all(store, 80, 1)
    assert _kernels.ProcessShare.total() == taken


def test_blocks_read_once_do_not_stay_resident(tmp_path: Path, given_back: list[object], memory: _Memory) -> None:
    """Neighbouring batches share the blocks between them, which is no return."""
    memory.num_blocks = None
    block = touched.BLOCK_BYTES
    store = LocalStore(tmp_path)
    (tmp_path / "a").write_bytes(bytes(320 * block))
    for start in range(0, 320 * block - block, 3 * block // 2):
        store.get_ranges("a", [ByteRange(start, start + block)])
    assert len(given_back) >= 7


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have names of Unicode")
def test_folders_with_names_of_any_bytes(tmp_path: Path) -> None:
    path = os.path.join(os.fsdecode(tmp_path), os.fsdecode(b"caf\xe9.lance"))
    made = lance_sql.write(pa.table({"id": range(50_000), "s": ["a"] * 50_000}), path)
    made = lance_sql.write(pa.table({"id": [1, 2], "s": ["b", "c"]}), path, mode="append")
    made = lance_sql.write(pa.table({"id": [3], "s": ["d"]}), path, mode="append")
    again = lance_sql.open(path)
    assert again.take([0, 20_000, 49_999])["id"].to_pylist() == [0, 20_000, 49_999]
    assert again.to_table().equals(made.to_table())
    assert again.count_rows() == 50_003


def test_a_scan_at_its_end_gives_back_what_is_too_much_of_all_stores(
    tmp_path: Path, given_back: list[object], memory: _Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local_module, "_stores", {})
    stores = []
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a").write_bytes(bytes(24 * touched.BLOCK_BYTES))
        stores.append(LocalStore(tmp_path / name))
        stores[-1].get_ranges("a", [ByteRange(0, 24 * touched.BLOCK_BYTES)])
    memory.num_blocks = 100 + 32
    assert local_module.may_take_too_much()
    local_module.release_memory()
    assert not given_back
    memory.num_blocks += 1
    local_module.release_memory()
    assert len(given_back) == 2


def test_the_system_is_asked_only_where_files_can_take_too_much(
    tmp_path: Path, given_back: list[object], memory: _Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local_module, "_stores", {})
    block = touched.BLOCK_BYTES
    (tmp_path / "a").write_bytes(bytes(64 * block))
    store = LocalStore(tmp_path)
    store.get_ranges("a", [ByteRange(0, 32 * block)])
    assert not local_module.may_take_too_much()
    store.get_ranges("a", [ByteRange(32 * block, 33 * block)])
    assert local_module.may_take_too_much()
    for _ in range(2):
        # what was given back may be looked at later, and is counted no longer
        memory.num_blocks = 200
        store.get_ranges("a", [ByteRange(0, 64 * block)])
    assert given_back
    store.get_ranges("a", [ByteRange(0, block)])
    assert local_module.may_take_too_much()
    local_module.release_memory()
    assert not local_module.may_take_too_much()


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="the system does not tell what files take in memory")
def test_files_that_were_looked_at_leave_the_memory_of_the_process(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(bytes(400 * touched.BLOCK_BYTES))
    before = touched.resident_file_blocks()
    store = LocalStore(tmp_path)
    (content,) = store.get_ranges("a", [ByteRange(0, 400 * touched.BLOCK_BYTES)])
    assert not np.frombuffer(content, np.uint8).any()
    local_module.release_memory()
    after = touched.resident_file_blocks()
    assert before is not None
    assert after is not None
    assert after - before <= 64
    # the bytes are those of the file, whoever still has them
    assert not np.frombuffer(content, np.uint8).any()


@pytest.mark.filterwarnings("ignore:.*fork.*")
@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system does not fork")
def test_a_forked_process_waits_for_no_thread_of_its_parent(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(bytes(10))
    store = LocalStore(tmp_path)
    # as a thread does that maps a file while another one forks
    with store._lock:
        child = os.fork()
        if child == 0:
            signal.alarm(10)
            local_module.release_memory()
            store.release()
            os._exit(0 if len(store.mapped("a").content) == 10 else 1)
    assert os.waitpid(child, 0)[1] == 0
