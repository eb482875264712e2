"""Projection: resolves the user's column names to fields of the table and system columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

import pyarrow as pa

from lance_sql.errors import ColumnNotFound, InvalidArgument, at
from lance_sql.format.file.column import value_bytes
from lance_sql.format.schema import Field, Schema, arrow_field
from lance_sql.format.schema.types import is_json
from lance_sql.reads.scan import system_columns
from lance_sql.reads.scan.predicates import json_paths
from lance_sql.reads.scan.predicates.json_functions import MEMBER_TYPES, member
from lance_sql.runtime.cached_property import cached_property
from lance_sql.runtime.caches import LruCache
from lance_sql.table.listed_columns import FieldsToRead
from lance_sql.table.snapshot import Snapshot
from lance_sql.values import kinds

_MOST_KEYS: Final = 1024
_MOST_TYPES: Final = 16
_MOST_BYTES: Final = 16 << 20
_COLUMN_BYTES: Final = 512


@dataclass(frozen=True, slots=True)
class OutputColumn:
    """One column of the result.

    field: the top-level field, cut down to the needed parts; None for a system column and for NULLs
    path: the names below `field` that lead to the value; empty for the field itself
    is_null: NULL in every row, of Arrow's null type: a column that no file has
    member: path to a member of documents of JSON, and its type, one of `MEMBER_TYPES`; None for other columns. The
        field is that of the stored documents
    """

    name: str
    field: Field | None
    path: tuple[str, ...]
    arrow: pa.Field
    is_null: bool = False
    member: tuple[str, str] | None = None

    def extract(self, array: pa.Array) -> pa.Array:
        """Extracts the column's values from those of `field`: a member is NULL if an enclosing struct is.

        raises: InvalidArgument for a member that cannot become the type; CorruptFile, UnsupportedFeature for damaged
            documents
        """
        for name in self.path:
            array = array.flatten()[array.type.get_field_index(name)]
        if self.member is None:
            return array
        with at(column=self.name):
            return member(array, *self.member).cast(self.arrow.type)


class Columns(tuple[OutputColumn, ...]):
    """The columns of a result, with everything that follows from them alone."""

    @classmethod
    def of(cls, columns: Iterable[OutputColumn]) -> Columns:
        """Returns the columns; the same object if it is one of these."""
        return columns if isinstance(columns, Columns) else cls(columns)

    def with_types(self, types: Mapping[str, pa.DataType]) -> Columns:
        """Returns the columns with other types for some of them, the same object each time.

        types: by column name; other names are ignored
        """
        changed = tuple([(column.name, types[column.name]) for column in self if column.name in types])
        if not changed:
            return self
        found = self._by_types.get(changed)
        if found is None:
            if len(self._by_types) >= _MOST_TYPES:
                self._by_types.clear()
            arrows = [column.arrow.with_type(types.get(column.name, column.arrow.type)) for column in self]
            columns = [replace(column, arrow=arrow) for column, arrow in zip(self, arrows, strict=True)]
            found = self._by_types[changed] = Columns(columns)
        return found

    @cached_property
    def _by_types(self) -> dict[tuple[tuple[str, pa.DataType], ...], Columns]:
        return {}

    @cached_property
    def schema(self) -> pa.Schema:
        """Schema of the result, without metadata."""
        return pa.schema([column.arrow for column in self])

    @cached_property
    def fields(self) -> tuple[Field, ...]:
        """The fields that are read, each once."""
        return tuple(dict.fromkeys(column.field for column in self if column.field is not None))

    @cached_property
    def field_numbers(self) -> tuple[int | None, ...]:
        """Index in `fields` of the field of each column; None for other columns."""
        numbers = {field: number for number, field in enumerate(self.fields)}
        return tuple(None if column.field is None else numbers[column.field] for column in self)

    @cached_property
    def are_values(self) -> bool:
        """Whether every column is the whole of a field, in which NULL is allowed."""
        return all(
            column.field is not None and not column.path and column.member is None and column.arrow.nullable
            for column in self
        )

    @cached_property
    def delivered(self) -> Mapping[int, pa.DataType]:
        """Types of columns in the result, by field id, if they differ from the table's."""
        return {
            column.field.id: column.arrow.type
            for column in self
            if column.field is not None
            and not column.path
            and column.member is None
            and column.arrow.type != arrow_field(column.field).type
        }

    @cached_property
    def to_read(self) -> FieldsToRead:
        """The fields, with the types of columns in the result."""
        return FieldsToRead(self.fields, self.delivered)

    @cached_property
    def row_bytes(self) -> float:
        """Arrow bytes per row by the types of the fields, without the bytes of strings and lists."""
        return fields_bytes(self.fields)

    @cached_property
    def has_blobs(self) -> bool:
        """Whether values of a field may be outside the data files."""
        return any(field.is_blob_v2 for field in self.fields)

    @cached_property
    def are_null(self) -> bool:
        """Whether no column has values."""
        return all(column.is_null for column in self)

    @cached_property
    def has_system_columns(self) -> bool:
        """Whether there are columns that are not in the files."""
        return any(column.field is None and not column.is_null for column in self)

    @cached_property
    def has_dictionaries(self) -> bool:
        """Whether a field is stored as a dictionary."""
        return have_dictionaries(self.fields)

    @cached_property
    def are_fields(self) -> bool:
        """Whether each field is read for one column, and there are no members of documents."""
        num_fields = sum(column.field is not None for column in self)
        return len(self.fields) == num_fields and all(column.member is None for column in self)

    @cached_property
    def key(self) -> object:
        """Identical object for the same columns in the same types, as long as it is cached."""
        return key_of(tuple([(column.field, column.arrow) for column in self]))

    def beside(self, filter_fields: tuple[Field, ...]) -> ReadTogether:
        """Returns what follows from these columns and the fields of a filter, the same object each time."""
        found = self._beside.get(filter_fields)
        if found is None:
            if len(self._beside) >= _MOST_TYPES:
                self._beside.clear()
            found = self._beside[filter_fields] = ReadTogether(self, filter_fields)
        return found

    @cached_property
    def _beside(self) -> dict[tuple[Field, ...], ReadTogether]:
        return {}

    def __reduce__(self) -> tuple[Callable[..., Columns], tuple[tuple[OutputColumn, ...]]]:
        return Columns, (tuple(self),)


