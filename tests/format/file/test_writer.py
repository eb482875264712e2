"""Files that the writer makes, read by this library and by pylance."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import lance_sql
from lance_sql.errors import InvalidArgument, LanceError, UnsupportedFeature
from lance_sql.format.file import pages_to_write, paging, writer
from lance_sql.format.file.writer import FileWriter
from lance_sql.format.layouts import encode_numbers
from lance_sql.format.schema.from_arrow import from_arrow
from lance_sql.store import LocalStore, MemoryStore
from tests.format.file.random_tables import random_batches
from tests.format.file.written import commit, open_both, write_file
from tests.golden.compare import difference

VERSIONS = ("2.0", "2.1", "2.2")
each_version = pytest.mark.parametrize("file_version", VERSIONS)
BFLOAT16 = {"ARROW:extension:name": "lance.bfloat16", "ARROW:extension:metadata": ""}
PACKED = {"lance-encoding:packed": "true"}
BLOB = {"lance-encoding:blob": "true"}

NUMBERS = [1, None, 3, 250, None, 0]
EXAMPLES: dict[str, pa.Array] = {
    **{
        str(type): pa.array(NUMBERS, pa.int64()).cast(type)
        for type in [
            pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64(),
            pa.float32(), pa.float64(), pa.bool_(), pa.string(), pa.large_string(), pa.string_view(),
            pa.timestamp("s"), pa.timestamp("us", "UTC"), pa.timestamp("ns", "+05:30"), pa.duration("ms"),
            pa.time64("us"), pa.time64("ns"), pa.decimal128(38, 2), pa.decimal256(76, 2),
        ] if type != pa.int8()
    },
    "int8": pa.array([1, None, -3], pa.int8()),
    "float16": pa.array([1.5, None, float("nan")], pa.float16()),
    "date32": pa.array(NUMBERS, pa.int32()).cast(pa.date32()),
    "date64": pa.array(NUMBERS, pa.int32()).cast(pa.date32()).cast(pa.date64()),
    "time32": pa.array(NUMBERS, pa.int32()).cast(pa.time32("ms")),
    "null": pa.nulls(4),
    "binary": pa.array([b"a", None, b"", b"x" * 5000], pa.binary()),
    "large_binary": pa.array([b"a", None, b"", b"x" * 5000], pa.large_binary()),
    "binary_view": pa.array([b"a", None, b"", b"x" * 5000], pa.binary_view()),
    "fixed_size_binary": pa.array([b"ab", None, b"cd"], pa.binary(2)),
    "few strings": pa.array([None, "", *["red", "green"] * 300]),
    "many strings": pa.array([None, "", *(f"word {n}" for n in range(3000))]),
    "dictionary": pa.array(["a", None, "b", "a"]).dictionary_encode(),
    "dictionary of integers": pa.array([7, None, 8, 7]).dictionary_encode().cast(pa.dictionary(pa.int8(), pa.int64())),
    "dictionary of nothing": pa.array([None, None], pa.string()).dictionary_encode(),
    "dictionary with NULL items": pa.DictionaryArray.from_arrays(
        pa.array([0, 1, None, 0], pa.int8()), pa.array(["a", None])
    ),
    "vectors": pa.array([[1.0, 2.0], None, [3.0, None]], pa.list_(pa.float32(), 2)),
    "large vectors": pa.array([[1.0] * 200, None, [3.0] * 200], pa.list_(pa.float64(), 200)),
    "vectors of booleans": pa.array([[True, False, None], None, [True] * 3], pa.list_(pa.bool_(), 3)),
    "vectors of vectors": pa.array([[[1, 2], [3, 4]], None], pa.list_(pa.list_(pa.int16(), 2), 2)),
    "lists": pa.array([[1, None], None, [], [4]], pa.list_(pa.int32())),
    "large lists": pa.array([["a", None], None, [], ["b"]], pa.large_list(pa.string())),
    "lists of nothing": pa.array([[], None, []], pa.list_(pa.int32())),
    "lists of NULLs": pa.array([[None, None], None, [], [None]], pa.list_(pa.null())),
    "lists of structs": pa.array([[{"x": 1}, {"x": None}], None, []], pa.list_(pa.struct([("x", pa.int8())]))),
    "structs": pa.array([{"x": 1, "y": "a"}, {"x": None}], pa.struct([("x", pa.int8()), ("y", pa.string())])),
    "all NULL": pa.nulls(300, pa.int32()),
    "all NULL strings": pa.nulls(300, pa.string()),
    "constant": pa.array([7] * 5000),
    "bfloat16": pa.array([b"ab", None], pa.binary(2)),
    "uuid": pa.array([b"0123456789abcdef", None], pa.uuid()),
}  # fmt: skip
NESTED = {
    "NULL structs": pa.array([{"x": [1], "y": "a"}, None, {"x": None, "y": None}, {"x": [], "y": ""}],
        pa.struct([("x", pa.list_(pa.int8())), ("y", pa.string())])),
    "NULL structs in lists": pa.array([[{"x": 1}, None], None, []], pa.list_(pa.struct([("x", pa.int8())]))),
}  # fmt: skip
ONLY_2_2 = {
    "maps": pa.array([[("a", 1), ("b", None)], None, []], pa.map_(pa.string(), pa.int32())),
    "maps in lists": pa.array([[[("a", [1])]], None, [None, []]], pa.list_(pa.map_(pa.string(), pa.list_(pa.int8())))),
    "maps in structs": pa.array([{"m": [("a", 1)]}, None], pa.struct([("m", pa.map_(pa.string(), pa.int8()))])),
}


def batch(*arrays: pa.Array, **named: pa.Array) -> pa.RecordBatch:
    return pa.record_batch({**{f"c{i}": array for i, array in enumerate(arrays)}, **named})


def check(root: Path, batches: list[pa.RecordBatch], file_version: str) -> None:
    """Both readers return the written rows: all, a few, and those that pass a filter."""
    expected = _without_views(pa.Table.from_batches(batches))
    theirs, ours = open_both(root, batches, file_version)
    some = np.unique(np.random.default_rng(0).integers(0, expected.num_rows, 10)).tolist()
    for found, wanted in [
        (ours.scan().to_table(), expected),
        (ours.take(some), expected.take(some)),
        (theirs.to_table(), expected),
        (theirs.take(some), expected.take(some)),
    ]:
        assert found.num_rows == wanted.num_rows
        for name in expected.column_names:
            assert difference(found[name], wanted[name]) is None, f"{name}: {expected[name].type}"
    for name in expected.column_names:
        for condition, keep in _filters(name, expected[name]):
            wanted = expected.filter(keep)
            for found in (ours.scan(filter=condition).to_table(), theirs.to_table(filter=condition)):
                assert found.num_rows == wanted.num_rows, (condition, expected[name].type)
                assert difference(found[name], wanted[name]) is None, (condition, expected[name].type)


def _filters(name: str, column: pa.ChunkedArray) -> Iterator[tuple[str, pa.ChunkedArray]]:
    """Conditions that both readers understand, and the rows that they keep."""
    type = column.type
    if pa.types.is_nested(type) or pa.types.is_dictionary(type) or isinstance(type, pa.BaseExtensionType):
        return
    yield f"{name} IS NOT NULL", pc.is_valid(column)
    if pa.types.is_signed_integer(type):
        yield f"{name} > 3", pc.fill_null(pc.greater(column, pa.scalar(3, type)), fill_value=False)


def _without_views(table: pa.Table) -> pa.Table:
    plain = {pa.string_view(): pa.string(), pa.binary_view(): pa.binary()}
    for i, name in enumerate(table.column_names):
        if table[name].type in plain:
            table = table.set_column(i, name, table[name].cast(plain[table[name].type]))
    return table


def memory_writer(schema: pa.Schema, file_version: str = "2.2") -> tuple[dict[str, bytes], FileWriter]:
    files: dict[str, bytes] = {}
    fields = from_arrow(schema, file_version=file_version)
    return files, FileWriter(MemoryStore(files), "data/a.lance", fields, file_version)


@each_version
@pytest.mark.parametrize("example", EXAMPLES)
def test_every_type_is_read_as_it_was_written(example: str, file_version: str, tmp_path: Path) -> None:
    values = EXAMPLES[example]
    check(tmp_path, [batch(values), batch(values.slice(1)), batch(values.slice(0, 1))], file_version)


@pytest.mark.parametrize("file_version", ["2.1", "2.2"])
@pytest.mark.parametrize("example", NESTED)
def test_null_structs(example: str, file_version: str, tmp_path: Path) -> None:
    check(tmp_path, [batch(NESTED[example]), batch(NESTED[example].slice(1))], file_version)


@pytest.mark.parametrize("example", ONLY_2_2)
def test_types_of_version_2_2(example: str, tmp_path: Path) -> None:
    check(tmp_path, [batch(ONLY_2_2[example]), batch(ONLY_2_2[example].slice(1))], "2.2")
    for older in ("2.0", "2.1"):
        with pytest.raises(UnsupportedFeature, match=rf"'c0[^']*': data files of version {older} cannot hold maps"):
            write_file(tmp_path / "older", [batch(ONLY_2_2[example])], older)
    assert not (tmp_path / "older").exists()


@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 10**6), file_version=st.sampled_from(VERSIONS))
def test_random_tables(seed: int, file_version: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    check(tmp_path_factory.mktemp("random"), random_batches(seed, file_version), file_version)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(600))
def test_more_random_tables(seed: int, tmp_path: Path) -> None:
    file_version = VERSIONS[seed % 3]
    check(tmp_path, random_batches(seed, file_version), file_version)


@pytest.fixture
def small_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer, "PAGE_BYTES", 2000)
    monkeypatch.setattr(writer, "_LEAST_PAGE_BYTES", 2000)
    monkeypatch.setattr(writer, "_LEAST_ROWS", 64)
    monkeypatch.setattr(writer, "_INLINE_BYTES", 100)
    monkeypatch.setattr(paging, "MAX_ENTRIES", 500)
    monkeypatch.setattr(paging, "MAX_GAP", 50)


@pytest.mark.slow
@pytest.mark.usefixtures("small_pages")
@pytest.mark.parametrize("seed", range(5000, 5200))
def test_random_tables_of_small_pages(seed: int, tmp_path: Path) -> None:
    file_version = VERSIONS[seed % 3]
    check(tmp_path, random_batches(seed, file_version), file_version)


@pytest.mark.usefixtures("small_pages")
@pytest.mark.parametrize("file_version", ["2.1", "2.2"])
def test_null_structs_around_lists_in_some_pages_only(file_version: str, tmp_path: Path) -> None:
    rows = [{"l": [1, 2]}] * 900 + [{"l": []}] * 900 + [None] * 900 + [None, {"l": None}, {"l": [3]}] * 300
    values = pa.array(rows, pa.struct([("l", pa.list_(pa.int8()))]))
    lists = pa.ListArray.from_arrays(pa.array(np.arange(0, 3601, 2), pa.int32()), values)
    check(tmp_path, [batch(values)], file_version)
    check(tmp_path / "lists", [batch(lists)], file_version)


@each_version
def test_large_columns_take_many_pages(file_version: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer, "PAGE_BYTES", 20_000)
    monkeypatch.setattr(writer, "_LEAST_PAGE_BYTES", 20_000)
    monkeypatch.setattr(paging, "MAX_ENTRIES", 3000)
    random = np.random.default_rng(0)
    count = 20_000
    lengths = random.integers(0, 6, count)
    lengths[5000] = 10_000
    offsets = pa.array(np.concatenate(([0], np.cumsum(lengths))), pa.int32())
    lists = pa.ListArray.from_arrays(offsets, pa.array(random.integers(0, 9, int(lengths.sum()))))
    words = pa.array(["x" * int(n) for n in random.integers(0, 50, count)], mask=random.random(count) < 0.1)
    words = pa.concat_arrays([words.slice(1), pa.array(["y" * 100_000])])
    whole = batch(pa.array(np.arange(count)), lists, words)
    check(tmp_path, [whole], file_version)
    check(tmp_path / "small", [whole.slice(start, 700) for start in range(0, count, 700)], file_version)


@pytest.mark.parametrize("file_version", ["2.1", "2.2"])
def test_many_empty_lists_side_by_side(file_version: str, tmp_path: Path) -> None:
    words = pa.array([f"s{i}" for i in range(20)]).dictionary_encode()
    bits = pa.FixedSizeListArray.from_arrays(pa.array([True, False, False] * 20), 3)
    offsets = np.concatenate((np.zeros(40_000), [1, 1, 5, 5, 20], np.full(70_000, 20))).astype(np.int32)
    lists = [pa.ListArray.from_arrays(pa.array(offsets), items) for items in (words, bits)]
    outer = pa.ListArray.from_arrays(pa.array(np.append(np.arange(0, 110_000, 3), 110_004), pa.int32()), lists[0])
    check(tmp_path, [batch(*lists)], file_version)
    check(tmp_path / "outer", [batch(outer)], file_version)


def test_the_same_batches_make_the_same_file() -> None:
    random = np.random.default_rng(0)
    rows = batch(*(pa.array(random.random(200_000)) for _ in range(6)))
    contents = []
    for _ in range(3):
        files, writing = memory_writer(rows.schema)
        for start in range(0, 200_000, 50_000):
            writing.write(rows.slice(start, 50_000))
        assert writing.num_rows == 200_000
        written = writing.finish()
        contents.append(files["data/a.lance"])
        assert written.size_bytes == len(contents[0])
    assert contents[0] == contents[1] == contents[2]


def _wide_rows(num_rows: int) -> pa.RecordBatch:
    """Columns of many kinds of numbers, and others between them."""
    random = np.random.default_rng(3)
    arrays: list[pa.Array] = []
    for number in range(0, 20, 2):
        integers = pa.array(random.integers(0, 4**number, num_rows).astype(np.int64))
        arrays += [integers, integers.cast(pa.float64(), safe=False), integers.cast(pa.int16(), safe=False)]
        arrays += [integers.cast(pa.string()), pc.if_else(pc.greater(integers, 3), integers, None)]
        arrays.append(integers.cast(pa.timestamp("us")))
    return batch(*arrays)


@pytest.mark.parametrize(
    ("num_rows", "file_version"), [(1, "2.1"), (200, "2.2"), *((3000, version) for version in VERSIONS)]
)
def test_pages_made_together_make_the_same_file(
    num_rows: int, file_version: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = _wide_rows(num_rows)
    check(tmp_path, [rows.slice(0, num_rows // 2), rows.slice(num_rows // 2)], file_version)
    contents = []
    for most_values, together in ((encode_numbers.MOST_VALUES, 1 << 20), (encode_numbers.MOST_VALUES, 1), (0, 1)):
        monkeypatch.setattr(encode_numbers, "MOST_VALUES", most_values)
        monkeypatch.setattr(pages_to_write, "_TOGETHER_BYTES", together)
        files, writing = memory_writer(rows.schema, file_version)
        writing.write(rows)
        writing.finish()
        contents.append(files["data/a.lance"])
    assert contents[0] == contents[1] == contents[2]


@each_version
def test_values_behind_nulls_are_left_out(file_version: str, tmp_path: Path) -> None:
    secret = pa.array([f"secret {n}" for n in range(400)])
    offsets = pa.array(np.arange(0, 401, 2), pa.int32())
    lists = pa.ListArray.from_arrays(offsets, secret, mask=pa.array(np.arange(200) % 2 == 0))
    check(tmp_path, [batch(lists), batch(lists.slice(3))], file_version)
    assert b"secret 4 " not in (tmp_path / "data/0.lance").read_bytes()


@each_version
def test_files_without_rows(file_version: str, tmp_path: Path) -> None:
    empty = batch(pa.array([], pa.int32()), pa.array([], pa.list_(pa.string())))
    written = write_file(tmp_path, [empty], file_version)
    assert written.num_rows == 0
    assert commit(tmp_path, written, empty.schema).to_table().num_rows == 0
    assert lance_sql.open(str(tmp_path)).scan().to_table().num_rows == 0


def test_a_file_without_columns() -> None:
    files, writing = memory_writer(pa.schema([]))
    assert writing.finish().fields == ()
    assert files["data/a.lance"].endswith(b"LANC")


@each_version
def test_json_text_is_stored_in_its_binary_form(file_version: str, tmp_path: Path) -> None:
    texts = ['{"a": [1, 2.5, null]}', None, "12", '"é"']
    schema = pa.schema([pa.field("j", pa.json_()), pa.field("l", pa.list_(pa.json_()))])
    rows = pa.record_batch(
        [
            pa.ExtensionArray.from_storage(pa.json_(), pa.array(texts)),
            pa.array([texts[:1], None, [], texts[1:]], pa.list_(pa.string())).cast(schema.field(1).type),
        ],
        schema=schema,
    )
    theirs, ours = open_both(tmp_path, [rows], file_version)
    for table in (ours.scan().to_table(), theirs.to_table()):
        found = table["j"].cast(pa.string()).to_pylist()
        assert [text and json.loads(text) for text in found] == [text and json.loads(text) for text in texts]
    assert ours.scan().to_table()["l"].to_pylist() == [['{"a":[1,2.5,null]}'], None, [], [None, "12", '"é"']]


@each_version
def test_blobs(file_version: str, tmp_path: Path) -> None:
    values = [b"abc", None, b"", b"x" * 100_000, b"y" * 300]
    schema = pa.schema([pa.field("b", pa.large_binary(), metadata=BLOB), pa.field("i", pa.int32())])
    batches = [
        pa.record_batch([pa.array(part, pa.large_binary()), pa.array(range(len(part)), pa.int32())], schema=schema)
        for part in (values, values[2:], values * 30)
    ]
    written = write_file(tmp_path, batches, file_version, schema)
    if file_version == "2.2":
        stored = pa.struct([("data", pa.large_binary()), ("uri", pa.string())])
        schema = schema.set(0, pa.field("b", stored, metadata={"ARROW:extension:name": "lance.blob.v2"}))
    theirs = commit(tmp_path, written, schema)
    expected = [value for part in batches for value in part.column(0).to_pylist()]
    rows = lance_sql.open(str(tmp_path)).scan().to_table()
    assert rows["b"].to_pylist() == expected
    assert rows["i"].to_pylist() == theirs.to_table(columns=["i"])["i"].to_pylist()
    blobs = theirs.take_blobs("b", indices=list(range(len(expected))))
    assert [None if blob is None else blob.readall() for blob in blobs] == expected


@pytest.mark.parametrize("file_version", ["2.1", "2.2"])
def test_blobs_in_structs(file_version: str, tmp_path: Path) -> None:
    values = pa.array(
        [{"b": b"abc"}, None, {"b": None}, {"b": b""}], pa.struct([pa.field("b", pa.binary(), metadata=BLOB)])
    )
    rows = batch(values)
    written = write_file(tmp_path, [rows], file_version)
    theirs = rows.schema
    if file_version == "2.2":
        stored = pa.struct([("data", pa.large_binary()), ("uri", pa.string())])
        blob = pa.field("b", stored, metadata={"ARROW:extension:name": "lance.blob.v2"})
        theirs = pa.schema([pa.field("c0", pa.struct([blob]))])
    else:
        theirs = pa.schema([pa.field("c0", pa.struct([pa.field("b", pa.large_binary(), metadata=BLOB)]))])
    commit(tmp_path, written, theirs)
    assert lance_sql.open(str(tmp_path)).scan().to_table()["c0"].to_pylist() == values.to_pylist()


@each_version
@pytest.mark.parametrize("with_vectors", [False, True])
def test_packed_structs(with_vectors: bool, file_version: str, tmp_path: Path) -> None:
    members = [("a", pa.int32()), ("b", pa.float64()), *[("v", pa.list_(pa.float32(), 3))] * with_vectors]
    type = pa.struct(members)
    values = pa.array([{"a": n, "b": n / 2, "v": [n, 1, 2]} for n in range(3000)], type)
    rows = pa.record_batch([values], schema=pa.schema([pa.field("c0", type, metadata=PACKED)]))
    if with_vectors and file_version == "2.1":
        with pytest.raises(UnsupportedFeature, match=r"a member that is a list; 2\.2 can"):
            write_file(tmp_path, [rows], file_version)
    else:
        check(tmp_path, [rows, rows.slice(5, 10)], file_version)


def test_packed_structs_with_strings(tmp_path: Path) -> None:
    type = pa.struct([("a", pa.int32()), ("s", pa.string())])
    values = pa.array([{"a": n, "s": "x" * (n % 7)} for n in range(3000)], type)
    rows = pa.record_batch([values], schema=pa.schema([pa.field("c0", type, metadata=PACKED)]))
    check(tmp_path, [rows], "2.2")
    with pytest.raises(UnsupportedFeature, match=r"'c0'.*packed structs with a member of type string; 2\.2 can"):
        write_file(tmp_path / "older", [rows], "2.1")


@each_version
@pytest.mark.parametrize("scheme", ["zstd", "lz4", "fsst", "none"])
def test_compression_that_a_field_asks_for(scheme: str, file_version: str, tmp_path: Path) -> None:
    metadata = {"lance-encoding:compression": scheme}
    words = pa.array([None, "", *(f"some words, {n} of them" * (n % 5) for n in range(5000))])
    columns = [words, words.cast(pa.large_binary()), pa.array(range(len(words)))]
    columns.append(pa.nulls(len(words), pa.string()))
    schema = pa.schema([pa.field(f"c{i}", column.type, metadata=metadata) for i, column in enumerate(columns)])
    rows = pa.record_batch(columns, schema=schema)
    check(tmp_path, [rows, rows.slice(7, 3000)], file_version)
    plain = pa.schema([field.with_metadata({"lance-encoding:compression": "none"}) for field in schema])
    without = write_file(tmp_path / "plain", [rows.cast(plain), rows.cast(plain).slice(7, 3000)], file_version)
    size = (tmp_path / "data/0.lance").stat().st_size
    if scheme != "none" and file_version == "2.0":
        assert size < 0.9 * without.size_bytes


@each_version
def test_packed_structs_keep_no_nulls(file_version: str) -> None:
    type = pa.struct([("a", pa.int32()), ("b", pa.int32())])
    schema = pa.schema([pa.field("p", type, metadata=PACKED)])
    _, writing = memory_writer(schema, file_version)
    writing.write(pa.record_batch([pa.array([{"a": 1, "b": None}], type)], schema=schema))
    with pytest.raises(InvalidArgument, match=r"'p'.*NULL"):
        writing.finish()
    writing.abort()


@pytest.mark.parametrize("file_version", ["2.1", "2.2"])
def test_packed_structs_in_lists(file_version: str, tmp_path: Path) -> None:
    type = pa.list_(pa.field("item", pa.struct([("a", pa.int32()), ("b", pa.float64())]), metadata=PACKED))
    rows: list[Any] = [[{"a": 1, "b": 2.0}, {"a": 3, "b": 4.0}], None, [], [{"a": 5, "b": 6.0}]]
    check(tmp_path, [batch(pa.array(rows * 100, type))], file_version)


@each_version
def test_vectors_of_bfloat16(file_version: str, tmp_path: Path) -> None:
    type = pa.list_(pa.field("item", pa.binary(2), metadata=BFLOAT16), 3)
    check(tmp_path, [batch(pa.array([[b"ab", b"cd", b"ef"], None], type))], file_version)


@pytest.mark.parametrize("file_version", ["2.1", "2.2"])
def test_structs_without_members(file_version: str, tmp_path: Path) -> None:
    # pylance finds NULLs in the columns behind one, in its own files as well
    nested = pa.array([{"x": 1, "e": {}}, {"x": 2, "e": {}}], pa.struct([("x", pa.int8()), ("e", pa.struct([]))]))
    rows = batch(pa.array([1, 2]), nested, pa.array([{}, {}], pa.struct([])))
    _, ours = open_both(tmp_path, [rows], file_version)
    assert ours.scan().to_table().to_pylist() == rows.to_pylist()
    with pytest.raises(UnsupportedFeature, match="struct without members"):
        write_file(tmp_path / "null", [batch(pa.array([{}, None], pa.struct([])))], file_version)


def test_fixed_size_lists_of_structs(tmp_path: Path) -> None:
    type = pa.list_(pa.struct([("x", pa.int32()), ("y", pa.string())]), 2)
    values = pa.array([[{"x": 1, "y": "a"}, None], None, [{"x": None, "y": "b"}, {"x": 4, "y": None}]], type)
    check(tmp_path, [batch(values), batch(values.slice(1))], "2.2")


@each_version
def test_strings_of_any_kind_become_those_of_the_field(file_version: str, tmp_path: Path) -> None:
    schema = pa.schema([("s", pa.string()), ("l", pa.list_(pa.large_string()))])
    texts = pa.array(["a", None, "b"])
    lists = pa.array([["a"], None, [None, "b"]], pa.list_(pa.string()))
    batches = [
        pa.record_batch({"s": texts, "l": lists}),
        pa.record_batch({"s": texts.cast(pa.large_string()), "l": lists.cast(pa.list_(pa.string_view()))}),
        pa.record_batch({"s": texts.dictionary_encode(), "l": lists.cast(pa.large_list(pa.large_string()))}),
    ]
    written = write_file(tmp_path, batches, file_version, schema)
    commit(tmp_path, written, schema)
    found = lance_sql.open(str(tmp_path)).scan().to_table()
    assert found.schema.types == schema.types
    assert found["s"].to_pylist() == ["a", None, "b"] * 3
    assert found["l"].to_pylist() == lists.to_pylist() * 3


@each_version
def test_few_keys_of_a_large_dictionary(file_version: str, tmp_path: Path) -> None:
    items = pa.array([f"item {n} " * 200 for n in range(10_000)])
    keys = pa.array(np.random.default_rng(0).integers(0, 10_000, 9000), pa.int32())
    keys = pa.concat_arrays([keys, pa.nulls(3, pa.int32())])
    values = pa.DictionaryArray.from_arrays(keys, items)
    batches = [batch(values.slice(start, 20)) for start in range(0, 100, 20)]
    check(tmp_path, batches, file_version)
    assert (tmp_path / "data/0.lance").stat().st_size < 1_000_000
    check(
        tmp_path / "more",
        [batch(values.slice(0, 5000)), batch(values.slice(5000)), batch(values.slice(0, 0))],
        file_version,
    )


@each_version
def test_nulls_where_there_may_be_none_are_refused_with_their_row(file_version: str) -> None:
    schema = pa.schema([pa.field("a", pa.int32(), nullable=False)])
    files, writing = memory_writer(schema, file_version)
    writing.write(pa.record_batch([pa.array([1, 2], pa.int32())], schema=schema))
    writing.write(pa.record_batch([pa.array([1, None], pa.int32())], schema=schema))
    with pytest.raises(InvalidArgument, match=r"'a' may not be NULL.* in row 3"):
        writing.finish()
    writing.abort()
    assert files == {}


def test_rows_are_counted_over_small_and_large_batches() -> None:
    schema = pa.schema([pa.field("a", pa.int64(), nullable=False)])
    _, writing = memory_writer(schema)
    for size in (1, 5000, 10, 20, 9000, 3):
        writing.write(pa.record_batch([pa.array(np.arange(size))], schema=schema))
    writing.write(pa.record_batch([pa.array([1, None])], schema=schema))
    assert writing.num_rows == 14_036
    with pytest.raises(InvalidArgument, match="row 14035"):
        writing.finish()
    writing.abort()


@each_version
def test_nulls_in_lists_are_refused_with_their_row(file_version: str) -> None:
    schema = pa.schema([("l", pa.list_(pa.struct([pa.field("x", pa.int8(), nullable=False)])))])
    _, writing = memory_writer(schema, file_version)
    x = pa.array([1, 2, 1, None], pa.int8())
    structs = pa.StructArray.from_arrays([x], fields=list(schema.field(0).type.value_type))
    rows = pa.ListArray.from_arrays(pa.array([0, None, 2, 2, 4], pa.int32()), structs, type=schema.field(0).type)
    writing.write(pa.record_batch([rows], schema=schema))
    with pytest.raises(InvalidArgument, match=r"'l\.item\.x' may not be NULL.* in row 3"):
        writing.finish()
    writing.abort()


@pytest.mark.parametrize("file_version", ["2.1", "2.2"])
def test_values_inside_null_structs_are_ignored(file_version: str, tmp_path: Path) -> None:
    inner = pa.array([1, None, 3], pa.int8())
    type = pa.struct([pa.field("x", pa.int8(), nullable=False)])
    structs = pa.StructArray.from_arrays([inner], fields=list(type), mask=pa.array([False, True, False]))
    theirs, ours = open_both(tmp_path, [batch(structs)], file_version)
    assert ours.scan().to_table()["c0"].to_pylist() == theirs.to_table()["c0"].to_pylist() == structs.to_pylist()


def test_null_structs_are_refused_by_version_2_0() -> None:
    rows = batch(pa.array([{"x": 1}, None], pa.struct([("x", pa.int8())])))
    _, writing = memory_writer(rows.schema, "2.0")
    writing.write(rows)
    with pytest.raises(InvalidArgument, match=r"'c0' is a struct, which may not be NULL in .* 2\.0.*row 1"):
        writing.finish()
    writing.abort()


@each_version
@pytest.mark.parametrize("nested", [False, True])
def test_text_that_is_no_json_is_refused_with_its_row(nested: bool, file_version: str) -> None:
    metadata = {"ARROW:extension:name": "arrow.json"}
    texts: Any = ["1", None, "{"]
    field = pa.field("j", pa.string(), metadata=metadata)
    values = pa.array(texts)
    if nested:
        field = pa.field("l", pa.list_(field))
        values = pa.array([None, ["1", None], ["2", "{"]], pa.list_(pa.string())).cast(field.type)
    schema = pa.schema([field])
    _, writing = memory_writer(schema, file_version)
    writing.write(pa.record_batch([values], schema=schema))
    with pytest.raises(InvalidArgument, match="'j' holds text that is not JSON in row 2"):
        writing.finish()
    writing.abort()


@pytest.mark.parametrize(
    ("found", "text"),
    [
        ({"a": pa.array([1])}, "'b' missing"),
        ({"a": pa.array([1]), "b": pa.array(["x"]), "c": pa.array([1])}, "'c' not in the table"),
        ({"b": pa.array(["x"]), "a": pa.array([1])}, "another order"),
        ({"a": pa.array([1], pa.int32()), "b": pa.array(["x"])}, "'a' is int64, not int32"),
        ({"a": pa.array([1]), "b": pa.array([b"x"])}, "'b' is string, not binary"),
    ],
)
def test_other_columns_are_refused(found: dict[str, pa.Array], text: str) -> None:
    _, writing = memory_writer(pa.schema([("a", pa.int64()), ("b", pa.string())]))
    with pytest.raises(InvalidArgument, match=text):
        writing.write(pa.record_batch(found))
    writing.abort()


@pytest.mark.parametrize(
    ("expected", "found", "text"),
    [
        (pa.struct([("x", pa.int8())]), pa.struct([("y", pa.int8())]), "'a' is a struct of x, not of y"),
        (pa.list_(pa.int8()), pa.list_(pa.int16()), r"'a\.item' is int8, not int16"),
        (pa.list_(pa.int8()), pa.list_(pa.int8(), 2), "'a' is list"),
        (pa.list_(pa.int8(), 2), pa.list_(pa.int8(), 3), "'a' is fixed_size_list"),
        (pa.map_(pa.string(), pa.int8()), pa.map_(pa.string(), pa.int16()), r"'a\.value' is int8"),
        (pa.timestamp("us"), pa.timestamp("us", "UTC"), "'a' is timestamp"),
        (pa.dictionary(pa.int8(), pa.string()), pa.string(), "'a' is dictionary"),
    ],
)
def test_other_types_are_refused(expected: pa.DataType, found: pa.DataType, text: str) -> None:
    _, writing = memory_writer(pa.schema([("a", expected)]))
    with pytest.raises(InvalidArgument, match=text):
        writing.write(pa.record_batch([pa.array([], found)], names=["a"]))
    writing.abort()


@pytest.mark.parametrize(
    ("type", "metadata", "file_version", "text"),
    [
        (pa.list_(pa.struct([("x", pa.int8())]), 2), None, "2.1", "fixed-size lists of structs; 2.2 can"),
        (pa.list_(pa.list_(pa.struct([("x", pa.int8())]), 2)), None, "2.2", "fixed-size lists of structs in lists"),
        (pa.list_(pa.struct([("x", pa.list_(pa.int8()))]), 2), None, "2.2", "lists in fixed-size lists of structs"),
        (pa.list_(pa.struct([])), None, "2.2", "structs without members in lists"),
        (pa.struct([("x", pa.bool_())]), PACKED, "2.2", "packed structs with booleans"),
        (pa.struct([("x", pa.list_(pa.int8()))]), PACKED, "2.2", "packed structs with a member of type list"),
        (pa.list_(pa.field("item", pa.binary(), metadata=BLOB)), None, "2.1", "blobs in lists"),
    ],
)
def test_unsupported_types_are_refused_before_the_first_byte(
    type: pa.DataType, metadata: dict[str, str] | None, file_version: str, text: str
) -> None:
    files: dict[str, bytes] = {}
    schema = from_arrow(pa.schema([pa.field("a", type, metadata=metadata)]), file_version=file_version)
    with pytest.raises(UnsupportedFeature, match=text):
        FileWriter(MemoryStore(files), "data/a.lance", schema, file_version)
    assert files == {}


def test_other_versions_are_refused() -> None:
    for file_version in ("0.1", "2.3", "next"):
        with pytest.raises(LanceError, match=r"cannot be written: pass 2\.0, 2\.1, 2\.2"):
            FileWriter(MemoryStore({}), "a", from_arrow(pa.schema([])), file_version)


def test_an_abandoned_file_is_removed(tmp_path: Path) -> None:
    rows = batch(pa.array(np.random.default_rng(0).random(3_000_000)))
    writing = FileWriter(LocalStore(str(tmp_path)), "data/a.lance", from_arrow(rows.schema))
    writing.write(rows)
    assert writing.num_bytes > 20_000_000
    writing.abort()
    assert list((tmp_path / "data").iterdir()) == []


def test_a_writer_that_cannot_be_made_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*arguments: Any) -> None:
        raise MemoryError

    monkeypatch.setattr(writer, "LeafWriter", failing)
    with pytest.raises(MemoryError):
        FileWriter(LocalStore(str(tmp_path)), "data/a.lance", from_arrow(pa.schema([pa.field("a", pa.int64())])))
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]
