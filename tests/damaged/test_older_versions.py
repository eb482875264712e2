"""Random damage to data files of version 0.1 and 2.0, as in `test_tables`."""

from __future__ import annotations

import contextlib
import time
import zlib
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from lance_sql.errors import InvalidArgument, LanceError

from . import messages
from .columns import COLUMNS, table_of
from .tables import damaged, data_file, in_memory, metadata_start, write
from .test_tables import assert_sound, bounded_memory

__all__ = ["bounded_memory"]

ROUNDS = 12
MAX_SECONDS = 2.0
NEEDS_NULL_STRUCTS = ("structs of lists", "few structs")
CASES = [
    (version, name)
    for version in ("0.1", "2.0")
    for name in COLUMNS
    if version == "0.1" or name not in NEEDS_NULL_STRUCTS
]
# statistics are looked at only for filters that fit the type
FILTERS = ("c < 5", "c = 'x'", "c >= 'some'", "c IS NULL")


def rows_or_error(files: dict[str, bytes]) -> int | None:
    """Reads everything in several ways; the number of rows, or None after an error of ours."""
    started = time.process_time()
    try:
        table = in_memory(files)
        for condition in FILTERS:
            with contextlib.suppress(InvalidArgument):
                table.scan(filter=condition).to_table()
        num_rows = 0
        for batch in table.scan().to_reader():
            num_rows += batch.num_rows
            assert_sound(batch)
        assert table.take([0, num_rows - 1]).num_rows == 2
    except LanceError:
        return None
    finally:
        assert time.process_time() - started < MAX_SECONDS
    return num_rows


@pytest.mark.parametrize(("file_version", "column"), CASES)
def test_damage_ends_in_rows_or_in_an_error(tmp_path: Path, file_version: str, column: str) -> None:
    table = table_of(column)
    options = {"max_rows_per_group": 100} if file_version == "0.1" else {}
    files = write(tmp_path / "t", table, file_version, **options)
    path = data_file(files)
    data = files[path]
    rng = np.random.default_rng(zlib.crc32(f"{file_version} {column}".encode()))
    weights = np.ones(len(data))
    start = max(len(data) - 600, 0) if file_version == "0.1" else metadata_start(data)
    weights[start:] += 4 * len(data) / (len(data) - start)
    weights /= weights.sum()
    refused = 0
    for number in range(ROUNDS):
        if file_version != "0.1" and number % 2:
            content = messages.damage_columns(rng, data)
        else:
            content = damaged(rng, data, weights)
        num_rows = rows_or_error({**files, path: content})
        assert num_rows in (None, table.num_rows)
        refused += num_rows is None
    assert refused > 0
    assert rows_or_error(files) == table.num_rows


@pytest.mark.parametrize("file_version", ["0.1", "2.0"])
def test_a_data_file_cut_anywhere_is_an_error_that_names_it(tmp_path: Path, file_version: str) -> None:
    files = write(tmp_path / "t", pa.table({"a": [1, None, 3], "b": ["x", "y", None]}), file_version)
    path = data_file(files)
    for length in range(len(files[path])):
        with pytest.raises(LanceError) as caught:
            in_memory({**files, path: files[path][:length]}).to_table()
        assert path in str(caught.value)
