"""The runner of lance-spark's tests; the tests themselves where LANCE_SQL_LANCE_SPARK names their file."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import pytest

from .lance_spark import run

TEXT = """
import pytest

class TestTables:
    def test_rows(self, spark):
        spark.sql("CREATE TABLE default.employees (id INT, name STRING)")
        spark.createDataFrame([(2, "b"), (1, "a")], ["id", "name"]).writeTo("default.employees").append()
        rows = spark.table("default.employees").orderBy("id").collect()
        assert [row.name for row in rows] == ["a", "b"]

    def test_an_expected_error(self, spark):
        with pytest.raises(Exception, match="TABLE_OR_VIEW_NOT_FOUND"):
            spark.sql("SELECT * FROM default.nothing")

    def test_a_refusal(self, spark):
        spark.sql("CREATE TABLE default.employees (id INT)")
        spark.sql("ALTER TABLE default.employees SET AUTO_CLEANUP (interval = 1)")

    def test_a_difference(self, spark):
        spark.sql("CREATE TABLE default.employees (id INT)")
        assert spark.sql("SELECT count(*) AS n FROM default.employees").collect()[0].n == 7

    def test_a_summary(self, spark):
        spark.sql("CREATE TABLE default.employees (id INT)")
        assert spark.sql("OPTIMIZE default.employees").collect()[0].fragments_removed == 0
        assert spark.sql("ALTER TABLE default.employees DROP INDEX IF EXISTS i").collect()[0].status == "dropped"
"""


def test_outcomes_are_told_apart(tmp_path: Path) -> None:
    file = tmp_path / "test_it.py"
    file.write_text(TEXT)
    plugin = run(file)
    assert [step.kind for step in plugin.steps] == [
        *("equal", "equal", "equal"),
        *("equal", "refused"),
        *("equal", "different"),
        *("equal", "equal", "summary"),
    ]
    assert plugin.outcomes == {"passed": 2, "failed": 3}


@pytest.mark.slow
@pytest.mark.skipif("LANCE_SQL_LANCE_SPARK" not in os.environ, reason="no file of lance-spark is named")
def test_the_tests_of_lance_spark() -> None:
    counts = Counter(step.kind for step in run(Path(os.environ["LANCE_SQL_LANCE_SPARK"])).steps)
    assert counts["equal"] >= 0.85 * counts.total()
