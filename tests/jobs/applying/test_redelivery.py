"""Changes that were applied before create no version, in whatever order and number they come again."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

import lance_sql

KEYS: dict[str, tuple[list[str], list[tuple[Any, ...]]]] = {
    "a number": (["k"], [(1,), (2,), (None,)]),
    "text": (["k"], [("x",), ("y",), ("",)]),
    "two": (["k", "l"], [(1, "x"), (1, "y"), (2, "x"), (None, "x")]),
    "three": (["k", "l", "m"], [(1, "x", 0.5), (1, "x", 1.5), (1, "y", 0.5), (2, "x", float("nan"))]),
}
OPTIONS: dict[str, dict[str, Any]] = {
    "whole rows": {},
    "some columns": {"track_history_on": ["v"]},
    "no column": {"track_history_on": []},
    "patches": {"ignore_null_updates": True},
}


def changes(keys: str, chance: random.Random, value_is_first: bool) -> list[dict[str, Any]]:
    names, values = KEYS[keys]
    found = []
    for key in values:
        # the last key only has deletions
        is_known = key is not values[-1]
        for at in chance.sample(range(10), 5):
            kind = chance.choice("uuud") if is_known else "d"
            row = {
                "v": chance.choice(["a", "b", None]),
                "w": chance.randrange(3),
                **dict(zip(names, key, strict=True)),
                "at": at,
                "op": kind,
            }
            found.append(row if value_is_first else {name: row[name] for name in (*names, "w", "v", "at", "op")})
    return found


@pytest.mark.parametrize("scd", [1, 2])
@pytest.mark.parametrize("value_is_first", [True, False], ids=["value first", "key first"])
@pytest.mark.parametrize("keys", KEYS)
def test_changes_that_come_again(tmp_path: Path, keys: str, value_is_first: bool, scd: Any) -> None:
    options = list(OPTIONS)[list(KEYS).index(keys)]
    given = {name: value for name, value in OPTIONS[options].items() if scd == 2 or not name.startswith("track")}
    path, chance = str(tmp_path / "t.lance"), random.Random(f"{keys}{options}{value_is_first}{scd}")
    waiting = changes(keys, chance, value_is_first)
    chance.shuffle(waiting)
    delivered: list[dict[str, Any]] = []

    def deliver(rows: list[dict[str, Any]]) -> int:
        return lance_sql.apply_changes(
            path,
            rows,
            KEYS[keys][0],
            sequence_by="at",
            delete_when="op = 'd'",
            except_columns=["at", "op"],
            scd=scd,
            **given,
        ).version

    while waiting:
        part, waiting = waiting[:7], waiting[7:]
        version = deliver(part)
        delivered += part
        for size in (len(delivered), chance.randint(1, len(delivered))):
            again = chance.sample(delivered, size)
            assert deliver(again) == version, again
    if scd == 2:
        assert deliver(delivered[::-1]) == version
