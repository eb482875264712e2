"""The columns that the kernels read, with the same values as Python."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

import fsspec
import lance
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import lance_sql
from lance_sql import _kernels
from lance_sql.dataset import Dataset
from lance_sql.errors import CorruptFile
from lance_sql.format.file import metadata_v2
from lance_sql.format.file.column_rows import read_columns
from lance_sql.format.file.kernel_column import KernelColumn
from lance_sql.format.file.open_column import OpenRows
from lance_sql.format.old_files.path_column import PathColumn
from lance_sql.reads.scan.compact_types import compact_types
from lance_sql.store import ByteRange
from lance_sql.store.fsspec import FsspecStore
from lance_sql.table.listed_columns import FieldsToRead
from lance_sql.table.open_fragment import OpenFragment
from lance_sql.values import row_ranges
from lance_sql.values.row_ranges import RowRanges

NUM_ROWS = 30_000


@cache
def kinds() -> dict[str, pa.Array]:
    """A column of each kind of page; the values of all are in no order."""
    rng = np.random.default_rng(5)
    small = rng.integers(0, 100, NUM_ROWS)
    wide = rng.integers(-(2**62), 2**62, NUM_ROWS)
    words = np.array(["AIR", "SHIP", "RAIL", "a word of more than sixteen bytes"])
    some = rng.random(NUM_ROWS) < 0.1
    found: dict[str, pa.Array] = {
        "packed": pa.array(small),
        "packed narrow": pa.array(small, pa.uint8()),
        "flat": pa.array(wide),
        "runs": pa.array(np.sort(small)),
        "double": pa.array(rng.random(NUM_ROWS)),
        "float": pa.array(rng.normal(size=NUM_ROWS).astype(np.float32)),
        "bool": pa.array(small % 2 == 0),
        "date": pa.array(small.astype(np.int32), pa.date32()),
        "time": pa.array(small, pa.time64("us")),
        "moment": pa.array(wide, pa.timestamp("ns", "Europe/Berlin")),
        "price": pa.array([Decimal(int(number)) / 100 for number in small], pa.decimal128(12, 2)),
        "cost": pa.array([Decimal(int(number)) for number in wide], pa.decimal128(38, 3)),
        "uuid": pa.array([int(number).to_bytes(16, "little", signed=True) for number in wide], pa.binary(16)),
        "word": pa.array(words[small % 4]),
        "letter": pa.array(np.array(["A", "N", "R"])[small % 3], pa.large_string()),
        "text": pa.array([f"order number {number} for somebody" for number in wide]),
        "noise": pa.array([rng.bytes(int(number) % 40) for number in small[:3000]] * (NUM_ROWS // 3000), pa.binary()),
        "same": pa.array([7] * NUM_ROWS, pa.int32()),
        "same word": pa.array(["word"] * NUM_ROWS),
        "nothing": pa.nulls(NUM_ROWS, pa.int64()),
        "no words": pa.nulls(NUM_ROWS, pa.string()),
        "kind": pa.array(words[small % 4]).dictionary_encode(),
        "vector": pa.FixedSizeListArray.from_arrays(pa.array(rng.random(8 * NUM_ROWS)), 8),
        "vector?": pa.FixedSizeListArray.from_arrays(pa.array(wide[:4].repeat(NUM_ROWS)), 4, mask=pa.array(some)),
        "embedding": pa.FixedSizeListArray.from_arrays(pa.array(wide[:80].repeat(NUM_ROWS)), 80),
        "embedding?": pa.FixedSizeListArray.from_arrays(pa.array(wide[:80].repeat(NUM_ROWS)), 80, mask=pa.array(some)),
        "digest": pa.array([rng.bytes(300) for _ in range(100)] * (NUM_ROWS // 100), pa.binary(300)),
        "letter of many words": pa.array([f"{number} words " * 40 for number in wide]),
        "noises": pa.array(
            [rng.bytes(int(number) * 5) for number in small[:300]] * (NUM_ROWS // 300), pa.large_binary()
        ),
        "vector with NULL items": pa.FixedSizeListArray.from_arrays(pa.array([1, None, 3] * NUM_ROWS, pa.int16()), 3),
        "vector of flags": pa.FixedSizeListArray.from_arrays(pa.array([True, False] * NUM_ROWS), 2),
        "no vectors": pa.nulls(NUM_ROWS, pa.list_(pa.float32(), 4)),
        "list": pa.array([[int(number)] * (int(number) % 3) for number in small]),
        "struct": pa.array([{"x": int(number)} for number in small]),
        "struct?": pa.array([None if number % 3 else {"x": int(number)} for number in small]),
        "list of texts": pa.array([[f"{number} of many"] * (int(number) % 4) for number in wide]),
        "list of lists": pa.array([[[int(number)] * (int(number) % 3), None] for number in small]),
        "list of structs": pa.array([[{"x": int(number)}, None] if number % 3 else None for number in small]),
        "empty lists": pa.array([[]] * NUM_ROWS, pa.list_(pa.int32())),
        "list of vectors": pa.array([[[1.0, float(number)]] for number in small], pa.list_(pa.list_(pa.float32(), 2))),
        "list of long texts": pa.array([[f"{number} words " * 40] for number in wide[:2000]] * (NUM_ROWS // 2000)),
        "null": pa.nulls(NUM_ROWS),
    }
    with_nulls = {
        f"{name}?": pa.array(array.to_pylist(), array.type, mask=some)
        for name, array in found.items()
        if array.null_count == 0 and not pa.types.is_nested(array.type) and not pa.types.is_dictionary(array.type)
    }
    return found | with_nulls


IN_PYTHON_IN_2_0 = {"vector with NULL items", "vector of flags", "kind", "no words", "null"}
"""Pages without levels; lists have columns of their own there, which are read in Python."""

NOT_IN_2_0 = {"struct?", "list of structs"}
"""Structs that are NULL."""


@pytest.fixture(scope="module", params=["2.0", "2.1", "2.2", "ours"])
def table(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    path = str(tmp_path_factory.mktemp("table") / "t.lance")
    missing = NOT_IN_2_0 if request.param == "2.0" else set()
    content = pa.table({name: array for name, array in kinds().items() if name not in missing})
    if request.param == "ours":
        lance_sql.write(content, path)
    elif request.param == "2.0":
        lance.write_dataset(content, path, data_storage_version="2.0")
    else:
        # several pages to a column
        reader = pa.RecordBatchReader.from_batches(content.schema, content.to_batches(max_chunksize=7000))
        lance.write_dataset(reader, path, data_storage_version=request.param)
    return lance_sql.open(path)


def columns_of(table: Dataset, name: str, delivered: pa.DataType | None = None) -> list[Any]:
    scan = table.scan([name])
    if delivered is not None:
        scan = scan.with_types({name: delivered})
    plan = scan.plan
    (fragment,) = plan.fragments()
    return list(plan.read.columns_of(plan.read.open(fragment.fragment)))


def test_common_pages_are_read_by_the_kernels(table: Dataset) -> None:
    everything = row_ranges.single(0, NUM_ROWS)
    in_kernels = set()
    for name in table.schema.names:
        columns = columns_of(table, name)
        found = [column.open(everything, is_nested=True) for column in columns]
        if all(isinstance(rows, OpenRows) and all(rows.column.form([page]) for page in rows.pages) for rows in found):
            in_kernels.add(name)
    if isinstance(columns_of(table, "flat")[0], KernelColumn):
        assert in_kernels == set(table.schema.names)
        return
    # trees without levels, as in files 2.0
    lists = {name for name in table.schema.names if "list" in name}
    assert set(table.schema.names) - in_kernels <= lists | IN_PYTHON_IN_2_0


@st.composite
def some_rows(draw: st.DrawFn) -> RowRanges:
    edges = sorted(draw(st.sets(st.integers(0, NUM_ROWS), min_size=2, max_size=10)))
    rows: RowRanges = np.array(edges[: len(edges) // 2 * 2], np.int64).reshape(-1, 2)
    return rows


@given(data=st.data())
@settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_rows_are_those_of_the_whole_column(data: st.DataObject, table: Dataset) -> None:
    """Of files up to 2.0, those that Python decodes; of later ones, which the kernels alone read, those that were
    written."""
    name = data.draw(st.sampled_from(sorted(table.schema.names)))
    rows = data.draw(some_rows())
    types = compact_types(table.scan().snapshot)
    delivered = types.get(name) if data.draw(st.booleans()) else None
    columns = columns_of(table, name, delivered)
    found = read_columns(columns, rows)
    if isinstance(columns[0], KernelColumn):
        wanted = pa.array(row_ranges.expand(rows))
        expected = [array.take(wanted) for array in read_columns(columns, row_ranges.single(0, NUM_ROWS))]
        if len(columns) == 1:
            assert _plain(expected[0]).equals(_plain(kinds()[name].take(wanted)).cast(_plain(expected[0]).type))
    else:
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(PathColumn, "open", lambda *_, **__: None)
            expected = read_columns(columns, rows)
    for column, array in zip(found, expected, strict=True):
        column.validate(full=True)
        assert column.type == (delivered or array.type)
        # decimals may be delivered in fewer bits
        assert _plain(column).cast(_plain(array).type).equals(_plain(array))


def _plain(array: pa.Array) -> pa.Array:
    return array.cast(array.type.value_type) if pa.types.is_dictionary(array.type) else array


def test_whole_tables_are_read_as_pylance_reads_them(table: Dataset) -> None:
    names = [name for name in table.schema.names if name != "kind"]
    expected = pa.table(kinds()).select(names)
    assert table.scan(names).to_table().combine_chunks().equals(expected.combine_chunks())


@pytest.fixture(scope="module")
def long_table(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    """Two files with several pages of many chunks in each column."""
    num_rows = 1_500_000
    rng = np.random.default_rng(9)
    numbers = rng.integers(-(2**62), 2**62, num_rows)
    rows = pa.table(
        {
            "number": pa.array(numbers),
            "small": pa.array(numbers % 1000, pa.int16(), mask=numbers % 7 == 0),
            "text": pc.binary_join_element_wise("order ", pa.array(numbers).cast(pa.string()), " for somebody", ""),
            "word": np.array(["AIR", "SHIP", "RAIL"])[numbers % 3],
            "same": np.full(num_rows, 7),
        }
    )
    path = str(tmp_path_factory.mktemp("long") / "t.lance")
    lance.write_dataset(rows, path, max_rows_per_file=num_rows // 2, data_storage_version="2.2")
    return lance_sql.open(path)


def fragments_of(table: Dataset) -> list[OpenFragment]:
    return [table.snapshot.open_fragments.get(fragment) for fragment in table.snapshot.manifest.fragments]


@pytest.mark.parametrize("step", [1, 100, 5_000, 100_000])
def test_rows_that_are_far_apart_are_read_as_all_rows_are(
    long_table: Dataset, step: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    fragment = fragments_of(long_table)[0]
    fields = list(long_table.snapshot.manifest.schema.fields)
    in_mapping: list[tuple[int, int]] = []

    def noted(files: Any) -> Any:
        read = read_mapped(files)
        for touched in read[1] if read is not None else ():
            in_mapping.extend(touched)
        return read

    read_mapped = _kernels.read_mapped
    monkeypatch.setattr(_kernels, "read_mapped", noted)
    places = np.arange(3, fragment.num_rows, step)[:2000]
    rows = row_ranges.from_sorted(places)
    found = fragment.read(FieldsToRead(fields), rows)
    are_apart = not in_mapping
    whole = fragment.read(FieldsToRead(fields), row_ranges.single(0, fragment.num_rows))
    for array, expected in zip(found, whole, strict=True):
        assert array.equals(expected.take(pa.array(places)))
    # neighbours, and chunks of which nearly every one is needed, are taken from the mapping
    assert are_apart == (step >= 5_000)


def test_a_file_that_was_cut_is_damage_to_rows_that_are_far_apart(long_table: Dataset, tmp_path: Path) -> None:
    path = tmp_path / "t.lance"
    shutil.copytree(long_table.uri, path)
    table = lance_sql.open(path)
    fragment = fragments_of(table)[0]
    fields = list(table.snapshot.manifest.schema.fields)
    fragment.read(FieldsToRead(fields), row_ranges.single(0, 10))
    (file,) = fragment.fragment.files
    data = path / "data" / file.path
    data.write_bytes(data.read_bytes()[:1_000_000])
    with pytest.raises(CorruptFile):
        fragment.read(FieldsToRead(fields), row_ranges.from_sorted(np.arange(0, fragment.num_rows, 50_000)))


def test_file_metadata_is_shared_by_handles(
    long_table: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "t.lance"
    shutil.copytree(long_table.uri, path)
    parsed: list[int] = []
    parse = metadata_v2.parse_column

    def noted(data: pa.Buffer, file_size: int) -> metadata_v2.ColumnMetadata:
        parsed.append(1)
        return parse(data, file_size)

    monkeypatch.setattr(metadata_v2, "parse_column", noted)
    first = lance_sql.open(path).to_table()
    count = len(parsed)
    assert count > 0
    assert lance_sql.open(path).to_table() == first
    assert len(parsed) == count
    # another file under the same name is another file
    other = long_table.to_table().slice(10, long_table.count_rows() // 2)
    (name, *_) = sorted((path / "data").iterdir())
    made = lance.write_dataset(other, tmp_path / "other.lance", data_storage_version="2.2")
    (new,) = (tmp_path / "other.lance" / "data").iterdir()
    assert made.count_rows() == other.num_rows
    shutil.copyfile(new, name)
    half = long_table.count_rows() // 2
    table = lance_sql.open(path)
    (fragment,) = (each for each in fragments_of(table) if each.fragment.files[0].path == name.name)
    fields = list(table.snapshot.manifest.schema.fields)
    found = fragment.read(FieldsToRead(fields), row_ranges.single(0, half))
    for array, expected in zip(found, other.columns, strict=True):
        assert array.equals(pa.concat_arrays(expected.chunks))
    assert len(parsed) > count


def test_damage_names_file_column_and_page(tmp_path: Path) -> None:
    path = tmp_path / "t.lance"
    values = pa.array(np.random.default_rng(1).integers(0, 1000, 200_000))
    lance.write_dataset(pa.table({"x": values}), str(path), data_storage_version="2.2")
    (column,) = columns_of(lance_sql.open(path), "x")
    start = column.metadata.pages[0].buffers[1].start
    (file,) = (path / "data").iterdir()
    content = bytearray(file.read_bytes())
    # the width of the first packed group
    content[start + 8] = 200
    file.write_bytes(content)
    with pytest.raises(CorruptFile, match="chunk 0: a width of 200 bits") as caught:
        lance_sql.open(path).scan().to_table()
    assert caught.value.column == "x"
    assert caught.value.page == 0
    assert str(caught.value.file).endswith(file.name)


def test_pages_of_short_and_of_long_texts_are_read_together(tmp_path: Path) -> None:
    """Short texts read only the chunks of scattered rows, long ones read their bytes."""
    texts = [f"{number:040d}" for number in range(300_000)] + [f"{number:06000d}" for number in range(4_000)]
    parts = [texts[start : start + 20_000] for start in range(0, len(texts), 20_000)]
    batches = (pa.record_batch([pa.array(part)], ["s"]) for part in parts)
    lance.write_dataset(
        batches,
        tmp_path / "t",
        schema=pa.schema([("s", pa.string())]),
        data_storage_version="2.1",
        max_rows_per_file=10**7,
    )
    table = lance_sql.open(tmp_path / "t")
    for rows in ([5, 200_000, 301_000], [301_000, 5], [5, 100_000, 200_000, 300_500, 303_999]):
        assert table.take(rows)["s"].to_pylist() == [texts[row] for row in rows]


def test_bytes_between_scattered_rows_are_not_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    """For an unmapped file, and values that the kernels would read with all bytes between them."""
    num_rows = 20_000
    numbers = np.random.default_rng(3).random(100 * num_rows).astype(np.float32)
    lists = pa.ListArray.from_arrays(pa.array(np.arange(0, num_rows + 1, dtype=np.int32) * 50), pa.array(numbers))
    content = pa.table({"id": range(num_rows), "v": pa.FixedSizeListArray.from_arrays(numbers, 100), "l": lists})
    uri = "memory://far-apart/t.lance"
    lance_sql.write(content, uri)
    try:
        table = lance_sql.open(uri)
        asked: list[int] = []
        get_ranges = FsspecStore.get_ranges

        def noted(store: FsspecStore, path: str, ranges: Sequence[ByteRange]) -> list[pa.Buffer]:
            asked.extend(end - start for start, end in ranges)
            return get_ranges(store, path, ranges)

        monkeypatch.setattr(FsspecStore, "get_ranges", noted)
        rows = [3, 4, 9_000, 19_999]
        assert table.take(rows).equals(content.take(rows))
        assert sum(asked) < content.nbytes // 10
        asked.clear()
        assert table.to_table().equals(content)
        assert sum(asked) < 2 * content.nbytes
    finally:
        fsspec.filesystem("memory").rm("/far-apart", recursive=True)
