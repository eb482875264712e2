"""The engine that a statement runs in, and the preparation of its queries."""

from __future__ import annotations

import difflib
import logging
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final

import pyarrow as pa
from sqlglot import exp

from lance_sql import errors
from lance_sql.errors import ColumnNotFound, InvalidArgument, LanceError, UnsupportedFeature
from lance_sql.one_sql.counting import counted_rows, counted_table
from lance_sql.one_sql.references import Reference
from lance_sql.one_sql.translation import Translated, translate
from lance_sql.providers import attach
from lance_sql.providers.adapter import FOLDERS, Adapter, Request, connections, every, named, of
from lance_sql.providers.attached import Place
from lance_sql.providers.sources import Source, open_source
from lance_sql.providers.unmarked_folders import unknown_table, way_to_name
from lance_sql.values.local_paths import expanded

_LOG: Final = logging.getLogger("lance_sql")
_NAMES: Final = ", ".join(map(repr, FOLDERS))


@dataclass(frozen=True, slots=True)
class Prepared:
    """Query bound by an engine.

    statement: in its dialect
    names: of the columns of its rows
    engine: its name for users
    errors: of the engine
    """

    statement: str
    names: tuple[str, ...]
    read: Callable[[], pa.RecordBatchReader]
    engine: str
    errors: tuple[type[Exception], ...]

    def reader(self) -> pa.RecordBatchReader:
        """Returns the rows as a stream.

        raises: InvalidArgument for values that the engine cannot compute; LanceError for errors of the engine while the
            stream is read
        """
        try:
            rows = self.read()
        except self.errors as error:
            raise errors.in_text(str(error)) or _mistake(self.engine, error) from error
        except OSError as error:
            # DuckDB 1.5 has no Arrow type for a column
            if isinstance(error, LanceError):
                raise
            raise LanceError(f"{self.engine} cannot return the rows: {_line(error)}") from error
        return pa.RecordBatchReader.from_batches(rows.schema, self._batches(rows))

    def _batches(self, rows: pa.RecordBatchReader) -> Iterator[pa.RecordBatch]:
        try:
            with rows:
                yield from rows
        except (OSError, pa.ArrowException) as error:
            if isinstance(error, LanceError):
                raise
            ours = errors.in_text(str(error))
            raise ours or LanceError(f"{self.engine} cannot compute the rows: {_line(error)}") from error


@dataclass(frozen=True, slots=True)
class Engine:
    """Engine with the connection or session to use.

    target: of the engine
    is_spoken: statements are written in its own dialect
    parameters: of a prepared statement, by their names; only on a connection that runs statements as typed
    is_given: the user gave the target, which outlives the statement
    """

    adapter: Adapter
    target: Any
    is_spoken: bool
    parameters: Mapping[str, Any] = field(default_factory=dict)
    is_given: bool = True

    @property
    def name(self) -> str:
        """Name of the engine and of its dialect."""
        return str(self.adapter.name)

    @property
    def title(self) -> str:
        """Name for users."""
        return str(self.adapter.title)

    @property
    def runs_as_typed(self) -> bool:
        """Whether statements run as typed, and raise errors of the engine."""
        return self.is_spoken and self.adapter.runs_as_typed

    def prepare(
        self,
        query: exp.Expr,
        known: Mapping[str, Source] | None = None,
        *,
        is_typed: bool = True,
        types: Sequence[str | None] = (),
        opening: Callable[[Reference], Source] | None = None,
        is_kept: bool = False,
    ) -> Prepared:
        """Prepares a query to be run.

        known: sources for some names in it, besides its own Lance tables
        is_typed: the user wrote it, and it is not wrapped in a query
        types: of `column_types`: types to cast values to, for an engine that casts without SQL
        opening: opens its Lance tables; by default, their newest versions
        is_kept: its rows may be read several times, or concurrently
        raises: UnsupportedFeature for features that the engine lacks; TableNotFound and the like; errors of DuckDB and
            Spark for statements in their own dialects; InvalidArgument, ColumnNotFound for those that are not typed
        """
        queries = self.adapter.queries
        if opening is None:
            opening = _opened_by_workers if self.adapter.has_workers else opened
        translated = translate(query, self.adapter, opening)
        counted = None if types else counted_table(query, translated.sources)
        request = Request(
            translated.sql,
            {**translated.sources, **(known or {})},
            types,
            self.parameters,
            is_kept=is_kept and counted is None,
        )
        try:
            statement, (names, read) = _bound(
                translated, lambda sql: queries.prepare(self.target, replace(request, sql=sql)), queries.Errors
            )
        except queries.Errors as error:
            if not is_typed and self.is_spoken:
                raise _mistake(self.title, error) from error
            if self.runs_as_typed:
                if (unknown := unknown_table(error)) is not None:
                    error.add_note(way_to_name(unknown) or _OF_TABLES.format(unknown))
                raise
            raise UnsupportedFeature(f"{self.title} does not run this statement: {_line(error)}") from error
        if counted is not None:
            read = partial(counted_rows, counted, names, nullable=self.adapter.has_nullable_counts)
        return Prepared(statement, tuple(names), read, self.title, queries.Errors)

    def column_types(self, source: Source) -> Mapping[str, str]:
        """Returns the engine's names of column types for casts, by column; empty for engines whose values are cast
        afterwards."""
        types: Mapping[str, str] = self.adapter.queries.column_types(self.target, source)
        return types

    def check_no_transaction(self) -> None:
        """
        raises: InvalidArgument within a transaction, which does not cover a Lance table
        """
        if self.adapter.is_in_transaction(self.target):
            raise InvalidArgument(
                "ROLLBACK would not undo a change of a Lance table: end the transaction first. For several changes at"
                " once, or none, write to a branch and publish it: INSERT INTO 'x.lance@load' .., lance-sql publish"
            )

    def attach_again(self, place: Place) -> None:
        """Refreshes the engine's list of the tables of a catalog, if it has one. Logs errors: the statement is done."""
        if not self.adapter.lists_tables:
            return
        try:
            attach(self.target, place.catalog, as_=place.attached_as)
        except (LanceError, OSError, *self.adapter.queries.Errors) as error:
            _LOG.warning(
                "The statement is done, but the connection lists the tables of %s as before: %s. Attach it again",
                place.attached_as,
                _line(error),
            )

    def cast(self, value: exp.Expr, type: str | None) -> exp.Expr:
        """Casts a value to a column's type, of `column_types`."""
        return value.copy() if type is None else self.adapter.syntax.cast(value, type)