class ReadTogether:
    """The columns of a result and the fields of a filter, with what follows from both.

    fields: that are read, those of the filter first
    to_read: all of them, with the types of those in the result
    row_bytes: Arrow bytes per row by the types, without the bytes of strings and lists
    has_blobs: values may be outside the data files
    can_join: columns of several fragments can be concatenated: each fragment has its own stored dictionaries
    """

    def __init__(self, columns: Columns, filter_fields: tuple[Field, ...]) -> None:
        of_columns = columns.fields
        self.fields = tuple(dict.fromkeys([*filter_fields, *of_columns])) if filter_fields else of_columns
        are_in_columns = all(field in of_columns for field in filter_fields)
        self.to_read = columns.to_read if are_in_columns else FieldsToRead(self.fields, columns.delivered)
        self.row_bytes = columns.row_bytes + fields_bytes(filter_fields)
        self.has_blobs = columns.has_blobs or any(field.is_blob_v2 for field in filter_fields)
        self.can_join = not (columns.has_dictionaries or have_dictionaries(filter_fields))


@lru_cache(_MOST_KEYS)
def key_of(value: object) -> object:
    """Returns an object with a fast hash, unlike fields."""
    return object()


def fields_bytes(fields: Iterable[Field]) -> float:
    """Returns the Arrow bytes per row by the types of fields, without the bytes of strings and lists."""
    return sum(value_bytes(arrow_field(field).type, 0.0) for field in fields)


def have_dictionaries(fields: Iterable[Field]) -> bool:
    """Whether a field is stored as a dictionary."""
    return any(kinds.any_leaf(arrow_field(field).type, pa.types.is_dictionary) for field in fields)


# versions of a table mostly have the same schema
_resolved: LruCache[tuple[Schema, bool, tuple[str, ...] | None], Columns] = LruCache(
    "columns of scans", most_bytes=_MOST_BYTES, num_bytes=lambda columns: _COLUMN_BYTES * (1 + len(columns))
)


def resolve(snapshot: Snapshot, names: Sequence[str] | None) -> Columns:
    """Resolves `names` to columns, in that order; every column of the table without names.

    raises: ColumnNotFound; InvalidArgument for version columns on a table without stable row ids, and for duplicate
        names
    """
    manifest = snapshot.manifest
    key = manifest.schema, manifest.has_stable_row_ids, None if names is None else tuple(names)
    return _resolved.get_or_make(key, lambda: Columns(_resolve(snapshot, names)))


