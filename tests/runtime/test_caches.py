"""Bounded caches, counted by their names."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lance_sql.runtime import caches
from lance_sql.runtime.caches import LruCache, Measured, Usage, all_counted, total
from lance_sql.store import local
from lance_sql.store.local import LocalStore


def names() -> list[str]:
    return [each.name for each in all_counted()]


@given(
    st.lists(st.tuples(st.sampled_from(["get", "keep", "put", "pop"]), st.integers(0, 6), st.integers(0, 9))),
    st.integers(1, 20),
    st.integers(1, 5),
)
def test_it_holds_what_was_used_last(calls: list[tuple[str, int, int]], most_bytes: int, most_entries: int) -> None:
    dropped: list[int] = []
    cache: LruCache[int, int] = LruCache(
        None, most_bytes=most_bytes, most_entries=most_entries, num_bytes=lambda each: each, dropped=dropped.append
    )
    expected: OrderedDict[int, int] = OrderedDict()
    gone: list[int] = []
    for what, key, value in calls:
        known = expected.get(key)
        if what == "get":
            assert cache.get(key) == known
        elif what == "pop":
            assert cache.pop(key) == expected.pop(key, None)
        elif what == "keep":
            assert cache.keep(key, value) == expected.setdefault(key, value)
        else:
            cache.put(key, value)
            expected[key] = value
        if key in expected:
            expected.move_to_end(key)
        while len(expected) > 1 and (sum(expected.values()) > most_bytes or len(expected) > most_entries):
            gone.append(expected.popitem(last=False)[0])
        assert list(cache) == list(expected)
        assert cache.usage() == Usage(len(expected), sum(expected.values()), most_entries, most_bytes)
    assert dropped == gone
    cache.clear()
    assert cache.usage() == Usage(0, 0, most_entries, most_bytes)


def test_a_value_counts_as_it_was_when_it_came() -> None:
    """What it takes may grow while it is used; the sum must not drift."""
    cache: LruCache[int, list[int]] = LruCache(None, most_bytes=10, num_bytes=len)
    grown = [1, 2]
    cache.put(1, grown)
    grown.extend(range(5))
    cache.put(1, [1])
    assert cache.num_bytes == 1
    cache.pop(1)
    assert cache.num_bytes == 0


def test_a_value_that_is_there_can_be_replaced() -> None:
    cache: LruCache[str, int] = LruCache(None, most_entries=3)
    assert cache.keep("a", 1, lambda known: known < 5) == 1
    assert cache.keep("a", 9, lambda known: known < 5) == 9
    assert cache.keep("a", 7, lambda known: known < 5) == 9
    assert cache.peek("a") == 9
    assert cache.peek("b") is None


def test_threads_get_the_value_that_came_first() -> None:
    cache: LruCache[int, object] = LruCache(None, most_entries=8)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda number: (number % 8, cache.get_or_make(number % 8, object)), range(4000)))
    assert len({id(value) for _, value in found}) == 8
    assert all(cache.get(key) is value for key, value in found)


def test_values_that_go_may_use_the_cache() -> None:
    """Whatever runs when one is let go of does not find the lock held."""
    cache: LruCache[int, object] = LruCache(None, most_entries=1)

    class Asks:
        def __del__(self) -> None:
            cache.get(1)

    cache.put(1, Asks())
    cache.put(1, Asks())
    cache.put(2, Asks())
    cache.pop(2)
    cache.put(3, Asks())
    cache.clear()
    assert len(cache) == 0


def test_caches_are_counted_while_somebody_holds_them() -> None:
    cache: LruCache[int, int] = LruCache("of a test", most_entries=3)
    other: LruCache[int, int] = LruCache("of a test", most_entries=4)
    LruCache[int, int](None, most_entries=5)
    assert names().count("of a test") == 2
    cache.put(1, 1)
    assert total(each.usage() for each in all_counted() if each.name == "of a test") == Usage(1, None, 7, None)
    del other
    gc.collect()
    assert names().count("of a test") == 1


def test_released_caches_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(caches, "_FEWEST_DEAD", 10)
    monkeypatch.setattr(caches, "_most_before_sweep", 10)
    for _ in range(1000):
        LruCache[int, int]("of a test", most_entries=1)
    assert len(caches._counted) < 2 * len(all_counted()) + 20


@pytest.mark.parametrize("all_of_them", [all_counted, lambda: caches.alive(local._stores)])
def test_garbage_collection_does_not_break_caches(all_of_them: Callable[[], object], tmp_path: Path) -> None:
    held: list[object] = [LruCache("busy", most_entries=1) for _ in range(50)]
    held += [LocalStore(str(tmp_path)) for _ in range(50)]
    # so that tuples are not taken from those that were let go of, which collects nothing
    held += [[], *((number, held) for number in range(3000))]

    def others(phase: str, info: dict[str, int]) -> None:
        held.append(LruCache("busy", most_entries=1))
        held.append(LocalStore(str(tmp_path)))

    threshold = gc.get_threshold()
    gc.callbacks.append(others)
    gc.set_threshold(1)
    try:
        all_of_them()
    finally:
        gc.set_threshold(*threshold)
        gc.callbacks.remove(others)


def test_other_caches_are_counted() -> None:
    held = [1, 2, 3]
    measured = Measured("of a test", lambda: Usage(len(held), 8 * len(held)), held.clear)
    assert measured.usage() == Usage(3, 24)
    measured.clear()
    assert measured.usage() == Usage(0, 0)
    Measured("of a test", lambda: Usage(1)).clear()


@pytest.mark.parametrize(
    ("usages", "expected"),
    [
        ([], Usage(None)),
        ([Usage(1, 2, 3, 4), Usage(10, 20, 30, 40)], Usage(11, 22, 33, 44)),
        ([Usage(1, 2, 3, None), Usage(10, None, 30, 40)], Usage(11, None, 33, None)),
    ],
)
def test_uncounted_values_are_not_counted(usages: list[Usage], expected: Usage) -> None:
    assert total(usages) == expected


_FORKED = """
import os, sys
from lance_sql.runtime.caches import LruCache

kept, busy = (LruCache("of a test", most_entries=3) for _ in range(2))
forgetful = LruCache("of a test", most_entries=3, forgets_at_fork=True)
every = (kept, busy, forgetful)
for cache in every:
    cache.put(1, 7)
with busy._lock:
    child = os.fork()
    if child == 0:
        os._exit(0 if [cache.get(1) for cache in every] == [7, None, None] else 1)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
assert [cache.get(1) for cache in every] == [7, 7, 7]
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="nothing forks on this system")
def test_a_forked_process_does_not_wait_for_threads_of_its_parent() -> None:
    # other libraries, which tests import, warn of every fork
    subprocess.run([sys.executable, "-c", _FORKED], check=True)
