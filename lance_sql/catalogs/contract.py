"""Interface of catalogs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias

import lance_sql.opening
from lance_sql.dataset import Dataset
from lance_sql.errors import InvalidArgument, LanceError, TableNotFound
from lance_sql.jobs.writing import write
from lance_sql.store.access import AccessOptions, within
from lance_sql.table.commit_summary import VIEW
from lance_sql.values import names
from lance_sql.values.guessed_names import OF_CATALOG, NamesGuessed

Name: TypeAlias = str | Sequence[str]
"""Name of a table or a namespace: "sales.orders", or its parts if they contain dots."""


BETWEEN: Final = "$"


@dataclass(frozen=True, slots=True)
class TableEntry:
    """Table of a catalog.

    name: its parts, the namespaces first
    path: or URI
    """

    name: tuple[str, ...]
    path: str
    properties: Mapping[str, str] = field(default_factory=dict)


class Catalog(NamesGuessed, ABC):
    """Tables by name. Nothing is cached: changes of other processes are visible at once.

    access: keywords of `lance_sql.open` for its tables
    """

    _guessed_names = OF_CATALOG
    access: AccessOptions = {}  # noqa: RUF012 - never changed

    @abstractmethod
    def namespaces(self, parent: Name = ()) -> list[str]:
        """Lists the namespaces directly below another one, or at the top, sorted.

        raises: TableNotFound if there is no such namespace
        """

    @abstractmethod
    def tables(self, namespace: Name = ()) -> list[str]:
        """Lists the tables of a namespace, or at the top, sorted.

        raises: as `namespaces`
        """

    @abstractmethod
    def describe(self, name: Name) -> TableEntry:
        """Returns the path of a table, and its properties in the catalog.

        raises: TableNotFound
        """

    @abstractmethod
    def properties(self, namespace: Name) -> dict[str, str]:
        """Returns the properties of a namespace.

        raises: TableNotFound
        """

    @abstractmethod
    def create_namespace(self, namespace: Name, properties: Mapping[str, str] | None = None) -> None:
        """
        raises: TableExists; TableNotFound if the namespace above it does not exist; UnsupportedFeature
        """

    @abstractmethod
    def drop_namespace(self, namespace: Name) -> None:
        """
        raises: TableNotFound; InvalidArgument for one that is not empty
        """

    @abstractmethod
    def declare(self, name: Name, properties: Mapping[str, str] | None = None) -> TableEntry:
        """Adds a new name, and returns the path where its table must be written.

        raises: TableExists, also for a name that differs from another one only in case; TableNotFound without its
            namespace; InvalidArgument for an invalid name
        """

    def drop_table(self, name: Name) -> None:
        """Removes the name, and the table with all of its versions.

        raises: TableNotFound; InvalidArgument for a materialized view
        """
        with within(self.access):
            check_kind(self.describe(name).path, is_view=False, other_way="drop_view")
            self._drop(name)

    def drop_view(self, name: Name) -> None:
        """Removes the name, and the materialized view with all of its versions.

        raises: TableNotFound; InvalidArgument for a table that is no view
        """
        with within(self.access):
            check_kind(self.describe(name).path, is_view=True, other_way="drop_table")
            self._drop(name)

    @abstractmethod
    def _drop(self, name: Name) -> None:
        """Removes the name, and the table or view with all of its versions.

        raises: TableNotFound
        """

    @abstractmethod
    def rename_table(self, name: Name, new_name: Name) -> None:
        """Renames a table. Its files stay in place, unless their path is its name.

        raises: TableNotFound; TableExists and InvalidArgument as `declare`
        """

    def open(self, name: Name, **options: Any) -> Dataset:
        """Opens the newest version of a table, or another one.

        options: of `lance_sql.open`
        raises: TableNotFound
        """
        return lance_sql.opening.open(self.describe(name).path, **{**self.access, **options})

    def create_table(
        self, name: Name, data: object, *, properties: Mapping[str, str] | None = None, **options: Any
    ) -> Dataset:
        """Creates a table. Removes the name if writing fails.

        data, options: of `lance_sql.write`
        raises: as `declare` and `lance_sql.write`
        """
        entry = self.declare(name, properties)
        try:
            return write(data, entry.path, **{**self.access, **options})
        except BaseException:
            self.forget(name)
            raise

    @abstractmethod
    def forget(self, name: Name) -> None:
        """Removes the name; keeps the files.

        raises: TableNotFound
        """

    def walk(self, namespace: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
        """Yields the names of all tables, including those of nested namespaces."""
        yield from ((*namespace, name) for name in self.tables(namespace))
        for name in self.namespaces(namespace):
            yield from self.walk((*namespace, name))


def check_kind(path: str, *, is_view: bool, other_way: str) -> None:
    """Makes sure that what is dropped as a table is no materialized view, and the reverse. A table that cannot be read
    can be dropped as a table.

    other_way: drops the other kind
    raises: InvalidArgument; for a view also as `lance_sql.open`
    """
    try:
        config = lance_sql.opening.open(path).snapshot.manifest.config
    except LanceError:
        if is_view:
            raise
        return
    if is_view and VIEW not in config:
        raise InvalidArgument(f"{path} is a table, not a materialized view: use {other_way}")
    if not is_view and VIEW in config:
        raise InvalidArgument(f"{path} is a materialized view: use {other_way}")


def parts(name: Name, *, what: str = "table") -> tuple[str, ...]:
    """Splits a name into its parts.

    raises: InvalidArgument for a name with an empty part, and for values that are no names
    """
    if isinstance(name, bytes) or not isinstance(name, str | Sequence):
        raise InvalidArgument(
            f"{name!r} is not a {what} name: pass text such as 'sales.orders', or a list of its parts"
        )
    split = tuple(name.split(".")) if isinstance(name, str) else tuple(name)
    if (what == "table" and not split) or not all(isinstance(part, str) and part for part in split):
        raise InvalidArgument(f"{name!r} is not a valid {what} name: no part of it may be empty")
    return split


def new_parts(name: Name, what: Literal["table", "namespace"] = "table") -> tuple[str, ...]:
    """Splits a new name into its parts.

    raises: InvalidArgument for a part that no catalog may have
    """
    split = parts(name, what=what)
    if not split:
        raise InvalidArgument("The namespace has no name: pass one")
    for part in split[:-1]:
        names.check(part, "namespace")
    names.check(split[-1], what)
    return split


def object_id(name: tuple[str, ...]) -> str:
    """Returns a name in the form of Lance namespaces, such as sales$orders.

    raises: TableNotFound for a name that no namespace can have
    """
    for part in name:
        if BETWEEN in part or part in (".", ".."):
            raise TableNotFound(f"No table or namespace has {part[:100]!r} in its name: leave {BETWEEN!r} out")
    return BETWEEN.join(name)
