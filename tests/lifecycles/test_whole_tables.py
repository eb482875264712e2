"""Tables that are dropped, renamed and named, against writers and with everything that a table can have."""

from __future__ import annotations

import shutil
import threading
import urllib.parse
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import lance
import pyarrow as pa
import pytest

import lance_sql
from lance_sql import Dataset, InvalidArgument, LanceError, TableNotFound, VersionNotFound
from lance_sql.store import LocalStore, Store
from lance_sql.table import table_folders, versions
from lance_sql.table.versions import VersionFile
from lance_sql.writes.commit import clones, committer
from lance_sql.writes.commit.put_version import put_version


def ids(table: Dataset) -> list[int]:
    found: list[int] = sorted(table.to_table()["id"].to_pylist())
    return found


def full(path: Path | str) -> Dataset:
    """A table with all that this library keeps beside one."""
    lance_sql.write({"id": [0]}, path)
    table = lance_sql.apply_changes(path, [{"id": 1, "at": 5}], "id", sequence_by="at", except_columns=["at"])
    table = lance_sql.apply_changes(
        table,
        [{"id": 1, "at": 7, "gone": True}],
        "id",
        sequence_by="at",
        except_columns=["at", "gone"],
        delete_when="gone",
    )
    table.cursors.open("job")
    table = table.delete("id = 1").indices.create("id", "btree")
    table.tags.create("kept")
    table.branches.create("etl").branches.create("etl/data")
    return table


DROPS: dict[str, Callable[[str], object]] = {
    "drop": table_folders.drop,
    "sql": lambda uri: lance_sql.sql(f"DROP TABLE '{uri}'"),
    "connection": lambda uri: lance_sql.connect().execute(f"DROP TABLE '{uri}'"),
    "catalog": lambda uri: lance_sql.catalog(uri.removesuffix("/t.lance")).drop_table(("t",)),
}


@pytest.mark.parametrize("how", DROPS)
def test_all_that_belongs_to_a_table_is_dropped(tmp_path: Path, how: str) -> None:
    full(tmp_path / "t.lance")
    DROPS[how](str(tmp_path / "t.lance"))
    assert not (tmp_path / "t.lance").exists()


@pytest.mark.parametrize("how", DROPS)
def test_a_folder_with_something_else_stays_and_keeps_its_name(tmp_path: Path, how: str) -> None:
    full(tmp_path / "t.lance")
    (tmp_path / "t.lance" / "notes.txt").write_text("mine")
    with pytest.raises(InvalidArgument, match=r"such as 'notes.txt'"):
        DROPS[how](str(tmp_path / "t.lance"))
    assert ids(lance_sql.open(tmp_path / "t.lance")) == [0]


def test_a_refused_drop_leaves_the_name_in_the_catalog(tmp_path: Path) -> None:
    catalog = lance_sql.catalog(str(tmp_path))
    catalog.create_namespace(("s",))
    entry = catalog.declare(("s", "a"))
    full(entry.path)
    (Path(entry.path) / "notes.txt").write_text("mine")
    with pytest.raises(InvalidArgument, match=r"notes.txt"):
        catalog.drop_table(("s", "a"))
    assert catalog.tables(("s",)) == ["a"]
    (Path(entry.path) / "notes.txt").unlink()
    catalog.drop_table(("s", "a"))
    assert catalog.tables(("s",)) == []
    assert not Path(entry.path).exists()


def test_a_name_that_another_table_has_now_is_not_dropped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    catalog, other = lance_sql.catalog(str(tmp_path)), lance_sql.catalog(str(tmp_path))
    catalog.create_namespace(("s",))
    lance_sql.write({"id": [1]}, catalog.declare(("s", "a")).path)
    described = catalog.describe

    def late(name: object) -> object:
        entry = described(name)  # type: ignore[arg-type]  # passed on as given
        other.drop_table(("s", "a"))
        lance_sql.write({"id": [2]}, other.declare(("s", "a")).path)
        return entry

    monkeypatch.setattr(catalog, "describe", late)
    with pytest.raises(TableNotFound, match="another writer dropped it"):
        catalog.drop_table(("s", "a"))
    assert ids(other.open(("s", "a"))) == [2]


