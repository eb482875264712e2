"""Files that are read together have the values of files that are read one by one."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from contextlib import suppress
from decimal import Decimal
from pathlib import Path
from typing import Literal

import lance
import numpy as np
import pyarrow as pa
import pytest

import lance_sql
from lance_sql.dataset import Dataset
from lance_sql.errors import LanceError
from lance_sql.format.schema import Field
from lance_sql.table import small_fragments
from lance_sql.table.listed_columns import FieldsToRead
from lance_sql.table.open_fragment import OpenFragment
from lance_sql.values import row_ranges

NUM_ROWS = 40
Version = Literal["2.1", "2.2"]
VERSIONS: tuple[Version, ...] = ("2.1", "2.2")


def values(seed: int, type: pa.DataType) -> pa.Array:
    random = np.random.default_rng(seed)
    numbers = random.integers(0, 1000, NUM_ROWS).tolist()
    missing = (random.random(NUM_ROWS) < 0.3) if seed % 3 else np.zeros(NUM_ROWS, bool)
    made: list[object]
    if pa.types.is_boolean(type):
        made = [number % 2 == 0 for number in numbers]
    elif pa.types.is_decimal(type):
        made = [Decimal(number) for number in numbers]
    elif pa.types.is_date(type):
        made = [datetime.date(2020, 1, 1) + datetime.timedelta(days=number) for number in numbers]
    elif pa.types.is_floating(type) or pa.types.is_integer(type):
        made = [number % 100 for number in numbers]
    elif pa.types.is_timestamp(type):
        made = [datetime.datetime(2020, 1, 1) + datetime.timedelta(seconds=number) for number in numbers]
    elif pa.types.is_struct(type):
        made = [{"x": number} for number in numbers]
    elif pa.types.is_list(type):
        made = [[number] * (number % 4) for number in numbers]
    else:
        made = [f"{seed} and {number}" * (number % 5) for number in numbers]
        if pa.types.is_binary(type) or pa.types.is_large_binary(type):
            made = [str(text).encode() for text in made]
    return pa.array([None if gone else value for value, gone in zip(made, missing, strict=True)], type)


TYPES = {
    "bool": pa.bool_(),
    "int8": pa.int8(),
    "int64": pa.int64(),
    "uint16": pa.uint16(),
    "float": pa.float32(),
    "double": pa.float64(),
    "date": pa.date32(),
    "time": pa.timestamp("us"),
    "decimal": pa.decimal128(12, 2),
    "text": pa.string(),
    "large_text": pa.large_string(),
    "bytes": pa.binary(),
    "nested": pa.struct([("x", pa.int64())]),
    "list": pa.list_(pa.int32()),
}


@pytest.fixture(scope="module", params=VERSIONS)
def table(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    """Twelve fragments of all types; rows of some are deleted, one is equal in all rows, one lacks a column."""
    path = str(tmp_path_factory.mktemp("small") / "small.lance")
    for seed in range(10):
        part = pa.table({name: values(seed, type) for name, type in TYPES.items()})
        lance.write_dataset(part, path, mode="append" if seed else "create", data_storage_version=request.param)
    lance.write_dataset(part.take([0] * NUM_ROWS), path, mode="append")
    lance.write_dataset(part.drop_columns(["int64"]), path, mode="append")
    lance.dataset(path).delete("int8 < 20")
    return lance_sql.open(path)


def fragments_of(table: Dataset) -> list[OpenFragment]:
    snapshot = table.snapshot
    return [snapshot.open(fragment) for fragment in snapshot.manifest.fragments]


def fields_of(table: Dataset, names: Sequence[str]) -> list[Field]:
    by_name = {field.name: field for field in table.snapshot.manifest.schema.fields}
    return [by_name[name] for name in names]


@pytest.mark.parametrize(
    "names", [[name] for name in TYPES] + [["int64", "text"], ["bool", "decimal", "bytes"]], ids=str
)
def test_together_is_one_by_one(table: Dataset, names: list[str]) -> None:
    fields, fragments = fields_of(table, names), fragments_of(table)
    for field in fields:
        # layouts that are new to the process are learned one at a time
        small_fragments.read(fragments, FieldsToRead([field]))
    found = small_fragments.read(fragments, FieldsToRead(fields))
    num_read = 0
    for fragment, start in zip(fragments, found.starts, strict=True):
        if start is not None:
            expected = fragment.read(FieldsToRead(fields), row_ranges.single(0, fragment.num_rows))
            for column, array in zip(found.columns, expected, strict=True):
                column.slice(start, fragment.num_rows).validate(full=True)
                assert column.slice(start, fragment.num_rows).equals(array)
            num_read += 1
    is_simple = all(name not in ("nested", "list") for name in names)
    # a fragment of equal values has a constant page; another one may happen to have a dictionary
    assert num_read >= 8 if is_simple else num_read == 0


def test_scans_of_short_fragments_are_whole(table: Dataset) -> None:
    expected = lance.dataset(table.uri).to_table()
    assert table.scan().to_table().equals(expected)
    filtered = lance.dataset(table.uri).to_table(["text", "int64"], filter="int64 > 500 and text is not null")
    assert table.scan(["text", "int64"], "int64 > 500 and text is not null").to_table().equals(filtered)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", ["int64", "bool", "text", "large_text", "decimal"])
def test_a_damaged_file_stops_the_read(tmp_path: Path, name: str, version: Version) -> None:
    path = tmp_path / "t.lance"
    part = pa.table({name: values(1, TYPES[name])})
    lance.write_dataset(part, path, data_storage_version=version)
    (file,) = (path / "data").iterdir()
    whole = file.read_bytes()
    random = np.random.default_rng(5)
    outcomes = set()
    for at in random.integers(0, len(whole), 200).tolist():
        damaged = bytearray(whole)
        damaged[at] ^= 1 << int(random.integers(0, 8))
        file.write_bytes(damaged)
        table = lance_sql.open(path)
        (fragment,), fields = fragments_of(table), fields_of(table, [name])
        found = small_fragments.read([fragment], FieldsToRead(fields))
        expected = None
        with suppress(LanceError):
            (expected,) = fragment.read(FieldsToRead(fields), row_ranges.single(0, fragment.num_rows))
        if found.starts == [0]:
            assert expected is not None
            assert found.columns[0].equals(expected)
        outcomes.add("refused" if expected is None else "read")
    assert outcomes == {"refused", "read"}


def test_no_link_is_followed(tmp_path: Path) -> None:
    path = tmp_path / "t.lance"
    lance.write_dataset(pa.table({"int64": values(1, pa.int64())}), path)
    (file,) = (path / "data").iterdir()
    file.rename(tmp_path / "elsewhere")
    file.symlink_to(tmp_path / "elsewhere")
    table = lance_sql.open(path)
    found = small_fragments.read(fragments_of(table), FieldsToRead(fields_of(table, ["int64"])))
    assert found.starts == [None]
    with pytest.raises(LanceError, match="a link points outside the table's folder"):
        table.scan().to_table()
