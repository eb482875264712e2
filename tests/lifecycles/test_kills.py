"""A sample of `tests.lifecycles.kills`."""

from __future__ import annotations

import pytest

from tests.lifecycles import kills

# pylance warns of forks; the children use none of it, and files of the killed are closed by nobody
pytestmark = [
    pytest.mark.filterwarnings("ignore:lance is not fork-safe"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.mark.parametrize("operation", [each for each in kills.OPERATIONS if each != "postgresql"])
def test_a_killed_operation(operation: str) -> None:
    _, wrong = kills.kill_some(1, 1, [operation], None)
    assert not wrong, "\n".join(wrong)
