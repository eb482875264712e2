"""The feed of random histories by two writers, against the model's versions of the table."""

from __future__ import annotations

import random
from pathlib import Path

import pyarrow as pa
import pytest
from datafusion import SessionContext

import lance_sql
from tests.seeds import seeds

from .expected import Image, RecordedHistory, all_changes, applied, images_of, net_changes

FEED = ("_commit_version", "_change_type", "_rowid")


def as_images(table: pa.Table) -> list[Image]:
    """The rows of a feed, sorted."""
    columns = [name for name in table.column_names if name not in (*FEED, "_commit_timestamp")]
    told = zip(*(table[name].to_pylist() for name in FEED), strict=True)
    values = zip(*(table[name].to_pylist() for name in columns), strict=True)
    return sorted(((*a, b) for a, b in zip(told, values, strict=True)), key=repr)


def check_range(history: RecordedHistory, start: int, end: int) -> None:
    dataset = lance_sql.open(history.path)
    last = history.versions[end].model
    where = (history.log, start, end)
    feed = dataset.changes(start, end)
    assert feed.schema.names[: len(last.columns)] == list(last.columns), where
    found = as_images(feed.scan().to_table())
    assert found == sorted((image for image, _ in all_changes(history, start, end)), key=repr), where
    assert feed.count_rows() == len(found)
    net = as_images(dataset.changes(start, end, mode="net").scan().to_table())
    assert net == sorted(net_changes(history, start, end), key=repr), where
    before = images_of(history.versions[start - 1].model, last) if start > 1 else {}
    after = images_of(last, last)
    assert applied(before, found) == after, where
    # one change of a row, whenever it was
    assert applied(before, [(end, *image[1:]) for image in net]) == after, where
    inserted = as_images(dataset.changes(start, end, mode="insert_only").scan().to_table())
    assert inserted == [image for image in found if image[1] == "insert"], where
    changed = as_images(dataset.changes(start, end, drop_unchanged=True).scan().to_table())
    pairs = {(image[0], image[2]): image[3] for image in found if image[1] == "update_preimage"}
    unchanged = {(v, r) for v, kind, r, values in found if kind == "update_postimage" and pairs[v, r] == values}
    assert changed == [
        image for image in found if not image[1].startswith("update") or (image[0], image[2]) not in unchanged
    ], where


def check_key(history: RecordedHistory, start: int, end: int) -> None:
    """By key, the net changes are what differs between the ends."""
    last = history.versions[end].model
    number = list(last.columns).index("k")
    before = images_of(history.versions[start - 1].model, last) if start > 1 else {}
    old, new = ({row[number]: row for row in rows.values()} for rows in (before, images_of(last, last)))
    expected = [("delete", old[key]) for key in old.keys() - new.keys()]
    expected += [("insert", new[key]) for key in new.keys() - old.keys()]
    for key in old.keys() & new.keys():
        if old[key] != new[key]:
            expected += [("update_preimage", old[key]), ("update_postimage", new[key])]
    found = as_images(lance_sql.open(history.path).changes(start, end, mode="net", key="k").scan().to_table())
    assert sorted((image[1:4:2] for image in found), key=repr) == sorted(expected, key=repr), (history.log, start, end)


FILTERS = (
    "_change_type = 'delete' OR a > 0",
    "_change_type IN ('insert', 'update_postimage') AND k % 2 = 0",
    "_commit_version BETWEEN {middle} AND {middle} + 2 AND s IS NOT NULL",
    "_rowid % 3 = 1 OR _commit_version = {middle}",
    "_commit_version > k OR NOT (_change_type = 'insert' AND s = 'changed')",
    "_rowid < 20 AND _commit_timestamp >= (SELECT min(_commit_timestamp) FROM feed WHERE _commit_version >= {middle})",
)


def check_engines(history: RecordedHistory, start: int, end: int) -> None:
    """DuckDB and DataFusion read what Python reads, and filter as they filter the same rows in a table of their own."""
    connection = lance_sql.connect()
    context = lance_sql.register(SessionContext())
    for mode in ("all", "net"):
        rows = lance_sql.open(history.path).changes(start, end, mode=mode).scan().to_table()
        connection.register("rows", rows)
        connection.execute("CREATE OR REPLACE TABLE feed AS FROM rows")
        context.register_record_batches(f"feed_{mode}", [rows.to_batches() or [_no_rows(rows.schema)]])
        for filter in ("true", *FILTERS):
            where = filter.format(middle=(start + end) // 2)
            place = (history.log, start, end, mode, where)
            call = f"lance_changes('{history.path}', {start}, {end}, mode := '{mode}')"
            ours, native = (
                connection.sql(f"SELECT * FROM {source} WHERE {where} ORDER BY ALL").to_arrow_table()
                for source in (call, "feed")
            )
            assert ours == native, place
            call = f"lance_changes('{history.path}', {start}, {end}, NULL, '{mode}')"
            names = ", ".join(f'"{name}"' for name in rows.column_names)
            ours, native = (
                context.sql(f"SELECT {names} FROM {source} WHERE {where.replace('FROM feed', f'FROM feed_{mode}')}")
                .to_arrow_table()
                .cast(rows.schema)
                for source in (call, f"feed_{mode}")
            )
            assert as_images(ours) == as_images(native), place


def _no_rows(schema: pa.Schema) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist([], schema)


def check_pairs(history: RecordedHistory, count: int) -> None:
    """Some ranges of a history, the whole of it among them."""
    newest = max(history.versions)
    choice = random.Random(newest)
    ranges = {(1, newest), (newest, newest)}
    while len(ranges) < count:
        start = choice.randint(1, newest)
        ranges.add((start, choice.randint(start, newest)))
    for start, end in sorted(ranges):
        check_range(history, start, end)
    check_engines(history, *choice.choice(sorted(ranges)))
    check_key(history, *choice.choice(sorted(ranges)))


@seeds(range(6), range(6, 12))
def test_the_feed_matches_the_model(tmp_path: Path, seed: int) -> None:
    history = RecordedHistory(str(tmp_path / "t.lance"), seed)
    history.run(15)
    check_pairs(history, 6)


@pytest.mark.slow
@pytest.mark.parametrize("piece", range(40))
def test_a_thousand_histories(tmp_path: Path, piece: int) -> None:
    for number in range(25):
        seed = 1000 + 25 * piece + number
        history = RecordedHistory(str(tmp_path / f"{seed}.lance"), seed)
        history.run(30)
        check_pairs(history, 12)
