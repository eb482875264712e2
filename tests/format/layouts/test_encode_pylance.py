"""Pages that are written, read by pylance: whole files, and single rows of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import lance.file
import numpy as np
import pyarrow as pa
import pytest

from lance_sql.format.layouts.tree import Layer
from tests.covering import covering

from .shredding import chain_of, random_rows
from .written import ITEM, NULLABLE, encode, flat_page, nested_page, write_file

RNG = np.random.default_rng(9)
COUNT = 9000

ARRAYS: dict[str, pa.Array] = {
    "sequence": pa.array(np.arange(COUNT)),
    "negative": pa.array(RNG.integers(-100, 100, COUNT), pa.int32()),
    "bytes": pa.array(RNG.integers(0, 9, COUNT), pa.uint8()),
    "shorts": pa.array(RNG.integers(0, 999, COUNT), pa.int16()),
    "doubles": pa.array(RNG.random(COUNT)),
    "halves": pa.array(RNG.random(COUNT).astype("f2")),
    "booleans": pa.array(RNG.random(COUNT) < 0.5),
    "runs": pa.array(np.repeat(RNG.integers(0, 2**40, 30), COUNT // 30)),
    "times": pa.array(np.arange(COUNT) * 1000 + 1_700_000_000_000_000, pa.timestamp("us")),
    "decimals": pa.array(range(COUNT)).cast(pa.decimal128(21, 2)),
    "repeated decimals": pa.array([i % 90 for i in range(COUNT)]).cast(pa.decimal128(21, 2)),
    "wide decimals": pa.array(range(COUNT)).cast(pa.decimal256(40, 2)),
    "repeated numbers": pa.array(2**62 + RNG.integers(0, 90, COUNT) * 2**40),
    "uuids": pa.array([RNG.bytes(16) for _ in range(COUNT)], pa.binary(16)),
    "emails": pa.array([f"user_{i}@example.com" for i in range(COUNT)]),
    "large emails": pa.array([f"user_{i}@example.com" for i in range(COUNT)], pa.large_string()),
    "binaries": pa.array([f"{i:09x}".encode() for i in range(COUNT)], pa.large_binary()),
    "noise": pa.array([RNG.bytes(i % 30) for i in range(COUNT)]),
    "colors": pa.array(["red", "green", "blue"] * (COUNT // 3)),
    "texts": pa.array([f"lorem ipsum {i} " * int(k) for i, k in enumerate(RNG.integers(0, 60, COUNT // 9))]),
    "documents": pa.array([f"{i} lorem " * 6000 for i in range(9)]),
    "constant": pa.array([7] * COUNT),
    "constant text": pa.array(["hello"] * COUNT),
    "constant bytes": pa.array([b"0" * 40] * COUNT, pa.binary(40)),
    "constant truth": pa.array([True] * COUNT),
    "nothing": pa.nulls(COUNT, pa.int32()),
    "one": pa.array([3]),
    "two": pa.array(["a", "b"]),
    "vectors": pa.FixedSizeListArray.from_arrays(pa.array(RNG.random(COUNT * 4), pa.float32()), 4),
    "embeddings": pa.FixedSizeListArray.from_arrays(pa.array(RNG.random(900 * 128), pa.float32()), 128),
    "holes": pa.FixedSizeListArray.from_arrays(pa.array([None, 1, 2] * COUNT, pa.int16()), 3),
    "masks": pa.FixedSizeListArray.from_arrays(pa.array([True, False, None, True, True] * 900), 5),
    "matrices": pa.array([[[i, 1], [2, 3], [4, 5]] for i in range(900)], pa.list_(pa.list_(pa.int64(), 2), 3)),
    "dictionary": pa.array(["red", "green", "blue"] * (COUNT // 3)).dictionary_encode(),
    "short dictionary": pa.array([i % 40 for i in range(COUNT)])
    .dictionary_encode()
    .cast(pa.dictionary(pa.int8(), pa.int64())),
}


def with_nulls(array: pa.Array) -> pa.Array:
    return array.take(pa.array(np.arange(len(array)), mask=RNG.random(len(array)) < 0.1))


def check(path: Path, type: pa.DataType, pages: list[Any], minor: int, expected: list[Any]) -> None:
    write_file(path, pa.schema([pa.field("c", type)]), [pages], minor)
    reader = lance.file.LanceFileReader(str(path))
    assert reader.read_all().to_table()["c"].to_pylist() == expected
    rows = sorted({0, len(expected) // 3, len(expected) // 2, len(expected) - 1})
    taken = reader.take_rows(rows).to_table()["c"].to_pylist()
    assert taken == [expected[row] for row in rows]


KNOBS: list[dict[str, str]] = [
    {},
    {"compression": "zstd"},
    {"compression": "lz4"},
    {"compression": "none", "dict-divisor": "1000000"},
    {"compression": "zstd", "bss": "on", "dict-divisor": "1000000"},
    {"structural-encoding": "fullzip", "dict-divisor": "1000000"},
    {"structural-encoding": "miniblock", "dict-divisor": "1000000"},
    {"dict-values-compression": "zstd"},
]


@pytest.mark.parametrize("minor", [1, 2])
@pytest.mark.parametrize("name", ARRAYS)
def test_leaves_are_read(tmp_path: Path, name: str, minor: int) -> None:
    array = ARRAYS[name]
    if pa.types.is_dictionary(array.type) or array.null_count == len(array):
        pages = [encode(flat_page(array), minor)]
        check(tmp_path / "a.lance", array.type, pages, minor, array.to_pylist())
        return
    holes = with_nulls(array)
    for number, knob in enumerate(KNOBS):
        metadata = {f"lance-encoding:{key}": value for key, value in knob.items()}
        pages = [encode(flat_page(part), minor, metadata) for part in (array, holes)]
        path = tmp_path / f"{number}.lance"
        check(path, array.type, pages, minor, array.to_pylist() + holes.to_pylist())


LAYERS = [
    (ITEM, Layer.ALL_VALID_LIST),
    (NULLABLE, Layer.NULL_AND_EMPTY_LIST),
    (NULLABLE, NULLABLE),
    (ITEM, NULLABLE),
    (NULLABLE, NULLABLE, Layer.NULL_AND_EMPTY_LIST),
    (ITEM, Layer.NULL_AND_EMPTY_LIST, Layer.NULL_AND_EMPTY_LIST),
    (NULLABLE, Layer.EMPTYABLE_LIST, ITEM, Layer.NULLABLE_LIST),
]


@covering(
    name=["sequence", "emails", "booleans", "texts", "vectors", "colors", "constant", "runs"],
    layers=LAYERS,
    minor=[1, 2],
)
def test_nested_rows_are_read(tmp_path: Path, name: str, layers: tuple[Layer, ...], minor: int) -> None:
    pool = ARRAYS[name]
    chain = chain_of(layers, pool.type)
    rows = [random_rows(RNG, layers, count) for count in (1, 700)]
    pages = [encode(nested_page(part, layers, pool), minor) for part in rows]
    values = pool.slice(0, 100).to_pylist()
    check(tmp_path / "a.lance", chain.type, pages, minor, [filled(row, values) for part in rows for row in part])


def filled(value: Any, values: list[Any]) -> Any:
    if isinstance(value, list):
        return [filled(item, values) for item in value]
    if isinstance(value, dict):
        return {"f": filled(value["f"], values)}
    return None if value is None else values[value]


@pytest.mark.parametrize("minor", [1, 2])
def test_many_empty_lists_in_a_row_are_read(tmp_path: Path, minor: int) -> None:
    layers = (ITEM, Layer.EMPTYABLE_LIST)
    for number, empties in enumerate((30_000, 100_000)):
        rows: list[Any] = [[1, 2], *([[]] * empties), [3], [4, 5, 6], *([[]] * empties)]
        pages = [encode(nested_page(rows, layers, pa.array(range(10))), minor)]
        check(tmp_path / f"{number}.lance", pa.list_(pa.int64()), pages, minor, rows)
