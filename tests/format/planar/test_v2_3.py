"""Data files of version 2.3, as pylance 14 writes them, read as it reads them; and damaged ones."""

from collections.abc import Callable
from pathlib import Path

import lance
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from google.protobuf.any_pb2 import Any as AnyMessage

import lance_sql
from lance_sql.errors import CorruptFile, UnsupportedFeature
from lance_sql.format.proto import encodings_v2_3_pb2 as pb
from lance_sql.format.proto import file2_pb2
from tests.damaged import messages

NUM_ROWS = 5000


def _write(path: Path, columns: dict[str, pa.Array]) -> None:
    lance.write_dataset(pa.table(columns), path, data_storage_version="2.3")


def _numbers(random: np.random.Generator, count: int) -> pa.Array:
    kind = random.integers(8)
    if kind == 0:
        return pa.array(random.integers(0, 2 ** int(random.integers(1, 62)), count))
    if kind == 1:
        return pa.array(np.repeat(random.integers(0, 9, count), random.integers(1, 2000))[:count].astype("i4"))
    if kind == 2:
        return pa.array(np.arange(count) * int(random.integers(1, 9)))
    if kind == 3:
        return pa.array(random.random(count) < random.random())
    if kind == 4:
        return pa.array(random.random(count).astype(["f2", "f4", "f8"][random.integers(3)]))
    if kind == 5:
        return pa.array(np.full(count, 7), [pa.int8(), pa.uint16(), pa.int64()][random.integers(3)])
    if kind == 6:
        return pa.array(random.integers(0, 9, count)).cast(pa.decimal128(30, 2))
    return pa.array(random.integers(0, 200, count).astype(["u1", "i2", "u4"][random.integers(3)]))


