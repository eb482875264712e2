"""Building a schema from a stored list of fields: trees come out, tangles do not."""

from __future__ import annotations

import pickle
import time
from typing import Any

import pyarrow as pa
import pytest

from lance_sql.errors import ColumnNotFound, CorruptFile, InvalidArgument, LanceError, UnsupportedFeature
from lance_sql.format.proto import file_pb2
from lance_sql.format.schema import DictionaryLocation, Schema, build
from lance_sql.format.schema.projection import split_path


def stored(name: str, number: int, parent: int = -1, logical_type: str = "int32", **more: Any) -> file_pb2.Field:
    return file_pb2.Field(name=name, id=number, parent_id=parent, logical_type=logical_type, nullable=True, **more)


NESTED = [
    stored("id", 0, logical_type="int64"),
    stored("p", 1, logical_type="struct"),
    stored("x", 2, 1),
    stored("y.z", 3, 1, "string"),
    stored("tags", 7, logical_type="list"),
    stored("item", 8, 7, "string"),
    stored("a.b", 9),
]


def test_children_are_found_by_their_parent_and_keep_their_order() -> None:
    schema = build(reversed(NESTED), {"k": b"v"})
    assert schema.names == ("a.b", "tags", "p", "id")
    assert [child.name for child in schema.field("p").children] == ["y.z", "x"]
    assert schema.by_id[8].parent_id == 7
    assert build(NESTED, {"k": b"v"}).arrow == pa.schema(
        [
            ("id", pa.int64()),
            ("p", pa.struct([("x", pa.int32()), ("y.z", pa.string())])),
            ("tags", pa.list_(pa.field("item", pa.string()))),
            ("a.b", pa.int32()),
        ],
        metadata={"k": "v"},
    )


def test_a_schema_is_pickled_and_hashed() -> None:
    schema = build(NESTED)
    assert pickle.loads(pickle.dumps(schema)) == schema
    assert len({schema, build(NESTED)}) == 1


def test_the_deprecated_extension_name_counts() -> None:
    field = build([stored("j", 0, logical_type="json", extension_name="lance.json")]).fields[0]
    assert field.extension_name == "lance.json"


def test_the_place_of_a_legacy_dictionary_is_kept() -> None:
    place = file_pb2.Dictionary(offset=16, length=3)
    fields = build([stored("d", 0, logical_type="dict:string:int8:false", dictionary=place), stored("i", 1)]).fields
    assert [field.dictionary for field in fields] == [DictionaryLocation(16, 3), None]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ([stored("a", 0, 0)], "'a' is its own ancestor"),
        ([stored("a", 0, 1, "struct"), stored("b", 1, 0, "struct"), stored("c", 2)], "'a' is its own ancestor"),
        ([stored("a", 0), stored("b", 0)], "'a' and 'b' share the id 0"),
        ([stored("a", 0, 9)], "parent that does not exist: 9"),
        ([stored("a", -1)], "the id -1"),
        ([stored("a", 0), stored("a", 1)], "called 'a'"),
        ([stored("s", 0, logical_type="struct"), stored("a", 1, 0), stored("a", 2, 0)], "column 's': .* called 'a'"),
        ([stored("l", 0, logical_type="list")], "has one child, not 0"),
        ([stored("a", 0), stored("b", 1, 0)], "has no children, but 'b' is one"),
        ([stored("m", 0, logical_type="map"), stored("e", 1, 0, "struct")], "struct of key and value"),
        ([stored("f", 0, logical_type="fixed_size_list:struct:2"), stored("i", 1, 0)], "child of a fixed_size_list"),
    ],
)
def test_tangled_schemas_are_refused(fields: list[file_pb2.Field], message: str) -> None:
    with pytest.raises(CorruptFile, match=message):
        build(fields)


def test_depth_is_bounded() -> None:
    chain = [stored(f"d{i}", i, i - 1, "struct") for i in range(4000)]
    with pytest.raises(UnsupportedFeature, match="more than 64 levels"):
        build(chain)
    assert build(chain[:64]).arrow.field(0).name == "d0"


def test_many_columns_are_quick() -> None:
    start = time.process_time()
    assert len(build([stored(f"c{i}", i) for i in range(8000)]).arrow) == 8000
    assert time.process_time() - start < 2


def test_paths_name_members_of_structs() -> None:
    schema = build(NESTED)

    def ids(path: str) -> list[int]:
        return [field.id for field in schema.resolve(path)]

    assert ids("id") == [0]
    assert ids("p.x") == [1, 2]
    assert ids("p.`y.z`") == ids('p."y.z"') == [1, 3]
    assert ids("a.b") == ids("`a.b`") == [9]


@pytest.mark.parametrize("path", ["idd", "p.w", "p.x.y", "id.x", "tags.item", "p.y.z", "Id"])
def test_a_name_that_is_not_there_is_an_error_of_the_caller(path: str) -> None:
    with pytest.raises(ColumnNotFound, match=f"No column '{path}'") as raised:
        build(NESTED).resolve(path)
    assert isinstance(raised.value, ValueError)


def test_the_message_names_table_closest_and_hidden_columns() -> None:
    with pytest.raises(LanceError) as raised:
        build(NESTED).resolve("idd", table="events.lance version 42", also=("_rowid", "_rowaddr"))
    assert str(raised.value) == (
        "No column 'idd' in events.lance version 42. Closest: 'id'. Hidden columns: _rowid, _rowaddr"
    )


def test_a_path_with_an_empty_name_is_refused() -> None:
    for path in ("", "a.", ".a", "a..b", "``.a"):
        with pytest.raises(InvalidArgument):
            split_path(path)
    assert split_path('`a``b`."c""d".e') == ("a`b", 'c"d', "e")


def test_an_empty_schema_is_one() -> None:
    assert Schema(()).arrow == pa.schema([])
