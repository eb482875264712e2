from typing import TypeAlias

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lance_sql import _kernels as kernels

from . import oracles
from .pages import Output

Nested: TypeAlias = "int | list[Nested] | None"

# Levels of list<list<item>> with everything nullable and emptyable, from the inside out.
NULL_ITEM, NULL_INNER, EMPTY_INNER, NULL_OUTER, EMPTY_OUTER = 1, 2, 3, 4, 5

items = st.one_of(st.none(), st.integers(0, 9))
inner_lists = st.one_of(st.none(), st.lists(items, max_size=4))
outer_lists = st.one_of(st.none(), st.lists(inner_lists, max_size=4))


def shred(rows: list[Nested]) -> tuple[list[int], list[int]]:
    """Repetition and definition levels of rows of list<list<item>>."""
    rep: list[int] = []
    levels: list[int] = []

    def emit(value: Nested, r: int, depth: int) -> None:
        if depth == 2:
            rep.append(r)
            levels.append(NULL_ITEM if value is None else 0)
        elif not value:
            null, empty = (NULL_OUTER, EMPTY_OUTER) if depth == 0 else (NULL_INNER, EMPTY_INNER)
            rep.append(r)
            levels.append(null if value is None else empty)
        else:
            assert isinstance(value, list)
            for i, element in enumerate(value):
                emit(element, r if i == 0 else 1 - depth, depth + 1)

    for row in rows:
        emit(row, 2, 0)
    return rep, levels


