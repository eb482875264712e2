"""Commits of this library and of pylance in turn, against a model: rows, row ids and both versions after each."""

from __future__ import annotations

from pathlib import Path

import pytest

from .histories import History


@pytest.mark.parametrize("seed", range(8))
def test_both_writers_agree_with_the_model(tmp_path: Path, seed: int) -> None:
    History(str(tmp_path / "t.lance"), seed).run(15)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1000, 1200))
def test_long_histories(tmp_path: Path, seed: int) -> None:
    History(str(tmp_path / "t.lance"), seed).run(40)
