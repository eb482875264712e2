"""Records of operations: one for each, with its facts, and next to nothing if nobody listens."""

from __future__ import annotations

import contextvars
import logging
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pytest

import lance_sql
from benchmarks.calls import counting
from lance_sql.runtime import observing
from lance_sql.store import put_once
from lance_sql.writes.commit import put_version

Records: TypeAlias = list[logging.LogRecord]
LOG = logging.getLogger("lance_sql")


class Listener(logging.Handler):
    """Keeps the records of operations, and calls a function for each."""

    def __init__(self) -> None:
        super().__init__()
        self.records: Records = []
        self.then: Callable[[logging.LogRecord], object] = lambda record: None

    def emit(self, record: logging.LogRecord) -> None:
        if hasattr(record, "operation"):
            self.records.append(record)
            self.then(record)


@pytest.fixture
def listener() -> Iterator[Listener]:
    handler = Listener()
    LOG.addHandler(handler)
    LOG.setLevel(logging.DEBUG)
    yield handler
    LOG.setLevel(logging.NOTSET)
    LOG.removeHandler(handler)


@pytest.fixture
def table(tmp_path: Path) -> lance_sql.Dataset:
    vectors = pa.FixedSizeListArray.from_arrays(np.arange(12, dtype=np.float32), 2)
    rows = pa.table({"id": [*range(6)], "v": vectors, "word": ["a fox", "b", "c", "d", "e", "f"]})
    return lance_sql.write(rows, tmp_path / "t.lance", max_rows_per_file=3)


def facts(records: Records, operation: str) -> list[dict[str, Any]]:
    return [vars(record)["facts"] for record in records if vars(record)["operation"] == operation]


def read_in_duckdb(table: lance_sql.Dataset) -> object:
    return lance_sql.connect().execute(f"SELECT id FROM '{table.uri}' WHERE id > 3").fetchall()


READS: dict[str, tuple[str, Callable[[lance_sql.Dataset], object], dict[str, Any]]] = {
    "open": ("open", lambda t: lance_sql.open(t.uri), {}),
    "reader": (
        "scan",
        lambda t: t.scan(["id"], "id > 3", limit=1).to_reader().read_all(),
        {"columns": ["id"], "filter": "id > 3", "limit": 1, "rows": 1, "candidates": 6},
    ),
    "table": ("scan", lambda t: t.to_table(), {"columns": ["id", "v", "word"], "rows": 6}),
    "stream": ("scan", lambda t: pa.table(t.scan(["id"], "id > 3")), {"filter": "id > 3", "rows": 2, "batches": 1}),
    "task": ("scan", lambda t: [each.to_table() for each in t.scan(["id"]).tasks(2)], {"rows": 3}),
    "stream of a task": ("scan", lambda t: [pa.table(each) for each in t.scan([]).tasks(2)], {"rows": 3}),
    "arrow": ("scan", lambda t: list(t.to_batches(["id"])), {"columns": ["id"], "rows": 6}),
    "count": ("count", lambda t: t.count_rows("id > 3"), {"filter": "id > 3", "rows": 2}),
    "take": ("take", lambda t: t.take([5, 1], ["id"]), {"columns": ["id"], "rows": 2}),
    "search": ("search", lambda t: t.search([2, 3], k=2, filter="id > 0").to_table(), {"filter": "id > 0", "rows": 2}),
    "duckdb": ("scan", read_in_duckdb, {"columns": ["id"]}),
    "sql": (
        "scan",
        lambda t: lance_sql.sql(f"SELECT id FROM '{t.uri}' WHERE id > 3", "datafusion").fetchall(),
        {"columns": ["id"], "filter": "id > 3"},
    ),
}