URIS: dict[str, Callable[[Path], str]] = {
    "path": str,
    "file": lambda path: f"file://{urllib.parse.quote(str(path))}",
    "slash": lambda path: f"{path}/",
}


@pytest.mark.parametrize("way", URIS)
def test_quoted_uris_are_dropped_and_renamed(tmp_path: Path, way: str) -> None:
    folder = tmp_path / "a b"
    folder.mkdir()
    lance_sql.write({"id": [0]}, folder / "t.lance")
    lance_sql.sql(f"ALTER TABLE '{URIS[way](folder / 't.lance')}' RENAME TO '{URIS[way](folder / 'u.lance')}'")
    assert ids(lance_sql.open(folder / "u.lance")) == [0]
    lance_sql.sql(f"DROP TABLE '{URIS[way](folder / 'u.lance')}'")
    assert list(folder.iterdir()) == []


def test_a_link_to_a_table_goes_with_the_table(tmp_path: Path) -> None:
    lance_sql.write({"id": [0]}, tmp_path / "t.lance")
    (tmp_path / "link.lance").symlink_to(tmp_path / "t.lance")
    with pytest.raises(InvalidArgument, match="is a link to a table"):
        table_folders.move(str(tmp_path / "link.lance"), str(tmp_path / "u.lance"))
    table_folders.drop(str(tmp_path / "link.lance"))
    assert list(tmp_path.iterdir()) == []


def test_a_table_with_branches_is_not_renamed(tmp_path: Path) -> None:
    table = full(tmp_path / "t.lance")
    for rename in (
        lambda: table_folders.move(table.uri, str(tmp_path / "u.lance")),
        lambda: lance_sql.sql(f"ALTER TABLE '{table.uri}' RENAME TO '{tmp_path / 'u.lance'}'"),
        lambda: lance_sql.catalog(str(tmp_path)).rename_table(("t",), ("u",)),
    ):
        with pytest.raises(InvalidArgument, match=r"has branches \('etl', 'etl/data'\)"):
            rename()
    for branch in ("etl/data", "etl"):
        assert ids(lance_sql.open(table.uri, branch=branch)) == [0]
        lance_sql.open(table.uri).branches.delete(branch)
    table_folders.move(table.uri, str(tmp_path / "u.lance"))
    assert ids(lance_sql.open(tmp_path / "u.lance", tag="kept")) == [0]


VERBS: dict[str, Callable[[Dataset], object]] = {
    "append": lambda table: lance_sql.write({"id": [1]}, table, mode="append"),
    "overwrite": lambda table: lance_sql.write({"id": [1]}, table, mode="overwrite"),
    "update": lambda table: table.update({"id": "5"}, "true"),
    "delete": lambda table: table.delete("id = 0"),
    "merge": lambda table: table.merge({"id": [0, 1]}, on="id"),
    "compact": lambda table: table.maintenance.compact(),
    "restore": lambda table: table.restore(1),
    "index": lambda table: table.indices.create("id", "btree"),
    "config": lambda table: table.config.update({"a": "b"}),
    "table metadata": lambda table: table.config.update_table_metadata({"a": "b"}),
    "schema metadata": lambda table: table.config.update_schema_metadata({"a": "b"}),
    "apply": lambda table: lance_sql.apply_changes(table, [{"id": 1}], "id"),
}


