"""SQL text to predicates: constants take the column's type, everything unknown is refused by name."""

from __future__ import annotations

import pickle

import pyarrow as pa
import pytest

from lance_sql.errors import ColumnNotFound, InvalidArgument, UnsupportedFeature
from lance_sql.reads.scan.predicates import ColumnRef, Compare, Literal, conjuncts, from_sql

SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        ("small", pa.int8()),
        ("unsigned", pa.uint8()),
        ("ratio", pa.float64()),
        ("single", pa.float32()),
        ("name", pa.string()),
        ("blob", pa.binary()),
        ("day", pa.date32()),
        ("moment", pa.timestamp("us")),
        ("second", pa.timestamp("s")),
        ("zoned", pa.timestamp("ms", "Europe/Berlin")),
        ("clock", pa.time64("us")),
        ("price", pa.decimal128(10, 2)),
        ("flag", pa.bool_()),
        ("tags", pa.list_(pa.string())),
        ("place", pa.struct([("city", pa.string()), ("street no", pa.int32())])),
        ("dotted.name", pa.int32()),
        ("_rowid", pa.uint64()),
    ]
)


def shown(text: str) -> str:
    return str(from_sql(text, SCHEMA, table="events.lance version 42"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("id > 1.5", "id > 1"),
        ("id >= 1.5", "id > 1"),
        ("id < 1.5", "id <= 1"),
        ("5 < id", "id > 5"),
        ("id = '7'", "id = 7"),
        ("small = 300", "small IS NULL AND NULL"),
        ("small <> 300", "NOT (small IS NULL) OR NULL"),
        ("small < 300", "small <= 127"),
        ("unsigned >= -1", "NOT (unsigned IS NULL) OR NULL"),
        ("small = 'nan'::DOUBLE", "small IS NULL AND NULL"),
        ("id IN (1, 2, 2.0, 2.5, NULL)", "id IN (1, 2, NULL)"),
        ("id IN (3)", "id = 3"),
        ("`dotted.name` = 3 AND place.`street no` < 4", '"dotted.name" = 3 AND place."street no" < 4'),
        ("`place`.`city` = 'a`b'", "place.city = 'a`b'"),
        ("id IN (NULL)", "NULL"),
        ("NOT (id > 1 AND name = 'x')", "id <= 1 OR name <> 'x'"),
        ("single = 0.1", "single = 0.10000000149011612"),
        ("single = 1e-1", "single IS NULL AND NULL"),
        ("day < TIMESTAMP '2024-01-31 12:00:00'", "day <= '2024-01-31'"),
        ("second > '2024-01-31 00:00:00.5'", "second > '2024-01-31 00:00:01'"),
        ("second > TIMESTAMP '2024-01-31 00:00:00.5'", "second > '2024-01-31 00:00:00'"),
        ("price = 1.2e0", "price = 1.20"),
        ("price IN (1.2, 1e9)", "price = 1.20"),
        ("price IN (1.2, 1e7, 3)", "price IN (1.20, 10000000.00, 3.00)"),
        ("price BETWEEN 1.2 AND 3e0", "price >= 1.20 AND price <= 3.00"),
        ("id = 9007199254740992e0", "id >= 9007199254740992 AND id <= 9007199254740993"),
        ("id < 9007199254740992e0", "id < 9007199254740992"),
        ("id > 9007199254740992e0", "id > 9007199254740993"),
        ("single = 16777217", "single = 16777216.0"),
        ("price = 1.2::FLOAT", "price = 1.20"),
        ("1.5 IN (1.5, 2e0)", "TRUE"),
        ("'nan'::DOUBLE > 1e300", "TRUE"),
        ("day IN ('2024-01-31 12:00:00', TIMESTAMP '2024-02-01')", "day = '2024-02-01'"),
        ("zoned = '2024-01-31 02:00:00+02'", "zoned = '2024-01-31 00:00:00+00'"),
        ("clock < TIME '10:30:00'", "clock < '10:30:00'"),
        ("price = 1.234", "price IS NULL AND NULL"),
        ("price > 1.234", "price > 1.23"),
        ("blob = '\\xAA'::BLOB", "blob = '\\xAA'::BLOB"),
        ("flag", "flag = TRUE"),
        ("NOT flag", "flag <> TRUE"),
        ("name LIKE 'a%'", "starts_with(name, 'a')"),
        ("name LIKE '%a'", "ends_with(name, 'a')"),
        ("name LIKE '%a%'", "contains(name, 'a')"),
        ("name LIKE 'a'", "name = 'a'"),
        ("name LIKE 'a!%%' ESCAPE '!'", "starts_with(name, 'a%')"),
        ("place.city = 'Rome'", "place.city = 'Rome'"),
        ("place['street no'] = 3", 'place."street no" = 3'),
        ("dotted.name = 3", '"dotted.name" = 3'),
        ("NAME = 'x'", "name = 'x'"),
        ("1 = 1 AND id = 3", "id = 3"),
        ("id = 1 OR 1 < 0", "id = 1"),
        ("day > DATE '2024-01-31' - INTERVAL 7 DAY", "day > '2024-01-24'"),
    ],
)
def test_a_condition_becomes_its_simplest_exact_form(text: str, expected: str) -> None:
    assert shown(text) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("id = 'abc'", "Cannot compare column 'id' (int64) with 'abc'"),
        ("name = 5", "Cannot compare column 'name' (string) with 5"),
        ("day = 5", "Cannot compare column 'day' (date32[day]) with 5"),
        ("day = '2024-02-30'", "Cannot compare column 'day' (date32[day]) with '2024-02-30'"),
        ("tags = 'x'", "Cannot compare column 'tags' (list<item: string>) with 'x'"),
        ("id = name", "Cannot compare column 'id' (int64) with column 'name' (string)"),
        ("id LIKE 'x%'", "Cannot match column 'id' (int64) with 'x'"),
        ("id", "The filter is id (int64), which is not a condition"),
        ("5", "The filter is 5, which is not a condition"),
        ("id =", "Cannot read the filter 'id =': something is missing at column 4"),
        ("", "The filter is empty: leave it out to take all rows, or give a condition in SQL"),
        ("name LIKE 'a!' ESCAPE '!'", "The pattern 'a!' ends in its escape character"),
    ],
)
def test_a_mistake_is_named(text: str, message: str) -> None:
    with pytest.raises(InvalidArgument) as caught:
        shown(text)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "idd = 1",
            "No column 'idd' in events.lance version 42. Closest: 'id'. Hidden columns: _rowid",
        ),
        ("_rwid = 1", "Closest: '_rowid'"),
        ("place.town = 'x'", "No field 'town' in column 'place'"),
        ("name.x = 'x'", "No field 'x' in column 'name' (string)"),
    ],
)
def test_an_unknown_column_is_named_with_the_closest(text: str, message: str) -> None:
    with pytest.raises(ColumnNotFound) as caught:
        shown(text)
    assert message in str(caught.value)


