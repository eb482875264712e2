"""Every kind of name by every door: found again under exactly that name, here and by pylance, or refused before
anything is written."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import duckdb
import lance
import pyarrow as pa
import pytest
from click.testing import CliRunner

import lance_sql
from lance_sql.cli import main
from lance_sql.errors import LanceError
from lance_sql.values.sql_text import identifier

_CHARACTERS = [chr(code) for code in (*range(1, 48), *range(58, 65), *range(91, 97), *range(123, 128))] + list(
    "\x85\xa0\xad\u200b\u200d\u200e\u200f\u2028\u2029\u202a\u202d\u202e\u2066\u2069\u3000\ufeff\ufffd\ud800é\u0301ßİ\u0131😀"
)
_SEQUENCES = [
    *("..", "...", "../x", "../../x", "a/../b", "a/./b", "a//b", "/", "//", "/abs", "x/", "./x", "..\\x", "C:\\x"),
    *(
        "%2F",
        "a%2Fb",
        "%2e%2e",
        "%00",
        "%zz",
        "%41",
        "\\x1b",
        "\\u0041",
        "\\n",
        "\\0",
        "${x}",
        "{x}",
        "{0}",
        "%s",
        "$$",
    ),
    *(
        "~",
        "~root",
        "x.lance",
        "x.lance@1",
        ".lance",
        "lance",
        "x.LANCE",
        "a@b",
        "@1",
        "a.b",
        ".a",
        "a.",
        "a..b",
        "a.lock",
    ),
    *(
        "file:///x",
        "s3://b/x",
        "memory://x",
        "lance-catalog://0/x",
        "'",
        "''",
        '"',
        '""',
        "`",
        ";",
        "--",
        "/* x */",
        "a;b",
    ),
    *("\0", "a\0b", "a\0", "\x1b[31m", "\x1b]8;;x\x1b\\", "a\r\nb", "__manifest", "_versions", "data", "tree", "_refs"),
    *(
        "é",
        "e\u0301",
        "ß",
        "SS",
        "ss",
        "İ",
        "i̇",
        "ﬁ",
        "Å",
        "Å",
        "ﷺ",
        "👩\u200d👩\u200d👧",
        "🇩🇪",
        "日本語",
        "مرحبا",
        "א\u200fב",
    ),
    *("a", "A", "aA", "Orders", "ORDERS", "main", "Main", "temp", "system", "information_schema", "pg_catalog", "lake"),
    *(
        "20",
        "01",
        "-1",
        "0",
        "1e3",
        "1.0",
        "2026-11-21",
        "20261121",
        "yesterday",
        "today",
        "1d",
        "90m",
        "latest",
        "HEAD",
    ),
    *(
        "earliest",
        "newest",
        "null",
        "NULL",
        "true",
        "nan",
        "None",
        "index",
        "id",
        "_rowid",
        "_ROWID",
        "_rowaddr",
        "_RowId",
    ),
    *(
        "_commit_job",
        "_commit_version",
        "_change_type",
        "__lance_key",
        "__lance_change",
        "__lance_no_column",
        "__row",
        "con",
    ),
]
_WORDS = (
    "select from where table order group by join union insert update delete drop create view schema index all and as"
)
_LENGTHS = (1, 100, 149, 150, 151, 200, 243, 249, 250, 255, 256, 300, 5000)
STRINGS = list(
    dict.fromkeys(
        [""]
        + [
            before + sign + after
            for sign in _CHARACTERS
            for before, after in (("", ""), ("a", "b"), ("", "a"), ("a", ""))
        ]
        + _SEQUENCES
        + _WORDS.split()
        + _WORDS.upper().split()
        + ["x" * length for length in _LENGTHS]
        + ["é" * (length // 2) for length in _LENGTHS]
    )
)
FEW = [
    "plain",
    "a b",
    "it's",
    '"',
    "../x",
    "a/b",
    "a\\b",
    "a$b",
    "a\0b",
    "a\nb",
    "é",
    "20",
    "x" * 300,
    "\ud800",
    "select",
]
FEWER = ["it's", "../x", "x.LANCE", ";", "a\0b", "\ud800"]
"""For doors that make tables, which take longer."""


class World:
    """A table of two versions, a plain catalog and one with contents, in a folder with others beside."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.path = str(root / "t.lance")
        lance_sql.write({"id": [1]}, self.path)
        self.table = lance_sql.write({"id": [2]}, self.path, mode="append")
        self.plain, self.rich = root / "plain", root / "rich"
        for folder in (self.plain, self.rich):
            folder.mkdir()
        lance_sql.catalog(self.rich).create_namespace("sales")
        for folder in (self.plain, self.rich):
            lance_sql.catalog(folder).create_table("orders", {"id": [1]})
        self._connections: dict[Path, duckdb.DuckDBPyConnection] = {}

    def attached(self, folder: Path) -> duckdb.DuckDBPyConnection:
        """A connection to which the folder was attached before tables of it came and went."""
        if folder not in self._connections:
            self._connections[folder] = lance_sql.attach(lance_sql.connect(), folder, as_="lake")
        return self._connections[folder]

    def folders(self) -> set[str]:
        """What is in the folder and in its catalogs, without the files of tables."""
        return {str(each.relative_to(self.root)) for at in (self.root, self.plain, self.rich) for each in at.iterdir()}


