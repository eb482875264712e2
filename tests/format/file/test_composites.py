"""Values that have parts, in any nesting: vectors with NULL items, packed structs, the null type, fixed-size lists of
structs, lists in full-zip pages. Random tables of ours and of pylance, read near and far.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import lance
import numpy as np
import pyarrow as pa
import pytest

import lance_sql
from benchmarks.object_store_server import BUCKET, StoreServer
from lance_sql.errors import LanceError

_PACKED = {"lance-encoding:packed": "true"}
_NUMBERS = (pa.int8(), pa.int32(), pa.float64(), pa.decimal128(20, 2), pa.timestamp("us"))


class Composites:
    """Random types and values."""

    def __init__(self, seed: int, version: str) -> None:
        self._random = np.random.default_rng([seed, 11])
        self._version = version

    def _pick(self, choices: Any) -> Any:
        return choices[int(self._random.integers(len(choices)))]

    def field(self, name: str) -> pa.Field:
        """A leaf with parts, alone or inside structs and lists."""
        kinds = ["vector", "vector", "packed", "null", "long list", "empty"]
        if self._version >= "2.2":
            kinds += ["packed strings", "list of structs"]
        kind = self._pick(kinds)
        if kind == "list of structs":
            members = [pa.field("a", pa.int32()), pa.field("b", pa.string())]
            return pa.field(name, pa.list_(pa.struct(members), self._pick([1, 3])))
        if kind == "long list":
            full_zip = {"lance-encoding:structural-encoding": "fullzip"}
            item = pa.field("item", self._pick([pa.string(), pa.large_binary(), pa.int64(), self._vector()]))
            return pa.field(name, pa.list_(item.with_metadata(full_zip)))
        if kind == "empty":
            return pa.field(name, pa.struct([]))
        field = pa.field(name, {"vector": self._vector, "null": pa.null}.get(kind, pa.null)())
        if kind.startswith("packed"):
            members = [pa.field(f"m{i}", self._member(kind)) for i in range(int(self._random.integers(1, 4)))]
            field = pa.field(name, pa.struct(members), metadata=_PACKED)
        return self._around(field) if self._random.random() < 0.5 else field

    def _around(self, field: pa.Field) -> pa.Field:
        if self._random.random() < 0.5:
            return pa.field(field.name, pa.struct([field.with_name("inside")]))
        return pa.field(field.name, pa.list_(field.with_name("item")))

    def _vector(self) -> pa.DataType:
        inside = self._pick([*_NUMBERS[:3], pa.bool_(), pa.float32()])
        type = pa.list_(inside, self._pick([1, 3, 8, 40]))
        return pa.list_(type, 2) if self._random.random() < 0.2 else type

    def _member(self, kind: str) -> pa.DataType:
        if kind == "packed":
            return self._pick(_NUMBERS)
        return self._pick([*_NUMBERS, pa.string(), pa.large_binary(), pa.list_(pa.float32(), 3)])

    def array(self, type: pa.DataType, count: int, *, nullable: bool = True) -> pa.Array:
        mask = self._random.random(count) < self._pick([0, 0.2]) if nullable else np.zeros(count, np.bool_)
        if pa.types.is_null(type):
            return pa.nulls(count)
        if pa.types.is_fixed_size_list(type):
            items = self.array(type.value_type, count * type.list_size)
            return pa.FixedSizeListArray.from_arrays(items, type=type, mask=pa.array(mask))
        if pa.types.is_list(type):
            lengths = self._random.integers(0, 4, count)
            offsets = np.concatenate(([0], np.cumsum(lengths))).astype(np.int32)
            values = self.array(type.value_type, int(offsets[-1]))
            return pa.ListArray.from_arrays(pa.array(offsets), values, type=type, mask=pa.array(mask))
        if pa.types.is_struct(type):
            if type.num_fields == 0:
                return pa.array([{}] * count, type)
            children = [self.array(type.field(i).type, count) for i in range(type.num_fields)]
            return pa.StructArray.from_arrays(children, fields=list(type), mask=pa.array(mask))
        numbers = self._random.integers(0, 100, count)
        if pa.types.is_string(type) or pa.types.is_large_binary(type):
            texts = ["word" * int(n % self._pick([3, 60])) for n in numbers]
            return pa.array(texts, mask=mask).cast(type)
        if pa.types.is_boolean(type):
            return pa.array(numbers % 2 == 1, mask=mask)
        return (
            pa.array(numbers, mask=mask)
            .cast(pa.decimal128(21, 0) if pa.types.is_decimal(type) else pa.int64())
            .cast(type)
        )


def random_table(seed: int, version: str) -> pa.Table:
    """An id, and some columns."""
    composites = Composites(seed, version)
    random = np.random.default_rng([seed, 5])
    num_rows = int(random.choice([1, 50, 1500, 5000]))
    fields = [composites.field(f"c{i}") for i in range(3)]
    arrays = [composites.array(field.type, num_rows) for field in fields]
    ids = pa.array(range(num_rows))
    return pa.Table.from_arrays([ids, *arrays], schema=pa.schema([pa.field("id", pa.int64()), *fields]))


def written(table: pa.Table, path: Path, version: str, seed: int) -> lance_sql.Dataset | None:
    """The table as ours or pylance's files; None if the writer refuses it."""
    try:
        if seed % 2:
            lance.write_dataset(table, str(path), data_storage_version=cast("Any", version))
        else:
            lance_sql.write(table, path, file_version=version)
    except (LanceError, OSError, ValueError, RuntimeError, pa.ArrowException):
        return None
    except BaseException as error:
        # pylance's writer gives up on some types
        if type(error).__name__ != "PanicException":
            raise
        return None
    return lance_sql.open(path)


