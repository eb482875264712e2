"""Tags and branches: names for versions.

    _refs/tags/<name>.json        {"branch": null, "version": 2, "createdAt": "2026-11-21T01:47:28.897Z", ...}
    _refs/branches/<name>.json    {"parentBranch": null, "parentVersion": 1, "createAt": 1795225648, ...}
    tree/<branch>/                the table root of a branch

Both lie at the root of the main branch. `/` in the name of a branch is written as %2F in the file name.

Source: table format, tags and branches.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from urllib.parse import unquote

from lance_sql.errors import CorruptFile, at
from lance_sql.store import Store
from lance_sql.table.paths import BRANCHES, TAGS

_MAX_BYTES = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Ref:
    """A tag, or where a branch begins.

    branch: that of a tag's version, the parent of a branch; None for main
    version: the version that a tag names; the parent's version that a branch began with
    """

    name: str
    branch: str | None
    version: int
    created_at: datetime | None = None


def tags(store: Store) -> dict[str, Ref]:
    """All tags by name, in the order of their names.

    store: of the main branch
    raises: CorruptFile
    """
    found = {}
    for name, path in _names(store, TAGS):
        with at(file=path):
            content = _content(store, path)
            found[name] = Ref(
                name,
                _branch(content, "branch"),
                _version(content, "version"),
                _time(content.get("createdAt")),
            )
    return found


def branches(store: Store) -> dict[str, Ref]:
    """All branches but main by name, in the order of their names.

    store: of the main branch
    raises: CorruptFile
    """
    found = {}
    for name, path in _names(store, BRANCHES):
        with at(file=path):
            content = _content(store, path)
            found[name] = Ref(
                name,
                _branch(content, "parentBranch"),
                _version(content, "parentVersion"),
                _time(content.get("createAt")),
            )
    return found


def _names(store: Store, folder: str) -> list[tuple[str, str]]:
    paths = [info.path for info in store.files(folder)]
    return sorted((unquote(path[len(folder) + 1 : -5]), path) for path in paths if path.endswith(".json"))


def _content(store: Store, path: str) -> Mapping[str, Any]:
    size, content = store.tail(path, _MAX_BYTES)
    if size > _MAX_BYTES:
        raise CorruptFile(f"a reference of {size} bytes")
    try:
        parsed = json.loads(content.to_pybytes())
    except RecursionError as error:
        raise CorruptFile("a reference nested without end") from error
    if not isinstance(parsed, dict):
        raise CorruptFile("a reference is no JSON object")
    return parsed


def _version(content: Mapping[str, Any], key: str) -> int:
    version = content.get(key)
    if not isinstance(version, int) or isinstance(version, bool) or not 0 <= version < 2**64:
        raise CorruptFile(f"a reference has {version!r} as its {key}")
    return version


def _branch(content: Mapping[str, Any], key: str) -> str | None:
    branch = content.get(key)
    if branch is not None and not isinstance(branch, str):
        raise CorruptFile(f"a reference has {branch!r} as its {key}")
    return None if branch in (None, "", "main") else branch


def _time(value: object) -> datetime | None:
    """A time that is there for information only, so one in another form is left out."""
    try:
        if isinstance(value, str):
            return datetime.fromisoformat(value).astimezone(UTC)
        if isinstance(value, int | float):
            return datetime.fromtimestamp(value, UTC)
    except (ValueError, OverflowError, OSError):
        return None
    return None
