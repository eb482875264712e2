"""Cached metadata of files, and replaced files."""

from __future__ import annotations

import os
import shutil
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pytest

import lance_sql
from lance_sql.errors import CorruptFile, VersionNotFound
from lance_sql.store import MemoryStore, Store, open_store
from lance_sql.table import deletions, manifest, transactions
from lance_sql.table.fragment import DeletionFileType
from lance_sql.table.known_files import KnownFiles
from lance_sql.table.manifest import Manifest
from lance_sql.table.versions import list_versions


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A table whose manifest was written some time ago."""
    path = tmp_path / "t.lance"
    lance_sql.write(pa.table({"x": [1, 2, 3]}), path)
    settle(path)
    return path


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The paths of manifests that are read."""
    found: list[str] = []
    read = manifest._read

    def noted(store: Store, path: str, table: str, size: int | None) -> Manifest:
        found.append(path)
        return read(store, path, table, size)

    monkeypatch.setattr(manifest, "_read", noted)
    return found


def settle(path: Path) -> None:
    (file,) = (path / "_versions").glob("*.manifest")
    status = file.stat()
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns - 10**9))


def test_a_manifest_is_read_once(path: Path, reads: list[str]) -> None:
    first, second = lance_sql.open(path), lance_sql.open(path)
    assert first.snapshot.manifest is second.snapshot.manifest
    assert len(reads) == 1
    assert second.to_table() == first.to_table()


def test_recently_written_files_are_read_again(tmp_path: Path, reads: list[str]) -> None:
    lance_sql.write(pa.table({"x": [1]}), tmp_path / "t.lance")
    (file,) = list_versions(open_store(tmp_path / "t.lance"))
    # as if it were written while it is read, however long that takes
    later = time.time() + 60
    os.utime(tmp_path / "t.lance" / file.path, (later, later))
    reads.clear()
    lance_sql.open(tmp_path / "t.lance")
    lance_sql.open(tmp_path / "t.lance")
    assert len(reads) == 2


@pytest.mark.parametrize("seconds_ago", [1, 3])
def test_files_of_a_clock_that_ticks_slowly_are_read_again_for_longer(
    path: Path, reads: list[str], seconds_ago: int
) -> None:
    (file,) = (path / "_versions").glob("*.manifest")
    whole_second = int(time.time()) + 1 - seconds_ago
    os.utime(file, (whole_second, whole_second))
    lance_sql.open(path)
    lance_sql.open(path)
    assert len(reads) == (2 if seconds_ago == 1 else 1)


def test_a_table_that_took_the_place_of_another_has_its_own_rows(path: Path, tmp_path: Path) -> None:
    assert lance_sql.open(path).to_table()["x"].to_pylist() == [1, 2, 3]
    shutil.rmtree(path)
    lance_sql.write(pa.table({"x": [7]}), path)
    settle(path)
    assert lance_sql.open(path).to_table()["x"].to_pylist() == [7]
    shutil.copytree(path, tmp_path / "copy")
    assert lance_sql.open(tmp_path / "copy").to_table()["x"].to_pylist() == [7]


def test_damage_is_seen_after_the_manifest_was_read(path: Path) -> None:
    lance_sql.open(path)
    (file,) = (path / "_versions").glob("*.manifest")
    content = file.read_bytes()
    file.write_bytes(content[:-4] + b"XXXX")
    with pytest.raises(CorruptFile):
        lance_sql.open(path)
    file.unlink()
    file.write_bytes(content)
    assert lance_sql.open(path).count_rows() == 3


def test_files_without_an_identity_are_read_again(path: Path, reads: list[str]) -> None:
    (file,) = (path / "_versions").glob("*.manifest")
    store = MemoryStore({f"_versions/{file.name}": file.read_bytes()})
    assert manifest.read(store, f"_versions/{file.name}", "t").version == 1
    assert manifest.read(store, f"_versions/{file.name}", "t").version == 1
    assert len(reads) == 2


