"""Every door passes all parts of the access to every store that it opens."""

from __future__ import annotations

import gc
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

import datafusion
import duckdb
import pytest
from click.testing import CliRunner

import lance_sql
import lance_sql.store.open as open_module
from lance_sql.cli.main import main
from lance_sql.errors import ForeignBase, InvalidArgument, UnsupportedFeature
from lance_sql.providers import register
from lance_sql.providers.snapshots import open_version
from lance_sql.store import allowed_bases
from lance_sql.store.access import ALLOW_BASES, CACHE, CHECKSUMS, Access, access_options, within

ROWS = {"id": [1, 2, 3], "v": ["a", "b", "c"]}


class Seen:
    """Parts with which stores are opened, one entry for each store."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.options: list[Any] = []
        self.manifest_store: list[Any] = []
        self.cache: list[Any] = []
        self.checksums: list[Any] = []
        self.allow_bases: list[Any] = []
        self._watch(monkeypatch, open_module, "_open_files", lambda uri, options: self.options.append(dict(options)))
        self._watch(monkeypatch, open_module, "with_cache", lambda _, *given: self.cache.append(given))
        self._watch(monkeypatch, open_module, "ComparedStore", lambda _: self.checksums.append(True))
        self._watch(
            monkeypatch, open_module, "ExternalManifests", lambda _, given, *__: self.manifest_store.append(given)
        )
        self._watch(monkeypatch, allowed_bases, "check", lambda *given: self.allow_bases.append(given[2]))

    @staticmethod
    def _watch(monkeypatch: pytest.MonkeyPatch, module: Any, name: str, note: Callable[..., Any]) -> None:
        original = getattr(module, name)

        def watched(*given: Any) -> Any:
            note(*given)
            return original(*given)

        monkeypatch.setattr(module, name, watched)

    def clear(self) -> None:
        for found in vars(self).values():
            found.clear()

    def dropped(self, words: dict[str, Any]) -> list[str]:
        """The parts that a store was opened without."""
        count = len(self.options)
        assert count, "no store was opened"
        wanted = {
            "options": [words["storage_options"]] * count,
            "manifest_store": [words["manifest_store"]] * count,
            "cache": [(words["cache"], 7 << 20)] * count,
            "checksums": [words["checksums"]] * count,
            "allow_bases": [tuple(words["allow_bases"])] * len(self.allow_bases),
        }
        sizes = {"options": [{name: each[name] for name in each if name != "cache_bytes"} for each in self.options]}
        return [name for name, values in wanted.items() if {**vars(self), **sizes}[name] != values]


class Place:
    """A table whose files are in another store, and the keywords that it is opened with."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.connection: Any = None
        self.source = f"memory://{uuid4().hex}"
        self.words: dict[str, Any] = {
            "storage_options": {"marker": "x"},
            "manifest_store": lance_sql.SqliteManifestStore(str(folder / "manifests.sqlite")),
            "allow_bases": [f"{self.source}/"],
            "cache": str(folder / "cache"),
            "checksums": True,
        }
        self.given = {**self.words, "storage_options": {"marker": "x", "cache_bytes": 7 << 20}}
        made = lance_sql.write(ROWS, f"{self.source}/t.lance", **self.given)
        self.path = str(folder / "t.lance")
        made.branches.shallow_clone(self.path)
        lance_sql.write({"id": [9], "v": ["z"]}, self.other, **self.given)

    @property
    def other(self) -> str:
        return str(self.folder / "other.lance")


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


@pytest.fixture
def seen(place: Place, monkeypatch: pytest.MonkeyPatch) -> Seen:
    return Seen(monkeypatch)


def _connected(place: Place) -> Any:
    return lance_sql.connect(**place.given)


def _cursor(place: Place) -> Any:
    place.connection = _connected(place)
    return place.connection.cursor()


def _delivered(place: Place) -> object:
    with (
        lance_sql.open(place.path, **place.given)
        .cursors.open("c", start="earliest")
        .read(target=place.other, **place.given) as feed
    ):
        return feed.scan().to_table()


def _begun(place: Place) -> object:
    job = lance_sql.begin_write(
        lance_sql.open(place.path, **place.given).schema, place.path, mode="append", **place.given
    )
    return job.commit(job.write_fragments(lance_sql.open(place.path, **place.given)))


