"""What a catalog can be asked and told."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import lance_sql.dataset
from lance_sql.dataset import Dataset
from lance_sql.errors import InvalidArgument
from lance_sql.jobs.writing import write

Name: TypeAlias = str | Sequence[str]
"""A table or a namespace: "sales.orders", or its parts where they have dots themselves."""


@dataclass(frozen=True, slots=True)
class TableEntry:
    """A table of a catalog.

    name: its parts, the namespaces first
    path: or URI
    """

    name: tuple[str, ...]
    path: str
    properties: Mapping[str, str] = field(default_factory=dict)


class Catalog(ABC):
    """Tables by names. Everything is asked anew: what others change is seen at once."""

    @abstractmethod
    def namespaces(self, parent: Name = ()) -> list[str]:
        """The namespaces right below another one, or at the top, sorted.

        raises: TableNotFound where there is no such namespace
        """

    @abstractmethod
    def tables(self, namespace: Name = ()) -> list[str]:
        """The tables of a namespace, or of none, sorted.

        raises: as `namespaces`
        """

    @abstractmethod
    def describe(self, name: Name) -> TableEntry:
        """Where a table is, and its properties in the catalog.

        raises: TableNotFound
        """

    @abstractmethod
    def properties(self, namespace: Name) -> dict[str, str]:
        """What is said of a namespace.

        raises: TableNotFound
        """

    @abstractmethod
    def create_namespace(self, namespace: Name, properties: Mapping[str, str] | None = None) -> None:
        """
        raises: TableExists; TableNotFound where there is no namespace above it; UnsupportedFeature
        """

    @abstractmethod
    def drop_namespace(self, namespace: Name) -> None:
        """
        raises: TableNotFound; InvalidArgument for one that is not empty
        """

    @abstractmethod
    def declare(self, name: Name, properties: Mapping[str, str] | None = None) -> TableEntry:
        """A new name, and where its table is to be written.

        raises: TableExists; TableNotFound without its namespace
        """

    @abstractmethod
    def drop_table(self, name: Name) -> None:
        """The name goes, and so does the table with all of its versions.

        raises: TableNotFound
        """

    @abstractmethod
    def rename_table(self, name: Name, new_name: Name) -> None:
        """The table stays where its files are, unless the place is its name.

        raises: TableNotFound, TableExists
        """

    def open(self, name: Name, **options: Any) -> Dataset:
        """The newest version of a table, or another one.

        options: of `lance_sql.open`
        raises: TableNotFound
        """
        return lance_sql.dataset.open(self.describe(name).path, **options)

    def create_table(
        self, name: Name, data: object, *, properties: Mapping[str, str] | None = None, **options: Any
    ) -> Dataset:
        """A new table. Where writing fails, the name goes again.

        data, options: of `lance_sql.write`
        raises: TableExists; as `lance_sql.write`
        """
        entry = self.declare(name, properties)
        try:
            return write(data, entry.path, **options)
        except BaseException:
            self.forget(name)
            raise

    @abstractmethod
    def forget(self, name: Name) -> None:
        """The name goes; files stay.

        raises: TableNotFound
        """

    def walk(self, namespace: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
        """The names of all tables, below each namespace too."""
        yield from ((*namespace, name) for name in self.tables(namespace))
        for name in self.namespaces(namespace):
            yield from self.walk((*namespace, name))


def parts(name: Name, *, what: str = "table") -> tuple[str, ...]:
    """The parts of a name.

    raises: InvalidArgument for one that has an empty part
    """
    split = tuple(name.split(".")) if isinstance(name, str) else tuple(name)
    if (what == "table" and not split) or not all(isinstance(part, str) and part for part in split):
        raise InvalidArgument(f"{name!r} is no name of a {what}")
    return split
