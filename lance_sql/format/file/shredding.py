"""Shredding: splitting nested arrays into leaves with marks, for files with nesting in levels.

    list<struct<x>>      [{1}, {NULL}]   NULL   []   [NULL, {5}]
    values of x           1   (NULL)                  (any)  5
    starts                0    1          0      0     0     1      0: a row; j: an item of the j-th list from outside
    marks                 0    5          1      2     3     0      0: present; 1 + 2d: NULL at depth d, 2 + 2d: empty

Marks and starts count from the outside, so that they are the same for all leaves below a list or struct. Levels count
from the inside and number only the layers of a page (`levels`). Values of NULL and empty lists have no entry and are
left out. A NULL struct keeps its entry in every leaf.

Source: data file 2.1, repetition and definition levels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lance_sql.errors import InvalidArgument
from lance_sql.format.file.leaves import is_leaf
from lance_sql.format.layouts.shredded import ShreddedPage
from lance_sql.format.layouts.tree import Layer
from lance_sql.format.schema import Field
from lance_sql.format.schema.types import is_json
from lance_sql.values import dictionaries
from lance_sql.values.arrays import U8, BoolMask

Marks: TypeAlias = U8


@dataclass(frozen=True, slots=True)
class Shape:
    """The nesting of a leaf: for each depth, the leaf's own last, whether it is a list.

    items_per_row: number of entries in one row of a fixed-size list of structs
    declared: depths of nullable structs around lists. Every page declares them, because other readers do not find the
        lists if only some pages of a column have NULL structs
    """

    is_list: tuple[bool, ...]
    items_per_row: int = 1
    declared: tuple[int, ...] = ()

    @property
    def num_lists(self) -> int:
        return sum(self.is_list)

    @property
    def hidden_to(self) -> int:
        """Last mark of entries without an item, which are those from 1: NULL or empty layers up to the innermost
        list."""
        if not self.num_lists:
            return 0
        innermost = max(depth for depth, is_list in enumerate(self.is_list) if is_list)
        return 2 * innermost + 2


@dataclass(frozen=True, slots=True)
class Shredded:
    """Rows of one leaf.

    values: one for each entry that owns an item
    marks: of each entry; None when all are present
    starts: of each entry; None when each is a row
    num_entries: of all of these
    """

    values: pa.Array
    marks: Marks | None
    starts: Marks | None
    num_entries: int

    @property
    def num_bytes(self) -> int:
        """Bytes of values and levels, without the items of a dictionary, which slices share."""
        values = self.values.indices if isinstance(self.values, pa.DictionaryArray) else self.values
        if pa.types.is_primitive(values.type) and values.null_count == 0:
            size = (len(values) * int(values.type.bit_width) + 7) // 8
        else:
            size = int(values.nbytes)
        if self.marks is not None:
            size += self.marks.nbytes
        if self.starts is not None:
            size += self.starts.nbytes
        return size


_FLAT: Final = (Shape((False,)),)
"""The shape of a field that is a leaf itself: one object, because wide tables have thousands of them."""


def shapes(field: Field) -> Sequence[Shape]:
    """Returns the shape of each leaf of the field, in the order of the schema."""
    if is_leaf(field):
        return _FLAT
    is_list, dimension = field.is_list, 1
    if field.logical_type.startswith("fixed_size_list:"):
        dimension = int(field.logical_type.rpartition(":")[2])
    all_shapes = []
    for child in field.children:
        for shape in shapes(child):
            declared = tuple(depth + 1 for depth in shape.declared)
            if field.nullable and not is_list and any(shape.is_list):
                declared = (0, *declared)
            all_shapes.append(Shape((is_list, *shape.is_list), shape.items_per_row * dimension, declared))
    return all_shapes


def shred(field: Field, array: pa.Array, first_row: int) -> list[Shredded]:
    """Shreds a column into leaves, in the order of the schema.

    array: of the storage type of the field
    first_row: the row of its first value, for messages
    raises: InvalidArgument for a NULL in a field that is not nullable, with column and row
    """
    out: list[Shredded] = []
    _walk(field, array, _Entries(len(array)), (field.name,), first_row, out)
    return out


def slice_rows(leaf: Shredded, shape: Shape, first: int, end: int) -> Shredded:
    """Returns the entries [first, end), which must be row boundaries."""
    marks = None if leaf.marks is None else leaf.marks[first:end]
    starts = None if leaf.starts is None else leaf.starts[first:end]
    before, inside = _num_items(leaf.marks, shape, 0, first), _num_items(leaf.marks, shape, first, end)
    return Shredded(leaf.values.slice(before, inside), marks, starts, end - first)


def concat(leaves: Sequence[Shredded]) -> Shredded:
    """Concatenates the rows of all leaves."""
    if len(leaves) == 1:
        return leaves[0]
    marks = None
    if any(leaf.marks is not None for leaf in leaves):
        parts = [np.zeros(leaf.num_entries, np.uint8) if leaf.marks is None else leaf.marks for leaf in leaves]
        marks = np.concatenate(parts)
    starts = None
    if any(leaf.starts is not None for leaf in leaves):
        starts = np.concatenate([leaf.starts for leaf in leaves if leaf.starts is not None])
    values = dictionaries.concat([leaf.values for leaf in leaves])
    return Shredded(values, marks, starts, sum(leaf.num_entries for leaf in leaves))


def page_of(leaf: Shredded, shape: Shape) -> ShreddedPage:
    """Converts the rows to a page: levels from the inside, and layers that declare only what is used."""
    if leaf.marks is None and leaf.starts is None and not shape.declared and shape.is_list == (False,):
        return ShreddedPage(leaf.values, (Layer.ALL_VALID_ITEM,), None, None, leaf.num_entries)
    used = np.zeros(256, np.bool_)
    if leaf.marks is not None:
        used[leaf.marks] = True
    used[[2 * depth + 1 for depth in shape.declared]] = True
    layers: list[Layer] = []
    level_of_mark = np.zeros(256, np.uint16)
    level = 0
    for depth in reversed(range(len(shape.is_list))):
        null, empty = 2 * depth + 1, 2 * depth + 2
        declared = [bool(used[null]) or _below_null_structs(shape, depth, used), bool(used[empty])]
        for mark, is_declared in zip((null, empty), declared, strict=True):
            if is_declared:
                level += 1
                level_of_mark[mark] = level
        layers.append(_layer(shape.is_list[depth], *declared))
    definition = None
    if level:
        definition = np.zeros(leaf.num_entries, np.uint16) if leaf.marks is None else level_of_mark[leaf.marks]
    repetition = None
    if shape.num_lists:
        assert leaf.starts is not None
        repetition = np.uint16(shape.num_lists) - leaf.starts
        num_rows = int(np.count_nonzero(leaf.starts == 0))
    else:
        num_rows = leaf.num_entries
    values = _under_structs(leaf, shape) if leaf.marks is not None else leaf.values
    return ShreddedPage(values, tuple(layers), repetition, definition, num_rows)


def _below_null_structs(shape: Shape, depth: int, used: BoolMask) -> bool:
    """Whether values at this depth are in NULL structs: other readers then expect a level for their own NULLs."""
    for outer in reversed(range(depth)):
        if shape.is_list[outer]:
            break
        if used[2 * outer + 1]:
            return True
    return False


def _layer(is_list: bool, has_null: bool, has_empty: bool) -> Layer:
    if not is_list:
        return Layer.NULLABLE_ITEM if has_null else Layer.ALL_VALID_ITEM
    if has_null:
        return Layer.NULL_AND_EMPTY_LIST if has_empty else Layer.NULLABLE_LIST
    return Layer.EMPTYABLE_LIST if has_empty else Layer.ALL_VALID_LIST


def _under_structs(leaf: Shredded, shape: Shape) -> pa.Array:
    """Returns the values, with NULL for each one inside a NULL struct."""
    assert leaf.marks is not None
    own = 2 * len(shape.is_list) - 1
    hidden_to = shape.hidden_to
    by_structs = (leaf.marks > hidden_to) & (leaf.marks < own)
    if not by_structs.any():
        return leaf.values
    visible = by_structs if not hidden_to else by_structs[owns_item(leaf.marks, hidden_to)]
    return pc.if_else(pa.array(~visible), leaf.values, pa.scalar(None, leaf.values.type))


def owns_item(marks: Marks, hidden_to: int) -> BoolMask:
    """Returns for each entry whether it owns an item. Marks from 1 to `hidden_to` are for the layers around items."""
    # 0 becomes the largest number
    owns: BoolMask = marks - np.uint8(1) >= hidden_to
    return owns


def _num_items(marks: Marks | None, shape: Shape, first: int, end: int) -> int:
    """Counts the entries in [first, end) that own an item."""
    hidden_to = shape.hidden_to
    if marks is None or not hidden_to:
        return end - first
    return int(np.count_nonzero(owns_item(marks[first:end], hidden_to)))


@dataclass(frozen=True, slots=True)
class _Entries:
    """The entries at some depth.

    hidden_to: the entries with marks from 1 to this one own no value of the array at this depth
    """

    num: int
    marks: Marks | None = None
    starts: Marks | None = None
    hidden_to: int = 0
    num_lists: int = 0
    items_per_row: int = 1

    def owners(self, num_values: int) -> npt.NDArray[np.intp] | None:
        """Returns the entries that own the values of the array at this depth, by position; None if all own one."""
        if self.marks is None or num_values == self.num:
            return None
        return np.flatnonzero(owns_item(self.marks, self.hidden_to))

    def row(self, entry: int) -> int:
        if self.starts is None:
            return entry // self.items_per_row
        return int(np.count_nonzero(self.starts[: entry + 1] == 0)) - 1


def _walk(
    field: Field, array: pa.Array, entries: _Entries, path: tuple[str, ...], first_row: int, out: list[Shredded]
) -> None:
    array = plain(array)
    if field.is_list:
        entries, items = _lists(field, array, entries, path, first_row)
        (child,) = field.children
        _walk(child, items, entries, (*path, child.name), first_row, out)
        return
    entries = _with_nulls(field, array, entries, path, first_row)
    if is_leaf(field):
        out.append(Shredded(array, entries.marks, entries.starts, entries.num))
    elif field.logical_type == "struct":
        # below a NULL struct, Arrow may have arbitrary text, which need not be JSON
        masked = array.flatten() if array.null_count and _has_json(field) else None
        for i, child in enumerate(field.children):
            _walk(child, array.field(i) if masked is None else masked[i], entries, (*path, child.name), first_row, out)
    else:
        (child,) = field.children
        dimension = array.type.list_size
        marks = None if entries.marks is None else np.repeat(entries.marks, dimension)
        items = array.values.slice(array.offset * dimension, len(array) * dimension)
        inner = _Entries(entries.num * dimension, marks, items_per_row=entries.items_per_row * dimension)
        _walk(child, items, inner, (*path, child.name), first_row, out)


def _has_json(field: Field) -> bool:
    return is_json(field) or any(map(_has_json, field.children))


def _with_nulls(field: Field, array: pa.Array, entries: _Entries, path: tuple[str, ...], first_row: int) -> _Entries:
    """Adds marks for the NULLs of an array to the entries."""
    if array.null_count == 0:
        return entries
    nulls = np.flatnonzero(_is_null(array))
    owners = entries.owners(len(array))
    if owners is not None:
        nulls = owners[nulls]
    marks = np.zeros(entries.num, np.uint8) if entries.marks is None else entries.marks
    if entries.marks is not None:
        nulls = nulls[marks[nulls] == 0]
        marks = marks.copy()
    if len(nulls) == 0:
        return entries
    _check_nulls(field, entries, nulls, path, first_row)
    marks[nulls] = 2 * (len(path) - 1) + 1
    return replace(entries, marks=marks)


def _lists(
    field: Field, array: pa.Array, entries: _Entries, path: tuple[str, ...], first_row: int
) -> tuple[_Entries, pa.Array]:
    """Returns the entries of the items of lists, and the items."""
    depth = len(path) - 1
    num_lists = entries.num_lists + 1
    offsets = array.offsets.to_numpy()
    lengths = np.diff(offsets)
    marks_of_slots = np.zeros(len(array), np.uint8)
    marks_of_slots[lengths == 0] = 2 * depth + 2
    if array.null_count:
        marks_of_slots[_is_null(array)] = 2 * depth + 1
    marks = marks_of_slots
    owners = entries.owners(len(array))
    if entries.marks is not None:
        outer = entries.marks if owners is None else entries.marks[owners]
        np.copyto(marks_of_slots, outer, where=outer != 0)
        if owners is not None:
            marks = entries.marks.copy()
            marks[owners] = marks_of_slots
    if not field.nullable:
        nulls = np.flatnonzero(marks == 2 * depth + 1)
        if len(nulls):
            _check_nulls(field, entries, nulls, path, first_row)

    absent_slots = marks_of_slots != 0
    any_absent = bool(absent_slots.any())
    if any_absent:
        live = lengths.copy()
        live[absent_slots] = 1
        items = items_of_lists(array, offsets, lengths, absent_slots)
    else:
        live = lengths
        items = array.values.slice(int(offsets[0]), int(offsets[-1] - offsets[0]))
    counts = live
    if owners is not None:
        counts = np.ones(entries.num, live.dtype)
        counts[owners] = live

    ends = np.cumsum(counts, dtype=np.int64)
    num = int(ends[-1]) if len(ends) else 0
    firsts = ends - counts
    starts = np.full(num, num_lists, np.uint8)
    starts[firsts] = 0 if entries.starts is None else entries.starts
    if not any_absent and owners is None:
        return _Entries(num, None, starts, 0, num_lists), items
    inner = np.zeros(num, np.uint8)
    inner[firsts] = marks
    return _Entries(num, inner, starts, 2 * depth + 2, num_lists), items


def plain(array: pa.Array) -> pa.Array:
    """Unwraps extension arrays, and replaces NULL items of a dictionary by NULL keys, at the outermost level."""
    while isinstance(array.type, pa.BaseExtensionType):
        array = array.storage
    if pa.types.is_dictionary(array.type) and array.dictionary.null_count:
        items, indices = array.dictionary, array.indices
        valid = items.is_valid()
        positions = np.cumsum(valid.to_numpy(zero_copy_only=False)) - 1
        new_indices = pa.array(np.maximum(positions, 0)).cast(indices.type)
        new_indices = pc.if_else(valid, new_indices, pa.scalar(None, indices.type))
        return pa.DictionaryArray.from_arrays(new_indices.take(indices), items.drop_null())
    return array


def items_of_lists(array: pa.Array, offsets: npt.NDArray[Any], lengths: npt.NDArray[Any], absent: BoolMask) -> pa.Array:
    """Returns the items of the lists that are present."""
    if not (absent & (lengths != 0)).any():
        return array.values.slice(int(offsets[0]), int(offsets[-1] - offsets[0]))
    first, end = int(offsets[0]), int(offsets[-1])
    items = array.values.slice(first, end - first)
    try:
        return items.filter(pa.array(np.repeat(~absent, lengths)))
    except pa.ArrowNotImplementedError:
        # Arrow has no filter for views
        starts = offsets[:-1] - offsets[0]
        present = np.flatnonzero(~absent).tolist()
        return pa.concat_arrays([items.slice(0, 0), *(items.slice(int(starts[i]), int(lengths[i])) for i in present)])


def _is_null(array: pa.Array) -> BoolMask:
    nulls: BoolMask = array.is_null().to_numpy(zero_copy_only=False)
    return nulls


def _check_nulls(
    field: Field, entries: _Entries, nulls: npt.NDArray[np.intp], path: tuple[str, ...], first_row: int
) -> None:
    if not field.nullable:
        row = first_row + entries.row(int(nulls[0]))
        raise InvalidArgument(f"Column {'.'.join(path)!r} may not be NULL, but is NULL in row {row}")
