"""A few rows of long local fragments are read at once, without a stream: the same rows as of the whole table."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import lance_sql
from lance_sql import _kernels

ROWS = 40_000


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    numbers = np.arange(ROWS)
    optional = pa.array([None if number % 3 == 0 else number for number in range(ROWS)], pa.int32())
    words = pa.array([f"word {number % 50}" for number in range(ROWS)])
    columns = {
        "k": pa.array(numbers),
        "optional": optional,
        "word": words,
        "coded": words.dictionary_encode(),
        "flag": pa.array(numbers % 7 == 0),
        "inside": pa.StructArray.from_arrays([optional, words], ["a", "b"]),
        "list": pa.ListArray.from_arrays(np.arange(ROWS + 1, dtype=np.int32), optional),
        "pair": pa.FixedSizeListArray.from_arrays(pa.array(np.repeat(numbers, 2)), 2),
        "document": pa.array([f'{{"n": {number}}}' for number in range(ROWS)], pa.json_()),
    }
    made = tmp_path_factory.mktemp("few") / "t.lance"
    table = lance_sql.write(pa.table(columns), made, max_rows_per_file=ROWS // 2)
    table = table.indices.create("k", "btree")
    table.delete("k % 10 = 1")
    return made


@pytest.fixture(scope="module")
def every_row(path: Path) -> pa.Table:
    table = lance_sql.open(path)
    return table.scan([*table.schema.names, "inside.b", "document.n", "_rowid"]).to_table()


CONDITIONS: dict[str | None, Callable[[int], bool]] = {
    None: lambda key: True,
    "k IN (5, 20004, 39999, 11)": lambda key: key in (5, 20004, 39999, 11),
    "k BETWEEN 19990 AND 20010 AND optional IS NOT NULL": lambda key: 19990 <= key <= 20010 and key % 3 > 0,
    "k BETWEEN 100 AND 110 AND inside.b = 'word 5' AND coded = 'word 5'": lambda key: key == 105,
    "k < 30 AND json_get_int(document, 'n') = 7": lambda key: key == 7,
    "k < 0": lambda key: False,
}


@pytest.mark.parametrize("columns", [None, ["word", "_rowid", "k"], ["inside.b", "document.n"], []])
@pytest.mark.parametrize("filter", CONDITIONS)
@pytest.mark.parametrize("batch_size", [None, 4])
def test_they_are_those_of_the_whole_table(
    path: Path, every_row: pa.Table, columns: list[str] | None, filter: str | None, batch_size: int | None
) -> None:
    table = lance_sql.open(path)
    found = table.scan(columns, filter, limit=10, batch_size=batch_size).to_table()
    expected = [index for index, key in enumerate(every_row["k"].to_pylist()) if CONDITIONS[filter](key)][:10]
    chosen = every_row.take(pa.array(expected, pa.int64()))
    assert found.num_rows == len(expected)
    assert found.to_pylist() == chosen.select(table.schema.names if columns is None else columns).to_pylist()


def test_no_stream_is_started(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = lance_sql.open(path)
    monkeypatch.delattr(_kernels, "BatchStream")
    assert table.scan(filter="k = 4322").to_table().num_rows == 1
    assert table.head(10).num_rows == 10
    with pytest.raises(AttributeError):
        table.scan(filter="k > 4322").to_table()
