"""Cleanup: removes old versions, and files that no version needs.

    kept       the latest version, the newest ones, those with a tag, those that a branch begins with and later ones,
               which the branch needs to be published, and those whose changes a cursor has not read yet, with the
               one before
    removed    all others, and the files that only they need: data files, deletion files, indices, transactions
    leftovers  files that no version names: of failed writers, or of writers before their commit; only when older than
               a week

A branch needs files of its parents, so the files of all of its versions are kept. Clones elsewhere are unknown:
they lose files that are removed here.

Source: table format, transactions, cleanup.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from itertools import chain
from typing import Final

import pyarrow as pa

from lance_sql.errors import CorruptFile, LanceError, RetryableConflict, VersionNotFound
from lance_sql.runtime.progress import Work
from lance_sql.store import Store
from lance_sql.store.local import remove_empty_folders
from lance_sql.store.put_once import put_once
from lance_sql.table import checksums, cursor_files, identity, versions
from lance_sql.table.location import branch_store
from lance_sql.table.open_snapshot import close_unused
from lance_sql.table.paths import INDICES, VERSIONS
from lance_sql.table.snapshot import Snapshot
from lance_sql.table.versions import VersionFile, as_ranges
from lance_sql.values.arguments import age, check_number
from lance_sql.values.records import Record
from lance_sql.writes.commit.needed_files import is_leftover, needed_files, owner_of, table_files

_DETACHED_BIT: Final = 2**63
_MAX_VERSION: Final = 2**64 - 1
_WHOLE_FILE: Final = 2**47
_PUT_BACK_ATTEMPTS: Final = 12
_MAX_BYTES: Final = 64 * 1024 * 1024
"""Limit of manifests held in memory until it is known that nothing names their versions."""


@dataclass(frozen=True, slots=True, repr=False)
class CleanupPlan(Record):
    """Versions and files that a cleanup would remove.

    snapshot: the latest version when the plan was made
    versions: ascending
    files: paths in the store of the branch, without the manifests
    num_bytes: of the files and manifests whose size the listing includes
    records: checksums of files
    remaining: paths of the files that stay
    held: versions kept only for cursors and branches, and the names of these: "warehouse", "branch load"
    released: cursors and branches that lag by more than `max_lag`: the versions they need are removed as well
    sizes: of all files in the listing; None if it does not include it
    """

    snapshot: Snapshot
    versions: tuple[VersionFile, ...]
    files: tuple[str, ...]
    num_bytes: int
    records: tuple[checksums.Record, ...] = field(default=(), repr=False)
    remaining: frozenset[str] = field(default=frozenset(), repr=False)
    held: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    released: tuple[str, ...] = ()
    sizes: Mapping[str, int | None] = field(default_factory=dict, repr=False)

    def __repr__(self) -> str:
        numbers = [file.version for file in self.versions]
        removed = as_ranges(numbers) if numbers else "no versions"
        held = f", held={dict(self.held)!r}" if self.held else ""
        return f"CleanupPlan({removed}, files={len(self.files)}, num_bytes={self.num_bytes}{held})"


def cleanup(
    snapshot: Snapshot,
    older_than: timedelta | str | None,
    retain_versions: int | None,
    max_lag: timedelta | str | None,
    *,
    dry_run: bool,
) -> CleanupPlan:
    """Removes old versions, and files that no version needs.

    dry_run: plan only
    others, raises: as `plan` and `execute`
    """
    planned = plan(snapshot, older_than=older_than, retain_versions=retain_versions, max_lag=max_lag)
    return planned if dry_run else execute(planned)


def plan(
    snapshot: Snapshot,
    *,
    older_than: timedelta | str | None = None,
    retain_versions: int | None = None,
    max_lag: timedelta | str | None = None,
    now: datetime | None = None,
) -> CleanupPlan:
    """Plans a cleanup of the snapshot's branch. Removes nothing.

    older_than: younger versions are kept; two weeks if neither this nor `retain_versions` is given
    retain_versions: number of newest versions to keep, at least one
    max_lag: a cursor or branch holds no versions if its oldest unread change, or the oldest since it began, is
        older than this
    raises: InvalidArgument; CorruptFile and UnsupportedFeature for an unreadable version, whose needed files are
        unknown
    """
    check_number("retain_versions", retain_versions, least=1)
    least_age, most_lag = age("older_than", older_than), age("max_lag", max_lag)
    if least_age is None and retain_versions is None:
        least_age = timedelta(days=14)
    try:
        return _planned(snapshot.latest(), least_age, retain_versions, most_lag, now or datetime.now(UTC))
    except CorruptFile as error:
        if not (error.file or "").startswith(VERSIONS):
            raise
        told = CorruptFile(
            f"{error.message}: the files of this version are unknown, so nothing is removed: restore the manifest, or"
            " delete it if you can lose the version"
        )
        raise told.located(error.file, table=error.table) from error


def _planned(
    snapshot: Snapshot,
    older_than: timedelta | None,
    retain_versions: int | None,
    max_lag: timedelta | None,
    now: datetime,
) -> CleanupPlan:
    files = versions.list_versions(snapshot.store)
    work = Work(len(files))
    snapshots = list(_read(map(snapshot.sibling, files), work))
    if not snapshots:
        raise identity.ended(snapshot, " before the cleanup")
    latest = snapshots[-1]
    pinned = _pinned(latest)
    newest = {each.version for each in snapshots[-(retain_versions or 1) :]}
    unpinned = [
        each
        for each in snapshots
        if each.version not in newest
        and each.version not in pinned
        and (older_than is None or each.manifest.timestamp < now - older_than)
    ]
    wanted = _wanted(latest)
    released = [] if max_lag is None else _late(wanted, snapshots, now - max_lag)
    held = _held(unpinned, {name: wanted[name] for name in wanted if name not in released})
    removed = [each for each in unpinned if each.version not in held]
    removed_numbers = {each.version for each in removed}
    staying = (
        *(each for each in snapshots if each.version not in removed_numbers),
        *_read(_detached(latest), work),
        *_read(_branches(latest), work),
    )
    needed, dropped = needed_files(staying, latest), needed_files(removed, latest)
    # before the files are listed: a checksum is recorded after its file is written
    records, _ = checksums.read(latest.store)
    sizes = dict(table_files(latest.store))
    owners = ((path, owner_of(path)) for path in sorted(sizes))
    unneeded = ((path, owner) for path, owner in owners if owner not in needed)
    paths = [path for path, owner in unneeded if owner in dropped or is_leftover(latest.store, path, now)]
    num_bytes = sum(sizes[path] or 0 for path in paths) + sum(each.file.size or 0 for each in removed)
    remaining = frozenset(sizes.keys() - set(paths))
    versions_removed = tuple(each.file for each in removed)
    return CleanupPlan(
        latest,
        versions_removed,
        tuple(paths),
        num_bytes,
        tuple(records),
        remaining,
        held,
        tuple(sorted(released)),
        sizes,
    )


def _held(unpinned: Iterable[Snapshot], wanted: Mapping[str, tuple[int, int]]) -> dict[int, tuple[str, ...]]:
    """Returns the names of the cursors that want versions, by version."""
    held = {
        each.version: tuple(name for name, (first, last) in wanted.items() if first <= each.version <= last)
        for each in unpinned
    }
    return {version: names for version, names in held.items() if names}


def execute(planned: CleanupPlan) -> CleanupPlan:
    """Removes the planned versions and files. Versions come first, so that no visible version lacks files.

    returns: what was removed; versions that got a name in the meantime are still there
    raises: RetryableConflict if a version got a tag, a branch or a cursor since the plan was made; then nothing was
        removed
    """
    snapshot = planned.snapshot
    if kept := _named_since(planned, planned.versions):
        raise RetryableConflict(
            f"{snapshot.name}: version {kept[0].version} has a new tag, branch or cursor: plan the cleanup again"
        )
    kept = _remove_versions(planned)
    # Another writer may have restored one of them in the meantime, which is no longer possible now.
    newer = [file for file in versions.list_versions(snapshot.store) if file.version > snapshot.version]
    needed = needed_files(
        _read(chain(map(snapshot.sibling, (*kept, *newer)), _branches(snapshot)), Work(None)), snapshot
    )
    removed = [path for path in planned.files if owner_of(path) not in needed]
    work = Work(len(removed))
    for path in removed:
        work.advance(1)
        snapshot.store.delete(path)
    _remove_index_folders(snapshot.store, removed)
    done = _without(planned, kept, removed)
    checksums.tidy(snapshot.store, planned.records, done.remaining)
    close_unused()
    return done


def _without(planned: CleanupPlan, kept: Sequence[VersionFile], removed: Sequence[str]) -> CleanupPlan:
    """Returns the plan without versions and files that stayed.

    removed: paths of the files that did not
    """
    if not kept and len(removed) == len(planned.files):
        return planned
    stayed = set(planned.files) - set(removed)
    num_bytes = sum(planned.sizes.get(path) or 0 for path in stayed) + sum(file.size or 0 for file in kept)
    return replace(
        planned,
        versions=tuple(file for file in planned.versions if file not in kept),
        files=tuple(removed),
        num_bytes=planned.num_bytes - num_bytes,
        remaining=planned.remaining | stayed,
    )


def _remove_index_folders(store: Store, removed: Iterable[str]) -> None:
    """Removes the folders of indices, on stores with folders, if no file is left in them."""
    for folder in sorted({owner_of(path) for path in removed if path.startswith(f"{INDICES}/")}):
        local = store.local_path(folder.rstrip("/"))
        if local is not None and folder.endswith("/"):
            remove_empty_folders(local)


def _remove_versions(planned: CleanupPlan) -> list[VersionFile]:
    """Removes manifests, the oldest first, and restores those that got a name in the meantime. A writer that names
    a version looks for its manifest afterwards, so that one of the two notices the other.

    returns: restored versions
    raises: errors of the store, after the versions that nobody may need are restored as far as possible
    """
    store = planned.snapshot.store
    kept: list[VersionFile] = []
    contents = dict[VersionFile, pa.Buffer]()
    for file in (*planned.versions, None):
        try:
            if file is not None:
                with suppress(FileNotFoundError):
                    # another cleanup may have removed it
                    _, contents[file] = store.tail(file.path, _WHOLE_FILE)
                store.delete(file.path)
            if file is not None and sum(content.size for content in contents.values()) <= _MAX_BYTES:
                continue
            named = _named_since(planned, tuple(contents))
        except BaseException:
            # whether they have a name is unknown
            for each, content in contents.items():
                with suppress(OSError, LanceError):
                    _put_back(store, each, content)
            raise
        kept += named
        for each in named:
            _put_back(store, each, contents[each])
        contents.clear()
    return kept


def _put_back(store: Store, file: VersionFile, content: pa.Buffer) -> None:
    """Restores a manifest. A store may refuse that for a while right after its deletion.

    raises: errors of the store
    """
    put_once(store, file.path, content, mode="next", attempts=_PUT_BACK_ATTEMPTS)


def _named_since(planned: CleanupPlan, files: Sequence[VersionFile]) -> list[VersionFile]:
    """Returns the versions to be removed that a tag, branch or cursor names now."""
    pinned = _pinned(planned.snapshot)
    wanted = [span for name, span in _wanted(planned.snapshot).items() if name not in planned.released]
    return [
        file for file in files if file.version in pinned or any(first <= file.version <= last for first, last in wanted)
    ]


def _pinned(snapshot: Snapshot) -> set[int]:
    """Returns the versions of this branch that have a tag, or that a branch begins with."""
    refs = (*snapshot.tags().values(), *snapshot.branches().values())
    return {ref.version for ref in refs if ref.branch == snapshot.branch}


def _wanted(snapshot: Snapshot) -> dict[str, tuple[int, int]]:
    """Returns by cursor and by branch the first and the last version of this branch that its changes need. To be
    published, a branch needs all versions since it began, on both sides."""
    refs = snapshot.branches()
    wanted = {}
    for each in refs.values():
        if snapshot.branch in (each.branch, each.name):
            wanted[f"branch {each.name}"] = (each.version, _MAX_VERSION)
    for record in cursor_files.read_all(snapshot.main):
        # up to the version where the branch that it reads forked from this one
        branch, last = record.branch, _MAX_VERSION
        for _ in refs:
            ref = refs.get(branch or "")
            if branch == snapshot.branch or ref is None:
                break
            branch, last = ref.branch, min(last, ref.version)
        if branch == snapshot.branch and record.position <= last:
            wanted[record.name] = (record.position, last)
    return wanted


def _late(wanted: Mapping[str, tuple[int, int]], snapshots: Sequence[Snapshot], oldest: datetime) -> list[str]:
    """Returns the cursors and branches whose oldest change was committed before a time."""
    times = {each.version: each.manifest.timestamp for each in snapshots}
    late = []
    for name, (first, last) in wanted.items():
        changes = [when for version, when in times.items() if first < version <= last]
        if changes and min(changes) < oldest:
            late.append(name)
    return late


def _branches(snapshot: Snapshot) -> Iterator[Snapshot]:
    """Yields all versions of all other branches."""
    stores: dict[str | None, Store] = {None: snapshot.main}
    for name in snapshot.branches():
        stores[name] = branch_store(snapshot.uri, name, snapshot.access)
    for branch, store in stores.items():
        if branch != snapshot.branch:
            for file in versions.list_versions(store):
                yield Snapshot(
                    snapshot.uri,
                    snapshot.main,
                    store,
                    file,
                    branch=branch,
                    access=snapshot.access,
                )


def _detached(snapshot: Snapshot) -> Iterator[Snapshot]:
    """Yields the detached versions, whose age is unknown."""
    for info in snapshot.store.files(VERSIONS):
        name = info.path.rpartition("/")[2].removesuffix(".manifest")
        if name.startswith("d") and name[1:].isdecimal() and int(name[1:]) & _DETACHED_BIT:
            yield snapshot.sibling(VersionFile(int(name[1:]), info.path, info.size))


def _read(snapshots: Iterable[Snapshot], work: Work) -> Iterator[Snapshot]:
    """Reads the manifests and indices of the listed versions, and yields those that still exist. Other cleanups,
    and deletions of branches, may have removed some in the meantime.

    work: counts the versions
    raises: CorruptFile, UnsupportedFeature
    """
    for each in snapshots:
        work.advance(1)
        try:
            _ = each.manifest, each.indices()
        except (CorruptFile, VersionNotFound):
            if versions.find_version(each.store, each.version) is not None:
                raise
        else:
            yield each