def _resolve(snapshot: Snapshot, names: Sequence[str] | None) -> Iterable[OutputColumn]:
    manifest = snapshot.manifest
    if names is None:
        return [OutputColumn(field.name, field, (), arrow_field(field)) for field in manifest.schema.fields]
    stable = manifest.has_stable_row_ids
    system_columns.require(names, stable_row_ids=stable, table=snapshot.name)
    hidden = system_columns.available(stable_row_ids=stable)
    columns: dict[str, OutputColumn] = {}
    for name in names:
        column = _output(snapshot, name, hidden)
        if column.name in columns:
            raise InvalidArgument(f"Column {column.name!r} is selected twice: name it once")
        columns[column.name] = column
    return columns.values()


def _output(snapshot: Snapshot, name: str, hidden: Sequence[str]) -> OutputColumn:
    if name in hidden:
        return OutputColumn(name, None, (), system_columns.field(name))
    table = f"{snapshot.name} version {snapshot.manifest.version}"
    document = document_of(snapshot, name)
    if document is not None:
        return _member(name, document)
    top, *below = snapshot.manifest.schema.resolve(name, table=table, also=hidden)
    if not below:
        return OutputColumn(name, top, (), arrow_field(top))
    path = tuple(field.name for field in below)
    leaf = arrow_field(below[-1])
    nullable = any(field.may_be_null for field in (top, *below))
    return OutputColumn(name, restrict(top, [path]), path, pa.field(name, leaf.type, nullable, leaf.metadata))


def _member(spelled: str, document: Field) -> OutputColumn:
    """Returns the column of a member of documents.

    spelled: its path, and a type after `::`; text without one
    raises: InvalidArgument
    """
    name, _, type = spelled.partition("::")
    type = type.strip().upper() or "VARCHAR"
    if type not in MEMBER_TYPES:
        raise InvalidArgument(f"The column {spelled!r} has an unknown type: use {', '.join(MEMBER_TYPES)}")
    return member_column(name, document, member_path(name), type)


def document_of(snapshot: Snapshot, name: str) -> Field | None:
    """Returns the column of JSON that a name in a projection has a member of; None for other names."""
    columns = snapshot.manifest.schema.by_name
    document = columns.get(name.partition(".")[0])
    return document if document is not None and is_json(document) and name not in columns else None


def member_path(name: str) -> str:
    """Returns the path to a member of documents by its name in a projection: keys after that of the column.

    raises: InvalidArgument
    """
    _, *keys = name.split(".")
    if not all(keys):
        raise InvalidArgument(f"The column path {name!r} has an empty name in it: write keys between the dots")
    return "$" + "".join(json_paths.of_key(key)[1:] for key in keys)


def member_column(name: str, document: Field, path: str, type: str) -> OutputColumn:
    """Returns the column of the member at a path of documents; NULL where it is missing, and where it is null unless
    the type is JSON.

    document: field of a column of JSON at the top
    type: one of `MEMBER_TYPES`
    """
    stored = document._replace(logical_type="large_binary", metadata={})
    _, made = MEMBER_TYPES[type]
    arrow = (
        arrow_field(document).with_name(name)
        if type == "JSON"
        else pa.field(name, pa.string() if type == "VARCHAR" else made)
    )
    return OutputColumn(name, stored, (), arrow.with_nullable(True), member=(path, type))


def restrict(field: Field, paths: Iterable[tuple[str, ...]]) -> Field:
    """Returns the field with only the members on one of `paths`; an empty path keeps all of them."""
    wanted: dict[str, list[tuple[str, ...]]] = {}
    for path in paths:
        if not path:
            return field
        wanted.setdefault(path[0], []).append(path[1:])
    if field.is_packed or field.is_blob_v2:
        return field
    children = tuple(restrict(child, wanted[child.name]) for child in field.children if child.name in wanted)
    return field._replace(children=children)


def filter_fields(snapshot: Snapshot, paths: Iterable[tuple[str, ...]]) -> tuple[list[Field], list[str]]:
    """Returns the inputs of a filter over `paths`: top-level fields, cut down, and system columns."""
    below_names: dict[str, list[tuple[str, ...]]] = {}
    for path in sorted(paths):
        below_names.setdefault(path[0], []).append(path[1:])
    fields, system = [], []
    top_level = snapshot.manifest.schema.by_name
    for name, below in below_names.items():
        if name in system_columns.NAMES:
            system.append(name)
        elif name in top_level:
            fields.append(restrict(top_level[name], below))
        else:
            raise ColumnNotFound(f"No column {name!r} in {snapshot.name}")
    return fields, system
