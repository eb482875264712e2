"""Check of a table: damaged files, the versions that need them, and the columns that can still be read.

Each version is checked from its manifest down: data files and the metadata of their columns, deletion files, row ids,
row versions, counts, files of scalar indices. A file that several versions share is checked once. A deep check also
decodes every page of every column, which finds whatever breaks an encoding, a count or a length.

Only checksums detect bytes that changed into other valid values. This library records them for the files that it
writes. A deep check compares them, and a check of checksums does nothing else.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from lance_sql.errors import CorruptFile, LanceError, UnsupportedFeature, at
from lance_sql.format.schema import Field
from lance_sql.health.verification import rows_check
from lance_sql.health.verification.damaged_pages import pages_in
from lance_sql.health.verification.verification_report import Affected, Compared, Problem, Report
from lance_sql.reads import write_ahead_log
from lance_sql.store.manifest_store import ManifestStore
from lance_sql.store.open import with_manifest_store
from lance_sql.table.compared_files import ChangedFile, ComparedFiles
from lance_sql.table.fragment import DataFile, Fragment
from lance_sql.table.fragments import Fragments
from lance_sql.table.open_snapshot import list_snapshots
from lance_sql.table.paths import BasePath
from lance_sql.table.refs import Ref
from lance_sql.table.snapshot import Snapshot
from lance_sql.table.transactions import TooLong, read_bytes

Progress = Callable[[int, int], None]
"""Called with the number of checked fragments of versions, and the total."""


def verify(
    uri: str | os.PathLike[str],
    *,
    version: int | None = None,
    tag: str | None = None,
    branch: str | None = None,
    deep: bool = False,
    checksums: bool = False,
    storage_options: Mapping[str, Any] | None = None,
    manifest_store: ManifestStore | None = None,
    progress: Progress | None = None,
) -> Report:
    """Checks one version of a table, or all of them.

    deep: decode every page, and compare files with their checksums
    checksums: only compare files with their checksums; decodes nothing, so it takes as long as reading them. For files
        without a checksum, it checks that they exist and have the size in the manifest
    raises: TableNotFound, VersionNotFound; damage is reported, not raised

    >>> lance_sql.verify("examples/orders.lance", version=9).is_healthy
    True
    """
    options = with_manifest_store(storage_options, manifest_store)
    snapshots = list_snapshots(uri, version=version, tag=tag, branch=branch, storage_options=options)
    check = _Check(os.fspath(uri), deep, checksums and not deep, progress)
    return check.run(snapshots, with_refs=version is None and tag is None)


@dataclass(slots=True)
class _Findings:
    """Collector of problems, with the versions that share them."""

    versions: dict[tuple[str | None, str | None, int | None, str, Affected, str | None], list[int]] = field(
        default_factory=dict
    )

    def add(
        self, version: int, errors: Iterable[LanceError], affects: Affected = "rows", index: str | None = None
    ) -> None:
        for error in errors:
            is_unknown = affects == "rows" and isinstance(error, UnsupportedFeature)
            lost: Affected = "unknown" if is_unknown else affects
            key = (error.file, error.column, error.page, error.message, lost, index)
            affected = self.versions.setdefault(key, [])
            if version not in affected:
                affected.append(version)

    def problems(self) -> tuple[Problem, ...]:
        return tuple(Problem(tuple(sorted(affected)), *key) for key, affected in self.versions.items())


class _Check:
    def __init__(self, uri: str, deep: bool, checksums_only: bool, progress: Progress | None) -> None:
        self._uri = uri
        self._deep = deep
        self._checksums_only = checksums_only
        self._files = ComparedFiles() if deep or checksums_only else None
        self._progress = progress or (lambda done, total: None)
        self._findings = _Findings()
        self._readable: dict[int, tuple[str, ...]] = {}
        self._columns: dict[int, tuple[str, ...]] = {}
        self._damaged: dict[int, tuple[str, ...]] = {}
        self._checked: dict[object, list[LanceError]] = {}

    def run(self, snapshots: Sequence[Snapshot], *, with_refs: bool) -> Report:
        opened = [snapshot for snapshot in snapshots if self._opens(snapshot)]
        total = sum(len(snapshot.manifest.fragments) for snapshot in opened)
        done = 0
        for snapshot in opened:
            for _ in self._checksums(snapshot) if self._checksums_only else self._version(snapshot):
                done += 1
                self._progress(done, total)
        versions = tuple(sorted(snapshot.version for snapshot in snapshots))
        if with_refs and snapshots:
            self._refs(snapshots[-1], set(versions))
        if self._files is not None and versions:
            for unreadable in self._files.errors.values():
                self._findings.add(versions[-1], unreadable, "record")
        rows_in_log = self._in_log(snapshots[-1]) if snapshots and not self._checksums_only else 0
        return Report(
            self._uri,
            versions,
            self._findings.problems(),
            dict(sorted(self._readable.items())),
            self._deep,
            dict(sorted(self._columns.items())),
            dict(sorted(self._damaged.items())),
            None if self._files is None else Compared(self._files.num_compared, self._files.num_without),
            self._checksums_only,
            rows_in_log,
        )

    def _in_log(self, snapshot: Snapshot) -> int:
        """Counts the rows of the write-ahead log that are in no version; records damage of the log as a finding."""
        counts: list[int] = []

        def count() -> None:
            log = write_ahead_log.read(snapshot)
            counts.append(0 if log is None else log.num_rows)

        # damage of the manifest or the indices is already reported
        if not _errors(snapshot.indices, None):
            self._findings.add(snapshot.version, _errors(count, None), "rows")
        return sum(counts)

    def _opens(self, snapshot: Snapshot) -> bool:
        errors = _errors(lambda: snapshot.manifest, snapshot.manifest_path)
        self._findings.add(snapshot.version, errors)
        return not errors

    def _version(self, snapshot: Snapshot) -> Iterator[int]:
        """Checks one version; yields after each fragment."""
        errors: list[LanceError] = []
        # problems of records about rows that are readable nevertheless
        records = _errors(lambda: rows_check.check_fragment_ids(snapshot), snapshot.manifest_path)
        damaged: set[str] = set()
        whole = True
        for fragment_index in range(len(snapshot.manifest.fragments)):
            fragments, unreadable = _parsed(snapshot.manifest.fragments, fragment_index)
            errors += unreadable
            whole = whole and not unreadable
            for fragment in fragments:
                errors += [error for file in fragment.files for error in self._file(snapshot, file)]
                of_rows = self._rows(snapshot, fragment)
                errors += of_rows
                whole = whole and not of_rows
                for column in snapshot.manifest.schema.fields:
                    in_column = self._column(snapshot, fragment, column)
                    errors += in_column
                    if in_column:
                        damaged.add(column.name)
                    elif rows_check.claims_no_nulls(column):
                        records += self._nulls(snapshot, fragment, column)
                if self._files is not None:
                    differing = self._bytes(snapshot, self._files.of_fragment(snapshot, fragment))
                    errors += differing
                    whole = _note_columns(differing, damaged) and whole
            yield fragment_index
        if not errors + records:
            records += _errors(lambda: rows_check.check_version(snapshot), snapshot.manifest_path)
        records += _errors(snapshot.transaction, snapshot.manifest_path)
        content = partial(read_bytes, snapshot.store, snapshot.manifest_path, snapshot.manifest)
        records += [error for error in _errors(content, snapshot.manifest_path) if isinstance(error, TooLong)]
        self._findings.add(snapshot.version, errors)
        self._findings.add(snapshot.version, records, "record")
        self._indices(snapshot)
        self._describe_columns(snapshot, damaged, whole=whole)

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

    def _indices(self, snapshot: Snapshot) -> None:
        """Checks files of scalar indices; every row is readable without them."""
        errors = _errors(lambda: snapshot.open_indices, snapshot.manifest_path)
        self._findings.add(snapshot.version, errors, "index")
        damaged_files: set[str | None] = set()
        for segment in () if errors else snapshot.open_indices.segments:
            check = partial(snapshot.open_indices.verify, segment, deep=self._deep)
            index_errors = self._once(("index", segment.uuid, segment.base_id), check)
            self._findings.add(snapshot.version, index_errors, "index", segment.name)
            damaged_files.update(error.file for error in index_errors)
        if self._files is not None and not errors:
            self._index_bytes(snapshot, self._files, damaged_files)

    def _index_bytes(
        self, snapshot: Snapshot, files: ComparedFiles, damaged_files: Collection[str | None] = ()
    ) -> None:
        """Finds files of indices that changed since they were written.

        damaged_files: files that are already known to be damaged
        """
        for changed in files.of_indices(snapshot):
            if changed.error.file not in damaged_files:
                self._findings.add(snapshot.version, [changed.error], "index", changed.index)

    def _checksums(self, snapshot: Snapshot) -> Iterator[int]:
        """Compares the files of a version with their checksums; yields after each fragment."""
        assert self._files is not None
        damaged: set[str] = set()
        whole = True
        for fragment_index in range(len(snapshot.manifest.fragments)):
            fragments, unreadable = _parsed(snapshot.manifest.fragments, fragment_index)
            self._findings.add(snapshot.version, unreadable)
            whole = whole and not unreadable
            for fragment in fragments:
                differing = self._bytes(snapshot, self._files.of_fragment(snapshot, fragment))
                self._findings.add(snapshot.version, differing)
                whole = _note_columns(differing, damaged) and whole
            yield fragment_index
        self._describe_columns(snapshot, damaged, whole=whole)
        errors = _errors(partial(self._index_bytes, snapshot, self._files), snapshot.manifest_path)
        self._findings.add(snapshot.version, errors, "index")

    def _bytes(self, snapshot: Snapshot, files: Iterable[ChangedFile]) -> list[LanceError]:
        """Returns errors for files that changed since they were written: by column and page, if it records pages."""
        errors: list[LanceError] = []
        for changed in files:
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

        return self._once(("file", file, _base_path(snapshot, file.base_id)), check)

    def _rows(self, snapshot: Snapshot, fragment: Fragment) -> list[LanceError]:
        stable = snapshot.manifest.has_stable_row_ids
        check = partial(rows_check.check_rows, snapshot.open(fragment), fragment, has_stable_row_ids=stable)
        return self._once(("rows", fragment, _base_paths(snapshot, fragment), stable), check)

    def _column(self, snapshot: Snapshot, fragment: Fragment, column: Field) -> list[LanceError]:
        rows = snapshot.open(fragment)

        def check() -> None:
            for stored in rows.columns_of(column):
                # parses the layout of every page
                _ = stored.row_starts, stored.row_bytes
            if self._deep and rows.num_rows:
                rows_check.decode(rows, column)

        return self._once(("column", *_values(snapshot, fragment, column)), check)

    def _nulls(self, snapshot: Snapshot, fragment: Fragment, column: Field) -> list[LanceError]:
        """Checks for NULLs that contradict the schema; they are readable nevertheless."""
        check = partial(rows_check.check_nulls, snapshot.open(fragment), column)
        return self._once(("nulls", *_values(snapshot, fragment, column)), check)

    def _once(self, key: object, check: Callable[[], object]) -> list[LanceError]:
        errors = self._checked.get(key)
        if errors is None:
            errors = self._checked[key] = _errors(check, None)
        return errors

    def _refs(self, snapshot: Snapshot, versions: set[int]) -> None:
        """Checks that tags refer to existing versions."""
        tags: dict[str, Ref] = {}

        def read() -> None:
            tags.update(snapshot.tags())

        self._findings.add(snapshot.version, _errors(read, "_refs/tags"), "record")
        for name, tag in tags.items():
            if tag.branch == snapshot.branch and tag.version not in versions:
                missing = CorruptFile(f"tag {name!r} names version {tag.version}, which does not exist")
                self._findings.add(tag.version, [missing], "record")


def _errors(check: Callable[[], object], file: str | None) -> list[LanceError]:
    """Runs a check and returns its errors; a check that cannot be completed counts as unknown."""
    try:
        with at(file=file):
            check()
    except LanceError as error:
        return [error]
    except MemoryError:
        return [UnsupportedFeature("to check it takes more memory than there is").located(file)]
    except OSError as error:
        return [UnsupportedFeature(f"it cannot be read: {error}").located(file)]
    return []


def _note_columns(errors: Iterable[LanceError], damaged: set[str]) -> bool:
    """Adds the columns of the errors; returns False if an error is about all columns."""
    columns = {error.column for error in errors}
    damaged.update(name for name in columns if name is not None)
    return None not in columns


def _parsed(fragments: Fragments, fragment_index: int) -> tuple[list[Fragment], list[LanceError]]:
    """Returns the fragment, or the error of its record in the manifest."""
    parsed: list[Fragment] = []
    errors = _errors(lambda: parsed.append(fragments[fragment_index]), fragments.file)
    return parsed, errors


def _values(snapshot: Snapshot, fragment: Fragment, column: Field) -> tuple[Hashable, ...]:
    """Returns everything that determines the values of a column; equal for versions that share them."""
    # values of early dictionaries are in the manifest file
    in_manifest = snapshot.manifest_path if _has_dictionary(column) else None
    return column, fragment.physical_rows, fragment.files, _base_paths(snapshot, fragment), in_manifest


def _has_dictionary(column: Field) -> bool:
    return column.dictionary is not None or any(map(_has_dictionary, column.children))


def _base_paths(snapshot: Snapshot, fragment: Fragment) -> tuple[BasePath | None, ...]:
    """Returns the base paths of the files of a fragment."""
    numbers = [file.base_id for file in fragment.files]
    if fragment.deletion_file is not None:
        numbers.append(fragment.deletion_file.base_id)
    return tuple(_base_path(snapshot, number) for number in numbers)


def _base_path(snapshot: Snapshot, number: int | None) -> BasePath | None:
    return snapshot.manifest.base_paths.get(number) if number is not None else None
