"""Versions of a range, and errors for missing or unknown ones."""

from __future__ import annotations

import dataclasses
import os
import pickle
import shutil
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import lance
import pyarrow as pa
import pytest

import lance_sql
from lance_sql.errors import CorruptFile, InvalidArgument, UnsupportedFeature, VersionNotFound
from lance_sql.format.proto import transaction_pb2
from lance_sql.table import manifest as manifests
from lance_sql.table import transactions


@pytest.fixture
def table(tmp_path: Path) -> lance_sql.Dataset:
    """Six versions, of which each but the first inserts one row: `id` is the version."""
    made = lance_sql.write(pa.table({"id": [1]}), tmp_path / "t.lance")
    for version in range(2, 7):
        made = lance_sql.write(pa.table({"id": [version]}), made.uri, mode="append")
    return made


def versions(dataset: lance_sql.Dataset, *arguments: Any, **options: Any) -> list[int]:
    """The ids that a range inserts."""
    found: list[int] = dataset.changes(*arguments, **options).scan(["id"]).to_table()["id"].to_pylist()
    return found


def test_both_bounds_belong_to_the_range(table: lance_sql.Dataset) -> None:
    assert versions(table, 2, 4) == [2, 3, 4]
    assert versions(table, 4, 4) == [4]
    assert versions(table, since=4) == [5, 6]
    assert versions(table, end=2) == [1, 2]
    assert versions(lance_sql.open(table.uri, version=3)) == [1, 2, 3]


def test_nothing_since_is_no_error(table: lance_sql.Dataset) -> None:
    assert versions(table, since=6) == versions(table, 7) == versions(table, since=3, end=3) == []
    assert table.changes(since=6).schema == table.changes(1).schema
    assert "none" in table.changes(since=6).explain()


def test_a_range_ends_with_the_version_of_the_handle(table: lance_sql.Dataset) -> None:
    third = lance_sql.open(table.uri, version=3)
    assert versions(third, since=3) == versions(third, 4) == []
    with pytest.raises(InvalidArgument, match=r"since=4 is later than version 3 of t.lance"):
        third.changes(since=4)
    third.tags.create("fourth", 4)
    with pytest.raises(InvalidArgument, match="start is 'fourth', end is 3"):
        table.changes("fourth", 3)


def test_an_empty_range_is_sent_to_other_processes(table: lance_sql.Dataset) -> None:
    for feed in (table.changes(since=6), table.changes(7), table.row_history(7)):
        sent = pickle.loads(pickle.dumps(feed))
        assert (sent.start, sent.end, sent.scan().to_table().num_rows) == (7, 6, 0)


def test_tags_and_times_are_bounds(table: lance_sql.Dataset) -> None:
    table.tags.create("third", 3)
    times = {info.version: info.timestamp for info in table.versions()}
    assert versions(table, "third", 4) == [3, 4]
    assert versions(table, since="third", end="third") == []
    assert versions(table, times[2], times[4]) == [2, 3, 4]
    assert versions(table, since=times[5]) == [6]
    assert times[3] is not None
    assert versions(table, (times[3] + timedelta(microseconds=1)).isoformat()) == [4, 5, 6]
    assert versions(table, end=times[1].isoformat() if times[1] else None) == [1]
    assert versions(table, "2000-01-01") == [1, 2, 3, 4, 5, 6]
    assert versions(table, end="2000-01-01") == []
    assert versions(table, since=datetime.now(UTC)) == versions(lance_sql.open(table.uri, version=3), times[5]) == []


@pytest.mark.parametrize("moment", ["2999-01-01", datetime(2999, 1, 1, tzinfo=UTC), date(2999, 1, 1)], ids=str)
def test_a_time_in_the_future_is_the_newest_version_but_no_beginning(table: lance_sql.Dataset, moment: Any) -> None:
    text = str(moment)
    assert lance_sql.open(table.uri, as_of=moment).version == lance_sql.open(f"{table.uri}@{text[:10]}").version == 6
    query = f"SELECT count(*) FROM '{table.uri}' TIMESTAMP AS OF '{text}'"
    assert lance_sql.sql(query, connection=lance_sql.connect()).fetchall() == [(6,)]
    assert versions(table, since=5, end=moment) == [6]
    for name in ("start", "since"):
        with pytest.raises(
            InvalidArgument, match=f"{name}=2999-01-01 00:00:00\\+00:00 is in the future: pass an earlier"
        ):
            versions(table, **{name: moment})


