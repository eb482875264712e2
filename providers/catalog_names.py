"""Tables of attached catalogs by their names, for engines that keep a text and not a catalog.

    lance-catalog://2/["sales", "orders"]    the table sales.orders of the second catalog that was attached

A name means the table that has it when a query is bound: others may rename tables, and give their names to new ones.
"""

from __future__ import annotations

import json
from itertools import count
from typing import TYPE_CHECKING, Final

from lance_sql.errors import TableNotFound

if TYPE_CHECKING:
    from lance_sql.catalogs import Catalog

_SCHEME: Final = "lance-catalog://"
_numbers: Final = count()
_catalogs: Final[dict[int, Catalog]] = {}


def register(catalog: Catalog) -> int:
    """The number by which names of a catalog are resolved, for as long as the process lives."""
    for number, known in _catalogs.items():
        if known is catalog:
            return number
    number = next(_numbers)
    _catalogs[number] = catalog
    return number


def name_of(number: int, name: tuple[str, ...]) -> str:
    """The text for a table of a registered catalog."""
    return f"{_SCHEME}{number}/{json.dumps(name)}"


def path_of(text: str) -> str | None:
    """The path of the table that has a name now; None for another text.

    raises: TableNotFound
    """
    if not text.startswith(_SCHEME):
        return None
    number, _, name = text.removeprefix(_SCHEME).partition("/")
    catalog = _catalogs.get(int(number)) if number.isdecimal() else None
    if catalog is None:
        raise TableNotFound(f"No catalog is attached as {text!r}: attach it again")
    return catalog.describe(tuple(json.loads(name))).path
