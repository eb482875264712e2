"""Catalogs attached to a connection or context, and resolution of their names."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast
from weakref import WeakKeyDictionary

from lance_sql.errors import InvalidArgument, TableNotFound
from lance_sql.runtime.cached_property import cached_property

if TYPE_CHECKING:
    from lance_sql.catalogs import Catalog
    from lance_sql.store.access import AccessOptions

_MAIN: Final = "main"


class Attached(NamedTuple):
    """A catalog on a connection or context.

    listed: its tables when it was attached, as far as the engine lists them
    """

    catalog: Catalog
    listed: frozenset[tuple[str, ...]]

    def lists(self, parts: Sequence[str]) -> bool:
        """Whether a table is listed: by its name with anything behind it, or by those of a namespace and its own.

        parts: in lower case
        """
        names = {(".".join(above), last) for *above, last in ([part.lower() for part in name] for name in self.listed)}
        return ("", parts[0]) in names or tuple(parts) in names


_access_by_target: Final[WeakKeyDictionary[Any, dict[str, Any]]] = WeakKeyDictionary()
_attached_by_target: Final[WeakKeyDictionary[Any, dict[str, Attached]]] = WeakKeyDictionary()


def remember(target: Any, name: str, catalog: Catalog, listed: Iterable[tuple[str, ...]]) -> None:
    """Records that a catalog is attached.

    listed: as for `Attached`
    """
    _attached_by_target.setdefault(target, {})[name.lower()] = Attached(catalog, frozenset(listed))


def access_of(target: Any) -> AccessOptions:
    """Returns the keywords that statements of a connection or context open tables with; always the same object after
    `give_access`."""
    return cast("AccessOptions", {} if target is None else _access_by_target.get(target, {}))


def give_access(target: Any, given: AccessOptions) -> None:
    """Adds keywords to those of a connection or context.

    raises: InvalidArgument if it has another value for one of them
    """
    own = _access_by_target.setdefault(target, {})
    for name, value in given.items():
        if value is not None and own.get(name, value) != value:
            raise InvalidArgument(f"The connection has another {name}= already: use a connection of its own")
    own.update({name: value for name, value in given.items() if value is not None})


def forget(target: Any, name: str) -> None:
    """Records that a catalog is detached."""
    _attached_by_target[target].pop(name.lower())


def of(target: Any) -> Mapping[str, Attached]:
    """Returns the catalogs of a connection or context, by name in lower case."""
    return dict(_attached_by_target.get(target) or {})


def inherit(target: Any, other: Any) -> None:
    """Gives a cursor the catalogs and the keywords of its connection."""
    if other in _access_by_target:
        _access_by_target[target] = _access_by_target[other]
    if other in _attached_by_target:
        _attached_by_target[target] = _attached_by_target[other]


def names_unlisted(target: Any, text: str) -> bool:
    """Whether a text has a name in an attached catalog, behind that of the catalog, that is none of its listed
    tables.

    DuckDB takes a variable of the caller for a table that it does not know, even if a catalog is named.
    """
    return any(
        not each.lists([_unquoted(part) for part in match.groups() if part is not None])
        for name, each in of(target).items()
        for match in _qualified(name).finditer(text)
    )


@lru_cache(maxsize=64)
def _qualified(catalog: str) -> re.Pattern[str]:
    """Returns the pattern of a name in a catalog, and of what may be behind it."""
    part = r'("(?:[^"]|"")+"|\w+)'
    return re.compile(
        rf'(?<![\w".])(?:{re.escape(catalog)}|"{re.escape(catalog)}")\s*\.\s*(?:main\s*\.\s*)?{part}(?:\s*\.\s*{part})?',
        re.IGNORECASE,
    )


def _unquoted(part: str) -> str:
    return (part[1:-1].replace('""', '"') if part.startswith('"') else part).lower()


@dataclass(frozen=True, slots=True)
class Place:
    """A name in a catalog, with or without a table.

    attached_as: the name of the catalog
    name: in the catalog
    """

    attached_as: str
    catalog: Catalog
    name: tuple[str, ...]

    def path(self) -> str | None:
        """Returns the path of the table, or None if it does not exist."""
        spelled = _spelled(self.catalog, self.name)
        return None if spelled is None else self.catalog.describe(spelled).path

    def spelled(self) -> tuple[str, ...]:
        """Returns the name in the catalog's spelling, or the name itself if there is no table."""
        return _spelled(self.catalog, self.name) or self.name

    def has_namespace(self) -> bool:
        """Whether the namespace of the table exists."""
        try:
            self.catalog.tables(self.name[:-1])
        except TableNotFound:
            return False
        return True