def _catalog(place: Place) -> object:
    catalog = lance_sql.catalog(place.folder, **place.given)
    catalog.create_table("made", ROWS)
    catalog.create_namespace("below")
    catalog.drop_table("made")
    return catalog.open("t").scan().to_table()


def _of_catalog(place: Place, target: Any) -> object:
    attached = lance_sql.attach(target, lance_sql.catalog(place.folder, **place.given), as_="lake")
    lance_sql.sql("UPDATE lake.t SET v = 'u' WHERE id = 1", **_target(attached))
    return lance_sql.sql("SELECT * FROM lake.t", **_target(attached)).to_table()


def _target(target: Any) -> dict[str, Any]:
    return {"session": target} if isinstance(target, datafusion.SessionContext) else {"connection": target}


def _view(place: Place) -> object:
    query = f"SELECT id FROM '{place.path}'"
    view = lance_sql.materialize(query, place.folder / "view.lance", **place.given)
    lance_sql.open(place.path, **place.given).delete("id = 1")
    view.refresh(verify=True)
    again = lance_sql.View.open(place.folder / "view.lance", **place.given)
    return again.refresh(full=True)


DOORS: dict[str, Callable[[Place], object]] = {
    "open": lambda place: lance_sql.open(place.path, **place.given).scan().to_table(),
    "another version": lambda place: lance_sql.open(place.path, **place.given).delete("id = 1").at(1).to_table(),
    "pickled": lambda place: pickle.loads(pickle.dumps(lance_sql.open(place.path, **place.given))).to_table(),
    "a branch": lambda place: lance_sql.open(place.path, **place.given).branches.create("b").to_table(),
    "write": lambda place: lance_sql.write(ROWS, place.folder / "new.lance", **place.given).to_table(),
    "append": lambda place: lance_sql.write(ROWS, place.path, mode="append", **place.given).to_table(),
    "append to a handle": lambda place: lance_sql.write(
        ROWS, lance_sql.open(place.path, **place.given), mode="append"
    ).to_table(),
    "append to a handle, with keywords": lambda place: lance_sql.write(
        ROWS, lance_sql.open(place.path, **place.given), mode="append", storage_options={"marker": "x"}, checksums=True
    ).to_table(),
    "begin_write": _begun,
    "diff": lambda place: lance_sql.diff(place.path, place.other, "id", **place.given),
    "apply_changes": lambda place: lance_sql.apply_changes(place.path, ROWS, "id", **place.given),
    "apply_changes to a new table": lambda place: lance_sql.apply_changes(
        place.folder / "new.lance", ROWS, "id", **place.given
    ),
    "Cursor.read": _delivered,
    "materialize": _view,
    "catalog": _catalog,
    "catalog in DuckDB": lambda place: _of_catalog(place, lance_sql.connect()),
    "catalog in DataFusion": lambda place: _of_catalog(place, datafusion.SessionContext()),
    "catalog of connect": lambda place: (
        lance_sql.connect(**place.given, catalog=place.folder).execute("SELECT * FROM lake.t").fetchall()
    ),
    "connect": lambda place: _connected(place).execute(f"SELECT * FROM '{place.path}'").fetchall(),
    "time travel": lambda place: (
        _connected(place).execute(f"SELECT * FROM lance_changes('{place.path}', 1)").fetchall()
    ),
    "cursor of connect": lambda place: _cursor(place).execute(f"SELECT * FROM '{place.path}'").fetchall(),
    **(
        {
            "UPDATE on a connection": lambda place: _connected(place).execute(
                f"UPDATE '{place.path}' SET v = 'u' WHERE id = 1"
            )
        }
        if duckdb.__version__ >= "2"
        else {}
    ),
    "sql on a connection": lambda place: lance_sql.sql(
        f"UPDATE '{place.path}' SET v = 'u' WHERE id = 1", connection=_connected(place)
    ),
    "sql": lambda place: lance_sql.sql(f"SELECT * FROM '{place.path}'", **place.given).to_table(),
    "sql in DataFusion": lambda place: lance_sql.sql(
        f"SELECT * FROM '{place.path}'", "datafusion", **place.given
    ).to_table(),
    "INSERT": lambda place: lance_sql.sql(f"INSERT INTO '{place.path}' SELECT * FROM '{place.other}'", **place.given),
    "OPTIMIZE": lambda place: lance_sql.sql(f"OPTIMIZE '{place.path}'", **place.given),
    "register": lambda place: register(duckdb.connect(), "t", place.path, **place.given).sql("FROM t").fetchall(),
    "register in DataFusion": lambda place: (
        register(datafusion.SessionContext(), "t", place.path, **place.given).sql("SELECT * FROM t").to_pylist()
    ),
}

