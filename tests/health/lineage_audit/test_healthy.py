"""No false alarms: what both writers do now is in order, and of early writers only their known defects are found."""

from __future__ import annotations

from pathlib import Path

import pytest

import lance_sql
from lance_sql.health.lineage_audit.faults import Kind
from tests.conftest import Case, corpus_params
from tests.histories.histories import History

# Versions of rows that merges wrote and of columns that were written in place, and ids that an append gave again after
# a restore had lowered the next one.
_KNOWN_DEFECTS = {Kind.CREATED_AT, Kind.LAST_UPDATED_AT, Kind.UNRESERVED_ID, Kind.REUSED_ID}
_FIRST_WITHOUT = 7


def check_history(path: Path, seed: int, operations: int) -> None:
    history = History(str(path), seed)
    history.run(operations)
    report = lance_sql.audit(path)
    assert report.is_healthy, (str(report), history.log)
    assert len(report.versions) == history.version
    assert not report.partly


@pytest.mark.parametrize("seed", range(4))
def test_random_histories_of_both_writers_are_in_order(tmp_path: Path, seed: int) -> None:
    check_history(tmp_path / "t.lance", seed, 20)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 160))
def test_many_random_histories_are_in_order(tmp_path: Path, seed: int) -> None:
    check_history(tmp_path / "t.lance", seed, 40)


def test_branches_and_clones_are_in_order(tmp_path: Path) -> None:
    table = lance_sql.write({"k": [1, 2, 3]}, tmp_path / "t.lance")
    table = table.update({"k": "k + 10"}, "k = 2")
    branch = table.branches.create("dev").delete("k = 3")
    lance_sql.write({"k": [4]}, table.uri, mode="append", branch="dev")
    report = lance_sql.audit(table.uri, branch="dev")
    assert report.is_healthy, str(report)
    assert report.versions == (1, 2, 3, 4)
    assert branch.branch == "dev"
    clone = table.branches.shallow_clone(tmp_path / "c.lance").update({"k": "k + 1"}, "true")
    report = lance_sql.audit(clone.uri)
    assert report.is_healthy, str(report)
    assert not report.partly


@pytest.mark.parametrize("case", corpus_params("cases", ""))
def test_tables_of_every_writer_have_known_defects_at_most(case: Case) -> None:
    if any(version.get("expect") == "error" for version in case.info["versions"]):
        pytest.skip("the case holds versions that cannot be read")
    for branch in [None, *(case.info.get("branches") or {})]:
        report = lance_sql.audit(case.table, branch=branch)
        writer = int(str(case.info.get("writer_version") or "0").partition(".")[0])
        allowed = _KNOWN_DEFECTS if writer < _FIRST_WITHOUT else set()
        assert {fault.kind for fault in report.faults} <= allowed, str(report)