class Names:
    """The tables that names refer to on a connection or context, while one statement is processed.

    The engine has no names of its own here; an adapter may return others.
    """

    def __init__(self, target: Any) -> None:
        self._catalogs = {name: each.catalog for name, each in of(target).items()}
        self._paths: dict[tuple[str, ...], str | None] = {}

    def is_catalog(self, name: str) -> bool:
        """Whether a catalog is attached under a name."""
        return name.lower() in self._catalogs

    @property
    def has_catalogs(self) -> bool:
        """Whether a catalog is attached."""
        return bool(self._catalogs)

    def path(self, parts: Sequence[str]) -> str | None:
        """Returns the path of a table of a catalog, or None for every other name."""
        key = tuple(parts)
        if key not in self._paths:
            place = self.place(key)
            self._paths[key] = None if place is None else place.path()
        return self._paths[key]

    def place(self, parts: Sequence[str]) -> Place | None:
        """Resolves a name in the catalogs like the engine does. Returns None for a name of the engine."""
        if not self._catalogs or not parts:
            return None
        first, *rest = parts
        if rest and first.lower() in self._catalogs:
            return self._place(first.lower(), rest)
        database, schema = self._current
        if database not in self._catalogs or len(rest) > 1:
            return None
        if not rest:
            return None if self._is_temporary(first) else self._place(database, [schema, first])
        return self._place(database, parts) if self._has_schema(database, first) else None

    def _place(self, attached_as: str, parts: Sequence[str]) -> Place:
        *above, last = parts if len(parts) == 1 or parts[0].lower() != _MAIN else parts[1:]
        name = (*(each for part in above for each in part.split(".")), last)
        return Place(attached_as, self._catalogs[attached_as], name)

    def has_schema(self, name: str) -> bool:
        """Whether the engine has a schema or a database of this name, with its own tables."""
        return any(name.lower() in each for each in self._schemas)

    def _has_schema(self, database: str, name: str) -> bool:
        return any(database == first and name.lower() == second for first, second in self._schemas)

    @cached_property
    def _schemas(self) -> set[tuple[str, str]]:
        return set()

    @cached_property
    def _current(self) -> tuple[str, str]:
        return "", ""

    def _is_temporary(self, name: str) -> bool:
        return False

    def moment(self, text: str) -> str | None:
        """Converts a time to text with an offset, by default that of the session. Returns None for an engine without
        such times.

        raises: InvalidArgument for text that is not a time
        """
        return None

    def has_function(self, name: str) -> bool:
        """Whether the engine is known to have a function of this name."""
        return False

    def is_parsed(self, text: str) -> bool:
        """Whether the engine is known to parse a text as SQL."""
        return False


def _spelled(catalog: Catalog, name: tuple[str, ...]) -> tuple[str, ...] | None:
    """Returns the name in the catalog's spelling, ignoring case, or None if it does not exist.

    raises: InvalidArgument for a name of several tables
    """
    try:
        return catalog.describe(name).name
    except TableNotFound:
        pass
    above: tuple[str, ...] = ()
    try:
        for number, part in enumerate(name):
            names = catalog.tables(above) if number == len(name) - 1 else catalog.namespaces(above)
            alike = [part] if part in names else [each for each in names if each.casefold() == part.casefold()]
            if len(alike) > 1:
                raise InvalidArgument(
                    f"{part!r} may be {' or '.join(map(repr, alike))}: use the same upper and lower case"
                )
            if not alike:
                return None
            above = (*above, alike[0])
    except TableNotFound:
        return None
    return above
