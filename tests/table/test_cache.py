"""The cache of a snapshot: bounded, and the same value for everyone."""

from __future__ import annotations

from threading import Barrier, Thread

import pytest

from lance_sql.table.cache import Cache


def test_a_value_is_made_once_and_the_least_recently_used_one_goes() -> None:
    cache = Cache(2)
    made: list[str] = []

    def get(key: str) -> str:
        def make() -> str:
            made.append(key)
            return key.upper()

        return cache.get(key, make)

    assert [get(key) for key in "abacb"] == list("ABACB")
    assert made == ["a", "b", "c", "b"]
    assert len(cache) == 2


def test_nothing_is_kept_of_a_failure() -> None:
    cache = Cache(2)
    with pytest.raises(ZeroDivisionError):
        cache.get("a", lambda: 1 // 0)
    assert cache.get("a", lambda: 7) == 7


def test_threads_that_miss_at_once_share_one_value() -> None:
    cache = Cache(2)
    barrier = Barrier(4, timeout=10)
    found: list[object] = []

    def make() -> object:
        barrier.wait()
        return object()

    threads = [Thread(target=lambda: found.append(cache.get("a", make))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4
    assert len(set(found)) == 1
