"""New rows that are as they have to be are not looked at one by one; test_faults has those that are not."""

from __future__ import annotations

from pathlib import Path

import pytest

import lance_sql
from lance_sql.health.lineage_audit import rules
from lance_sql.health.lineage_audit.rules import Step


@pytest.fixture
def looked_at(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Returns the number of checked rows of each version."""
    found: list[int] = []
    check = rules.check

    def counted(step: Step, findings: object) -> None:
        found.append(step.new.num_rows)
        check(step, findings)  # type: ignore[arg-type]  # passed on as given

    monkeypatch.setattr(rules, "check", counted)
    return found


def test_rows_of_appends_are_not_looked_at(tmp_path: Path, looked_at: list[int]) -> None:
    table = lance_sql.write({"a": list(range(100))}, tmp_path / "t.lance", max_rows_per_file=30)
    table = lance_sql.write({"a": list(range(50))}, table.uri, mode="append")
    table.update({"a": "a + 1"}, "a < 10")
    assert lance_sql.audit(table.uri).is_healthy
    assert looked_at[:2] == [0, 0]
    assert looked_at[2] >= 20


def test_ids_after_a_restore_are_no_fault(tmp_path: Path) -> None:
    table = lance_sql.write({"a": [1, 2, 3]}, tmp_path / "t.lance")
    table = lance_sql.write({"a": [4, 5, 6]}, table.uri, mode="append")
    # an append after a restore gives ids on from where the later version was
    restored = lance_sql.write({"a": [7]}, table.restore(1).uri, mode="append")
    assert restored.scan(["_rowid"]).to_table()["_rowid"].to_pylist() == [0, 1, 2, 6]
    assert lance_sql.audit(table.uri).is_healthy
