"""`lance-sql changes`: its output and its errors."""

from __future__ import annotations

import csv
import io
import json
import os
import shlex
from pathlib import Path

import pyarrow as pa
import pytest
from click.testing import CliRunner, Result

import lance_sql
from lance_sql.cli import main
from tests.documents import ROOT


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """`t.lance`: version 2 updates row 1, version 3 deletes row 2, version 4 inserts row 8; a branch deletes row 1."""
    monkeypatch.chdir(tmp_path)
    made = lance_sql.write(pa.table({"id": [1, 2], "s": ["a", "b"]}), "t.lance").update({"s": "'new'"}, "id = 1")
    made = made.delete("id = 2")
    made.tags.create("third")
    made.branches.create("dev").delete("id = 1")
    lance_sql.write(pa.table({"id": [8], "s": ["h"]}), "t.lance", mode="append")
    return "t.lance"


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["changes", *arguments])


def listed(*arguments: str) -> list[tuple[str, ...]]:
    """Id, kind and version of each row."""
    result = run(*arguments, "--output", "csv")
    assert result.exit_code == 0, result.output
    rows = csv.DictReader(io.StringIO(result.stdout))
    return [(row["id"], row["_change_type"], row["_commit_version"]) for row in rows]


UPDATE = [("1", "update_preimage", "2"), ("1", "update_postimage", "2")]
DELETE = [("2", "delete", "3")]
INSERT = [("8", "insert", "4")]


def test_a_range_has_deletes_and_both_images(table: str) -> None:
    assert listed(table, "2", "4") == listed(table, "2") == UPDATE + DELETE + INSERT
    assert listed(table, "2", "2") == UPDATE
    assert listed(table, "third", "third") == DELETE
    assert listed(table, "--since", "third") == INSERT
    assert listed(f"{table}@3", "2") == UPDATE + DELETE
    assert listed(table, "3", "--branch", "dev") == [*DELETE, ("1", "delete", "4")]
    assert listed(table, "--since", "4") == []


def test_modes_filters_and_limits(table: str) -> None:
    assert listed(table, "--mode", "insert_only", "--since", "1") == INSERT
    assert sorted(listed(table, "2", "--mode", "net")) == sorted(UPDATE + DELETE + INSERT)
    assert listed(table, "2", "--where", "_change_type = 'delete' AND s = 'b'") == DELETE
    assert listed(table, "2", "--limit", "1") == UPDATE[:1]
    assert listed(table, "2", "--key", "id", "--drop-unchanged") == UPDATE + DELETE + INSERT


def test_results_are_json_and_text(table: str) -> None:
    (row,) = json.loads(run(table, "3", "3", "-o", "json").stdout)
    assert (row["s"], row["_commit_version"], row["_rowid"]) == ("b", 3, 1)
    assert run(table, "3", "3").stdout.splitlines()[2].split()[:4] == ["2", "b", "delete", "3"]
    assert run(table, "2", "3", "--explain").stdout.splitlines()[0] == "changes of t.lance versions 2 to 3, mode all"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("2", "9"), "Version 9 does not exist in t.lance"),
        (("nosuch",), "neither a tag of t.lance nor a time"),
        (("2", "--since", "1"), "not both"),
        (("2", "--where", "nosuch = 1"), "nosuch"),
        (("2", "--mode", "some"), "some"),
    ],
)
def test_errors_go_to_stderr(table: str, arguments: tuple[str, ...], message: str) -> None:
    result = run(table, *arguments)
    assert result.exit_code in (2, 3)
    assert message in result.stderr
    assert result.stdout == ""


def test_removed_versions_are_reported(table: str) -> None:
    lance_sql.open(table).maintenance.cleanup(retain_versions=1)
    result = run(table, "2")
    assert result.exit_code in (2, 3)
    assert "Start at version 4 (since=3)" in result.stderr


def test_a_cursor_moves_on_when_its_changes_are_written(table: str) -> None:
    lance_sql.open(table).cursors.open("w", start=2)
    assert len(listed(table, "--cursor", "w")) == 4
    assert listed(table, "--cursor", "w") == []
    assert run(table, "--cursor", "w", "--since", "1").exit_code == 2
    assert "No cursor 'x'" in run(table, "--cursor", "x").stderr


def test_lines_and_envelopes(table: str) -> None:
    lines = run(table, "2", "2", "--output", "jsonl").stdout.splitlines()
    assert [json.loads(line)["_change_type"] for line in lines] == ["update_preimage", "update_postimage"]
    (line,) = run(table, "2", "2", "--output", "debezium").stdout.splitlines()
    assert (json.loads(line)["before"]["s"], json.loads(line)["after"]["s"]) == ("a", "new")
    assert run(table, "2", "2", "--output", "debezium", "--where", "id = 1").exit_code == 2