Check = Callable[[], None]
Door = Callable[[World, str], Check]
"""Makes a name; returns a function that finds it again, and takes it back."""


def _found(world: World, folder: Path, name: tuple[str, ...]) -> None:
    catalog = lance_sql.catalog(folder)
    assert name[-1] in catalog.tables(name[:-1])
    path = catalog.describe(name).path
    assert catalog.open(name).count_rows() == lance.dataset(path).count_rows() == 1
    connection = world.attached(folder)
    schema = f"{identifier('.'.join(name[:-1]))}." if name[:-1] else ""
    query = f"SELECT count(*) FROM lake.{schema}{identifier(name[-1])}"
    assert connection.execute(query).fetchall() == [(1,)]
    assert lance_sql.sql(query, connection=connection).fetchall() == [(1,)]


def _made_table(kind: str, *namespace: str) -> Door:
    def act(world: World, name: str) -> Check:
        folder = getattr(world, kind)
        lance_sql.catalog(folder).create_table((*namespace, name), {"id": [1]})

        def check() -> None:
            _found(world, folder, (*namespace, name))
            lance_sql.catalog(folder).drop_table((*namespace, name))

        return check

    return act


def _renamed_table(kind: str) -> Door:
    def act(world: World, name: str) -> Check:
        folder = getattr(world, kind)
        lance_sql.catalog(folder).rename_table("orders", (name,))

        def check() -> None:
            _found(world, folder, (name,))
            lance_sql.catalog(folder).rename_table((name,), "orders")

        return check

    return act


def _sql_table(engine: str, text: str, kind: str = "plain") -> Door:
    def act(world: World, name: str) -> Check:
        folder = getattr(world, kind)
        if engine == "duckdb":
            target: Any = world.attached(folder)
        else:
            target = pytest.importorskip("datafusion").SessionContext()
            lance_sql.attach(target, folder, as_="lake")
        options = {"connection" if engine == "duckdb" else "session": target}
        lance_sql.sql(text.format(f"lake.{identifier(name)}", new=identifier(name)), **options)

        def check() -> None:
            if "REPLACE" in text and name.lower() == "orders":
                # The statement replaces a table that is there, whose name keeps its case.
                _found(world, folder, ("orders",))
                return
            _found(world, folder, (name,))
            if "RENAME" in text:
                lance_sql.catalog(folder).rename_table((name,), "orders")
            else:
                lance_sql.catalog(folder).drop_table((name,))

        return check

    return act


def _namespace(world: World, name: str) -> Check:
    catalog = lance_sql.catalog(world.rich)
    catalog.create_namespace((name,))

    def check() -> None:
        assert name in catalog.namespaces()
        catalog.create_table((name, "t"), {"id": [1]})
        _found(world, world.rich, (name, "t"))
        catalog.drop_table((name, "t"))
        catalog.drop_namespace((name,))

    return check


