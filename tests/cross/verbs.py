"""Verbs over a table of ids and one column, and over a model of it. A new verb is one function, and one line."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import UUID

import lance
import pyarrow as pa
import pyarrow.compute as pc

import lance_sql
from lance_sql import Dataset
from lance_sql.errors import UnsupportedFeature
from lance_sql.format.casts.conversion import convert
from tests.cross.types import Kind

COMPARED = ("bool", "int", "uint", "float", "double", "string", "large_string", "date", "time", "timestamp", "decimal")


@dataclass
class State:
    """A table, and what it is to hold: by id the number of the value, None for NULL.

    versions: what earlier versions held
    """

    folder: Path
    kind: Kind
    table: Dataset
    model: dict[int, int | None]
    versions: dict[int, dict[int, int | None]] = field(default_factory=dict)

    def rows(self, values: Mapping[int, int | None]) -> pa.Table:
        return pa.table({"id": pa.array(list(values), pa.int64()), "x": self.kind.array(list(values.values()))})

    def expected(self, model: Mapping[int, int | None]) -> dict[int, Any]:
        """Returns the expected rows, by id."""
        array = self.kind.array(list(model.values()))
        shown = convert(array, self.table.schema.field("x").type).to_pylist()
        return dict(zip(model, shown, strict=True))

    def done(self, table: Dataset) -> None:
        """Takes the new version over, and looks at it through everything that reads it."""
        self.table = table
        self.versions[table.version] = dict(self.model)
        expected = self.expected(self.model)
        whole = table.to_table()
        whole.validate(full=True)
        assert by_id(whole) == expected
        assert by_id(lance.dataset(table.uri).to_table()) == expected
        assert by_id(table.scan(batch_size=7).to_table()) == expected
        turned = pa.schema([table.schema.field("x"), table.schema.field("id")])
        assert by_id(pa.Table.from_batches(table.scan().to_batches(turned.names, batch_size=7), turned)) == expected
        assert by_id(lance_sql.sql(f'SELECT id, x FROM lance."{table.uri}"').to_table()).keys() == expected.keys()
        report = lance_sql.verify(table.uri, deep=True)
        assert report.is_healthy, str(report)


def by_id(rows: pa.Table) -> dict[int, Any]:
    return dict(zip(rows.column("id").to_pylist(), map(_plain, rows.column("x").to_pylist()), strict=True))


def _plain(value: Any) -> Any:
    """A value with the bytes of UUIDs, of which pylance makes objects."""
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items()}
    return value.bytes if isinstance(value, UUID) else value


def append(state: State) -> None:
    """Rows with other items, other statistics, and NULLs."""
    start = max(state.model, default=0) + 1
    new = {start + i: None if i % 5 == 4 else (start * 3 + i) % 90 for i in range(10)}
    state.model |= new
    state.done(lance_sql.write(state.rows(new), state.table, mode="append"))


def append_in_batches(state: State) -> None:
    start = max(state.model, default=0) + 1
    batches = []
    for part in range(3):
        new = {start + part * 4 + i: (part * 30 + i) % 90 if (part + i) % 3 else None for i in range(4)}
        state.model |= new
        batches += state.rows(new).to_batches()
    reader = pa.RecordBatchReader.from_batches(batches[0].schema, batches)
    state.done(lance_sql.write(reader, state.table, mode="append"))


def update_to_null(state: State) -> None:
    chosen = [id for id in state.model if id % 3 == 0]
    state.model |= dict.fromkeys(chosen)
    state.done(state.table.update({"x": None}, f"id IN ({', '.join(map(str, chosen))})"))


def update(state: State) -> None:
    """To a constant, and to itself."""
    chosen = [id for id in state.model if id % 4 == 1]
    state.model |= dict.fromkeys(chosen, 17)
    value = self_typed(state, 17)
    state.done(state.table.update({"x": value}, f"id IN ({', '.join(map(str, chosen))})"))
    state.done(state.table.update({"x": pc.field("x")}, "id % 2 = 0"))


def self_typed(state: State, number: int) -> Any:
    return state.kind.array([number])[0]


def merge(state: State) -> None:
    new = {id: (id * 5 + 1) % 90 if id % 2 else None for id in [*list(state.model)[::3], max(state.model) + 1]}
    state.model |= new
    state.done(state.table.merge(state.rows(new), on="id"))


def delete(state: State) -> None:
    state.model = {id: number for id, number in state.model.items() if id % 7 != 2}
    state.done(state.table.delete("id % 7 = 2"))


def compact(state: State) -> None:
    state.done(state.table.maintenance.compact())


def restore(state: State) -> None:
    version = sorted(state.versions)[len(state.versions) // 2]
    state.model = dict(state.versions[version])
    state.done(lance_sql.open(state.table.uri, version=version).restore(version))


def alter(state: State) -> None:
    """Another name, another column, and back."""
    table = state.table.rename_columns({"x": "z"}).add_columns({"y": "id + 1"})
    state.done(table.rename_columns({"z": "x"}).drop_columns(["y"]))


def filters(state: State) -> None:
    """Filters with NULL and equality, in each form, for each kind of index."""
    is_compared = str(state.kind.type).startswith(COMPARED)
    number = next((number for number in state.model.values() if number is not None), None)
    value = None if number is None else self_typed(state, number).as_py()
    shown = state.expected(state.model)
    for kind in (None, "btree", "bitmap", "zonemap", "bloomfilter"):
        if kind is not None:
            try:
                state.table = state.table.indices.create("x", kind, replace=True)
            except UnsupportedFeature:
                continue
            state.versions[state.table.version] = dict(state.model)
        for table in (state.table, lance_sql.open(state.table.uri, use_indices=False)):
            nulls = sum(each is None for each in shown.values())
            assert table.count_rows("x IS NULL") == nulls
            assert table.count_rows(pc.field("x").is_valid()) == len(shown) - nulls
            if is_compared and number is not None:
                equal = sum(each == value for each in shown.values())
                assert table.count_rows(pc.field("x") == self_typed(state, number)) == equal
                assert table.count_rows(pc.field("x") != self_typed(state, number)) == len(shown) - nulls - equal
                assert table.count_rows(pc.field("x").isin(pa.array([value], state.kind.type))) == equal
    if state.table.indices.list():
        state.done(state.table.indices.drop("x_idx"))


def reads(state: State) -> None:
    """The feed, rows through time, single rows, statistics, differences, and engines."""
    table, expected = state.table, state.expected(state.model)
    first = min(state.versions)
    net = table.changes(since=first, mode="net").scan(["id", "x", "_change_type"]).to_table()
    after = {**state.expected(state.versions[first]), **by_id(net.filter(pc.field("_change_type") != "delete"))}
    gone = set(net.filter(pc.field("_change_type") == "delete").column("id").to_pylist()) - set(state.model)
    assert {id: value for id, value in after.items() if id not in gone} == expected
    assert table.changes(since=first).scan().to_table().num_rows >= net.num_rows
    now = (
        table.row_history().scan(filter="is_current").to_table()
        if "is_current" in table.row_history().schema.names
        else None
    )
    assert now is None or by_id(now) == expected
    ids = table.scan(["_rowid"]).to_table()["_rowid"]
    assert by_id(table.take(ids.take([0, len(ids) - 1]))).items() <= expected.items()
    assert len(table.maintenance.statistics(analyze=True)) == 2
    difference = lance_sql.diff(lance_sql.open(table.uri, version=first), table)
    assert difference.rows_deleted == len(set(state.versions[first]) - set(state.model))
    valid = sum(value is not None for value in expected.values())
    con = lance_sql.connect()
    assert con.execute(f"SELECT count(*), count(x) FROM '{table.uri}'").fetchall() == [(len(expected), valid)]
    assert len(con.execute(f"SELECT x FROM '{table.uri}'").fetchall()) == len(expected)
    counted = lance_sql.sql(f"SELECT count(x) AS n FROM '{table.uri}'", engine="datafusion").to_table()
    assert counted.column("n").to_pylist() == [valid]


def applied(state: State) -> None:
    """All changes, in tables of the latest rows and of all rows."""
    expected = state.expected(state.model)
    changes = state.table.changes()
    latest = lance_sql.apply_changes(state.folder / "latest.lance", changes, "id")
    assert by_id(latest.to_table(["id", "x"])) == expected
    story = lance_sql.apply_changes(state.folder / "story.lance", changes, "id", scd=2)
    assert by_id(story.to_table(["id", "x"], "is_current")) == expected
    again = lance_sql.apply_changes(story, changes, "id", scd=2)
    assert again.version == story.version
    for made in (latest, story):
        assert lance_sql.verify(made.uri, deep=True).is_healthy


def origins(state: State) -> None:
    """The jobs, users and hosts of changes, through each reader of the feed."""
    new = {max(state.model, default=0) + 1: 5}
    state.model |= new
    with lance_sql.job("nightly"):
        state.done(lance_sql.write(state.rows(new), state.table, mode="append"))
    table = state.table
    by = {entry.version: (entry.job, entry.user, entry.host) for entry in table.history()}
    assert by[table.version] == ("nightly", by[table.version][1], by[table.version][2])
    names = ["_commit_job", "_commit_user", "_commit_host"]
    rows = table.changes(origin=True).scan().to_table()
    assert rows.drop_columns(names).equals(table.changes().scan().to_table())
    images = list(zip(*(rows.column(name).to_pylist() for name in ["_commit_version", "_rowid", *names]), strict=True))
    assert [image[2:] for image in images] == [by[image[0]] for image in images]
    query = f"SELECT _commit_version, _rowid, {', '.join(names)} FROM lance_changes('{table.uri}', origin := true)"
    for engine in ("duckdb", "datafusion"):
        assert sorted(lance_sql.sql(query, engine=engine).fetchall(), key=repr) == sorted(images, key=repr)
    validity = ["valid_from_version", "valid_to_version", "valid_from_job", "valid_to_job"]
    histories = table.row_history(origin=True).scan(validity).to_table().to_pylist()
    none = (None, None, None)
    for each in histories:
        jobs = [by.get(each[name], none)[0] for name in validity[:2]]
        assert [each[name] for name in validity[2:]] == jobs


def compared_reads(state: State) -> None:
    """Handles that compare what they read with checksums, of files of both writers."""
    table = lance_sql.open(state.table.uri, checksums=True)
    assert by_id(table.to_table()) == by_id(table.scan(batch_size=7).to_table()) == state.expected(state.model)
    assert table.changes().scan().to_table().equals(state.table.changes().scan().to_table())
    for version in table.versions():
        if version.version in state.versions:
            old = lance_sql.open(table.uri, version=version.version, checksums=True)
            assert set(by_id(old.to_table())) == set(state.versions[version.version])
    found = lance_sql.connect(checksums=True).execute(f"SELECT count(*), count(x) FROM '{table.uri}'").fetchall()
    assert found == lance_sql.connect().execute(f"SELECT count(*), count(x) FROM '{table.uri}'").fetchall()
    id = next(iter(state.model))
    state.model[id] = None
    state.done(table.update({"x": None}, f"id = {id}"))
    assert by_id(table.latest().to_table()) == state.expected(state.model)


VERBS: dict[str, Callable[[State], None]] = {
    "append": append,
    "append in batches": append_in_batches,
    "update to NULL": update_to_null,
    "update": update,
    "merge": merge,
    "delete": delete,
    "compact": compact,
    "filters": filters,
    "alter": alter,
    "restore": restore,
    "reads": reads,
    "applied": applied,
    "origins": origins,
    "compared reads": compared_reads,
}


def begun(folder: Path, kind: Kind, file_version: Any, writer: str) -> State:
    """A table of two fragments."""
    path = str(folder / "t.lance")
    model: dict[int, int | None] = {id: None if id == 3 else id * 2 for id in range(1, 9)}
    array = kind.array(list(model.values()))
    rows = pa.table({"id": pa.array(list(model), pa.int64()), "x": array})
    for part, mode in ((rows.slice(0, 5), "create"), (rows.slice(5), "append")):
        if writer == "lance_sql":
            lance_sql.write(part, path, mode=mode, file_version=file_version)  # type: ignore[arg-type]  # one of the texts
        else:
            lance.write_dataset(part, path, mode=mode, data_storage_version=file_version, enable_stable_row_ids=True)
    state = State(folder, kind, lance_sql.open(path), model)
    state.done(state.table)
    return state
