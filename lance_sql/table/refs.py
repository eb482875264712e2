"""Tags and branches: names of versions.

    _refs/tags/<name>.json        {"branch": null, "version": 2, "createdAt": "2026-11-21T01:47:28.897Z", ...}
    _refs/branches/<name>.json    {"parentBranch": null, "parentVersion": 1, "createAt": 1795225648, ...}
    tree/<branch>/                the table root of a branch

Both are stored at the root of the main branch. `/` in the name of a branch is written as %2F in the file name.

Source: table format, tags and branches.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final, TypeAlias
from urllib.parse import quote, unquote
from uuid import uuid4

from lance_sql.errors import BranchExists, CorruptFile, InvalidArgument, LanceError, TagExists, VersionNotFound, at
from lance_sql.store import Store
from lance_sql.store.cached import read_twice
from lance_sql.store.put_once import put_once
from lance_sql.table.paths import BRANCHES, TAGS
from lance_sql.table.version_names import unknown_name
from lance_sql.values import names
from lance_sql.values.records import Record

_MAX_BYTES: Final = 1024 * 1024


Check: TypeAlias = Callable[[], None]


@dataclass(frozen=True, slots=True, repr=False)
class Ref(Record):
    """A tag, or the origin of a branch.

    branch: of a tag's version, or the parent of a branch; None for main
    version: of a tag, or the parent's version that a branch began with
    uuid: of a branch, which differs from that of a later branch of the same name; None if not recorded
    """

    name: str
    branch: str | None
    version: int
    created_at: datetime | None = None
    uuid: str | None = field(default=None, repr=False)


def tags(store: Store) -> dict[str, Ref]:
    """Returns all tags by name, in the order of their names.

    store: of the main branch
    raises: CorruptFile
    """
    tags = {}
    for name, path, content in _listed(store, TAGS):
        with at(file=path):
            tags[name] = Ref(
                name,
                _branch(content, "branch"),
                _version(content, "version"),
                _time(content.get("createdAt")),
            )
    return tags


def branches(store: Store) -> dict[str, Ref]:
    """Returns all branches except main by name, in the order of their names.

    store: of the main branch
    raises: CorruptFile
    """
    branches = {}
    for name, path, content in _listed(store, BRANCHES):
        with at(file=path):
            branches[name] = Ref(
                name,
                _branch(content, "parentBranch"),
                _version(content, "parentVersion"),
                _time(content.get("createAt")),
                _uuid(_mapping(content, path)),
            )
    return branches


def has_branch(store: Store, name: str) -> bool:
    """Whether a branch of this name exists, damaged or not.

    store: of the main branch
    raises: OSError if the store returns no answer
    """
    try:
        store.tail(_branch_path(name), 0)
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError, PermissionError, CorruptFile):
        return False
    return True


def create_tag(
    store: Store, name: str, version: int, *, branch: str | None, manifest_size: int, check: Check | None = None
) -> None:
    """Creates a tag of a version.

    store: of the main branch
    check: raises an error if the version is gone, which removes the tag again. A cleanup that did not see the tag
        has removed the version by the time of this check
    raises: InvalidArgument for an invalid name; TagExists
    """
    names.check_new_reference(name, "tag")
    now = _now()
    content: dict[str, Any] = {
        "branch": branch,
        "version": version,
        "createdAt": now,
        "updatedAt": now,
        "manifestSize": manifest_size,
        "metadata": {},
    }
    if not put_once(store, f"{TAGS}/{name}.json", _json(content)):
        raise TagExists(f"Tag {name!r} exists already: choose another name, or move it with move_tag (--move)")
    with _taken_back(partial(store.delete, f"{TAGS}/{name}.json")):
        if check is not None:
            check()


def move_tag(
    store: Store,
    name: str,
    version: int,
    *,
    branch: str | None,
    manifest_size: int,
    check: Check | None = None,
    table: str = "the table",
) -> None:
    """Moves a tag to another version.

    check: as for `create_tag`; if it raises, the tag is moved back
    table: for messages
    raises: VersionNotFound for a missing tag
    """
    path = _tag_path(name)
    before = _existing_tag(store, name, table)
    content: dict[str, Any] = {
        "metadata": {},
        **before,
        "branch": branch,
        "version": version,
        "updatedAt": _now(),
        "manifestSize": manifest_size,
    }
    store.put(path, _json(content), mode="overwrite")
    with _taken_back(partial(store.put, path, _json(before), mode="overwrite")):
        if check is not None:
            check()


def delete_tag(store: Store, name: str, *, table: str = "the table") -> None:
    """Removes a tag, but not its version.

    table: for messages
    raises: VersionNotFound for a missing tag
    """
    _existing_tag(store, name, table)
    store.delete(_tag_path(name))


def add_branch(store: Store, name: str, version: int, *, parent: str | None, manifest_size: int) -> None:
    """Records the origin of a branch whose first version exists.

    manifest_size: of the parent's version
    raises: InvalidArgument for an invalid name, and for an existing one; CorruptFile for a damaged parent
    """
    names.check_new_reference(name, "branch")
    mapping: list[Any] = []
    if parent is not None:
        mapping = _mapping(_existing(store, _branch_path(parent), f"branch {parent!r}"), _branch_path(parent))
    content = {
        "parentBranch": parent,
        "identifier": {"version_mapping": [*mapping, [version, uuid4().hex]]},
        "parentVersion": version,
        "createAt": int(datetime.now(UTC).timestamp()),
        "manifestSize": manifest_size,
        "metadata": {},
    }
    if not put_once(store, _branch_path(name), _json(content)):
        raise BranchExists(f"Branch {name!r} exists already: choose another name, or delete it first")


def remove_branch(store: Store, name: str) -> Callable[[], None]:
    """Removes the reference of a branch, but not its files. Ignores a missing one.

    returns: a function that restores the reference
    """
    path = _branch_path(name)
    try:
        _, content = store.tail(path, _MAX_BYTES)
    except FileNotFoundError:
        return lambda: None
    store.delete(path)
    return partial(store.put, path, content, mode="overwrite")


@contextmanager
def _taken_back(undo: Callable[[], None]) -> Iterator[None]:
    """Undoes a write if the block raises an error, which matters more than a failed removal."""
    try:
        yield
    except BaseException:
        with suppress(OSError, LanceError):
            undo()
        raise


def _tag_path(name: str) -> str:
    """Returns the path of a tag, which may not exist.

    raises: VersionNotFound for an invalid name
    """
    try:
        names.check(name, "tag")
    except InvalidArgument:
        raise VersionNotFound(f"No tag {str(name)[:100]!r}") from None
    return f"{TAGS}/{name}.json"


def _branch_path(name: str) -> str:
    return f"{BRANCHES}/{quote(name, safe='')}.json"


def _existing_tag(store: Store, name: str, table: str) -> Mapping[str, Any]:
    try:
        return _existing(store, _tag_path(name), f"tag {name!r}")
    except VersionNotFound as error:
        raise VersionNotFound(unknown_name("tag", name, table, (known for known, _ in _names(store, TAGS)))) from error


def _existing(store: Store, path: str, what: str) -> Mapping[str, Any]:
    with at(file=path):
        try:
            return read_twice(store, path, partial(_content, store, path))
        except FileNotFoundError as error:
            raise VersionNotFound(f"no {what}") from error


def _json(content: Mapping[str, Any]) -> bytes:
    return json.dumps(content, indent=2).encode()


def _now() -> str:
    return datetime.now(UTC).isoformat().replace("+00:00", "Z")


def _names(store: Store, folder: str) -> list[tuple[str, str]]:
    """Returns the names and paths of the references in a folder. Files of others, such as "._x.json", are left out."""
    paths = [info.path for info in store.files(folder) if info.path.endswith(".json")]
    kind: names.Kind = "tag" if folder == TAGS else "branch"
    found = []
    for path in paths:
        name = unquote(path[len(folder) + 1 : -5])
        with suppress(InvalidArgument):
            names.check(name, kind)
            found.append((name, path))
    return sorted(found)


def _listed(store: Store, folder: str) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """Yields the name, path and content of each reference; skips those removed since the folder was listed."""
    for name, path in _names(store, folder):
        try:
            with at(file=path):
                content = read_twice(store, path, partial(_content, store, path))
        except CorruptFile as error:
            # macOS writes "._v1.json" beside "v1.json"
            if isinstance(error.__cause__, FileNotFoundError) or name.startswith("._"):
                continue
            raise
        yield name, path, content


def _content(store: Store, path: str) -> Mapping[str, Any]:
    size, content = store.tail(path, _MAX_BYTES)
    if size > _MAX_BYTES:
        raise CorruptFile(f"a reference of {size} bytes")
    try:
        parsed = json.loads(content.to_pybytes())
    except (ValueError, RecursionError) as error:
        raise CorruptFile(f"a reference is not JSON ({error})") from error
    if not isinstance(parsed, dict):
        raise CorruptFile("a reference is not a JSON object")
    return parsed


def _mapping(content: Mapping[str, Any], path: str) -> list[Any]:
    """Returns the versions that a branch and its ancestors began with; empty if not recorded."""
    identifier = content.get("identifier") or {}
    mapping = identifier.get("version_mapping") or [] if isinstance(identifier, dict) else None
    if not isinstance(mapping, list):
        with at(file=path):
            raise CorruptFile("a reference has no list of versions in its identifier")
    return mapping


def _uuid(mapping: list[Any]) -> str | None:
    last = mapping[-1] if mapping else None
    return last[1] if isinstance(last, list) and len(last) == 2 and isinstance(last[1], str) else None


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
    """Parses a time that is informational only; None for an unknown form."""
    try:
        if isinstance(value, str):
            return datetime.fromisoformat(value).astimezone(UTC)
        if isinstance(value, int | float):
            return datetime.fromtimestamp(value, UTC)
    except (ValueError, OverflowError, OSError):
        return None
    return None