def assert_reads(dataset: lance_sql.Dataset, expected: pa.Table, random: np.random.Generator) -> None:
    """The whole table, rows by position, rows that pass a filter, and tests for NULL."""
    found = dataset.to_table().replace_schema_metadata(None)
    for column in found.columns:
        column.validate(full=True)
    assert found.equals(expected)
    places = sorted(random.choice(len(expected), min(len(expected), 20), replace=False).tolist())
    assert dataset.take(places).equals(expected.take(places))
    step = int(random.integers(2, 9))
    kept = expected.filter(pa.array(expected["id"].to_numpy() % step == 0))
    rows = dataset.scan(filter=f"id % {step} = 0").to_table()
    assert rows.equals(kept)
    for field in list(expected.schema)[1:]:
        count = dataset.scan(["id"], f"{field.name} IS NULL AND id >= 0").to_table().num_rows
        assert count == expected[field.name].null_count, field


def check(seed: int, version: str, folder: Path) -> bool:
    """Returns whether the writer took the table."""
    path = folder / f"t{seed}.lance"
    random = np.random.default_rng([seed, 3])
    table = random_table(seed, version)
    dataset = written(table, path, version, seed)
    if dataset is None:
        return False
    assert dataset.schema.equals(table.schema)
    expected = table.replace_schema_metadata(None)
    assert_reads(dataset, expected, random)
    if len(table) > 1:
        gone = int(random.integers(7))
        rows = expected.filter(pa.array(expected["id"].to_numpy() % 7 != gone))
        assert dataset.delete(f"id % 7 = {gone}").to_table().equals(rows)
    if seed % 5 == 0:
        with StoreServer(folder, seconds=0.0, bytes_per_second=1e12) as server:
            far = lance_sql.open(f"s3://{BUCKET}/{path.name}", storage_options=server.options, version=1)
            assert_reads(far, expected, random)
    return True


@pytest.mark.parametrize("version", ["2.1", "2.2"])
def test_values_with_parts_come_back(version: str, tmp_path: Path) -> None:
    assert sum(check(seed, version, tmp_path) for seed in range(6)) > 0


@pytest.mark.slow
@pytest.mark.parametrize("version", ["2.1", "2.2"])
def test_many_values_with_parts_come_back(version: str, tmp_path: Path) -> None:
    assert sum(check(seed, version, tmp_path) for seed in range(200, 400)) > 50


@pytest.mark.parametrize("writer", ["ours", "pylance"])
@pytest.mark.parametrize("version", ["2.1", "2.2"])
def test_structs_without_members_are_not_null(version: str, writer: str, tmp_path: Path) -> None:
    rows = pa.table({"id": range(6), "s": pa.array([{}] * 6, pa.struct([]))})
    path = str(tmp_path / "t.lance")
    if writer == "ours":
        lance_sql.write(rows, path, file_version=version)
    else:
        lance.write_dataset(rows, path, data_storage_version=cast(Any, version))
    table = lance_sql.open(path).delete("id = 2")
    wanted: list[tuple[str, list[int]]] = [
        ("s IS NULL", []),
        ("s IS NOT NULL", [0, 1, 3, 4, 5]),
        ("s IS NULL OR id > 3", [4, 5]),
    ]
    for filter, ids in wanted:
        assert table.scan(["id"], filter).to_table()["id"].to_pylist() == ids
        assert table.count_rows(filter) == len(ids)
    assert table.to_table()["s"].to_pylist() == [{}] * 5
