"""A commit that fails at any call of the store, before or after the call had its effect."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import lance
import pyarrow as pa
import pytest

import lance_sql
from lance_sql.errors import LanceError, VersionNotFound
from lance_sql.format.schema.from_arrow import from_arrow
from lance_sql.store import LocalStore, PutMode
from lance_sql.table import refs
from lance_sql.table.paths import CHECKSUMS, TRANSACTIONS
from lance_sql.table.snapshot import Snapshot
from lance_sql.writes.commit import cleanup, clones, committer
from lance_sql.writes.commit.committer import commit, create
from lance_sql.writes.commit.operations import Append, Operation, Overwrite, UpdateConfig, UpdateMap
from tests.writes.commit.failing_store import Broken, FailingStore, on
from tests.writes.commit.tables import created, deletion, fragments, keys, latest, rows, table, update

Change = Callable[[Snapshot], Snapshot]


def append(snapshot: Snapshot) -> Snapshot:
    return commit(snapshot, Append(fragments(snapshot.uri, table([100]))))


def delete(snapshot: Snapshot) -> Snapshot:
    operation, affected = deletion(snapshot, {0: [1], 1: [0, 1, 2]})
    return commit(snapshot, operation, affected_rows=affected)


def rewrite(snapshot: Snapshot) -> Snapshot:
    operation, affected = update(snapshot, {0: [1]}, table([50]))
    return commit(snapshot, operation, affected_rows=affected)


def stale_delete(snapshot: Snapshot) -> Snapshot:
    """A delete that has to be rebased over one of another row."""
    operation, affected = deletion(snapshot, {0: [2]})
    other, others = deletion(latest(snapshot.uri), {0: [1]})
    if latest(snapshot.uri).version == snapshot.version:
        commit(latest(snapshot.uri), other, affected_rows=others)
    return commit(snapshot, operation, affected_rows=affected)


AFTER: dict[Change, list[int]] = {
    append: [0, 1, 2, 3, 4, 5, 100],
    delete: [0, 2],
    rewrite: [0, 2, 3, 4, 5, 50],
    stale_delete: [0, 3, 4, 5],
}


@pytest.mark.parametrize("once", [True, False], ids=["once", "for good"])
@pytest.mark.parametrize("after", [True, False], ids=["after", "before"])
@pytest.mark.parametrize("change", AFTER, ids=lambda change: change.__name__)
def test_a_table_is_as_before_or_as_after(tmp_path: Path, change: Change, after: bool, once: bool) -> None:
    created(tmp_path / "made")
    for at in range(1000):
        root = str(tmp_path / f"{at}")
        shutil.copytree(tmp_path / "made", root)
        store = FailingStore(LocalStore(root), at, after=after, once=once)
        made: Snapshot | None = None
        with suppress(Broken, LanceError):
            made = change(on(store, latest(root)))
        found = keys(root)
        before = [0, 2, 3, 4, 5] if change is stale_delete else [0, 1, 2, 3, 4, 5]
        assert found in (AFTER[change], before, [0, 1, 2, 3, 4, 5]), at
        if made is not None:
            assert (made.version, found) == (latest(root).version, AFTER[change])
        commit(latest(root), Append(fragments(root, table([77]))))
        lance.write_dataset(table([78]), root, mode="append")
        assert keys(root) == sorted([*found, 77, 78])
        if store.calls <= at:
            assert made is not None
            return
        shutil.rmtree(root)
    raise AssertionError("the change never ends")


@pytest.mark.parametrize("once", [True, False], ids=["once", "for good"])
@pytest.mark.parametrize("after", [True, False], ids=["after", "before"])
def test_a_table_is_there_or_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, after: bool, once: bool) -> None:
    for at in range(100):
        root = str(tmp_path / f"{at}")
        new = fragments(root, table([1, 2]))
        store = FailingStore(LocalStore(root), at, after=after, once=once)
        with monkeypatch.context() as patch:
            patch.setattr(committer, "open_store", lambda *_, store=store: store)
            with suppress(Broken, LanceError):
                create(root, Overwrite(new, from_arrow(table([]).schema)))
        if not list((Path(root) / "_versions").glob("*.manifest")):
            create(root, Overwrite(new, from_arrow(table([]).schema)))
        assert keys(root) == [1, 2]
        if store.calls <= at:
            return
    raise AssertionError("creating never ends")


@pytest.mark.parametrize("after", [True, False], ids=["after", "before"])
def test_a_branch_is_there_or_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, after: bool) -> None:
    created(tmp_path / "made")
    for at in range(100):
        root = str(tmp_path / f"{at}")
        shutil.copytree(tmp_path / "made", root)
        counted = FailingStore(LocalStore(root), at, after=after)

        def below(uri: str, branch: str, _: object, counted: FailingStore = counted) -> FailingStore:
            store = FailingStore(LocalStore(f"{uri}/tree/{branch}"))
            store.count_with(counted)
            return store

        with monkeypatch.context() as patch:
            patch.setattr(clones, "branch_store", below)
            with suppress(Broken, LanceError):
                clones.create_branch(on(counted, latest(root)), "dev")
        assert keys(root) == [0, 1, 2, 3, 4, 5]
        if "dev" not in lance_sql.open(root).branches.list():
            with suppress(VersionNotFound):
                clones.delete_branch(latest(root), "dev")
            clones.create_branch(latest(root), "dev")
        assert lance_sql.open(root, branch="dev").count_rows() == 6
        assert lance.dataset(root).checkout_version(("dev", None)).count_rows() == 6
        if counted.calls <= at:
            return
    raise AssertionError("the branch never ends")


@pytest.mark.parametrize("after", [True, False], ids=["after", "before"])
def test_cleaning_up_may_stop_anywhere(tmp_path: Path, after: bool) -> None:
    made = str(tmp_path / "made")
    operation, affected = deletion(rewrite(created(made)), {0: [2]})
    commit(latest(made), operation, affected_rows=affected)
    refs.create_tag(latest(made).main, "t", 2, branch=None, manifest_size=1)
    for at in range(100):
        root = str(tmp_path / f"{at}")
        shutil.copytree(made, root)
        store = FailingStore(LocalStore(root), at, after=after)
        with suppress(Broken, LanceError):
            cleanup.execute(cleanup.plan(on(store, latest(root)), retain_versions=1))
        for info in lance_sql.open(root).versions():
            rows(root, info.version)
        assert [info.version for info in lance_sql.open(root).versions()][-2:] == [2, 3]
        commit(latest(root), Append(fragments(root, table([77]))))
        cleanup.execute(cleanup.plan(latest(root), retain_versions=1))
        assert [info.version for info in lance_sql.open(root).versions()] == [2, 4]
        if store.calls <= at:
            return
    raise AssertionError("cleaning up never ends")


def test_an_answer_that_got_lost_is_no_failure(tmp_path: Path) -> None:
    root = str(tmp_path / "t.lance")
    created(root)
    operation: Operation = UpdateConfig(UpdateMap({"a": "b"}))
    working = FailingStore(LocalStore(root))
    commit(on(working, latest(root)), operation)
    # The last two calls put the manifest and the hint.
    failing = FailingStore(LocalStore(root), working.calls - 2, after=True, once=True)
    made = commit(on(failing, latest(root)), operation)
    assert made.version == latest(root).version == 3
    assert failing.calls > working.calls


class Twice(FailingStore):
    """Sends each request to create a file twice, as a client does that got no answer."""

    def put(self, path: str, data: bytes | pa.Buffer, *, mode: PutMode) -> None:
        super().put(path, data, mode=mode)
        if mode in ("create", "next"):
            super().put(path, data, mode=mode)


def test_a_request_that_was_sent_twice_is_no_conflict(tmp_path: Path) -> None:
    root = str(tmp_path / "t.lance")
    created(root)
    made = append(on(Twice(LocalStore(root)), latest(root)))
    assert made.version == latest(root).version == 2
    assert keys(root) == AFTER[append]


def _files(root: str) -> list[Path]:
    return sorted(path for path in Path(root).rglob("*") if path.is_file())


class Dropped(FailingStore):
    """Its folder of transactions is removed during a commit, whose checksums arrive later than that."""

    def put(self, path: str, data: bytes | pa.Buffer, *, mode: PutMode) -> None:
        if path.startswith(TRANSACTIONS):
            raise FileNotFoundError(path)
        if path.startswith(CHECKSUMS):
            time.sleep(0.2)
        super().put(path, data, mode=mode)


def test_a_record_that_arrives_late_is_taken_back(tmp_path: Path) -> None:
    root = str(tmp_path / "t.lance")
    _ = lance_sql.write(table(range(5)), root)
    before = _files(root)
    with pytest.raises(LanceError, match="nothing was committed"):
        _ = lance_sql.Dataset(on(Dropped(LocalStore(root)), latest(root))).delete("k = 1")
    time.sleep(0.4)
    assert _files(root) == before


@pytest.mark.parametrize("content", [b"", b"\0" * 13, b'{"version":1}', b'{"version":99}'], ids=repr)
def test_a_hint_that_a_crash_has_left_misleads_nobody(tmp_path: Path, content: bytes) -> None:
    root = str(tmp_path / "t.lance")
    append(created(root))
    hint = Path(root) / "_versions" / "latest_version_hint.json"
    assert hint.read_bytes() == b'{"version":2}'
    hint.write_bytes(content)
    assert (lance.dataset(root).version, lance_sql.open(root).version) == (2, 2)
    lance.write_dataset(table([78]), root, mode="append")
    hint.write_bytes(content)
    commit(latest(root), Append(fragments(root, table([77]))))
    assert keys(root) == sorted([*AFTER[append], 77, 78])


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="asks the system which files are open")
def test_a_commit_waits_for_the_disk_but_for_the_hint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    snapshot = created(str(tmp_path / "t.lance"))
    flushed: list[str] = []
    flush = os.fsync

    def recorded(file: int) -> None:
        flushed.append(os.path.relpath(os.readlink(f"/proc/self/fd/{file}"), snapshot.uri).partition("/.tmp_")[0])
        flush(file)

    monkeypatch.setattr(os, "fsync", recorded)
    commit(snapshot, UpdateConfig(UpdateMap({"a": "b"})))
    # each file, and its folder
    assert flushed == ["_transactions", "_transactions", "_versions", "_versions"]