@pytest.mark.parametrize("door", READS)
def test_a_read_is_recorded(door: str, table: lance_sql.Dataset, listener: Listener) -> None:
    operation, read, expected = READS[door]
    read(table)
    found = facts(listener.records, operation)
    place = {"table": table.uri, "version": 1, **expected}
    assert any(place.items() <= each.items() for each in found), found
    (record, *_) = [each for each in listener.records if vars(each)["operation"] == operation]
    assert record.getMessage().startswith(f"{operation} table={table.uri} version=1 ")
    assert 0 <= vars(record)["facts"]["ms"] <= (vars(record)["ended_ns"] - vars(record)["started_ns"]) / 1e6 + 0.001
    assert record.levelno == logging.DEBUG


def test_a_statement_is_recorded_without_its_values(table: lance_sql.Dataset, listener: Listener) -> None:
    text = f"SELECT id FROM '{table.uri}' WHERE id = ?"
    connection = lance_sql.connect()
    expected = [{"engine": engine, "statement": text} for engine in ("duckdb", "datafusion", "duckdb")]
    for engine in ("duckdb", "datafusion"):
        assert lance_sql.sql(text, [4], engine).fetchall() == [(4,)]
    if type(connection).__name__ == "Connection":
        connection.execute(text, [4])
    else:
        expected.pop()
    found = facts(listener.records, "statement")
    assert [{name: each[name] for name in ("engine", "statement")} for each in found] == expected
    assert [each.get("rows") for each in found] == [1, 1, None][: len(found)]


@pytest.mark.parametrize(
    "text",
    [
        "INSERT INTO '{}' (id) VALUES (7)",
        "DELETE FROM '{}' WHERE id = 2",
        "UPDATE '{}' SET word = 'x' WHERE id = 2",
        "OPTIMIZE '{}'",
        "ALTER TABLE '{}' SET TBLPROPERTIES ('a' = 'b')",
        "SELECT count(*) FROM '{}'",
    ],
)
def test_each_kind_of_statement_is_recorded_once(text: str, table: lance_sql.Dataset, listener: Listener) -> None:
    statement = text.format(table.uri)
    lance_sql.sql(statement).fetchall()
    assert [each["statement"] for each in facts(listener.records, "statement")] == [statement]