def test_following_writes_each_commit(table: str) -> None:
    result = run(table, "3", "--follow", "--timeout", "0")
    assert [json.loads(line)["_commit_version"] for line in result.stdout.splitlines()] == [3, 4]
    result = run(table, "3", "--follow", "--timeout", "0", "--output", "csv")
    assert result.stdout.count("_change_type") == 1
    assert len(result.stdout.splitlines()) == 3
    for wrong in (["--mode", "net"], ["--output", "table"], ["--limit", "3"]):
        assert run(table, "--follow", "--timeout", "0", *wrong).exit_code == 2


def test_a_command_that_fails_moves_no_cursor(table: str) -> None:
    cursor = lance_sql.open(table).cursors.open("w", start=3)
    result = run(table, "--cursor", "w", "--follow", "--timeout", "0", "--exec", "cat > $RANDOM.txt; exit 7")
    assert result.exit_code == 1
    assert "ended with 7 for the changes up to version 3" in result.stderr
    assert cursor.position == 2
    result = run(table, "--cursor", "w", "--follow", "--timeout", "0", "--exec", "cat >> taken.txt")
    assert result.exit_code == 0
    kinds = [json.loads(line)["_change_type"] for line in Path("taken.txt").read_text().splitlines()]
    assert kinds == ["delete", "insert"]
    assert cursor.position == 4


def test_a_producer_reads_the_envelopes(table: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command for Kafka in docs/consuming-changes.md, with a producer that writes a file for each topic."""
    folder = Path("bin")
    folder.mkdir()
    producer = folder / "kcat"
    producer.write_text('#!/bin/sh\n[ "$1 $2" = "-P -t" ] && cat >> "$3.topic"\n')
    producer.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder.absolute()}:{os.environ['PATH']}")
    text = (ROOT / "docs" / "consuming-changes.md").read_text()
    commands = [line for line in text.splitlines() if line.startswith("lance-sql") and "kafka" in line]
    create, arguments = (
        [table if each == "orders.lance" else each for each in shlex.split(line)[1:]] for line in commands
    )
    missing = CliRunner().invoke(main, [*arguments, "--timeout", "0"]).stderr
    assert "To create it: lance-sql cursors TABLE kafka --start earliest" in missing
    assert CliRunner().invoke(main, create).exit_code == 0
    result = CliRunner().invoke(main, [*arguments, "--timeout", "0"])
    assert result.exit_code == 0, result.stderr
    envelopes = [json.loads(line) for line in Path("orders.topic").read_text().splitlines()]
    assert {each["op"] for each in envelopes} == {"c", "d", "u"}
    assert all({"before", "after", "source"} <= set(each) for each in envelopes)
    assert lance_sql.open(table).cursors.open("kafka").lag().versions == 0
    assert CliRunner().invoke(main, [*arguments, "--timeout", "0"]).exit_code == 0
    assert len(Path("orders.topic").read_text().splitlines()) == len(envelopes)


def test_the_verb_for_cursors(table: str) -> None:
    def cursors(*arguments: str) -> Result:
        return CliRunner().invoke(main, ["cursors", table, *arguments])

    assert "is at version 4" in cursors("w", "--start", "latest").stderr
    assert "is at version 1" in cursors("w", "--seek", "2", "--yes").stderr
    assert "behind: 3 versions" in cursors("w").stdout
    assert json.loads(cursors("--output", "json").stdout)[0]["versions_behind"] == 3
    # nobody is there to agree
    for change in (["--seek", "3"], ["--drop"]):
        refused = cursors("w", *change)
        assert refused.exit_code == 2
        assert "--yes" in refused.stderr
        assert "behind: 3 versions" in cursors("w").stdout
    assert "Removed cursor" in cursors("w", "--drop", "--yes").stderr
    assert "No cursor 'w'" in cursors("w").stderr
    assert cursors("--drop").exit_code == 2
    assert cursors("w", "--drop", "--seek", "1").exit_code == 2


def test_changes_of_a_job_have_its_name(table: str) -> None:
    lance_sql.open(table).delete("id = 8", job="it's nightly")
    result = run(table, "--job", "it's nightly", "--where", "id > 1", "--output", "json")
    [row] = json.loads(result.stdout)
    assert (row["id"], row["_change_type"], row["_commit_job"]) == (8, "delete", "it's nightly")
    assert json.loads(run(table, "1", "1", "--job", "it's nightly", "--output", "json").stdout) == []
    unknown = run(table, "--job", "weekly", "--output", "json")
    assert (unknown.exit_code, "is of the job 'weekly'. Its jobs: it's nightly" in unknown.stderr) == (3, True)
    assert "_commit_job" in run(table, "--origin", "--output", "csv").stdout.splitlines()[0]
    assert "_commit_job" not in run(table, "--output", "csv").stdout.splitlines()[0]
