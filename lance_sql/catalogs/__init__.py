"""Catalogs: tables by name, in namespaces.

    contract    the interface of a catalog
    directory   a folder of tables, and the namespaces of a folder that has a table of its contents, __manifest
    rest        a REST namespace, by the client of the package lance-namespace

Source: specification of Lance namespaces, directory and REST.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Unpack

from lance_sql.catalogs.contract import Catalog, TableEntry
from lance_sql.errors import InvalidArgument
from lance_sql.store.access import KEYWORDS, AccessOptions
from lance_sql.values.keywords import check_keywords, suggests_keywords
from lance_sql.values.local_paths import place_text

__all__ = ["Catalog", "TableEntry", "catalog"]


@suggests_keywords
def catalog(
    place: str | os.PathLike[str] | Catalog,
    *,
    token: str | None = None,
    headers: Mapping[str, str] | None = None,
    **access: Unpack[AccessOptions],
) -> Catalog:
    """Opens the catalog at a folder, or at the address of a REST namespace.

    place: a path, or http:// or https://
    token, headers: for requests to a REST namespace
    access: keywords of `lance_sql.open`, for the folder and its tables
    raises: TableNotFound if there is no such folder; MissingDependency for a REST namespace without its client

    >>> "orders" in lance_sql.catalog("examples").tables()
    True
    """
    check_keywords("catalog", access, KEYWORDS)
    if isinstance(place, Catalog):
        if access:
            raise InvalidArgument(f"The catalog is open already: leave {next(iter(access))}= out")
        return place
    text = place_text(place, "the place of a catalog")
    if text.startswith(("http://", "https://")):
        from lance_sql.catalogs.rest import RestCatalog

        return RestCatalog(text, access, token=token, headers=headers)
    from lance_sql.catalogs.directory import DirectoryCatalog

    return DirectoryCatalog(text, access)
