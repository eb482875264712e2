"""The columns of the range's last version, as earlier versions store them.

The feed has one schema, that of its last version. An image of an earlier version may have a column under another name
(it was renamed), in another type (it was cast), or not at all. Columns are followed from version to version by their
field ids, which renaming does not change. They are followed by name if a commit gave a column a new id with a new type,
and across an overwrite, which may reuse ids for new columns. A restore brings back the columns of the restored version.

    version 9     a: int32 (id 5)      name (id 2)      new (id 6)
    version 8     a: int64 (id 0)      name (id 2)      -             a was cast, new was added
    version 7     a: int64 (id 0)      title (id 2)     -             title was renamed
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from lance_sql.changes.changed_rows import RowSelection
from lance_sql.errors import InvalidArgument, UnsupportedFeature
from lance_sql.format.casts.conversion import between
from lance_sql.format.schema import Field, Schema, arrow_field
from lance_sql.format.schema.field import LISTS
from lance_sql.runtime.cached_property import cached_property
from lance_sql.table import fragment_rows
from lance_sql.table.fragment import Fragment
from lance_sql.table.listed_columns import FieldsToRead
from lance_sql.values import kinds


@dataclass(frozen=True)
class ColumnSource:
    """Location of the values of a feed column in one version.

    column: of the range's last version
    stored: the same column in the version; None if it did not exist
    until: the last version that has it in this type
    """

    column: Field
    stored: Field | None
    until: int

    @cached_property
    def is_direct(self) -> bool:
        """Whether stored values need no conversion."""
        return self.stored is not None and _is_alike(self.stored, self.column)

    @property
    def type(self) -> pa.DataType:
        """Type of the column in the feed."""
        return arrow_field(self.column).type

    def convert(self, array: pa.Array) -> pa.Array:
        """Converts stored values to the column's type.

        raises: InvalidArgument for values that do not fit it
        """
        if self.stored is None or self.is_direct:
            return array
        try:
            return _convert(array, self.stored, self.column)
        except pa.ArrowException as error:
            raise InvalidArgument(
                f"Column {self.column.name!r} was of type {arrow_field(self.stored).type} up to version {self.until},"
                f" and has values there that do not fit its later type {self.type} ({error}):"
                f" end the changes at version {self.until}"
            ) from error


Sources = tuple[ColumnSource, ...]
"""One for each column of the feed."""


Identities = Mapping[int, int]
"""Identities of the columns of a version, by field id. A column has the same identity in all versions that have it."""


def follow(
    identities: Identities, earlier: Schema, later: Schema, fresh: Iterator[int], *, by_name: bool = False
) -> Identities:
    """Returns the identities of the columns one version later.

    identities: of the version with the schema `earlier`
    fresh: numbers for new columns
    by_name: the field ids of both versions are unrelated
    """
    later_ids = {field.id for field in later.fields}
    by_id = {field.id: field for field in earlier.fields}
    names = earlier.by_name
    followed = {}
    for field in later.fields:
        same = names.get(field.name) if by_name else by_id.get(field.id)
        if same is None and not by_name and field.name in names and names[field.name].id not in later_ids:
            same = names[field.name]
        followed[field.id] = next(fresh) if same is None else identities[same.id]
    return followed


def sources(versions: Sequence[tuple[int, Schema, Identities]]) -> dict[int, Sources]:
    """Returns the columns of the last version as each of some versions stores them.

    versions: ascending; their numbers, schemas and identities
    """
    last, schema, identities = versions[-1]
    wanted = [(field, identities[field.id]) for field in schema.fields]
    latest = tuple(ColumnSource(field, field, last) for field in schema.fields)
    by_version = {last: latest}
    newest = list(latest)
    previous: tuple[Schema, Identities] | None = (schema, identities)
    for number, schema, identities in reversed(versions[:-1]):
        if previous is not None and previous[0].fields == schema.fields and previous[1] == identities:
            by_version[number] = by_version[min(by_version)]
            continue
        fields = {identities[field.id]: field for field in schema.fields}
        version_sources = []
        for index, (column, identity) in enumerate(wanted):
            stored = fields.get(identity)
            until = newest[index].until
            after = newest[index].stored
            if stored is not None and after is not None and not _is_alike(stored, after):
                until = number
            version_sources.append(ColumnSource(column, stored, until))
            if stored is not None:
                newest[index] = version_sources[-1]
        by_version[number] = tuple(version_sources)
        previous = (schema, identities)
    return by_version


def are_stored_alike(was: Sources, now: Sources) -> bool:
    """Whether two versions have every column under the same ids and in the same type."""
    if was is now:
        return True
    for a, b in zip(was, now, strict=True):
        if (a.stored is None) != (b.stored is None):
            return False
        if a.stored is not None and b.stored is not None and not _is_alike(a.stored, b.stored):
            return False
    return True


def read(rows: RowSelection, sources: Sequence[ColumnSource]) -> list[pa.Array]:
    """Reads one array for each column, in the types of the feed; NULL if a column did not exist.

    rows: at least one
    raises: InvalidArgument as for `ColumnSource.convert`
    """
    stored = FieldsToRead([source.stored for source in sources if source.stored is not None])
    parts = [(fragment, part.rows) for fragment, part in zip(rows.opened, rows.parts, strict=True)]
    arrays = iter(fragment_rows.read(parts, stored) if stored.fields else ())
    return [
        pa.nulls(rows.num_rows, source.type) if source.stored is None else source.convert(next(arrays))
        for source in sources
    ]


def is_rewritten(old: Fragment, new: Fragment, was: ColumnSource, now: ColumnSource) -> bool:
    """Whether a column of two fragments with the same rows may have other values: it is elsewhere, or one lacks it."""
    if was.stored is None or now.stored is None:
        there, fragment = (now.stored, new) if was.stored is None else (was.stored, old)
        return there is not None and any(fragment.file_of(number) is not None for number in _ids(there))
    if not _is_alike(was.stored, now.stored):
        return True
    return any(_location(old, number) != _location(new, number) for number in _ids(was.stored))


def _location(fragment: Fragment, field_id: int) -> tuple[str, int | None, int | None] | None:
    file = fragment.file_of(field_id)
    return None if file is None else (file.path, file.base_id, file.column_of(field_id))


def _ids(field: Field) -> list[int]:
    return [field.id, *(number for child in field.children for number in _ids(child))]


def _is_alike(a: Field, b: Field) -> bool:
    """Whether both fields have the same ids and types, whatever the name of the outermost."""
    if a is b:
        return True
    if _ids(a) != _ids(b):
        return False
    mine, theirs = arrow_field(a), arrow_field(b)
    return bool(mine.type == theirs.type and a.dictionary == b.dictionary)


def _convert(array: pa.Array, stored: Field, wanted: Field) -> pa.Array:
    type = arrow_field(wanted).type
    if array.type == type:
        return array
    if pa.types.is_struct(type) and pa.types.is_struct(array.type):
        return _convert_struct(array, stored, wanted)
    if stored.logical_type in LISTS and wanted.logical_type in LISTS:
        return _convert_list(array, stored, wanted)
    return between(array, arrow_field(stored), arrow_field(wanted))


def _convert_struct(array: pa.StructArray, stored: Field, wanted: Field) -> pa.Array:
    by_id = {child.id: index for index, child in enumerate(stored.children)}
    by_name = {child.name: index for index, child in enumerate(stored.children)}
    type = arrow_field(wanted).type
    members = []
    for number, child in enumerate(wanted.children):
        index = by_id.get(child.id, by_name.get(child.name))
        if index is not None:
            members.append(_convert(array.field(index), stored.children[index], child))
        elif type.field(number).nullable:
            members.append(pa.nulls(len(array), type.field(number).type))
        else:
            raise UnsupportedFeature(f"column {wanted.name!r} has the new member {child.name!r}, which is never NULL")
    mask = array.is_null() if array.null_count else None
    return pa.StructArray.from_arrays(members, fields=[type.field(i) for i in range(type.num_fields)], mask=mask)


def _convert_list(array: pa.Array, stored: Field, wanted: Field) -> pa.Array:
    type = arrow_field(wanted).type
    items = _convert(array.flatten(), stored.children[0], wanted.children[0])
    import pyarrow.compute as pc

    lengths = pc.list_value_length(array).fill_null(0).to_numpy()
    ends = np.concatenate(([0], np.cumsum(lengths)))
    offsets = pa.array(ends, kinds.offset_type(type))
    list_array = kinds.list_array(type)
    return list_array.from_arrays(offsets, items, type=type, mask=array.is_null() if array.null_count else None)
