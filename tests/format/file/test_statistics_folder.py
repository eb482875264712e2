"""Learned statistics on disk: written ones are loaded, all others are rejected."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lance_sql._kernels import ValueOrder
from lance_sql.format.file import statistics_folder
from lance_sql.format.file.statistics_folder import Columns, StatisticsFolder, StoredStatistics
from lance_sql.format.file.zone_statistics import KeyKind

SIGNED = KeyKind(ValueOrder.SIGNED, 64)
TEXT = KeyKind(ValueOrder.UNSIGNED, 64, is_prefix=True)


def columns() -> Columns:
    numbers = np.array([[0, 8192, 1, 2, 8192, 0], [8192, 10_000, -1, 7, 5, 0]])
    return {(0, SIGNED): StoredStatistics(10_000, numbers), (7, TEXT): StoredStatistics(0, np.empty((0, 6), np.int64))}


def place(folder: StatisticsFolder) -> Path:
    (found,) = Path(folder.path).iterdir()
    return found


@pytest.fixture
def folder(tmp_path: Path) -> StatisticsFolder:
    made = StatisticsFolder(str(tmp_path / "kept"))
    made.save("a", columns())
    return made


def test_saved_statistics_are_loaded(folder: StatisticsFolder) -> None:
    found = folder.load("a")
    assert found.keys() == columns().keys()
    stored = found[0, SIGNED]
    assert stored.num_rows == 10_000
    bounds = stored.to_bounds(SIGNED)
    assert bounds is not None
    assert bounds.all_known
    assert np.array_equal(bounds.numbers(), columns()[0, SIGNED].numbers)
    assert folder.load("b") == {}


def test_a_file_of_another_identity_is_not_believed(folder: StatisticsFolder, tmp_path: Path) -> None:
    other = StatisticsFolder(str(tmp_path / "other"))
    other.save("b", columns())
    os.replace(place(folder), place(other))
    assert other.load("b") == {}


def test_files_appear_whole(folder: StatisticsFolder) -> None:
    with ThreadPoolExecutor(4) as pool:
        found = list(
            pool.map(lambda number: folder.load("a") if number % 2 else folder.save("a", columns()), range(200))
        )
    assert all(each is None or each.keys() == columns().keys() for each in found)
    assert len(list(Path(folder.path).iterdir())) == 1


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    folder = StatisticsFolder(str(tmp_path / "file"))
    with pytest.raises(OSError, match=r"statistics cannot be stored in .*file: File exists"):
        folder.save("a", columns())
    assert folder.load("a") == {}


@given(st.data())
def test_damage_is_no_statistics(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    folder = StatisticsFolder(str(tmp_path_factory.mktemp("damaged")))
    folder.save("a", columns())
    content = bytearray(place(folder).read_bytes())
    at = data.draw(st.integers(0, len(content) - 1))
    if data.draw(st.booleans()):
        content[at] ^= data.draw(st.integers(1, 255))
    else:
        del content[at:]
    place(folder).write_bytes(content)
    assert folder.load("a") == {}


@given(st.binary(max_size=200))
def test_whatever_has_a_checksum_is_read_within_its_bounds(rest: bytes) -> None:
    content = statistics_folder._MAGIC + statistics_folder._digest(rest) + rest
    try:
        found = statistics_folder._parse(content, b"a")
    except ValueError:
        return
    assert all(stored.num_rows <= 8192 * len(rest) for stored in found.values())


@given(
    kind=st.tuples(st.integers(0, 2**32 - 1), st.integers(0, 2**32 - 1), st.integers(0, 1)),
    num_rows=st.integers(0, 2**64 - 1) | st.integers(0, 8192 * 3),
    numbers=st.lists(st.integers(-(2**63), 2**63 - 1) | st.integers(0, 8192), max_size=18),
)
def test_numbers_that_make_no_sense_are_nothing(kind: tuple[int, int, int], num_rows: int, numbers: list[int]) -> None:
    rest = statistics_folder._LENGTHS.pack(1, 1) + b"a"
    rest += statistics_folder._COLUMN.pack(3, *kind, 8192, num_rows) + np.array(numbers, np.int64).tobytes()
    content = statistics_folder._MAGIC + statistics_folder._digest(rest) + rest
    try:
        found = statistics_folder._parse(content, b"a")
    except ValueError:
        return
    for (_, key_kind), stored in found.items():
        bounds = stored.to_bounds(key_kind)
        assert bounds is None or bounds.num_rows == num_rows
