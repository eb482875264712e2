"""What one file or page holds is joined where it is read: dictionaries of several pages, JSON below NULL, blobs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import lance
import pyarrow as pa
import pytest

import lance_sql
from lance_sql import Dataset, dictionaries
from lance_sql.errors import InvalidArgument, UnsupportedFeature

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
    readers = {
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


@pytest.mark.parametrize("inside", INSIDE)
@pytest.mark.parametrize("file_version", VERSIONS)
@pytest.mark.parametrize("keys", KEY_TYPES)
@pytest.mark.parametrize("share", [0.4, 0.5, 1.0], ids=["fits", "just fits", "does not fit"])
def test_days_with_dictionaries_of_their_own(
    tmp_path: Path, share: float, keys: str, file_version: str, inside: str
) -> None:
    if keys == "int16" and inside != "plain":
        pytest.skip("the way is that of fewer items, and takes longer")
    count = int(KEYS[keys] * share)
    path, expected = tmp_path / "t.lance", []
    for day in range(2):
        values = INSIDE[inside](codes(day, count, keys))
        rows = pa.table({"id": range(day * count, day * count + count), "x": values})
        expected += values.to_pylist()
        lance_sql.write(rows, path, mode="append" if day else "create", file_version=file_version)
    check(lance_sql.open(path), expected)
    compacted = lance_sql.open(path).compact()
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
    with pytest.raises(UnsupportedFeature, match="256 different items, of which keys of int8 count 128"):
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
    assert ours.compact().update({"id": "id + 1"}, "id = 1").count_rows("x IS NULL") == values.null_count
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
    table = lance_sql.open(tmp_path / "t.lance").compact()
    assert len(table.snapshot.manifest.fragments) == 1
    assert table.to_table().column("b").to_pylist() == [b"x" * number for number in range(3) for _ in range(5)]
