"""Parameters of `lance_sql.sql` on Spark: the same values as in the other engines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.one_sql.test_parameters import VALUES, check

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_a_value_comes_back(spark: SparkSession, value: Any) -> None:
    check(value, session=spark)
