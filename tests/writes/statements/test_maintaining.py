"""`maintain`: three verbs by the policy of the table."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import lance_sql
from lance_sql import Dataset
from lance_sql.cli import main
from lance_sql.errors import CommitConflict, InvalidArgument, RetryableConflict
from lance_sql.writes.statements.maintaining import Policy, read_policy


@pytest.fixture
def table(tmp_path: Path) -> Dataset:
    """Four fragments, of which an index covers the first one, and six versions."""
    made = lance_sql.write({"id": [0], "v": [0]}, tmp_path / "t.lance").indices.create("id", "btree")
    for number in range(1, 4):
        made = lance_sql.write({"id": [number], "v": [0]}, made.uri, mode="append")
    return made.delete("id = 2")


def outcomes(result: Any) -> dict[str, str]:
    return {step.name: step.outcome for step in result.steps}


def test_each_step_is_done_and_told(table: Dataset) -> None:
    planned = table.maintenance.maintain(retain_versions=1, dry_run=True)
    assert outcomes(planned) == {"compact": "planned", "optimize_indices": "planned", "cleanup": "planned"}
    assert planned.steps[0].details == "2 fragments with 2 rows"
    assert table.latest().version == table.version
    done = table.maintenance.maintain(retain_versions=1, job="nightly")
    assert outcomes(done) == {"compact": "done", "optimize_indices": "done", "cleanup": "done"}
    newest = table.latest()
    assert [each.version for each in newest.versions()] == [newest.version] == [done.steps[1].version]
    assert newest.history()[-1].job == "nightly"
    assert newest.scan(["id"], "id >= 0").to_table()["id"].to_pylist() == [0, 1, 3]
    assert newest.indices.list()[0].num_uncovered == 0
    assert outcomes(table.maintenance.maintain(retain_versions=1)) == dict.fromkeys(outcomes(done), "nothing to do")
    assert lance_sql.verify(table.uri, deep=True).is_healthy
    assert done.to_table().column_names == ["step", "outcome", "version", "details"]


def test_the_policy_is_that_of_the_table(table: Dataset) -> None:
    keys = {"older_than": "30d", "retain_versions": "7", "max_lag": "1w", "target_rows": "10", "steps": "cleanup"}
    table = table.config.update({f"lance_sql.maintain.{name}": value for name, value in keys.items()})
    policy = read_policy(table.snapshot.manifest.config)
    assert policy == Policy(("cleanup",), 10, 0.1, timedelta(days=30), 7, timedelta(weeks=1))
    assert outcomes(table.maintenance.maintain()) == {
        "compact": "off",
        "optimize_indices": "off",
        "cleanup": "nothing to do",
    }
    assert read_policy(table.snapshot.manifest.config, older_than="1d", target_rows=None).older_than == timedelta(1)
    assert outcomes(table.maintenance.maintain(older_than="0s", retain_versions=1))["cleanup"] == "done"


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("older_than", "soon", r"lance_sql.maintain.older_than='soon': 'soon' is not an age"),
        ("target_rows", "many", "lance_sql.maintain.target_rows='many'"),
        ("target_rows", "0", "must be at least 1"),
        ("steps", "compact, vacuum", "'vacuum' is not one of compact, optimize_indices, cleanup"),
        ("keep", "1", "lance_sql.maintain.keep is no key of the policy"),
    ],
)
def test_a_policy_that_makes_no_sense_is_refused(table: Dataset, key: str, value: str, message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        table.config.update({f"lance_sql.maintain.{key}": value}).maintenance.maintain()


@pytest.mark.parametrize("error", [CommitConflict, RetryableConflict])
def test_a_step_that_loses_is_told_and_the_others_go_on(
    table: Dataset, error: type[CommitConflict], monkeypatch: pytest.MonkeyPatch
) -> None:
    def lose(*_: object, **__: object) -> None:
        raise error("another writer was first")

    monkeypatch.setattr("lance_sql.writes.statements.compact.compact", lose)
    result = table.maintenance.maintain(retain_versions=1)
    assert outcomes(result) == {"compact": "conflict", "optimize_indices": "done", "cleanup": "done"}
    assert result.has_conflicts
    assert "another writer was first" in repr(result)
    command = CliRunner().invoke(main, ["maintain", table.uri, "--yes"])
    assert command.exit_code == 3
    assert "another writer was first" in command.stdout


def test_a_cursor_keeps_what_it_needs(table: Dataset) -> None:
    table.cursors.open("warehouse", 3)
    details = table.maintenance.maintain(retain_versions=1).steps[2].details
    assert "kept for warehouse" in details


def test_the_command_line_says_what_it_did(table: Dataset) -> None:
    def run(*arguments: str) -> Any:
        return CliRunner().invoke(main, ["maintain", table.uri, *arguments])

    planned = run("--dry-run", "--output", "json")
    assert planned.exit_code == 0
    assert [row["outcome"] for row in json.loads(planned.stdout)] == ["planned", "planned", "nothing to do"]
    assert run().exit_code == 2
    assert table.latest().version == table.version
    done = run("--yes", "--keep", "1", "--output", "json")
    assert done.exit_code == 0, done.output
    assert [row["outcome"] for row in json.loads(done.stdout)] == ["done"] * 3
    again = run("--keep", "1")
    assert again.exit_code == 0
    assert "nothing to do" in again.stdout


def test_a_branch_is_maintained_alone(table: Dataset) -> None:
    branch = table.branches.create("load").update({"v": "1"}, "id = 1")
    result = CliRunner().invoke(main, ["maintain", f"{table.uri}@load", "--yes"])
    assert result.exit_code == 0, result.output
    assert lance_sql.open(table.uri, branch="load").version > branch.version
    assert table.latest().version == table.version


def test_other_keywords_are_refused(table: Dataset) -> None:
    with pytest.raises(TypeError, match=r"maintain\(\) got an unexpected keyword argument 'retain'"):
        table.maintenance.maintain(retain=1)  # type: ignore[call-arg]  # wrong on purpose
    with pytest.raises(InvalidArgument, match="The name of a job must be text, not 5"):
        table.maintenance.maintain(job=5)  # type: ignore[arg-type]  # wrong on purpose
