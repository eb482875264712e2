"""The tables in a folder, by the names that they have in SQL."""

from __future__ import annotations

import os
from collections.abc import Mapping

from lance_sql.errors import InvalidArgument, TableNotFound

SUFFIX = ".lance"


def tables_in(folder: str | os.PathLike[str]) -> Mapping[str, str]:
    """The paths of the tables right below a local folder, by their names without ".lance", sorted.

    raises: TableNotFound where there is no such folder; InvalidArgument for a URI, and for tables of equal names
    """
    root = os.fspath(folder)
    if "://" in root:
        raise InvalidArgument(f"Only the tables of a local folder can be attached, not those of {root!r}")
    root = os.path.expanduser(root)
    if not os.path.isdir(root):
        raise TableNotFound(f"No folder {root!r} to attach")
    found: dict[str, str] = {}
    for entry in sorted(os.listdir(root)):
        path = os.path.join(root, entry)
        name = entry[: -len(SUFFIX)] if entry.lower().endswith(SUFFIX) else entry
        if not os.path.isdir(os.path.join(path, "_versions")):
            continue
        # engines do not tell letters apart by their case
        taken = next((other for other in found if other.casefold() == name.casefold()), None)
        if taken is not None:
            raise InvalidArgument(f"{found[taken]!r} and {path!r} would both be {name!r}: register them by name")
        found[name] = path
    return found
