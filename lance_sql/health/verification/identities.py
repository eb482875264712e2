"""Values that are equal for versions that share files, so that a check runs once for all of them."""

from __future__ import annotations

from collections.abc import Hashable

from lance_sql.format.schema import Field
from lance_sql.table.fragment import Fragment
from lance_sql.table.paths import BasePath
from lance_sql.table.snapshot import Snapshot


def of_files(snapshot: Snapshot, fragment: Fragment) -> tuple[Hashable, ...]:
    """Returns everything that determines the values of the files of a fragment."""
    return fragment.physical_rows, fragment.files, base_paths(snapshot, fragment)


def of_column(snapshot: Snapshot, files: tuple[Hashable, ...], column: Field) -> tuple[Hashable, ...]:
    """Returns everything that determines the values of a column.

    files: of `of_files`
    """
    # values of early dictionaries are in the manifest file
    in_manifest = snapshot.manifest.schema.has_stored_dictionaries and _has_dictionary(column)
    return column, *files, snapshot.manifest_path if in_manifest else None


def _has_dictionary(column: Field) -> bool:
    return column.dictionary is not None or any(map(_has_dictionary, column.children))


def base_paths(snapshot: Snapshot, fragment: Fragment) -> tuple[BasePath | None, ...]:
    """Returns the base paths of the files of a fragment."""
    numbers = [file.base_id for file in fragment.files]
    if fragment.deletion_file is not None:
        numbers.append(fragment.deletion_file.base_id)
    return tuple(base_path(snapshot, number) for number in numbers)


def base_path(snapshot: Snapshot, number: int | None) -> BasePath | None:
    """Returns the base path of a number; None for the table itself."""
    return snapshot.manifest.base_paths.get(number) if number is not None else None
