"""Random SELECTs with unusual clauses in Sail, as `tests/cross/test_clauses.py` has them for the other engines."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.cross.test_clauses import compared_in_spark, write_tables
from tests.seeds import seeds

pytest.importorskip("pysail", reason="Sail is not on the path: make engines installs it into .venv/sail")
pytestmark = pytest.mark.filterwarnings("ignore")


@seeds(range(1), range(1, 50))
def test_sail(spark: Any, seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_tables()
    compared_in_spark("sail", spark, seed)
