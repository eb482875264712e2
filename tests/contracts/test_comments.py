"""Rules and conditions that end with a comment."""

from __future__ import annotations

from pathlib import Path

import pytest

import lance_sql
from lance_sql.testing import assert_invariants


@pytest.mark.parametrize("comment", ["-- positive", "--", "/* positive */", "-- a ) b"])
def test_a_condition_may_end_with_a_comment(comment: str, tmp_path: Path) -> None:
    table = lance_sql.write({"x": [1, 2]}, tmp_path / "t.lance").rules.set("positive", f"x > 0 {comment}", enforce=True)
    assert not table.rules.check().broken
    table = lance_sql.write({"x": [3]}, table, mode="append")
    with pytest.raises(lance_sql.errors.LanceError):
        lance_sql.write({"x": [-3]}, table, mode="append")
    assert_invariants(table.latest(), holds=[f"x > 0 {comment}"])
