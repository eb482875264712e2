"""Targets that change a table in memory: a damaged one, and one that another writer changes concurrently.

An input has the files of the table by their paths, `change`: one of `CHANGES`, and for `race` the version that it is
computed from, which another version follows.

A change of a damaged table ends in an error, or in a version with the right rows; the previous version does not change.
A concurrent change ends in an error, or in a version that contains the other change: its effect is in its manifest,
whatever its transaction records. A restore undoes it on purpose.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fuzz import tables
from fuzz.inputs import Values
from fuzz.mutations import cuts, damage
from lance_sql.dataset import Dataset
from lance_sql.errors import LanceError
from lance_sql.format.casts.table import TableCast
from lance_sql.format.proto import transaction_pb2
from lance_sql.store import ObjectInfo
from lance_sql.table.snapshot import Snapshot
from lance_sql.table.versions import list_versions
from lance_sql.writes.commit.committer import commit
from lance_sql.writes.commit.operations import Append
from lance_sql.writes.statements.fragments import FragmentWriter
from lance_sql.writes.statements.session import file_version
from tests.damaged import messages

Row: TypeAlias = dict[str, Any]

_BOUND = 20
"""Changes touch rows whose `a` is below, those of other writers rows whose `a` is not."""

_NEW: Mapping[str, list[Any]] = {"a": [-2, -1], "b": ["new", None]}
_MERGED: Mapping[str, list[Any]] = {"a": [1, 5, -7], "b": ["merged", "merged", "inserted"]}
_MOST_ROWS = 10_000


@dataclass(frozen=True, slots=True)
class Change:
    """make: returns the new version
    expected: its rows, from those before
    """

    make: Callable[[Dataset], Dataset]
    expected: Callable[[list[Row]], list[Row]]


def _append(table: Dataset) -> Dataset:
    snapshot = table.snapshot.latest()
    rows = pa.record_batch(_NEW, schema=pa.schema([("a", pa.int64()), ("b", pa.string())]))
    to_table = TableCast(rows.schema, snapshot.manifest.schema, "t")
    writer = FragmentWriter(snapshot.store, to_table.schema, file_version(snapshot))
    return Dataset(commit(snapshot, Append(writer.write_all([to_table(rows)]))))


def _appended(rows: list[Row]) -> list[Row]:
    names = rows[0] if rows else _NEW
    return rows + [{name: _NEW[name][i] if name in _NEW else None for name in names} for i in range(2)]


def _merged(rows: list[Row]) -> list[Row]:
    found = {row["a"] for row in rows}
    values = dict(zip(_MERGED["a"], _MERGED["b"], strict=True))
    names = rows[0] if rows else _MERGED
    kept = [{**row, "b": values[row["a"]]} if row["a"] in values else row for row in rows]
    added = [{**dict.fromkeys(names), "a": a, "b": b} for a, b in values.items() if a not in found]
    return kept + added


def _is_low(row: Row) -> bool:
    return row["a"] is not None and row["a"] < _BOUND


CHANGES: Mapping[str, Change] = {
    "append": Change(_append, _appended),
    "delete": Change(
        lambda table: table.delete(f"a < {_BOUND}"), lambda rows: [row for row in rows if not _is_low(row)]
    ),
    "delete all": Change(lambda table: table.delete("true"), lambda rows: []),
    "update": Change(
        lambda table: table.update({"b": pc.scalar("changed")}, f"a < {_BOUND}"),
        lambda rows: [{**row, "b": "changed"} if _is_low(row) else row for row in rows],
    ),
    "merge": Change(lambda table: table.merge(_MERGED, on="a"), _merged),
    "compact": Change(lambda table: table.maintenance.compact(max_deleted_share=0.0), lambda rows: rows),
    "add": Change(
        lambda table: table.add_columns({"added": pc.field("a") + 1}),
        lambda rows: [{**row, "added": None if row["a"] is None else row["a"] + 1} for row in rows],
    ),
    "add nothing": Change(
        lambda table: table.add_columns([pa.field("added", pa.int8())]),
        lambda rows: [{**row, "added": None} for row in rows],
    ),
    "drop": Change(
        lambda table: table.drop_columns("b"),
        lambda rows: [{name: value for name, value in row.items() if name != "b"} for row in rows],
    ),
    "rename": Change(
        lambda table: table.rename_columns({"b": "renamed"}),
        lambda rows: [{"renamed" if name == "b" else name: value for name, value in row.items()} for row in rows],
    ),
    "forbid": Change(lambda table: table.alter_column("a", nullable=False), lambda rows: rows),
    "config": Change(lambda table: table.config.update({"key": "value"}), lambda rows: rows),
    "restore": Change(lambda table: table.restore(), lambda rows: rows),
}


def change_damaged(values: Values) -> None:
    store = tables.store_of(values)
    before = Dataset(Snapshot(store.uri, store, store, list_versions(store)[-1]))
    name = str(values["change"])
    change = CHANGES[name]
    rows = _rows(before)
    history = None if rows is None else _history(before)
    _ = before.snapshot.manifest
    failed: LanceError | None = None
    try:
        made = change.make(before)
    except LanceError as error:
        failed = error
    latest = Dataset(Snapshot(store.uri, store, store, list_versions(store)[-1]))
    # it opens, whatever is in it
    _ = latest.snapshot.manifest
    after = _rows(latest)
    if rows is not None:
        again = Dataset(Snapshot(store.uri, store, store, before.snapshot.file))
        assert _counted(_rows(again)) == _counted(rows), "the version before has other rows"
        assert after is not None, f"{name}: rows became unreadable"
        expected = _expected(change, rows) if failed is None else rows
        assert expected is None or _counted(after) == _counted(expected), f"{name}: other rows than expected"
        if history is not None:
            _check_history(history, _history(latest))
    if failed is not None:
        raise failed
    assert made.version == latest.version


def change_beside(values: Values) -> None:
    store = _LateStore(tables.store_of(values), int(values["race"] or 0))
    base, other = (Dataset(Snapshot(store.uri, store, store, file)) for file in list_versions(store.inner)[-2:])
    theirs = _rows(other)
    assert theirs is not None
    failed: LanceError | None = None
    try:
        CHANGES[str(values["change"])].make(base)
    except LanceError as error:
        failed = error
    latest = Dataset(Snapshot(store.uri, store, store, list_versions(store.inner)[-1]))
    rows = _rows(latest)
    assert rows is not None, "rows became unreadable"
    if failed is not None:
        assert _counted(rows) == _counted(theirs)
    elif values["change"] != "restore":
        _check_kept(str(values["change"]), other, theirs, latest, rows)
    ids = _history(latest)
    assert ids is not None, "row ids or versions became unreadable"
    assert len(set(ids)) == len(ids), "two rows have one id"
    if failed is not None:
        raise failed


def _check_kept(change: str, other: Dataset, theirs: list[Row], latest: Dataset, rows: list[Row]) -> None:
    """Makes sure that what another version has is still there."""
    columns = set(other.schema.names)
    if change == "drop":
        columns.discard("b")
    elif change == "rename":
        columns = {"renamed" if name == "b" else name for name in columns}
        theirs = CHANGES["rename"].expected(theirs)
    assert set(latest.schema.names) >= columns, f"{change}: a column of another writer was lost"
    kept = [_only(row, columns) for row in theirs if not _is_low(row)]
    found = [_only(row, columns) for row in rows if not _is_low(row)]
    if change != "delete all":
        assert _counted(kept) == _counted(found), f"{change}: rows of another writer were lost or changed"
    config = latest.snapshot.manifest.config
    assert set(config) >= set(other.snapshot.manifest.config), f"{change}: config of another writer was lost"


def damage_anything(rng: np.random.Generator, values: Values) -> Values:
    """Damage of any file, and any change."""
    kinds: list[Callable[[np.random.Generator, Values], Values]] = [
        tables.damage_manifest, tables.damage_manifest, tables.damage_section, tables.damage_pages, _damage_deletions,
    ]  # fmt: skip
    changed = kinds[int(rng.integers(len(kinds)))](rng, values)
    return {**changed, "change": _any_change(rng)}


def damage_other(rng: np.random.Generator, values: Values) -> Values:
    """Damage of the other writer's transaction, whose manifest is as it should be."""
    manifest, name, content = tables.transaction_of(values)
    if rng.random() < 0.8:
        transaction = transaction_pb2.Transaction.FromString(content)
        for _ in range(rng.integers(1, 4)):
            messages.damage_message(rng, transaction)
        content = transaction.SerializeToString()
    else:
        content = damage(rng, content)
    return {**values, **manifest, name: content, "change": _any_change(rng)}


