"""Versions of a table: listing them, and resolving the user's choice.

Source: table format, manifest naming schemes and the latest version.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime, timedelta
from typing import NamedTuple, TypeAlias

from lance_sql.errors import CorruptFile, at
from lance_sql.store import Store
from lance_sql.table import manifest
from lance_sql.table.paths import (
    V2_NAME_LENGTH,
    VERSIONS,
    NamingScheme,
    manifest_path,
    parse_manifest_name,
)

_DETACHED_BIT = 2**63
_MAX_VERSION = 2**64 - 1


VersionLike: TypeAlias = int | str | datetime | date | timedelta
"""A version as users name it: its number, a tag, or a time; see `location.locate` and `moments.instant`."""


class VersionFile(NamedTuple):
    """A version and its manifest file; `size` and `tag` are None if the listing does not include them.

    tag: see `ObjectInfo`
    """

    version: int
    path: str
    size: int | None = None
    tag: str | None = None


def check_version(version: int, file: VersionFile) -> None:
    """Makes sure that a manifest contains the version of its file name.

    raises: CorruptFile
    """
    if version != file.version:
        with at(file=file.path):
            raise CorruptFile(f"the manifest contains version {version}, not {file.version}")


def list_versions(store: Store) -> list[VersionFile]:
    """Returns the versions of the history, ascending, without detached ones.

    raises: CorruptFile for a mixture of both naming schemes, where one version may have two manifests
    """
    files = []
    schemes = {}
    for info in store.files(VERSIONS):
        name = info.path.rpartition("/")[2]
        parsed = parse_manifest_name(name)
        if parsed is not None:
            version, scheme = parsed
            schemes[scheme] = name
            files.append(VersionFile(version, info.path, info.size, info.tag))
    if len(schemes) > 1:
        with at(file=VERSIONS):
            shown = " and ".join(sorted(schemes.values()))
            raise CorruptFile(
                f"there are manifests under both naming schemes, such as {shown}, and only one scheme can be valid:"
                " move the others out of the folder"
            )
    return sorted(files)


def newest(store: Store) -> VersionFile | None:
    """Returns the newest version; None without any. Takes one request if names are listed in order, because names
    of scheme V2 begin with the newest.

    raises: CorruptFile as for `list_versions`, if the listed names show it
    """
    files = list_newer(store, None)
    return files[-1] if files else None


def list_newer(store: Store, since: int | None) -> list[VersionFile]:
    """Returns the versions from `since` on, ascending, or the newest one alone; lists as few names as possible.

    since: a version that may no longer exist
    raises: as for `newest`
    """
    if not store.lists_by_name:
        named = _named_newer(store, since)
        return _from(list_versions(store), since) if named is None else named
    files: list[VersionFile] = []
    for info in store.files(VERSIONS):
        parsed = parse_manifest_name(info.path.rpartition("/")[2])
        if parsed is None:
            continue
        version, scheme = parsed
        if scheme is not NamingScheme.V2 or (files and version >= files[-1].version):
            # Names of scheme V1 begin with any version.
            return _from(list_versions(store), since)
        if files and (since is None or version < since):
            break
        files.append(VersionFile(version, info.path, info.size, info.tag))
    return files[::-1]


def _named_newer(store: Store, since: int | None) -> list[VersionFile] | None:
    """Does the same with all names in the folder, and parses only the needed ones; None if the store returns no
    names, and for scheme V1."""
    names = store.names(VERSIONS)
    if names is None:
        return None
    if any(parse_manifest_name(name) is not None for name in names if len(name) != V2_NAME_LENGTH):
        return None
    files: list[VersionFile] = []
    for name in sorted(names):
        parsed = parse_manifest_name(name)
        if parsed is None:
            continue
        version, _ = parsed
        if files and (since is None or version < since):
            break
        # a folder may have such a name
        if find_version(store, version) is not None:
            files.append(VersionFile(version, f"{VERSIONS}/{name}"))
    return files[::-1]


def _from(files: list[VersionFile], since: int | None) -> list[VersionFile]:
    """Returns the last file, and those before it from a version on."""
    return [file for file in files[:-1] if since is not None and file.version >= since] + files[-1:]


def find_version(store: Store, version: int) -> VersionFile | None:
    """Returns the manifest of one version, which may be detached; None if it does not exist. Lists nothing."""
    if not 0 <= version <= _MAX_VERSION:
        return None
    schemes = [NamingScheme.V2, NamingScheme.V1]
    for scheme in schemes[: 1 if version & _DETACHED_BIT else 2]:
        path = manifest_path(version, scheme)
        try:
            size, _ = store.tail(path, 0)
        except (FileNotFoundError, IsADirectoryError):
            continue
        return VersionFile(version, path, size)
    return None


def as_of(store: Store, instant: datetime, table: str) -> VersionFile | datetime | None:
    """Returns the newest version committed at or before an instant.

    returns: the commit time of the first version if that is later, None without versions
    raises: CorruptFile, UnsupportedFeature for an unreadable version on the way
    """
    first: datetime | None = None
    for file in reversed(list_versions(store)):
        first = manifest.read(store, file.path, table, size=file.size).timestamp
        if first <= instant:
            return file
    return first


def describe(files: Sequence[VersionFile], *, whole_history: bool) -> str:
    """Describes the existing versions: "versions 3 to 42 are available (1-2 were cleaned up)".

    whole_history: the history begins with version 1, unlike that of a branch
    """
    runs: list[list[int]] = []
    for file in files:
        if runs and runs[-1][1] + 1 == file.version:
            runs[-1][1] = file.version
        else:
            runs.append([file.version, file.version])
    first, last = files[0].version, files[-1].version
    if first == last:
        text = f"only version {first} is available"
    elif len(runs) == 1:
        text = f"versions {first} to {last} are available"
    else:
        shown = [_run(*run) for run in runs]
        if len(shown) > 6:
            shown = [*shown[:3], "...", *shown[-2:]]
        text = f"versions {', '.join(shown)} are available"
    if whole_history and first == 2:
        text += " (1 was cleaned up)"
    elif whole_history and first > 2:
        text += f" (1-{first - 1} were cleaned up)"
    return text


def _run(first: int, last: int) -> str:
    return str(first) if first == last else f"{first}-{last}"


def as_ranges(versions: Sequence[int]) -> str:
    """Formats versions as text, with runs as ranges: 'versions 1-3, 7'."""
    parts: list[str] = []
    start = previous = None
    for version in (*versions, None):
        if start is not None and previous is not None and version != previous + 1:
            parts.append(str(start) if start == previous else f"{start}-{previous}")
            start = None
        start = version if start is None else start
        previous = version
    return f"version{'s' * (len(versions) != 1)} {', '.join(parts)}"


def read_manifest(store: Store, file: VersionFile, table: str) -> manifest.Manifest:
    """Reads the manifest of a version, and checks its number against that of its file.

    raises: CorruptFile, UnsupportedFeature
    """
    read = manifest.read(store, file.path, table, size=file.size)
    check_version(read.version, file)
    return read