def test_version_columns_without_row_history_raise_the_reason() -> None:
    with pytest.raises(InvalidArgument, match=r"events\.lance version 42 was created without stable row ids"):
        shown("_row_created_at_version > 3")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("foo(id) = 1", "Function 'foo' is not supported in a filter: FOO(id)"),
        ("id IN (SELECT 1)", "Not supported in a filter: id IN (SELECT 1)"),
        ("id IN ()", "Not supported in a filter: id IN ()"),
        ("CASE WHEN flag THEN true END", "is not supported in a filter"),
        ("name = 'a' COLLATE nocase", "is not supported in a filter"),
        ("id = ?", "Not supported in a filter: ?"),
        ("id / 2 = 1", "Not supported in a filter: id / 2"),
        ("id % 0 = 1", "Not supported in a filter: id % 0"),
        ("name SIMILAR TO 'a'", "Not supported in a filter"),
        ("name LIKE ANY ('a', 'b')", "Not supported in a filter"),
        ("coalesce(price, 1e0) > 2", "Function 'coalesce' is not supported in a filter: COALESCE(price, 1e0)"),
        ("single + 1 > 2", "Not supported in a filter for float, float: single + 1"),
        ("TRY_CAST(name AS INT) = 1", "is not supported in a filter"),
        ("date_trunc('day', zoned) = '2024-01-31'", "Not supported in a filter"),
        ("(" * 3000 + "flag" + ")" * 3000, "The filter is nested too deeply"),
    ],
)
def test_unsupported_filters_are_named(text: str, message: str) -> None:
    with pytest.raises(UnsupportedFeature) as caught:
        shown(text)
    assert message in str(caught.value)


def test_a_long_chain_is_one_flat_node() -> None:
    predicate = from_sql(" OR ".join(f"id = {number}" for number in range(3000)), SCHEMA)
    assert predicate.columns == {("id",)}


def test_conjuncts_are_the_parts_of_an_and() -> None:
    parts = conjuncts(from_sql("id > 1 AND (name = 'x' AND place.city = 'y')", SCHEMA))
    assert [str(part) for part in parts] == ["id > 1", "name = 'x'", "place.city = 'y'"]
    assert parts[0] == Compare(">", ColumnRef(("id",)), Literal(1, pa.int64()))


def test_columns_are_paths() -> None:
    predicate = from_sql("id > 1 AND (place.city = 'y' OR length(name) IN (1, 2) OR flag IS NULL)", SCHEMA)
    assert predicate.columns == {("id",), ("place", "city"), ("name",), ("flag",)}


def test_a_predicate_is_hashable_and_pickles() -> None:
    predicate = from_sql("zoned > '2024-01-31' AND price IN (1, 2) AND NOT name LIKE 'a_'", SCHEMA)
    assert pickle.loads(pickle.dumps(predicate)) == predicate
    assert hash(predicate) == hash(from_sql(str(predicate), SCHEMA))
