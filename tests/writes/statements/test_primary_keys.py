"""The primary key of a table identifies rows by default; merges can keep it unique."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import lance_sql
from lance_sql.errors import InvalidArgument
from lance_sql.format.schema.primary_key import primary_key
from lance_sql.reads.scan.key_matching import Matches, match
from lance_sql.testing import assert_changes, assert_table_equal
from lance_sql.writes.statements.merge import WhenMatched

SCHEMA = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False, metadata={"lance-schema:unenforced-primary-key": "true"}),
        pa.field("v", pa.string()),
    ]
)


def rows(**values: list[Any]) -> pa.Table:
    return pa.table(values, schema=SCHEMA)


@pytest.fixture(params=[True, False], ids=["stable row ids", "addresses"])
def table(request: pytest.FixtureRequest, tmp_path: Path) -> lance_sql.Dataset:
    return lance_sql.write(rows(id=[1, 2, 3], v=["a", "b", "c"]), tmp_path / "t.lance", stable_row_ids=request.param)


def test_a_feed_tells_rows_apart_by_the_primary_key(table: lance_sql.Dataset) -> None:
    changed = table.merge(rows(id=[2, 4], v=["B", "d"])).delete("id = 1")
    changes = changed.changes(since=1, mode="net").scan(["id", "v", "_change_type"]).to_table().to_pylist()
    assert sorted(tuple(change.values()) for change in changes) == [
        (1, "a", "delete"),
        (2, "B", "update_postimage"),
        (2, "b", "update_preimage"),
        (4, "d", "insert"),
    ]
    assert_changes(changed, since=1, inserted=[4], updated=[2], deleted=[1])
    difference = lance_sql.diff(table, changed)
    assert (difference.rows_updated, difference.rows_inserted, difference.rows_deleted) == (1, 1, 1)


def test_without_a_primary_key_one_has_to_be_given(tmp_path: Path) -> None:
    made = lance_sql.write({"id": [1]}, tmp_path / "t.lance", stable_row_ids=False)
    with pytest.raises(InvalidArgument, match=r"has no primary key, so its rows cannot be matched"):
        made.changes()


def test_comparisons_show_rows_by_the_primary_key(table: lance_sql.Dataset) -> None:
    with pytest.raises(AssertionError, match=r"(?s)1 with other values.*id=2.*v  'b'  expected 'x'"):
        assert_table_equal(table, rows(id=[3, 1, 2], v=["c", "a", "x"]))
    # a key that is not unique tells no rows apart
    with pytest.raises(AssertionError, match=r"(?s)1 missing.*1 not expected"):
        assert_table_equal(table, rows(id=[1, 1, 2], v=["c", "a", "b"]))


@pytest.mark.parametrize("when_matched", ["update", "keep", "delete"])
def test_a_key_comes_in_once(table: lance_sql.Dataset, when_matched: WhenMatched) -> None:
    with pytest.raises(InvalidArgument, match=r"Two rows of the source have the new key \{'id': 7\}"):
        table.merge(rows(id=[7, 2, 7], v=["x", "y", "z"]), when_matched=when_matched, unique=True)
    with pytest.raises(InvalidArgument, match="Two rows of the source match one row"):
        table.merge(rows(id=[2, 2], v=["x", "y"]), when_matched=when_matched, unique=True)
    assert table.merge(rows(id=[7, 7], v=["x", "z"])).count_rows() == 5
    merged = lance_sql.open(table.uri).merge(rows(id=[8], v=["x"]), when_matched=when_matched, unique=True)
    assert merged.count_rows("id = 8") == 1


def _by_datafusion(query: str) -> Callable[[lance_sql.Dataset, str], lance_sql.Dataset]:
    def make(table: lance_sql.Dataset, path: str) -> lance_sql.Dataset:
        pytest.importorskip("datafusion")
        lance_sql.sql(f"CREATE TABLE '{path}' AS {query.format(t=table.uri)}", "datafusion")
        return lance_sql.open(path)

    return make


def _into(table: lance_sql.Dataset, path: str) -> lance_sql.Dataset:
    """Rows in a table without the columns of the key."""
    return lance_sql.write(table, lance_sql.write({"q": [1]}, path), mode="append", merge_schema=True)


WITHOUT_A_KEY: dict[str, Callable[[lance_sql.Dataset, str], lance_sql.Dataset]] = {
    "changes applied": lambda table, path: lance_sql.apply_changes(path, table.changes(), "id"),
    "history applied": lambda table, path: lance_sql.apply_changes(path, table.changes(), "id", scd=2),
    "rows applied": lambda table, path: lance_sql.apply_changes(path, table, "id"),
    "columns applied": lambda table, path: lance_sql.apply_changes(
        lance_sql.write({"key": ["a"]}, path), table.to_table().append_column("key", pa.array(["a", "b", "c"])), "key"
    ),
    "merged schema": _into,
    "feed": lambda table, path: lance_sql.write(table.changes().scan(["id", "v", "s"]), path),
    "history": lambda table, path: lance_sql.write(table.row_history().scan(["id", "v", "s"]), path),
    "salvaged": lambda table, path: lance_sql.salvage(table.uri, path, null_cells=True).dataset,
    "outer join": _by_datafusion("SELECT b.* FROM '{t}' AS a LEFT JOIN '{t}' AS b ON a.id = b.id + 1"),
    "union": _by_datafusion("SELECT * FROM '{t}' UNION ALL SELECT * FROM '{t}'"),
}


@pytest.mark.parametrize("way", WITHOUT_A_KEY)
def test_rows_that_may_repeat_or_lack_the_key_make_tables_without_it(way: str, tmp_path: Path) -> None:
    key = {"lance-schema:unenforced-primary-key": "true", "comment": "kept"}
    member = pa.struct([pa.field("a", pa.int64(), nullable=False, metadata=key)])
    schema = pa.schema(
        [
            pa.field("id", pa.int64(), nullable=False, metadata=key),
            pa.field("v", pa.string()),
            pa.field("s", member, nullable=False),
        ]
    )
    content = pa.table({"id": [1, 2, 3], "v": ["a", "b", "c"], "s": [{"a": 1}, {"a": 2}, {"a": 3}]}, schema)
    table = lance_sql.write(content, tmp_path / "t.lance")
    assert primary_key(table.snapshot.manifest.schema) == ("id", "s.a")
    made = WITHOUT_A_KEY[way](table, str(tmp_path / "new.lance"))
    assert set(made.scan(["id"], "id IS NOT NULL").to_table()["id"].to_pylist()) >= {1, 2}
    assert primary_key(made.snapshot.manifest.schema) == ()
    assert made.schema.field("id").metadata == {b"comment": b"kept"}


QUERIES = (
    "SELECT count(*) AS n, max(id) AS m FROM '{t}' WHERE id <> 2",
    "SELECT id, max(v) AS m FROM '{t}' GROUP BY id ORDER BY id",
    "SELECT a.id, max(b.id) AS m FROM '{t}' AS a JOIN '{t}' AS b ON a.id = b.id GROUP BY a.id ORDER BY a.id",
    "SELECT id FROM '{t}' UNION SELECT id FROM '{t}' ORDER BY id",
    "SELECT count(*) AS n, max(id) AS m FROM lance_changes('{t}', 0) WHERE id <> 2",
)


@pytest.mark.parametrize("query", QUERIES)
def test_engines_compute_with_columns_of_the_key(table: lance_sql.Dataset, query: str) -> None:
    results = [
        lance_sql.sql(query.format(t=table.uri), engine=engine).fetchall() for engine in ("duckdb", "datafusion")
    ]
    assert results[0] == results[1] != []


@pytest.mark.quick
def test_a_key_that_is_there_twice_is_named(table: lance_sql.Dataset) -> None:
    doubled = lance_sql.write(rows(id=[3], v=["again"]), table.uri, mode="append")
    assert doubled.merge(rows(id=[1, 9], v=["x", "y"]), unique=True).count_rows() == 5
    with pytest.raises(InvalidArgument, match=r"t.lance has two rows with this key already: \{'id': 3\}"):
        doubled.merge(rows(id=[3], v=["x"]), unique=True)


def test_new_keys_that_may_be_null_are_not_equal(tmp_path: Path) -> None:
    made = lance_sql.write({"k": [1], "v": [1]}, tmp_path / "t.lance")
    assert made.merge({"k": [None, None, 2], "v": [2, 3, 4]}, on="k", unique=True).count_rows() == 4


def test_a_key_that_another_writer_brought_meanwhile_is_seen(
    table: lance_sql.Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    others = iter([rows(id=[9], v=["theirs"])])

    def interrupted(*arguments: Any, **options: Any) -> Matches:
        matches = match(*arguments, **options)
        for other in others:
            lance_sql.write(other, table.uri, mode="append")
        return matches

    monkeypatch.setattr("lance_sql.writes.statements.merge.match", interrupted)
    merged = table.merge(rows(id=[9], v=["ours"]), unique=True)
    assert merged.scan(["id", "v"], filter="id = 9").to_table().to_pylist() == [{"id": 9, "v": "ours"}]
