"""Nothing that a branch has is lost when it is published: rows, later commits, and what verbs keep beside the rows."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

import lance_sql
from lance_sql import CommitConflict, Dataset, InvalidArgument, UnsupportedFeature, VersionNotFound
from lance_sql.changes.publishing import parts


def make(path: Path, *ids: int) -> Dataset:
    return lance_sql.write({"id": list(ids)}, path)


def ids(path: Path | str | Dataset, branch: str | None = None) -> list[int]:
    opened = path if isinstance(path, Dataset) else lance_sql.open(path, branch=branch)
    found: list[int] = sorted(opened.to_table()["id"].to_pylist())
    return found


def append(path: Path, *new: int, branch: str | None = None) -> None:
    lance_sql.write({"id": list(new)}, path, mode="append", branch=branch)


def test_branches_of_one_name_are_all_published(tmp_path: Path) -> None:
    table = make(tmp_path / "t.lance", 1)
    for number in (2, 3, 4):
        # always from the handle on version 1, within one second
        table.branches.create("load")
        append(tmp_path / "t.lance", number, branch="load")
        table.branches.publish("load")
    assert ids(tmp_path / "t.lance") == [1, 2, 3, 4]


def test_a_kept_branch_is_published_from_where_it_was(tmp_path: Path) -> None:
    path = tmp_path / "t.lance"
    table = make(path, 1, 2)
    table.branches.create("load")
    append(path, 3, branch="load")
    first = table.branches.publish("load", keep=True)
    assert table.branches.publish("load", keep=True).version == first.version
    append(path, 9)
    append(path, 4, branch="load")
    lance_sql.open(path, branch="load").delete("id = 1")
    assert str(table.branches.plan("load")).startswith("load version 4: 1 inserted, 0 updated and 1 deleted rows onto")
    table.branches.publish("load")
    assert ids(path) == [2, 3, 4, 9]
    assert table.branches.list() == {}


def test_changed_rows_that_were_published_as_inserts_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.lance"
    table = make(path, 1)
    table.branches.create("load")
    append(path, 2, branch="load")
    table.branches.publish("load", keep=True)
    append(path, 7)
    lance_sql.open(path, branch="load").update({"id": "20"}, "id = 2")
    with pytest.raises(UnsupportedFeature, match="changed rows that were inserted on the branch"):
        table.branches.publish("load")
    assert ids(path) == [1, 2, 7]
    assert ids(path, "load") == [1, 20]


@pytest.mark.parametrize("taken_back", ["restore", "overwrite"])
def test_a_publication_that_was_taken_back_is_made_again(tmp_path: Path, taken_back: str) -> None:
    path = tmp_path / "t.lance"
    table = make(path, 1)
    table.branches.create("load")
    append(path, 2, branch="load")
    table.branches.publish("load", keep=True)
    if taken_back == "restore":
        lance_sql.open(path).restore(1)
    else:
        lance_sql.write({"id": [1]}, path, mode="overwrite")
    assert table.branches.plan("load").inserted == 1
    table.branches.publish("load")
    assert ids(path) == [1, 2]


def test_a_restored_publication_counts_again(tmp_path: Path) -> None:
    path = tmp_path / "t.lance"
    table = make(path, 1)
    table.branches.create("load")
    append(path, 2, branch="load")
    version = table.branches.publish("load", keep=True).version
    lance_sql.open(path).restore(1).restore(version)
    table.branches.publish("load")
    assert ids(path) == [1, 2]


@pytest.mark.parametrize("between", ["overwrite", "another publication"])
def test_commits_that_a_restore_reverted_do_not_count(tmp_path: Path, between: str) -> None:
    path = tmp_path / "t.lance"
    table = make(path, 1, 2)
    table.branches.create("load")
    append(path, 3, branch="load")
    published = table.branches.publish("load", keep=True)
    if between == "overwrite":
        lance_sql.write({"id": [9]}, path, mode="overwrite")
    else:
        lance_sql.open(path).restore(1)
        lance_sql.open(path).update({"id": "20"}, "id = 2")
        table.branches.publish("load", keep=True)
    lance_sql.open(path).restore(published.version)
    lance_sql.open(path, branch="load").delete("id = 2")
    table.branches.publish("load", keep=True)
    assert ids(path) == [1, 3]
    lance_sql.open(path, branch="load").delete("id = 3")
    with pytest.raises(UnsupportedFeature, match="changed rows that were inserted on the branch"):
        table.branches.publish("load")
    assert ids(path) == [1, 3]


def test_a_commit_to_a_branch_that_is_published_meanwhile_is_not_lost(tmp_path: Path) -> None:
    path = tmp_path / "t.lance"
    made = [0]
    make(path, 0)
    for number in range(1, 7):
        table = lance_sql.open(path)
        table.branches.create("load")
        append(path, number, branch="load")
        began = threading.Barrier(2)
        said: list[int] = []

        def commit(number: int = number, began: threading.Barrier = began, said: list[int] = said) -> None:
            began.wait()
            try:
                append(path, 100 + number, branch="load")
                said.append(100 + number)
            except lance_sql.LanceError:
                pass

        other = threading.Thread(target=commit)
        other.start()
        began.wait()
        table.branches.publish("load")
        other.join()
        made += [number, *said]
        if "load" in table.branches.list():
            lance_sql.open(path).branches.publish("load")
        assert ids(path) == sorted(made)


@pytest.mark.parametrize("at", ["its versions are listed", "its changes are read"])
def test_a_branch_that_is_deleted_while_it_is_published_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: str
) -> None:
    table = make(tmp_path / "t.lance", 1)
    table.branches.create("load")
    append(tmp_path / "t.lance", 2, branch="load")
    place, name = (parts, "branch_store") if at == "its versions are listed" else (parts.Part, "of")
    called = getattr(place, name)

    def deleted(*arguments: object) -> object:
        if "load" in table.branches.list():
            table.branches.delete("load")
        return called(*arguments)

    monkeypatch.setattr(place, name, deleted)
    with pytest.raises(VersionNotFound, match=r"No branch 'load'|The branch 'load' of t.lance was deleted"):
        table.branches.publish("load")
    assert ids(tmp_path / "t.lance") == [1]


def test_a_branch_that_something_refers_to_is_not_published_halfway(tmp_path: Path) -> None:
    path = tmp_path / "t.lance"
    table = make(path, 1)
    branch = table.branches.create("load")
    branch.tags.create("kept")
    append(path, 2, branch="load")
    with pytest.raises(InvalidArgument, match="delete tag 'kept' first"):
        table.branches.publish("load")
    assert ids(path) == [1]


def test_inserts_without_a_key_go_with_inserts_of_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from lance_sql.changes.publishing import branch as publishing

    path = tmp_path / "t.lance"
    table = make(path, 1)
    table.branches.create("load")
    append(path, 2, branch="load")
    committed = publishing._commit

    def late(*arguments: object, **options: object) -> object:
        append(path, 9)
        return committed(*arguments, **options)  # type: ignore[arg-type]  # passed on as given

    monkeypatch.setattr(publishing, "_commit", late)
    table.branches.publish("load")
    assert ids(path) == [1, 2, 9]


EVENTS = {"sequence_by": "at", "except_columns": ["op", "at"], "delete_when": "op = 'delete'"}


def event(number: int, value: str | None, at: int, op: str = "u") -> dict[str, object]:
    return {"id": number, "v": value, "at": at, "op": op}


@pytest.mark.parametrize("began_with", ["main", "branch"])
@pytest.mark.parametrize("scd", [1, 2])
def test_applied_changes_are_published_with_what_they_remember(tmp_path: Path, scd: int, began_with: str) -> None:
    results = []
    for way in ("branch", "direct"):
        path = tmp_path / f"{way}.lance"
        options = {**EVENTS, "scd": scd}
        begin = [event(1, "a", 1), event(2, "b", 1)]
        load = [event(1, "a5", 5), event(2, None, 5, "delete")]
        if began_with == "branch":
            table = lance_sql.write({"id": [0], "v": ["z"]}, path)
            batches = [begin, load]
        else:
            table = lance_sql.apply_changes(path, begin, "id", **options)  # type: ignore[arg-type]  # passed on as given
            batches = [load]
        target = table.branches.create("load") if way == "branch" else table
        if began_with == "branch" and scd == 2:
            continue
        for batch in batches:
            target = lance_sql.apply_changes(target, batch, "id", **options)  # type: ignore[arg-type]  # passed on as given
        if way == "branch":
            if lance_sql.open(path).schema != target.schema:
                return
            table.branches.publish("load")
        late = [event(1, "late", 3), event(2, "late", 3)]
        after = lance_sql.apply_changes(path, late, "id", **options)  # type: ignore[arg-type]  # passed on as given
        results.append(sorted(map(repr, after.to_table().to_pylist())))
        lance_sql.open(path).maintenance.cleanup(retain_versions=1)
        assert lance_sql.verify(path, deep=True).is_healthy
    assert len(set(map(str, results))) <= 1


def test_a_refreshed_view_is_published_with_its_versions(tmp_path: Path) -> None:
    source, into = tmp_path / "s.lance", tmp_path / "v.lance"
    make(source, 1, 2)
    view = lance_sql.materialize(f"SELECT id FROM '{source}'", into)
    append(source, 3)
    branch = view.dataset.branches.create("load")
    lance_sql.View(branch).refresh()
    lance_sql.open(into).branches.publish("load")
    lance_sql.View(lance_sql.open(into)).refresh()
    assert ids(into) == [1, 2, 3]


def test_changes_of_a_cursor_are_published_once(tmp_path: Path) -> None:
    source, copy = make(tmp_path / "s.lance", 1), make(tmp_path / "copy.lance", 0)
    cursor = source.cursors.open("job", start="earliest")
    changes = cursor.peek()
    with copy.branches.staged("load") as branch:
        lance_sql.write(changes.scan(["id"]), branch, mode="append", properties=changes.properties)
    # the power is out before the cursor moves
    copy.branches.publish("load")
    with cursor.read(target=copy) as changes:
        assert changes.count_rows() == 0
    assert ids(tmp_path / "copy.lance") == [0, 1]


def test_a_numbered_write_is_known_on_branches_and_after_their_publication(tmp_path: Path) -> None:
    path = tmp_path / "t.lance"
    make(path, 1)

    def write(number: int, *new: int, branch: str | None = None) -> None:
        options = {"txn_app_id": "app", "txn_version": number}
        lance_sql.write({"id": list(new)}, path, mode="append", branch=branch, **options)  # type: ignore[arg-type]  # passed on as given

    write(1, 2)
    lance_sql.open(path).branches.create("load")
    write(1, 2, branch="load")
    write(2, 3, branch="load")
    lance_sql.open(path).branches.publish("load")
    write(2, 3)
    assert ids(path) == [1, 2, 3]


@pytest.mark.parametrize("kept", ["txn", "applied", "consumed"])
def test_state_set_on_both_branches_is_a_named_conflict(tmp_path: Path, kept: str) -> None:
    path = tmp_path / "t.lance"
    make(path, 1)
    source = make(tmp_path / "s.lance", 5)
    table = lance_sql.open(path)
    table.branches.create("load")
    for branch in (None, "load"):
        target = lance_sql.open(path, branch=branch)
        if kept == "txn":
            lance_sql.write({"id": [7]}, target, mode="append", txn_app_id="app", txn_version=7 if branch else 8)
        elif kept == "applied":
            changes = [{"id": 10 if branch else 11, "at": 5}]
            lance_sql.apply_changes(target, changes, "id", sequence_by="at", except_columns=["at"])
        else:
            properties = source.cursors.open("c", start="earliest").peek().properties
            if branch:
                append(tmp_path / "s.lance", 6)
                properties = lance_sql.open(tmp_path / "s.lance").cursors.open("c").peek().properties
            lance_sql.write({"id": [7]}, target, mode="append", properties=properties)
    with pytest.raises(CommitConflict, match=r"since the branch was created\. Nothing was published"):
        table.branches.publish("load")
    assert "load" in table.branches.list()


@pytest.mark.parametrize("cleaned", ["main", "load"])
def test_a_branch_can_be_published_after_a_cleanup(tmp_path: Path, cleaned: str) -> None:
    path = tmp_path / "t.lance"
    table = make(path, 1)
    table.branches.create("load")
    for number in (2, 3):
        append(path, number, branch="load")
        append(path, 10 * number)
    planned = lance_sql.open(path, branch=None if cleaned == "main" else cleaned).maintenance.cleanup(retain_versions=1)
    assert {name for names in planned.held.values() for name in names} == {"branch load"}
    table.branches.publish("load")
    assert ids(path) == [1, 2, 3, 20, 30]


@pytest.mark.parametrize("theirs", ["update", "delete", "insert"])
@pytest.mark.parametrize("compacted", [False, True])
def test_earlier_changes_of_others_are_conflicts(tmp_path: Path, theirs: str, compacted: bool) -> None:
    path = tmp_path / "t.lance"
    table = lance_sql.write({"id": [1, 2, 3], "v": [1, 1, 1]}, path)
    table.branches.create("load")
    changes = {
        "update": lambda: table.update({"v": "v + 10"}, "id = 1"),
        "delete": lambda: table.delete("id = 1"),
        "insert": lambda: lance_sql.write({"id": [5], "v": [10]}, table, mode="append"),
    }
    changes[theirs]()
    lance_sql.open(path, branch="load").update({"v": "v + 100"}, "id = 2")
    lance_sql.open(path).branches.publish("load", keep=True)
    if compacted:
        lance_sql.open(path).maintenance.compact()
    # a row that the branch has published itself is changed once more
    lance_sql.open(path, branch="load").update({"v": "v + 100"}, "id = 2")
    lance_sql.open(path).branches.publish("load", key=["id"], keep=True)
    lance_sql.write({"id": [5], "v": [100]}, path, mode="append", branch="load")
    lance_sql.open(path, branch="load").update({"v": "v + 100"}, "id IN (1, 2)")
    before = lance_sql.open(path).to_table()
    assert before.num_rows == {"update": 3, "delete": 2, "insert": 4}[theirs]
    conflicts = lance_sql.open(path).branches.plan("load", key=["id"]).conflicts
    assert {"update": {1}, "delete": {1}, "insert": {5}}[theirs] == set(conflicts["id"].to_pylist())
    with pytest.raises(CommitConflict):
        lance_sql.open(path).branches.publish("load", key=["id"])
    assert lance_sql.open(path).to_table() == before
