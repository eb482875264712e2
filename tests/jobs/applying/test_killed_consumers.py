"""A consumer that died between the commit of `apply_changes` and the move of its cursor goes on without `target=`."""

from __future__ import annotations

import random
import shutil
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import lance_sql
from lance_sql import CommitConflict


class Killed(BaseException):
    """The process is gone."""


def change(path: str, chance: random.Random) -> None:
    table = lance_sql.open(path)
    rows = {"id": [chance.randrange(1000, 10**9)], "v": ["new"]}
    if chance.random() < 0.5:
        lance_sql.write(rows, path, mode="append")
    elif chance.random() < 0.5:
        table.update({"v": f"'{chance.random()}'"}, f"id % 3 = {chance.randrange(3)}")
    else:
        table.delete(f"id % 7 = {chance.randrange(7)}")


def run(source: str, copy: Any, options: dict[str, Any], mode: Any, *, dies: bool) -> None:
    with lance_sql.open(source).cursors.open("copy").read(mode=mode) as changes:
        lance_sql.apply_changes(copy, changes, "id", **options)
        if dies:
            raise Killed


def catch_up(source: str, copy: Any, options: dict[str, Any], mode: Any) -> None:
    """Two runs where a cursor begins with a snapshot."""
    while True:
        run(source, copy, options, mode, dies=False)
        if not lance_sql.open(source).cursors.open("copy").lag().versions:
            return


def rows(path: str) -> list[tuple[Any, ...]]:
    return sorted(tuple(row.values()) for row in lance_sql.open(path).scan(["id", "v"]).to_table().to_pylist())


@pytest.mark.parametrize("mode", ["all", "net"])
@pytest.mark.parametrize("start", ["earliest", "snapshot"])
@pytest.mark.parametrize("options", [{}, {"sequence_by": "_commit_version"}, {"scd": 2}], ids=str)
def test_a_killed_consumer_goes_on(tmp_path: Path, options: dict[str, Any], start: str, mode: str) -> None:
    chance = random.Random(f"{options}{start}{mode}")
    source, copy, whole = (str(tmp_path / f"{name}.lance") for name in ("t", "copy", "whole"))
    lance_sql.write({"id": range(20), "v": [str(number) for number in range(20)]}, source)
    for _ in range(2):
        change(source, chance)
    for name in ("copy", "other"):
        lance_sql.open(source).cursors.open(name, start=start)
    # a death after each commit, several in a row, and with commits of the source between them or not
    for _ in range(3):
        for _ in range(chance.randrange(3)):
            with suppress(Killed):
                run(source, copy, options, mode, dies=True)
            for _ in range(chance.randrange(2)):
                change(source, chance)
        catch_up(source, copy, options, mode)
        before = lance_sql.open(copy).version
        run(source, copy, options, mode, dies=False)
        assert lance_sql.open(copy).version == before
        if options.get("scd") != 2:
            assert rows(copy) == rows(source)
        change(source, chance)
        catch_up(source, copy, options, mode)
    if options.get("scd") == 2:
        for _ in range(2):
            with lance_sql.open(source).cursors.open("other").read(mode="all") as changes:
                lance_sql.apply_changes(whole, changes, "id", scd=2)
        current = lance_sql.open(copy).scan(["id", "v"], "is_current").to_table().to_pylist()
        assert sorted(tuple(row.values()) for row in current) == rows(source)
        if mode == "all":
            names = ["id", "v", "valid_from_version", "valid_to_version"]
            found, expected = (
                sorted(map(str, lance_sql.open(each).scan(names).to_table().to_pylist())) for each in (copy, whole)
            )
            assert found == expected


def test_two_copies_of_one_block(tmp_path: Path) -> None:
    """The consumer dies between the commits of both."""
    source, first, second = (str(tmp_path / f"{name}.lance") for name in ("t", "first", "second"))
    lance_sql.write({"id": [1, 2], "v": ["a", "b"]}, source).cursors.open("copy", start="earliest")
    for dies in (True, False):
        with suppress(Killed), lance_sql.open(source).cursors.open("copy").read() as changes:
            lance_sql.apply_changes(first, changes, "id")
            if dies:
                raise Killed
            lance_sql.apply_changes(second, changes, "id", properties=changes.properties)
        if dies:
            lance_sql.open(source).update({"v": "'c'"}, "id = 1")
    assert rows(first) == rows(second) == rows(source) == [(1, "c"), (2, "b")]
    assert lance_sql.open(source).cursors.open("copy").position == 2


@pytest.mark.parametrize("until", [None, 2])
def test_a_copy_of_another_source_is_refused(tmp_path: Path, until: int | None) -> None:
    """The source was restored from a backup, and has other commits since."""
    source, copy = str(tmp_path / "t.lance"), str(tmp_path / "copy.lance")
    lance_sql.write({"id": [1], "v": ["a"]}, source).cursors.open("copy", start="earliest")
    shutil.copytree(source, tmp_path / "backup.lance")
    for _ in range(2):
        lance_sql.open(source).update({"v": "'lost'"}, "id = 1")
    with suppress(Killed):
        run(source, copy, {}, "all", dies=True)
    shutil.rmtree(source)
    shutil.copytree(tmp_path / "backup.lance", source)
    for _ in range(until or 3):
        lance_sql.open(source).update({"v": "'other'"}, "id = 1")
        with pytest.raises(CommitConflict, match="with target="):
            run(source, copy, {}, "all", dies=False)
    assert rows(copy) == [(1, "lost")]
