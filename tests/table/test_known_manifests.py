"""Manifests that were read before, and files that have taken the place of others."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

import pyarrow as pa
import pytest

import lance_sql
from lance_sql.errors import CorruptFile
from lance_sql.store import MemoryStore, open_store
from lance_sql.table import known_manifests, manifest
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
    read = manifest.read

    def noted(store: object, path: str, *args: object, **kwargs: object) -> Manifest:
        found.append(path)
        return read(store, path, *args, **kwargs)  # type: ignore[arg-type]  # passed on as they came

    monkeypatch.setattr(manifest, "read", noted)
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


def test_what_has_just_been_written_is_read_again(tmp_path: Path, reads: list[str]) -> None:
    lance_sql.write(pa.table({"x": [1]}), tmp_path / "t.lance")
    (file,) = list_versions(open_store(tmp_path / "t.lance"))
    os.utime(tmp_path / "t.lance" / file.path)
    reads.clear()
    lance_sql.open(tmp_path / "t.lance")
    lance_sql.open(tmp_path / "t.lance")
    assert len(reads) == 2


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
    time.sleep(0.01)
    file.write_bytes(content)
    assert lance_sql.open(path).count_rows() == 3


def test_where_files_have_no_identity_each_is_read(path: Path, reads: list[str]) -> None:
    (file,) = (path / "_versions").glob("*.manifest")
    store = MemoryStore({f"_versions/{file.name}": file.read_bytes()})
    assert known_manifests.read(store, f"_versions/{file.name}", "t").version == 1
    assert known_manifests.read(store, f"_versions/{file.name}", "t").version == 1
    assert len(reads) == 2


def test_memory_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reads: list[str]) -> None:
    monkeypatch.setattr(known_manifests, "BUDGET_BYTES", 50_000)
    monkeypatch.setattr(known_manifests, "_known", known_manifests._Known())
    for number in range(3):
        lance_sql.write(pa.table({"x": [number]}), tmp_path / f"{number}.lance")
        settle(tmp_path / f"{number}.lance")
    for _ in range(2):
        for number in range(3):
            lance_sql.open(tmp_path / f"{number}.lance")
    # there is room for two, and the third pushes out the one that is wanted next
    assert len(reads) == 6
    lance_sql.open(tmp_path / "2.lance")
    assert len(reads) == 6
