"""Fields and their leaf columns: splitting a field into the columns that files store, and joining them again.

In file versions 2.1 and 2.2 only leaves have columns; structs, lists and maps are encoded in the levels of the leaves
below them. In earlier versions lists have columns too, and a leaf is read through those of the lists around it. A
packed struct, a blob, a struct without members and a fixed-size list of plain values are leaves too.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from lance_sql.errors import CorruptFile
from lance_sql.format.encodings.blocks import bitmap_or
from lance_sql.format.schema import Field, arrow_field
from lance_sql.format.schema.field import PACKED_KEYS
from lance_sql.values import kinds


@dataclass(frozen=True, slots=True)
class Leaf:
    """One leaf of a field.

    outer: the types around it from the inside, each with the one child that leads to the leaf; maps as lists of entries
    parents: the fields of those types
    """

    field: Field
    type: pa.DataType
    outer: tuple[pa.DataType, ...] = ()
    parents: tuple[Field, ...] = ()


def leaves(field: Field) -> list[Leaf]:
    """Returns the leaves below `field`, in the order of the schema."""
    if is_leaf(field):
        return [Leaf(field, arrow_field(field).type)]
    all_leaves = []
    for child in field.children:
        name = arrow_field(child)
        for leaf in leaves(child):
            below = leaf.outer[-1] if leaf.outer else leaf.type
            step = _around(field, pa.field(name.name, below, name.nullable, name.metadata))
            all_leaves.append(Leaf(leaf.field, leaf.type, (*leaf.outer, step), (*leaf.parents, field)))
    return all_leaves


def leaf_in_structs(field: Field) -> Field:
    """Returns the only leaf of a field with structs of one member; the field itself if it has several leaves."""
    inside = field
    while not is_leaf(inside) and inside.logical_type == "struct" and len(inside.children) == 1:
        (inside,) = inside.children
    return inside if is_leaf(inside) else field


def is_leaf(field: Field) -> bool:
    """Whether the field is stored in a single column."""
    return not field.children or field.is_packed or field.is_blob_v2


def as_stored(field: Field, has_column: Callable[[int], bool]) -> Field:
    """Returns the field without packing that files lack: early releases ignore the option.

    has_column: whether a file has a column for a field id
    """
    if not field.children:
        return field
    children = tuple(as_stored(child, has_column) for child in field.children)
    if field.is_packed and any(has_column(child.id) for child in children):
        metadata = {key: value for key, value in field.metadata.items() if key not in PACKED_KEYS}
        return field._replace(children=children, metadata=metadata)
    return field._replace(children=children) if children != field.children else field


def join(field: Field, arrays: Mapping[int, pa.Array], num_rows: int) -> pa.Array:
    """Joins the arrays of the leaves of a field.

    arrays: by the leaf's field id, in the form of the leaf's outermost type; leaves that no file stores are left out
        and become NULL inside their parents
    """
    parts = [(leaf, arrays[leaf.field.id]) for leaf in leaves(field) if leaf.field.id in arrays]
    return _join(field, [(leaf.field.id, array) for leaf, array in parts], num_rows)


def _join(field: Field, parts: Sequence[tuple[int, pa.Array]], num_slots: int) -> pa.Array:
    type = arrow_field(field).type
    if not parts:
        return pa.nulls(num_slots, type)
    if is_leaf(field):
        return parts[0][1]
    if any(len(array) != num_slots for _, array in parts):
        raise CorruptFile(f"the columns of {field.name!r} hold different numbers of values")
    if field.logical_type == "struct":
        return _join_struct(field, type, parts, num_slots)
    first = parts[0][1]
    buffers = first.buffers()[: 1 if pa.types.is_fixed_size_list(type) else 2]
    (child,) = field.children
    values = [(leaf, array.values) for leaf, array in parts]
    num_values = len(first.values)
    if not pa.types.is_fixed_size_list(type) and any(not _same_lists(first, array) for _, array in parts[1:]):
        raise CorruptFile(f"the columns of {field.name!r} disagree on the lengths of its lists")
    joined = _join(child, values, num_values)
    if pa.types.is_map(type):
        joined = _map_entries(joined)
    return pa.Array.from_buffers(type, num_slots, buffers, first.null_count, children=[joined])


def _map_entries(entries: pa.StructArray) -> pa.StructArray:
    """Returns the entries of a map without a bitmap: Arrow aborts the process for a bitmap or for NULL keys."""
    if entries.null_count or entries.field(0).null_count:
        raise CorruptFile("a map with NULL entries or keys")
    children = [entries.field(i) for i in range(entries.type.num_fields)]
    return pa.Array.from_buffers(entries.type, len(entries), [None], 0, children=children)


def _join_struct(field: Field, type: pa.DataType, parts: Sequence[tuple[int, pa.Array]], num_slots: int) -> pa.Array:
    # Files that share a struct each store its validity with their members: a struct is present if any of them has it.
    validity = parts[0][1].buffers()[0]
    for _, array in parts[1:]:
        other = array.buffers()[0]
        if validity is None or other is None:
            validity = None
            break
        validity = bitmap_or(validity, other, num_slots)
    children = []
    for child in field.children:
        ids = {leaf.field.id for leaf in leaves(child)}
        inside = [(leaf, array.field(0)) for leaf, array in parts if leaf in ids]
        children.append(_join(child, inside, num_slots))
    return pa.Array.from_buffers(type, num_slots, [validity], -1 if validity is not None else 0, children=children)


def _same_lists(a: pa.Array, b: pa.Array) -> bool:
    mine, theirs = a.buffers()[1], b.buffers()[1]
    return bool(mine.equals(theirs)) or bool(a.offsets.equals(b.offsets))


def _around(field: Field, child: pa.Field) -> pa.DataType:
    """Returns the type of `field` with only this child."""
    type = arrow_field(field).type
    return pa.list_(child) if pa.types.is_map(type) else kinds.with_members(type, [child])
