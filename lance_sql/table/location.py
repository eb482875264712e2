"""Location of one version from the arguments of the user, with errors in the user's terms."""

from __future__ import annotations

import difflib
import os
from datetime import date, datetime, timedelta
from typing import Any, Final, NamedTuple

from lance_sql.errors import NO_TABLE, CorruptFile, InvalidArgument, TableNotFound, VersionNotFound
from lance_sql.store import Store, check_path, open_store
from lance_sql.store.access import Access
from lance_sql.store.open import below, files_uri, local_path
from lance_sql.table import address, refs, versions
from lance_sql.table.paths import DATA
from lance_sql.table.version_names import as_version, unknown_name, unknown_version
from lance_sql.table.versions import VersionFile, VersionLike
from lance_sql.values import moments
from lance_sql.values.local_paths import shown

MAIN = "main"

_OTHER_FORMATS: Final = frozenset((".parquet", ".csv", ".tsv", ".json", ".jsonl", ".ndjson", ".arrow", ".orc", ".avro"))
_MAX_NEIGHBOURS: Final = 8
"""Maximum number of tables that a message lists."""


class Location(NamedTuple):
    """Location of one version of a table.

    root: path or URI of the table's root
    main: the store of the root, with the tags and branches
    store: of the branch; same as `main` on main
    branch: None on main
    is_latest: the user named no version
    """

    root: str
    main: Store
    store: Store
    branch: str | None
    file: VersionFile
    is_latest: bool


def locate(
    uri: str,
    *,
    version: VersionLike | None = None,
    tag: str | None = None,
    branch: str | None = None,
    as_of: datetime | date | timedelta | str | None = None,
    access: Access,
) -> Location:
    """Locates the version that the arguments of `open_snapshot` name.

    version: text is a number, a tag, or a time if no tag has that name
    raises: TableNotFound, VersionNotFound, InvalidArgument, CorruptFile
    """
    _check_arguments(version, tag, branch, as_of)
    given = {"tag"} if tag is not None else set()
    root, own_branch = address.resolve(uri, access)
    options: dict[str, Any] = {"version": version, "tag": tag, "branch": branch, "as_of": as_of, "access": access}
    main = open_store(root, access)
    table = table_name(root)
    if version is not None and not isinstance(version, int):
        version, tag, as_of = _named(main, version)
    if tag is not None:
        ref = refs.tags(main).get(tag)
        if ref is None:
            if own_branch is None and (linked := address.resolve_links(root, access)) is not None:
                return locate(linked.place, **options)
            _check_table(main, uri)
            raise VersionNotFound(_unknown_tag(main, tag, table, is_tag="tag" in given))
        if branch not in (None, ref.branch or MAIN):
            raise InvalidArgument(f"The tag {tag!r} names version {ref.version} of branch {ref.branch or MAIN!r}")
        branch, version = ref.branch, ref.version
    elif branch is None:
        branch = own_branch
    branch = None if branch == MAIN else branch
    store = main if branch is None else branch_store(root, branch, access)
    where = table if branch is None else f"{table}, branch {branch!r}"
    if branch not in (None, own_branch) and not refs.has_branch(main, branch):
        # its files may remain: another library may write to a branch while it is deleted
        _check_table(main, uri)
        if own_branch is None and (linked := address.resolve_links(root, access)) is not None:
            return locate(linked.place, **options)
        raise VersionNotFound(_unknown_branch(main, branch, table))
    if version is not None:
        file = _before_newest(store, -version) if version < 0 else versions.find_version(store, version)
        if file is not None:
            return Location(root, main, store, branch, file, is_latest=False)
    if version is None and as_of is None:
        newest = versions.newest(store)
        if newest is not None:
            return Location(root, main, store, branch, newest, is_latest=True)
    files = versions.list_versions(store)
    if not files:
        _check_table(main, uri)
        if branch is None:
            # it was written during the lookup
            return locate(uri, **options)
        raise VersionNotFound(_unknown_branch(main, branch, table))
    if version is not None:
        available = versions.describe(files, whole_history=branch is None)
        named = f" (tag {tag!r})" if tag is not None else ""
        raise VersionNotFound(f"Version {version}{named} does not exist in {where}: {available}")
    if as_of is not None:
        return Location(root, main, store, branch, _as_of(store, as_of, where), is_latest=False)
    return Location(root, main, store, branch, files[-1], is_latest=True)


def _before_newest(store: Store, steps: int) -> VersionFile | None:
    """Returns the version that many steps before the newest existing one; None if there are fewer."""
    files = versions.list_versions(store)
    return files[-1 - steps] if steps < len(files) else None


def table_name(uri: str) -> str:
    """Returns the last part of a path or URI, the name of the table in messages."""
    return files_uri(uri).replace("\\", "/").rstrip("/").rpartition("/")[2] or uri


def branch_store(uri: str, branch: str, access: Access) -> Store:
    """Returns the store of a branch, which is its own table root.

    raises: InvalidArgument for an invalid branch name
    """
    try:
        check_path(branch)
    except CorruptFile as error:
        raise InvalidArgument(f"{branch[:100]!r} cannot be the name of a branch") from error
    return open_store(below(uri, f"tree/{branch}"), access)


def _named(main: Store, version: VersionLike) -> tuple[int | None, str | None, datetime | None]:
    """Returns the version, the tag or the time that a value names; text that is none of them counts as a tag."""
    if not isinstance(version, str):
        if isinstance(version, int):
            return version, None, None
        return None, None, moments.instant(version)
    number = as_version(version)
    if number is not None:
        return number, None, None
    if version not in refs.tags(main):
        return (None, None, moments.instant(version)) if moments.is_time(version) else (None, version, None)
    return None, version, None


