"""The tables in a folder, by their names in SQL."""

from __future__ import annotations

import glob
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress

import pyarrow as pa

import lance_sql.opening
from lance_sql.errors import InvalidArgument, TableNotFound
from lance_sql.table.version_names import split_name
from lance_sql.values.local_paths import expanded

from . import catalog_names
from .arrow import Relation

_PATTERN = ("*", "?", "[")


def is_written(path: str) -> bool:
    """Whether there is a table at a path: a catalog may declare a table that is not written yet."""
    try:
        lance_sql.opening.open(path)
    except TableNotFound:
        return False
    return True


def paths_of(path: str | Sequence[str]) -> list[str]:
    """Expands a path or a list of paths to tables. A pattern such as 'lake/*.lance' becomes all matches, sorted.

    path: optionally with a version or a tag, which applies to every table
    raises: TableNotFound if nothing matches; InvalidArgument for a pattern in a URI, and for an empty list
    """
    paths = path if isinstance(path, Sequence) and not isinstance(path, str) else [path]
    for given in paths:
        if not isinstance(given, str):
            raise InvalidArgument(f"A table path must be a string, not {given!r}")
    table_paths = [each for given in paths for each in _matching(given)]
    if not table_paths:
        raise InvalidArgument("The list of tables is empty")
    return table_paths


def _matching(path: str) -> list[str]:
    if (named_path := catalog_names.path_of(path)) is not None:
        return [named_path]
    plain, version, tag = split_name(path)
    local = expanded(plain)
    if not any(sign in plain for sign in _PATTERN) or os.path.exists(local):
        return [path]
    if "://" in plain:
        # a place that cannot be read is no table with such a name either
        with suppress(OSError):
            if is_written(path):
                return [path]
        raise InvalidArgument(f"{path!r} is a pattern, which only local folders support: pass a list of paths")
    named = version if version is not None else tag
    suffix = "" if named is None else f"@{named}"
    matches = [each + suffix for each in sorted(glob.glob(local)) if os.path.isdir(os.path.join(each, "_versions"))]
    if not matches:
        raise TableNotFound(f"No Lance table matches {path!r}")
    return matches


def check_system_columns(tables: Mapping[str, Relation]) -> None:
    """
    tables: by path, which are read with their system columns
    raises: InvalidArgument if only some have stable row ids, and with them columns that the others lack
    """
    names = {path: set(relation.system_columns) for path, relation in tables.items()}
    every = set().union(*names.values())
    for path, own in names.items():
        if own != every:
            raise InvalidArgument(
                f"Tables that are read together need the same columns: {path} has no stable row ids, and so no"
                f" {', '.join(sorted(every - own))}. Use lance_table, which has no system columns"
            )


def check_alike(tables: Mapping[str, pa.Schema]) -> None:
    """
    tables: columns by path
    raises: InvalidArgument for tables whose columns differ from those of the first one
    """
    (first, columns), *others = tables.items()
    for path, schema in others:
        if schema.names == columns.names and schema.types == columns.types:
            continue
        for index, field in enumerate(schema):
            other = columns.field(index) if index < len(columns) else None
            if other is None or (other.name, other.type) != (field.name, field.type):
                there = "no such column" if other is None else f"{other.name} {other.type}"
                raise InvalidArgument(
                    f"Tables that are read together need the same columns: {path} has {field.name} {field.type} where"
                    f" {first} has {there}"
                )
        raise InvalidArgument(f"Tables that are read together need the same columns: {first} has more than {path}")
