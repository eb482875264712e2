"""One walk finds damage and wrong lineage, and reads each version and each file once."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from click.testing import CliRunner

import lance_sql
from lance_sql.cli.main import main
from lance_sql.health.lineage_audit.faults import Kind
from lance_sql.store import Store, checksums
from lance_sql.store.checksums import Checksum
from lance_sql.table import compared_files, versions
from lance_sql.table.versions import VersionFile
from tests.health.lineage_audit.test_faults import last, one_more, planted, set_created


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "t.lance"
    made = lance_sql.write({"k": [1, 2, 3]}, path)
    made = lance_sql.write({"k": [4, 5]}, path, mode="append")
    made.update({"k": "k + 10"}, "k = 2").indices.create("k", "btree")
    return path


@pytest.fixture
def wrong(table: Path, tmp_path: Path) -> Path:
    """Rows of the newest version have another version than their commit."""
    return planted(table, tmp_path / "wrong.lance", 2, last(lambda f: set_created(f, one_more)))


def test_wrong_lineage_is_a_problem_that_loses_no_row(wrong: Path) -> None:
    report = lance_sql.verify(wrong, lineage=True)
    (fault,) = report.faults
    assert fault.kind is Kind.CREATED_AT
    assert "lineage" in {problem.affects for problem in report.problems} <= {"lineage", "record"}
    assert report.newest_healthy_version == 2
    assert not report.newest_is_healthy
    assert report.faults == lance_sql.audit(wrong).faults
    assert "lineage" in report.to_table()["affects"].to_pylist()


def test_the_text_has_both_parts(table: Path, wrong: Path) -> None:
    lines = str(lance_sql.verify(table, lineage=True, deep=True)).splitlines()
    assert lines[0].endswith(
        "versions 1-4 checked, every page decoded; no damage found; lineage audited, no fault found"
    )
    assert "1 fault found" in str(lance_sql.verify(wrong, lineage=True))
    assert "in version 2: 1 of these rows" in str(lance_sql.verify(wrong, lineage=True))


def test_each_version_and_file_is_read_once(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: Counter[str] = Counter()
    read_manifest, differences = versions.read_manifest, checksums.differences

    def counted_manifest(store: Store, file: VersionFile, *args: object) -> object:
        read[file.path] += 1
        return read_manifest(store, file, *args)  # type: ignore[arg-type]  # passed on

    def counted_differences(store: Store, path: str, checksum: Checksum) -> object:
        read[path] += 1
        return differences(store, path, checksum)

    monkeypatch.setattr(versions, "read_manifest", counted_manifest)
    monkeypatch.setattr(compared_files, "differences", counted_differences)
    report = lance_sql.verify(table, deep=True, lineage=True)
    assert report.is_healthy
    assert report.compared is not None
    assert len(read) == len(report.versions) + report.compared.with_checksum
    assert set(read.values()) == {1}


def test_a_changed_file_is_one_problem(table: Path) -> None:
    newest = lance_sql.open(table).snapshot.manifest.fragments[-1].files[0].path
    file = table / "data" / newest
    content = bytearray(file.read_bytes())
    content[0] ^= 1
    file.write_bytes(content)
    report = lance_sql.verify(table, checksums=True, lineage=True)
    assert [problem.file for problem in report.problems] == [f"data/{newest}"]
    assert [fault.kind for fault in report.faults] == [Kind.CHANGED_FILE]
    assert str(report) == str(lance_sql.audit(table))
    assert str(report).count(newest) == 1


def test_an_unreadable_version_is_a_problem_of_an_audit(table: Path) -> None:
    file = lance_sql.open(table, version=2).snapshot.manifest_path
    (table / file).write_bytes(b"")
    report = lance_sql.audit(table)
    assert not report.is_healthy
    assert report.newest_is_healthy
    assert report.partly[2].startswith("for it cannot be read")
    assert report.versions == (1, 3, 4)


def test_the_commands_share_exit_codes_and_json(table: Path, wrong: Path) -> None:
    run = CliRunner().invoke
    assert run(main, ["verify", str(table), "--lineage"]).exit_code == 0
    for verb in (["verify", "--lineage"], ["audit"]):
        result = run(main, [*verb, str(wrong), "-o", "json"])
        assert result.exit_code == 1
        content = json.loads(result.stdout)
        assert [fault["row_ids"] for fault in content["faults"]] == [[3]]
        assert content["problems"]
    lance_sql.open(wrong).delete("k = 4")
    for verb in (["verify", "--lineage"], ["audit"]):
        assert run(main, [*verb, str(wrong)]).exit_code == 4
