"""Checks that a rule can hold for a table: types of its columns, and of those of a referenced table."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from lance_sql.errors import TABLE_ERRORS, InvalidArgument
from lance_sql.format.casts.common_type import column_to_type, common_type
from lance_sql.format.schema import arrow_field
from lance_sql.reads.scan.filters import to_predicate
from lance_sql.store.open import local_path
from lance_sql.table.open_snapshot import open_snapshot
from lance_sql.table.snapshot import Snapshot
from lance_sql.values import keys


def check(kind: str, columns: Sequence[str], values: Sequence[Any], filter: str | None, snapshot: Snapshot) -> None:
    """Checks that rows can satisfy a rule.

    filter: the filter for rows that break it, for kinds that have one
    raises: InvalidArgument for columns of types that the rule does not support, and for a missing referenced table or
        column
    """
    if filter is not None:
        _ = to_predicate(snapshot, filter)
    if kind == "unique":
        for name in columns:
            keys.check(name, _type(snapshot, name), is_json=snapshot.manifest.schema.is_json(name))
    elif kind == "freshness":
        type = _type(snapshot, columns[0])
        if not (pa.types.is_timestamp(type) or pa.types.is_date(type)):
            raise InvalidArgument(f"freshness needs a column of dates or times; {columns[0]!r} is {type}")
    elif kind == "foreign_key":
        name, other_name = columns
        keys.check(name, _type(snapshot, name), is_json=snapshot.manifest.schema.is_json(name))
        try:
            other = referenced_table(snapshot, values[0])
            other_type = _type(other, other_name)
        except TABLE_ERRORS as error:
            raise InvalidArgument(f"foreign_key refers to a missing table or column: {error}") from error
        reference_type(name, _type(snapshot, name), other_name, other_type)


def reference_type(name: str, type: pa.DataType, other_name: str, other_type: pa.DataType) -> pa.DataType:
    """Returns the common type for comparing the values of two columns.

    raises: InvalidArgument if no value of one can be a value of the other
    """
    common = common_type(type, other_type)
    if common is None or pa.types.is_nested(common):
        raise InvalidArgument(f"{name} is {type}, and {other_name} is {other_type}: compare columns of one type")
    return common


def missing(values: pa.ChunkedArray, name: str, referenced: pa.ChunkedArray, other_name: str) -> pa.Array:
    """Returns the distinct values of a column that another column lacks; NULL is never missing.

    raises: InvalidArgument as `reference_type`
    """
    common = reference_type(name, values.type, other_name, referenced.type)
    wanted, known = column_to_type(values, common, name), column_to_type(referenced, common, other_name)
    ids, known_ids = keys.numbered([[wanted.combine_chunks()], [known.combine_chunks()]], nulls_are_equal=True)
    is_missing = ~np.isin(ids, known_ids) & wanted.is_valid().to_numpy()
    found: pa.Array = wanted.filter(pa.array(is_missing)).unique()
    return found


def referenced_table(snapshot: Snapshot, path: str) -> Snapshot:
    """Opens the table that a rule names: a version that refers to its own table refers to itself.

    raises: as `open_snapshot`
    """
    place = _beside(snapshot, path)
    own, other = local_path(snapshot.uri), local_path(place)
    if own is not None and other is not None:
        is_same = os.path.realpath(own) == os.path.realpath(other)
    else:
        is_same = place.rstrip("/") == snapshot.uri.rstrip("/")
    return snapshot if is_same else open_snapshot(place, access=snapshot.access)


def _beside(snapshot: Snapshot, path: str) -> str:
    """Resolves the path in a rule: relative to the folder of this table, unless it is absolute."""
    if "://" in path or os.path.isabs(path):
        return path
    parent = snapshot.uri.rstrip("/").rpartition("/")[0]
    own = local_path(snapshot.uri)
    return os.path.join(os.path.dirname(os.path.abspath(own)), path) if own is not None else f"{parent}/{path}"


def _type(snapshot: Snapshot, name: str) -> pa.DataType:
    *_, field = snapshot.manifest.schema.resolve(name, table=snapshot.label)
    return arrow_field(field).type
