"""Parsed index files are cached for later tables while the files are unchanged."""

from __future__ import annotations

import shutil
from pathlib import Path

import pyarrow as pa
import pytest

import lance_sql
from lance_sql.errors import CorruptFile
from lance_sql.format.index_files import btree, index_file, zone_map
from lance_sql.format.index_files.index_file import IndexFile
from lance_sql.store.local import LocalStore


def _folder_of_index(path: Path, kind: str, values: list[int]) -> Path:
    """The folder with the files of an index over a table of these values."""
    lance_sql.write(pa.table({"a": values}), path, mode="overwrite").indices.create("a", kind)
    return next((path / "_indices").iterdir())


def test_a_zone_map_is_read_once_for_all_tables(tmp_path: Path) -> None:
    folder = _folder_of_index(tmp_path / "t.lance", "zonemap", [1, 2, 3])
    first, second = (zone_map.read(IndexFile(LocalStore(folder), zone_map.FILE)) for _ in range(2))
    assert first is second
    assert zone_map.read(IndexFile(LocalStore(folder), zone_map.FILE, uses_cache=False)) is not first


def test_a_file_that_took_the_place_of_another_is_read(tmp_path: Path) -> None:
    folder = _folder_of_index(tmp_path / "t.lance", "zonemap", [1, 2, 3])
    other = _folder_of_index(tmp_path / "u.lance", "zonemap", [7, 8, 9])
    store = LocalStore(folder)
    before = zone_map.read(IndexFile(store, zone_map.FILE))
    shutil.copy(other / zone_map.FILE, folder / "copy")
    (folder / "copy").replace(folder / zone_map.FILE)
    after = zone_map.read(IndexFile(store, zone_map.FILE))
    assert [zones.statistics.maxs.to_pylist() for zones in (before, after)] == [[3], [9]]


def test_a_btree_belongs_to_both_of_its_files(tmp_path: Path) -> None:
    folder = _folder_of_index(tmp_path / "t.lance", "btree", [1, 2, 3])
    longer = _folder_of_index(tmp_path / "u.lance", "btree", list(range(10_000)))

    def read() -> btree.BTree:
        store = LocalStore(folder)
        return btree.read(IndexFile(store, btree.LOOKUP), IndexFile(store, btree.DATA))

    first = read()
    assert read().lookup is first.lookup
    # of a file that has more pages than the lookup lists
    shutil.copy(longer / btree.DATA, folder / btree.DATA)
    with pytest.raises(CorruptFile, match="pages are listed"):
        read()


def test_large_index_parts_are_not_cached(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = _folder_of_index(tmp_path / "t.lance", "zonemap", [1, 2, 3])
    monkeypatch.setattr(index_file, "MOST_CACHED_BYTES", 10)
    first, second = (zone_map.read(IndexFile(LocalStore(folder), zone_map.FILE)) for _ in range(2))
    assert first is not second
    assert first.statistics == second.statistics