def engine_of(name: str | None, connection: Any, session: Any, dialect: str | None) -> Engine:
    """Returns the engine to use.

    name: None for that of the connection or session, or else DuckDB; "sail" is Spark's SQL in a session of Sail
    raises: InvalidArgument; MissingDependency where it is not installed
    """
    if connection is not None and session is not None:
        raise InvalidArgument("Pass either connection= or session=, not both")
    given = connection if connection is not None else session
    adapter = None if given is None else of(given)
    if given is not None and adapter is None:
        kind = f"{type(given).__module__}.{type(given).__qualname__}"
        raise InvalidArgument(f"Cannot run SQL on a {kind}: pass {connections(every())}")
    if name is None:
        adapter = adapter or next(every())
    else:
        if not isinstance(name, str):
            raise InvalidArgument(
                f"engine={name!r:.100} is not the name of an engine: pass one of {_NAMES}, and a connection as"
                " connection= or session="
            )
        if name not in FOLDERS:
            raise InvalidArgument(f"engine={name!r} is not one of {_NAMES}")
        if adapter is not None and adapter.modules != named(name).modules:
            raise InvalidArgument(
                f"engine={name!r} contradicts the connection, which belongs to {adapter.title}: leave engine= out"
            )
        adapter = named(name)
    is_given = given is not None
    given = given if is_given else adapter.new_target()
    return Engine(adapter, adapter.queries.target(given), dialect in (None, adapter.name), is_given=is_given)


def _bound(translated: Translated, bind: Callable[[str], Any], errors: tuple[type[Exception], ...]) -> tuple[str, Any]:
    """Binds the query as typed, or translated if the engine rejects that; returns the statement and what `bind` does.

    raises: the error of the typed query if the engine rejects both
    """
    try:
        return translated.sql, bind(translated.sql)
    except errors as error:
        if translated.otherwise is None:
            raise
        rejected = error
    statement = translated.otherwise()
    try:
        return statement, bind(statement)
    except errors:
        raise rejected from None


def opened(table_reference: Reference) -> Source:
    """Opens the source of a reference as of now.

    raises: as `open_source`
    """
    arguments = {name: list(value) if isinstance(value, tuple) else value for name, value in table_reference.arguments}
    if not isinstance(table_reference.path, str):
        raise UnsupportedFeature(f"{table_reference.function} takes one path in this statement, not a list")
    return open_source(table_reference.function, table_reference.path, arguments)


def _opened_by_workers(table_reference: Reference) -> Source:
    """Opens the source of a reference by its absolute path, for an engine whose workers have other working folders."""
    path = table_reference.path
    if isinstance(path, str) and "://" not in path:
        table_reference = replace(table_reference, path=os.path.abspath(expanded(path)))
    return opened(table_reference)


_OF_TABLES: Final = (
    "A Lance table is a path in quotes, such as FROM '{0}.lance'. For a variable of Python, use"
    " lance_sql.connect().sql(..), which sees variables, or lance_sql.register(connection, '{0}', {0})"
)
_UNKNOWN_COLUMN: Final = re.compile(r'column "(.+?)" not found|No field named (?:.*\.)?"?(\w+)|name `(.+?)` cannot be')


_QUOTED: Final = re.compile(r'"([^"]+)"')


def _mistake(engine: str, error: Exception) -> InvalidArgument:
    """Returns the error of a statement as one line, without the generated query."""
    unknown = _UNKNOWN_COLUMN.search(str(error))
    kind = InvalidArgument if unknown is None else ColumnNotFound
    name = "" if unknown is None else next(filter(None, unknown.groups()), "")
    known = (
        [] if unknown is None else [each.rpartition(".")[2] for each in _QUOTED.findall(str(error)[unknown.end() :])]
    )
    if close := difflib.get_close_matches(name, known, n=1):
        hint = f" Did you mean {close[0]!r}?"
    else:
        # a plain name may have been meant as a text
        hint = f" Text has single quotes: '{name}'" if name.isidentifier() else ""
    return kind(f"{engine} cannot compute this: {_line(error)}{hint}")


def _line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0] or type(error).__name__
