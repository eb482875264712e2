"""Random columns that are compressed, of both writers: streams have the rows that pylance reads, and Python by itself,
with the libraries of the system and without them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import lance
import numpy as np
import pyarrow as pa
import pytest

import lance_sql
from lance_sql import _kernels
from lance_sql.format.encodings import general
from lance_sql.format.encodings.tree import Compression
from lance_sql.format.file import open_pages
from tests.covering import covering
from tests.golden.compare import difference
from tests.reads.scan.stream.test_runs import read_by_python
from tests.reads.scan.test_nested_rows import FILE_VERSIONS, FileVersion, assert_streams, file_versions, random_table

SEEDS = range(4)
SLOW_SEEDS = range(len(SEEDS), 200)


@pytest.fixture(autouse=True)
def short_files_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(open_pages, "LONG_FILE_ROWS", 0)


@pytest.fixture
def no_libraries() -> Iterator[None]:
    _kernels.use_compression_libraries(False)
    yield
    _kernels.use_compression_libraries(True)


def compressed(field: pa.Field, scheme: str) -> pa.Field:
    """The field, all values inside of which ask for a compression."""
    type = field.type
    if pa.types.is_struct(type):
        type = pa.struct([compressed(child, scheme) for child in type])
    elif pa.types.is_list(type):
        type = pa.list_(compressed(type.value_field, scheme))
    elif pa.types.is_large_list(type):
        type = pa.large_list(compressed(type.value_field, scheme))
    else:
        return field.with_metadata({"lance-encoding:compression": scheme})
    return field.with_type(type)


def written(seed: int, file_version: FileVersion, scheme: str, writer: str, path: Path) -> pa.Table:
    """A table with texts, some of them long, beside random columns."""
    table = random_table(seed, file_version)
    random = np.random.default_rng([seed, 5])
    lengths = random.integers(0, 60, table.num_rows) * random.choice(
        [1, 1, 50, 1000], table.num_rows, p=[0.5, 0.45, 0.04, 0.01]
    )
    words = [None if length == 7 else "wörd" * int(length) for length in lengths.tolist()]
    table = table.append_column("text", pa.array(words)).append_column("wide", pa.array(random.random(table.num_rows)))
    schema = pa.schema([compressed(field, scheme) for field in table.schema])
    table = pa.Table.from_arrays(
        [column.cast(field.type) for column, field in zip(table, schema, strict=True)], schema=schema
    )
    most_rows = max(1, table.num_rows // int(random.integers(1, 4)))
    if writer == "pylance":
        lance.write_dataset(table, path, data_storage_version=file_version, max_rows_per_file=most_rows)
    else:
        lance_sql.write(table, path, file_version=file_version, max_rows_per_file=most_rows)
    if random.random() < 0.5:
        lance.dataset(path).delete("small = 7 OR (n >= 50 AND n < 300)")
    return table


def of_pylance(theirs: lance.LanceDataset, names: list[str], condition: str | None, otherwise: pa.Table) -> pa.Table:
    """What pylance reads, where it does."""
    try:
        return theirs.to_table(names, filter=condition)
    except OSError as error:
        # pylance 14, of some rows of structs that are NULL
        if "null_bit_buffer size too small" not in str(error):
            raise
        return otherwise


def check(seed: int, file_version: FileVersion, scheme: str, writer: str, folder: Path) -> None:
    random = np.random.default_rng([seed, 6])
    table = written(seed, file_version, scheme, writer, folder / "t.lance")
    ours, theirs = lance_sql.open(folder / "t.lance"), lance.dataset(folder / "t.lance")
    low, high = sorted(random.integers(0, table.num_rows + 1, 2).tolist())
    conditions = [None, "small < 3", f"n >= {low} AND n < {high}", "text IS NULL", "wide < 0.2 AND small < 60"]
    conditions += ["text > 'wördwörd' AND n % 3 = 1", "text = 'wördwörd' OR wide > 0.95"]
    for condition in conditions:
        names = [name for name in table.column_names if random.random() < 0.7] or table.column_names
        size = None if random.random() < 0.5 else int(random.integers(1, 1 + max(1, table.num_rows)))
        scan = ours.scan(names, condition, batch_size=size)
        assert_streams(scan, of_pylance(theirs, names, condition, read_by_python(scan)))
    ids = ours.scan(["_rowid"]).to_table()["_rowid"].to_numpy()
    places = np.flatnonzero(random.random(len(ids)) < 0.02)
    found, expected = ours.take(ids[places]), ours.to_table().take(pa.array(places))
    assert [difference(found[name], expected[name]) for name in expected.column_names if found.num_rows] == [
        None for _ in expected.column_names if found.num_rows
    ]


@covering(seed=SEEDS, scheme=["zstd", "lz4"], writer=["pylance", "lance_sql"], file_version=FILE_VERSIONS)
def test_compressed_columns_are_read_as_pylance_does(
    seed: int, file_version: FileVersion, scheme: str, writer: str, tmp_path: Path
) -> None:
    check(seed, file_version, scheme, writer, tmp_path)


@pytest.mark.slow
@file_versions
@pytest.mark.parametrize("scheme", ["zstd", "lz4"])
@pytest.mark.parametrize("writer", ["pylance", "lance_sql"])
@pytest.mark.parametrize("seed", SLOW_SEEDS)
def test_many_more_compressed_columns_are_read_as_pylance_does(
    seed: int, file_version: FileVersion, scheme: str, writer: str, tmp_path: Path
) -> None:
    check(seed, file_version, scheme, writer, tmp_path)


@pytest.mark.parametrize("scheme", ["zstd", "lz4"])
def test_without_libraries_python_decompresses(scheme: str, tmp_path: Path, no_libraries: None) -> None:
    assert general.library(Compression(scheme)).startswith("pyarrow")
    check(3, "2.2", scheme, "pylance", tmp_path)


@pytest.mark.parametrize("scheme", list(Compression))
def test_the_library_is_named(scheme: Compression) -> None:
    assert scheme.value in general.library(scheme) or "pyarrow" in general.library(scheme)
