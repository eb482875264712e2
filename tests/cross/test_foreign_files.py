"""Files of apache/arrow-testing, apache/parquet-testing and geoarrow/geoarrow-data, with every verb and engine."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.cross.foreign_files import check, columns_of, files

FOLDER = os.environ.get("LANCE_SQL_FOREIGN_FILES")
SMALL = 20_000
EVERY = 9
"""Of the small files, the default run takes each ninth."""

pytestmark = pytest.mark.skipif(
    FOLDER is None, reason="LANCE_SQL_FOREIGN_FILES names no folder of files, see docs/testing.md"
)


def _run(path: Path, folder: Path) -> None:
    for number, (name, column) in enumerate(columns_of(path)):
        below = folder / str(number)
        below.mkdir()
        try:
            check(below, column)
        except Exception as error:
            raise AssertionError(f"{path.name}, column {name!r}, {column.type}: {error}") from error


def _id(path: Path) -> str:
    return str(path.relative_to(FOLDER or "."))


SOME = files(Path(FOLDER), most_bytes=SMALL)[::EVERY] if FOLDER else []
ALL = files(Path(FOLDER), most_bytes=None) if FOLDER else []


@pytest.mark.parametrize("path", SOME, ids=_id)
def test_some_files(path: Path, tmp_path: Path) -> None:
    _run(path, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("path", ALL, ids=_id)
def test_all_files(path: Path, tmp_path: Path) -> None:
    _run(path, tmp_path)
