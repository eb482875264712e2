"""Attaching folders of tables to a connection, in the words of DuckDB and its Lance extension.

ATTACH [OR REPLACE] [DATABASE] [IF NOT EXISTS] 'folder' [AS name] (TYPE lance)    lance_sql.attach
DETACH [DATABASE] [IF EXISTS] name
"""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from lance_sql.errors import InvalidArgument, UnsupportedFeature
from lance_sql.one_sql import named_tables
from lance_sql.one_sql.engines import Engine
from lance_sql.one_sql.tasks import Task
from lance_sql.one_sql.token_reader import TokenReader
from lance_sql.providers import attach as attach_to
from lance_sql.providers import attached


@dataclass(frozen=True)
class Attachment(Task):
    """ATTACH .. (TYPE lance).

    replaces, if_not_exists: the statement has these words
    """

    folder: str
    name: str
    replaces: bool
    if_not_exists: bool

    changes = False

    def run(self, engine: Engine, *, dry_run: bool = False) -> pa.Table:
        if not engine.is_given or not engine.adapter.attaches:
            raise UnsupportedFeature(
                "ATTACH is for DuckDB and DataFusion, on a connection that stays open: pass connection= or session="
            )
        is_there = self.name.lower() in attached.of(engine.target)
        if is_there and not (self.replaces or self.if_not_exists):
            raise InvalidArgument(f"A catalog is attached as {self.name} already: use ATTACH OR REPLACE")
        does = not dry_run and (self.replaces or not is_there)
        if does:
            attach_to(engine.target, self.folder, as_=self.name)
        return pa.table({"path": [self.folder], "name": [self.name], "done": [does]})


@dataclass(frozen=True)
class Detachment(Task):
    """DETACH of an attached catalog."""

    name: str

    changes = False

    def run(self, engine: Engine, *, dry_run: bool = False) -> pa.Table:
        if not engine.adapter.lists_tables:
            raise UnsupportedFeature(f"{engine.title} has no DETACH: use another session without {self.name}")
        if not dry_run:
            engine.adapter.registration.detach(engine.target, self.name)
            attached.forget(engine.target, self.name)
        return pa.table({"name": [self.name], "done": [not dry_run]})


def attach(read: TokenReader) -> Task | None:
    """Returns None for a database of the engine."""
    replaces = read.spelling[-1] == "REPLACE"
    read.accept("DATABASE")
    if_not_exists = read.accept("IF", "NOT", "EXISTS")
    folder = read.value("a folder")
    name = read.name("a name") if read.accept("AS") else None
    options = _options(read) if read.accept("(") else {}
    if options.pop("TYPE", "").lower() != named_tables.FORMAT:
        return None
    read.is_of_lance = True
    read.end()
    if options:
        raise UnsupportedFeature(
            f"ATTACH .. (TYPE lance) takes no {next(iter(options))}: leave it out, or call lance_sql.attach with"
            " lance_sql.catalog(address, token=..) for a REST namespace"
        )
    stem = folder.rstrip("/\\").replace("\\", "/").rpartition("/")[2].partition(".")[0]
    if not (name or stem):
        raise InvalidArgument(f"ATTACH {folder!r} has no name: add AS and a name")
    return Attachment(folder, name or stem, replaces, if_not_exists)


def detach(read: TokenReader) -> Task | None:
    """Returns None for a database of the engine."""
    read.accept("DATABASE")
    read.accept("IF", "EXISTS")
    name = read.name("a name")
    if not named_tables.is_catalog(name):
        return None
    read.is_of_lance = True
    read.end()
    return Detachment(name)


def _options(read: TokenReader) -> dict[str, str]:
    """Reads options after their parenthesis: KEY value, KEY 'value', KEY = value or KEY."""
    options: dict[str, str] = {}
    while not read.accept(")"):
        key = read.name("an option").upper()
        read.accept("=")
        options[key] = "" if read.next_words() in ((",",), (")",)) else read.value("a value")
        read.accept(",")
    return options
