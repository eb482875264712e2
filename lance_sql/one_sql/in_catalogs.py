"""Tables named by a catalog: creating, dropping, renaming."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pyarrow as pa

from lance_sql.errors import TableExists, TableNotFound
from lance_sql.one_sql.tasks import Removal, Renaming
from lance_sql.one_sql.writing_statements import Change
from lance_sql.table import address

if TYPE_CHECKING:
    from lance_sql.dataset import Dataset
    from lance_sql.one_sql.engines import Engine
    from lance_sql.one_sql.token_reader import TableName
    from lance_sql.providers.attached import Place


@dataclass(frozen=True)
class Made(Change):
    """Creation of a table under a new name. The name is declared first, and removed if writing the rows fails.

    path: the name
    change: creates the table at a path
    """

    place: Place
    change: Change

    replaces = False

    def begins_with_table(self) -> bool:
        return False

    def carry_out(self, path: str, engine: Engine) -> Dataset:
        if path != self.path:
            return self.change.carry_out(path, engine)
        catalog, name = self.place.catalog, self.place.name
        entry = catalog.declare(name)
        try:
            dataset = replace(self.change, path=entry.path).carry_out(entry.path, engine)
        except BaseException:
            catalog.forget(name)
            raise
        engine.attach_again(self.place)
        return dataset


@dataclass(frozen=True)
class Dropped(Removal):
    """DROP TABLE, or DROP MATERIALIZED VIEW, of a catalog name."""

    place: Place

    def run(self, engine: Engine, *, dry_run: bool = False) -> pa.Table:
        rehearsal = super().run(engine, dry_run=True)
        if dry_run:
            return rehearsal
        catalog = self.place.catalog
        drop = catalog.drop_view if self.of_view else catalog.drop_table
        drop(self.place.spelled())
        engine.attach_again(self.place)
        return rehearsal.set_column(rehearsal.schema.get_field_index("done"), "done", pa.array([True]))


@dataclass(frozen=True)
class Renamed(Renaming):
    """ALTER TABLE .. RENAME TO, from one name to another."""

    place: Place
    new_place: Place

    def run(self, engine: Engine, *, dry_run: bool = False) -> pa.Table:
        if self.new_place.path() is not None:
            raise TableExists(f"Table {self.target} exists already")
        if not dry_run:
            self.place.catalog.rename_table(self.place.spelled(), self.new_place.name)
            engine.attach_again(self.place)
        return pa.table({"path": [self.path], "new_path": [self.target], "done": [not dry_run]})


def removal(table: TableName, if_exists: bool, *, of_view: bool = False) -> Removal:
    """Returns the statement that drops a table, or a view, named by its path or by a catalog."""
    assert table.path is not None
    path = address.of_newest(table.path)
    if table.place is None:
        return Removal(path, if_exists, of_view=of_view)
    return Dropped(path, if_exists, table.place, of_view=of_view)


def made(place: Place, text: str, change: Change) -> Made:
    """Returns the change that creates a table under a name.

    text: the name, as typed
    raises: TableNotFound for a missing namespace
    """
    if place.name[:-1] and not place.has_namespace():
        namespaces = ".".join(place.name[:-1])
        raise TableNotFound(f"{text}: the catalog {place.attached_as} has no namespace {namespaces}")
    return Made(text, place, change)
