"""Values for UUID columns: text, bytes and UUIDs, in SQL, in verbs and nested."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import UUID

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lance_sql
from lance_sql import Dataset
from lance_sql.errors import LanceError
from lance_sql.format.casts import uuids

ONE, TWO = UUID(int=1), UUID(int=2**100 + 5)
VALUES = pa.array([ONE], pa.uuid())


@pytest.fixture
def table(tmp_path: Path) -> Dataset:
    member = pa.StructArray.from_arrays([VALUES], ["u"])
    lists = pa.ListArray.from_arrays(pa.array([0, 1], pa.int32()), VALUES)
    rows = pa.table({"id": [1], "u": VALUES, "s": member, "l": lists})
    return lance_sql.write(rows, tmp_path / "t.lance")


STATEMENTS = [
    "INSERT INTO '{t}' (id, u) VALUES (2, '{two}')",
    "INSERT INTO '{t}' (id, u) VALUES (2, '{two}'::UUID)",
    "INSERT INTO '{t}' SELECT 2 AS id, '{two}'::UUID AS u, s, l FROM '{t}'",
    "UPDATE '{t}' SET u = '{two}'::UUID WHERE id = 1",
    "UPDATE '{t}' SET s = {{'u': '{two}'::UUID}}, u = '{two}' WHERE id = 1",
    "MERGE INTO '{t}' USING (SELECT 1 AS id, '{two}'::UUID AS u) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET u = s.u",
]


@pytest.mark.parametrize("statement", STATEMENTS)
def test_statements_put_uuids_into_columns(table: Dataset, statement: str) -> None:
    lance_sql.sql(statement.format(t=table.uri, two=TWO))
    after = lance_sql.open(table.uri)
    assert after.count_rows(f"u = '{TWO}'") == 1
    assert after.schema.field("u") == table.schema.field("u")
    con = lance_sql.connect()
    assert con.execute(f"SELECT u FROM '{table.uri}' WHERE u = '{TWO}'").fetchall() == [(TWO,)]


WAYS: dict[str, Callable[[Dataset], Any]] = {
    "own values": lambda table: table.update({"u": "u", "s": "s", "l": "l"}, "true"),
    "an expression": lambda table: table.update({"u": f"'{TWO}'"}, "true"),
    "a function": lambda table: table.update({"u": "uuid()"}, "true"),
    "a UUID": lambda table: table.update({"u": TWO}, "true"),
    "rows": lambda table: lance_sql.write([{"id": 2, "u": TWO}], table, mode="append"),
    "text": lambda table: lance_sql.write({"id": [2], "u": [str(TWO)]}, table, mode="append"),
    "text of Arrow": lambda table: lance_sql.write(pa.table({"id": [2], "u": [str(TWO)]}), table, mode="append"),
    "bytes": lambda table: lance_sql.write(pa.table({"id": [2], "u": pa.array([TWO.bytes])}), table, mode="append"),
    "a relation": lambda table: lance_sql.write(
        duckdb.connect().sql(f"SELECT 2 AS id, '{TWO}'::UUID AS u"), table, mode="append"
    ),
    "members": lambda table: lance_sql.write({"id": [2], "s": [{"u": TWO}], "l": [[TWO, None]]}, table, mode="append"),
    "a merge": lambda table: table.merge({"id": [1, 2], "u": [str(TWO), TWO]}, on="id"),
}


@pytest.mark.parametrize("way", WAYS)
def test_verbs_put_uuids_into_columns(table: Dataset, way: str) -> None:
    try:
        after = WAYS[way](table)
    except LanceError:
        # of bytes of any length, a column of 16 is not sure
        assert way == "bytes"
        return
    assert after.schema == table.schema
    assert lance_sql.verify(table.uri, deep=True).is_healthy


@pytest.mark.parametrize("text", ["x", "", "00000000-0000-0000-0000-00000000000", "sixteen letters!"])
def test_text_that_is_no_uuid_is_refused(table: Dataset, text: str) -> None:
    for run in (
        lambda: table.update({"u": f"'{text}'"}, "true"),
        lambda: lance_sql.write({"id": [2], "u": [text]}, table, mode="append"),
        lambda: lance_sql.write(pa.table({"id": [2], "u": [text]}), table, mode="append"),
        lambda: lance_sql.sql(f"INSERT INTO '{table.uri}' (id, u) VALUES (2, '{text}')"),
    ):
        with pytest.raises(LanceError, match="u"):
            run()
    assert lance_sql.open(table.uri).version == 1


FORMS: tuple[Callable[[UUID], str], ...] = (
    str,
    lambda value: str(value).upper(),
    lambda value: value.hex,
    lambda value: f"{{{value}}}",
    lambda value: value.urn,
    lambda value: f" {value}\n",
    # of the usual length, with the hyphens elsewhere
    lambda value: f"{value.hex[:4]}-{value.hex[4:20]}-{value.hex[20:30]}--{value.hex[30:]}",
)


@given(st.lists(st.none() | st.tuples(st.uuids(), st.sampled_from(FORMS)), max_size=12), st.integers(0, 3))
def test_columns_of_text_and_back(values: list[tuple[UUID, Callable[[UUID], str]] | None], start: int) -> None:
    expected = [None if each is None else each[0] for each in values][start:]
    for type in (pa.string(), pa.large_string(), pa.string_view()):
        texts = pa.array([None if each is None else each[1](each[0]) for each in values], type)[start:]
        stored = uuids.from_text(texts)
        stored.validate(full=True)
        assert stored.to_pylist() == [None if each is None else each.bytes for each in expected]
    around = pa.concat_arrays([pa.array([ONE.bytes, None], pa.binary(16)), stored])
    again = uuids.to_text(around[2:])
    again.validate(full=True)
    assert again.to_pylist() == [None if each is None else str(each) for each in expected]


@pytest.mark.parametrize("text", ["x" * 36, str(ONE)[:-1] + "g", str(ONE)[:-1] + "\u00e9", "-" * 36, str(ONE) + "0"])
def test_columns_of_other_text_are_refused(text: str) -> None:
    with pytest.raises(pa.ArrowInvalid, match="text is not a UUID"):
        uuids.from_text(pa.array([str(ONE), None, text]))
