"""Versions that are opened again: cached metadata is used while no file has changed."""

from __future__ import annotations

import gc
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
import pytest

import lance_sql
from lance_sql.dataset import Dataset
from lance_sql.errors import CorruptFile, LanceError
from lance_sql.runtime import caches
from lance_sql.store import LocalStore, MemoryStore, Store, file_statuses
from lance_sql.table import table_folders
from lance_sql.table.recent_snapshots import Key, RecentSnapshots
from lance_sql.table.snapshot import RECENT

pytestmark = pytest.mark.skipif(os.name != "posix", reason="versions are opened anew on this system")


@pytest.fixture(autouse=True)
def exact_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """The file system's clock tells all changes apart, so that nobody has to wait until files are old."""
    monkeypatch.setattr(file_statuses, "_is_settled", lambda status: True)
    RECENT.clear()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Two files, deleted rows, and an index. Of shorter files nothing is cached."""
    path = tmp_path / "t.lance"
    rows = pa.table({"x": list(range(60_000)), "s": [f"text {number % 7}" for number in range(60_000)]})
    table = lance_sql.write(rows, path, max_rows_per_file=30_000)
    table.delete("x = 3")
    lance_sql.open(path).indices.create("x", "btree")
    return path


def read(table: Dataset) -> pa.Table:
    return table.scan(["x", "s", "_rowid"], "x >= 2 AND x < 36000").to_table()


def test_a_version_that_is_opened_again_is_open_already(path: Path) -> None:
    first = lance_sql.open(path)
    expected = read(first)
    opened = first.snapshot
    del first
    gc.collect()
    again = lance_sql.open(path)
    assert again.snapshot is opened
    assert read(again).equals(expected)
    assert lance_sql.open(str(path), version=again.version).snapshot is opened


def test_another_version_is_another_one(path: Path) -> None:
    old = lance_sql.open(path)
    read(old)
    lance_sql.open(path).delete("x = 5")
    new = lance_sql.open(path)
    assert new.snapshot is not old.snapshot
    assert (len(read(old)), len(read(new))) == (35_997, 35_996)
    assert lance_sql.open(path, version=old.version).snapshot is old.snapshot


def test_other_options_open_another_snapshot(path: Path, tmp_path: Path) -> None:
    ways: list[Callable[[], Dataset]] = [
        lambda: lance_sql.open(path),
        lambda: lance_sql.open(path, use_indices=False),
        lambda: lance_sql.open(path, learn_statistics=False),
        lambda: lance_sql.open(path, allow_bases="s3://archive/"),
    ]
    opened = [way().snapshot for way in ways]
    assert len({id(each) for each in opened}) == len(ways)
    assert [way().snapshot for way in ways] == opened
    # what is learned for others is written when nobody has the version any more
    learning = tmp_path / "statistics"
    assert (
        lance_sql.open(path, statistics_cache=learning).snapshot
        is not lance_sql.open(path, statistics_cache=learning).snapshot
    )


def test_a_relative_path_means_another_table_in_another_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for folder, number in (("a", 1), ("b", 2)):
        lance_sql.write(pa.table({"x": [number]}), tmp_path / folder / "t.lance")
    for folder, number in (("a", 1), ("b", 2), ("a", 1)):
        monkeypatch.chdir(tmp_path / folder)
        assert lance_sql.open("t.lance").to_table()["x"].to_pylist() == [number]


def files(path: Path) -> list[Path]:
    """Those of the newest version of the fixture that are read."""
    return [
        max(path.glob("_versions/*"), key=lambda file: lance_sql.open(path).snapshot.manifest_path.endswith(file.name)),
        *path.glob("data/*.lance"),
        *path.glob("_deletions/*"),
        *path.glob("_indices/*/*.lance"),
    ]


def is_used(path: Path) -> bool:
    return lance_sql.open(path).snapshot is lance_sql.open(path).snapshot


@pytest.mark.parametrize("number", range(6))
def test_a_file_that_changes_ends_it(path: Path, number: int) -> None:
    before = lance_sql.open(path)
    # of small files that the first scan reads at once, nothing is kept
    expected = [read(before) for _ in range(2)][-1]
    file = files(path)[number]
    content = file.read_bytes()
    # bytes in the middle, of which the file system tells nothing but the time
    file.write_bytes(content[: len(content) // 2] + b"\xff" * 16 + content[len(content) // 2 + 16 :])
    try:
        after = lance_sql.open(path)
    except LanceError:
        assert "_versions" in str(file)
    else:
        assert after.snapshot is not before.snapshot
    file.write_bytes(content)
    again = lance_sql.open(path)
    assert again.snapshot is not before.snapshot
    assert read(again).equals(expected)
    assert is_used(path)


def test_a_file_that_is_gone_is_missed(path: Path) -> None:
    table = lance_sql.open(path)
    expected = read(table)
    file = next(path.glob("data/*.lance"))
    file.rename(path / "elsewhere")
    with pytest.raises(CorruptFile, match="missing"):
        read(lance_sql.open(path))
    (path / "elsewhere").rename(file)
    assert read(lance_sql.open(path)).equals(expected)


def test_an_index_file_that_was_missing_is_looked_for_again(path: Path) -> None:
    (file,) = path.glob("_indices/*/page_lookup.lance")
    file.rename(path / "elsewhere")
    table = lance_sql.open(path)
    assert "not used" in table.scan(["x"], "x = 7").explain()
    (path / "elsewhere").rename(file)
    assert "not used" not in lance_sql.open(path).scan(["x"], "x = 7").explain()


def test_a_table_in_the_place_of_another(path: Path) -> None:
    assert len(read(lance_sql.open(path))) == 35_997
    shutil.rmtree(path)
    lance_sql.write(pa.table({"x": [2], "s": ["new"]}), path)
    assert read(lance_sql.open(path))["s"].to_pylist() == ["new"]


def test_a_folder_that_becomes_a_link_out_of_the_table_is_refused(path: Path, tmp_path: Path) -> None:
    table = lance_sql.open(path)
    assert table.count_rows() == 59_999
    (path / "data").rename(tmp_path / "elsewhere")
    (path / "data").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(CorruptFile, match="points outside"):
        lance_sql.open(path).to_table()


def test_files_that_have_just_been_written_are_not_trusted(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_statuses, "_is_settled", lambda status: False)
    first, second = lance_sql.open(path), lance_sql.open(path)
    assert first.snapshot is not second.snapshot
    monkeypatch.setattr(file_statuses, "_is_settled", lambda status: True)
    # what was read then is not trusted later
    assert lance_sql.open(path).snapshot is not second.snapshot
    assert is_used(path)


def test_a_table_with_files_at_another_place_is_opened_anew(path: Path, tmp_path: Path) -> None:
    lance_sql.open(path).branches.shallow_clone(tmp_path / "clone.lance")
    clone = lance_sql.open(tmp_path / "clone.lance")
    assert lance_sql.open(tmp_path / "clone.lance").snapshot is clone.snapshot
    assert len(read(clone)) == 35_997
    assert lance_sql.open(tmp_path / "clone.lance").snapshot is not clone.snapshot


def key(number: int) -> Key:
    return Key("a table", f"_versions/{number}.manifest")


class Opened:
    """What stands for a snapshot."""

    def __init__(self, num_bytes: int, stores: tuple[Store, ...] | None = None) -> None:
        self.num_bytes = num_bytes
        self.stores = stores

    @classmethod
    def below(cls, folder: Path, num_bytes: int = 1) -> Opened:
        return cls(num_bytes, (LocalStore(folder),))


class MadeError(Exception):
    """Another snapshot would be made."""

    def __init__(self, neighbor: Opened | None) -> None:
        self.neighbor = neighbor


def _make(neighbor: Opened | None) -> Opened:
    raise MadeError(neighbor)


def cached(recent: RecentSnapshots[Opened], key: Key) -> Opened | None:
    try:
        return recent.get_or_make(key, _make)
    except MadeError:
        return None


def neighbor(recent: RecentSnapshots[Opened], key: Key) -> Opened | None:
    with pytest.raises(MadeError) as made:
        recent.get_or_make(key, _make)
    return made.value.neighbor


def keep(recent: RecentSnapshots[Opened], key: Key, opened: Opened) -> None:
    assert recent.get_or_make(key, lambda _: opened) is opened


def test_as_many_are_kept_as_there_is_room_for(tmp_path: Path) -> None:
    recent = RecentSnapshots[Opened](most_snapshots=3, most_bytes=100)
    opened = [Opened.below(tmp_path) for _ in range(5)]
    for number in range(4):
        keep(recent, key(number), opened[number])
    assert [cached(recent, key(number)) for number in range(4)] == [None, *opened[1:4]]
    # the newest may be large
    opened[3].num_bytes = 1000
    assert cached(recent, key(3)) is opened[3]
    keep(recent, key(4), opened[4])
    assert [cached(recent, key(number)) for number in range(5)] == [None, None, None, None, opened[4]]
    assert recent.usage() == caches.Usage(1, None, 3, None)
    recent.clear()
    assert cached(recent, key(4)) is None


def test_stores_without_identities_have_no_recent_snapshots(tmp_path: Path) -> None:
    recent = RecentSnapshots[Opened]()
    for number, opened in enumerate([Opened(1), Opened(1, (LocalStore(tmp_path), MemoryStore({})))]):
        keep(recent, key(number), opened)
        assert cached(recent, key(number)) is None


def test_the_neighbor_is_the_last_one_of_the_same_place(tmp_path: Path) -> None:
    recent = RecentSnapshots[Opened]()
    opened = [Opened.below(tmp_path) for _ in range(3)]
    for number in range(2):
        keep(recent, key(number), opened[number])
    keep(recent, Key("another table", key(2).manifest_path), opened[2])
    assert neighbor(recent, key(2)) is opened[1]
    assert cached(recent, key(0)) is opened[0]
    assert neighbor(recent, key(2)) is opened[0]
    assert neighbor(recent, Key("a third table", "")) is None


def test_the_newest_version_is_shared_by_all_handles(path: Path) -> None:
    handles = [lance_sql.open(path) for _ in range(8)]
    lance_sql.write(pa.table({"x": [5], "s": ["new"]}), path, mode="append")
    with ThreadPoolExecutor(8) as threads:
        newest = list(threads.map(lambda handle: handle.latest().snapshot, handles))
    assert {id(each) for each in newest} == {id(lance_sql.open(path).snapshot)}
    assert handles[0].latest().snapshot is newest[0]
    assert len(read(handles[0].latest())) == len(read(handles[0])) + 1
    # a table that is written again has the same version, of another commit
    shutil.rmtree(path)
    for number in range(newest[0].version):
        lance_sql.write(pa.table({"x": [number], "s": [""]}), path, mode="append" if number else "create")
    assert handles[0].latest().snapshot is not newest[0]
    assert handles[0].latest().to_table()["x"].to_pylist() == list(range(newest[0].version))


def test_it_is_let_go_of_with_all_else(path: Path) -> None:
    opened = lance_sql.open(path).snapshot
    lance_sql.clear_caches()
    assert lance_sql.open(path).snapshot is not opened


_FORKED = """
import os, sys
import lance_sql
from lance_sql.store import file_statuses
from lance_sql.table.snapshot import RECENT

