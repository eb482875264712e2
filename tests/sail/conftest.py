"""The session of the tests, which are skipped where Sail is not on the path."""

from __future__ import annotations

from typing import Any

import pytest


@pytest.fixture(scope="session")
def spark() -> Any:
    import lance_sql.spark

    return lance_sql.spark.session("sail")
