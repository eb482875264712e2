"""Random histories: operations of two writers in turn on one table, and a model that both have to agree with."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, TypeAlias

import lance
import pyarrow as pa

from .model import HIDDEN, Model, Row
from .writers import Ours, Pylance, Writer

_ARROW = {"int64": pa.int64(), "int32": pa.int32(), "string": pa.string()}
_START = {"k": "int64", "a": "int64", "s": "string"}


class History:
    """A table and its model, changed together.

    seed: decides everything
    """

    def __init__(self, path: str, seed: int) -> None:
        self.path = path
        self.random = random.Random(seed)
        self.writers = self.make_writers()
        self.model = Model(dict(_START))
        self.earlier: dict[int, Model] = {}
        self.log: list[str] = []
        self.next_key = 0
        self.file_version = self.random.choice(["2.0", "2.1", "2.2"])
        self._create()

    def run(self, num_operations: int) -> None:
        """So many operations, each of which is checked by both readers."""
        for _ in range(num_operations):
            name, operation = self.random.choice(self.operations())
            writer = self.random.choice(self.writers)
            self.log.append(f"{type(writer).__name__}.{name}")
            operation(self, writer)
            self.check()

    def make_writers(self) -> tuple[Writer, ...]:
        """Returns the writers that change and read the table in turn."""
        return Ours(), Pylance()

    def operations(self) -> list[tuple[str, Operation]]:
        """The operations to draw from, repeated by their weight."""
        return _OPERATIONS

    def check(self) -> None:
        """Both readers see the model's rows, whatever their order."""
        columns = [*self.model.columns, *HIDDEN]
        expected = sorted(({name: row[name] for name in columns} for row in self.model.rows), key=_row_id)
        for reader in self.writers:
            table = reader.read(self.path, columns)
            types = {name: str(table.schema.field(name).type) for name in self.model.columns}
            assert types == self.model.columns, self.log
            found = sorted(table.to_pylist(), key=_row_id)
            assert found == expected, (type(reader).__name__, self.log)
        self.earlier[self.version] = self.model.copy()

    @property
    def version(self) -> int:
        version: int = lance.dataset(self.path).version
        return version

    def rows(self, count: int, columns: dict[str, str] | None = None) -> pa.Table:
        """New rows with new keys."""
        made = []
        for _ in range(count):
            made.append(self._values(self.next_key, columns or self.model.columns))
            self.next_key += 1
        return self.table(made, columns or self.model.columns)

    def table(self, rows: list[Row], columns: dict[str, str]) -> pa.Table:
        schema = pa.schema([(name, _ARROW[type]) for name, type in columns.items()])
        return pa.Table.from_pylist(rows, schema)

    def keys(self, most: int) -> list[int]:
        """Keys of some rows; none of no rows."""
        keys = [row["k"] for row in self.model.rows]
        return sorted(self.random.sample(keys, min(len(keys), self.random.randint(0, most))))

    def extra_columns(self) -> list[str]:
        return [name for name in self.model.columns if name not in _START]

    def _values(self, key: int, columns: dict[str, str]) -> Row:
        made: Row = {}
        for name, type in columns.items():
            number = self.random.choice([None, self.random.randint(-100, 100), self.random.randint(0, 10**6)])
            made[name] = None if number is None else f"text {number}" if type == "string" else number
        made["k"] = key
        return made

    def _create(self) -> None:
        writer = self.random.choice(self.writers)
        rows = self.rows(self.random.randint(1, 60))
        writer.create(self.path, rows, self.file_version)
        self.log.append(f"{type(writer).__name__}.create {self.file_version}")
        self.model.insert(rows.to_pylist(), 1)
        self.check()

    def take_over_new_ids(self, before: int) -> None:
        """Rows that one commit inserted may have got their ids in any order: the table's is taken over."""
        table = self.writers[0].read(self.path, ["k", "_rowid"])
        ids = {row["k"]: row["_rowid"] for row in table.to_pylist() if row["_rowid"] >= before}
        new = [row for row in self.model.rows if row["_rowid"] >= before]
        assert sorted(ids.values()) == sorted(row["_rowid"] for row in new), self.log
        for row in new:
            row["_rowid"] = ids[row["k"]]


def _row_id(row: Row) -> Any:
    return row["_rowid"]


def _in(keys: list[int]) -> str:
    return f"k IN ({', '.join(map(str, keys or [-1]))})"