@pytest.mark.parametrize("taken", ["drop", "move", "rmtree"])
@pytest.mark.parametrize("verb", VERBS)
def test_a_commit_to_a_table_that_goes_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, verb: str, taken: str
) -> None:
    from lance_sql.writes.commit import committer, put_version

    path = tmp_path / "t.lance"
    lance_sql.write({"id": [0, 2]}, path)
    table = lance_sql.write({"id": [3]}, path, mode="append")
    put = put_version.put_version

    def late(*arguments: object, **options: object) -> object:
        monkeypatch.setattr(committer, "put_version", put)
        if taken == "move":
            table_folders.move(str(path), str(tmp_path / "moved.lance"))
        elif taken == "drop":
            table_folders.drop(str(path))
        else:
            shutil.rmtree(path)
        return put(*arguments, **options)  # type: ignore[arg-type]  # passed on as given

    monkeypatch.setattr(committer, "put_version", late)
    with pytest.raises(TableNotFound, match="was dropped or moved"):
        VERBS[verb](table)
    assert [each for each in path.rglob("*") if each.is_file()] == []
    with pytest.raises(TableNotFound):
        lance_sql.open(path)
    if taken == "move":
        assert ids(lance_sql.open(tmp_path / "moved.lance")) == [0, 2, 3]
        assert lance_sql.verify(tmp_path / "moved.lance", deep=True).is_healthy


@pytest.mark.parametrize("how", ["drop", "move"])
def test_a_writer_and_a_drop_at_the_same_time(tmp_path: Path, how: str) -> None:
    for number in range(4):
        path, moved = tmp_path / f"{number}.lance", tmp_path / f"{number}.moved.lance"
        for version in range(4):
            lance_sql.write({"id": [version]}, path, mode="append" if version else "create")
        began, said = threading.Barrier(2), list[str]()

        def append(path: Path = path, began: threading.Barrier = began, said: list[str] = said) -> None:
            table = lance_sql.open(path)
            began.wait()
            try:
                lance_sql.write({"id": [9]}, table, mode="append")
                said.append("ok")
            except TableNotFound:
                said.append("gone")

        other = threading.Thread(target=append)
        other.start()
        began.wait()
        table_folders.drop(str(path)) if how == "drop" else table_folders.move(str(path), str(moved))
        other.join()
        with pytest.raises(TableNotFound):
            lance_sql.open(path)
        if how == "move":
            assert ids(lance_sql.open(moved)) == [0, 1, 2, 3, *([9] if said == ["ok"] else [])]


