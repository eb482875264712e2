"""Addresses of tables: one root and branch for every spelling of a path or URI.

    t.lance, ./t.lance, file:///data/t.lance, a link to it    -->    /data/t.lance, main
    t.lance/tree/dev, a link to it                            -->    /data/t.lance, branch dev

The folder of a branch has no tags, branches and cursors. Those of the table are at its root.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Final, NamedTuple

from lance_sql.errors import InvalidArgument
from lance_sql.store import open_store
from lance_sql.store.access import Access
from lance_sql.store.open import absolute, below, local_path
from lance_sql.table import refs
from lance_sql.table.version_names import split_name

_TREE: Final = "/tree/"


class Address(NamedTuple):
    """The root of a table and one of its branches; branch is None for main.

    root: an absolute path, or a URI
    """

    root: str
    branch: str | None

    @property
    def place(self) -> str:
        """The folder of the branch."""
        return self.root if self.branch is None else below(self.root, f"tree/{self.branch}")


def resolve(uri: str, access: Access) -> Address:
    """Resolves a path or URI to an address. The table need not exist."""
    place = absolute(uri)
    if "://" not in place and os.path.islink(place):
        return _of_branch(os.path.realpath(place), access) or Address(place, None)
    return _of_branch(place, access) or Address(place, None)


def of_newest(uri: str, access: Access | None = None) -> str:
    """Returns the path or URI of a table to change; of a branch, as in "t.lance@load", that of its folder.

    raises: InvalidArgument for a version or a tag
    """
    plain, version, name = split_name(uri)
    if plain == uri:
        return uri
    if name is not None:
        store = open_store(plain, access)
        # a name that reads as a tag must not write to a branch
        if refs.has_branch(store, name) and name not in refs.tags(store):
            return Address(absolute(plain), name).place
    chosen = version if version is not None else name
    raise InvalidArgument(
        f"Changes apply to the newest version: give {plain} without @{chosen}, or a branch, {plain}@BRANCH"
    )


def resolve_links(root: str, access: Access) -> Address | None:
    """Resolves links in the middle of a path to the address of a branch; returns None for other places."""
    path = local_path(root)
    return None if path is None else _of_branch(os.path.realpath(path), access)


def _of_branch(place: str, access: Access) -> Address | None:
    if _TREE not in place:
        return None
    for root, branch in _splits(place):
        if refs.has_branch(open_store(root, access), branch):
            return Address(root, branch)
    return None


def _splits(place: str) -> Iterator[tuple[str, str]]:
    """Yields every split of a place into a root and a branch, the longest root first."""
    path, mark, query = place.partition("?") if "://" in place else (place, "", "")
    path = path.replace(os.sep, "/").rstrip("/")
    end = len(path)
    while (end := path.rfind(_TREE, 0, end)) > 0:
        yield path[:end] + mark + query, path[end + len(_TREE) :]
