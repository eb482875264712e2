"""What the library asks of an SQL engine, and the list of engines.

The folder of an engine has

    adapter.py       its name, and what it can do
    syntax.py        its SQL
    queries.py       the queries that it runs
    registration.py  tables and catalogs on its connections; another module if the adapter says so

Adapters import neither the engine nor a parser, so that they are there for errors and for dialects without the engine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, Final, Protocol, cast

from lance_sql.errors import missing_package

from .attached import Names

if TYPE_CHECKING:
    import pyarrow as pa

    from lance_sql.catalogs import Catalog
    from lance_sql.dataset import Dataset

    from .sources import Source
    from .syntax import Syntax


@dataclass(frozen=True, slots=True)
class Request:
    """A query to be bound.

    sql: in the dialect of the engine
    sources: by their names in it
    types: of `column_types`, to which an engine that `casts_rows` casts the columns
    parameters: of a prepared statement, by name, if a user gave them on a connection of the engine
    is_kept: its rows may be read several times, or concurrently
    """

    sql: str
    sources: Mapping[str, Source]
    types: Sequence[str | None] = ()
    parameters: Mapping[str, Any] = field(default_factory=dict)
    is_kept: bool = False


class Queries(Protocol):
    """The module `queries`.

    Errors: what the engine raises for statements that it rejects
    """

    Errors: tuple[type[Exception], ...]

    def target(self, given: Any, /) -> Any:
        """Returns the given connection or session, or else one to use."""

    def prepare(self, target: Any, request: Request, /) -> tuple[Sequence[str], Callable[[], pa.RecordBatchReader]]:
        """Binds a query. Returns its columns, and a function that runs it on each call.

        raises: Errors
        """

    def column_types(self, target: Any, source: Source, /) -> Mapping[str, str]:
        """Returns the engine's names of column types for casts; none if values are cast when they arrive."""


class Registration(Protocol):
    """The module `registration`. Those that an adapter rules out by its abilities may be missing."""

    def register(self, target: Any, /) -> Any:
        """Adds the table functions to a connection, and returns what to query."""

    def register_table(self, target: Any, name: str, dataset: Dataset, /) -> None:
        """Registers one version of a table under a name."""

    def attach(self, target: Any, catalog: Catalog, name: str, /) -> list[tuple[str, ...]]:
        """Attaches the tables of a catalog; returns those that the connection lists."""

    def detach(self, target: Any, name: str, /) -> None:
        """Detaches a catalog."""


class Adapter:
    """An SQL engine. The abilities are by default those of an engine that only runs queries.

    name: of the engine and of its dialect
    title: for users
    connection: words for what users pass as a connection
    modules: in which its connections, which can be referred to weakly, have their classes
    folder: the package with the modules of the engine
    extra: of this library, which installs the engine
    """

    name: ClassVar[str]
    title: ClassVar[str]
    connection: ClassVar[str]
    modules: ClassVar[frozenset[str]]
    folder: ClassVar[str]
    extra: ClassVar[str]
    registers_in: ClassVar[str] = "registration"
    """The name of the module for `registration`."""

    runs_as_typed: ClassVar[bool] = False
    """Text in its own dialect runs as typed, and its errors are those of the engine."""
    pushes_filters: ClassVar[bool] = False
    """It passes columns and filters to its sources. For others, sources have those that a query needs."""
    has_workers: ClassVar[bool] = False
    """Tables are opened by processes with other working folders."""
    casts_rows: ClassVar[bool] = False
    """It casts the rows of a query without SQL, because an outer query would lose their order."""
    changes_rows: ClassVar[bool] = False
    """Its queries compute changes of single rows."""
    instead: ClassVar[str] = ""
    """The way to change single rows with it otherwise, for errors."""
    computes_views: ClassVar[bool] = False
    """Materialized views are computed in its connections."""
    attaches: ClassVar[bool] = False
    """Catalogs are attached to its connections."""
    lists_tables: ClassVar[bool] = False
    """A connection lists the tables that a catalog had when it was attached, and has DETACH."""
    has_nullable_counts: ClassVar[bool] = False
    """Its Arrow schema allows NULLs in counts."""

    @property
    def queries(self) -> Queries:
        """The module that runs queries.

        raises: MissingDependency if the engine is not installed
        """
        return cast("Queries", self._module("queries"))

    @property
    def registration(self) -> Registration:
        """The module that adds tables to connections.

        raises: MissingDependency if the engine is not installed
        """
        return cast("Registration", self._module(self.registers_in))

    @property
    def syntax(self) -> Syntax:
        """The SQL of the engine."""
        return cast("Syntax", import_module(f"{self.folder}.syntax").SYNTAX)

    def names(self, target: Any) -> Names:
        """Returns the names of tables on a connection."""
        return Names(target)

    def new_target(self) -> Any:
        """Returns a new connection or session; None for the one that `Queries.target` chooses."""
        return None

    def is_in_transaction(self, target: Any) -> bool:
        """Whether a connection is in a transaction of the user."""
        return False

    def _module(self, name: str) -> Any:
        try:
            return import_module(f"{self.folder}.{name}")
        except ModuleNotFoundError as error:
            if (error.name or "").partition(".")[0] not in self.modules:
                raise
            raise missing_package(f"{self.title} is not installed", self.extra) from error


FOLDERS: Final = {name: f"lance_sql.providers.{name}" for name in ("duckdb", "datafusion", "spark", "sail")}
"""The packages of the engines, by their names for users; their `adapter` has the ADAPTER."""


def named(name: str) -> Adapter:
    """Returns an engine of `FOLDERS`."""
    adapter: Adapter = import_module(f"{FOLDERS[name]}.adapter").ADAPTER
    return adapter


def every() -> Iterator[Adapter]:
    """Yields the engines."""
    return map(named, FOLDERS)


def of(target: Any) -> Adapter | None:
    """Returns the engine that a connection, context or session belongs to; None for other objects."""
    modules = {each.__module__.partition(".")[0] for each in type(target).__mro__}
    return next((each for each in every() if each.modules & modules), None)


def connections(engines: Iterator[Adapter]) -> str:
    """Returns the words for what users may pass as a connection of these engines."""
    *others, last = dict.fromkeys(each.connection for each in engines)
    return f"{', '.join(others)} or {last}" if others else last
