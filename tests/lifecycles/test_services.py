"""Some threads of one process that do everything at once; see `services`, which runs longer with more of them."""

from __future__ import annotations

import pytest

from tests.lifecycles.services import run


@pytest.mark.parametrize(
    ("threads", "seconds"), [(4, 2.0), pytest.param(20, 120.0, marks=pytest.mark.slow)], ids=["few", "many"]
)
def test_threads_over_a_failing_store(threads: int, seconds: float) -> None:
    pytest.importorskip("obstore")
    service, wrong = run(threads, seconds)
    assert not wrong
    # on a busy machine, each thread has time for one thing
    assert service.done.total() >= threads
