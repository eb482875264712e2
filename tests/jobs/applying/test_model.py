"""Random changes, shuffled, late, twice, and with NULL in their keys, against the model."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import lance
import pyarrow as pa
import pytest

import lance_sql

from .model import Event, HistoryModel, LatestModel

VALUES = ("a", "b", "tags")


def schema(num_keys: int, num_moments: int) -> pa.Schema:
    keys = [pa.field(f"k{i}", pa.int64() if i == 0 else pa.string()) for i in range(num_keys)]
    moments = [pa.field(f"at{i}", pa.int32() if i == 0 else pa.timestamp("us", "UTC")) for i in range(num_moments)]
    values = [pa.field("a", pa.int64()), pa.field("b", pa.string()), pa.field("tags", pa.list_(pa.float64()))]
    return pa.schema([*keys, *values, *moments, pa.field("op", pa.string())])


class RandomChanges:
    """Changes of few keys, so that many meet."""

    def __init__(self, seed: int) -> None:
        self.choice = random.Random(seed)
        self.num_keys = self.choice.choice([1, 1, 2])
        self.num_moments = self.choice.choice([1, 1, 2])
        self.schema = schema(self.num_keys, self.num_moments)
        self.keys = [f"k{i}" for i in range(self.num_keys)]
        self.moments = [f"at{i}" for i in range(self.num_moments)]
        # a key has one history; it is handed out in any order, some of it twice
        self.truth: dict[tuple[Any, Any], dict[str, Any]] = {}
        self.sent: list[dict[str, Any]] = []

    def key(self) -> tuple[Any, ...]:
        parts: list[Any] = [self.choice.choice([None, 1, 2, 3, 4])]
        if self.num_keys == 2:
            parts.append(self.choice.choice([None, "x", ""]))
        return tuple(parts)

    def moment(self) -> tuple[Any, ...]:
        return tuple(self.choice.randint(0, 12 if i == 0 else 2) for i in range(self.num_moments))

    def row(self) -> dict[str, Any]:
        key, moment = self.key(), self.moment()
        if (key, moment) not in self.truth:
            self.truth[key, moment] = {
                **dict(zip(self.keys, key, strict=True)),
                "a": self.choice.choice([None, 0, 1]),
                "b": self.choice.choice([None, "u", "v"]),
                "tags": self.choice.choice([None, [], [1.5], [None]]),
                **dict(zip(self.moments, moment, strict=True)),
                "op": self.choice.choice(["U", "U", "U", "D", None]),
            }
        return self.truth[key, moment]

    def batch(self) -> list[dict[str, Any]]:
        rows = [self.row() for _ in range(self.choice.randint(0, 8))]
        rows += self.choice.sample(self.sent, min(len(self.sent), self.choice.randint(0, 2)))
        self.choice.shuffle(rows)
        self.sent += rows
        return rows

    def events(self, rows: list[dict[str, Any]]) -> list[Event]:
        return [
            Event(
                tuple(row[name] for name in self.keys),
                tuple(row[name] for name in self.moments),
                None if row["op"] == "D" else {name: row[name] for name in VALUES},
            )
            for row in rows
        ]

    def table(self, rows: list[dict[str, Any]]) -> pa.Table:
        plain = pa.schema([pa.field(each.name, pa.int64()) if "at" in each.name else each for each in self.schema])
        table = pa.Table.from_pylist(rows, plain)
        for index, each in enumerate(self.schema):
            if "at" in each.name:
                table = table.set_column(index, each, table.column(index).cast(each.type))
        return table


class RandomCommits(RandomChanges):
    """Changes of a feed. The clocks of its commits stand still and go back."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.moments = ["_commit_version", "_commit_timestamp"]
        self.clock = [self.choice.randint(0, 5) for _ in range(13)]

    def moment(self) -> tuple[Any, ...]:
        version = self.choice.randint(0, 12)
        return version, self.clock[version]

    def table(self, rows: list[dict[str, Any]]) -> pa.Table:
        kinds = ["delete" if row["op"] == "D" else self.choice.choice(["insert", "update_postimage"]) for row in rows]
        plain = [each for each in self.schema if each.name in (*self.keys, *VALUES)]
        table = pa.Table.from_pylist(rows, pa.schema([*plain, pa.field("_commit_version", pa.uint64())]))
        times = pa.array([row["_commit_timestamp"] for row in rows], pa.int64()).cast(pa.timestamp("us", "UTC"))
        table = table.append_column("_commit_timestamp", times)
        return table.append_column("_change_type", pa.array(kinds, pa.string()))


