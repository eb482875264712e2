"""What docs/object-stores.md says of permissions: which verbs put objects, and which delete them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import lance_sql
from lance_sql import Dataset
from lance_sql.store import LocalStore

READS: dict[str, Callable[[Dataset], Any]] = {
    "scan": lambda table: table.scan(filter="id > 1").to_table(),
    "take": lambda table: table.take([1]),
    "version": lambda table: lance_sql.open(table.uri, version=1).to_table(),
    "compared": lambda table: lance_sql.open(table.uri, checksums=True).to_table(),
    "changes": lambda table: table.changes().scan().to_table(),
    "row_history": lambda table: table.row_history().scan().to_table(),
    "history": lambda table: (table.history(), table.tags.list(), table.branches.list(), table.cursors.list()),
    "sql": lambda table: lance_sql.sql(f"SELECT count(*) FROM '{table.uri}'").fetchall(),
    "search": lambda table: table.search(text="quick", text_column="text").to_table(),
    "diff": lambda table: lance_sql.diff(f"{table.uri}@1", table),
    "verify": lambda table: lance_sql.verify(table.uri, deep=True, lineage=True),
    "check": lambda table: table.rules.check(),
    "plans": lambda table: (
        table.maintenance.plan_compaction(),
        table.maintenance.layout(),
        table.maintenance.maintain(dry_run=True),
    ),
}

WRITES: dict[str, Callable[[Dataset], Any]] = {
    "append": lambda table: lance_sql.write({"id": [9], "text": ["z"]}, table, mode="append"),
    "update": lambda table: table.update({"text": "'quick dogs'"}, "id = 1"),
    "merge": lambda table: table.merge({"id": [1, 7], "text": ["a", "b"]}, on="id"),
    "delete": lambda table: table.delete("id = 2"),
    "add_columns": lambda table: table.add_columns({"twice": "id * 2"}),
    "drop_columns": lambda table: table.drop_columns("twice"),
    "compact": lambda table: table.maintenance.compact(),
    "create_index": lambda table: table.indices.create("id", "btree"),
    "optimize_indices": lambda table: table.indices.optimize(),
    "restore": lambda table: table.restore(1),
    "set_rule": lambda table: table.rules.set("ids", "unique(id)"),
    "create_tag": lambda table: table.tags.create("first", 1),
    "create_branch": lambda table: table.branches.create("load").delete("id = 1"),
    "overwrite": lambda table: lance_sql.write({"id": [1], "text": ["a"]}, table, mode="overwrite"),
    "apply_changes": lambda table: lance_sql.apply_changes(table, [{"id": 1, "text": "b"}], "id"),
}


@pytest.fixture
def table(tmp_path: Path) -> Dataset:
    rows = {"id": [1, 2, 3], "text": ["quick fox", "slow fox", "a dog"]}
    return lance_sql.write(rows, tmp_path / "t.lance").delete("id = 3").rules.set("texts", "not_null(text)")


def refuse(monkeypatch: pytest.MonkeyPatch, *methods: str) -> None:
    def refused(_: LocalStore, path: str, *arguments: Any, **options: Any) -> Any:
        raise PermissionError(path)

    for method in methods:
        monkeypatch.setattr(LocalStore, method, refused)


@pytest.mark.parametrize("verb", READS)
def test_readers_list_and_get(table: Dataset, verb: str, monkeypatch: pytest.MonkeyPatch) -> None:
    refuse(monkeypatch, "put", "create", "delete")
    READS[verb](lance_sql.open(table.uri))


def test_writers_put_and_delete_nothing(table: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    refuse(monkeypatch, "delete")
    for change in WRITES.values():
        change(lance_sql.open(table.uri))
    assert lance_sql.write({"id": [1]}, f"{table.uri}.new").count_rows() == 1


def test_cursors_and_failed_writes_need_not_delete(table: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    refuse(monkeypatch, "delete")
    for number in range(30):
        with table.latest().cursors.open("c").read() as changes:
            assert changes.count_rows() == (1 if number else 4)
        lance_sql.write({"id": [number], "text": ["e"]}, table, mode="append")
    table.cursors.open("c").drop()

    def stopping() -> Iterator[pa.RecordBatch]:
        yield pa.RecordBatch.from_pydict({"id": [1], "text": ["e"]})
        raise RuntimeError("stopped")

    rows = pa.RecordBatchReader.from_batches(table.schema, stopping())
    with pytest.raises(RuntimeError, match="stopped"):
        lance_sql.write(rows, table, mode="append")


@pytest.mark.parametrize("verb", ["cleanup", "delete_tag", "delete_branch", "drop"])
def test_others_delete(table: Dataset, verb: str, monkeypatch: pytest.MonkeyPatch) -> None:
    table.tags.create("t")
    table.branches.create("b")
    lance_sql.write({"id": [5], "text": ["e"]}, table, mode="append")
    refuse(monkeypatch, "delete")
    verbs: dict[str, Callable[[], Any]] = {
        "cleanup": lambda: table.latest().maintenance.compact().maintenance.cleanup(retain_versions=1),
        "delete_tag": lambda: table.tags.delete("t"),
        "delete_branch": lambda: table.branches.delete("b"),
        "drop": lambda: lance_sql.sql(f"DROP TABLE '{table.uri}'"),
    }
    with pytest.raises(PermissionError):
        verbs[verb]()
