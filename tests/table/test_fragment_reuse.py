"""Rows that rewrites moved: every address and every range against a dictionary that follows row by row."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyroaring import BitMap64

from lance_sql.errors import CorruptFile, LanceError
from lance_sql.format.proto import table_pb2
from lance_sql.table import fragment_reuse
from lance_sql.table.fragment_reuse import NOWHERE, FragmentReuse
from lance_sql.values import row_ranges

Details = table_pb2.FragmentReuseIndexDetails
Row = tuple[int, int]


def no_file(name: str, offset: int, size: int) -> bytes:
    raise AssertionError(name)


def digests(sizes: dict[int, int]) -> list[Any]:
    return [Details.FragmentDigest(id=number, physical_rows=size) for number, size in sizes.items()]


def addresses(rows: list[Row]) -> bytes:
    return bytes(BitMap64([number << 32 | offset for number, offset in rows]).serialize())


@st.composite
def histories(draw: st.DrawFn) -> tuple[bytes, dict[Row, Row | None], dict[int, int]]:
    """Details, where every row of every fragment is in the end, and the fragments that are left, with their sizes."""
    live = {number: draw(st.integers(1, 6)) for number in range(draw(st.integers(1, 4)))}
    next_id = len(live)
    now: dict[Row, Row | None] = {(number, i): (number, i) for number, size in live.items() for i in range(size)}
    message = Details()
    for _ in range(draw(st.integers(0, 3))):
        sources = {number: live.pop(number) for number in draw(st.permutations(sorted(live))) if draw(st.booleans())}
        rows = [(number, i) for number, size in sources.items() for i in range(size)]
        kept = [row for row in rows if draw(st.booleans())]
        cuts = sorted({0, len(kept), *draw(st.lists(st.integers(0, len(kept)), max_size=2))})
        made = {next_id + i: end - start for i, (start, end) in enumerate(pairwise(cuts))}
        next_id += len(made)
        places = iter([(number, i) for number, size in made.items() for i in range(size)])
        step = {row: next(places) if row in kept else None for row in rows}
        now = {row: step.get(at, at) if at is not None else None for row, at in now.items()}
        now.update({(number, i): (number, i) for number, size in made.items() for i in range(size)})
        live.update(made)
        if draw(st.booleans()):
            version = message.inline.versions.add()
            group = version.groups.add(changed_row_addrs=addresses(kept))
            group.old_fragments.extend(digests(sources))
            group.new_fragments.extend(digests(made))
        else:
            each = message.inline.transitions.add()
            each.ordered_compaction.changed_row_addrs = addresses(kept)
            each.sources.extend(digests(sources))
            each.destinations.extend(digests(made))
    return message.SerializeToString(), now, live


@given(histories())
def test_every_row_is_where_following_it_leads(history: tuple[bytes, dict[Row, Row | None], dict[int, int]]) -> None:
    details, now, live = history
    moves = fragment_reuse.parse(details, no_file)
    rows = list(now)
    found = moves.moved(np.array([number << 32 | offset for number, offset in rows], np.uint64))
    for row, address in zip(rows, found.tolist(), strict=True):
        at = now[row]
        assert address == (int(NOWHERE) if at is None else at[0] << 32 | at[1])
    ids, starts, ends = (np.array(column, np.int64) for column in zip(*((n, i, i + 1) for n, i in rows), strict=True))
    moved = moves.moved_ranges(ids, starts, ends)
    ranges = {int(number): (int(a), int(b), int(c)) for a, b, c, number in zip(*moved, strict=True)}
    expected = {i: (at[0], at[1], at[1] + 1) for i, row in enumerate(rows) if (at := now[row]) is not None}
    assert ranges == expected
    originals = {number for number, _ in rows}
    for covered in ({0}, {1, 2}, originals - {0}, originals):
        unknown = moves.unknown_rows(list(live), covered)
        known = {at for row, at in now.items() if row[0] in covered and at is not None}
        for number, size in live.items():
            mine = {offset for place, offset in known if place == number}
            if number in unknown:
                assert set(range(size)) - set(row_ranges.expand(unknown[number]).tolist()) == mine
            else:
                assert not mine


@given(histories())
def test_ranges_of_many_rows_keep_all_of_them(history: tuple[bytes, dict[Row, Row | None], dict[int, int]]) -> None:
    details, now, live = history
    moves = fragment_reuse.parse(details, no_file)
    for number in {number for number, _ in now} - live.keys():
        size = sum(1 for row in now if row[0] == number)
        for start in range(size + 1):
            ids, starts, ends, _ = moves.moved_ranges(np.array([number]), np.array([start]), np.array([2**32]))
            found = sorted((i, o) for i, a, b in zip(ids, starts, ends, strict=True) for o in range(a, b))
            expected = sorted(at for row, at in now.items() if row[0] == number and row[1] >= start and at is not None)
            assert found == expected


def test_a_mapping_of_another_kind_is_not_followed() -> None:
    message = Details()
    each = message.inline.transitions.add(sources=digests({0: 3}), destinations=digests({1: 1, 2: 2}))
    each.stable_partition.map_id = "x"
    moves = fragment_reuse.parse(message.SerializeToString(), no_file)
    assert moves.moved(np.array([1, 5 << 32], np.uint64)).tolist() == [1, 5 << 32]
    assert moves.unknown_rows([1, 2, 5], {0, 5}).keys() == {5}
    assert moves.sources([2]) == {0, 2}


def group(sources: dict[int, int], made: dict[int, int], live: bytes) -> Any:
    message = Details()
    message.inline.versions.add().groups.add(
        changed_row_addrs=live, old_fragments=digests(sources), new_fragments=digests(made)
    )
    return message


HOSTILE: dict[str, Callable[[], bytes]] = {
    "not a message": lambda: b"\xff\xff\xff",
    "not a bitmap": lambda: group({0: 3}, {1: 3}, b"abc").SerializeToString(),
    "more rows than there are": lambda: group({0: 3}, {1: 9}, addresses([(0, 1)])).SerializeToString(),
    "a fragment of itself": lambda: group({4: 1}, {4: 1}, addresses([(4, 0)])).SerializeToString(),
    "a fragment of a younger one": lambda: group({4: 1}, {3: 1}, addresses([(4, 0)])).SerializeToString(),
    "a source twice": lambda: (
        group({0: 1}, {1: 1}, addresses([(0, 0)])).SerializeToString()
        + group({0: 1}, {2: 1}, addresses([(0, 0)])).SerializeToString()
    ),
    "2^32 deleted rows": lambda: group({0: 2**32}, {}, addresses([])).SerializeToString(),
    "2^40 rows": lambda: group({0: 2**40}, {1: 2**40}, addresses([])).SerializeToString(),
    "an id of 33 bits": lambda: group({2**32: 1}, {2**33: 1}, addresses([])).SerializeToString(),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_damage_is_refused(case: str) -> None:
    with pytest.raises(LanceError):
        fragment_reuse.parse(HOSTILE[case](), no_file)


def test_a_long_history_is_followed_to_its_end() -> None:
    message = Details()
    for i in range(5000):
        each = message.inline.transitions.add(sources=digests({i: 1}), destinations=digests({i + 1: 1}))
        each.ordered_compaction.changed_row_addrs = addresses([(i, 0)])
    moves = fragment_reuse.parse(message.SerializeToString(), no_file)
    assert moves.moved(np.array([0], np.uint64)).tolist() == [5000 << 32]
    assert moves.unknown_rows([5000], {0})[5000].tolist() == []


def test_a_fragment_made_twice_is_damage() -> None:
    message = group({0: 1}, {2: 1}, addresses([(0, 0)]))
    message.MergeFrom(group({1: 1}, {2: 1}, addresses([(1, 0)])))
    with pytest.raises(CorruptFile, match="twice"):
        fragment_reuse.parse(message.SerializeToString(), no_file)
    assert FragmentReuse([]).sources([3]) == {3}