def change_cuts(values: Values) -> Iterator[tuple[str, int]]:
    yield from ((path, length) for path in _deletion_files(values) for length in cuts(_bytes(values, path)))


class _LateStore:
    """A table in which a version appears only when versions are listed for the second time: to commit a change."""

    def __init__(self, inner: Any, hidden: int) -> None:
        self.inner = inner
        self._hidden = hidden
        self._listings = 0

    def files(self, prefix: str) -> Iterator[ObjectInfo]:
        found = self.inner.files(prefix)
        if prefix == "_versions":
            self._listings += 1
            if self._listings == 1:
                late = {file.path for file in list_versions(self.inner) if file.version >= self._hidden}
                found = (info for info in found if info.path not in late)
        return found  # type: ignore[no-any-return]  # the inner store may be any

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)


def _damage_deletions(rng: np.random.Generator, values: Values) -> Values:
    paths = _deletion_files(values)
    if not paths:
        return tables.damage_manifest(rng, values)
    path = paths[int(rng.integers(len(paths)))]
    return {**values, path: damage(rng, _bytes(values, path))}


def _deletion_files(values: Values) -> list[str]:
    return [path for path in values if path.startswith("_deletions/")]


def _any_change(rng: np.random.Generator) -> str:
    return str(rng.choice(list(CHANGES)))