file_statuses._is_settled = lambda status: True
expected = lance_sql.open(sys.argv[1]).to_table()
assert RECENT.usage().entries == 1
child = os.fork()
if child == 0:
    is_right = RECENT.usage().entries == 0 and lance_sql.open(sys.argv[1]).to_table().equals(expected)
    os._exit(0 if is_right else 1)
assert os.waitpid(child, 0)[1] == 0
"""


def test_removed_files_leave_the_disk(path: Path) -> None:
    lance_sql.open(path).branches.create("b")
    lance_sql.open(path, branch="b").delete("x = 9")
    removals: list[Callable[[], object]] = [
        lambda: lance_sql.open(path).maintenance.cleanup(older_than="0d"),
        lambda: lance_sql.open(path).branches.delete("b"),
        lambda: table_folders.drop(str(path)),
    ]
    for remove in removals:
        lance_sql.open(path)
        assert RECENT.usage().entries
        remove()
        assert RECENT.usage().entries == 0


def test_a_forked_process_opens_its_own(path: Path) -> None:
    subprocess.run([sys.executable, "-c", _FORKED, str(path)], check=True, timeout=120)


def test_few_files_stay_mapped(tmp_path: Path) -> None:
    recent = RecentSnapshots[Opened](most_mapped=3)
    for name in ("a", "b"):
        (tmp_path / name).write_bytes(b"rows")
    stores = [LocalStore(tmp_path) for _ in range(4)]
    for number, store in enumerate(stores):
        for name in ("a", "b"):
            store.mapped(name)
        keep(recent, key(number), Opened(1, (store,)))
    # the newest, which is not counted, and one more
    assert [cached(recent, key(number)) is not None for number in range(4)] == [False, False, True, True]