def _check_arguments(
    version: VersionLike | None, tag: str | None, branch: str | None, as_of: VersionLike | None
) -> None:
    given = [name for name, value in (("version", version), ("tag", tag), ("as_of", as_of)) if value is not None]
    if len(given) > 1:
        raise InvalidArgument(f"Pass one of version, tag and as_of, not {' and '.join(given)}")
    if tag is not None and branch is not None:
        raise InvalidArgument("A tag names its branch: pass either tag or branch")
    if version is not None and (not isinstance(version, VersionLike) or isinstance(version, bool)):
        raise InvalidArgument(f"version={version!r} is not a whole number, a tag or a time")


def _as_of(store: Store, when: datetime | date | timedelta | str, where: str) -> VersionFile:
    instant = moments.instant(when)
    file_or_oldest = versions.as_of(store, instant, where)
    if isinstance(file_or_oldest, VersionFile):
        return file_or_oldest
    first = versions.list_versions(store)[0].version
    time = f", at {file_or_oldest.isoformat()}" if file_or_oldest is not None else ""
    raise VersionNotFound(
        f"{where} did not exist at {instant.isoformat()}: version {first} was committed later{time}. Name a later time"
        f", or version {first}"
    )


def _unknown_tag(main: Store, tag: str, table: str, *, is_tag: bool) -> str:
    """
    is_tag: the user named a tag, not a version of any kind
    """
    branches = refs.branches(main)
    if tag in branches:
        return f"No tag {tag[:100]!r} in {table}, but a branch of that name: pass branch={tag!r} (--branch {tag})"
    if is_tag:
        return unknown_name("tag", tag, table, refs.tags(main))
    return unknown_version(tag, table, refs.tags(main), branches)


def _unknown_branch(main: Store, branch: str, table: str) -> str:
    branches = refs.branches(main)
    if branch in branches:
        return (
            f"The branch {branch!r} of {table} has no version: its folder tree/{branch} was not copied with the table,"
            f" or its creation did not end. Copy the folder, or remove the branch with branches.delete({branch!r})"
        )
    return unknown_name("branch", branch, table, branches)


def _check_table(main: Store, uri: str) -> None:
    """Makes sure that a table exists.

    raises: TableNotFound with the name of a similar table
    """
    if versions.list_versions(main):
        return
    path = local_path(uri)
    if path is not None and not os.path.exists(path):
        reason = "no such folder"
    elif path is not None and not os.path.isdir(path):
        reason = "it is a file"
    elif "_versions" in main.folders(""):
        reason = "no manifest in _versions"
    else:
        reason = "no _versions directory"
    message = f"{NO_TABLE[0]} {shown(uri)!r} ({reason})"
    if path is not None and os.path.isfile(path) and os.path.splitext(path)[1].lower() in _OTHER_FORMATS:
        # a table of a similar name is not the intended one
        raise TableNotFound(f"{message}. To write its rows to a table: lance-sql write new.lance {shown(uri)}")
    if path is not None and _has_data_files(path):
        # a table of a similar name is not the intended one
        raise TableNotFound(
            f"{message}. It has data files, but no version: its first writer did not commit, or its versions were lost."
            " Restore them from a backup"
        )
    neighbours = "" if path is None else _neighbours(shown(uri), path)
    if path is not None and os.path.isfile(path) and "Did you mean" not in neighbours:
        neighbours = f". To write its rows to a table: lance-sql write new.lance {shown(uri)}"
    raise TableNotFound(f"{message}{neighbours}")


def _has_data_files(folder: str) -> bool:
    try:
        with os.scandir(os.path.join(folder, DATA)) as entries:
            return any(entry.name.endswith(".lance") and entry.is_file() for entry in entries)
    except OSError:
        return False


def _has_versions(folder: str) -> bool:
    """Whether a folder has a manifest. A failed writer may leave an empty folder of versions."""
    try:
        return any(name.endswith(".manifest") for name in os.listdir(os.path.join(folder, "_versions")))
    except OSError:
        return False


def _neighbours(uri: str, path: str) -> str:
    """Returns the end of the message about a missing table: the table with the closest name in the same folder, or of
    the same name in the folder with the closest name, in the user's spelling; or else the tables of the folder, if
    they are few."""
    folder, name = os.path.split(os.path.abspath(path))
    if not os.path.isdir(folder):
        found = _in_neighbouring_folder(uri, folder, name)
        return "" if found is None else f". Did you mean {found!r}?"
    try:
        entries = [entry.name for entry in os.scandir(folder) if entry.name != name and _has_versions(entry.path)]
    except OSError:
        return ""
    # without the suffix that all have, which makes any two names similar
    stems = {entry.removesuffix(".lance"): entry for entry in entries}
    matches = [stems[stem] for stem in difflib.get_close_matches(name.removesuffix(".lance"), stems, n=1)]
    above = uri.rstrip("/")[: len(uri.rstrip("/")) - len(table_name(uri))]
    if matches:
        return f". Did you mean {above + matches[0]!r}?"
    if not entries or len(entries) > _MAX_NEIGHBOURS:
        return ""
    return f". Tables there: {', '.join(above + entry for entry in sorted(entries))}"


def _in_neighbouring_folder(uri: str, folder: str, name: str) -> str | None:
    above, missing = os.path.split(folder)
    try:
        folders = [entry.name for entry in os.scandir(above) if entry.is_dir()]
    except OSError:
        return None
    given = uri.rstrip("/")[: -len(name)].rstrip("/")
    for closest in difflib.get_close_matches(missing, folders) if given.endswith(missing) else ():
        if _has_versions(os.path.join(above, closest, name)):
            return f"{given[: len(given) - len(missing)]}{closest}/{name}"
    return None
