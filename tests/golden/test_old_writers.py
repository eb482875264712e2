"""Tables that releases 0.12 to 0.18 of pylance wrote, each with what that release read back; they never change.

`old_writers/<release>_<setting>/` holds `data.lance` and `expected.arrow`: 300 rows of the same columns in two files,
less those that a release could not write. Settings are environment variables of the release: `zstd`
LANCE_PAGE_COMPRESSION, `bitpacking` LANCE_USE_BITPACKING, `all_switches` both and LANCE_USE_FSST. `early_2_1` files
call themselves 2.1 and hold encodings of 2.0, with some that 2.0 never had.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import lance_sql
from tests.golden.compare import assert_same

TABLES = sorted(path.parent for path in Path(__file__).parent.glob("old_writers/*/expected.arrow"))
every_table = pytest.mark.parametrize("folder", TABLES, ids=lambda folder: folder.name)


def expected(folder: Path) -> pa.Table:
    with pa.memory_map(str(folder / "expected.arrow")) as file:
        return pa.ipc.open_file(file).read_all()


@every_table
def test_a_table_is_read_as_its_writer_read_it(folder: Path) -> None:
    rows = expected(folder)
    assert_same(lance_sql.open(folder / "data.lance").to_table(), rows, rows.column_names, folder.name)


@every_table
def test_some_of_its_rows_are_those_rows(folder: Path) -> None:
    rows = expected(folder)
    dataset = lance_sql.open(folder / "data.lance")
    ids = dataset.scan(["_rowid"]).to_table()["_rowid"].to_numpy()
    for share in (0.02, 0.5):
        some = np.flatnonzero(np.random.default_rng(1).random(len(ids)) < share)
        found = dataset.take(ids[some])
        assert_same(found, rows.take(pa.array(some)), rows.column_names, folder.name)


def test_the_tables_are_there() -> None:
    assert len(TABLES) == 9