def _strings(random: np.random.Generator, count: int) -> pa.Array:
    kind = random.integers(7)
    type = [pa.string(), pa.binary(), pa.large_string()][random.integers(3)]
    if kind == 0:
        found = [f"s{number}" for number in random.integers(0, 10**6, count)]
    elif kind == 1:
        found = [f"s{number}" for number in random.integers(0, 30, count)]
    elif kind == 2:
        found = [f"{number:08d}" for number in random.integers(0, 10**7, count)]
    elif kind == 3:
        found = [""] * count
    elif kind == 4:
        found = [" ".join(random.choice(["apple", "banana", "cherry", "date"], 6)) for _ in range(count)]
    elif kind == 5:
        found = ["x" * int(length) for length in random.integers(0, 12, count)]
    else:
        found = [f"{number}-" * int(random.integers(100, 900)) for number in random.integers(0, 9, min(count, 50))]
        found = (found * (count // max(len(found), 1) + 1))[:count]
    return pa.array(found).cast(type)


def _with_nulls(random: np.random.Generator, array: pa.Array) -> pa.Array:
    share = [0.0, 0.0, 0.001, 0.2, 0.999, 1.0][random.integers(6)]
    if share == 0.0:
        return array
    mask = pa.array(random.random(len(array)) < share)
    return pc.if_else(mask, pa.scalar(None, array.type), array)


def _any(random: np.random.Generator, count: int, depth: int) -> pa.Array:
    kind = random.integers(6) if depth else random.integers(2)
    if kind in (0, 1):
        return _with_nulls(random, (_numbers, _strings)[kind](random, count))
    if kind in (2, 3):
        share = [0.001, 0.05, 0.5, 1.0][random.integers(4)]
        lengths = np.where(random.random(count) < share, random.integers(0, [2, 5][random.integers(2)], count), 0)
        mask = random.random(count) < [0.0, 0.0, 0.01, 0.6][random.integers(4)]
        lengths[mask] = 0
        offsets = np.concatenate(([0], np.cumsum(lengths)))
        values = _any(random, int(offsets[-1]), depth - 1)
        is_large = bool(random.integers(2))
        make = pa.LargeListArray if is_large else pa.ListArray
        given = pa.array(offsets, pa.int64() if is_large else pa.int32())
        return make.from_arrays(given, values, mask=pa.array(mask) if mask.any() else None)
    if kind == 4:
        mask = random.random(count) < [0.0, 0.0, 0.3, 0.999][random.integers(4)]
        children = [_any(random, count, depth - 1) for _ in range(random.integers(1, 3))]
        return pa.StructArray.from_arrays(children, list("ab")[: len(children)], mask=pa.array(mask))
    items = pa.array(random.random(4 * count).astype("f4"))
    return _with_nulls(random, pa.FixedSizeListArray.from_arrays(items, 4))


@pytest.mark.parametrize("seed", range(40))
def test_tables_of_all_shapes_are_read_as_pylance_reads_them(seed: int, tmp_path: Path) -> None:
    random = np.random.default_rng(seed)
    path = tmp_path / "t"
    columns = {f"c{number}": _any(random, NUM_ROWS, int(random.integers(4))) for number in range(4)}
    _write(path, columns)
    wanted = lance.dataset(path)
    table = lance_sql.open(path)
    for name in columns:
        try:
            found = table.scan(columns=[name]).to_table()
        except UnsupportedFeature as error:
            # vectors with NULLs inside, in a dictionary
            if "encoding FixedSizeList is not supported in a block" not in str(error):
                raise
            continue
        assert found.to_pylist() == wanted.to_table(columns=[name]).to_pylist()
        rows = sorted(random.choice(NUM_ROWS, 9, replace=False).tolist())
        assert table.take(rows, columns=[name]).to_pylist() == wanted.take(rows, columns=[name]).to_pylist()


def test_filters_and_counts_are_those_of_pylance(tmp_path: Path) -> None:
    path = tmp_path / "t"
    columns = {
        "number": pa.array([None if row % 900 == 0 else row % 50 for row in range(NUM_ROWS)]),
        "text": pa.array([f"{row % 37:03}" for row in range(NUM_ROWS)]),
        "list": pa.array([[row] if row % 97 == 0 else [] for row in range(NUM_ROWS)]),
        "struct": pa.array([{"a": row} if row % 300 == 0 else None for row in range(NUM_ROWS)]),
    }
    _write(path, columns)
    table, wanted = lance_sql.open(path), lance.dataset(path)
    for condition in ("number = 7", "number IS NULL", "text = '004'", "text < '003' AND number > 30", "struct.a > 900"):
        found = table.scan(filter=condition).to_table()
        assert found.to_pylist() == wanted.to_table(filter=condition).to_pylist()
        assert table.count_rows(condition) == wanted.count_rows(condition)
    assert not lance_sql.verify(path).problems


def test_rows_are_deleted_from_a_table_of_2_3_and_no_file_of_it_is_written(tmp_path: Path) -> None:
    path = tmp_path / "t"
    _write(path, {"a": pa.array(range(100)), "b": pa.array(["x"] * 100)})
    lance_sql.open(path).delete("a % 3 = 0")
    assert lance.dataset(path).to_table() == lance_sql.open(path).to_table()
    with pytest.raises(UnsupportedFeature, match=r"have version 2\.3, which this release does not write.*Copy it"):
        lance_sql.write(pa.table({"a": [1], "b": ["y"]}), path, mode="append")
    copied = lance_sql.write(lance_sql.open(path), tmp_path / "copy")
    assert copied.to_table() == lance.dataset(path).to_table()


def _changed(path: Path, change: Callable[[pb.PlanarLayout], None]) -> None:
    """Changes the layout of the first page of the first column."""

    def all_columns(columns: list[bytes]) -> list[bytes]:
        column = file2_pb2.ColumnMetadata.FromString(columns[0])
        encoding = AnyMessage.FromString(column.pages[0].encoding.direct.encoding)
        layout = pb.PlanarLayout.FromString(encoding.value)
        change(layout)
        encoding.value = layout.SerializeToString()
        column.pages[0].encoding.direct.encoding = encoding.SerializeToString()
        return [column.SerializeToString(), *columns[1:]]

    (file,) = path.glob("data/*.lance")
    file.write_bytes(messages.with_columns(file.read_bytes(), all_columns))


def _unknown(layout: pb.PlanarLayout) -> None:
    layout.values.MergeFromString(b"\x7a\x02\x08\x01")


def _of_another_kind(layout: pb.PlanarLayout) -> None:
    layout.structure.Clear()


def _other_meaning(layout: pb.PlanarLayout) -> None:
    for layer in layout.structure.sparse.layers:
        layer.list.validity.meaning = pb.ValiditySet.UNKNOWN


@pytest.mark.parametrize("change", [_unknown, _of_another_kind, _other_meaning])
def test_unknown_content_is_refused(change: Callable[[pb.PlanarLayout], None], tmp_path: Path) -> None:
    path = tmp_path / "t"
    _write(path, {"a": pa.array([[7] if row % 100 == 0 else [] for row in range(NUM_ROWS)])})
    _changed(path, change)
    with pytest.raises(UnsupportedFeature, match="not supported"):
        lance_sql.open(path).to_table()


def _descending(layout: pb.PlanarLayout) -> None:
    layout.structure.sparse.layers[0].list.non_empty_positions.range.step = 0


def _too_far(layout: pb.PlanarLayout) -> None:
    layout.structure.sparse.layers[0].list.non_empty_positions.range.step = NUM_ROWS


def _too_many(layout: pb.PlanarLayout) -> None:
    layout.structure.sparse.layers[0].list.num_child_slots += 1


def _huge(layout: pb.PlanarLayout) -> None:
    layout.structure.sparse.layers[0].list.num_non_empty = 1 << 62


@pytest.mark.parametrize("change", [_descending, _too_far, _too_many, _huge])
def test_sets_of_positions_are_checked(change: Callable[[pb.PlanarLayout], None], tmp_path: Path) -> None:
    path = tmp_path / "t"
    _write(path, {"a": pa.array([[7] if row % 100 == 0 else [] for row in range(NUM_ROWS)])})
    _changed(path, change)
    with pytest.raises((CorruptFile, UnsupportedFeature)):
        lance_sql.open(path).to_table()