FOR_DAMAGE: dict[str, Callable[[Place], object]] = {
    "verify": lambda place: lance_sql.verify(place.path, deep=True, **without_checksums(place)),
    "audit": lambda place: lance_sql.audit(place.path, **without_checksums(place)),
}
"""Doors that go on after damage, so that the stores compare no checksums."""


def without_checksums(place: Place) -> dict[str, Any]:
    return {name: value for name, value in place.given.items() if name != "checksums"}


OTHERS = {"another version", "pickled", "a branch", "begin_write", "time travel", "OPTIMIZE", "cursor of connect"} | {
    name
    for name in DOORS
    if name.startswith(("append to", "apply_changes to")) or name.endswith(("DataFusion", "of connect"))
}
"""Doors of the slow run."""


@pytest.mark.parametrize("door", [pytest.param(each, marks=[pytest.mark.slow] * (each in OTHERS)) for each in DOORS])
def test_every_door_passes_all_parts(place: Place, seen: Seen, door: str) -> None:
    DOORS[door](place)
    assert seen.dropped(place.words) == []
    assert Access.of() == Access()


@pytest.mark.parametrize("door", FOR_DAMAGE)
def test_doors_for_damage_compare_nothing(place: Place, seen: Seen, door: str) -> None:
    FOR_DAMAGE[door](place)
    assert seen.dropped(place.words) == ["checksums"]
    assert not seen.checksums


def test_repairs_pass_all_parts(place: Place, seen: Seen) -> None:
    assert not lance_sql.repair(place.path, **place.given).is_needed
    assert seen.dropped(place.words) == ["checksums"]
    saved = lance_sql.salvage(place.path, place.folder / "saved.lance", **place.given)
    assert saved.num_rows == 3
    assert set(seen.dropped(place.words)) == {"checksums"}
    seen.clear()
    assert lance_sql.open(place.folder / "saved.lance", **place.given).count_rows() == 3


def texts(place: Place) -> dict[str, str]:
    return {
        **place.words["storage_options"],
        "allow_bases": place.words["allow_bases"][0],
        "cache": place.words["cache"],
        "cache_bytes": str(7 << 20),
        "checksums": "true",
    }


VERBS = {
    "head": ["head", "{}"],
    "query": ["SELECT * FROM '{}'"],
    "delete": ["delete", "{}", "--where", "id = 1", "--yes"],
    "history": ["history", "{}"],
    "diff": ["diff", "{}@1", "{}"],
}


@pytest.mark.parametrize("door", [*VERBS, "Spark"])
def test_doors_of_texts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, door: str) -> None:
    place = Place(tmp_path)
    # a manifest store is no text
    lance_sql.write(ROWS, place.folder / "plain.lance")
    path = str(place.folder / "plain.lance")
    seen = Seen(monkeypatch)
    given = {name: str(value) for name, value in texts(place).items()}
    if door == "Spark":
        pytest.importorskip("pyspark")
        from lance_sql.providers.spark.options import ReadOptions, to_options

        opened = ReadOptions({"path": path, **{f"storage.{name}": value for name, value in given.items()}}).open()
        again = ReadOptions({"path": path, **to_options(opened)}).open()
        assert again.snapshot.access == opened.snapshot.access
        with pytest.raises(UnsupportedFeature, match="cannot get the manifest store SqliteManifestStore"):
            to_options(lance_sql.open(place.path, **place.given))
        seen.manifest_store.clear()
    else:
        options = [word for name, value in given.items() for word in ("--storage", f"{name}={value}")]
        result = CliRunner().invoke(main, [*(each.format(path) for each in VERBS[door]), *options])
        assert result.exit_code == 0, result.output
    assert seen.dropped(place.words) == ["manifest_store"]
    assert Access.of() == Access()


