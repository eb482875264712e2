"""Values for UUID columns: text, bytes and UUIDs, in SQL, in verbs and nested."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import UUID

import duckdb
import pyarrow as pa
import pytest

import lance_sql
from lance_sql import Dataset
from lance_sql.errors import LanceError

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