@pytest.mark.parametrize("has_inverted_names", [False, True])
def test_a_drop_that_is_interrupted_leaves_the_newest_rows_or_no_table(
    has_inverted_names: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "t.lance"
    for number in range(12):
        rows = pa.table({"id": [number]})
        lance.write_dataset(
            rows, path, mode="append" if number else "create", enable_v2_manifest_paths=has_inverted_names
        )
    lance_sql.write({"id": [100]}, path, mode="overwrite")
    delete, left = LocalStore.delete, 0

    def interrupted(self: LocalStore, name: str) -> None:
        nonlocal left
        left -= 1
        if left < 0:
            raise KeyboardInterrupt
        delete(self, name)

    while path.exists():
        left = 2
        with monkeypatch.context() as patched, suppress(KeyboardInterrupt):
            patched.setattr(LocalStore, "delete", interrupted)
            table_folders.drop(str(path))
        try:
            assert ids(lance_sql.open(path)) == [100]
        except TableNotFound:
            break


def test_a_new_table_is_not_made_under_the_name_of_a_version(tmp_path: Path) -> None:
    table = lance_sql.write({"id": [0]}, tmp_path / "t.lance")
    table.branches.create("dev")
    table.branches.create("a/b")
    for name in ("t.lance@dev", "t.lance@a/b", "t.lance@1", "t.lance/tree/dev2"):
        for mode in ("create", "overwrite"):
            with pytest.raises(InvalidArgument, match="is the name of"):
                lance_sql.write({"id": [7]}, tmp_path / name, mode=mode)
    lance_sql.write({"id": [1]}, table.uri, mode="append", branch="a/b")
    assert sorted(lance_sql.sql(f"SELECT id FROM '{table.uri}@a/b'").fetchall()) == [(0,), (1,)]
    (tmp_path / "me@home").mkdir()
    assert ids(lance_sql.write({"id": [0]}, tmp_path / "me@home" / "t.lance")) == [0]


CHANGES: dict[str, Callable[[Dataset], object]] = {
    "append": lambda table: lance_sql.write({"id": [7]}, table, mode="append"),
    "overwrite": lambda table: lance_sql.write({"id": [7]}, table, mode="overwrite"),
    "update": lambda table: table.update({"id": "9"}, "id = 0"),
    "delete": lambda table: table.delete("id = 0"),
    "merge": lambda table: table.merge({"id": [7]}, on="id"),
    "compact": lambda table: table.maintenance.compact(),
    "restore": lambda table: table.restore(1),
    "index": lambda table: table.indices.create("id", "btree"),
    "columns": lambda table: table.add_columns({"w": "id"}),
    "config": lambda table: table.config.update({"a": "b"}),
    "table metadata": lambda table: table.config.update_table_metadata({"a": "b"}),
    "schema metadata": lambda table: table.config.update_schema_metadata({"a": "b"}),
    "branch": lambda table: table.branches.create("new"),
    "publish": lambda table: table.branches.publish("load"),
}


# those that commit to a small table
@pytest.mark.parametrize("change", sorted(CHANGES.keys() - {"compact", "branch", "publish"}))
@pytest.mark.parametrize("taken", ["drop", "move"])
def test_a_table_that_goes_after_its_versions_were_listed(
    taken: str, change: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "t.lance"
    table = lance_sql.write({"id": [0]}, path).update({"id": "0"}, "id = 0")
    list_newer = versions.list_newer

    def listed(store: Store, since: int | None) -> list[VersionFile]:
        found = list_newer(store, since)
        # the commit lists those since the version that it read
        if since is not None and path.exists():
            table_folders.drop(str(path)) if taken == "drop" else table_folders.move(str(path), f"{path}.moved.lance")
        return found

    monkeypatch.setattr(versions, "list_newer", listed)
    with pytest.raises(TableNotFound, match="was dropped or moved"):
        CHANGES[change](table)
    assert not path.exists()


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_leaves_nothing_of_a_table_that_is_dropped_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    path = tmp_path / "t.lance"
    lance_sql.write({"id": [0]}, path)
    table = lance_sql.write({"id": [1]}, path, mode="append")
    table.branches.create("load")
    lance_sql.write({"id": [2]}, path, mode="append", branch="load")

    def dropped(*arguments: Any, **options: Any) -> object:
        table_folders.drop(str(path))
        return put_version(*arguments, **options)

    for module in (committer, clones):
        monkeypatch.setattr(module, "put_version", dropped)
    with pytest.raises((TableNotFound, VersionNotFound)):
        CHANGES[change](table)
    assert not path.exists()


def _failing() -> Iterator[pa.RecordBatch]:
    yield pa.record_batch({"id": [1]})
    raise RuntimeError("the source fails")


FIRST: dict[str, Callable[[Path], object]] = {
    "source": lambda path: lance_sql.write(
        pa.RecordBatchReader.from_batches(pa.schema([("id", pa.int64())]), _failing()), path
    ),
    "not null": lambda path: lance_sql.write(
        pa.table({"id": [1, None]}, pa.schema([pa.field("id", pa.int64(), False)])), path
    ),
    "columns": lambda path: lance_sql.write(
        [pa.record_batch({"id": [1]}), pa.record_batch({"x": [1]})], path, schema=pa.schema([("id", pa.int64())])
    ),
    "two steps": lambda path: lance_sql.begin_write(pa.schema([("id", pa.int64())]), path).write(
        pa.RecordBatchReader.from_batches(pa.schema([("id", pa.int64())]), _failing())
    ),
    "sql": lambda path: lance_sql.sql(f"CREATE TABLE '{path}' AS SELECT error('x') AS id FROM range(5)"),
    "view": lambda path: lance_sql.materialize("SELECT error('x') AS id FROM range(5)", path),
    "changes": lambda path: lance_sql.apply_changes(path, [{"id": 1, "at": None}], "id", sequence_by="at"),
}


@pytest.mark.parametrize("write", FIRST)
def test_a_failed_first_write_leaves_no_folder(tmp_path: Path, write: str) -> None:
    with pytest.raises((LanceError, RuntimeError, pa.ArrowInvalid)):
        FIRST[write](tmp_path / "t.lance")
    assert list(tmp_path.iterdir()) == []


def test_an_abandoned_job_of_a_new_table_leaves_no_folder(tmp_path: Path) -> None:
    job = lance_sql.begin_write(pa.schema([("id", pa.int64())]), tmp_path / "t.lance")
    job.write_fragments({"id": [1]})
    job.abort()
    assert list(tmp_path.iterdir()) == []


def test_a_version_that_was_cleaned_up_while_it_is_read_is_not_called_damaged(tmp_path: Path) -> None:
    path = tmp_path / "t.lance"
    lance_sql.write({"id": [0, 1, 2]}, path)
    old = lance_sql.open(path).delete("id = 1")
    for read in (
        lambda table: table.to_table(),
        lambda table: table.count_rows("id = 0"),
        lambda table: table.scan(["id"], limit=1).to_table(),
        lambda table: lance_sql.sql(f"SELECT * FROM '{table.uri}' VERSION AS OF {table.version}").fetchall(),
        lambda table: table.changes(since=1).to_reader().read_all(),
    ):
        handle = lance_sql.open(path, version=old.version)
        lance_sql.write({"id": [5, 6, 7]}, path, mode="overwrite")
        lance_sql.open(path).maintenance.cleanup(retain_versions=1)
        with pytest.raises(VersionNotFound):
            read(handle)
        old = lance_sql.open(path).delete("id = 6")


@pytest.mark.parametrize("door", ["attach", "connect", "datafusion"])
def test_a_name_in_an_attached_catalog_is_the_table_that_has_it(tmp_path: Path, door: str) -> None:
    import datafusion
    import duckdb

    catalog = lance_sql.catalog(str(tmp_path))
    catalog.create_namespace(("s",))
    for name, number in (("orders", 1), ("orders_new", 2)):
        lance_sql.write({"id": [number]}, catalog.declare(("s", name)).path)
    if door == "datafusion":
        context = datafusion.SessionContext()
        context = lance_sql.attach(context, catalog, as_="lk")

        def read(name: str) -> list[int]:
            found: list[int] = context.sql(f"SELECT id FROM lk.s.{name}").to_arrow_table()["id"].to_pylist()
            return found
    else:
        connection = duckdb.connect() if door == "attach" else lance_sql.connect()
        if door == "attach":
            lance_sql.register(connection)
        lance_sql.attach(connection, catalog, as_="lk")

        def read(name: str) -> list[int]:
            return [row[0] for row in connection.execute(f"SELECT id FROM lk.s.{name}").fetchall()]

    assert (read("orders"), read("orders_new")) == ([1], [2])
    catalog.rename_table(("s", "orders"), ("s", "orders_old"))
    catalog.rename_table(("s", "orders_new"), ("s", "orders"))
    assert read("orders") == [2]
    catalog.drop_table(("s", "orders"))
    with pytest.raises(Exception, match=r"orders"):
        read("orders")
    lance_sql.write({"id": [3]}, catalog.declare(("s", "orders")).path)
    assert read("orders") == [3]
    if door == "attach":
        lance_sql.attach(connection, catalog, as_="lk")
        assert read("orders_old") == [1]
        with pytest.raises(duckdb.CatalogException):
            read("orders_new")
