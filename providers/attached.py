"""Which catalogs are attached to a connection or context, under which names."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakKeyDictionary

from lance_sql.errors import InvalidArgument, TableNotFound

if TYPE_CHECKING:
    from lance_sql.catalogs import Catalog

_catalogs_by_target: Final[WeakKeyDictionary[Any, dict[str, Catalog]]] = WeakKeyDictionary()


def remember(target: Any, name: str, catalog: Catalog) -> None:
    """A catalog is attached."""
    _catalogs_by_target.setdefault(target, {})[name.lower()] = catalog


def inherit(target: Any, other: Any) -> None:
    """A cursor has the catalogs of its connection."""
    if other in _catalogs_by_target:
        _catalogs_by_target[target] = _catalogs_by_target[other]


def lookup(target: Any) -> Callable[[tuple[str, ...]], str | None] | None:
    """What finds the path of a table by the parts of its name; None where no catalog is attached."""
    catalogs = _catalogs_by_target.get(target)
    if not catalogs:
        return None

    def find(parts: tuple[str, ...]) -> str | None:
        catalog = catalogs.get(parts[0].lower()) if len(parts) > 1 else None
        if catalog is None:
            return None
        names = [part for part in parts[1:] if part.lower() != "main" or len(parts) == 2]
        name = (*(each for part in names[:-1] for each in part.split(".")), names[-1])
        try:
            return catalog.describe(name).path
        except TableNotFound:
            return None

    return find


def alike(catalog: Catalog) -> Catalog:
    """
    raises: InvalidArgument for tables whose names are the same for SQL, which does not tell letters apart by their case
    """
    seen: dict[tuple[str, ...], tuple[str, ...]] = {}
    for name in catalog.walk():
        folded = tuple(part.casefold() for part in name)
        if folded in seen:
            raise InvalidArgument(
                f"{'.'.join(seen[folded])!r} and {'.'.join(name)!r} would both be the same name: register them by name"
            )
        seen[folded] = name
    return catalog
