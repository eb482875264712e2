"""Values joined from several files or pages: dictionaries of several pages, JSON below NULL, blobs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import lance
import pyarrow as pa
import pytest

import lance_sql
from lance_sql import Dataset
from lance_sql.errors import InvalidArgument, UnsupportedFeature
from lance_sql.values import dictionaries
from tests.covering import covering

VERSIONS = ["2.0", "2.1", "2.2"]
KEYS = {"int8": 128, "uint8": 256, "int16": 32768}
KEY_TYPES = ["int8", "uint8", pytest.param("int16", marks=pytest.mark.slow)]


def codes(day: int, count: int, keys: str, *, null: bool = False) -> pa.DictionaryArray:
    """Values of which another day has none."""
    items = [None] * null + [f"{day}_{number}" for number in range(count - null)]
    return pa.DictionaryArray.from_arrays(pa.array(range(count), getattr(pa, keys)()), pa.array(items))


INSIDE: dict[str, Callable[[Any], Any]] = {
    "plain": lambda values: values,
    "struct": lambda values: pa.StructArray.from_arrays([values], ["a"]),
    "list": lambda values: pa.ListArray.from_arrays(pa.array(range(len(values) + 1), pa.int32()), values),
}


def check(table: Dataset, expected: list[Any]) -> None:
    """Whoever reads the table reads these values, in any order."""
    readers: dict[str, Callable[[], Any]] = {
        "scan": lambda: table.to_table(["x"]),
        "batches": lambda: table.scan(["x"], batch_size=100).to_table(),
        "filter": lambda: table.scan(["x"], "id >= 0").to_table(),
        "take": lambda: table.take(list(range(0, table.count_rows(), 7)), ["x"]),
        "DuckDB": lambda: lance_sql.connect().sql(f"SELECT x FROM '{table.uri}'").to_arrow_table(),
        "pylance": lambda: lance.dataset(table.uri).to_table(["x"]),
    }
    wanted = sorted(map(repr, expected))
    for name, read in readers.items():
        found = sorted(map(repr, read().column("x").to_pylist()))
        assert found == wanted if name != "take" else set(found) <= set(wanted), name
    assert lance_sql.verify(table.uri, deep=True).is_healthy


@covering(share=[0.4, 0.5, 1.0], keys=["int8", "uint8"], file_version=VERSIONS, inside=list(INSIDE))
def test_days_with_dictionaries_of_their_own(
    tmp_path: Path, share: float, keys: str, file_version: str, inside: str
) -> None:
    check_days(tmp_path, share, keys, file_version, inside)


@pytest.mark.slow
@pytest.mark.parametrize("file_version", VERSIONS)
@pytest.mark.parametrize("share", [0.4, 0.5, 1.0])
def test_days_with_many_values(tmp_path: Path, share: float, file_version: str) -> None:
    check_days(tmp_path, share, "int16", file_version, "plain")


def check_days(tmp_path: Path, share: float, keys: str, file_version: str, inside: str) -> None:
    count = int(KEYS[keys] * share)
    path, expected = tmp_path / "t.lance", []
    for day in range(2):
        values = INSIDE[inside](codes(day, count, keys))
        rows = pa.table({"id": range(day * count, day * count + count), "x": values})
        expected += values.to_pylist()
        lance_sql.write(rows, path, mode="append" if day else "create", file_version=file_version)
    check(lance_sql.open(path), expected)
    compacted = lance_sql.open(path).maintenance.compact()
    assert (len(compacted.snapshot.manifest.fragments) == 1) == (share <= 0.5)
    check(compacted, expected)
    updated = compacted.update({"x": "x"}, "id % 2 = 0")
    check(updated, expected)
    check(lance_sql.write(updated, tmp_path / "copy.lance", file_version=file_version), expected)


@pytest.mark.parametrize("file_version", VERSIONS)
@pytest.mark.parametrize("keys", KEY_TYPES)
def test_batches_with_dictionaries_of_their_own(tmp_path: Path, keys: str, file_version: str) -> None:
    arrays = [codes(day, int(KEYS[keys] * 0.8), keys) for day in range(3)]
    batches = [pa.record_batch({"id": range(len(each)), "x": each}) for each in arrays]
    reader = pa.RecordBatchReader.from_batches(batches[0].schema, batches)
    table = lance_sql.write(reader, tmp_path / "t.lance", file_version=file_version)
    check(table, [value for each in arrays for value in each.to_pylist()])
    assert table.alter_column("x", type=pa.string()).count_rows("x = '2_5'") == 1


@pytest.mark.parametrize("file_version", VERSIONS)
@pytest.mark.parametrize("keys", KEY_TYPES)
def test_null_among_as_many_items_as_keys_count(tmp_path: Path, keys: str, file_version: str) -> None:
    values = codes(0, KEYS[keys], keys, null=True)
    rows = pa.table(
        {
            "id": range(len(values) + 1),
            "x": pa.concat_arrays([values, values.slice(0, 0)]).take(pa.array([*range(len(values)), None])),
        }
    )
    check(lance_sql.write(rows, tmp_path / "t.lance", file_version=file_version), rows.column("x").to_pylist())


def test_a_column_that_cannot_become_a_dictionary_is_refused(tmp_path: Path) -> None:
    table = lance_sql.write({"x": [f"{number}" for number in range(200)]}, tmp_path / "t.lance")
    with pytest.raises(InvalidArgument):
        table.alter_column("x", type=pa.dictionary(pa.int8(), pa.string()))
    assert lance_sql.open(tmp_path / "t.lance").version == 1


def test_items_that_no_row_has_take_no_key() -> None:
    parts = [codes(day, 128, "int8").take(pa.array([0, 5, None])) for day in range(5)]
    joined = dictionaries.concat(parts)
    assert joined.to_pylist() == [value for part in parts for value in part.to_pylist()]
    with pytest.raises(UnsupportedFeature, match="256 different items, more than the 128 of keys of int8"):
        dictionaries.concat([codes(day, 128, "int8") for day in range(2)])


JSON = pa.json_(pa.string())


def json_values(*texts: str | None) -> pa.Array:
    return pa.ExtensionArray.from_storage(JSON, pa.array(texts, pa.string()))


def in_struct() -> pa.Array:
    return pa.StructArray.from_arrays(
        [json_values('{"k":1}', None, '{"k":3}')], fields=[pa.field("j", JSON)], mask=pa.array([False, True, False])
    )


def in_list(kind: Any) -> Any:
    offsets = pa.array([0, 2, 2, 3], pa.int64() if kind is pa.LargeListArray else pa.int32())
    return kind.from_arrays(offsets, in_struct(), mask=pa.array([False, True, False]))


NESTED_JSON: dict[str, Callable[[], pa.Array]] = {
    "struct": in_struct,
    "list": lambda: in_list(pa.ListArray),
    "large list": lambda: in_list(pa.LargeListArray),
    "struct of lists": lambda: pa.StructArray.from_arrays(
        [in_list(pa.ListArray)], ["l"], mask=pa.array([False, True, False])
    ),
}


@pytest.mark.parametrize("file_version", VERSIONS[1:])
@pytest.mark.parametrize("kind", NESTED_JSON)
def test_json_below_null(tmp_path: Path, kind: str, file_version: Any) -> None:
    values = NESTED_JSON[kind]()
    rows = pa.table({"id": range(3), "x": values})
    expected = lance_sql.write(rows, tmp_path / "t.lance", file_version=file_version).to_table().to_pylist()
    assert [row["x"] for row in expected] == [value.as_py() for value in _stripped(values)]
    ours = lance_sql.open(tmp_path / "t.lance")
    assert ours.maintenance.compact().update({"id": "id + 1"}, "id = 1").count_rows("x IS NULL") == values.null_count
    assert lance_sql.verify(tmp_path / "t.lance", deep=True).is_healthy
    assert ours.take([1], ["x"]).num_rows == 1
    theirs = lance.write_dataset(rows, tmp_path / "u.lance", data_storage_version=file_version)
    changed = lance_sql.open(theirs.uri).update({"id": "id + 1"}, "id >= 1")
    assert changed.to_table(["x"]).to_pylist() == [{"x": row["x"]} for row in expected]


def _stripped(array: pa.Array) -> pa.Array:
    """The array with text in the place of JSON."""
    if isinstance(array, pa.ExtensionArray):
        return array.storage
    if pa.types.is_struct(array.type):
        members = [_stripped(array.field(i)) for i in range(array.type.num_fields)]
        names = [field.name for field in array.type]
        return pa.StructArray.from_arrays(members, names, mask=array.is_null())
    return type(array).from_arrays(array.offsets, _stripped(array.values), mask=array.is_null())


BLOBS = {"lance-encoding:blob": "true"}


@pytest.mark.parametrize("file_version", VERSIONS)
@pytest.mark.parametrize("writer", ["lance", "lance_sql"])
@pytest.mark.parametrize("inside", [False, True], ids=["column", "beside others"])
def test_tables_with_blobs_are_compacted(tmp_path: Path, file_version: Any, writer: str, *, inside: bool) -> None:
    fields = [pa.field("id", pa.int64()), pa.field("b", pa.large_binary(), metadata=BLOBS)]
    schema = pa.schema([*fields, pa.field("s", pa.string())] if inside else fields)
    for number in range(3):
        columns = {"id": [number] * 5, "b": [b"x" * number] * 5, **({"s": ["y"] * 5} if inside else {})}
        rows = pa.table(columns, schema=schema)
        mode: Any = "append" if number else "create"
        if writer == "lance_sql":
            lance_sql.write(rows, tmp_path / "t.lance", mode=mode, file_version=file_version)
        else:
            try:
                lance.write_dataset(rows, tmp_path / "t.lance", mode=mode, data_storage_version=file_version)
            except OSError as error:
                pytest.skip(f"pylance does not write it: {error}")
    table = lance_sql.open(tmp_path / "t.lance").maintenance.compact()
    assert len(table.snapshot.manifest.fragments) == 1
    assert table.to_table().column("b").to_pylist() == [b"x" * number for number in range(3) for _ in range(5)]


def _never(name: str, type: pa.DataType) -> pa.Field:
    return pa.field(name, type, nullable=False)


DEEP: dict[str, tuple[pa.DataType, list[Any]]] = {
    "numbers": (pa.struct([_never("b", pa.struct([_never("d", pa.int64())]))]), [{"b": {"d": 1}}, {"b": {"d": 2}}]),
    "text": (
        pa.struct([_never("b", pa.struct([_never("c", pa.struct([_never("d", pa.string())]))]))]),
        [{"b": {"c": {"d": "x"}}}, {"b": {"c": {"d": "y"}}}],
    ),
    "lists": (
        pa.struct([_never("b", pa.struct([_never("d", pa.list_(_never("item", pa.int64())))]))]),
        [{"b": {"d": [1]}}, {"b": {"d": [2, 3]}}],
    ),
    "vectors": (
        pa.struct([_never("b", pa.struct([_never("d", pa.list_(pa.float32(), 2))]))]),
        [{"b": {"d": [0.5, 1.5]}}, {"b": {"d": [2.5, 3.5]}}],
    ),
}


@pytest.mark.parametrize("file_version", VERSIONS[1:])
@pytest.mark.parametrize("kind", DEEP)
@pytest.mark.parametrize("is_listed", [False, True], ids=["struct", "list of structs"])
@pytest.mark.parametrize("rows", [[None, 0], [0, None, 0], [None, None], [None, 0, 1], [0] * 3], ids=str)
def test_null_above_members_that_are_never_null(
    tmp_path: Path, rows: list[int | None], kind: str, file_version: str, *, is_listed: bool
) -> None:
    type, choices = DEEP[kind]
    expected = [None if row is None else choices[row] for row in rows]
    values = pa.array(expected, type)
    if is_listed:
        values = pa.array([[each] for each in expected], pa.list_(type))
    made = lance_sql.write(
        pa.table({"id": range(len(rows)), "x": values}), tmp_path / "t.lance", file_version=file_version
    )
    for table in (made, made.update({"id": "id"}, "id = 0")):
        for read in (table.to_table(), lance.dataset(table.uri).to_table()):
            assert read.sort_by("id").column("x").to_pylist() == values.to_pylist()


@pytest.mark.parametrize(
    "items",
    [
        pa.array([1], pa.date32()),
        pa.array([1], pa.timestamp("us")),
        pa.array([1], pa.timestamp("s", "UTC")),
        pa.array([1], pa.time64("us")),
        pa.array([1], pa.duration("s")),
        pa.array([1]).cast(pa.decimal128(20, 0)),
        pa.array([b"ab"], pa.binary(2)),
    ],
    ids=lambda items: str(items.type),
)
@pytest.mark.parametrize("inside", INSIDE)
def test_dictionaries_that_no_other_reader_knows_are_refused(tmp_path: Path, items: pa.Array, inside: str) -> None:
    values = INSIDE[inside](items.dictionary_encode())
    with pytest.raises(UnsupportedFeature, match="has no logical type: cast it"):
        lance_sql.write(pa.table({"x": values}), tmp_path / "t.lance")
    assert not (tmp_path / "t.lance").exists()
    table = lance_sql.write(pa.table({"x": items}), tmp_path / "u.lance")
    with pytest.raises((InvalidArgument, UnsupportedFeature)):
        table.alter_column("x", type=pa.dictionary(pa.int8(), items.type))
    with pytest.raises((InvalidArgument, UnsupportedFeature)):
        table.add_columns(pa.schema([("y", pa.dictionary(pa.int8(), items.type))]))


@pytest.mark.parametrize("nested", [False, True])
@pytest.mark.parametrize("version", ["2.0", "2.1", "2.2"])
def test_fragments_whose_categories_do_not_fit_one_file_are_not_rewritten_again(
    tmp_path: Path, version: Any, nested: bool
) -> None:
    def rows(day: int) -> pa.Table:
        keys = pa.array(range(100), pa.int8())
        items = pa.DictionaryArray.from_arrays(keys, pa.array([f"sku {day // 2} {i}" for i in range(100)]))
        return pa.table({"day": [day] * 100, "sku": pa.StructArray.from_arrays([items], ["x"]) if nested else items})

    expected = []
    for day in range(6):
        mode: Any = "append" if day else "create"
        table = lance_sql.write(rows(day), tmp_path / "t.lance", mode=mode, file_version=version)
        expected += rows(day).to_pylist()
    compacted = table.maintenance.compact()
    assert [fragment.physical_rows for fragment in compacted.snapshot.manifest.fragments] == [200, 200, 200]
    assert compacted.to_table().to_pylist() == expected
    assert compacted.maintenance.compact().version == compacted.version
    less = compacted.delete("day = 2").maintenance.compact()
    assert sorted(less.to_table().to_pylist(), key=str) == sorted((row for row in expected if row["day"] != 2), key=str)
