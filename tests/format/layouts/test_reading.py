"""Readings: rounds of requests, alone and concurrently."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pytest

from lance_sql.errors import CorruptFile
from lance_sql.format.layouts.reading import Reading, Shared, interleaved, run
from lance_sql.store import ByteRange

DATA = pa.py_buffer(bytes(range(100)))


class Rounds:
    """Fetches from DATA and records the requests of each round."""

    def __init__(self) -> None:
        self.asked: list[list[ByteRange]] = []

    def __call__(self, ranges: Sequence[ByteRange]) -> list[pa.Buffer]:
        self.asked.append(list(ranges))
        return [DATA.slice(start, end - start) for start, end in ranges]


def hops(start: int, count: int) -> Reading[list[int]]:
    """Reads a byte in each of `count` rounds, the next one 10 further."""
    found = []
    for step in range(count):
        (buffer,) = yield [ByteRange(start + 10 * step, start + 10 * step + 1)]
        found.append(buffer[0])
    return found


def test_a_reading_is_run_round_by_round() -> None:
    rounds = Rounds()
    assert run(hops(3, 3), rounds) == [3, 13, 23]
    assert [len(ranges) for ranges in rounds.asked] == [1, 1, 1]


def test_readings_side_by_side_share_rounds() -> None:
    rounds = Rounds()
    assert run(interleaved([hops(1, 1), hops(2, 3), hops(3, 0), hops(4, 2)]), rounds) == [
        [1],
        [2, 12, 22],
        [],
        [4, 14],
    ]
    assert [len(ranges) for ranges in rounds.asked] == [3, 2, 1]


def test_a_round_without_ranges_fetches_nothing() -> None:
    def idle() -> Reading[int]:
        assert list((yield ())) == []
        return 5

    rounds = Rounds()
    assert run(interleaved([idle(), idle()]), rounds) == [5, 5]
    assert rounds.asked == []
    assert run(interleaved([]), rounds) == []


def test_a_shared_result_is_made_once() -> None:
    shared = Shared()
    made = []

    def make() -> Reading[list[int]]:
        made.append(1)
        return (yield from hops(5, 2))

    def user(own: int) -> Reading[tuple[list[int], list[int]]]:
        common = yield from shared.once("key", make)
        return common, (yield from hops(own, 1))

    rounds = Rounds()
    assert run(interleaved([user(1), user(2)]), rounds) == [([5, 15], [1]), ([5, 15], [2])]
    assert len(made) == 1
    assert [len(ranges) for ranges in rounds.asked] == [1, 1, 2]


def test_an_error_ends_all_of_them() -> None:
    def failing() -> Reading[None]:
        yield [ByteRange(0, 1)]
        raise CorruptFile("broken")

    with pytest.raises(CorruptFile, match="broken"):
        run(interleaved([hops(1, 3), failing()]), Rounds())
