"""Random nested columns written by pylance: whole, in small batches, and a few rows at a time, equal to pylance."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, TypeAlias

import lance
import numpy as np
import pyarrow as pa
import pytest

import lance_sql
from tests.golden.compare import difference
from tests.strategies import RandomArrow

NUM_COLUMNS = 3
MAX_DEPTH = 5
FileVersion: TypeAlias = Literal["0.1", "2.0", "2.1", "2.2"]
FILE_VERSIONS: tuple[FileVersion, ...] = ("0.1", "2.0", "2.1", "2.2")
SEEDS = range(10)
SLOW_SEEDS = range(len(SEEDS), 300)

file_versions = pytest.mark.parametrize("file_version", FILE_VERSIONS)


def random_table(seed: int, file_version: FileVersion) -> pa.Table:
    """A column `n` that counts the rows, and nested columns of up to five levels, most of a few hundred rows."""
    random = np.random.default_rng([seed, 1])
    num_rows = int(random.choice([1, 40, 700, 3000, 9000], p=[0.05, 0.2, 0.4, 0.25, 0.1]))
    arrow = RandomArrow(seed, file_version=file_version)
    columns = {"n": pa.array(np.arange(num_rows))}
    for index in range(NUM_COLUMNS):
        depth = int(random.integers(1, MAX_DEPTH + 1))
        columns[f"c{index}"] = arrow.array(arrow.type(depth), num_rows)
    return pa.table(columns)


def assert_same(found: pa.Table, expected: pa.Table) -> None:
    assert found.column_names == expected.column_names
    assert found.num_rows == expected.num_rows
    for name in expected.column_names:
        assert difference(found[name], expected[name]) is None, f"{name}: {expected.schema.field(name).type}"


def check(seed: int, file_version: FileVersion, folder: Path) -> None:
    random = np.random.default_rng([seed, 2])
    path = folder / "nested.lance"
    written = lance.write_dataset(random_table(seed, file_version), path, data_storage_version=file_version)
    expected = written.to_table()
    dataset = lance_sql.open(path)
    assert_same(dataset.scan().to_table(), expected)

    batch_size = int(random.integers(1, 1 + max(1, expected.num_rows // 3)))
    reader = dataset.scan(batch_size=batch_size).to_reader()
    batches = list(reader)
    assert max(batch.num_rows for batch in batches) <= batch_size
    assert_same(pa.Table.from_batches(batches, reader.schema), expected)

    for share in (0.003, 0.3):
        rows = np.flatnonzero(random.random(expected.num_rows) < share)
        some = expected.take(pa.array(rows))
        condition = f"n IN ({', '.join(map(str, rows)) or 'NULL'})"
        assert_same(dataset.scan(filter=condition).to_table(), some)
        assert_same(dataset.take(rows), some)


@file_versions
@pytest.mark.parametrize("seed", SEEDS)
def test_nested_columns_are_read_as_pylance_does(seed: int, file_version: FileVersion, tmp_path: Path) -> None:
    check(seed, file_version, tmp_path)


@pytest.mark.slow
@file_versions
@pytest.mark.parametrize("seed", SLOW_SEEDS)
def test_many_nested_columns_are_read_as_pylance_does(seed: int, file_version: FileVersion, tmp_path: Path) -> None:
    check(seed, file_version, tmp_path)
