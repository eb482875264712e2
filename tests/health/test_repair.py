"""A repair gives up no readable row, neither for an index nor for row metadata."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import lance
import pyarrow as pa
import pytest
from click.testing import CliRunner, Result

import lance_sql
from lance_sql import CommitConflict, CorruptFile, UnsupportedFeature
from lance_sql.cli.main import main
from lance_sql.health import repairs
from tests.writes.commit.test_early_releases import edit_manifest, newest_manifest


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, list(arguments))


def ids(table: Path) -> list[int]:
    return sorted(lance_sql.open(table).scan(["id"]).to_table()["id"].to_pylist())


def text(count: int) -> list[str]:
    return [f"city {n % 7} x" for n in range(count)]


@pytest.fixture
def indexed(tmp_path: Path) -> Path:
    """A BTREE and an n-gram index, and rows that came after them."""
    table = tmp_path / "t.lance"
    lance_sql.write({"id": range(200), "s": text(200)}, table).indices.create("id", "btree")
    lance.dataset(table).create_scalar_index("s", "NGRAM")
    lance_sql.write({"id": range(200, 300), "s": text(100)}, table, mode="append")
    return table


def remove_files(table: Path, kind: str) -> None:
    """Removes the files of an index."""
    segments = {segment.index_type: segment.uuid for segment in lance_sql.open(table).snapshot.indices()}
    for file in (table / "_indices" / str(segments[kind])).iterdir():
        file.unlink()


def damage_list(table: Path) -> None:
    """Moves the list of indices in the newest manifest to a wrong place."""

    def edit(manifest: Any) -> None:
        manifest.index_section = 2**40

    edit_manifest(newest_manifest(table), edit)


def test_no_row_goes_for_an_index(indexed: Path) -> None:
    remove_files(indexed, "BTreeIndexDetails")
    report = lance_sql.verify(indexed)
    assert {(problem.affects, problem.index) for problem in report.problems} == {("index", "id_idx")}
    assert (report.newest_healthy_version, report.newest_is_healthy) == (4, False)
    assert "every row of version 4 can be read" in str(report)
    page = report.to_html()
    assert "every row can be read without it" in page
    assert "lance-sql repair" in page
    done = lance_sql.repair(indexed)
    assert (done.version, done.rebuilt, done.dropped) == (None, ("id_idx",), ())
    assert ids(indexed) == list(range(300))
    # the versions before have the index still
    after = lance_sql.verify(indexed)
    assert (after.newest_is_healthy, after.newest_healthy_version) == (True, 5)
    opened = lance_sql.open(indexed)
    assert "id_idx" in opened.scan(["id"], "id = 250").explain()
    assert opened.count_rows("id = 250") == 1
    assert lance.dataset(indexed).count_rows("id >= 190 and id < 210") == 20


def test_an_index_of_a_kind_that_is_not_written_is_dropped(indexed: Path) -> None:
    remove_files(indexed, "NGramIndexDetails")
    assert str(lance_sql.repair(indexed, dry_run=True)) == "drop the index 's_idx'"
    result = run("repair", str(indexed), "--yes")
    assert "all 300 rows stay" in result.stderr
    assert [index.name for index in lance_sql.open(indexed).indices.list()] == ["id_idx"]
    assert ids(indexed) == list(range(300))


def test_a_damaged_list_of_indices_is_dropped(indexed: Path) -> None:
    damage_list(indexed)
    report = lance_sql.verify(indexed)
    assert (report.newest_healthy_version, report.has_damaged_index_list(4)) == (4, True)
    assert lance_sql.repair(indexed).drops_all_indices
    assert ids(indexed) == list(range(300))
    assert lance_sql.open(indexed).indices.list() == ()
    assert lance.dataset(indexed).count_rows() == 300
    lance_sql.write({"id": [300], "s": ["a"]}, indexed, mode="append")
    assert lance_sql.verify(indexed).newest_is_healthy


def test_rows_go_back_as_far_as_they_must_and_indices_are_built_again(indexed: Path) -> None:
    remove_files(indexed, "BTreeIndexDetails")
    newest = lance_sql.open(indexed).snapshot.manifest.fragments[-1].files[0].path
    (indexed / "data" / newest).unlink()
    done = lance_sql.repair(indexed)
    assert (done.version, done.rebuilt) == (3, ("id_idx",))
    assert ids(indexed) == list(range(200))
    assert lance_sql.verify(indexed).newest_is_healthy


def test_no_row_goes_for_what_is_recorded_of_rows(tmp_path: Path) -> None:
    """Transactions and tags: all rows are there."""
    table = tmp_path / "t.lance"
    lance_sql.write({"id": [1, 2]}, table)
    lance_sql.open(table).tags.create("first", 1)
    lance.write_dataset(pa.table({"id": [3]}), table, mode="append")
    # a version whose transaction is in a file by itself, and nothing that can be read in it
    edit_manifest(newest_manifest(table), lambda manifest: manifest.ClearField("transaction_section"))
    (record,) = [file for file in (table / "_transactions").iterdir() if file.name.startswith("1-")]
    record.write_bytes(b"\xff" * 40)
    (table / "_refs" / "tags" / "first.json").write_text("{")
    report = lance_sql.verify(table)
    assert {problem.affects for problem in report.problems} == {"record"}
    assert len(report.problems) == 2
    assert report.newest_healthy_version == 2
    assert not lance_sql.repair(table).is_needed
    assert ids(table) == [1, 2, 3]


def test_exit_codes_tell_the_newest_version_from_old_ones(tmp_path: Path) -> None:
    table = tmp_path / "t.lance"
    lance_sql.write({"id": [1]}, table)
    assert run("verify", str(table)).exit_code == 0
    lance_sql.write({"id": [2]}, table, mode="append")
    newest = lance_sql.open(table).snapshot.manifest.fragments[-1].files[0].path
    (table / "data" / newest).unlink()
    assert run("verify", str(table)).exit_code == 1
    assert run("repair", str(table), "--yes").exit_code == 0
    assert run("verify", str(table)).exit_code == 4
    assert run("verify", f"{table}@2").exit_code == 1
    assert run("verify", f"{table}@3").exit_code == 0


def test_commits_since_the_check_are_not_undone(tmp_path: Path) -> None:
    table = tmp_path / "t.lance"
    lance_sql.write({"id": [1]}, table)
    lance_sql.write({"id": [2]}, table, mode="append")
    newest = lance_sql.open(table).snapshot.manifest.fragments[-1].files[0].path
    shutil.move(table / "data" / newest, tmp_path / newest)
    planned = lance_sql.repair(table, dry_run=True)
    shutil.move(tmp_path / newest, table / "data" / newest)
    lance_sql.write({"id": [3]}, table, mode="append")
    with pytest.raises(CommitConflict, match="version 3 was committed since the check"):
        repairs.carry_out(planned)
    assert ids(table) == [1, 2, 3]


def test_tables_without_a_healthy_version_are_reported(tmp_path: Path) -> None:
    table = tmp_path / "t.lance"
    lance_sql.write({"id": [1]}, table)
    for file in (table / "data").iterdir():
        file.unlink()
    with pytest.raises(CorruptFile, match=r"no version of .* is healthy"):
        lance_sql.repair(table)


def test_the_version_to_restore_may_follow_the_table(tmp_path: Path) -> None:
    table = tmp_path / "t.lance"
    lance_sql.write({"id": [1]}, table)
    lance_sql.write({"id": [2]}, table, mode="append")
    lance_sql.open(table).tags.create("both")
    assert run("restore", str(table), "1", "--yes").exit_code == 0
    assert ids(table) == [1]
    assert run("restore", str(table), "both", "--yes").exit_code == 0
    assert ids(table) == [1, 2]
    assert run("restore", f"{table}@1", "2", "--yes").exit_code == 2
    assert run("restore", str(table), "--yes").exit_code == 2


def test_a_version_that_this_release_cannot_check_is_not_given_up(tmp_path: Path) -> None:
    table = tmp_path / "t.lance"
    lance_sql.write({"id": [1]}, table)
    lance_sql.write({"id": [2]}, table, mode="append")

    def demand(message: Any) -> None:
        message.reader_feature_flags |= 1 << 40

    edit_manifest(newest_manifest(table), demand)
    with pytest.raises(UnsupportedFeature, match=r"version 2 of .* cannot be checked by this release"):
        lance_sql.repair(table)
    assert len(list((table / "_versions").glob("*.manifest"))) == 2


@pytest.mark.parametrize("by", ["a repair", "an overwrite"])
def test_a_page_after_a_repair_is_green_and_names_it(tmp_path: Path, by: str) -> None:
    path = tmp_path / "t.lance"
    lance_sql.write({"id": [1, 2]}, path)
    known = set((path / "data").iterdir())
    lance_sql.write({"id": [3]}, path, mode="append")
    [new] = set((path / "data").iterdir()) - known
    new.unlink()
    assert '<p class="banner bad"' in lance_sql.verify(path).to_html()
    planned = run("repair", str(path), "--dry-run").stderr
    assert "return to version 1" in planned
    assert "'lance-sql salvage' can write its readable rows to a new table first" in planned
    _ = lance_sql.repair(path) if by == "a repair" else lance_sql.write({"id": [9]}, path, mode="overwrite")
    done = "version 3 returned to version 1" if by == "a repair" else "version 3 (overwrite) does not need"
    report = lance_sql.verify(path)
    page = report.to_html()
    assert '<p class="banner ok" role="status">The newest version is healthy' in page
    assert "banner bad" not in page
    assert "1 problem in older versions (version 2)" in page
    assert done in page
    assert done in str(report)
    assert "<h1>Verification of t.lance</h1>" in page
