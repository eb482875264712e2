"""Checking a table: which files are damaged, which versions need them, and what can still be read.

Each version is walked from its manifest down: data files and the metadata of their columns, deletion files, row ids,
row versions, counts, files of scalar indices. A file of which several versions say the same is looked at once. A deep
check decodes every page of every column as well.

The format has no checksums. Bytes that were changed into other valid values cannot be told from what was written; a
deep check sees whatever breaks an encoding, a count or a length.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from lance_sql import row_ranges
from lance_sql.errors import CorruptFile, LanceError, at
from lance_sql.scan.batches import cut, rows_per_batch
from lance_sql.schema import Field
from lance_sql.store.manifest_store import ManifestStore
from lance_sql.store.open import with_manifest_store
from lance_sql.table.fragment import DataFile, Fragment
from lance_sql.table.fragments import Fragments
from lance_sql.table.open_fragment import OpenFragment
from lance_sql.table.paths import BasePath
from lance_sql.table.refs import Ref
from lance_sql.table.row_versions import stored_rows
from lance_sql.table.snapshot import Snapshot, list_snapshots
from lance_sql.verification.report import Affected, Problem, Report

Progress = Callable[[int, int], None]
"""Told how many of how many fragments of versions have been checked."""


def verify(
    uri: str | os.PathLike[str],
    *,
    version: int | None = None,
    tag: str | None = None,
    branch: str | None = None,
    deep: bool = False,
    storage_options: Mapping[str, Any] | None = None,
    manifest_store: ManifestStore | None = None,
    progress: Progress | None = None,
) -> Report:
    """Checks one version of a table, or all of them.

    deep: decode every page
    raises: TableNotFound, VersionNotFound; what is damaged is reported, not raised

    >>> lance_sql.verify("examples/orders.lance", version=9).is_healthy
    True
    """
    options = with_manifest_store(storage_options, manifest_store)
    snapshots = list_snapshots(uri, version=version, tag=tag, branch=branch, storage_options=options)
    return _Check(os.fspath(uri), deep, progress).run(snapshots, with_refs=version is None and tag is None)


@dataclass(slots=True)
class _Findings:
    """Problems by what they say, with the versions that share them."""

    versions: dict[tuple[str | None, str | None, int | None, str, Affected, str | None], list[int]] = field(
        default_factory=dict
    )

    def add(
        self, version: int, errors: Iterable[LanceError], affects: Affected = "rows", index: str | None = None
    ) -> None:
        for error in errors:
            key = (error.file, error.column, error.page, error.message, affects, index)
            affected = self.versions.setdefault(key, [])
            if version not in affected:
                affected.append(version)

    def problems(self) -> tuple[Problem, ...]:
        return tuple(Problem(tuple(sorted(found)), *key) for key, found in self.versions.items())


class _Check:
    def __init__(self, uri: str, deep: bool, progress: Progress | None) -> None:
        self._uri = uri
        self._deep = deep
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
            for _ in self._version(snapshot):
                done += 1
                self._progress(done, total)
        versions = tuple(sorted(snapshot.version for snapshot in snapshots))
        if with_refs and snapshots:
            self._refs(snapshots[-1], set(versions))
        return Report(
            self._uri,
            versions,
            self._findings.problems(),
            dict(sorted(self._readable.items())),
            self._deep,
            dict(sorted(self._columns.items())),
            dict(sorted(self._damaged.items())),
        )

    def _opens(self, snapshot: Snapshot) -> bool:
        errors = _errors(lambda: snapshot.manifest, snapshot.manifest_path)
        self._findings.add(snapshot.version, errors)
        return not errors

    def _version(self, snapshot: Snapshot) -> Iterator[int]:
        """Checks one version; yields after each fragment."""
        errors: list[LanceError] = []
        # what is wrong with what is recorded of rows, which can be read all the same
        records = _errors(lambda: _check_fragment_ids(snapshot), snapshot.manifest_path)
        damaged: set[str] = set()
        whole = True
        for place in range(len(snapshot.manifest.fragments)):
            found, unreadable = _made(snapshot.manifest.fragments, place)
            errors += unreadable
            whole = whole and not unreadable
            for fragment in found:
                errors += [error for file in fragment.files for error in self._file(snapshot, file)]
                of_rows = self._rows(snapshot, fragment)
                errors += of_rows
                whole = whole and not of_rows
                for column in snapshot.manifest.schema.fields:
                    in_column = self._column(snapshot, fragment, column)
                    errors += in_column
                    if in_column:
                        damaged.add(column.name)
                    elif _claims_no_nulls(column):
                        records += self._nulls(snapshot, fragment, column)
            yield place
        records += _errors(lambda: _check_version(snapshot), snapshot.manifest_path) if not errors + records else []
        records += _errors(snapshot.transaction, snapshot.manifest_path)
        self._findings.add(snapshot.version, errors)
        self._findings.add(snapshot.version, records, "record")
        self._indices(snapshot)
        names = tuple(column.name for column in snapshot.manifest.schema.fields if column.name not in damaged)
        every = tuple(column.name for column in snapshot.manifest.schema.fields)
        self._columns[snapshot.version] = every
        if damaged or not whole:
            self._damaged[snapshot.version] = tuple(name for name in every if name in damaged) if whole else every
        if errors and whole and names and len(names) < len(snapshot.manifest.schema.fields):
            self._readable[snapshot.version] = names

    def _indices(self, snapshot: Snapshot) -> None:
        """Files of scalar indices, which every row can be read without."""
        errors = _errors(lambda: snapshot.open_indices, snapshot.manifest_path)
        self._findings.add(snapshot.version, errors, "index")
        for segment in () if errors else snapshot.open_indices.segments:
            check = partial(snapshot.open_indices.verify, segment, deep=self._deep)
            found = self._once(("index", segment.uuid, segment.base_id), check)
            self._findings.add(snapshot.version, found, "index", segment.name)

    def _file(self, snapshot: Snapshot, file: DataFile) -> list[LanceError]:
        """The file is there, whole, and opens."""

        def check() -> None:
            opened = snapshot.open_fragments.files.open(file)
            if file.size_bytes and file.size_bytes != opened.num_bytes:
                with at(file=opened.path):
                    raise CorruptFile(f"the file has {opened.num_bytes} bytes, the manifest says {file.size_bytes}")

        return self._once(("file", file, _base_path(snapshot, file.base_id)), check)

    def _rows(self, snapshot: Snapshot, fragment: Fragment) -> list[LanceError]:
        stable = snapshot.manifest.has_stable_row_ids
        check = partial(_check_rows, snapshot.open(fragment), fragment, has_stable_row_ids=stable)
        return self._once(("rows", fragment, _base_paths(snapshot, fragment), stable), check)

    def _column(self, snapshot: Snapshot, fragment: Fragment, column: Field) -> list[LanceError]:
        rows = snapshot.open(fragment)

        def check() -> None:
            for stored in rows.columns_of(column):
                # parses the layout of every page
                _ = stored.row_starts, stored.row_bytes
            if self._deep and rows.num_rows:
                _decode(rows, column)

        return self._once(("column", *_values(snapshot, fragment, column)), check)

    def _nulls(self, snapshot: Snapshot, fragment: Fragment, column: Field) -> list[LanceError]:
        """NULLs against what the schema says, which are readable all the same."""
        rows = snapshot.open(fragment)

        def check() -> None:
            count = sum(_count_nulls(column, array) for array in _arrays(rows, column)) if rows.num_rows else 0
            if count:
                with at(column=column.name):
                    raise CorruptFile(
                        f"{count} value{'s are' if count > 1 else ' is'} NULL where the schema says that there is none,"
                        " as an early release stored empty text; NULL is what a query gets"
                    )

        return self._once(("nulls", *_values(snapshot, fragment, column)), check)

    def _once(self, key: object, check: Callable[[], object]) -> list[LanceError]:
        found = self._checked.get(key)
        if found is None:
            found = self._checked[key] = _errors(check, None)
        return found

    def _refs(self, snapshot: Snapshot, versions: set[int]) -> None:
        """Tags name versions that exist."""
        tags: dict[str, Ref] = {}

        def read() -> None:
            tags.update(snapshot.tags())

        self._findings.add(snapshot.version, _errors(read, "_refs/tags"), "record")
        for name, tag in tags.items():
            if tag.branch == snapshot.branch and tag.version not in versions:
                missing = CorruptFile(f"tag {name!r} names version {tag.version}, which does not exist")
                self._findings.add(tag.version, [missing], "record")


def _decode(rows: OpenFragment, column: Field) -> None:
    """Reads every row of the column, and has Arrow check the result."""
    for array in _arrays(rows, column):
        with at(column=column.name):
            array.validate(full=True)


def _arrays(rows: OpenFragment, column: Field) -> Iterator[pa.Array]:
    """Every row of the column, in parts."""
    row_bytes = sum(each.row_bytes for each in rows.columns_of(column))
    for part in cut(row_ranges.single(0, rows.num_rows), rows_per_batch(row_bytes)):
        (array,) = rows.read([column], part)
        yield array


def _claims_no_nulls(column: Field) -> bool:
    """Whether the schema says that a column is never NULL of which early writers stored NULLs."""
    return column.may_be_null != column.nullable or any(map(_claims_no_nulls, column.children))


def _count_nulls(column: Field, array: pa.Array) -> int:
    """How many values are NULL against what the schema says."""
    if not column.children:
        return array.null_count if column.may_be_null != column.nullable else 0
    if column.is_list:
        return _count_nulls(column.children[0], array.flatten())
    parts = array.flatten() if pa.types.is_struct(array.type) else [array.flatten()]
    return sum(_count_nulls(child, part) for child, part in zip(column.children, parts, strict=True))


def _check_fragment_ids(snapshot: Snapshot) -> None:
    repeated = snapshot.manifest.fragments.repeated_ids()
    if repeated:
        listed = ", ".join(map(str, repeated[:10])) + ", ..." * (len(repeated) > 10)
        raise CorruptFile(
            f"several fragments have one id ({listed}), as an early release wrote it; all of them are read, and the"
            " next commit gives them ids of their own"
        )


def _check_rows(rows: OpenFragment, fragment: Fragment, *, has_stable_row_ids: bool) -> None:
    """Counts, deletions, row ids and row versions of a fragment."""
    live = row_ranges.count(rows.live_rows())
    deletions = fragment.deletion_file
    if deletions is not None and deletions.num_deleted_rows not in (0, rows.num_rows - live):
        with at(file=f"_deletions/{deletions.name(fragment.id)}"):
            raise CorruptFile(
                f"the file deletes {rows.num_rows - live} rows, the manifest says {deletions.num_deleted_rows}"
            )
    if has_stable_row_ids:
        _ = rows.row_id_sequence, rows.created_at_sequence, rows.last_updated_at_sequence
        for what, source in (("created-at", fragment.created_at), ("last-updated-at", fragment.last_updated_at)):
            if isinstance(source, bytes) and stored_rows(source) != rows.num_rows:
                with at(file=f"fragment {fragment.id}"):
                    raise CorruptFile(
                        f"the {what} versions cover {stored_rows(source)} rows, the fragment has {rows.num_rows}"
                    )


def _check_version(snapshot: Snapshot) -> None:
    """Rows across fragments: ids are unique and were handed out, versions are not of the future."""
    manifest = snapshot.manifest
    if not manifest.has_stable_row_ids:
        return
    ids = []
    for fragment in manifest.fragments:
        rows = snapshot.open(fragment)
        for name, sequence in (("created", rows.created_at_sequence), ("updated", rows.last_updated_at_sequence)):
            bounds = sequence.bounds()
            if bounds is not None and bounds[1] > snapshot.version:
                raise CorruptFile(f"rows of fragment {fragment.id} were {name} by version {bounds[1]}")
        live = rows.live_rows()
        if len(live):
            ids.append(rows.row_ids(live))
    every = np.sort(np.concatenate(ids)) if ids else np.empty(0, np.uint64)
    twice = np.flatnonzero(every[1:] == every[:-1])
    if len(twice):
        raise CorruptFile(f"{len(twice)} row ids belong to two live rows, the first is {every[twice[0]]}")
    if len(every) and int(every[-1]) >= manifest.next_row_id:
        raise CorruptFile(f"the row id {every[-1]} is used, but {manifest.next_row_id} is said to be the next new one")


def _errors(check: Callable[[], object], file: str | None) -> list[LanceError]:
    try:
        with at(file=file):
            check()
    except LanceError as error:
        return [error]
    return []


def _made(fragments: Fragments, place: int) -> tuple[list[Fragment], list[LanceError]]:
    """The fragment, or what is wrong with what the manifest says of it."""
    found: list[Fragment] = []
    errors = _errors(lambda: found.append(fragments[place]), fragments.file)
    return found, errors


def _values(snapshot: Snapshot, fragment: Fragment, column: Field) -> tuple[Hashable, ...]:
    """What the values of a column are read by; equal for versions that say the same of them."""
    # values of early dictionaries are in the manifest file
    in_manifest = snapshot.manifest_path if _has_dictionary(column) else None
    return column, fragment.physical_rows, fragment.files, _base_paths(snapshot, fragment), in_manifest


def _has_dictionary(column: Field) -> bool:
    return column.dictionary is not None or any(map(_has_dictionary, column.children))


def _base_paths(snapshot: Snapshot, fragment: Fragment) -> tuple[BasePath | None, ...]:
    """Where the files of a fragment are."""
    numbers = [file.base_id for file in fragment.files]
    if fragment.deletion_file is not None:
        numbers.append(fragment.deletion_file.base_id)
    return tuple(_base_path(snapshot, number) for number in numbers)


def _base_path(snapshot: Snapshot, number: int | None) -> BasePath | None:
    return snapshot.manifest.base_paths.get(number) if number is not None else None