def unravel(rep: list[int], levels: list[int], *, in_place: bool, offset_bits: int) -> list[Nested]:
    """The rows again, with a running number for each item that is not null."""
    r, d = np.array(rep, "<u2"), np.array(levels, "<u2")
    item_bits = Output((len(d) + 7) // 8)
    num_items, num_valid = kernels.item_layer(d, len(d), 1, 0, item_bits.buffer)
    valid = oracles.bits_of(item_bits.array(), num_items)
    assert num_valid == valid.sum()
    values: list[Nested] = [i if ok else None for i, ok in enumerate(valid)]
    num_entries = len(r)
    for base, empty, max_slot_level in [(NULL_ITEM, EMPTY_INNER, 3), (EMPTY_INNER, EMPTY_OUTER, 5)]:
        offsets = Output((num_entries + 1) * offset_bits // 8)
        bits = Output((num_entries + 7) // 8)
        out_r, out_d = (r, d) if in_place else (np.zeros_like(r), np.zeros_like(d))
        num_slots, num_kept, num_valid = kernels.list_layer(
            r, d, num_entries, base, empty, max_slot_level, offsets.buffer, offset_bits, bits.buffer, out_r, out_d
        )
        bounds = offsets.array(f"<i{offset_bits // 8}")[: num_slots + 1].tolist()
        valid = oracles.bits_of(bits.array(), num_slots)
        assert num_valid == valid.sum()
        assert bounds[-1] == len(values)
        values = [
            values[start:end] if ok else None
            for start, end, ok in zip(bounds, bounds[1:], valid.tolist(), strict=False)
        ]
        r, d, num_entries = out_r, out_d, num_kept
    return values


def number(rows: list[Nested]) -> list[Nested]:
    """The rows with each item replaced by its position among all items, null ones counted."""
    count = 0

    def renumber(value: Nested, depth: int) -> Nested:
        nonlocal count
        if depth == 2:
            count += 1
            return None if value is None else count - 1
        return value if value is None else [renumber(v, depth + 1) for v in value]  # type: ignore[union-attr]  # not None here

    return [renumber(row, 0) for row in rows]


@given(st.lists(outer_lists, max_size=40), st.booleans(), st.sampled_from([32, 64]))
def test_lists_of_lists_come_back(rows: list[Nested], in_place: bool, offset_bits: int) -> None:
    rep, levels = shred(rows)
    assert unravel(rep, levels, in_place=in_place, offset_bits=offset_bits) == number(rows)


def test_a_struct_list_of_the_format_description_comes_back() -> None:
    rep = np.array([1, 0, 1, 1, 1, 0], "<u2")
    levels = np.array([0, 1, 3, 4, 2, 0], "<u2")
    bits = bytearray(1)
    assert kernels.item_layer(levels, 6, 2, 0, bits) == (4, 2)
    assert bits == oracles.bitmap([1, 0, 0, 1])
    assert kernels.item_layer(levels, 6, 2, 1, bits) == (4, 3)
    assert bits == oracles.bitmap([1, 1, 0, 1])
    offsets = np.zeros(5, "<i4")
    assert kernels.list_layer(rep, levels, 6, 2, 4, 4, offsets, 32, bits, rep, levels) == (4, 4, 3)
    assert offsets.tolist() == [0, 2, 2, 2, 4]
    assert bits == oracles.bitmap([1, 0, 1, 1])


@st.composite
def layers(draw: st.DrawFn) -> tuple[oracles.Ints, oracles.Ints | None, int, int, int]:
    """Levels of one layer: base, empty level and largest slot level do not follow from each other."""
    base = draw(st.integers(0, 2))
    empty = draw(st.sampled_from([0, base + 1, base + 2]))
    max_slot_level = draw(st.integers(base, base + 3))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    count = draw(st.integers(0, 400))
    rep = rng.integers(0, 3, count)
    rep[:1] = 2
    if draw(st.booleans()):
        return rep, None, base, empty, max_slot_level
    levels = rng.integers(0, base + 4 if draw(st.booleans()) else base + 1, count)
    owns = levels <= base
    rep[~owns | ~np.concatenate([[True], owns])[:count]] |= 1
    return rep, levels, base, empty, max_slot_level


@given(layers(), st.booleans(), st.sampled_from([32, 64]))
def test_list_layer_is_its_oracle(
    layer: tuple[oracles.Ints, oracles.Ints | None, int, int, int], wants_validity: bool, offset_bits: int
) -> None:
    rep, levels, base, empty, max_slot_level = layer
    limits = (base, empty, max_slot_level)
    offsets, valid, kept_rep, kept_levels = oracles.list_layer(rep, levels, *limits)
    r, d = rep.astype("<u2"), None if levels is None else levels.astype("<u2")
    out_offsets = Output(len(offsets) * offset_bits // 8)
    out_bits = Output((len(valid) + 7) // 8) if wants_validity else None
    sizes = kernels.list_layer(
        r, d, len(r), *limits, out_offsets.buffer, offset_bits, out_bits and out_bits.buffer, r, d
    )
    assert sizes == (len(valid), len(kept_rep), valid.sum() if wants_validity else len(valid))
    assert out_offsets.array(f"<i{offset_bits // 8}").tolist() == offsets.tolist()
    assert r[: sizes[1]].tolist() == kept_rep.tolist()
    if d is not None and kept_levels is not None:
        assert d[: sizes[1]].tolist() == kept_levels.tolist()
    if out_bits is not None:
        assert out_bits.array().tobytes() == oracles.bitmap(valid)


@given(layers(), st.data())
def test_item_layer_is_its_oracle(
    layer: tuple[oracles.Ints, oracles.Ints | None, int, int, int], data: st.DataObject
) -> None:
    _, levels, base, _, max_slot_level = layer
    levels = np.zeros(0, np.int64) if levels is None else levels
    slots = levels[levels <= max_slot_level]
    out = Output((len(slots) + 7) // 8)
    found = kernels.item_layer(levels.astype("<u2"), len(levels), max_slot_level, base, out.buffer)
    assert found == (len(slots), (slots <= base).sum())
    assert out.array().tobytes() == oracles.bitmap(slots <= base)


@given(st.integers(0, 2**32 - 1), st.integers(0, 5000), st.booleans(), st.data())
def test_selected_rows_are_those_between_row_starts(
    seed: int, count: int, has_levels: bool, data: st.DataObject
) -> None:
    rng = np.random.default_rng(seed)
    rep = rng.integers(0, 3, count).astype("<u2")
    levels = rng.integers(0, 4, count).astype("<u2") if has_levels else None
    starts = np.append(np.flatnonzero(rep == 2), count)
    skip = data.draw(st.integers(0, len(starts) - 1))
    num_rows = data.draw(st.integers(0, len(starts) - 1 - skip))
    visible = np.ones(count, bool) if levels is None else levels <= 2
    start, end = int(starts[skip]), int(starts[skip + num_rows])
    found = kernels.select_rows(rep, levels, count, 2, 2, skip, num_rows)
    assert found == (start, end, visible[:start].sum(), visible[start:end].sum())
    with pytest.raises(ValueError, match="rows less than asked for"):
        kernels.select_rows(rep, levels, count, 2, 2, skip, len(starts) - skip)


@pytest.mark.parametrize(("rep", "levels"), [([0, 1], [0, 0]), ([1, 0], [0, 3]), ([1, 0], [3, 0]), ([0], None)])
def test_entries_that_continue_no_list_are_refused(rep: list[int], levels: list[int] | None) -> None:
    r, d = np.array(rep, "<u2"), None if levels is None else np.array(levels, "<u2")
    with pytest.raises(ValueError, match="continues a list"):
        kernels.list_layer(r, d, len(rep), 1, 0, 9, bytearray(100), 32, bytearray(9), r, d)