def test_memory_is_bounded(path: Path) -> None:
    known: KnownFiles[bytes] = KnownFiles("test", 100, len)
    store = open_store(path)
    read: list[str] = []

    def get(name: str, num_bytes: int) -> None:
        def content() -> bytes:
            read.append(name)
            return bytes(num_bytes)

        known.get(store, name, content)

    for name in "abc":
        (path / name).write_bytes(b"")
        os.utime(path / name, (0, 0))
    for _ in range(2):
        for name in "abc":
            get(name, 40)
    # there is room for two, and the third pushes out the one that is wanted next
    assert read == list("abcabc")
    get("c", 40)
    assert read == list("abcabc")
    # what would push out all others is not kept
    get("a", 60)
    get("a", 60)
    assert read == list("abcabcaa")


def test_deletions_and_transactions_are_read_once(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lance_sql.open(path).delete("x = 2")
    for file in [*(path / "_versions").iterdir(), *(path / "_deletions").iterdir()]:
        os.utime(file, (0, 0))
    first = lance_sql.open(path)
    rows, did = first.to_table(), first.snapshot.transaction()
    for module in (deletions, transactions):
        monkeypatch.setattr(module, "_read", None)
    second = lance_sql.open(path)
    assert second.to_table() == rows
    assert second.snapshot.transaction() is did
    assert did is not None
    assert did.operation == "delete"


def test_known_deletions_are_checked_against_each_fragment(path: Path) -> None:
    lance_sql.open(path).delete("x = 3")
    (file,) = (path / "_deletions").iterdir()
    os.utime(file, (0, 0))
    store, name = open_store(path), f"_deletions/{file.name}"
    assert deletions.read(store, name, DeletionFileType.ARROW, 3).tolist() == [2]
    assert deletions.read(store, name, DeletionFileType.ARROW, 3).tolist() == [2]
    with pytest.raises(CorruptFile, match="row 2 is deleted in a fragment of 2 rows"):
        deletions.read(store, name, DeletionFileType.ARROW, 2)


def test_an_old_handle_of_a_table_that_was_replaced_leaves_nothing_wrong_behind(tmp_path: Path) -> None:
    path = tmp_path / "t.lance"
    lance_sql.write(pa.table({"x": [1, 2]}), path)
    old = lance_sql.write(pa.table({"x": [3]}), path, mode="append").snapshot
    assert old.manifest.transaction_section is not None
    shutil.rmtree(path)
    lance_sql.write(pa.table({"x": list(range(5000))}), path)
    lance_sql.open(path).indices.create("x", kind="zonemap")
    for file in (path / "_versions").glob("*.manifest"):
        os.utime(file, (0, 0))
    new = lance_sql.open(path, version=2).snapshot
    assert new.manifest.transaction_section != old.manifest.transaction_section
    with suppress(CorruptFile, VersionNotFound):
        old.transaction()
    did = new.transaction()
    assert did is not None
    assert did.operation == "create_index"


def test_a_file_that_is_removed_or_replaced_while_it_is_read_is_not_kept(path: Path) -> None:
    known: KnownFiles[bytes] = KnownFiles("test", 100, len)
    store = open_store(path)
    file = path / "a"

    def written(content: bytes) -> bytes:
        file.write_bytes(content)
        os.utime(file, (0, 0))
        return content

    def read_and_removed() -> bytes:
        content = file.read_bytes()
        file.unlink()
        return content

    def read_and_replaced() -> bytes:
        content = file.read_bytes()
        file.unlink()
        written(b"other")
        return content

    written(b"first")
    assert known.get(store, "a", read_and_removed) == b"first"
    written(b"second")
    assert known.get(store, "a", read_and_replaced) == b"second"
    assert known.get(store, "a", file.read_bytes) == b"other"
    assert known.get(store, "a", lambda: b"never read") == b"other"


def test_threads_and_forked_processes_share_what_is_known(path: Path) -> None:
    known: KnownFiles[bytes] = KnownFiles("test", 1000, len)
    store = open_store(path)
    for number in range(20):
        (path / str(number)).write_bytes(bytes([number]))
        os.utime(path / str(number), (0, 0))

    def get(number: int) -> bytes:
        name = str(number % 20)
        return known.get(store, name, (path / name).read_bytes)

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(get, range(2000))) == [bytes([number % 20]) for number in range(2000)]
    # a child begins anew, and with a lock that nobody holds
    with known._values._lock:
        known._values.after_fork()
    assert get(3) == bytes([3])
