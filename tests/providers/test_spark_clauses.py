"""Random SELECTs with unusual clauses in Spark, as `tests/cross/test_clauses.py` has them for the other engines."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.cross.test_clauses import QUERIES_OF_A_SEED, compared_in_spark, write_tables
from tests.seeds import seeds

pytestmark = pytest.mark.filterwarnings("ignore")


@seeds(range(1), range(1, 50))
def test_spark(spark: Any, seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_tables()
    compared_in_spark("spark", spark, seed, 30 if seed == 0 else QUERIES_OF_A_SEED)