def _rows(table: Dataset) -> list[Row] | None:
    """Returns all rows; None if they cannot be read."""
    rows: list[Row] = []
    try:
        for batch in table.scan().to_reader():
            rows += batch.to_pylist()
            if len(rows) > _MOST_ROWS:
                return None
    except (LanceError, UnicodeDecodeError):
        return None
    return rows


def _history(table: Dataset) -> list[int] | None:
    """Returns the ids of all rows; None if they, or the versions of rows, cannot be read."""
    try:
        ids: list[int] = table.scan(list(table.system_columns)).to_table()["_rowid"].to_pylist()
    except LanceError:
        return None
    return ids


def _check_history(before: list[int], after: list[int] | None) -> None:
    assert after is not None, "row ids or versions became unreadable"
    if len(set(before)) == len(before):
        assert len(set(after)) == len(after), "two rows have one id"


def _expected(change: Change, rows: list[Row]) -> list[Row] | None:
    """Returns None if the columns have changed."""
    try:
        return change.expected(rows)
    except (KeyError, TypeError):
        return None


def _counted(rows: list[Row] | None) -> Counter[str] | None:
    """Counts equal rows; a NULL column counts as missing."""
    if rows is None:
        return None
    return Counter(repr(sorted(item for item in row.items() if item[1] is not None)) for row in rows)


def _only(row: Row, names: set[str]) -> Row:
    return {name: value for name, value in row.items() if name in names}


def _bytes(values: Values, name: str) -> bytes:
    content = values[name]
    assert isinstance(content, bytes)
    return content