@pytest.mark.parametrize(
    ("bounds", "error", "message"),
    [
        ({"start": 1, "since": 1}, InvalidArgument, "not both"),
        ({"end": 9}, VersionNotFound, "Version 9 does not exist .*: versions 1 to 6"),
        ({"start": 6, "end": 9}, VersionNotFound, "Version 9 does not exist .*: versions 1 to 6"),
        ({"start": 4, "end": 3}, InvalidArgument, "ends before it begins: start is 4, end is 3 of t.lance"),
        ({"since": 4, "end": 3}, InvalidArgument, "ends before it begins: since is 4, end is 3"),
        ({"start": "2024-01-02", "end": "2024-01-01"}, InvalidArgument, "ends before it begins"),
        ({"since": date(2024, 1, 2), "end": date(2024, 1, 1)}, InvalidArgument, "ends before it begins"),
        ({"start": 8}, VersionNotFound, "start=8 does not exist yet: the newest version of t.lance is 6"),
        ({"since": 7}, VersionNotFound, "since=7 does not exist yet: the newest version of t.lance is 6"),
        ({"since": "2999-01-01"}, InvalidArgument, "is in the future"),
        ({"start": "2999-01-01"}, InvalidArgument, "is in the future"),
        ({"start": "nosuch"}, VersionNotFound, "neither a tag"),
        ({"start": -1}, InvalidArgument, "not a version number"),
        ({"start": 1.5}, InvalidArgument, "neither a version"),
        ({"start": True}, InvalidArgument, "neither a version"),
        ({"mode": "some"}, InvalidArgument, "not one of 'all', 'net', 'insert_only'"),
        ({"key": []}, InvalidArgument, "key= is empty"),
        ({"key": "nosuch"}, InvalidArgument, "nosuch"),
    ],
)
def test_wrong_arguments_are_reported(
    table: lance_sql.Dataset, bounds: Any, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        table.changes(**bounds)


def test_a_branch_has_the_history_of_its_parents(table: lance_sql.Dataset) -> None:
    dev = lance_sql.open(table.uri, version=4).branches.create("dev")
    dev = dev.update({"id": "id + 100"}, "id = 2")
    deep = dev.branches.create("deep").delete("id = 3")
    kinds = deep.changes(3).scan(["id", "_change_type", "_commit_version"]).to_table().to_pylist()
    assert [tuple(row.values()) for row in kinds] == [
        (3, "insert", 3),
        (4, "insert", 4),
        (2, "update_preimage", 5),
        (102, "update_postimage", 5),
        (3, "delete", 6),
    ]
    net = deep.changes(4, mode="net").scan(["id", "_change_type"]).to_table().to_pylist()
    assert sorted(tuple(row.values()) for row in net) == [
        (2, "update_preimage"),
        (3, "delete"),
        (4, "insert"),
        (102, "update_postimage"),
    ]
    # the branch's first version is a copy, which changes nothing
    assert versions(lance_sql.open(table.uri, branch="dev", version=4), 4) == [4]
    table.tags.create("later", 6)
    with pytest.raises(InvalidArgument, match="of main, which is not in the history of branch 'deep'"):
        deep.changes("later")


def test_a_clone_begins_with_its_rows(table: lance_sql.Dataset, tmp_path: Path) -> None:
    clone = lance_sql.open(table.uri, version=3).branches.shallow_clone(tmp_path / "clone.lance").delete("id = 1")
    assert versions(clone) == [1, 2, 3, 1]
    assert versions(clone, 4) == [1]


def test_cleaned_up_versions_have_no_changes(table: lance_sql.Dataset) -> None:
    table.tags.create("old", 2)
    table.maintenance.cleanup(retain_versions=3)
    table = lance_sql.open(table.uri)
    assert versions(table, since=4) == [5, 6]
    for start in (1, 2, 3, 4):
        with pytest.raises(VersionNotFound, match=r"Start at version 5 \(since=4\)"):
            table.changes(start)
    with pytest.raises(VersionNotFound, match="version 3 was cleaned up"):
        table.changes()
    with pytest.raises(VersionNotFound, match="was cleaned up"):
        table.changes(2, 2)


def test_a_cleanup_under_the_feed_is_named(table: lance_sql.Dataset) -> None:
    feed = table.changes(2, 4)
    table.maintenance.cleanup(retain_versions=1)
    with pytest.raises(VersionNotFound, match=r"Version \d of t.lance was cleaned up while its changes were read"):
        feed.scan().to_table()


def test_files_that_a_cleanup_removed_under_a_task_are_named(table: lance_sql.Dataset) -> None:
    made = table.update({"id": "id * 10"}, "id > 4")
    tasks = made.changes(made.version).tasks(1)
    made.maintenance.compact().maintenance.cleanup(retain_versions=1)
    with pytest.raises(VersionNotFound, match="cleaned up"):
        tasks[0].to_reader().read_all()


def replace_transaction(dataset: lance_sql.Dataset, content: bytes) -> None:
    """Gives a version another transaction."""
    snapshot = dataset.snapshot
    made = manifests.serialize(
        dataclasses.replace(snapshot.manifest, transaction_file=""), index_section=None, transaction=content
    )
    snapshot.store.put(snapshot.manifest_path, made, mode="overwrite")


def test_without_a_transaction_snapshots_are_compared(table: lance_sql.Dataset) -> None:
    made = table.update({"id": "id + 100"}, "id = 2").delete("id = 3").maintenance.compact()
    expected = made.changes(7).scan().to_table()
    for version in range(7, made.version + 1):
        replace_transaction(lance_sql.open(table.uri, version=version), b"\xff\xff")
    shutil.rmtree(Path(table.uri) / "_transactions")
    made = lance_sql.open(table.uri)
    feed = made.changes(7)
    assert "without a transaction, snapshots are compared: version 7, 8, 9, 10" in feed.explain()
    assert feed.scan().to_table().drop(["_commit_timestamp"]) == expected.drop(["_commit_timestamp"])
    net = made.changes(7, mode="net").scan(["id", "_change_type"]).to_table().to_pylist()
    assert [tuple(row.values()) for row in net] == [(3, "delete"), (2, "update_preimage"), (102, "update_postimage")]


@pytest.mark.parametrize(
    ("operation", "name"),
    [
        (transaction_pb2.Transaction(data_overlay={}).SerializeToString(), "'data_overlay'"),
        (b"\xaa\x07\x00", "an oper"),
    ],
)
def test_an_operation_that_is_not_known_is_refused(table: lance_sql.Dataset, operation: bytes, name: str) -> None:
    assert transactions.parse(operation).operation in ("data_overlay", None)
    replace_transaction(lance_sql.open(table.uri, version=4), operation)
    made = lance_sql.open(table.uri)
    with pytest.raises(UnsupportedFeature, match=f"Version 4 of t.lance was made by .*{name}"):
        made.changes(3).scan().to_table()
    assert versions(made, 5) == [5, 6]


def test_a_part_of_a_fragment_that_is_not_known_is_refused(table: lance_sql.Dataset) -> None:
    """As a later release would write it: field 100 in the fragment that version 6 added."""
    snapshot = table.snapshot
    fragments = snapshot.manifest.fragments
    last = fragments.message_bytes(len(fragments) - 1)
    field = b"\xa0\x06\x01"
    at = int(fragments.table.ends[-2])
    stored = fragments.content[at:]
    head = stored[: len(stored) - len(last)]
    assert len(last) + len(field) < 2**14
    size = len(last) + len(field)
    length = bytes([size]) if size < 128 else bytes([size & 127 | 128, size >> 7])
    content = fragments.content[:at] + head[:1] + length + last + field
    changed = type(fragments)(content, trust_rows=True, file=fragments.file)
    transaction = transactions.read_bytes(snapshot.store, snapshot.manifest_path, snapshot.manifest)
    assert transaction is not None
    made = manifests.serialize(
        dataclasses.replace(snapshot.manifest, fragments=changed), index_section=None, transaction=transaction
    )
    snapshot.store.put(snapshot.manifest_path, made, mode="overwrite")
    with pytest.raises(UnsupportedFeature, match="field 100, which this release does not support"):
        lance_sql.open(table.uri).changes(6).scan().to_table()
    assert versions(lance_sql.open(table.uri), 2, 5) == [2, 3, 4, 5]


def test_row_ids_that_two_live_rows_have_are_refused(table: lance_sql.Dataset) -> None:
    snapshot = table.snapshot
    fragments = list(snapshot.manifest.fragments)
    fragments[4] = dataclasses.replace(fragments[4], row_ids=fragments[5].row_ids)
    transaction = transaction_pb2.Transaction(update={}).SerializeToString()
    made = manifests.serialize(
        dataclasses.replace(snapshot.manifest, fragments=type(snapshot.manifest.fragments).of(fragments)),
        index_section=None,
        transaction=transaction,
    )
    snapshot.store.put(snapshot.manifest_path, made, mode="overwrite")
    with pytest.raises(CorruptFile, match="have the row id 5"):
        lance_sql.open(table.uri).changes(6).scan().to_table()


def test_pylance_reads_what_the_feed_read(table: lance_sql.Dataset) -> None:
    """Reading leaves nothing behind in the folder of the table."""
    before = sorted(os.walk(table.uri))
    table.changes().scan().to_table()
    assert sorted(os.walk(table.uri)) == before
    assert lance.dataset(table.uri).count_rows() == 6
