"""Commits by way of a manifest store: crashes between all of their steps, and what others find then."""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pytest

import lance_sql
from lance_sql.errors import CorruptFile, InvalidArgument, LanceError, UnsupportedFeature
from lance_sql.format.schema.from_arrow import from_arrow
from lance_sql.store import ExternalManifests, LocalStore, ManifestEntry, ManifestStore, SqliteManifestStore
from lance_sql.store.access import Access
from lance_sql.table.paths import NamingScheme
from lance_sql.table.snapshot import Snapshot
from lance_sql.writes.commit import committer
from lance_sql.writes.commit.committer import commit, create
from lance_sql.writes.commit.operations import Append, Overwrite
from tests.writes.commit.failing_store import Broken, Call, FailingStore
from tests.writes.commit.tables import fragments, table


class FailingManifestStore:
    """Calls of a manifest store that count, and fail, as those of a store."""

    def __init__(self, manifests: ManifestStore, counter: FailingStore) -> None:
        self.manifests = manifests
        self.counter = counter

    def key(self, uri: str) -> str:
        return self.manifests.key(uri)

    def get(self, table: str, version: int) -> ManifestEntry | None:
        with Call(self.counter):
            return self.manifests.get(table, version)

    def latest(self, table: str) -> ManifestEntry | None:
        with Call(self.counter):
            return self.manifests.latest(table)

    def put_if_absent(self, table: str, entry: ManifestEntry) -> bool:
        with Call(self.counter):
            return self.manifests.put_if_absent(table, entry)

    def replace(self, table: str, entry: ManifestEntry) -> None:
        with Call(self.counter):
            self.manifests.replace(table, entry)

    def delete(self, table: str, version: int) -> None:
        with Call(self.counter):
            self.manifests.delete(table, version)


class Place:
    """A table and the database with its entries, in one folder."""

    def __init__(self, folder: Path) -> None:
        self.path = str(folder / "t.lance")
        self.manifests = SqliteManifestStore(str(folder / "manifests.sqlite"))

    def open(self) -> lance_sql.Dataset:
        return lance_sql.open(self.path, manifest_store=self.manifests)

    def keys(self) -> list[int]:
        return sorted(self.open().scan(["k"]).to_table()["k"].to_pylist())

    def failing(self, at: int | None, **kind: bool) -> tuple[FailingStore, ExternalManifests]:
        counter = FailingStore(LocalStore(self.path), at, **kind)
        # the key is of the place that the table was made in
        failing = FailingManifestStore(self.manifests, counter)
        return counter, ExternalManifests(counter, failing, self.path, self.manifests.key(self.path))

    def snapshot(self, store: ExternalManifests) -> Snapshot:
        return Snapshot(self.path, store, store, self.open().snapshot.file)

    def check_entries(self) -> None:
        """Every version that has an entry is where it says."""
        key = self.manifests.key(self.path)
        for info in self.open().versions():
            entry = self.manifests.get(key, info.version)
            assert entry is not None
            assert entry.path.endswith(".manifest")
            assert entry.size == os.path.getsize(entry.path)


def place(folder: Path) -> Place:
    folder.mkdir()
    made = Place(folder)
    new = fragments(made.path, table(range(3)), mode="create")
    create(made.path, Overwrite(new, from_arrow(table([]).schema)), access=Access.of(manifest_store=made.manifests))
    return made


@pytest.mark.parametrize("once", [True, False], ids=["once", "for good"])
@pytest.mark.parametrize("after", [True, False], ids=["after", "before"])
@pytest.mark.parametrize("by", ["reader", "writer"])
def test_a_crash_between_the_steps_is_mended(tmp_path: Path, after: bool, once: bool, by: str) -> None:
    for at in range(100):
        made = place(tmp_path / str(at))
        new = fragments(made.path, table([100]))
        counter, store = made.failing(at, after=after, once=once)
        result: Snapshot | None = None
        with suppress(Broken, LanceError):
            result = commit(made.snapshot(store), Append(new))
        if by == "writer":
            commit(made.open().snapshot, Append(fragments(made.path, table([200]), mode="append")))
        found = made.keys()
        more = [200] if by == "writer" else []
        assert found in ([0, 1, 2, *more], [0, 1, 2, 100, *more]), at
        if result is not None:
            assert 100 in found
        made.check_entries()
        commit(made.open().snapshot, Append(fragments(made.path, table([77]), mode="append")))
        assert made.keys() == sorted([*found, 77])
        assert lance_sql.verify(made.path, manifest_store=made.manifests, deep=True).is_healthy
        if counter.calls <= at:
            assert result is not None
            return
        shutil.rmtree(tmp_path / str(at))
    raise AssertionError("the commit never ends")


