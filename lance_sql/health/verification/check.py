"""Check of a table: damaged files, the versions that need them, and the columns that can still be read.

Each version is checked from its manifest down: data files and the metadata of their columns, deletion files, row ids,
row versions, counts, files of scalar indices. A file that several versions share is checked once. A deep check also
decodes every page of every column, which finds whatever breaks an encoding, a count or a length.

Only checksums detect bytes that changed into other valid values. This library records them for the files that it
writes. A deep check compares them, and a check of checksums does nothing else.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Hashable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Unpack

from lance_sql.changes.history import BranchHistory, origin
from lance_sql.errors import TABLE_ERRORS, CorruptFile, LanceError, at
from lance_sql.format.schema import Field
from lance_sql.health.lineage_audit.faults import Kind
from lance_sql.health.lineage_audit.lineage import Lineage
from lance_sql.health.verification import identities, rows_check
from lance_sql.health.verification.findings import Findings, errors_of, note_columns, pages_in
from lance_sql.health.verification.mended import mended
from lance_sql.health.verification.verification_report import Compared, Report
from lance_sql.reads import write_ahead_log
from lance_sql.runtime.progress import Progress, Work, reporting
from lance_sql.store.access import Access, PlaceOptions
from lance_sql.table.compared_files import ComparedFiles
from lance_sql.table.fragment import DataFile, Fragment
from lance_sql.table.fragments import Fragments
from lance_sql.table.open_fragment import OpenFragment
from lance_sql.table.open_snapshot import list_snapshots
from lance_sql.table.refs import Ref
from lance_sql.table.snapshot import Snapshot
from lance_sql.table.transactions import TooLong, read_bytes
from lance_sql.table.versions import VersionLike
from lance_sql.values.keywords import suggests_keywords
from lance_sql.values.local_paths import place_text


@suggests_keywords
def verify(
    uri: str | os.PathLike[str],
    *,
    version: VersionLike | None = None,
    tag: str | None = None,
    branch: str | None = None,
    deep: bool = False,
    checksums: bool = False,
    lineage: bool = False,
    progress: Progress | None = None,
    **access: Unpack[PlaceOptions],
) -> Report:
    """Checks one version of a table, or all of them.

    deep: decode every page, and compare files with their checksums
    checksums: only compare files with their checksums; decodes nothing, so it takes as long as reading them. For files
        without a checksum, it checks that they exist and have the size in the manifest
    lineage: also compare row ids and row versions with the recorded transactions, as `audit` does
    progress: called with the number of checked fragments of versions, and the total
    access: keywords of `lance_sql.open` that say where the files are and how they are reached
    raises: TableNotFound, VersionNotFound; damage is reported, not raised

    >>> lance_sql.verify("examples/orders.lance", version=9).is_healthy
    True
    """
    snapshots = list_snapshots(uri, version=version, tag=tag, branch=branch, access=Access.of(**access))
    audited = Lineage(BranchHistory(snapshots[-1], snapshots)) if lineage else None
    check = _Check(files=deep or not checksums, deep=deep, checksums=deep or checksums, lineage=audited)
    with reporting(progress):
        return check.run(place_text(uri), snapshots, with_refs=version is None and tag is None)


@suggests_keywords
def audit(
    uri: str | os.PathLike[str],
    *,
    version: VersionLike | None = None,
    tag: str | None = None,
    branch: str | None = None,
    job: str | None = None,
    checksums: bool = True,
    progress: Progress | None = None,
    **access: Unpack[PlaceOptions],
) -> Report:
    """Checks row ids and row versions against the recorded transactions: the lineage part of `verify`, with the
    versions that a branch has from its parents.

    checksums: compare the files with their checksums, which reads each file once
    version, tag: audit only the commit of this version; by default those of all versions of the branch
    job: audit only commits of this job
    progress: called with the number of checked fragments of versions, and the total
    access: keywords of `lance_sql.open` that say where the files are and how they are reached
    raises: TableNotFound, VersionNotFound; faults are reported, not raised

    >>> str(lance_sql.audit("examples/orders.lance", version=9))
    'examples/orders.lance: lineage of version 9 audited; no fault found'
    """
    snapshots = list_snapshots(uri, version=version, tag=tag, branch=branch, access=Access.of(**access))
    history = BranchHistory(snapshots[-1], snapshots)
    if version is None and tag is None:
        snapshots = [history.unread(number) for number in history.files]
    if job is not None:
        snapshots = [each for each in snapshots if _job(each) == job]
    check = _Check(files=False, deep=False, checksums=checksums, lineage=Lineage(history, job))
    with reporting(progress):
        return check.run(place_text(uri), snapshots, with_refs=False)


@dataclass(frozen=True, slots=True)
class _Fragment:
    """Result of the check of a fragment.

    records: problems of records about rows that are readable nevertheless
    damaged: names of damaged columns
    whole: nothing that all columns need is damaged
    """

    errors: Sequence[LanceError]
    records: Sequence[LanceError]
    damaged: Collection[str]
    whole: bool


class _Check:
    """One walk through versions. Files that several versions share are read once.

    files: open data files, deletion files and indices; `deep` also decodes them
    checksums: compare files with their checksums
    lineage: the audit of the commits, or None
    """

    def __init__(self, *, files: bool, deep: bool, checksums: bool, lineage: Lineage | None) -> None:
        self._opens_files = files
        self._deep = deep
        self._files = ComparedFiles() if checksums else None
        self._lineage = lineage
        self._findings = Findings()
        self._readable: dict[int, tuple[str, ...]] = {}
        self._columns: dict[int, tuple[str, ...]] = {}
        self._damaged: dict[int, tuple[str, ...]] = {}
        self._checked: dict[object, list[LanceError]] = {}
        self._fragments: dict[object, _Fragment] = {}

    def run(self, uri: str, snapshots: Sequence[Snapshot], *, with_refs: bool) -> Report:
        opened = [snapshot for snapshot in snapshots if self._opens(snapshot)]
        work = Work(sum(len(snapshot.manifest.fragments) for snapshot in opened))
        for snapshot in opened:
            for _ in self._version(snapshot):
                work.advance(1)
            if self._lineage is not None:
                self._lineage.check(snapshot)
        versions = tuple(sorted(snapshot.version for snapshot in snapshots))
        if with_refs and snapshots:
            self._refs(snapshots[-1], set(versions))
        if self._files is not None and versions:
            for unreadable in self._files.errors.values():
                self._findings.add(versions[-1], unreadable, "record")
        rows_in_log = self._in_log(snapshots[-1]) if snapshots and self._opens_files else 0
        audited = None if self._lineage is None else self._lineage.result()
        for fault in () if audited is None else audited.faults:
            if fault.kind is not Kind.CHANGED_FILE:
                self._findings.add_fault(fault)
        problems = self._findings.problems()
        return Report(
            uri,
            versions if audited is None or self._opens_files else audited.versions,
            problems,
            dict(sorted(self._readable.items())),
            self._deep,
            dict(sorted(self._columns.items())),
            dict(sorted(self._damaged.items())),
            None if self._files is None else Compared(self._files.num_compared, self._files.num_without),
            not self._opens_files,
            rows_in_log,
            audited,
            mended(snapshots, problems),
        )

    def _in_log(self, snapshot: Snapshot) -> int:
        """Counts the rows of the write-ahead log that are in no version; records damage of the log as a finding."""
        counts: list[int] = []

        def count() -> None:
            log = write_ahead_log.read(snapshot)
            counts.append(0 if log is None else log.num_rows)

        # damage of the manifest or the indices is already reported
        if not errors_of(snapshot.indices, None):
            self._findings.add(snapshot.version, errors_of(count, None), "rows")
        return sum(counts)

    def _opens(self, snapshot: Snapshot) -> bool:
        errors = errors_of(lambda: snapshot.manifest, snapshot.manifest_path)
        self._findings.add(snapshot.version, errors)
        if self._lineage is not None and errors:
            self._lineage.unreadable(snapshot.version, errors[0])
        return not errors

    def _version(self, snapshot: Snapshot) -> Iterator[int]:
        """Checks one version; yields after each fragment."""
        errors: list[LanceError] = []
        # problems of records about rows that are readable nevertheless
        records: list[LanceError] = []
        damaged: set[str] = set()
        whole = True
        for fragment_index in range(len(snapshot.manifest.fragments)):
            fragments, unreadable = _parsed(snapshot.manifest.fragments, fragment_index)
            errors += unreadable
            whole = whole and not unreadable
            for fragment in fragments:
                if self._opens_files:
                    found = self._fragment(snapshot, fragment)
                    errors += found.errors
                    records += found.records
                    damaged.update(found.damaged)
                    whole = whole and found.whole
                differing = self._bytes(snapshot, fragment)
                errors += differing
                whole = note_columns(differing, damaged) and whole
            yield fragment_index
        if self._opens_files:
            records += errors_of(lambda: rows_check.check_fragment_ids(snapshot), snapshot.manifest_path)
            if not errors + records:
                records += errors_of(lambda: rows_check.check_version(snapshot), snapshot.manifest_path)
            records += errors_of(snapshot.transaction, snapshot.manifest_path)
            content = partial(read_bytes, snapshot.store, snapshot.manifest_path, snapshot.manifest)
            records += [error for error in errors_of(content, snapshot.manifest_path) if isinstance(error, TooLong)]
        self._findings.add(snapshot.version, errors)
        self._findings.add(snapshot.version, records, "record")
        damaged_files = self._indices(snapshot) if self._opens_files else set[str | None]()
        if self._files is not None:
            of_indices = errors_of(
                partial(self._index_bytes, snapshot, self._files, damaged_files), snapshot.manifest_path
            )
            self._findings.add(snapshot.version, of_indices, "index")
        self._describe_columns(snapshot, damaged, whole=whole)

    def _fragment(self, snapshot: Snapshot, fragment: Fragment) -> _Fragment:
        """Opens the files of a fragment, once for all versions that have it in the same form."""
        schema = snapshot.manifest.schema
        in_manifest = snapshot.manifest_path if schema.has_stored_dictionaries else None
        stable = snapshot.manifest.has_stable_row_ids
        key = fragment, schema, identities.base_paths(snapshot, fragment), in_manifest, stable
        found = self._fragments.get(key)
        if found is None:
            found = self._fragments[key] = self._check_fragment(snapshot, fragment)
        return found

    def _check_fragment(self, snapshot: Snapshot, fragment: Fragment) -> _Fragment:
        errors = [error for file in fragment.files for error in self._file(snapshot, file)]
        of_rows = self._rows(snapshot, fragment)
        errors += of_rows
        records: list[LanceError] = []
        damaged = set()
        rows, stored = snapshot.open(fragment), identities.of_files(snapshot, fragment)
        for column in snapshot.manifest.schema.fields:
            identity = identities.of_column(snapshot, stored, column)
            in_column = self._column(rows, column, identity)
            errors += in_column
            if in_column:
                damaged.add(column.name)
            elif rows_check.claims_no_nulls(column):
                # readable nevertheless
                records += self._once(("nulls", *identity), partial(rows_check.check_nulls, rows, column))
        return _Fragment(errors, records, damaged, whole=not of_rows)

    def _describe_columns(self, snapshot: Snapshot, damaged: Collection[str], *, whole: bool) -> None:
        """Records the readable columns of a version.

        damaged: names of damaged columns
        whole: nothing that all columns need is damaged
        """
        every = tuple(column.name for column in snapshot.manifest.schema.fields)
        self._columns[snapshot.version] = every
        if damaged or not whole:
            self._damaged[snapshot.version] = tuple(name for name in every if name in damaged) if whole else every
        names = tuple(name for name in every if name not in damaged)
        if whole and names and damaged:
            self._readable[snapshot.version] = names

    def _indices(self, snapshot: Snapshot) -> set[str | None]:
        """Checks files of scalar indices; every row is readable without them. Returns the damaged files."""
        errors = errors_of(lambda: snapshot.open_indices, snapshot.manifest_path)
        self._findings.add(snapshot.version, errors, "index")
        damaged_files: set[str | None] = set()
        live_rows = None if errors or not self._deep else _live_rows(snapshot)
        for segment in () if errors else snapshot.open_indices.segments:
            check = partial(snapshot.open_indices.verify, segment, deep=self._deep, live_rows=live_rows)
            index_errors = self._once(("index", segment.uuid, segment.base_id), check)
            self._findings.add(snapshot.version, index_errors, "index", segment.name)
            damaged_files.update(error.file for error in index_errors)
        return damaged_files

    def _index_bytes(self, snapshot: Snapshot, files: ComparedFiles, damaged_files: Collection[str | None]) -> None:
        """Finds files of indices that changed since they were written.

        damaged_files: files that are already known to be damaged
        """
        for changed in files.of_indices(snapshot):
            if self._lineage is not None:
                self._lineage.file_changed(snapshot, None, changed.error)
            if changed.error.file not in damaged_files:
                self._findings.add(snapshot.version, [changed.error], "index", changed.index)

    def _bytes(self, snapshot: Snapshot, fragment: Fragment) -> list[LanceError]:
        """Returns errors for files that changed since they were written: by column and page, if it records pages."""
        errors: list[LanceError] = []
        for changed in () if self._files is None else self._files.of_fragment(snapshot, fragment):
            if self._lineage is not None:
                self._lineage.file_changed(snapshot, fragment.id, changed.error)
            error = changed.error
            pages = (
                pages_in(snapshot, changed.data_file, changed.ranges) if changed.data_file and changed.ranges else []
            )
            if not pages:
                errors.append(error)
            for column, page in pages:
                errors.append(CorruptFile(error.message).located(error.file, column, page))
        return errors

    def _file(self, snapshot: Snapshot, file: DataFile) -> list[LanceError]:
        """Checks that the file exists, has its size, and opens."""

        def check() -> None:
            opened = snapshot.open_fragments.files.open(file)
            if file.size_bytes and file.size_bytes != opened.bytes.size:
                with at(file=opened.path):
                    raise CorruptFile(f"the file has {opened.bytes.size} bytes, the manifest records {file.size_bytes}")

        return self._once(("file", file, identities.base_path(snapshot, file.base_id)), check)

    def _rows(self, snapshot: Snapshot, fragment: Fragment) -> list[LanceError]:
        stable = snapshot.manifest.has_stable_row_ids
        check = partial(rows_check.check_rows, snapshot.open(fragment), fragment, has_stable_row_ids=stable)
        return self._once(("rows", fragment, identities.base_paths(snapshot, fragment), stable), check)

    def _column(self, rows: OpenFragment, column: Field, identity: tuple[Hashable, ...]) -> list[LanceError]:
        def check() -> None:
            for stored in rows.columns_of(column):
                # parses the layout of every page
                _ = stored.row_starts, stored.row_bytes
            if self._deep and rows.num_rows:
                rows_check.decode(rows, column)

        return self._once(("column", *identity), check)

    def _once(self, key: object, check: Callable[[], object]) -> list[LanceError]:
        errors = self._checked.get(key)
        if errors is None:
            errors = self._checked[key] = errors_of(check, None)
        return errors

    def _refs(self, snapshot: Snapshot, versions: set[int]) -> None:
        """Checks that tags refer to existing versions."""
        tags: dict[str, Ref] = {}

        def read() -> None:
            tags.update(snapshot.tags())

        self._findings.add(snapshot.version, errors_of(read, "_refs/tags"), "record")
        for name, tag in tags.items():
            if tag.branch == snapshot.branch and tag.version not in versions:
                missing = CorruptFile(f"tag {name!r} names version {tag.version}, which does not exist")
                self._findings.add(tag.version, [missing], "record")


def _job(snapshot: Snapshot) -> str | None:
    """Returns the job of a version's commit; None if it is not recorded, or cannot be read."""
    try:
        return origin(snapshot).job
    except TABLE_ERRORS:
        return None


def _live_rows(snapshot: Snapshot) -> dict[int, int] | None:
    """Returns the recorded number of rows of each fragment by its id; None without moves of rows or without numbers."""
    fragments: list[Fragment] = []
    if errors_of(lambda: snapshot.open_indices.moves, None) or snapshot.open_indices.moves is None:
        return None
    if errors_of(lambda: fragments.extend(snapshot.manifest.fragments), None):
        return None
    deleted = [0 if each.deletion_file is None else each.deletion_file.num_deleted_rows for each in fragments]
    if any(each.deletion_file is not None and not count for each, count in zip(fragments, deleted, strict=True)):
        return None
    return {each.id: each.physical_rows - count for each, count in zip(fragments, deleted, strict=True)}


def _parsed(fragments: Fragments, fragment_index: int) -> tuple[list[Fragment], list[LanceError]]:
    """Returns the fragment, or the error of its record in the manifest."""
    parsed: list[Fragment] = []
    errors = errors_of(lambda: parsed.append(fragments[fragment_index]), fragments.file)
    return parsed, errors