def test_what_is_closer_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(CHECKSUMS, "1")
    monkeypatch.setenv(CACHE, "/of/environment")
    monkeypatch.setenv(ALLOW_BASES, "s3://a/ s3://b/")
    assert Access.of() == Access((), None, ("s3://a/", "s3://b/"), "/of/environment", checksums=True)
    with within({"storage_options": {"cache": "/of/block", "region": "x", "endpoint": "y"}, "allow_bases": "s3://c/"}):
        assert Access.of().cache == "/of/block"
        with within({"checksums": False}):
            found = Access.of(storage_options={"region": "z"}, cache="/given", allow_bases=["s3://a/"])
    assert found == Access((("endpoint", "y"), ("region", "z")), None, ("s3://c/", "s3://a/", "s3://b/"), "/given")
    assert Access.of(cache=False).cache is None
    assert Access.of(storage_options={"cache": "false", "checksums": "off"}, allow_bases=None) == Access(
        (), None, ("s3://a/", "s3://b/")
    )
    assert Access.of(**found.keywords()) == found == found.with_keywords({})
    assert found.with_keywords({"cache": "/other"}).cache == "/other"
    assert found.allowing("s3://c/") is found
    assert access_options({"cache": "x", "mode": "append", "checksums": None}) == {"cache": "x"}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"cache": 7}, "cache=7 is not a folder"),
        ({"storage_options": {"cache_bytes": "many"}}, "cache_bytes='many' is not a number of bytes"),
        ({"storage_options": {"cache_bytes": 0}}, "cache_bytes=0 is too small"),
        ({"checksums": "perhaps"}, "checksums='perhaps' is neither true nor false"),
        ({"allow_bases": [7]}, "is not a list of URIs"),
        ({"storage_options": {"manifest_store": "x.sqlite"}}, "manifest_store='x.sqlite' is not a manifest store"),
    ],
)
@pytest.mark.parametrize("door", ["write", "connect", "sql"])
def test_mistakes(tmp_path: Path, door: str, given: dict[str, Any], message: str) -> None:
    path = str(lance_sql.write(ROWS, tmp_path / "t.lance").uri)
    calls: dict[str, Callable[[], object]] = {
        "write": lambda: lance_sql.write(ROWS, path, mode="append", **given),
        "connect": lambda: lance_sql.connect(**given),
        "sql": lambda: lance_sql.sql(f"FROM '{path}'", **given),
    }
    with pytest.raises(InvalidArgument, match=message.replace("(", r"\(")):
        calls[door]()


@pytest.mark.parametrize("function", ["verify", "repair", "materialize", "diff", "sql", "catalog", "write", "connect"])
def test_unknown_keywords(tmp_path: Path, function: str) -> None:
    given: dict[str, Any] = {"alow_bases": "s3://x/"}
    with pytest.raises(
        TypeError, match=rf"{function}\(\) got an unexpected keyword argument 'alow_bases'.*allow_bases"
    ):
        getattr(lance_sql, function)(
            *("x", "y")[: 1 if function in ("verify", "repair", "sql", "catalog", "connect") else 2], **given
        )


def test_an_open_catalog_takes_no_keywords(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgument, match="open already: leave cache= out"):
        lance_sql.catalog(lance_sql.catalog(tmp_path), cache=True)


def test_catalogs_with_other_keywords_need_another_connection(tmp_path: Path) -> None:
    connection = lance_sql.connect(cache=str(tmp_path))
    with pytest.raises(InvalidArgument, match="another cache= already"):
        lance_sql.attach(connection, lance_sql.catalog(tmp_path, cache=str(tmp_path / "b")), as_="lake")
    with pytest.raises(InvalidArgument, match="storage_options= is about one table"):
        register(connection, storage_options={"region": "x"})


def test_versions_of_queries_are_not_shared_by_connections_with_other_keywords() -> None:
    path = "examples/orders.lance"
    plain = open_version(path)
    assert open_version(path) is plain
    with within({"checksums": True}):
        assert open_version(path).snapshot.access.checksums
    assert open_version(path) is plain


def test_other_places_are_refused(place: Place) -> None:
    manifests = {"manifest_store": place.words["manifest_store"], "storage_options": {"marker": "x"}}
    with pytest.raises(Exception, match="outside its own place"):
        lance_sql.connect(**manifests).execute(f"SELECT count(v) FROM '{place.path}'").fetchall()
    with pytest.raises(ForeignBase):
        lance_sql.open(place.path, **manifests).scan().to_table()


@pytest.mark.skipif(duckdb.__version__ < "2", reason="DuckDB 1.5 accepts no subclass of connections")
def test_a_cursor_keeps_the_functions_of_its_connection(place: Place) -> None:
    cursor = _connected(place).cursor()
    gc.collect()
    assert cursor.execute(f"SELECT count(v) FROM '{place.path}'").fetchall() == [(3,)]