@pytest.mark.parametrize("after", [True, False], ids=["after", "before"])
def test_a_table_is_there_or_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, after: bool) -> None:
    for at in range(100):
        (tmp_path / str(at)).mkdir()
        made = Place(tmp_path / str(at))
        operation = Overwrite(fragments(made.path, table([1]), mode="create"), from_arrow(table([]).schema))
        counter, store = made.failing(at, after=after)
        with monkeypatch.context() as patch:
            patch.setattr(committer, "open_store", lambda *_, store=store: store)
            with suppress(Broken, LanceError):
                create(made.path, operation)
        with suppress(LanceError):
            create(made.path, operation, access=Access.of(manifest_store=made.manifests))
        assert made.keys() == [1]
        made.check_entries()
        if counter.calls <= at:
            return
    raise AssertionError("creating never ends")


@pytest.mark.parametrize("naming", NamingScheme)
def test_a_version_that_is_only_staged_is_found(tmp_path: Path, naming: NamingScheme) -> None:
    made = place(tmp_path / "a")
    _, store = made.failing(None)
    finalize = store._finalize
    store._finalize = lambda *_: None  # type: ignore[method-assign]  # replaced for the test
    commit(made.snapshot(store), Append(fragments(made.path, table([100]))))
    entry = made.manifests.latest(made.manifests.key(made.path))
    assert entry is not None
    assert ".manifest-" in entry.path
    staged = entry.path
    # named by its number, it is found as well
    assert lance_sql.open(made.path, version=2, manifest_store=made.manifests).count_rows() == 4
    made.check_entries()
    assert not os.path.exists(staged)
    finalize(entry)
    assert made.keys() == [0, 1, 2, 100]


def test_two_writers_never_make_one_version(tmp_path: Path) -> None:
    made = place(tmp_path / "a")
    stale = made.open()
    lance_sql.write(table([5]), made.path, mode="append", manifest_store=made.manifests)
    commit(stale.snapshot, Append(fragments(made.path, table([6]))))
    assert made.keys() == [0, 1, 2, 5, 6]
    stale.delete("k = 0")
    made.open().update({"v": "'x'"}, "k = 1")
    made.open().maintenance.cleanup(retain_versions=1)
    assert made.keys() == [1, 2, 5, 6]
    assert [info.version for info in made.open().versions()] == [5]
    made.check_entries()
    branch = made.open().branches.create("dev")
    assert branch.count_rows() == 4
    assert lance_sql.open(made.path, branch="dev", manifest_store=made.manifests).count_rows() == 4


def test_versions_without_an_entry_are_not_taken_again(tmp_path: Path) -> None:
    """A table that was written without a manifest store before, and by somebody who does not know of it since."""
    made = Place(tmp_path)
    lance_sql.write(table([1]), made.path)
    lance_sql.write(table([2]), made.path, mode="append", manifest_store=made.manifests)
    stale = made.open().snapshot
    lance_sql.write(table([3]), made.path, mode="append")
    commit(stale, Append(fragments(made.path, table([4]))))
    assert made.keys() == [1, 2, 3, 4]
    assert made.open().version == 4


def test_entries_that_name_something_else_are_damage(tmp_path: Path) -> None:
    made = place(tmp_path / "a")
    key = made.manifests.key(made.path)
    for path, message in (
        (f"{key}/../../etc/hostname", "not a manifest"),
        ("elsewhere/_versions/9.manifest-" + "0" * 36, "not a manifest"),
        (f"{key}/_versions/18446744073709551606.manifest-{'0' * 36}", "which is missing"),
        (f"{key}/_versions/18446744073709551606.manifest", "whose manifest is missing"),
    ):
        made.manifests.put_if_absent(key, ManifestEntry(9, path, None))
        with pytest.raises(CorruptFile, match=message):
            made.open()
        made.manifests.delete(key, 9)
    assert made.keys() == [0, 1, 2]


def test_a_place_without_exclusive_creation_gets_it(tmp_path: Path) -> None:
    """fsspec's local file system creates no file atomically."""
    uri = f"file+fsspec://{tmp_path}"
    import fsspec
    from fsspec.implementations.local import LocalFileSystem

    class Plain(LocalFileSystem):  # type: ignore[misc]  # the base has no types
        protocol = ("file+fsspec",)

    fsspec.register_implementation("file+fsspec", Plain, clobber=True)
    with pytest.raises(UnsupportedFeature, match="pass manifest_store"):
        lance_sql.write(pa.table({"a": [1]}), f"{uri}/a.lance")
    manifests = SqliteManifestStore(str(tmp_path / "m.sqlite"))
    lance_sql.write(pa.table({"a": [1]}), f"{uri}/b.lance", manifest_store=manifests)
    made = lance_sql.write(pa.table({"a": [2]}), f"{uri}/b.lance", mode="append", manifest_store=manifests)
    assert made.count_rows() == 2


def test_a_uri_that_names_its_manifest_store_gets_no_other(tmp_path: Path) -> None:
    manifests = SqliteManifestStore(str(tmp_path / "m.sqlite"))
    with pytest.raises(InvalidArgument, match="leave manifest_store out"):
        lance_sql.open("s3+ddb://bucket/t.lance?ddbTableName=T", manifest_store=manifests)
    for uri in ("s3+ddb://bucket/t.lance", "s3+ddb://bucket/t.lance?ddbTableName=T&x=1"):
        with pytest.raises(InvalidArgument, match="ddbTableName=NAME"):
            lance_sql.open(uri)
