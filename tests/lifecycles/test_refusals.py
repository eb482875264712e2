"""A refusal leaves nothing behind, and a removal takes nothing that came after it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import lance_sql
from lance_sql import ContractBroken, Dataset, InvalidArgument
from lance_sql.store import Store
from lance_sql.table import refs, table_folders
from lance_sql.writes.commit import cleanup

CHANGES: dict[str, Callable[[Dataset], object]] = {
    "delete": lambda table: table.delete("id < 5"),
    "update": lambda table: table.update({"id": "-1"}, "id IN (3, 4)"),
    "merge": lambda table: table.merge({"id": [5], "v": [-1]}, on="id"),
    "append": lambda table: lance_sql.write({"id": [-1], "v": [0]}, table, mode="append"),
}


def files(path: Path) -> set[Path]:
    return {each for each in path.rglob("*") if each.is_file()}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("branch", [None, "load"])
def test_a_refused_change_leaves_no_file(tmp_path: Path, change: str, branch: str | None) -> None:
    path = tmp_path / "t.lance"
    table = lance_sql.write({"id": range(10), "v": range(10)}, path)
    table = table.rules.set("positive", "id >= 0 AND v >= 0", enforce=True)
    table = table.rules.set("rows", "row_count_change(-0.1, 1)", enforce=True)
    table.branches.create("load")
    before = files(path)
    with pytest.raises(ContractBroken):
        CHANGES[change](lance_sql.open(path, branch=branch))
    assert files(path) == before


def test_a_refused_branch_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = lance_sql.write({"id": [1]}, tmp_path / "t.lance")
    before = files(tmp_path)

    def refuse(*arguments: object, **options: object) -> None:
        raise InvalidArgument("branch exists already")

    monkeypatch.setattr(refs, "add_branch", refuse)
    with pytest.raises(InvalidArgument):
        table.branches.create("load")
    assert files(tmp_path) == before


def test_a_table_that_is_made_while_another_is_dropped_is_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "t.lance"
    lance_sql.write({"id": range(10)}, path).delete("id = 3").indices.create("id", "btree").branches.create("load")
    below = table_folders._below

    def make(store: Store, folder: str) -> list[str]:
        listed = list(below(store, folder))
        if folder == "_versions" and not listed:
            lance_sql.write({"id": [11]}, path, mode="overwrite")
        return listed

    monkeypatch.setattr(table_folders, "_below", make)
    table_folders.drop(str(path))
    monkeypatch.undo()
    assert lance_sql.open(path).to_table()["id"].to_pylist() == [11]
    assert lance_sql.verify(path, deep=True).is_healthy


@pytest.mark.parametrize("gone", ["version", "branch"])
def test_a_cleanup_passes_over_versions_that_another_one_removes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, gone: str
) -> None:
    path = tmp_path / "t.lance"
    table = lance_sql.write({"id": range(10)}, path).update({"id": "id + 1"}, "true")
    table.branches.create("load")
    table = table.update({"id": "id + 1"}, "true").update({"id": "id + 1"}, "true")
    pinned = cleanup._pinned

    def removing(snapshot: object) -> set[int]:
        monkeypatch.setattr(cleanup, "_pinned", pinned)
        if gone == "version":
            table.maintenance.cleanup(retain_versions=1)
        else:
            table.branches.delete("load")
        return pinned(snapshot)  # type: ignore[arg-type]  # passed on as given

    monkeypatch.setattr(cleanup, "_pinned", removing)
    table.maintenance.cleanup(retain_versions=1)
    assert lance_sql.open(path).to_table()["id"].to_pylist() == list(range(3, 13))
    assert lance_sql.verify(path, deep=True).is_healthy
