"""Tables of attached catalogs by name, for engines that store a text instead of a catalog.

    lance-catalog://2/["sales", "orders"]         the table sales.orders of the second attached catalog
    lance-catalog://2/[["Orders"], ["orders"]]    the one of these tables that there is

A name refers to the table that has it when a query is bound, even after other processes have renamed tables.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import count
from typing import TYPE_CHECKING, Final

from lance_sql.errors import InvalidArgument, TableNotFound

if TYPE_CHECKING:
    from lance_sql.catalogs import Catalog

_SCHEME: Final = "lance-catalog://"
_numbers: Final = count()
_catalogs: Final[dict[int, Catalog]] = {}


def register(catalog: Catalog) -> int:
    """Registers a catalog, and returns its number, which is valid for the life of the process."""
    for number, known in _catalogs.items():
        if known is catalog:
            return number
    number = next(_numbers)
    _catalogs[number] = catalog
    return number


def name_of(number: int, name: tuple[str, ...] | Sequence[tuple[str, ...]]) -> str:
    """Returns the text for a table of a registered catalog, or for tables whose names the engine cannot distinguish."""
    return f"{_SCHEME}{number}/{json.dumps(name)}"


def path_of(text: str) -> str | None:
    """Returns the path of the table that has a name now, or None for another text.

    raises: TableNotFound; InvalidArgument for several tables; CorruptFile for a place outside of the catalog
    """
    if not text.startswith(_SCHEME):
        return None
    number, _, name = text.removeprefix(_SCHEME).partition("/")
    catalog = _catalogs.get(int(number)) if number.isdecimal() else None
    if catalog is None:
        raise TableNotFound(f"No catalog is attached as {text!r}: attach it again")
    given = json.loads(name)
    if not isinstance(given[0], list):
        return catalog.describe(tuple(given)).path
    existing = [each for each in map(tuple, given) if each in set(catalog.walk())] or [tuple(given[0])]
    if len(existing) > 1:
        called = " and ".join(repr(".".join(each)) for each in existing)
        raise InvalidArgument(f"{called} differ only in case, which DuckDB ignores: read them by path, or rename one")
    return catalog.describe(existing[0]).path
