"""Columns that the kernels open together have the values of columns that Python opens one by one."""

from __future__ import annotations

import operator
import re
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import lance
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import lance_sql
from lance_sql import _kernels
from lance_sql.dataset import Dataset
from lance_sql.errors import CorruptFile, LanceError
from lance_sql.format.encodings.tree import General
from lance_sql.format.file import kernel_column, mapped_columns
from lance_sql.format.file.column_rows import read_columns
from lance_sql.format.file.leaves import join
from lance_sql.format.file.mapped_columns import MappedColumns
from lance_sql.format.layouts.column_type import plain_type
from lance_sql.format.layouts.tree import MiniBlock
from lance_sql.format.schema import Field
from lance_sql.table import fragment_rows
from lance_sql.table.listed_columns import FieldsToRead
from lance_sql.table.open_fragment import OpenFragment
from lance_sql.values import row_ranges
from lance_sql.values.row_ranges import RowRanges
from tests.table.test_small_fragments import NUM_ROWS, TYPES, VERSIONS, Version, fragments_of, values

NUM_COLUMNS = 8 * len(TYPES)


def columns(seed: int) -> pa.Table:
    """Eight columns of every type, some without NULLs."""
    made = {}
    for number in range(NUM_COLUMNS):
        name, type = list(TYPES.items())[number % len(TYPES)]
        made[f"{name}_{number}"] = values(seed + number, type)
    return pa.table(made)


