"""Referenced versions stay; a reference created during a cleanup is kept or refused."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import lance
import pyarrow as pa
import pytest

import lance_sql
from lance_sql import Dataset, InvalidArgument, LanceError, VersionNotFound
from lance_sql.writes.commit import cleanup, clones


def ids(table: Dataset) -> list[int]:
    found: list[int] = sorted(table.to_table()["id"].to_pylist())
    return found


INSIDE = ["etl/data", "etl/_versions", "etl/_indices/x", "etl/data/data", "etl/x", "etl/_deletions"]


@pytest.mark.parametrize("inside", INSIDE)
@pytest.mark.parametrize("how", ["delete", "publish", "cleanup"])
def test_branches_inside_of_the_folder_of_a_branch_stay(tmp_path: Path, inside: str, how: str) -> None:
    path = tmp_path / "t.lance"
    table = lance_sql.write({"id": [0]}, path)
    for branch in ("etl", inside):
        table.branches.create(branch)
        lance_sql.write({"id": [1, 2]}, path, mode="append", branch=branch)
        lance_sql.open(path, branch=branch).delete("id = 2").indices.create("id", "btree")
    if how == "cleanup":
        made = lance_sql.open(path, branch="etl")
        late = cleanup.plan(made.snapshot, now=made.snapshot.manifest.timestamp + timedelta(days=60))
        cleanup.execute(late)
    elif how == "publish":
        lance_sql.open(path).branches.publish("etl")
    else:
        table.branches.delete("etl")
        assert not list((path / "tree" / "etl" / "_versions").glob("*.manifest"))
    kept = lance_sql.open(path, branch=inside)
    assert ids(kept) == [0, 1]
    assert kept.count_rows("id = 1") == 1
    lance_sql.write({"id": [3]}, kept, mode="append")
    assert ids(lance_sql.open(path, branch=inside)) == [0, 1, 3]


MAKERS: dict[str, Callable[[Dataset], object]] = {
    "create_tag": lambda old: old.tags.create("kept"),
    "move_tag": lambda old: old.tags.move("moving"),
    "create_branch": lambda old: old.branches.create("kept"),
    "cursor": lambda old: old.cursors.open("kept", start=old.version + 1),
    "seek": lambda old: old.cursors.open("moving").seek(old.version + 1),
}


def _check(path: Path, maker: str, said: list[str]) -> None:
    """Either the reference was refused, and is not there, or what it names can be read."""
    table = lance_sql.open(path)
    names = {**table.tags.list(), **table.branches.list(), **table.cursors.list()}
    if not said:
        assert "kept" in names or maker in ("move_tag", "seek")
        if maker in ("create_tag", "move_tag"):
            assert ids(lance_sql.open(path, tag="kept" if maker == "create_tag" else "moving")) == [0, 1]
        elif maker == "create_branch":
            assert ids(lance_sql.open(path, branch="kept")) == [0, 1]
        else:
            with table.cursors.open("kept" if maker == "cursor" else "moving").read() as changes:
                assert changes.count_rows() > 0
    else:
        assert "kept" not in names
    assert lance_sql.verify(path).is_healthy


def _table(path: Path) -> Dataset:
    lance_sql.write({"id": [0]}, path)
    old = lance_sql.write({"id": [1]}, path, mode="append")
    lance_sql.write({"id": [2]}, path, mode="overwrite").tags.create("moving")
    lance_sql.open(path).cursors.open("moving", start="latest")
    return lance_sql.open(path, version=old.version)


@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize("at", ["before the look", "after the look", "between manifests and files"])
def test_a_reference_and_a_cleanup(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, maker: str, at: str) -> None:
    path = tmp_path / "t.lance"
    old = _table(path)
    said: list[str] = []

    def make() -> None:
        try:
            MAKERS[maker](old)
        except VersionNotFound as error:
            said.append(str(error))

    named, remove = cleanup._named_since, cleanup._remove_versions
    if at == "before the look":
        make()
    elif at == "after the look":
        looks = []

        def look(*arguments: object) -> object:
            found = named(*arguments)  # type: ignore[arg-type]  # passed on as given
            looks.append(1)
            if len(looks) == 1:
                make()
            return found

        monkeypatch.setattr(cleanup, "_named_since", look)
    else:

        def then(planned: cleanup.CleanupPlan) -> object:
            kept = remove(planned)
            make()
            return kept

        monkeypatch.setattr(cleanup, "_remove_versions", then)
    lance_sql.open(path).maintenance.cleanup(retain_versions=1)
    assert bool(said) == (at == "between manifests and files")
    _check(path, maker, said)


@pytest.mark.parametrize("maker", MAKERS)
def test_a_reference_and_a_cleanup_at_the_same_time(tmp_path: Path, maker: str) -> None:
    for number in range(3):
        path = tmp_path / f"{number}.lance"
        old, began, said = _table(path), threading.Barrier(2), list[str]()

        def make(old: Dataset = old, began: threading.Barrier = began, said: list[str] = said) -> None:
            began.wait()
            try:
                MAKERS[maker](old)
            except VersionNotFound as error:
                said.append(str(error))

        other = threading.Thread(target=make)
        other.start()
        began.wait()
        with contextlib.suppress(lance_sql.CommitConflict):
            lance_sql.open(path).maintenance.cleanup(retain_versions=1)
        other.join()
        _check(path, maker, said)


@pytest.mark.parametrize("maker", ["tag", "branch"])
def test_a_reference_to_a_branch_that_is_deleted_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, maker: str
) -> None:
    path = tmp_path / "t.lance"
    table = lance_sql.write({"id": [0]}, path)
    branch = table.branches.create("dev")
    checked, looks = clones.check_unneeded, []

    def look(*arguments: object) -> None:
        checked(*arguments)  # type: ignore[arg-type]  # passed on as given
        looks.append(1)
        if len(looks) == 1:
            branch.tags.create("kept") if maker == "tag" else branch.branches.create("kept")

    monkeypatch.setattr(clones, "check_unneeded", look)
    with pytest.raises(InvalidArgument, match="'kept' first"):
        table.branches.delete("dev")
    assert ids(lance_sql.open(path, branch="dev")) == [0]
    looks.append(1)
    table.tags.delete("kept") if maker == "tag" else table.branches.delete("kept")
    table.branches.delete("dev")
    with pytest.raises(LanceError, match=r"was deleted|is missing"):
        branch.tags.create("late") if maker == "tag" else branch.branches.create("late")
    assert lance_sql.verify(path).is_healthy


def test_a_branch_whose_creation_failed_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = lance_sql.write({"id": [0]}, tmp_path / "t.lance")

    def fail(*arguments: object, **options: object) -> None:
        raise OSError("the disk is full")

    with monkeypatch.context() as patched:
        patched.setattr(clones, "put_version", fail)
        with pytest.raises(OSError, match="disk is full"):
            table.branches.create("dev")
    assert table.branches.list() == {}
    table.branches.create("dev")


def test_branches_without_their_folder_raise(tmp_path: Path) -> None:
    import shutil

    table = lance_sql.write({"id": [0]}, tmp_path / "t.lance")
    table.branches.create("dev")
    shutil.rmtree(tmp_path / "t.lance" / "tree")
    with pytest.raises(VersionNotFound, match=r"'dev' of t\.lance has no version: its folder tree/dev was not copied"):
        lance_sql.open(table.uri, branch="dev")
    lance_sql.open(table.uri).branches.delete("dev")
    assert lance_sql.open(table.uri).branches.list() == {}


def test_a_branch_that_pylance_writes_to_while_it_is_deleted_is_gone(tmp_path: Path) -> None:
    path = tmp_path / "t.lance"
    table = lance_sql.write({"id": [1]}, path)
    table.branches.create("load")
    table.branches.create("other")
    writer = lance.dataset(str(path)).checkout_version(("load", None))
    lance.write_dataset(pa.table({"id": [2]}), writer, mode="append")
    writer = lance.dataset(str(path)).checkout_version(("load", None))
    table.branches.delete("load")
    lance.write_dataset(pa.table({"id": [3]}), writer, mode="append")
    assert list(table.branches.list()) == ["other"]
    uses: tuple[Callable[[], object], ...] = (
        lambda: lance_sql.open(path, branch="load"),
        lambda: lance_sql.write({"id": [4]}, path, mode="append", branch="load"),
        lambda: table.branches.publish("load"),
    )
    for use in uses:
        with pytest.raises(VersionNotFound, match="No branch 'load'"):
            use()
    with pytest.raises(InvalidArgument, match="delete it first"):
        table.branches.create("load")
    table.branches.delete("load")
    assert table.branches.create("load").to_table()["id"].to_pylist() == [1]
    assert lance_sql.open(path, branch="other").to_table()["id"].to_pylist() == [1]
    assert lance_sql.verify(path, deep=True).is_healthy
