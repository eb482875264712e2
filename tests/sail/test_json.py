"""Conditions on members of JSON in Sail."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pysail", reason="Sail is not on the path: make engines installs it into .venv/sail")

from tests.providers import test_spark_json

pytestmark = pytest.mark.filterwarnings("ignore")


def test_conditions_on_members(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    test_spark_json.check(spark, tmp_path, monkeypatch, 40)