def _append(history: History, writer: Writer) -> None:
    rows = history.rows(history.random.randint(1, 40))
    writer.append(history.path, rows)
    history.model.insert(rows.to_pylist(), history.version)


def _delete(history: History, writer: Writer) -> None:
    keys = history.keys(12)
    writer.delete(history.path, _in(keys))
    history.model.delete(lambda row: row["k"] in keys)


def _delete_range(history: History, writer: Writer) -> None:
    bound = history.random.randint(-100, 100)
    writer.delete(history.path, f"a < {bound} AND s IS NOT NULL")
    history.model.delete(lambda row: row["a"] is not None and row["a"] < bound and row["s"] is not None)


def _update(history: History, writer: Writer) -> None:
    keys = history.keys(15)
    writer.update(history.path, {"a": "a + 1", "s": "'changed'"}, _in(keys))
    version = history.version
    history.model.update(
        lambda row: row["k"] in keys,
        lambda row: {"a": None if row["a"] is None else row["a"] + 1, "s": "changed"},
        version,
    )


def _merge(history: History, writer: Writer) -> None:
    _merge_columns(history, writer, dict(history.model.columns))


def _merge_partly(history: History, writer: Writer) -> None:
    _merge_columns(history, writer, {"k": "int64", "a": history.model.columns["a"]})


def _merge_columns(history: History, writer: Writer, columns: dict[str, str]) -> None:
    rows = [history._values(key, columns) for key in history.keys(10)]
    rows += history.rows(history.random.randint(0, 6), columns).to_pylist()
    if not rows:
        return
    history.random.shuffle(rows)
    before = history.model.next_row_id
    writer.merge(history.path, history.table(rows, columns))
    history.model.merge(rows, history.version, keeps_equal=isinstance(writer, Ours))
    history.take_over_new_ids(before)


def _compact(history: History, writer: Writer) -> None:
    writer.compact(history.path, history.random.choice([8, 50, 10_000]))


def _add_values(history: History, writer: Writer) -> None:
    if len(history.extra_columns()) > 3:
        return
    name = f"c{len(history.log)}"
    writer.add_values(history.path, name, "k * 2")
    history.model.add_column(name, "int64", lambda row: row["k"] * 2, history.version)


def _add_nulls(history: History, writer: Writer) -> None:
    if len(history.extra_columns()) > 3:
        return
    name, type = f"c{len(history.log)}", history.random.choice(["int32", "string"])
    writer.add_nulls(history.path, pa.field(name, _ARROW[type]))
    history.model.add_column(name, type, None, history.version)


def _drop(history: History, writer: Writer) -> None:
    if extra := history.extra_columns():
        name = history.random.choice(extra)
        writer.drop(history.path, name)
        history.model.drop_column(name)


def _rename(history: History, writer: Writer) -> None:
    if extra := history.extra_columns():
        old, new = history.random.choice(extra), f"r{len(history.log)}"
        writer.rename(history.path, old, new)
        history.model.rename_column(old, new)


def _cast(history: History, writer: Writer) -> None:
    numbers = [name for name in ("a", *history.extra_columns()) if history.model.columns[name] != "string"]
    name = history.random.choice(numbers)
    type = "int32" if history.model.columns[name] == "int64" else "int64"
    writer.cast(history.path, name, _ARROW[type])
    history.model.cast_column(name, type, history.version)


def _overwrite(history: History, writer: Writer) -> None:
    rows = history.rows(history.random.randint(1, 30), _START)
    writer.overwrite(history.path, rows)
    history.model.overwrite(_START, rows.to_pylist(), history.version)


def _restore(history: History, writer: Writer) -> None:
    version = history.random.choice(sorted(history.earlier))
    writer.restore(history.path, version)
    history.model.restore(history.earlier[version])


def _config(history: History, writer: Writer) -> None:
    writer.config(history.path, "owner", f"team {len(history.log)}")


Operation: TypeAlias = Callable[[History, Writer], None]

_OPERATIONS: list[tuple[str, Operation]] = [
    *[("append", _append)] * 4,
    *[("delete", _delete)] * 4,
    ("delete_range", _delete_range),
    *[("update", _update)] * 4,
    *[("merge", _merge)] * 4,
    *[("merge_partly", _merge_partly)] * 2,
    *[("compact", _compact)] * 3,
    ("add_values", _add_values),
    ("add_nulls", _add_nulls),
    ("drop", _drop),
    ("rename", _rename),
    ("cast", _cast),
    ("overwrite", _overwrite),
    ("restore", _restore),
    ("config", _config),
]
