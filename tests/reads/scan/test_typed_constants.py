"""Constants in filters take the type that a column has: its extension, its width, its zone."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from uuid import UUID

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import lance_sql
from lance_sql.errors import LanceError
from tests.covering import covering

IDS = [UUID(int=number * 7919 + 1) for number in range(100)]
VALUES = pa.ExtensionArray.from_storage(pa.uuid(), pa.array([each.bytes for each in IDS], pa.binary(16)))
CONDITIONS = [
    ("{u} = '{a}'", 1),
    ("{u} <> '{a}'", 99),
    ("'{a}' = {u}", 1),
    ("{u} > '{a}'", 94),
    ("{u} IN ('{a}', '{b}')", 2),
    ("{u} NOT IN ('{a}', '{b}')", 98),
    ("{u} BETWEEN '{a}' AND '{b}'", 5),
    ("{u} = '{A}'", 1),
    ("{u} = CAST('{a}' AS UUID)", 1),
    ("{u} IN ('{a}', '{b}'::UUID)", 2),
    ("{u} IS NOT DISTINCT FROM '{a}'", 1),
]


def written(path: Path, file_version: str = "2.1") -> lance_sql.Dataset:
    member = pa.StructArray.from_arrays([VALUES], fields=[pa.field("u", VALUES.type)])
    return lance_sql.write(pa.table({"u": VALUES, "s": member}), path, file_version=file_version)


@pytest.fixture(scope="module")
def connection() -> Any:
    return lance_sql.connect()


@covering(case=CONDITIONS, name=["u", "s.u"], file_version=["2.0", "2.1", "2.2"])
def test_text_beside_a_uuid_is_a_uuid(
    tmp_path: Path, case: tuple[str, int], name: str, file_version: str, connection: Any
) -> None:
    condition, expected = case
    table = written(tmp_path / "t.lance", file_version)
    text = condition.format(u=name, a=IDS[5], b=IDS[9], A=str(IDS[5]).upper())
    assert table.count_rows(text) == expected
    query = f"SELECT count(*) FROM '{tmp_path}/t.lance' WHERE {text}"
    assert connection.execute(query).fetchall() == [(expected,)]
    assert table.changes().count_rows(text) == expected
    assert table.delete(text).count_rows() == 100 - expected


def test_arrow_constants_beside_a_uuid(tmp_path: Path) -> None:
    table = written(tmp_path / "t.lance")
    for value in (str(IDS[5]), IDS[5].bytes, pa.scalar(IDS[5], pa.uuid())):
        assert table.count_rows(pc.field("u") == value) == 1
    assert table.count_rows(pc.field("u").isin([IDS[5].bytes])) == 1


def test_a_rule_about_a_uuid(tmp_path: Path) -> None:
    table = written(tmp_path / "t.lance").rules.set("known", f"u <> '{IDS[5]}'")
    assert [result.broken for result in table.rules.check().results] == [1]


@pytest.mark.parametrize(
    ("array", "condition"),
    [
        (VALUES[:1], "x = 'x'"),
        (VALUES[:1], "x <> 'sixteen letters!'"),
        (VALUES[:1], "x > '\\x00'"),
        (VALUES[:1], f"coalesce(x, '{IDS[5]}') = '{IDS[5]}'"),
        (VALUES[:1], "octet_length(x) = 16"),
        (VALUES[:1], "CAST(x AS VARCHAR) = 'a'"),
        (pa.array([b"abcd"], pa.binary(4)), "x = 'abc'"),
        (pa.array([b"abcd"], pa.binary(4)), "x <> 'abcde'"),
        (pa.array([b"abcd"], pa.binary(4)), "x IN ('abcd', 'abc')"),
        (
            pa.ExtensionArray.from_storage(
                pa.opaque(pa.binary(16), "hugeint", "DuckDB"), pa.array([b"1234567890123456"], pa.binary(16))
            ),
            "x = '1234567890123456'",
        ),
    ],
    ids=str,
)
def test_text_that_is_no_value_of_the_type_is_refused(tmp_path: Path, array: pa.Array, condition: str) -> None:
    table = lance_sql.write(pa.table({"x": array}), tmp_path / "t.lance")
    with pytest.raises(LanceError, match="x"):
        table.count_rows(condition)
    with pytest.raises(LanceError, match="x"):
        table.delete(condition)
    assert table.count_rows() == 1


@covering(
    unit=["s", "ms", "us", "ns"],
    index=[None, "zonemap", "btree"],
    condition=[
        "t > '1969-12-31 23:59:59.999999'",
        "t <= '1969-12-31 23:59:59.999999'",
        "t = '1969-12-31 23:59:59.999999'",
        "t <> '1970-01-01 00:00:00.4'",
        "t < '1970-01-01 00:00:00.000001+00'",
        "t IN ('1970-01-01 00:00:00.000001', '1970-01-01')",
        "t BETWEEN '1969-12-31 23:59:59.999999' AND '1970-01-01 00:00:00.000001'",
    ],
)
def test_instants_in_text_are_not_rounded_to_the_unit_of_a_column(
    tmp_path: Path, unit: str, index: str | None, condition: str
) -> None:
    times = pa.array([-1000, 0, 1000], pa.int64()).cast(pa.timestamp("ms", "UTC")).cast(pa.timestamp(unit, "UTC"))
    rows = pa.table({"t": times})
    table = lance_sql.write(rows, tmp_path / "t.lance")
    if index is not None:
        table = table.indices.create("t", index)
    con = duckdb.connect()
    con.execute("SET TimeZone = 'UTC'")
    con.register("native", rows.set_column(0, "t", times.cast(pa.timestamp("us", "UTC"))))
    (expected,) = con.execute(f"SELECT count(*) FROM native WHERE {condition}").fetchone() or (None,)
    assert table.count_rows(condition) == expected


def test_isfinite(tmp_path: Path) -> None:
    values = [1.0, float("nan"), float("inf"), float("-inf"), None]
    table = lance_sql.write({"x": values}, tmp_path / "t.lance")
    assert table.count_rows("isfinite(x)") == 1
    assert table.count_rows("NOT isfinite(x)") == 3
    with pytest.raises(LanceError, match="x"):
        lance_sql.write({"x": ["a"]}, tmp_path / "text.lance").count_rows("isfinite(x)")