CHANGES: dict[str, tuple[Callable[[lance_sql.Dataset], object], dict[str, Any]]] = {
    "append": (
        lambda t: lance_sql.write(t.to_table(), t.uri, mode="append"),
        {"change": "insert", "rows_inserted": 6, "files_written": 1},
    ),
    "overwrite": (lambda t: lance_sql.write(t.to_table(), t.uri, mode="overwrite"), {"change": "overwrite"}),
    "update": (lambda t: t.update({"word": "'x'"}, "id < 2"), {"change": "update", "rows_updated": 2}),
    "delete": (lambda t: t.delete("id < 2"), {"change": "delete", "rows_deleted": 2}),
    "merge": (lambda t: t.merge({"id": [1, 9]}, on="id"), {"change": "merge", "rows_updated": 1, "rows_inserted": 1}),
    "index": (lambda t: t.indices.create("id", "btree"), {"change": "create_index"}),
    "columns": (lambda t: t.add_columns({"twice": "id * 2"}), {"change": "add_columns"}),
    "restore": (lambda t: t.restore(), {"change": "restore"}),
    "config": (lambda t: t.config.update({"a": "b"}), {"change": "update_config"}),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_commit_is_recorded(name: str, table: lance_sql.Dataset, listener: Listener) -> None:
    change, expected = CHANGES[name]
    change(table)
    (found,) = facts(listener.records, "commit")
    assert {"table": table.uri, "version": 2, **expected}.items() <= found.items()


def test_branches_and_new_tables_are_commits(table: lance_sql.Dataset, tmp_path: Path, listener: Listener) -> None:
    table.branches.create("b")
    lance_sql.write({"a": [1]}, tmp_path / "other.lance")
    places = [Path(each["table"]).name for each in facts(listener.records, "commit")]
    assert places == ["b", "other.lance"]


def test_a_commit_that_comes_second_is_for_users(
    table: lance_sql.Dataset, listener: Listener, monkeypatch: pytest.MonkeyPatch
) -> None:
    put = put_once.put_once

    def after_another(*arguments: Any, **options: Any) -> bool:
        monkeypatch.setattr(put_version, "put_once", put)
        lance_sql.open(table.uri).delete("id = 5")
        return put(*arguments, **options)

    monkeypatch.setattr(put_version, "put_once", after_another)
    lance_sql.write({"id": [7]}, table, mode="append")
    found = [(each["version"], each["change"], each.get("retried")) for each in facts(listener.records, "commit")]
    assert found == [(2, "delete", None), (2, "insert", True), (3, "insert", None)]
    levels = [each.levelno for each in listener.records if vars(each)["operation"] == "commit"]
    assert levels == [logging.DEBUG, logging.INFO, logging.DEBUG]


def test_a_change_that_is_computed_again_is_for_users(table: lance_sql.Dataset, listener: Listener) -> None:
    def change_the_same_rows(record: logging.LogRecord) -> None:
        if vars(record)["operation"] == "scan":
            listener.then = lambda _: None
            lance_sql.open(table.uri).delete("id = 1")

    listener.then = change_the_same_rows
    table.update({"word": "'x'"}, "id < 2")
    (found,) = facts(listener.records, "retry")
    assert (found["change"], found["attempt"]) == ("update", 2)
    assert "changed by another commit" in found["reason"]
    assert [each.levelno for each in listener.records if vars(each)["operation"] == "retry"] == [logging.INFO]


def test_requests_of_remote_stores_are_recorded(listener: Listener) -> None:
    uri = "memory://observed/t.lance"
    lance_sql.write({"id": [1, 2]}, uri)
    lance_sql.open(uri).to_table()
    found = facts(listener.records, "request")
    assert {each["store"] for each in found} >= {uri}
    assert {"pipe_file", "cat_ranges", "ls"} <= {each["verb"] for each in found}


def test_a_failure_is_recorded_by_its_class(tmp_path: Path, table: lance_sql.Dataset, listener: Listener) -> None:
    with pytest.raises(lance_sql.TableNotFound):
        lance_sql.open(tmp_path / "none.lance")
    next((tmp_path / "t.lance" / "data").iterdir()).unlink()
    lance_sql.clear_caches()
    with pytest.raises(lance_sql.CorruptFile):
        lance_sql.open(table.uri).to_table()
    with pytest.raises(lance_sql.CorruptFile):
        lance_sql.open(table.uri).search([1, 2]).to_table()
    errors = [(vars(each)["operation"], vars(each)["facts"].get("error")) for each in listener.records]
    assert {("open", "TableNotFound"), ("scan", "CorruptFile"), ("search", "CorruptFile")} <= set(errors)


def test_a_reader_that_is_left_is_recorded_without_error(table: lance_sql.Dataset, listener: Listener) -> None:
    batches = iter(table.scan(["id"], batch_size=1).to_reader())
    assert facts(listener.records, "scan") == []
    next(batches)
    del batches
    (found,) = facts(listener.records, "scan")
    assert "error" not in found


def test_time_between_two_batches_is_the_consumers(table: lance_sql.Dataset, listener: Listener) -> None:
    batches = iter(table.scan(["id"], batch_size=3).to_reader())
    next(batches)
    paused = time.perf_counter()
    while time.perf_counter() < paused + 0.2:
        pass
    assert sum(1 for _ in batches) == 1
    (record,) = [each for each in listener.records if vars(each)["operation"] == "scan"]
    took = (vars(record)["ended_ns"] - vars(record)["started_ns"]) / 1e6
    assert took >= 200
    assert vars(record)["facts"]["ms"] <= took - 200


def test_a_record_is_made_where_its_operation_began(table: lance_sql.Dataset, listener: Listener) -> None:
    parent = contextvars.ContextVar("parent", default="")
    seen: list[str] = []
    listener.then = lambda record: seen.append(parent.get())
    token = parent.set("request 1")
    reader = table.scan(["id"]).to_reader()
    parent.reset(token)
    reader.read_all()
    assert seen == ["request 1"]


@pytest.mark.parametrize("level", [logging.DEBUG, logging.INFO, logging.WARNING])
def test_slow_operations_are_for_users(
    level: int, table: lance_sql.Dataset, listener: Listener, monkeypatch: pytest.MonkeyPatch
) -> None:
    LOG.setLevel(level)
    monkeypatch.setattr(observing, "slow", 0.0)
    table.to_table()
    assert [each.levelno for each in listener.records] == [logging.INFO] * (level <= logging.INFO)
    monkeypatch.setattr(observing, "slow", 60.0)
    listener.records.clear()
    table.to_table()
    assert [each.levelno for each in listener.records] == [logging.DEBUG] * (level == logging.DEBUG)


@pytest.mark.parametrize(
    ("text", "seconds"), [("1s", 1.0), ("500ms", 0.5), (" 0.25 s ", 0.25), ("2m", 120.0), ("", None), ("  ", None)]
)
def test_a_time_is_read(text: str, seconds: float | None, caplog: pytest.LogCaptureFixture) -> None:
    assert observing.parse_time(text) == seconds
    assert not caplog.records


@pytest.mark.parametrize("text", ["1", "fast", "1h", "-1s", "1s 2s"])
def test_another_text_is_no_time(text: str, caplog: pytest.LogCaptureFixture) -> None:
    assert observing.parse_time(text) is None
    assert caplog.messages == [f"LANCE_SQL_SLOW is {text!r}: write a time such as 500ms, 1s or 2m"]


def test_the_environment_names_the_time(table: lance_sql.Dataset) -> None:
    code = (
        "import logging, lance_sql; logging.basicConfig(level=logging.INFO, format='%(levelname)s %(message)s');"
        f"lance_sql.open({table.uri!r}).to_table()"
    )
    run = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "LANCE_SQL_SLOW": "0s"},
        capture_output=True,
        text=True,
        check=True,
    )
    lines = run.stderr.splitlines()
    assert [line.split(" table=")[0] for line in lines] == ["INFO open", "INFO scan"]


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (7, "7"),
        ("paid", "paid"),
        (["a", "b"], "a,b"),
        ([], '""'),
        ("id = 'ü x'", "\"id = 'ü x'\""),
        ("two\nlines", '"two\\nlines"'),
        ('a"b', '"a\\"b"'),
        ("\x1b[31m", '"\\u001b[31m"'),
    ],
)
def test_a_fact_is_one_word_or_has_quotes(value: object, shown: str, listener: Listener) -> None:
    with observing.recorded("test", fact=value):
        pass
    (record,) = listener.records
    assert record.getMessage().startswith(f"test fact={shown} ms=")
    assert vars(record)["facts"]["fact"] == value


def test_long_facts_are_cut_in_lines_alone(listener: Listener) -> None:
    with observing.recorded("test", fact="x" * 10_000):
        pass
    (record,) = listener.records
    assert len(record.getMessage()) < 600
    assert vars(record)["facts"]["fact"] == "x" * 10_000


@pytest.mark.parametrize(
    ("most", "run"),
    [
        (5, lambda t: lance_sql.open(t.uri)),
        (2, lambda t: t.to_table()),
        (2, lambda t: pa.table(t.scan())),
        (7, lambda t: t.count_rows("id > 3")),
        (2, lambda t: t.take([1])),
    ],
    ids=["open", "scan", "stream", "count", "take"],
)
def test_nobody_pays_who_does_not_listen(
    most: int, run: Callable[[lance_sql.Dataset], object], table: lance_sql.Dataset
) -> None:
    run(table)
    called: Counter[str] = Counter()
    with counting(called):
        run(table)
    ours = {
        name: number
        for name, number in called.items()
        if name.startswith("runtime/observing.py") or "isEnabledFor" in name
    }
    assert not any("Watch" in name for name in ours)
    assert 0 < sum(ours.values()) <= most, ours
