"""The feed as a relation: columns, filters, limits, parts, pickles, streams; and the bytes read for it."""

from __future__ import annotations

import pickle
import random
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import lance_sql
from lance_sql.changes.feed import MODES
from lance_sql.errors import ColumnNotFound, InvalidArgument
from lance_sql.format.file import reader, small_files
from lance_sql.format.file.small_files import SmallFile


@pytest.fixture
def table(tmp_path: Path) -> lance_sql.Dataset:
    """Version 1 has 1,000 rows, 2 inserts 10, 3 updates 20, 4 deletes 30, 5 compacts (two versions), 7 inserts 5."""
    rows = pa.table({"id": range(1000), "s": [f"text {i}" for i in range(1000)], "p": [{"x": i} for i in range(1000)]})
    made = lance_sql.write(rows, tmp_path / "t.lance")
    made = lance_sql.write(rows.slice(0, 10).set_column(0, "id", [range(1000, 1010)]), made.uri, mode="append")
    made = made.update({"s": "'new'"}, "id BETWEEN 100 AND 119").delete("id BETWEEN 110 AND 139").maintenance.compact()
    return lance_sql.write(rows.slice(0, 5).set_column(0, "id", [range(2000, 2005)]), made.uri, mode="append")


def test_columns_come_in_the_order_asked_for(table: lance_sql.Dataset) -> None:
    feed = table.changes(2)
    assert feed.schema.names == ["id", "s", "p", "_change_type", "_commit_version", "_commit_timestamp", "_rowid"]
    types = [feed.schema.field(name).type for name in feed.schema.names[3:]]
    assert types == [pa.string(), pa.uint64(), pa.timestamp("us", "UTC"), pa.uint64()]
    names = ["_commit_version", "p.x", "_row_last_updated_at_version", "id"]
    assert feed.scan(names).to_table().column_names == names
    assert feed.scan([]).to_table().num_rows == feed.count_rows() == 85
    with pytest.raises(ColumnNotFound, match=r"'nosuch'.*changes of t.lance"):
        feed.scan(["nosuch"])
    with pytest.raises(InvalidArgument, match="twice"):
        feed.scan(["id", "id"])


def test_version_columns_are_those_of_the_image(table: lance_sql.Dataset) -> None:
    names = ["_change_type", "_row_created_at_version", "_row_last_updated_at_version"]
    found = table.changes(3, 3).scan(names, "id = 100").to_table().to_pylist()
    assert [tuple(row.values()) for row in found] == [("update_preimage", 1, 1), ("update_postimage", 1, 3)]


@pytest.mark.parametrize(
    ("filter", "count"),
    [
        ("_change_type = 'delete'", 30),
        ("_change_type LIKE 'update%'", 40),
        ("_commit_version = 2", 10),
        ("_commit_version IN (2, 7) AND _change_type <> 'insert'", 0),
        ("_commit_version > 4 OR s = 'new'", 5 + 20 + 10),
        ("_rowid < 105", 10),
        ("_rowid < 105 AND _change_type = 'update_preimage' AND s <> 'new'", 5),
        ("s = 'new'", 20 + 10),
        ("s = 'new' AND _change_type = 'update_preimage'", 0),
        ("NOT (s = 'new') AND _commit_version = 3", 20),
        ("p.x = 105", 2),
        ("_commit_timestamp < '2000-01-01'", 0),
        ("_commit_timestamp > '2000-01-01'", 85),
        ("_change_type IS NULL", 0),
        ("_row_created_at_version = 7", 5),
    ],
)
def test_filters_are_exact(table: lance_sql.Dataset, filter: str, count: int) -> None:
    feed = table.changes(2)
    assert feed.scan(filter=filter).to_table().num_rows == feed.count_rows(filter) == count


def test_arrow_expressions_are_filters(table: lance_sql.Dataset) -> None:
    feed = table.changes(2)
    assert feed.count_rows((pc.field("_change_type") == "delete") & (pc.field("id") < 120)) == 10
    assert feed.scanner(["id"], pc.field("_commit_version") == pa.scalar(2, pa.uint64())).to_table().num_rows == 10
    assert sum(part.scanner().to_table().num_rows for part in feed.get_fragments()) == 85


def test_a_limit_ends_the_feed(table: lance_sql.Dataset) -> None:
    feed = table.changes(2)
    whole = feed.scan().to_table()
    for limit in (0, 1, 10, 11, 200):
        assert feed.scan(limit=limit).to_table() == whole.slice(0, limit)
        assert feed.scan(limit=limit).count_rows() == min(limit, 85)
        assert feed.scan(filter="id >= 0", limit=limit).to_table() == whole.slice(0, limit)
    assert max(batch.num_rows for batch in feed.scan(batch_size=7).to_reader()) == 7


@pytest.mark.parametrize("mode", ["all", "net"])
@pytest.mark.parametrize("filter", [None, "s = 'new' OR _change_type = 'delete'"])
def test_parts_make_the_whole(table: lance_sql.Dataset, mode: Any, filter: str | None) -> None:
    scan = table.changes(2, mode=mode).scan(filter=filter)
    whole = scan.to_table()
    for count in (1, 3, 100):
        tasks = pickle.loads(pickle.dumps(scan.tasks(count)))
        assert pa.concat_tables(task.to_reader().read_all() for task in tasks) == whole
        assert len(tasks) <= count


