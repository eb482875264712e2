"""Fields and schemas.

A table stores its schema as a flat list of fields that name their parents:

    id 0  parent -1  "id"    int64              Schema
    id 1  parent -1  "tags"  list                 id
    id 2  parent  1  "item"  string        ->     tags
    id 3  parent -1  "p"     struct                 item
    id 4  parent  3  "x"     float                p
                                                    x

Columns are found by field id everywhere below the user's query: names change, ids do not.

Source: message lance.file.Field.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import repeat
from typing import Protocol

import pyarrow as pa

from lance_sql.errors import CorruptFile, InvalidArgument, UnsupportedFeature, at
from lance_sql.format.schema import projection, types
from lance_sql.format.schema.field import EXTENSION_NAME, NO_METADATA, DictionaryLocation, Field
from lance_sql.runtime.cached_property import cached_property

# Arrow exchanges no deeper schemas between libraries (kMaxNestingDepth, kMaxImportRecursionLevel).
MAX_DEPTH = 64


@dataclass(frozen=True)
class Schema:
    """The fields of one table version. No slots, because the views below are cached."""

    fields: tuple[Field, ...]
    metadata: Mapping[str, bytes] = dataclasses.field(default_factory=dict)

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash(self.fields)

    @cached_property
    def arrow(self) -> pa.Schema:
        """The schema for users; see `types.arrow_field`."""
        metadata = {key.encode(): value for key, value in self.metadata.items()}
        return pa.schema(types.arrow_fields(self.fields), metadata=metadata or None)

    @cached_property
    def by_id(self) -> Mapping[int, Field]:
        """Every field, nested ones included, by its id."""
        by_id: dict[int, Field] = {}
        open_fields = list(self.fields)
        while open_fields:
            field = open_fields.pop()
            by_id[field.id] = field
            open_fields += field.children
        return by_id

    @cached_property
    def has_stored_dictionaries(self) -> bool:
        """Whether the manifest file of each version has values of dictionaries, as in files of version 0.1."""
        return any(field.dictionary is not None for field in self.by_id.values())

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the top-level fields, in order."""
        return tuple(field.name for field in self.fields)

    @cached_property
    def by_name(self) -> Mapping[str, Field]:
        """The top-level fields; where two have one name, the first."""
        return {field.name: field for field in reversed(self.fields)}

    def field(self, name: str, *, table: str | None = None) -> Field:
        """Returns the top-level field of this name.

        table: name of the table in messages
        raises: ColumnNotFound
        """
        _check_text(name)
        return projection.child(self.fields, name, name, table)

    def is_json(self, name: str) -> bool:
        """Whether a column, or the member `a.b` of a struct, is JSON; False if there is no such column."""
        fields, found = self.fields, False
        for part in name.split("."):
            field = next((each for each in fields if each.name == part), None)
            if field is None:
                return False
            fields, found = field.children, types.is_json(field)
        return found

    def resolve(self, path: str, *, table: str | None = None, also: Sequence[str] = ()) -> tuple[Field, ...]:
        """Returns the fields from the top level down to the one with a dotted path.

        path: "a", or "p.x" for a member of a struct; `p`.`x.y` or p."x.y" when a name has a dot in it.
            A top-level name that equals the whole path comes first.
        table: name of the table in messages, for example "events.lance version 42"
        also: valid names outside the schema, for messages
        raises: ColumnNotFound with the closest name
        """
        _check_text(path)
        return projection.resolve(self.fields, self.by_name, path, table, also)


def _check_text(name: object) -> None:
    if not isinstance(name, str):
        raise InvalidArgument(f"A column name must be a string, not {name!r}")


class StoredField(Protocol):
    """The members of a lance.file.Field message that `build` needs."""

    name: str
    id: int
    parent_id: int
    logical_type: str
    nullable: bool
    extension_name: str

    @property
    def metadata(self) -> Mapping[str, bytes]: ...

    @property
    def dictionary(self) -> StoredDictionary: ...


class StoredDictionary(Protocol):
    """The members of a lance.file.Dictionary message that `build` needs."""

    offset: int
    length: int


