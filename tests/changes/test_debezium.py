"""Envelopes of Debezium: a consumer that only knows the key has the rows of the table after each commit."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from click.testing import CliRunner

import lance_sql
from lance_sql import Dataset
from lance_sql.cli import main

PRIMARY = {b"lance-schema:unenforced-primary-key": b"true"}
"""Metadata of a column in the primary key."""
TYPES: dict[str, tuple[pa.DataType, Any]] = {
    "int64": (pa.int64(), lambda number: number),
    "string": (pa.string(), lambda number: f"k{number}"),
    "float": (pa.float64(), lambda number: number + 0.5),
}


@pytest.fixture
def table(tmp_path: Path) -> Dataset:
    return lance_sql.write({"id": [1, 2], "v": ["a", "b"]}, tmp_path / "t.lance")


def test_envelopes_have_both_images(table: Dataset) -> None:
    table.update({"v": "'z'"}, "id = 2")
    table.delete("id = 1")
    found = [json.loads(json.dumps(each)) for each in table.latest().changes().to_debezium()]
    assert [(each["op"], each["before"], each["after"]) for each in found] == [
        ("c", None, {"id": 1, "v": "a"}),
        ("c", None, {"id": 2, "v": "b"}),
        ("u", {"id": 2, "v": "b"}, {"id": 2, "v": "z"}),
        ("d", {"id": 1, "v": "a"}, None),
    ]
    assert [each["source"]["lsn"] for each in found] == [1, 1, 2, 3]
    assert {each["source"]["table"] for each in found} == {"t.lance"}
    snapshot = table.latest().cursors.open("w", start="snapshot").peek()
    assert [(each["op"], each["source"]["snapshot"]) for each in snapshot.to_debezium()] == [("r", "true")]


def folded(envelopes: Iterable[dict[str, Any]], names: list[str]) -> dict[Any, dict[str, Any]]:
    """Returns the rows that a consumer by key has. It knows the key of an envelope, and not the image before."""
    rows: dict[Any, dict[str, Any]] = {}
    for each in envelopes:
        image = each["before"] if each["op"] == "d" else each["after"]
        key = tuple(image[name] for name in names)
        if each["op"] == "d":
            rows.pop(key)
        else:
            assert (key in rows) == (each["op"] == "u"), each
            rows[key] = image
    return rows


def expected(table: Dataset, names: list[str]) -> dict[Any, dict[str, Any]]:
    found = list(table.changes(end=table.version, mode="net").to_debezium())
    assert {each["op"] for each in found} <= {"c"}
    return {tuple(each["after"][name] for name in names): each["after"] for each in found}


CHANGES = (
    "UPDATE '{path}' SET id = id + {far} WHERE id % 3 = 1",
    "UPDATE '{path}' SET id = id + 1 WHERE true",
    "UPDATE '{path}' SET id = id - 1, v = 'down' WHERE true",
    "UPDATE '{path}' SET id = NULL WHERE id = {greatest}",
    "UPDATE '{path}' SET id = {far} WHERE id IS NULL",
    "UPDATE '{path}' SET v = v || 'x' WHERE id % 2 = 0",
    "DELETE FROM '{path}' WHERE id % 5 = 0 OR id IS NULL",
    "MERGE INTO '{path}' t USING (SELECT id AS k FROM '{path}' WHERE id % 2 = 1) s ON t.id = s.k"
    " WHEN MATCHED AND s.k % 3 = 0 THEN DELETE WHEN MATCHED THEN UPDATE SET id = t.id + {far}",
    "INSERT INTO '{path}' (id, v, part) VALUES ({far}, 'new', 1)",
)


def made(path: str, kind: str) -> tuple[Dataset, list[str]]:
    """Returns a table whose key is its first column, or another one that the metadata names, or two of these."""
    primary = PRIMARY if kind != "first" else None
    fields = [
        pa.field("id", pa.int64(), kind == "first", primary),
        pa.field("v", pa.string()),
        pa.field("part", pa.int64(), kind != "two", PRIMARY if kind == "two" else None),
    ]
    if kind != "first":
        fields = [fields[1], fields[0], fields[2]]
    rows = {"id": list(range(12)), "v": list("abcdefghijkl"), "part": [1] * 12}
    schema = pa.schema(fields)
    table = lance_sql.write(pa.table({name: rows[name] for name in schema.names}, schema=schema), path)
    return table, ["id", "part"] if kind == "two" else ["id"]


@pytest.mark.parametrize("kind", ["first", "primary", "two"])
@pytest.mark.parametrize("seed", range(2))
def test_a_consumer_by_key_has_the_rows_of_the_table(tmp_path: Path, kind: str, seed: int) -> None:
    chance, path = random.Random(seed), str(tmp_path / "t.lance")
    table, names = made(path, kind)
    done = 1
    for step in range(1, 6):
        ids = table.to_table()["id"].to_pylist()
        statement = chance.choice(
            [each for each in CHANGES if "= NULL" not in each or (kind == "first" and None not in ids)]
        )
        greatest = max((each for each in ids if each is not None), default=0)
        lance_sql.sql(statement.format(path=path, far=10**6 * 3**step, greatest=greatest))
        table = table.latest()
        if chance.random() < 0.3:
            table.maintenance.compact()
        table = table.latest()
        assert folded(table.changes().to_debezium(), names) == expected(table, names), statement
        # consumers that read all commits since some version at once, or their net changes
        for mode in ("all", "net"):
            since = chance.randint(0, done)
            before = list(expected(lance_sql.open(path, version=since), names).values()) if since else []
            first = [{"op": "c", "before": None, "after": row} for row in before]
            later = table.changes(since=since, mode=mode).to_debezium()
            assert folded([*first, *later], names) == expected(table, names), (statement, mode)
        by_key = table.changes(key=names).to_debezium()
        assert folded(by_key, names) == expected(table, names), statement
        done = table.version


@pytest.mark.parametrize("type", TYPES)
def test_a_key_that_changes_is_deleted_and_created(tmp_path: Path, type: str) -> None:
    kind, value = TYPES[type]
    keys = pa.array([value(number) for number in (1, 2, 3)]).cast(kind)
    schema = pa.schema([pa.field("id", kind, False, PRIMARY), pa.field("v", pa.int64())])
    path = str(tmp_path / "t.lance")
    table = lance_sql.write(pa.table([keys, pa.array([1, 2, 3])], schema=schema), path)
    other = pa.table({"v": [2], "id": pa.array([value(9)]).cast(kind)})
    table = table.merge(other, "v")
    ops = [each["op"] for each in table.changes(since=1).to_debezium()]
    assert ops == ["d", "c"]
    done = CliRunner().invoke(main, ["changes", path, "2", "2", "--output", "debezium"])
    (deleted, created) = [json.loads(line) for line in done.stdout.splitlines()]
    assert (deleted["op"], deleted["after"], created["op"], created["before"]) == ("d", None, "c", None)
    assert deleted["before"]["id"] != created["after"]["id"]
    assert deleted["source"] == created["source"]


def test_changes_by_key_have_both_images(tmp_path: Path) -> None:
    """Also of tables without stable row ids."""
    path = str(tmp_path / "t.lance")
    lance_sql.write({"v": [0.5, 1.5], "id": [1, 2]}, path, stable_row_ids=False)
    lance_sql.open(path).update({"v": "v + 1"}, "id = 1")
    lance_sql.open(path).update({"id": "7"}, "id = 2")
    found = [
        (each["op"], each["before"] and each["before"]["id"], each["after"] and each["after"]["id"])
        for each in lance_sql.open(path).changes(since=1, key="id").to_debezium()
    ]
    assert found == [("u", 1, 1), ("d", 2, None), ("c", None, 7)]