def test_the_feed_and_its_reads_are_pickled(table: lance_sql.Dataset) -> None:
    for feed in (table.changes(2, drop_unchanged=True), table.changes(2, mode="net", key="id"), table.row_history(2)):
        again = pickle.loads(pickle.dumps(feed))
        assert type(again) is type(feed)
        assert again.schema == feed.schema
        assert again.scan().to_table() == feed.scan().to_table()
        assert pickle.loads(pickle.dumps(feed.scan(["id"]))).to_table() == feed.scan(["id"]).to_table()


def test_a_task_is_read_by_another_process(table: lance_sql.Dataset, tmp_path: Path) -> None:
    (tmp_path / "task").write_bytes(pickle.dumps(table.changes(2).tasks(1)[0]))
    code = f"import pickle; print(pickle.load(open({str(tmp_path / 'task')!r}, 'rb')).to_reader().read_all().num_rows)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "85\n"


def test_the_feed_is_a_stream(table: lance_sql.Dataset) -> None:
    feed = table.changes(2)
    assert pa.table(feed) == feed.scan().to_table() == feed.to_reader().read_all() == feed.to_table()
    assert pa.table(feed.scan(["id"])).column_names == ["id"]


def test_names_of_the_feed_belong_to_the_feed(tmp_path: Path) -> None:
    made = lance_sql.write(pa.table({"_change_type": ["mine"]}), tmp_path / "t.lance")
    with pytest.raises(InvalidArgument, match="has a column '_change_type'"):
        made.changes()


def test_explain_lists_the_columns_to_read(table: lance_sql.Dataset) -> None:
    text = table.changes(2).scan(["id"], "_commit_version = 4 AND s <> 'x'").explain()
    assert text.splitlines() == [
        "changes of t.lance versions 2 to 7, mode all",
        "  columns: id",
        "  filter: _commit_version = 4 AND s <> 'x'",
        "  commits: 6",
        "  fragments: 2",
        "  rows: 30 delete, before the filter on their values",
    ]


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The data files that are opened, or read at once."""
    paths: list[str] = []
    original = reader.FileReader.__init__

    def counted(self: reader.FileReader, store: Any, path: str, *arguments: Any, **options: Any) -> None:
        paths.append(path)
        original(self, store, path, *arguments, **options)

    at_once = small_files.read

    def counted_at_once(files: Sequence[SmallFile]) -> tuple[list[bool], list[pa.Array]]:
        paths.extend(file.path.partition(".lance/")[2] for file in files)
        return at_once(files)

    monkeypatch.setattr(reader.FileReader, "__init__", counted)
    monkeypatch.setattr(small_files, "read", counted_at_once)
    return paths


def test_only_files_with_changed_rows_are_read(table: lance_sql.Dataset, opened: list[str]) -> None:
    def read(filter: str | None = None, **options: Any) -> int:
        opened.clear()
        dataset = lance_sql.open(table.uri)
        dataset.changes(**options).scan(filter=filter).to_table()
        return len(set(opened))

    assert read(since=6) == 1
    assert read(since=4, end=6) == 0
    assert read(since=1, filter="_commit_version = 7") == 1
    assert read(since=1, filter="_change_type = 'insert'") == 2
    assert read(since=1, filter="_rowid = 100") == 2
    assert read(since=1, filter="_rowid = 5000") == 0
    assert read(since=2, end=3) == 2
    opened.clear()
    assert lance_sql.open(table.uri).changes(2).count_rows() == 85
    assert opened == []


def test_a_restore_reads_rows_with_other_versions_only(table: lance_sql.Dataset, opened: list[str]) -> None:
    made = table.update({"s": "'again'"}, "id = 7").restore(4)
    opened.clear()
    feed = lance_sql.open(made.uri).changes(made.version)
    assert feed.count_rows() == 5 + 2
    # one with the row as it was updated, and one with the row as it was before
    assert len(set(opened)) == 2
    kinds = feed.scan(["id", "_change_type"], "_change_type <> 'delete'").to_table().to_pylist()
    assert [tuple(row.values()) for row in kinds] == [(7, "update_preimage"), (7, "update_postimage")]


def test_requests_to_a_store_far_away_are_made_together(
    table: lance_sql.Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = [table.changes(2, mode=cast(Any, mode)).to_table() for mode in MODES]
    monkeypatch.setattr(type(table.snapshot.store), "concurrency", property(lambda _: 16))
    far = lance_sql.open(table.uri)
    assert [far.changes(2, mode=cast(Any, mode)).to_table() for mode in MODES] == expected


def test_threads_share_a_feed(table: lance_sql.Dataset) -> None:
    from concurrent.futures import ThreadPoolExecutor

    feed = table.changes(2)
    expected = table.changes(2).scan().to_table()
    filters = [None, "_commit_version >= 3", "_change_type = 'delete'"]
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: feed.scan(filter=random.choice(filters)).to_table().num_rows, range(40)))
    assert set(found) <= {85, 75, 30}
    assert feed.scan().to_table() == expected
