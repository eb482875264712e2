"""Data files of fragments: used ones, new ones, and checks against the table."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterable
from typing import Final

from lance_sql.errors import InvalidArgument
from lance_sql.format import file_versions
from lance_sql.table.fragment import TOMBSTONE, DataFile, Fragment
from lance_sql.table.manifest import Manifest

_MAX_ROWS: Final = 2**32


def tombstoned(file: DataFile, field_ids: Collection[int]) -> DataFile:
    """Returns the file without these fields, whose columns stay in it unread."""
    fields = tuple(TOMBSTONE if field in field_ids else field for field in file.fields)
    return dataclasses.replace(file, fields=fields)


def in_use(files: Iterable[DataFile]) -> tuple[DataFile, ...]:
    """Returns the files with at least one used column."""
    return tuple(file for file in files if any(field != TOMBSTONE for field in file.fields))


def added(before: Fragment, after: Fragment) -> list[DataFile]:
    """Returns the files that a fragment has gained."""
    earlier = {(file.path, file.base_id) for file in before.files}
    return [file for file in after.files if (file.path, file.base_id) not in earlier]


def file_version(file: DataFile) -> str:
    """Returns the version of a file in the form of tables, such as "2.2"."""
    return file_versions.name_of(file.file_version)


def check_new(fragment: Fragment, manifest: Manifest) -> None:
    """Makes sure that a fragment is valid as a new one of a version.

    raises: InvalidArgument
    """
    if not 1 <= fragment.physical_rows <= _MAX_ROWS:
        raise InvalidArgument(f"a new fragment of {fragment.physical_rows} rows")
    if fragment.deletion_file is not None:
        raise InvalidArgument("a new fragment has deleted rows already")
    if not fragment.files:
        raise InvalidArgument("a new fragment has no data files")
    check(fragment.files, manifest)


def check(files: Iterable[DataFile], manifest: Manifest) -> None:
    """Makes sure that files have the version of the table's, or another one if the table mixes versions.

    raises: InvalidArgument
    """
    for file in files:
        version = file_versions.find(file.file_version)
        mixes = manifest.mixes_file_versions and version is not None and version is not file_versions.V0_1
        if not mixes and file_version(file) != manifest.data_format:
            raise InvalidArgument(
                f"the data file {file.path!r} has version {file_version(file)}, but the table has"
                f" {manifest.data_format}"
            )