@pytest.fixture(scope="module", params=VERSIONS)
def table(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    """Fragments of many columns: with a second file and deleted rows, without columns, of equal rows and of NULLs."""
    path = str(tmp_path_factory.mktemp("wide") / "wide.lance")
    lance.write_dataset(columns(0), path, data_storage_version=request.param)
    lance.write_dataset(columns(1).select(range(100)), path, mode="append")
    lance.write_dataset(columns(1).take([0] * NUM_ROWS), path, mode="append")
    nulls = pa.table({field.name: pa.nulls(NUM_ROWS, field.type) for field in columns(1).schema})
    lance_sql.write(nulls, path, mode="append")
    lance.dataset(path).add_columns({"more": "int64_2 + 1"})
    lance.dataset(path).delete("int8_1 < 20 and int64_2 is not null")
    return lance_sql.open(path)


@pytest.mark.parametrize(
    "rows",
    [
        row_ranges.single(0, NUM_ROWS),
        row_ranges.single(3, 4),
        np.array([[0, 2], [5, 6], [20, NUM_ROWS]], np.int64),
    ],
    ids=["all", "one", "some"],
)
def test_together_is_one_by_one(table: Dataset, rows: RowRanges) -> None:
    fields = table.snapshot.manifest.schema.fields
    # another handle has its own pages
    others = fragments_of(lance_sql.open(table.uri))
    for fragment, other in zip(fragments_of(table), others, strict=True):
        found = fragment.read(FieldsToRead(fields), rows)
        for array, expected in zip(found, in_python(other, fields, rows), strict=True):
            array.validate(full=True)
            assert array.equals(expected)


def test_several_fragments_are_read_as_one_by_one(table: Dataset) -> None:
    rows = np.array([[0, 2], [5, 6], [20, NUM_ROWS]], np.int64)
    parts = [(fragment, rows) for fragment in fragments_of(table)] * 2
    # every column of some fragments is in another file, or in none
    for fields in (table.snapshot.manifest.schema.fields, table.snapshot.manifest.schema.fields[:50]):
        wanted = FieldsToRead(fields)
        one_by_one = [fragment.read(wanted, rows) for fragment, _ in parts]
        for array, expected in zip(fragment_rows.read(parts, wanted), zip(*one_by_one, strict=True), strict=True):
            array.validate(full=True)
            assert array.equals(pa.concat_arrays(expected))


def test_damage_in_one_of_several_fragments_is_named(tmp_path: Path) -> None:
    path = str(tmp_path / "t.lance")
    for start in (0, 5000):
        lance_sql.write({"a": [f"text {start + i}" for i in range(5000)]}, path, mode="append")
    fragments = fragments_of(lance_sql.open(path))
    rows = np.array([[0, 2], [4000, 4001]], np.int64)
    (damaged,) = fragments[1].fragment.files
    file = tmp_path / "t.lance" / "data" / damaged.path
    content = bytearray(file.read_bytes())
    content[: len(content) // 2] = b"\xff" * (len(content) // 2)
    file.write_bytes(bytes(content))
    with pytest.raises(CorruptFile, match=re.escape(damaged.path)):
        fragment_rows.read([(fragment, rows) for fragment in fragments], FieldsToRead(fields_of(path)))


def fields_of(path: str) -> Sequence[Field]:
    return lance_sql.open(path).snapshot.manifest.schema.fields


def in_python(fragment: OpenFragment, fields: Sequence[Field], rows: RowRanges) -> list[pa.Array]:
    """The fields, of which Python opens each page."""
    arrays = []
    for field in fields:
        columns = fragment._stored(field, None).columns
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(mapped_columns, "is_possible", lambda _: False)
            opened = {id: read_columns([column], rows)[0] for id, column in columns.items()}
        arrays.append(join(field, opened, row_ranges.count(rows)))
    return arrays


LARGE = {
    "vector": pa.list_(pa.float32(), 96),
    "halves": pa.list_(pa.float16(), 33),
    "codes": pa.list_(pa.int8(), 260),
    "text": pa.string(),
    "bytes": pa.large_binary(),
    "number": pa.int64(),
    "decimal": pa.decimal128(38, 2),
    "fixed": pa.binary(200),
}
"""Types whose values become full-zip pages, all of them by request."""

SCHEMES = ("none", "lz4", "zstd", "fsst")


def large_values(type: pa.DataType, *, nullable: bool) -> pa.Array:
    """Values of 200 bytes and more, where the type allows."""
    random = np.random.default_rng(5)
    missing = pa.array(random.random(NUM_ROWS) < (0.3 if nullable else 0))
    if pa.types.is_fixed_size_list(type):
        items = random.integers(-100, 100, NUM_ROWS * type.list_size).astype(type.value_type.to_pandas_dtype())
        # the items of NULL are not NULL
        return pa.FixedSizeListArray.from_arrays(pa.array(items, type.value_type), type=type, mask=missing)
    if pa.types.is_fixed_size_binary(type):
        made = pa.array([random.bytes(200) for _ in range(NUM_ROWS)], type)
    elif pa.types.is_string(type) or pa.types.is_large_binary(type):
        made = pa.array([f"{i:05d} of a text" * int(random.integers(0, 90)) for i in range(NUM_ROWS)]).cast(type)
    else:
        made = pa.array(random.integers(0, 10**9, NUM_ROWS)).cast(type)
    return pc.if_else(missing, None, made)


def large_columns(scheme: str) -> pa.Table:
    settings = {"lance-encoding:structural-encoding": "fullzip", "lance-encoding:compression": scheme}
    made = {f"{name}_{n}": large_values(type, nullable=n) for name, type in LARGE.items() for n in (False, True)}
    schema = pa.schema([pa.field(name, array.type, metadata=settings) for name, array in made.items()])
    return pa.table(list(made.values()), schema)


def repeated_columns(scheme: str) -> pa.Table:
    """Values of which many are equal, so that pages have dictionaries."""
    settings = {"lance-encoding:dict-divisor": "1", "lance-encoding:dict-values-compression": scheme}
    numbers = np.random.default_rng(4).integers(0, 7, 4000)
    texts = pa.array([f"text {number}" * 20 for number in numbers])
    made = [texts, texts.cast(pa.large_binary()), pa.array(numbers).cast(pa.decimal128(38, 2))]
    schema = pa.schema([pa.field(f"c{number}", each.type, metadata=settings) for number, each in enumerate(made)])
    return pa.table(made, schema)


@pytest.mark.parametrize("scheme", ["none", "lz4", "zstd"])
@pytest.mark.parametrize("version", VERSIONS)
def test_dictionaries_are_opened_by_the_kernels(tmp_path: Path, version: Version, scheme: str) -> None:
    rows = repeated_columns(scheme)
    lance.write_dataset(rows, tmp_path / "t.lance", data_storage_version=version)
    table = lance_sql.open(tmp_path / "t.lance")
    (fragment,) = fragments_of(table)
    found = fragment.read(
        FieldsToRead(table.snapshot.manifest.schema.fields), np.array([[2, 3], [700, 3000]], np.int64)
    )
    assert not fragment._columns
    assert pa.table(found, rows.column_names).equals(rows.take([2, *range(700, 3000)]).combine_chunks())
    for field in table.snapshot.manifest.schema.fields:
        stored = fragment.stored(field)
        assert stored is not None
        (page,) = stored[1].pages
        assert isinstance(page.layout, MiniBlock)
        assert page.layout.dictionary is not None
        # pylance compresses them from 2.2 on
        assert isinstance(page.layout.dictionary, General) == (scheme != "none" and version == "2.2")


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("version", VERSIONS)
def test_large_values_are_opened_by_the_kernels(tmp_path: Path, version: Version, scheme: str) -> None:
    lance.write_dataset(large_columns(scheme), tmp_path / "t.lance", data_storage_version=version)
    table = lance_sql.open(tmp_path / "t.lance")
    fields = table.snapshot.manifest.schema.fields
    for rows in (row_ranges.single(0, NUM_ROWS), np.array([[2, 3], [7, 19]], np.int64)):
        fragment = fragments_of(table)[0]
        found = fragment.read(FieldsToRead(fields), rows)
        assert not fragment._columns
        for field, array, expected in zip(fields, found, in_python(fragment, fields, rows), strict=True):
            array.validate(full=True)
            assert array.equals(expected), field.name
        fragment._columns.clear()


def test_pages_are_opened_when_their_rows_are_read(tmp_path: Path) -> None:
    path = tmp_path / "t.lance"
    rows = pa.table({"a": pa.array(range(200_000)), "b": pa.array([f"{i:0200d}" for i in range(200_000)])})
    lance.write_dataset(rows.to_reader(10_000), path, data_storage_version="2.1")
    fragment = fragments_of(lance_sql.open(path))[0]
    fields = lance_sql.open(path).snapshot.manifest.schema.fields
    starts = next(iter(fragment.columns_of(fields[1]))).row_starts
    assert len(starts) > 3
    for first in (0, int(starts[2]), int(starts[1]) - 2, 0):
        wanted = np.array([[first, first + 4], [first + 9, first + 10]], np.int64)
        found = pa.table(fragment.read(FieldsToRead(fields), wanted), ["a", "b"])
        assert found.equals(rows.take([*range(first, first + 4), first + 9]).combine_chunks())


def test_pages_that_were_opened_otherwise_are_left_as_they_are(tmp_path: Path) -> None:
    path = tmp_path / "t.lance"
    rows = pa.table({"a": pa.array([f"{i:0200d}" for i in range(100_000)])})
    lance.write_dataset(rows.to_reader(10_000), path, data_storage_version="2.1")
    fragment = fragments_of(lance_sql.open(path))[0]
    (column,) = fragment.columns_of(lance_sql.open(path).snapshot.manifest.schema.fields[0])
    start, end = column.row_starts[1:3].tolist()
    wanted_type = plain_type(pa.string())
    assert wanted_type is not None
    opened, wanted = MappedColumns(), [(0, wanted_type)]
    (reader,) = opened.open(column.file, wanted, row_ranges.single(0, 2), are_plain=True)
    assert reader is not None
    # a page of which only NULLs are known
    reader.open(1, _kernels.PageReader.constant(end - start, format=(True, 32), value=None), 0, 0)
    assert opened.open(column.file, wanted, row_ranges.single(start, start + 1), are_plain=True) == [None]
    assert opened.open(column.file, wanted, row_ranges.single(5, 9), are_plain=True) == [reader]
    assert opened.open(column.file, wanted, row_ranges.single(end, end + 1), are_plain=True) == [reader]


def test_scans_of_wide_fragments_are_whole(table: Dataset) -> None:
    theirs = lance.dataset(table.uri)
    assert table.scan().to_table().equals(theirs.to_table())
    condition = "int64_2 > 500 and text_9 is not null"
    assert table.scan(filter=condition).to_table().equals(theirs.to_table(filter=condition))


def test_most_columns_are_opened_by_the_kernels(table: Dataset) -> None:
    lance_sql.clear_caches()
    fragment = fragments_of(lance_sql.open(table.uri))[0]
    fragment.read(FieldsToRead(table.snapshot.manifest.schema.fields), row_ranges.single(0, NUM_ROWS))
    # Python opens nested ones, and dictionaries that stay dictionaries
    assert 1 <= len(fragment._columns) <= NUM_COLUMNS // 4


MANY_ROWS = 20_000


def columns_to_filter() -> dict[str, pa.Array]:
    """Columns of every kind of page: numbers and texts, of which few are equal, most are, all are, or none has a
    value."""
    random = np.random.default_rng(3)
    numbers = pa.array(random.integers(0, 1 << 40, MANY_ROWS))
    few = pa.array(random.integers(0, 6, MANY_ROWS))
    missing = pa.array(random.random(MANY_ROWS) < 0.2)
    made = {}
    for name, each in {"many": numbers, "few": few, "one": pa.array([4] * MANY_ROWS)}.items():
        text = each.cast(pa.string())
        large = pc.binary_join_element_wise(text, "x" * 300, "")
        times, wide = each.cast(pa.timestamp("us")), text.cast(pa.large_binary())
        for kind, array in {"number": each, "text": text, "large": large, "time": times, "wide": wide}.items():
            made[f"{name}_{kind}"] = array
            made[f"{name}_{kind}_null"] = pc.if_else(missing, None, array)
    return made | {"none": pa.nulls(MANY_ROWS, pa.int64()), "no_text": pa.nulls(MANY_ROWS, pa.string())}


@pytest.mark.parametrize("version", VERSIONS)
def test_filters_open_no_page_in_python(tmp_path: Path, version: Version, monkeypatch: pytest.MonkeyPatch) -> None:
    made = columns_to_filter()
    lance.write_dataset(pa.table(made | {"row": range(MANY_ROWS)}), tmp_path / "t.lance", data_storage_version=version)

    def refuse(*_: object) -> None:
        raise AssertionError("a page was opened in Python")

    monkeypatch.setattr(kernel_column, "StoredPage", refuse)
    signs = {"=": operator.eq, "<": operator.lt, ">=": operator.ge}
    for name, array in made.items():
        constant = pa.scalar("5").cast(array.type) if array.null_count == MANY_ROWS else array.drop_null()[0]
        conditions = {"IS NULL": (pc.field(name).is_null(), pc.is_null(array))}
        for sign, compare in signs.items():
            answers = getattr(pc, {"=": "equal", "<": "less", ">=": "greater_equal"}[sign])(array, constant)
            conditions[sign] = compare(pc.field(name), constant), answers.fill_null(False)
        for sign, (condition, expected) in conditions.items():
            lance_sql.clear_caches()
            found = lance_sql.open(tmp_path / "t.lance").scan(["row"], condition).to_table()
            assert found["row"].to_pylist() == np.flatnonzero(expected).tolist(), (name, sign)


@pytest.mark.parametrize("version", VERSIONS)
def test_nested_columns_and_dictionaries_are_opened_together(
    tmp_path: Path, version: Version, monkeypatch: pytest.MonkeyPatch
) -> None:
    structs = pa.array([{"a": 1, "b": "x"}, None, {"a": None, "b": "y"}] * 700)
    rows = pa.table(
        {
            "list": pa.array([[1, None], [], None] * 700),
            "struct": structs,
            "no struct": pa.nulls(2100, structs.type),
            "lists of structs": pa.array([[{"a": 1}], [None], None] * 700),
            "dictionary": pa.array(["a", "b", None] * 700).dictionary_encode(),
            "vector": pa.array([[1, None], None, [3, 4]] * 700, pa.list_(pa.int16(), 2)),
        }
    )
    lance.write_dataset(rows, tmp_path / "t.lance", data_storage_version=version)

    def refuse(*_: object) -> None:
        raise AssertionError("a page was opened alone")

    monkeypatch.setattr(kernel_column, "StoredPage", refuse)
    for places in ([4, 7, 299], list(range(2100))):
        lance_sql.clear_caches()
        assert lance_sql.open(tmp_path / "t.lance").take(places).to_pylist() == rows.take(places).to_pylist()
    lance_sql.clear_caches()
    assert lance_sql.open(tmp_path / "t.lance").to_table().to_pylist() == rows.to_pylist()


CONTENTS = {
    "many": lambda: columns(0),
    "large": lambda: large_columns("fsst"),
    "dictionaries": lambda: repeated_columns("lz4"),
}


@pytest.mark.parametrize("content", list(CONTENTS))
@pytest.mark.parametrize("version", VERSIONS)
def test_damage_is_reported_as_for_one_column(tmp_path: Path, version: Version, content: str) -> None:
    path = tmp_path / "t.lance"
    part = CONTENTS[content]()
    lance.write_dataset(part, path, data_storage_version=version)
    (file,) = (path / "data").iterdir()
    whole = file.read_bytes()
    random = np.random.default_rng(7)
    outcomes = set()
    everything = row_ranges.single(0, part.num_rows)
    for at in random.integers(0, len(whole), 75).tolist():
        damaged = bytearray(whole)
        damaged[at] ^= 1 << int(random.integers(0, 8))
        file.write_bytes(damaged)
        table = lance_sql.open(path)
        fields = table.snapshot.manifest.schema.fields
        expected = said = None
        try:
            expected = in_python(fragments_of(table)[0], fields, everything)
        except LanceError as error:
            said = str(error)
        found = None
        with suppress(LanceError):
            found = fragments_of(lance_sql.open(path))[0].read(FieldsToRead(fields), everything)
        assert (found is None) == (expected is None), said
        if found is not None and expected is not None:
            assert all(array.equals(other) for array, other in zip(found, expected, strict=True))
        outcomes.add("refused" if found is None else "read")
    assert outcomes == {"refused", "read"}


def test_a_file_of_other_rows_is_refused(tmp_path: Path) -> None:
    path, other = tmp_path / "t.lance", tmp_path / "other.lance"
    lance.write_dataset(columns(0), path)
    lance.write_dataset(columns(0).slice(0, NUM_ROWS - 1), other)
    (file,), (shorter,) = (path / "data").iterdir(), (other / "data").iterdir()
    file.write_bytes(shorter.read_bytes())
    with pytest.raises(CorruptFile, match="rows"):
        lance_sql.open(path).scan().to_table()
