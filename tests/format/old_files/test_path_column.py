"""Data files of version 0.1 and 2.0 that pylance writes: every option that changes how a column is stored."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import lance
import numpy as np
import pyarrow as pa
import pytest

import lance_sql
from lance_sql.format.encodings.tree import Constant, Encoding, Fsst, General, PackedStruct
from lance_sql.format.old_files.path_column import PathColumn
from lance_sql.format.old_files.tree import Dictionary, Nullable
from tests.golden.compare import difference

NUM_ROWS = 3000
RNG = np.random.default_rng(20)
NUMBERS = pa.array(RNG.integers(0, 1000, NUM_ROWS), pa.int64())
MASK = RNG.random(NUM_ROWS) < 0.2
WORDS = pa.array([f"word {n} " * (n % 5) for n in NUMBERS.to_pylist()], mask=MASK)
FEW = pa.array([["red", "green", "", "blue"][n % 4] for n in NUMBERS.to_pylist()], mask=MASK)
POINTS = pa.StructArray.from_arrays(
    [
        NUMBERS.cast(pa.int32()),
        NUMBERS.cast(pa.float64()),
        pa.FixedSizeListArray.from_arrays(pa.array(RNG.random(2 * NUM_ROWS), pa.float32()), 2),
    ],
    ["a", "b", "c"],
)
LISTS = pa.ListArray.from_arrays(
    pa.array(np.concatenate(([0], np.cumsum(RNG.integers(0, 4, NUM_ROWS)))), pa.int32()),
    pa.array([f"item {i}" for i in range(4 * NUM_ROWS)]).slice(0, 4 * NUM_ROWS),
)
BLOBS = pa.array([None if n % 7 == 0 else b"x" * (n % 300) for n in NUMBERS.to_pylist()], pa.large_binary())


def field(array: pa.Array, **metadata: str) -> tuple[pa.Array, pa.Field]:
    named = {f"lance-encoding:{key}": value for key, value in metadata.items()}
    return array, pa.field("c", array.type, metadata=named)


COLUMNS: dict[str, tuple[pa.Array, pa.Field]] = {
    "zstd": field(WORDS, compression="zstd"),
    "lz4": field(WORDS, compression="lz4"),
    "fsst": field(WORDS, compression="fsst"),
    "fsst of much text": field(
        pa.array([f"some words, {n} of them, " * 5 for n in NUMBERS.to_pylist()]), compression="fsst"
    ),
    "zstd below a list": field(LISTS, compression="zstd"),
    "packed": field(POINTS, packed="true"),
    "blobs": field(BLOBS, blob="true"),
    "few strings": field(FEW),
    "dictionary": field(FEW.dictionary_encode()),
    "dictionary of integers": field(NUMBERS.cast(pa.int16()).dictionary_encode()),
    "booleans": field(pa.array(RNG.random(NUM_ROWS) < 0.5, mask=MASK)),
    "lists of booleans": field(pa.FixedSizeListArray.from_arrays(pa.array(RNG.random(3 * NUM_ROWS) < 0.5), 3)),
    "nothing but NULL": field(pa.nulls(NUM_ROWS, pa.float32())),
    "null": field(pa.nulls(NUM_ROWS)),
    "decimals": field(pa.array(NUMBERS, mask=MASK).cast(pa.decimal128(21, 2)).cast(pa.decimal256(50, 3))),
    "bytes": field(pa.array([bytes([n % 256]) * 7 for n in NUMBERS.to_pylist()], pa.binary(7), mask=MASK)),
}


@pytest.mark.parametrize("file_version", ["0.1", "2.0"])
@pytest.mark.parametrize("name", COLUMNS)
def test_every_form_is_read_as_pylance_reads_it(name: str, file_version: Literal["0.1", "2.0"], tmp_path: Path) -> None:
    array, described = COLUMNS[name]
    table = pa.table([array, pa.array(np.arange(NUM_ROWS))], pa.schema([described, pa.field("n", pa.int64())]))
    lance.write_dataset(table, tmp_path / "t", data_storage_version=file_version)
    dataset = lance_sql.open(tmp_path / "t")
    if name == "blobs":
        # pylance shows where blobs are, and fails on those of version 0.1, where empty values are NULL
        kept = [value or None for value in array.to_pylist()] if file_version == "0.1" else array
        expected = pa.chunked_array([pa.array(kept, pa.large_binary())])
    else:
        expected = lance.dataset(tmp_path / "t").to_table()["c"]
    assert difference(dataset.to_table(["c"])["c"], expected) is None
    for rows in ([0], [NUM_ROWS - 1], [5, 7, 8, 9, 1000, 2999], list(range(0, NUM_ROWS, 3)), list(range(500, 1500))):
        assert difference(dataset.take(rows, ["c"])["c"], expected.take(pa.array(rows))) is None


def encodings(path: Path) -> set[type[Encoding]]:
    """The nodes in the trees of all pages of column c."""
    dataset = lance_sql.open(path)
    found: set[type[Encoding]] = set()
    snapshot = dataset.snapshot
    for fragment in snapshot.manifest.fragments:
        rows = snapshot.open(fragment)
        for column in rows.columns_of(snapshot.manifest.schema.field("c")):
            assert isinstance(column, PathColumn)
            open_nodes = [column.leaf.encoding(page) for page in range(len(column.leaf.metadata.pages))]
            while open_nodes:
                node = open_nodes.pop()
                found.add(type(node))
                members = (getattr(node, name) for name in node.__dataclass_fields__)
                open_nodes += [member for member in members if isinstance(member, Encoding)]
    return found


@pytest.mark.parametrize(
    ("name", "node"),
    [
        ("zstd", General),
        ("lz4", General),
        ("fsst", Fsst),
        ("packed", PackedStruct),
        ("few strings", Dictionary),
        ("booleans", Nullable),
        ("nothing but NULL", Constant),
    ],
)
def test_the_columns_are_stored_as_they_are_meant_to_be(name: str, node: type[Encoding], tmp_path: Path) -> None:
    array, described = COLUMNS[name]
    lance.write_dataset(pa.table([array], pa.schema([described])), tmp_path / "t", data_storage_version="2.0")
    assert node in encodings(tmp_path / "t")


TYPES = [
    *(pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()),
    *(pa.float16(), pa.float32(), pa.float64(), pa.bool_(), pa.null()),
    *(pa.decimal128(10, 2), pa.decimal128(38, -2), pa.decimal256(50, 5)),
    *(pa.string(), pa.large_string(), pa.binary(), pa.large_binary(), pa.binary(3)),
    *(pa.date32(), pa.date64(), pa.time32("s"), pa.time32("ms"), pa.time64("us"), pa.time64("ns")),
    *(pa.timestamp(unit) for unit in ("s", "ms", "us", "ns")),
    *(pa.timestamp("us", "+05:30"), pa.timestamp("ns", "Europe/Berlin")),
    *(pa.duration(unit) for unit in ("s", "ms", "us", "ns")),
    *(pa.list_(item, 2) for item in (pa.float16(), pa.bool_(), pa.int64(), pa.binary(3), pa.timestamp("us"))),
    *(pa.list_(pa.list_(pa.int8(), 2), 3), pa.list_(pa.string()), pa.large_list(pa.decimal128(10, 2))),
    *(pa.dictionary(index, pa.string()) for index in (pa.int8(), pa.uint16(), pa.int32(), pa.int64())),
    *(pa.dictionary(pa.int8(), value) for value in (pa.int64(), pa.binary(), pa.uint8())),
    pa.struct([("a", pa.float16()), ("b", pa.list_(pa.struct([("c", pa.binary()), ("d", pa.null())])))]),
]


def values_of(type: pa.DataType, count: int) -> pa.Array:
    """Values of a type, with NULLs if older versions support them."""
    numbers = pa.array([None if n % 5 == 2 else n % 90 for n in range(count)], pa.int64())
    if pa.types.is_struct(type):
        return pa.StructArray.from_arrays([values_of(field.type, count) for field in type], fields=list(type))
    if pa.types.is_fixed_size_list(type):
        return pa.FixedSizeListArray.from_arrays(values_of(type.value_type, count * type.list_size), type=type)
    if pa.types.is_list(type) or pa.types.is_large_list(type):
        offsets = np.cumsum([0, *(n % 4 for n in range(count))])
        array = pa.ListArray if pa.types.is_list(type) else pa.LargeListArray
        width = pa.int32() if pa.types.is_list(type) else pa.int64()
        items = values_of(type.value_type, int(offsets[-1]))
        return array.from_arrays(pa.array(offsets, width), items, type=type)
    if pa.types.is_dictionary(type):
        return values_of(type.value_type, 5).take(pa.array([0, 1, 3] * count)[:count]).dictionary_encode().cast(type)
    if pa.types.is_fixed_size_binary(type):
        return pa.array([None if n is None else b"%03d" % n for n in numbers.to_pylist()], type)
    if pa.types.is_null(type):
        return pa.nulls(count)
    if pa.types.is_floating(type) or pa.types.is_boolean(type):
        return numbers.cast(pa.float64()).cast(type)
    if pa.types.is_decimal(type):
        return numbers.cast(pa.decimal128(19, 0)).cast(type, safe=False)
    if pa.types.is_binary(type) or pa.types.is_large_binary(type):
        return numbers.cast(pa.string()).cast(type)
    narrow = pa.types.is_date32(type) or pa.types.is_time32(type)
    if pa.types.is_date64(type):
        return numbers.cast(pa.date64())
    return numbers.cast(pa.int32()).cast(type) if narrow else numbers.cast(type)


@pytest.mark.parametrize("file_version", ["0.1", "2.0"])
@pytest.mark.parametrize("type", TYPES, ids=str)
def test_every_type_is_read_as_pylance_reads_it(
    type: pa.DataType, file_version: Literal["0.1", "2.0"], tmp_path: Path
) -> None:
    table = pa.table({"c": values_of(type, 200)})
    try:
        lance.write_dataset(table, tmp_path / "t", data_storage_version=file_version, max_rows_per_group=30)
        expected = lance.dataset(tmp_path / "t").to_table()["c"]
    except (OSError, ValueError) as error:
        pytest.skip(f"pylance does not write it: {error}"[:200])
    dataset = lance_sql.open(tmp_path / "t")
    assert difference(dataset.to_table()["c"], expected) is None
    rows = [0, 29, 30, 31, 100, 199]
    assert difference(dataset.take(rows)["c"], expected.take(pa.array(rows))) is None


@pytest.mark.parametrize("file_version", ["0.1", "2.0"])
def test_vectors_of_nothing_but_null_come_in_batches_of_bounded_size(
    file_version: Literal["0.1", "2.0"], tmp_path: Path
) -> None:
    table = pa.table({"v": pa.nulls(20_000, pa.list_(pa.float32(), 4096))})
    lance.write_dataset(
        table.slice(0, 2000 if file_version == "0.1" else None), tmp_path / "t", data_storage_version=file_version
    )
    dataset = lance_sql.open(tmp_path / "t")
    sizes = [batch.nbytes for batch in dataset.scan().to_reader()]
    assert max(sizes) < 64 * 2**20
    assert dataset.count_rows("v IS NULL") == (20_000 if file_version == "2.0" else 0)
