"""ALTER TABLE, and COMMENT ON.

ADD COLUMN c INTEGER, DROP COLUMN c, RENAME COLUMN a TO b, ALTER COLUMN c TYPE BIGINT, ALTER COLUMN c SET NOT NULL,
ALTER COLUMN c COMMENT '..', RENAME TO u, SET TBLPROPERTIES ('key' = 'value'), UNSET TBLPROPERTIES ('key'),
CREATE TAG x [AS OF VERSION 4], CREATE BRANCH y [AS OF BRANCH z], DROP TAG x, DROP BRANCH y, CREATE INDEX, DROP INDEX,
SET UNENFORCED PRIMARY KEY (a, b), ADD CONSTRAINT c CHECK (a > 0), DROP CONSTRAINT c, EXECUTE optimize,
EXECUTE expire_snapshots
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable
from functools import partial
from typing import Final

import lance_sql.opening
from lance_sql.dataset import Dataset
from lance_sql.errors import InvalidArgument, UnsupportedFeature
from lance_sql.one_sql import backfills, constraints, in_catalogs, indexing, other_products, table_properties, upkeep
from lance_sql.one_sql.column_definitions import arrow_type, read_column, read_columns
from lance_sql.one_sql.engines import Engine
from lance_sql.one_sql.tasks import Naming, Renaming, Task
from lance_sql.one_sql.token_reader import TableName, TokenReader
from lance_sql.one_sql.writing_statements import Change, column_in
from lance_sql.providers.attached import Place
from lance_sql.table import address
from lance_sql.table.manifest import COMMENT
from lance_sql.writes.statements import maintenance


def set_comment(path: str, column: str | None, text: str | None) -> Change:
    """Returns a change that sets the comment of a table or of one of its columns; None removes it."""

    def work(dataset: Dataset, engine: Engine) -> Dataset:
        if column is None:
            return Dataset(maintenance.set_comment(dataset.snapshot, text))
        return dataset.config.update_field_metadata(column_in(column, dataset), {COMMENT: text})

    return upkeep.Upkeep(path, work)


def alter(read: TokenReader, table: TableName, if_exists: bool) -> Change | Task:
    """
    table: a Lance table
    """
    if if_exists:
        raise UnsupportedFeature("ALTER TABLE IF EXISTS is not supported: leave IF EXISTS out")
    other_products.refuse(read.text)
    assert table.path is not None, "a Lance table"
    path = address.of_newest(table.path)
    if read.accept("RENAME", "TO"):
        renaming = _renamed(read.table(), path, table.place)
        read.end()
        return renaming
    for words, action in _ACTIONS.items():
        if read.accept(*words):
            alteration = action(read, path)
            read.end()
            return alteration
    raise read.surprised("ADD, DROP, RENAME, ALTER, SET, CREATE TAG, CREATE BRANCH or CREATE INDEX")


def _add(read: TokenReader, path: str) -> Change:
    read.accept_one("COLUMNS", "COLUMN")
    if (names := _names_before_from(read)) is not None:
        return backfills.added(read, path, names)
    if_not_exists = read.accept("IF", "NOT", "EXISTS")
    if read.next_words(1) == ("(",):
        columns = list(read_columns(read))
    else:
        columns = [read_column(read, with_default=True)]
        while read.accept(","):
            if not read.accept("ADD", "COLUMN"):
                read.accept("ADD")
            columns.append(read_column(read, with_default=True))
    num_defaults = sum(each.default is not None for each in columns)
    if 0 < num_defaults < len(columns):
        raise UnsupportedFeature("ADD COLUMN with and without DEFAULT are two changes: write two statements")

    def work(dataset: Dataset, engine: Engine) -> Dataset | None:
        known = {name.lower() for name in dataset.schema.names}
        wanted = [each for each in columns if not (if_not_exists and each.name.lower() in known)]
        if not wanted:
            return None
        if num_defaults:
            return dataset.add_columns({each.name: each.value(read.dialect) for each in wanted})
        return dataset.add_columns([each.field(engine, read.dialect) for each in wanted])

    return upkeep.Upkeep(path, work)


def _names_before_from(read: TokenReader) -> list[str] | None:
    """Reads the names of ADD COLUMNS a, b FROM v; returns None for definitions of columns."""
    count = 1
    while read.next_words(count + 1)[count:] == (",",):
        count += 2
    if read.next_words(count + 1)[count:] != ("FROM",):
        return None
    names = read.names("a column")
    read.expect("FROM")
    return names


def _drop(read: TokenReader, path: str) -> Change:
    read.accept_one("COLUMNS", "COLUMN")
    if_exists = read.accept("IF", "EXISTS")
    names = read.names("a column")

    def work(dataset: Dataset, engine: Engine) -> Dataset | None:
        existing = {name.lower() for name in dataset.schema.names}
        dropped = [name for name in names if not (if_exists and name.lower() not in existing)]
        return dataset.drop_columns([column_of(name, dataset) for name in dropped]) if dropped else None

    return upkeep.Upkeep(path, work, f"drop column{'s' if len(names) > 1 else ''} {', '.join(names)}")


def column_of(name: str, dataset: Dataset) -> str:
    """Resolves a column like `column_in`; also accepts members of structs."""
    return name if "." in name else column_in(name, dataset)


def _renamed(target: TableName, path: str, place: Place | None) -> Task:
    new_place = target.place
    if place is not None and target.path is None and new_place is None and re.fullmatch(r'\w+|"[^".]+"', target.text):
        # in the same namespace, as in DuckDB
        new_place = dataclasses.replace(place, name=(*place.name[:-1], target.text.strip('"')))
    if place is not None and new_place is not None and place.catalog is new_place.catalog:
        return in_catalogs.Renamed(path, target.text, place, new_place)
    if place is not None or target.path is None or target.place is not None:
        takes = "a path, such as 'x.lance'" if place is None else f"another name in {place.attached_as}"
        raise InvalidArgument(f"RENAME TO takes {takes}, not {target.text}")
    return Renaming(path, address.of_newest(target.path))


def _rename(read: TokenReader, path: str) -> Change:
    read.accept("COLUMN")
    old = read.name("a column")
    read.expect("TO")
    new = read.name("a column")
    return upkeep.Upkeep(path, lambda dataset, engine: dataset.rename_columns({column_of(old, dataset): new}))


def _alter_column(read: TokenReader, path: str) -> Change:
    read.accept("COLUMN")
    name = read.name("a column")
    if read.accept("COMMENT"):
        return set_comment(path, name, read.value("a comment"))
    nullable = read.accept("DROP", "NOT", "NULL")
    if nullable or read.accept("SET", "NOT", "NULL"):
        change = partial(Dataset.alter_column, nullable=nullable)
        return upkeep.Upkeep(path, lambda dataset, engine: change(dataset, column_of(name, dataset)))
    if not (read.accept("SET", "DATA", "TYPE") or read.accept("TYPE") or read.accept("SET", "TYPE")):
        if read.next_words(2) in (("SET", "DEFAULT"), ("DROP", "DEFAULT")):
            raise UnsupportedFeature("ALTER COLUMN .. DEFAULT is not supported: Lance tables store no defaults")
        raise read.surprised("TYPE, SET NOT NULL, DROP NOT NULL or COMMENT")
    type = read.type("USING")
    if read.next_words(1) == ("USING",):
        raise UnsupportedFeature(
            "ALTER COLUMN .. USING is not supported: add a column, UPDATE it, drop the old one, and rename the new one"
        )

    def work(dataset: Dataset, engine: Engine) -> Dataset:
        return dataset.alter_column(column_in(name, dataset), type=arrow_type(type, engine, read.dialect))

    return upkeep.Upkeep(path, work, f"rewrite as {type} the column {name}")


def _set_properties(read: TokenReader, path: str) -> Change:
    values = read.properties()
    table_properties.check_later(values)
    return upkeep.Upkeep(path, lambda dataset, engine: dataset.config.update(values))


def _unset_properties(read: TokenReader, path: str) -> Change:
    read.accept("IF", "EXISTS")
    names = read.names("a key")
    return upkeep.Upkeep(path, lambda dataset, engine: dataset.config.update(dict.fromkeys(names)))


def _set_primary_key(read: TokenReader, path: str) -> Change:
    names = read.names("a column")

    def work(dataset: Dataset, engine: Engine) -> Dataset:
        snapshot = maintenance.set_primary_key(dataset.snapshot, [column_of(name, dataset) for name in names])
        return Dataset(snapshot)

    return upkeep.Upkeep(path, work)


def _create_name(read: TokenReader, path: str, kind: str, *, replace: bool = False) -> Task:
    if_not_exists = read.accept("IF", "NOT", "EXISTS")
    name = read.name(f"a {kind}")
    version: int | str | None = None
    branch: str | None = None
    if read.accept("AS", "OF"):
        if read.accept("BRANCH"):
            branch = read.name("a branch")
            version = read.version() if read.accept("VERSION") else None
        else:
            read.accept_one("VERSION", "TAG")
            version = read.version()

    def work() -> object:
        dataset = lance_sql.opening.open(path)
        names = dataset.tags.list() if kind == "tag" else dataset.branches.list()
        if name in names and if_not_exists:
            return None
        if branch is not None:
            dataset = lance_sql.opening.open(path, branch=branch, version=version)
        elif version is not None:
            dataset = lance_sql.opening.open(path, version=upkeep.version_of(dataset, "VERSION", version))
        if kind == "branch":
            return dataset.branches.create(name)
        if replace and name in names:
            dataset.tags.move(name)
        else:
            dataset.tags.create(name)
        return None

    return Naming(path, f"create {kind} {name}", work)


def _drop_name(read: TokenReader, path: str, kind: str) -> Task:
    if_exists = read.accept("IF", "EXISTS")
    name = read.name(f"a {kind}")

    def work() -> None:
        dataset = lance_sql.opening.open(path)
        if if_exists and name not in (dataset.tags if kind == "tag" else dataset.branches):
            return
        if kind == "tag":
            dataset.tags.delete(name)
        else:
            dataset.branches.delete(name)

    return Naming(path, f"drop {kind} {name}", work, f"drop {kind} {name} of {path}")


_ACTIONS: Final[dict[tuple[str, ...], Callable[[TokenReader, str], Change | Task]]] = {
    ("CREATE", "TAG"): lambda read, path: _create_name(read, path, "tag"),
    ("CREATE", "OR", "REPLACE", "TAG"): lambda read, path: _create_name(read, path, "tag", replace=True),
    ("REPLACE", "TAG"): lambda read, path: _create_name(read, path, "tag", replace=True),
    ("CREATE", "BRANCH"): lambda read, path: _create_name(read, path, "branch"),
    ("DROP", "TAG"): lambda read, path: _drop_name(read, path, "tag"),
    ("DROP", "BRANCH"): lambda read, path: _drop_name(read, path, "branch"),
    ("CREATE", "INDEX"): lambda read, path: indexing.create_index_of(read, path, replace=False),
    ("CREATE", "OR", "REPLACE", "INDEX"): lambda read, path: indexing.create_index_of(read, path, replace=True),
    ("OPTIMIZE", "INDEX"): lambda read, path: indexing.optimize_index_of(read, path),
    ("DROP", "INDEX"): lambda read, path: indexing.drop_index_of(read, path),
    ("SET", "UNENFORCED", "PRIMARY", "KEY"): _set_primary_key,
    ("ADD", "CONSTRAINT"): constraints.add,
    ("DROP", "CONSTRAINT"): constraints.drop,
    ("ADD",): _add,
    ("UPDATE",): backfills.updated,
    ("DROP",): _drop,
    ("RENAME",): _rename,
    ("ALTER",): _alter_column,
    ("CHANGE",): _alter_column,
    ("SET", "TBLPROPERTIES"): _set_properties,
    ("SET", "PROPERTIES"): _set_properties,
    ("UNSET", "TBLPROPERTIES"): _unset_properties,
    ("EXECUTE",): lambda read, path: upkeep.execute(read, path),
}
