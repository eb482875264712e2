"""CREATE TABLE with columns, and COMMENT ON.

CREATE [OR REPLACE] TABLE [IF NOT EXISTS] t (id BIGINT NOT NULL PRIMARY KEY, name VARCHAR COMMENT '..')
CREATE TABLE [IF NOT EXISTS] t [USING lance] [TBLPROPERTIES (..)] AS SELECT .., REPLACE TABLE t AS SELECT ..
CREATE TABLE t SHALLOW CLONE s
COMMENT ON TABLE t IS '..', COMMENT ON COLUMN t.c IS '..'
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect

import lance_sql.opening
from lance_sql.dataset import Dataset
from lance_sql.errors import TableExists, TableNotFound, UnsupportedFeature
from lance_sql.jobs.writing import write
from lance_sql.one_sql import alterations, in_catalogs, upkeep
from lance_sql.one_sql.column_definitions import ColumnDefinition, read_columns
from lance_sql.one_sql.engines import Engine
from lance_sql.one_sql.inserting import Creation
from lance_sql.one_sql.table_properties import TableProperties, table_properties
from lance_sql.one_sql.tasks import Task
from lance_sql.one_sql.token_reader import TokenReader
from lance_sql.one_sql.writing_statements import Change
from lance_sql.table import address
from lance_sql.table.manifest import COMMENT


@dataclass(frozen=True)
class TableDefinition(Change):
    """CREATE TABLE with columns."""

    columns: tuple[ColumnDefinition, ...]
    dialect: Dialect = field(compare=False)
    replace: bool = False
    if_not_exists: bool = False
    if_exists: bool = False
    properties: TableProperties = field(default_factory=TableProperties)

    @property
    def replaces(self) -> bool:
        return self.replace

    def begins_with_table(self) -> bool:
        try:
            there = self.table()
        except TableNotFound:
            if self.if_exists:
                raise
            return False
        if not self.replace and not self.if_not_exists:
            raise TableExists(f"Table {self.path!r} exists already, at version {there.version}: use CREATE OR REPLACE")
        return True

    def carry_out(self, path: str, engine: Engine) -> Dataset:
        if self.if_exists:
            lance_sql.opening.open(path)
        if self.if_not_exists:
            try:
                return lance_sql.opening.open(path)
            except TableNotFound:
                pass
        schema = self.properties.schema([column.field(engine, self.dialect) for column in self.columns])
        return write(
            schema.empty_table(),
            path,
            mode="overwrite" if self.replace else "create",
            file_version=self.properties.file_version,
            stable_row_ids=self.properties.stable_row_ids,
            config=self.properties.config,
        )


def alter_table(read: TokenReader) -> Change | Task | None:
    """Reads ALTER TABLE."""
    if_exists = read.accept("IF", "EXISTS")
    table = read.table()
    return None if table.path is None else alterations.alter(read, table, if_exists)


def create_table(read: TokenReader, query: Callable[[str], exp.Expr]) -> Change | None:
    """Reads CREATE TABLE with columns, CLONE, or clauses before AS; returns None for others.

    query: parses a query
    """
    if_not_exists = read.accept("IF", "NOT", "EXISTS")
    table = read.table()
    is_plain = read.next_words(1) == ("AS",) and not if_not_exists and read.spelling[0] == "CREATE"
    if is_plain or (table.path is None and table.place is None):
        return None
    path = table.text if table.path is None else address.of_newest(table.path)
    change = _made(read, path, query, if_not_exists=if_not_exists)
    if change is None or table.path is not None or table.place is None:
        return change
    return in_catalogs.made(table.place, path, change)


def _made(read: TokenReader, path: str, query: Callable[[str], exp.Expr], *, if_not_exists: bool) -> Change | None:
    replace, if_exists = "REPLACE" in read.spelling, read.spelling[0] == "REPLACE"
    if read.accept("SHALLOW", "CLONE"):
        return upkeep.clone(read, path, is_shallow=True)
    if read.accept("DEEP", "CLONE") or read.accept("CLONE"):
        return upkeep.clone(read, path, is_shallow=False)
    if read.next_words(1)[:1] in (("AS",), ("USING",), ("COMMENT",), ("TBLPROPERTIES",)):
        properties = _properties(read)
        read.expect("AS")
        rows = query(read.rest("a query"))
        return Creation(
            path,
            rows,
            "overwrite" if replace else "create",
            if_not_exists=if_not_exists,
            if_exists=if_exists,
            properties=properties,
        )
    if read.next_words(1) != ("(",):
        return None
    columns = tuple(read_columns(read))
    properties = _properties(read)
    if not read.is_at_end:
        raise UnsupportedFeature(
            "CREATE TABLE (columns) AS is not supported: write CREATE TABLE 'x.lance' AS query, with the columns of"
            " the query"
        )
    return TableDefinition(path, columns, read.dialect, replace, if_not_exists, if_exists, properties)


def _properties(read: TokenReader) -> TableProperties:
    """Reads USING lance, COMMENT and TBLPROPERTIES, up to AS or the end."""
    properties: dict[str, str] = {}
    while not read.is_at_end and read.next_words(1) != ("AS",):
        if read.accept("USING"):
            read.expect("LANCE")
        elif read.accept("COMMENT"):
            read.accept("=")
            properties[COMMENT] = read.value("a comment")
        elif read.accept("TBLPROPERTIES"):
            properties |= read.properties()
        elif read.next_words(1)[0] in ("PARTITIONED", "CLUSTER", "LOCATION", "WITH", "OPTIONS"):
            word = read.next_words(1)[0]
            raise UnsupportedFeature(
                f"CREATE TABLE .. {word} is not supported: a Lance table is named by its path, and has no partitions"
            )
        else:
            read.end()
    return table_properties(properties)


def comment(read: TokenReader) -> Change | None:
    """Reads COMMENT ON."""
    kind = read.accept_one("TABLE", "COLUMN")
    if kind is None:
        return None
    column = None
    if kind == "COLUMN":
        named = read.column_of_table()
        if named is None:
            return None
        path, column = named
    else:
        table_path = read.table().path
        if table_path is None:
            return None
        path = table_path
    read.expect("IS")
    text = None if read.accept("NULL") else read.value("a comment")
    read.end()
    return alterations.set_comment(address.of_newest(path), column, text)
