"""`lance-sql history`, `layout`, and pages."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import lance_sql
from lance_sql.cli import main


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    made = lance_sql.write({"id": list(range(10))}, "t.lance")
    made = made.delete("id < 3")
    lance_sql.write({"id": [20, 21]}, "t.lance", mode="append").tags.create("done")
    return "t.lance"


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, list(arguments))


def test_history_is_newest_first(table: str) -> None:
    rows = json.loads(run("history", table, "-o", "json").stdout)
    assert [(row["version"], row["operation"], row["inserted"], row["deleted"], row["tags"]) for row in rows] == [
        (3, "insert", 2, 0, "done"),
        (2, "delete", 0, 3, None),
        (1, "create", 10, 0, None),
    ]
    assert len(json.loads(run("history", table, "--limit", "2", "-o", "json").stdout)) == 2


def test_a_page_names_the_job_that_wrote(table: str) -> None:
    job = lance_sql.begin_write(lance_sql.open(table).schema, table, mode="append", properties={"run": "nightly <7>"})
    made = job.commit(job.write_fragments({"id": [99]}))
    entry = made.history()[-1]
    assert (entry.write_id, dict(entry.properties)) == (job.id, {"run": "nightly <7>"})
    page = made.history().to_html()
    assert job.id in page
    assert "nightly &lt;7&gt;" in page


def test_layout_has_reasons_to_compact(table: str) -> None:
    rows = json.loads(run("layout", table, "-o", "json").stdout)
    assert [(row["rows"], row["deleted_rows"], row["added_version"], row["compact"]) for row in rows] == [
        (7, 3, 1, "fewer than 1,048,576 rows, 30% deleted"),
        (2, 0, 3, "fewer than 1,048,576 rows"),
    ]
    lance_sql.open(table).maintenance.compact()
    (row,) = json.loads(run("layout", table, "-o", "json").stdout)
    assert (row["rows"], row["deleted_rows"], row["compact"]) == (9, 0, None)
    assert lance_sql.open(table).maintenance.layout().deleted_share == 0
    assert [each.added_version for each in lance_sql.open(table, version=2).maintenance.layout().fragments] == [1]


def test_age_is_not_guessed_where_versions_are_gone(table: str) -> None:
    lance_sql.open(table).maintenance.cleanup(retain_versions=1)
    assert [each.added_version for each in lance_sql.open(table).maintenance.layout().fragments] == [None, None]


@pytest.mark.parametrize(
    ("arguments", "exit_code", "title"),
    [
        (["history", "t.lance"], 0, "History of t.lance"),
        (["layout", "t.lance@2"], 0, "Layout of t.lance version 2"),
        (["verify", "t.lance"], 0, "Verification of t.lance"),
        (["diff", "t.lance", "1", "3"], 1, "t.lance version 1 → version 3"),
    ],
)
def test_pages_are_files(table: str, arguments: list[str], exit_code: int, title: str) -> None:
    result = run(*arguments, "--html", "page.html")
    assert (result.exit_code, result.stdout, result.stderr) == (exit_code, "", "Wrote page.html\n")
    assert f"<title>{title}</title>" in Path("page.html").read_text(encoding="utf-8")
    assert run(*arguments, "--html", "-").stdout.startswith("<!DOCTYPE html>")


def test_a_page_that_cannot_be_written_is_one_line(table: str) -> None:
    result = run("history", table, "--html", "no/such/page.html")
    assert result.exit_code == 2
    assert "Traceback" not in result.stderr


def test_rows_that_a_job_changed_have_its_name(tmp_path: Path) -> None:
    made = lance_sql.write({"id": [1, 2]}, tmp_path / "t.lance")
    made.update({"id": "id + 10"}, "id = 2", job="nightly").delete("id = 1")
    result = CliRunner().invoke(main, ["row-history", made.uri, "--job", "nightly", "--output", "json"])
    rows = json.loads(result.stdout)
    assert [(row["id"], row["valid_from_job"], row["valid_to_job"]) for row in rows] == [
        (2, None, "nightly"),
        (12, "nightly", None),
    ]
    shown = CliRunner().invoke(main, ["row-history", made.uri, "--origin"]).stdout
    assert "valid_from_job" in shown


@pytest.mark.parametrize("how", ["history", "history --html -", "describe"])
def test_printed_times_open_their_versions(tmp_path: Path, how: str) -> None:
    path = str(tmp_path / "t.lance")
    lance_sql.write({"id": [0]}, path)
    for number in range(1, 5):
        lance_sql.write({"id": [number]}, path, mode="append")
    verb, *options = how.split()
    printed = run(verb, path, *options).stdout
    times = {each.timestamp: each.version for each in lance_sql.open(path).versions()}
    found = re.findall(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)?(?:Z|\+00:00)", printed)
    opened = {lance_sql.open(path, as_of=time).version for time in found}
    assert opened == ({max(times.values())} if verb == "describe" else set(times.values()))