def _tag(make: Callable[[World, str], object]) -> Door:
    def act(world: World, name: str) -> Check:
        make(world, name)

        def check() -> None:
            assert list(world.table.tags.list()) == [name] == list(lance.dataset(world.path).tags.list())
            assert lance_sql.open(world.path, tag=name).version == 1
            assert lance_sql.open(world.path, version=name).version == 1
            assert lance_sql.open(f"{world.path}@{name}").version == 1
            assert world.table.changes(since=name).start == 2
            world.table.tags.delete(name)

        return check

    return act


def _branch(make: Callable[[World, str], object]) -> Door:
    def act(world: World, name: str) -> Check:
        make(world, name)

        def check() -> None:
            assert list(world.table.branches.list()) == [name] == list(lance.dataset(world.path).branches.list())
            assert lance_sql.open(world.path, branch=name).branch == name
            assert lance_sql.open(f"{world.path}@{name}").branch == name
            world.table.branches.delete(name)

        return check

    return act


def _command(*words: str) -> Callable[[World, str], object]:
    """Runs a command; its errors are one line and an exit code."""

    def run(world: World, name: str) -> object:
        result = CliRunner().invoke(main, [word.format(path=world.path, name=name) for word in words])
        if result.exit_code:
            assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
            raise LanceError(result.output.strip().splitlines()[-1])
        return result

    return run


def _statement(text: str) -> Callable[[World, str], object]:
    return lambda world, name: lance_sql.sql(text.format(path=world.path, name=identifier(name)))


def _cursor(world: World, name: str) -> Check:
    cursor = world.table.cursors.open(name, "latest")

    def check() -> None:
        assert list(world.table.cursors.list()) == [name]
        assert world.table.cursors.open(name).position == 2
        cursor.drop()

    return check


def _rule(set: Callable[[World, str], object], drop: Callable[[World, str], object]) -> Door:
    def act(world: World, name: str) -> Check:
        set(world, name)

        def check() -> None:
            assert list(world.table.latest().rules.list()) == [name]
            assert world.table.latest().rules.check([name]).is_kept
            drop(world, name)
            assert not world.table.latest().rules.list()

        return check

    return act


def _index(world: World, name: str) -> Check:
    world.table.latest().indices.create("id", "btree", name=name)

    def check() -> None:
        assert [each.name for each in world.table.latest().indices.list()] == [name]
        assert [each.name for each in lance.dataset(world.path).describe_indices()] == [name]
        world.table.latest().indices.drop(name)

    return check


def _application(world: World, name: str) -> Check:
    def write() -> int:
        return lance_sql.write({"id": [3]}, world.path, mode="append", txn_app_id=name, txn_version=1).version

    version = write()

    def check() -> None:
        assert write() == version
        lance_sql.open(world.path).delete("id = 3")

    return check


def _column(make: Callable[[World, str], object]) -> Door:
    def act(world: World, name: str) -> Check:
        place = world.root / "column.lance"
        try:
            make(world, name)
        except BaseException:
            assert not place.exists() or "own" in lance_sql.open(place).schema.names
            shutil.rmtree(place, ignore_errors=True)
            raise

        def check() -> None:
            assert lance_sql.open(place).schema.names[-1] == name == lance.dataset(str(place)).schema.names[-1]
            assert lance_sql.open(place).scan([name]).to_table().to_pylist() == [{name: 7}]
            query = f"SELECT {identifier(name)} FROM '{place}'"
            if name != "__lance_no_column":
                assert lance_sql.connect().execute(query).fetchall() == [(7,)]
            assert lance_sql.sql(query, "datafusion").fetchall() == [(7,)]
            shutil.rmtree(place)

        return check

    return act


def _arrow(world: World, name: str) -> lance_sql.Dataset:
    try:
        rows = pa.table({"x": [1], name: [7]})
    except UnicodeEncodeError as error:
        raise LanceError("pyarrow refuses the name") from error
    return lance_sql.write(rows, world.root / "column.lance")


