"""Random lives of a table; `python -m tests.lifecycles.driver` has more of them."""

from __future__ import annotations

import pytest

from .driver import live


@pytest.mark.parametrize("seed", range(5))
def test_a_life(seed: int) -> None:
    live(seed, 40)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1000, 1150))
def test_a_long_life(seed: int) -> None:
    live(seed, 80)
