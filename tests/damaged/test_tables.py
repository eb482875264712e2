"""Random damage to real files: reading returns the rows or raises an error of this library, nothing else.

The format has no checksums, so damaged values are read as other values; what must hold is their number and form.
"""

from __future__ import annotations

import resource
import time
import zlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from lance_sql.errors import LanceError

from . import messages
from .columns import columns_of, table_of
from .tables import Files, damaged, data_file, in_memory, manifest_file, metadata_start, write

ROUNDS = 24
MAX_SECONDS = 2.0
MAX_GROWTH_KB = 500 * 1024

CASES = [(version, name) for version in ("2.1", "2.2") for name in columns_of(version)]

# Values are what they are: a damaged character or digit is none of a reader's business.
ABOUT_VALUES = ("UTF8", "UTF-8", "Decimal value")


@pytest.fixture(scope="module", autouse=True)
def bounded_memory() -> Iterator[None]:
    """The module takes a bounded amount of memory, however much the files claim."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    yield
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < MAX_GROWTH_KB


def rows_or_error(files: Files) -> int | None:
    """Reads everything in several ways; the number of rows, or None after an error of ours."""
    started = time.monotonic()
    try:
        table = in_memory(files)
        num_rows = 0
        for batch in table.scan().to_reader():
            num_rows += batch.num_rows
            assert_sound(batch)
            if num_rows > 10_000_000:
                break
        ids = table.scan(["_rowid"], limit=3).to_table()["_rowid"]
        assert table.take(ids).num_rows == len(ids)
        table.scan(["_rowaddr"], "_row_created_at_version < 5 AND _rowid > 1").to_table()
    except LanceError:
        return None
    finally:
        assert time.monotonic() - started < MAX_SECONDS
    return num_rows


def assert_sound(batch: pa.RecordBatch) -> None:
    try:
        batch.validate(full=True)
    except pa.ArrowInvalid as error:
        if not any(text in str(error) for text in ABOUT_VALUES):
            raise


@pytest.mark.parametrize(("file_version", "column"), CASES)
def test_damage_ends_in_rows_or_in_an_error(tmp_path: Path, file_version: str, column: str) -> None:
    table = table_of(column)
    files = write(tmp_path / "t", table, file_version, enable_stable_row_ids=True)
    rng = np.random.default_rng(zlib.crc32(f"{file_version} {column}".encode()))
    path, manifest = data_file(files), manifest_file(files)
    data = files[path]
    weights = np.ones(len(data))
    weights[metadata_start(data) :] += 4
    weights /= weights.sum()
    refused = 0
    for _ in range(ROUNDS // 3):
        for content in (damaged(rng, data, weights), messages.damage_columns(rng, data)):
            num_rows = rows_or_error({**files, path: content})
            assert num_rows in (None, table.num_rows)
            refused += num_rows is None
        content = messages.damage_manifest(rng, files[manifest])
        refused += rows_or_error({**files, manifest: content}) is None
    assert refused > 0
    assert rows_or_error(files) == table.num_rows


@pytest.mark.parametrize("file_version", ["2.1", "2.2"])
def test_a_data_file_cut_anywhere_is_an_error_that_names_it(tmp_path: Path, file_version: str) -> None:
    files = write(tmp_path / "t", pa.table({"a": [1, None, 3], "b": ["x", "y", None]}), file_version)
    path = data_file(files)
    for length in range(len(files[path])):
        with pytest.raises(LanceError) as caught:
            in_memory({**files, path: files[path][:length]}).to_table()
        assert path in str(caught.value)


def test_a_manifest_cut_anywhere_is_an_error_that_names_it(tmp_path: Path) -> None:
    files = write(tmp_path / "t", pa.table({"a": [1, 2]}), "2.2")
    path = manifest_file(files)
    for length in range(len(files[path])):
        with pytest.raises(LanceError) as caught:
            in_memory({**files, path: files[path][:length]}).to_table()
        assert path in str(caught.value)


def test_random_bytes_in_a_manifest_end_in_rows_or_in_an_error(tmp_path: Path) -> None:
    files = write(tmp_path / "t", pa.table({"a": range(100), "b": ["x"] * 100}), "2.2", max_rows_per_file=40)
    path = manifest_file(files)
    rng = np.random.default_rng(8)
    for _ in range(600):
        rows_or_error({**files, path: damaged(rng, files[path])})