def _base(world: World) -> lance_sql.Dataset:
    return lance_sql.write({"own": [1], "seven": [7]}, world.root / "column.lance", mode="overwrite")


DOORS: dict[str, Door] = {
    "create_table, plain": _made_table("plain"),
    "create_table, contents": _made_table("rich"),
    "create_table, namespace": _made_table("rich", "sales"),
    "rename_table, plain": _renamed_table("plain"),
    "rename_table, contents": _renamed_table("rich"),
    "CREATE TABLE AS": _sql_table("duckdb", "CREATE TABLE {0} AS SELECT 1 AS id"),
    "CREATE OR REPLACE": _sql_table("duckdb", "CREATE OR REPLACE TABLE {0} AS SELECT 1 AS id", "rich"),
    "CREATE TABLE AS, datafusion": _sql_table("datafusion", "CREATE TABLE {0} AS SELECT 1 AS id"),
    "RENAME TO": _sql_table("duckdb", "ALTER TABLE lake.orders RENAME TO {new}"),
    "create_namespace": _namespace,
    "create_tag": _tag(lambda world, name: world.table.tags.create(name, 1)),
    "CREATE TAG": _tag(_statement("ALTER TABLE '{path}' CREATE TAG {name} AS OF VERSION 1")),
    "lance-sql tag": _tag(_command("tag", "{path}", "--", "{name}", "1")),
    "create_branch": _branch(lambda world, name: world.table.branches.create(name)),
    "CREATE BRANCH": _branch(_statement("ALTER TABLE '{path}' CREATE BRANCH {name}")),
    "cursor": _cursor,
    "set_rule": _rule(
        lambda world, name: world.table.latest().rules.set(name, "id > 0"),
        lambda world, name: world.table.latest().rules.drop(name),
    ),
    "ADD CONSTRAINT": _rule(
        _statement("ALTER TABLE '{path}' ADD CONSTRAINT {name} CHECK (id > 0)"),
        _statement("ALTER TABLE '{path}' DROP CONSTRAINT {name}"),
    ),
    "create_index": _index,
    "txn_app_id": _application,
    "write a dict": _column(lambda world, name: lance_sql.write({"x": [1], name: [7]}, world.root / "column.lance")),
    "write a table": _column(_arrow),
    "add_columns": _column(lambda world, name: _base(world).add_columns({name: "7"})),
    "rename_columns": _column(lambda world, name: _base(world).rename_columns({"seven": name})),
}


@pytest.fixture(scope="module", params=DOORS)
def opened(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[World, Door, str]:
    return World(tmp_path_factory.mktemp("names")), DOORS[request.param], request.param


def _one(world: World, door: Door, name: str) -> bool:
    """Whether the name was taken."""
    before = world.folders()
    try:
        check = door(world, name)
    except (LanceError, duckdb.Error) as error:
        lines = str(error).strip().splitlines()
        if isinstance(error, LanceError) and len(lines) > 1:
            raise AssertionError(f"{len(lines)} lines: {lines}") from error
        assert world.folders() == before
        return False
    check()
    assert world.folders() == before
    return True


def _all(world: World, door: Door, strings: list[str]) -> dict[str, str]:
    """The faults by name."""
    faults = {}
    taken = 0
    for name in strings:
        try:
            taken += _one(world, door, name)
        except Exception as error:
            faults[name] = f"{type(error).__name__}: {str(error)[:200]}"
            for folder in (world.plain, world.rich):
                with suppress(LanceError):
                    lance_sql.catalog(folder).create_table("orders", {"id": [1]})
    assert taken or faults, "at least one name is taken"
    print(f"{taken} of {len(strings)} taken")
    return faults


def test_a_few_names(opened: tuple[World, Door, str]) -> None:
    world, door, kind = opened
    makes_tables = list(DOORS).index(kind) <= list(DOORS).index("create_namespace")
    assert _all(world, door, FEWER if makes_tables else FEW) == {}


@pytest.mark.slow
def test_all_names(opened: tuple[World, Door, str]) -> None:
    world, door, _ = opened
    assert len(STRINGS) > 500
    assert _all(world, door, STRINGS) == {}
