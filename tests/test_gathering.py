"""Parts computed by a thread, one at a time and in order."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from lance_sql.gathering import one_ahead


@pytest.mark.parametrize("count", [0, 1, 2, 3, 50])
def test_results_come_in_order(count: int) -> None:
    assert list(one_ahead(range(count), lambda number: -number)) == [-number for number in range(count)]


def test_one_part_alone_needs_no_thread() -> None:
    (thread,) = one_ahead([1], lambda _: threading.current_thread())
    assert thread is threading.current_thread()


def test_the_next_part_is_made_while_one_is_computed() -> None:
    """The second computation ends when the third part was asked for."""
    is_made = threading.Event()

    def parts() -> Iterator[int]:
        yield 0
        yield 1
        is_made.set()
        yield 2

    assert list(one_ahead(parts(), lambda number: int(is_made.wait(30)) if number == 1 else number)) == [0, 1, 2]


def test_never_two_at_once() -> None:
    lock = threading.Lock()

    def compute(number: int) -> int:
        assert lock.acquire(blocking=False), "two at once"
        try:
            return number
        finally:
            lock.release()

    assert list(one_ahead(range(200), compute)) == list(range(200))


def test_a_failure_comes_where_its_result_would() -> None:
    results = one_ahead(range(5), lambda number: 6 // (3 - number))
    assert [next(results) for _ in range(3)] == [2, 3, 6]
    with pytest.raises(ZeroDivisionError):
        next(results)