def check_latest(path: str, seed: int) -> None:
    changes = RandomChanges(seed)
    choice = changes.choice
    ignored = choice.choice([(), (), ("a",), VALUES])
    stores_moment = choice.random() < 0.5
    left_out = ["op"] if stores_moment else ["op", *changes.moments]
    model = LatestModel(ignored)
    for turn in range(choice.randint(1, 6)):
        rows = changes.batch()
        made = lance_sql.apply_changes(
            path,
            changes.table(rows),
            changes.keys,
            sequence_by=changes.moments,
            delete_when="op = 'D'",
            except_columns=left_out,
            ignore_null_updates=list(ignored) if ignored else False,
        )
        model.apply(changes.events(rows))
        found = made.scan().to_table().to_pylist()
        got = sorted((tuple(row[name] for name in (*changes.keys, *VALUES)) for row in found), key=repr)
        expected = sorted(((*key, *(row[name] for name in VALUES)) for key, row in model.rows.items()), key=repr)
        assert got == expected, (seed, turn)
        maintain(choice, path)


def check_history(path: str, seed: int, kind: type[RandomChanges] = RandomChanges) -> None:
    changes = kind(seed)
    choice = changes.choice
    ignored = choice.choice([(), (), ("a",), VALUES])
    tracked = choice.choice([None, None, ["a"], ["b", "tags"], []])
    model = HistoryModel(ignored, tracked)
    order: dict[str, Any] = {}
    if kind is RandomChanges:
        order = {"sequence_by": changes.moments, "delete_when": "op = 'D'", "except_columns": ["op", *changes.moments]}
    for turn in range(choice.randint(1, 6)):
        rows = changes.batch()
        made = lance_sql.apply_changes(
            path,
            changes.table(rows),
            changes.keys,
            ignore_null_updates=list(ignored) if ignored else False,
            track_history_on=tracked,
            scd=2,
            **order,
        )
        model.apply(changes.events(rows))
        got = sorted(map(repr, (history_row(changes, row) for row in made.scan().to_table().to_pylist())))
        expected = sorted(
            repr(((*key, *(values[name] for name in VALUES)), begun, ended, ended is None))
            for key, values, begun, ended in model.rows()
        )
        assert got == expected, (seed, turn)
        maintain(choice, path)


def history_row(changes: RandomChanges, row: dict[str, Any]) -> tuple[Any, ...]:
    def moment(name: str) -> tuple[Any, ...] | None:
        value = row[name]
        if value is None:
            return None
        parts = tuple(value.values()) if isinstance(value, dict) else (value,)
        if isinstance(changes, RandomCommits):
            parts = (row[f"{name}_version"], value)
        return tuple(part if isinstance(part, int) else round(part.timestamp() * 1e6) for part in parts)

    values = tuple(row[name] for name in (*changes.keys, *VALUES))
    return values, moment("valid_from"), moment("valid_to"), row["is_current"]


def maintain(choice: random.Random, path: str) -> None:
    """Other operations between the changes."""
    match choice.randint(0, 9):
        case 0:
            lance_sql.open(path).maintenance.compact()
        case 1:
            lance.dataset(path).optimize.compact_files()
        case 2:
            lance_sql.open(path).maintenance.cleanup(retain_versions=1)
        case 3:
            lance_sql.open(path).config.update({"mine": "x"})


@pytest.mark.parametrize("piece", range(6))
def test_the_latest_rows(tmp_path: Path, piece: int) -> None:
    for seed in range(5):
        check_latest(str(tmp_path / f"{seed}.lance"), 100 * piece + seed)


@pytest.mark.parametrize("piece", range(6))
def test_all_rows(tmp_path: Path, piece: int) -> None:
    for seed in range(5):
        check_history(str(tmp_path / f"{seed}.lance"), 100 * piece + seed)


@pytest.mark.parametrize("piece", range(6))
def test_all_rows_of_a_feed_with_the_times_of_its_commits(tmp_path: Path, piece: int) -> None:
    for seed in range(5):
        check_history(str(tmp_path / f"{seed}.lance"), 100 * piece + seed, RandomCommits)


@pytest.mark.slow
@pytest.mark.parametrize("piece", range(20))
def test_a_thousand_streams_of_changes(tmp_path: Path, piece: int) -> None:
    for number in range(50):
        seed = 10_000 + 50 * piece + number
        check_latest(str(tmp_path / f"{seed}-1.lance"), seed)
        check_history(str(tmp_path / f"{seed}-2.lance"), seed)
        check_history(str(tmp_path / f"{seed}-3.lance"), seed, RandomCommits)
