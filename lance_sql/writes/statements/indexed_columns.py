"""The columns that indices are built on, and their values with the numbers of rows. A member of JSON documents is one
as well, with the type that all documents have there.

    "point.x"        a member of structs
    "event.at.x"     the column event, with the path $.at.x

Source: indices, writing; message JsonIndexDetails.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lance_sql.errors import InvalidArgument, UnsupportedFeature
from lance_sql.format.schema import Field, arrow_field
from lance_sql.reads.scan import projection
from lance_sql.reads.scan.predicates import json_paths
from lance_sql.reads.scan.projection import OutputColumn
from lance_sql.reads.scan.scanning import numbers, read_columns
from lance_sql.reads.scan.system_columns import ROW_ADDRESS, ROW_ID
from lance_sql.runtime.progress import Work
from lance_sql.table import json_index
from lance_sql.table.fragment import Fragment
from lance_sql.table.indices import IndexSegment, column_name
from lance_sql.table.snapshot import Snapshot
from lance_sql.values import row_ranges
from lance_sql.values.arrays import U64

_TYPES: Final = {"BIGINT": pa.int64(), "DOUBLE": pa.float64(), "BOOLEAN": pa.bool_(), "VARCHAR": pa.string()}
"""Arrow types of the values of members in index files."""

_WORDS: Final = {'"': "VARCHAR", "t": "BOOLEAN", "f": "BOOLEAN", "{": "JSON", "[": "JSON"}
"""Types of members by the first character of their JSON text; those of numbers depend on the others."""


_SPOKEN: Final = {
    "VARCHAR": "text",
    "BIGINT": "integers",
    "DOUBLE": "numbers",
    "BOOLEAN": "booleans",
    "JSON": "lists or objects",
}


class MixedTypes(InvalidArgument):
    """Members of JSON documents that are lists or objects, or have several types."""


@dataclass(frozen=True, slots=True)
class IndexedColumn:
    """A column of an index.

    name: as scans use it
    field: its field; of a member, that of the column of JSON
    path: of a member of JSON, as the index stores it; None for other columns
    type: of the values in index files; of a member, None before it is known
    """

    name: str
    field: Field
    path: str | None
    type: pa.DataType | None

    def output(self, snapshot: Snapshot) -> OutputColumn:
        """Returns the column for a scan; of a member whose type is not known, its JSON text."""
        if self.path is None:
            (column,) = projection.resolve(snapshot, [self.name])
            return column
        type = next((name for name, type in _TYPES.items() if type == self.type), "JSON")
        return projection.member_column(self.name, self.field, json_index.from_root(self.path), type)


def by_name(snapshot: Snapshot, name: str) -> IndexedColumn:
    """Returns the column with a name.

    raises: ColumnNotFound; InvalidArgument; UnsupportedFeature for columns inside of lists
    """
    document = projection.document_of(snapshot, name)
    if document is not None:
        path = projection.member_path(name)
        key = path.removeprefix("$.")
        # pylance uses an index for its functions of this very text, which may mean an item of a list if it is a number
        return IndexedColumn(name, document, key if key.isidentifier() else path, None)
    *parents, field = snapshot.manifest.schema.resolve(name, table=snapshot.label)
    if any(parent.logical_type != "struct" for parent in parents):
        raise UnsupportedFeature(f"an index on {name!r}, which is inside a list, is not supported")
    return IndexedColumn(name, field, None, arrow_field(field).type)


def of_segment(snapshot: Snapshot, segment: IndexSegment) -> IndexedColumn:
    """Returns the column of a segment.

    raises: UnsupportedFeature for a missing field, for JSON inside structs, and for paths to several members
    """
    field = snapshot.manifest.schema.by_id.get(segment.field_ids[0])
    if field is None:
        raise UnsupportedFeature(f"an index on field {segment.field_ids[0]}, which is not a column")
    name = column_name(snapshot, field.id)
    of_json = segment.of_json
    if of_json is None:
        return IndexedColumn(name, field, None, arrow_field(field).type)
    if snapshot.manifest.schema.by_name.get(name) != field:
        raise UnsupportedFeature(
            f"building an index on members of {name!r}, which is inside a struct, is not supported"
        )
    json_paths.parse(json_index.from_root(of_json.path))
    return IndexedColumn(f"{name}{json_index.from_root(of_json.path)[1:]}", field, of_json.path, None)


def type_of_members(snapshot: Snapshot, column: IndexedColumn, fragments: Sequence[Fragment]) -> pa.DataType | None:
    """Returns the type of the members in all live rows of some fragments; None if all are missing or null.

    column: without a type
    raises: MixedTypes
    """
    types: dict[str, None] = {}
    for batch in read_columns(snapshot, [column.output(snapshot)], fragments):
        texts = batch.column(0)
        types.update(dict.fromkeys(_types(texts)))
        if types.keys() == {"BIGINT", "DOUBLE"}:
            types = {"DOUBLE": None}
        if len(types) > 1 or "JSON" in types:
            found = " and ".join(sorted(_SPOKEN[type] for type in types))
            raise MixedTypes(
                f"The member {column.name!r} has {found}: an index needs members that are all numbers, booleans or text"
            )
    return next((_TYPES[type] for type in types), None)


def _types(texts: pa.Array) -> Iterator[str]:
    """Yields the types of members by their JSON text."""
    first = pc.utf8_slice_codeunits(texts, 0, 1)
    for character in pc.unique(first).to_pylist():
        if character in _WORDS:
            yield _WORDS[character]
    some = texts.filter(pc.match_substring_regex(texts, "^[-0-9]"))
    if len(some):
        are_integers = pc.all(pc.match_substring_regex(some, r"^-?\d{1,18}$")).as_py() or _fit(some)
        yield "BIGINT" if are_integers else "DOUBLE"


def _fit(numbers: pa.Array) -> bool:
    try:
        numbers.cast(pa.int64())
    except pa.ArrowInvalid:
        return False
    return True


def rows(
    snapshot: Snapshot, column: OutputColumn, numbered: str, fragments: Sequence[Fragment]
) -> Iterator[tuple[pa.Array, U64]]:
    """Yields the values of the live rows in the order of their addresses, and their addresses or row ids.

    numbered: which of the two, as a system column
    """
    ascending = sorted(fragments, key=lambda fragment: fragment.id)
    work = Work(sum(fragment.physical_rows for fragment in ascending))
    parts = (_with_addresses if numbered == ROW_ADDRESS else _with_ids)(snapshot, column, ascending)
    for values, addresses_or_ids in parts:
        yield values, addresses_or_ids
        work.advance(len(values))


def _with_ids(
    snapshot: Snapshot, column: OutputColumn, fragments: Sequence[Fragment]
) -> Iterator[tuple[pa.Array, U64]]:
    for batch in read_columns(snapshot, [column, *projection.resolve(snapshot, [ROW_ID])], fragments):
        yield batch.column(0), numbers(batch, ROW_ID)


def _with_addresses(
    snapshot: Snapshot, column: OutputColumn, fragments: Sequence[Fragment]
) -> Iterator[tuple[pa.Array, U64]]:
    """Derives addresses from the live rows: a column of them would prevent reading by kernels alone."""
    runs = (_live_addresses(snapshot, fragment) for fragment in fragments)
    run: range | U64 = range(0)
    for batch in read_columns(snapshot, [column], fragments):
        parts = [np.empty(0, np.uint64)]
        missing = batch.num_rows
        while missing:
            if len(run) == 0:
                run = next(runs)
            part, run = run[:missing], run[missing:]
            parts.append(np.arange(part.start, part.stop, dtype=np.uint64) if isinstance(part, range) else part)
            missing -= len(part)
        yield batch.column(0), parts[1] if len(parts) == 2 else np.concatenate(parts)


def _live_addresses(snapshot: Snapshot, fragment: Fragment) -> range | U64:
    live = snapshot.open(fragment).live_rows()
    first = fragment.id << 32
    if len(live) == 1:
        return range(first + int(live[0, 0]), first + int(live[0, 1]))
    addresses: U64 = row_ranges.expand(live).astype(np.uint64) + np.uint64(first)
    return addresses
