"""Requests without a response: their effect may appear later, and files that they name must stay."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pytest

import lance_sql
from lance_sql.errors import CommitConflict, InvalidArgument, TableExists
from lance_sql.store import LocalStore, ObjectInfo, PutMode, Store
from lance_sql.table import files, location, versions
from lance_sql.table.paths import TRANSACTIONS, VERSIONS, NamingScheme, manifest_path
from lance_sql.writes.commit import committer
from lance_sql.writes.commit.committer import commit
from lance_sql.writes.commit.operations import Append
from lance_sql.writes.statements import insert
from tests.writes.commit.failing_store import FailingStore, on
from tests.writes.commit.tables import created, fragments, keys, latest, table


class LateStore(FailingStore):
    """Carries out the first request for a manifest only when it is told to, and answers it with an error.

    error: what the answer is
    """

    def __init__(self, store: LocalStore, error: type[OSError]) -> None:
        super().__init__(store)
        self.error = error
        self.late: tuple[str, bytes] | None = None
        self.is_first = True

    def put(self, path: str, data: bytes | pa.Buffer, *, mode: PutMode) -> None:
        if path.startswith(VERSIONS) and mode in ("create", "next") and self.is_first:
            self.is_first = False
            self.late = path, bytes(memoryview(data))
            raise self.error(path)
        super().put(path, data, mode=mode)

    def carry_out(self) -> None:
        assert self.late is not None
        self.store.put(self.late[0], self.late[1], mode="create")


@pytest.fixture
def used(monkeypatch: pytest.MonkeyPatch) -> Callable[[LateStore], None]:
    """Makes everything that opens a store open this one."""

    def use(store: LateStore) -> None:
        for module in (location, files, committer, insert):
            monkeypatch.setattr(module, "open_store", lambda *_: store)

    return use


def rows(*keys: int) -> pa.Table:
    return pa.table({"k": pa.array(keys, pa.int64())})


@pytest.mark.parametrize("mode", ["create", "append", "overwrite"])
def test_an_aborted_job_keeps_what_a_late_request_may_still_commit(
    tmp_path: Path, used: Callable[[LateStore], None], mode: insert.Mode
) -> None:
    path = str(tmp_path / "t.lance")
    if mode != "create":
        lance_sql.write(rows(1), path)
    store = LateStore(LocalStore(path), OSError)
    used(store)
    begun = lance_sql.begin_write(rows().schema, path, mode=mode)
    written = begun.write_fragments(rows(2))
    with pytest.raises(OSError, match="manifest"):
        begun.commit(written)
    begun.abort()
    store.carry_out()
    begun.abort()
    assert keys(path) == ([1, 2] if mode == "append" else [2])
    assert lance_sql.verify(path, deep=True).is_healthy


def test_an_aborted_job_that_was_refused_leaves_nothing(tmp_path: Path) -> None:
    path = str(tmp_path / "t.lance")
    lance_sql.write(rows(1), path)
    begun = lance_sql.begin_write(rows().schema, path, mode="append")
    written = begun.write_fragments(rows(2))
    lance_sql.write(rows(3), path, mode="overwrite")
    data_files = set((tmp_path / "t.lance" / "data").iterdir())
    transactions = set((tmp_path / "t.lance" / TRANSACTIONS).iterdir())
    with pytest.raises(CommitConflict):
        begun.commit(written)
    begun.abort()
    assert len(data_files - set((tmp_path / "t.lance" / "data").iterdir())) == 1
    assert set((tmp_path / "t.lance" / TRANSACTIONS).iterdir()) == transactions
    first = lance_sql.begin_write(rows().schema, str(tmp_path / "new"))
    written = first.write_fragments(rows(2))
    lance_sql.write(rows(3), tmp_path / "new")
    with pytest.raises(TableExists):
        first.commit(written)
    first.abort()
    assert len(list((tmp_path / "new" / "data").iterdir())) == 1


def test_a_job_whose_commit_was_carried_out_late_is_not_committed_twice(
    tmp_path: Path, used: Callable[[LateStore], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = str(tmp_path / "t.lance")
    lance_sql.write(rows(1), path)
    store = LateStore(LocalStore(path), OSError)
    used(store)
    begun = lance_sql.begin_write(rows().schema, path, mode="append")
    written = begun.write_fragments(rows(2))
    other = begun.write_fragments(rows(3))
    with pytest.raises(OSError, match="manifest"):
        begun.commit(written)
    listed = versions.list_newer

    def list_newer(store_: Store, since: int | None) -> list[versions.VersionFile]:
        # the commit itself asks for more than the newest version
        if store.late is not None and since is not None:
            store.carry_out()
            store.late = None
        return listed(store_, since)

    monkeypatch.setattr(versions, "list_newer", list_newer)
    with pytest.raises(InvalidArgument, match=r"was committed to t\.lance already"):
        begun.commit(other)
    assert keys(path) == [1, 2]
    assert lance_sql.open(path).version == 2


def test_a_request_that_collides_with_one_under_way_is_sent_again(tmp_path: Path) -> None:
    """S3 answers 409 to it, and the object is not there yet, or never will be."""
    root = str(tmp_path / "t.lance")
    created(root)
    store = LateStore(LocalStore(root), FileExistsError)
    made = commit(on(store, latest(root)), Append(fragments(root, table([100]))))
    assert made.version == latest(root).version == 2
    assert keys(root) == [0, 1, 2, 3, 4, 5, 100]


class Contradicting(FailingStore):
    """Says of each manifest that it exists already, and has none."""

    def put(self, path: str, data: bytes | pa.Buffer, *, mode: PutMode) -> None:
        if path.startswith(VERSIONS) and mode in ("create", "next"):
            raise FileExistsError(path)
        super().put(path, data, mode=mode)


def test_a_store_that_contradicts_itself_is_no_refusal(tmp_path: Path) -> None:
    root = str(tmp_path / "t.lance")
    created(root)
    with pytest.raises(OSError, match="reports both that it exists and that it does not"):
        commit(on(Contradicting(LocalStore(root)), latest(root)), Append(fragments(root, table([100]))))


class Ordered(FailingStore):
    """Lists in order of names, and counts how many of them are taken."""

    taken = 0

    @property
    def lists_by_name(self) -> bool:
        return True

    def files(self, prefix: str) -> Iterator[ObjectInfo]:
        for info in sorted(self.store.files(prefix)):
            self.taken += 1
            yield info


@pytest.mark.parametrize("naming", NamingScheme)
def test_the_newest_version_needs_no_full_listing(tmp_path: Path, naming: NamingScheme) -> None:
    root = str(tmp_path / "t.lance")
    created(root, naming=naming)
    for _ in range(11):
        commit(latest(root), Append(fragments(root, table([100]))))
    store = Ordered(LocalStore(root))
    assert versions.newest(store) == versions.list_versions(store)[-1]
    assert [file.version for file in versions.list_newer(store, 9)] == [9, 10, 11, 12]
    assert [file.version for file in versions.list_newer(store, 12)] == [12]
    assert [file.version for file in versions.list_newer(store, 99)] == [12]
    if naming is NamingScheme.V2:
        store.taken = 0
        versions.newest(store)
        assert store.taken <= 2
        (tmp_path / "t.lance" / manifest_path(10, naming)).unlink()
        assert [file.version for file in versions.list_newer(store, 9)] == [9, 11, 12]
    assert versions.newest(Ordered(LocalStore(tmp_path / "nothing"))) is None
