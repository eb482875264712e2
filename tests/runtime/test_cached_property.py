from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from lance_sql.runtime.cached_property import cached_property


class Computed:
    def __init__(self, meet: Barrier | None = None) -> None:
        self.count = 0
        self.meet = meet

    @cached_property
    def value(self) -> object:
        """A value."""
        self.count += 1
        if self.meet is not None:
            self.meet.wait(timeout=10)
        return object()


def test_the_value_is_computed_once() -> None:
    computed = Computed()
    assert computed.value is computed.value
    assert computed.count == 1
    assert Computed.value.__doc__ == "A value."


def test_an_error_is_not_kept() -> None:
    class Failing:
        tried = 0

        @cached_property
        def value(self) -> int:
            self.tried += 1
            if self.tried == 1:
                raise ValueError("once")
            return self.tried

    failing = Failing()
    with pytest.raises(ValueError, match="once"):
        _ = failing.value
    assert failing.value == 2


def test_instances_do_not_wait_for_each_other() -> None:
    # each passes the barrier only while the other one computes
    meet = Barrier(2)
    with ThreadPoolExecutor(2) as threads:
        values = list(threads.map(lambda each: each.value, [Computed(meet), Computed(meet)]))
    assert values[0] is not values[1]


def test_threads_get_the_value_of_the_first() -> None:
    computed = Computed(Barrier(2))
    with ThreadPoolExecutor(2) as threads:
        first, second = threads.map(lambda _: computed.value, range(2))
    assert computed.count == 2
    assert first is second is computed.value