def build(stored: Iterable[StoredField], metadata: Mapping[str, bytes] | None = None) -> Schema:
    """Builds the schema of a flat list of stored fields; siblings keep the order of the list.

    raises: CorruptFile for negative or repeated ids, missing parents, cycles, siblings of one name, a logical
        type that is malformed or does not fit its children; UnsupportedFeature for unknown logical types
        and for more than 64 levels
    """
    return assemble([without_children(message) for message in stored], metadata)


def assemble(fields: Sequence[Field], metadata: Mapping[str, bytes] | None = None) -> Schema:
    """Builds the schema of fields that do not have their children yet.

    raises: as `build`
    """
    if _are_plain(fields):
        return Schema(tuple(fields), dict(metadata or {}))
    by_id: dict[int, Field] = {}
    children: dict[int, list[Field]] = {-1: []}
    for field in fields:
        if field.id < 0:
            raise CorruptFile(f"field {field.name!r} has the id {field.id}")
        other = by_id.setdefault(field.id, field)
        if other is not field:
            raise CorruptFile(f"fields {other.name!r} and {field.name!r} share the id {field.id}")
        children.setdefault(field.parent_id, []).append(field)
    for parent_id, siblings in children.items():
        if parent_id != -1 and parent_id not in by_id:
            raise CorruptFile(f"field {siblings[0].name!r} names a parent that does not exist: {parent_id}")

    order = _parents_first(children)
    if len(order) != len(by_id):
        reached = {field.id for field in order}
        name = next(field.name for field in by_id.values() if field.id not in reached)
        raise CorruptFile(f"field {name!r} is its own ancestor")

    for field in reversed(order):
        members = children.get(field.id)
        if members is None and field.logical_type in types.PLAIN:
            continue
        with at(column=field.name):
            if members is not None:
                _check_names(members)
                field = by_id[field.id] = field._replace(children=tuple([by_id[member.id] for member in members]))
            types.check(field)
    _check_names(children[-1])
    return Schema(tuple([by_id[field.id] for field in children[-1]]), dict(metadata or {}))


def _are_plain(fields: Sequence[Field]) -> bool:
    """Whether no field is nested or invalid, as in most wide tables. Checking all fields at once
    takes a fraction of the time of checking each."""
    if not fields:
        return True
    names, ids, parents, kinds, *_ = zip(*fields, strict=True)
    are_apart = len(set(ids)) == len(fields) == len(set(names))
    return are_apart and min(ids) >= 0 and set(parents) == {-1} and types.PLAIN.keys() >= set(kinds)


def plain_fields(
    names: Iterable[str], ids: Iterable[int], parents: Iterable[int], kinds: Iterable[str], nullable: Iterable[bool]
) -> list[Field]:
    """Builds fields without children and metadata, from columns of their members."""
    rows = zip(names, ids, parents, kinds, nullable, repeat(()), repeat(NO_METADATA), repeat(None))
    # the constructor of `Field` does the same in twice the time
    return list(map(partial(tuple.__new__, Field), rows))


def _parents_first(children: Mapping[int, Sequence[Field]]) -> list[Field]:
    """Returns every field reachable from the top level, each after its parent."""
    order: list[Field] = []
    level = children[-1]
    for _ in range(MAX_DEPTH):
        order += level
        level = [child for field in level if field.id in children for child in children[field.id]]
        if not level:
            return order
    raise UnsupportedFeature(f"field {level[0].name!r} is nested more than {MAX_DEPTH} levels deep")


def _check_names(siblings: Sequence[Field]) -> None:
    if len({field.name for field in siblings}) == len(siblings):
        return
    seen: set[str] = set()
    for field in siblings:
        if field.name in seen:
            raise CorruptFile(f"two fields of one parent are called {field.name!r}")
        seen.add(field.name)


def without_children(stored: StoredField) -> Field:
    """Converts a message to a field, in the form for `assemble`."""
    stored_metadata, logical_type, extension_name = stored.metadata, stored.logical_type, stored.extension_name
    metadata = NO_METADATA
    if stored_metadata or extension_name:
        metadata = dict(stored_metadata)
        if extension_name:
            metadata.setdefault(EXTENSION_NAME, extension_name.encode())
    location = None
    if logical_type.startswith("dict:") and stored.dictionary.length:
        location = DictionaryLocation(stored.dictionary.offset, stored.dictionary.length)
    name, id, parent_id, nullable = stored.name, stored.id, stored.parent_id, stored.nullable
    return Field(name, id, parent_id, logical_type, nullable, (), metadata, location)
