"""Tables without stable row ids get them: both libraries read and change them afterwards, and the change feed works."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import lance
import pyarrow as pa
import pytest
from click.testing import CliRunner

import lance_sql
from lance_sql import Dataset, InvalidArgument, RetryableConflict, UnsupportedFeature
from lance_sql.cli.main import main
from lance_sql.writes.commit import assigned_row_ids
from lance_sql.writes.commit.committer import commit
from tests.conftest import Case, corpus_params
from tests.golden import test_old_writers as old_writers
from tests.golden.compare import assert_same
from tests.writes.commit.tables import rows, table

START = 12


@pytest.fixture(params=["ours", "pylance"])
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Four fragments of three rows, two of them with deleted rows, and no stable row ids."""
    path = tmp_path / "t.lance"
    if request.param == "ours":
        lance_sql.write(table(range(START)), path, stable_row_ids=False, max_rows_per_file=3)
    else:
        lance.write_dataset(table(range(START)), path, max_rows_per_file=3)
    lance_sql.open(path).delete("k IN (4, 8)")
    return path


def ids(dataset: Dataset) -> dict[int, int]:
    found = dataset.scan(["k", "_rowid"]).to_table().to_pylist()
    return {row["k"]: row["_rowid"] for row in found}


def test_rows_keep_the_ids_that_they_have(path: Path) -> None:
    before = lance_sql.open(path)
    made = before.maintenance.enable_stable_row_ids()
    assert made.version == before.version + 1
    assert ids(made) == ids(before)
    assert {row["_row_created_at_version"] for row in rows(path)} == {made.version}
    assert {row["_row_last_updated_at_version"] for row in rows(path)} == {made.version}
    assert made.snapshot.manifest.next_row_id == 4 << 32
    assert lance_sql.verify(path, deep=True).is_healthy
    report = lance_sql.audit(path)
    assert report.is_healthy, str(report)
    assert (report.versions, report.without_lineage) == ((3,), (1, 2))
    assert "_row_created_at_version" not in before.system_columns
    summary = made.versions()[-1].summary
    assert summary is not None
    assert summary.operation == "enable_stable_row_ids"


def by_us(path: Path) -> None:
    dataset = lance_sql.open(path).update({"v": "'new'"}, "k IN (1, 7)")
    dataset = dataset.delete("k = 2").merge(table([3, 100], "merged"), on="k")
    lance_sql.write(table([200]), path, mode="append")
    dataset.maintenance.compact()


def by_pylance(path: Path) -> None:
    dataset = lance.dataset(path)
    dataset.update({"v": "'new'"}, where="k IN (1, 7)")
    dataset.delete("k = 2")
    builder: Any = dataset.merge_insert("k")
    builder.when_matched_update_all().when_not_matched_insert_all().execute(table([3, 100], "merged"))
    lance.write_dataset(table([200]), path, mode="append")
    lance.dataset(path).optimize.compact_files()


@pytest.mark.parametrize("go_on", [by_us, by_pylance])
def test_both_libraries_go_on(path: Path, go_on: Callable[[Path], None]) -> None:
    made = lance_sql.open(path).maintenance.enable_stable_row_ids()
    known = ids(made)
    go_on(path)
    after = rows(path)
    kept = {row["k"]: row["_rowid"] for row in after if row["k"] < START}
    assert kept == {key: value for key, value in known.items() if key != 2}
    assert {row["_rowid"] for row in after if row["k"] >= START} == {4 << 32, (4 << 32) + 1}
    changes = lance_sql.open(path).changes(since=made.version).scan(["k", "_change_type"]).to_table().to_pylist()
    found = sorted((row["_change_type"], row["k"]) for row in changes)
    assert found == [
        ("delete", 2),
        ("insert", 100),
        ("insert", 200),
        ("update_postimage", 1),
        ("update_postimage", 3),
        ("update_postimage", 7),
        ("update_preimage", 1),
        ("update_preimage", 3),
        ("update_preimage", 7),
    ]
    net = lance_sql.open(path).changes(since=made.version, mode="net")
    assert net.count_rows() == len(found)
    history = lance_sql.open(path).row_history(made.version + 1)
    assert history.count_rows("is_current") == len(after)
    report = lance_sql.audit(path)
    assert report.is_healthy, str(report)


def test_changes_over_the_version_need_a_key(path: Path) -> None:
    made = lance_sql.open(path).update({"v": "'new'"}, "k = 1").maintenance.enable_stable_row_ids().delete("k = 2")
    with pytest.raises(UnsupportedFeature, match=r"have stable row ids from version 4.*since=4"):
        made.changes(2).count_rows()
    with pytest.raises(UnsupportedFeature, match=r"have stable row ids from version 4"):
        made.changes(4, mode="net").to_reader().read_all()
    feed = made.changes(3, key="k").scan(["k", "v", "_change_type", "_commit_version"]).to_table()
    assert [tuple(row.values()) for row in feed.to_pylist()] == [
        (1, "v1", "update_preimage", 3),
        (1, "new", "update_postimage", 3),
        (2, "v2", "delete", 5),
    ]
    with pytest.raises(InvalidArgument, match=r"maintenance\.enable_stable_row_ids\(\)"):
        lance_sql.open(path, version=3).changes()


@pytest.mark.parametrize("kind", ["BTREE", "BITMAP", "ZONEMAP", "BLOOMFILTER"])
def test_indices_stay_right(tmp_path: Path, kind: Any) -> None:
    path = tmp_path / "t.lance"
    lance.write_dataset(table(range(300)), path, max_rows_per_file=100)
    lance.dataset(path).create_scalar_index("k", kind, name="by_k")
    lance_sql.open(path).delete("k = 150")
    made = lance_sql.open(path).maintenance.enable_stable_row_ids()
    assert [index.name for index in made.snapshot.indices()] == ["by_k"]

    def found(where: str) -> list[int]:
        scanner = lance.dataset(path).scanner(columns=["k"], filter=where)
        # a bloom filter answers no ranges
        assert kind == "BLOOMFILTER" or "ScalarIndexQuery" in scanner.explain_plan(verbose=True)
        return sorted(scanner.to_table().column("k").to_pylist())

    assert found("k = 123") == [123]
    assert found("k = 150") == []
    assert found("k >= 98 AND k <= 102") == [98, 99, 100, 101, 102]
    lance.dataset(path).update({"v": "'new'"}, where="k IN (123, 250)")
    lance_sql.open(path).update({"k": "k + 1000"}, "k = 99")
    assert found("k = 123") == [123]
    assert found("k >= 98 AND k <= 102") == [98, 100, 101, 102]
    assert found("k = 1099") == [1099]
    lance.dataset(path).optimize.optimize_indices()
    assert found("k = 1099") == [1099]
    assert found("k = 99") == []
    assert lance.dataset(path).count_rows("v = 'new'") == 2


def test_a_vector_index_stays_right(tmp_path: Path) -> None:
    path = tmp_path / "t.lance"
    vectors = pa.FixedSizeListArray.from_arrays(pa.array([float(i) for i in range(512 * 4)], pa.float32()), 4)
    lance.write_dataset(pa.table({"k": range(512), "x": vectors}), path, max_rows_per_file=200)
    lance.dataset(path).create_index("x", "IVF_FLAT", num_partitions=2, metric="l2")
    lance_sql.open(path).delete("k = 7")
    lance_sql.open(path).maintenance.enable_stable_row_ids().update({"k": "k + 1000"}, "k = 300")

    def nearest(row: int) -> list[int]:
        query = {"column": "x", "q": [float(row * 4 + i) for i in range(4)], "k": 2, "nprobes": 2}
        found: list[int] = lance.dataset(path).to_table(columns=["k"], nearest=query).column("k").to_pylist()
        return found

    assert nearest(100)[0] == 100
    assert nearest(300)[0] == 1300
    assert 7 not in nearest(7)


def test_indices_are_dropped_on_demand(tmp_path: Path) -> None:
    path = tmp_path / "t.lance"
    lance.write_dataset(table(range(30)), path)
    lance.dataset(path).create_scalar_index("k", "BTREE")
    made = lance_sql.open(path).maintenance.enable_stable_row_ids(indices="drop")
    assert made.snapshot.indices() == ()
    assert lance.dataset(path).scanner(filter="k = 3").to_table().num_rows == 1


def test_others_that_began_before_go_on_after(path: Path) -> None:
    old = lance.dataset(path)
    job = lance_sql.begin_write(table([]).schema, path, mode="append")
    fragments = job.write_fragments(table([50]))
    made = lance_sql.open(path).maintenance.enable_stable_row_ids()
    lance.write_dataset(table([40]), old, mode="append")
    job.commit(fragments)
    old.delete("k = 0")
    lance_sql.open(path, version=2).delete("k = 1")
    assert [row["k"] for row in rows(path)] == [2, 3, 5, 6, 7, 9, 10, 11, 40, 50]
    assert {row["k"]: row["_row_created_at_version"] for row in rows(path)}[40] == made.version + 1
    feed = lance_sql.open(path).changes(since=made.version)
    assert feed.count_rows("_change_type = 'insert'") == 2
    assert feed.count_rows("_change_type = 'delete'") == 2
    report = lance_sql.audit(path)
    assert report.is_healthy, str(report)


def test_an_index_that_was_being_built_is_right(tmp_path: Path) -> None:
    path = tmp_path / "t.lance"
    lance.write_dataset(table(range(300)), path, max_rows_per_file=100)
    old = lance.dataset(path)
    lance_sql.open(path).maintenance.enable_stable_row_ids()
    old.create_scalar_index("k", "BTREE")
    scanner = lance.dataset(path).scanner(columns=["k"], filter="k = 250")
    assert "ScalarIndexQuery" in scanner.explain_plan(verbose=True)
    assert scanner.to_table().column("k").to_pylist() == [250]


def test_whatever_others_commit_first_it_is_computed_again(path: Path) -> None:
    snapshot = lance_sql.open(path).snapshot
    operation = assigned_row_ids.merge_with_row_ids(snapshot, keeps_indices=True)
    lance_sql.write(table([40]), path, mode="append")
    with pytest.raises(RetryableConflict):
        commit(snapshot, operation)
    assert not lance_sql.open(path).snapshot.manifest.has_stable_row_ids
    snapshot = lance_sql.open(path).snapshot
    operation = assigned_row_ids.merge_with_row_ids(snapshot, keeps_indices=False)
    lance.dataset(path).create_scalar_index("k", "BTREE")
    with pytest.raises(RetryableConflict, match="indices were changed"):
        commit(snapshot, operation)
    lance_sql.open(path, version=1).maintenance.enable_stable_row_ids()
    assert lance_sql.audit(path).versions == (5,)


def test_a_restore_takes_them_away_and_ids_are_not_given_again(path: Path) -> None:
    made = lance_sql.open(path).maintenance.enable_stable_row_ids()
    appended = lance_sql.write(table([40, 41]), path, mode="append")
    given = set(ids(made).values()) | set(ids(appended).values())
    restored = appended.restore(2)
    assert not restored.snapshot.manifest.has_stable_row_ids
    with pytest.raises(UnsupportedFeature, match="have no stable row ids from version 5"):
        restored.maintenance.enable_stable_row_ids().changes(5).count_rows()
    again = lance_sql.open(path)
    assert len(rows(path)) == 10
    assert not given & set(ids(again).values())
    assert lance_sql.audit(path).is_healthy


def test_indices_that_cannot_stay_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.lance"
    lance.write_dataset(table(range(30)), path)
    lance.dataset(path).create_scalar_index("k", "BTREE", name="by_k")
    lance_sql.open(path).maintenance.enable_stable_row_ids().restore(2)
    with pytest.raises(InvalidArgument, match=r"cannot be kept.*indices='drop'"):
        lance_sql.open(path).maintenance.enable_stable_row_ids()
    lance_sql.open(path).maintenance.enable_stable_row_ids(indices="drop")
    assert len(rows(path)) == 30


def test_wrong_arguments_are_reported(path: Path) -> None:
    with pytest.raises(InvalidArgument, match="neither 'keep' nor 'drop'"):
        lance_sql.open(path).maintenance.enable_stable_row_ids(indices="remap")  # type: ignore[arg-type]  # wrong on purpose
    with pytest.raises(InvalidArgument, match=r"or call maintenance\.enable_stable_row_ids\(\) first"):
        lance_sql.write(table([1]), path, mode="append", stable_row_ids=True)
    made = lance_sql.open(path).maintenance.enable_stable_row_ids()
    with pytest.raises(InvalidArgument, match="has stable row ids already"):
        made.maintenance.enable_stable_row_ids()


def test_a_branch_and_an_empty_table(path: Path, tmp_path: Path) -> None:
    branch = lance_sql.open(path).branches.create("dev").maintenance.enable_stable_row_ids()
    assert branch.delete("k = 1").changes(since=branch.version).count_rows() == 1
    assert not lance_sql.open(path).snapshot.manifest.has_stable_row_ids
    empty = lance_sql.write(
        table([]), tmp_path / "empty.lance", stable_row_ids=False
    ).maintenance.enable_stable_row_ids()
    lance_sql.write(table([1]), empty.uri, mode="append")
    assert rows(empty.uri)[0]["_row_created_at_version"] == 3


def test_the_command_describes_itself(path: Path) -> None:
    run = CliRunner().invoke
    assert run(main, ["enable-stable-row-ids", str(path)]).exit_code == 2
    assert "Would give 10 of 10 rows" in run(main, ["enable-stable-row-ids", str(path), "-n"]).stderr
    assert not lance_sql.open(path).snapshot.manifest.has_stable_row_ids
    assert run(main, ["enable-stable-row-ids", str(path), "--yes"]).exit_code == 0
    assert lance_sql.open(path).snapshot.manifest.has_stable_row_ids


@pytest.mark.parametrize("case", corpus_params("cases", "ops", "hist", "small", "pat"))
def test_tables_of_every_writer_get_them(case: Case, tmp_path: Path) -> None:
    if any(version.get("expect") == "error" for version in case.info["versions"]) or case.info.get("stage_at"):
        pytest.skip("the case holds versions that cannot be read, or absolute paths")
    if case.info.get("expect_write") == "error" or lance_sql.open(case.table).snapshot.manifest.has_stable_row_ids:
        pytest.skip("writing to the table is refused, or it has stable row ids")
    path = tmp_path / "t.lance"
    shutil.copytree(case.table, path)
    before = lance_sql.open(path)
    made = before.maintenance.enable_stable_row_ids()
    assert_same(made.to_table(), before.to_table(), before.schema.names, case.name)
    theirs = lance.dataset(path)
    assert theirs.count_rows() == before.count_rows()
    if case.name == "hist_0105_corrupt_schema":
        # pylance puts its schema right with the next commit, so that columns have other values from then on
        return
    found = theirs.to_table(columns=[], with_row_id=True).column("_rowid").to_pylist()
    assert found == made.scan(["_rowid"]).to_table().column("_rowid").to_pylist()
    if not found:
        return
    theirs.delete(f"_rowid = {found[0]}")
    after = lance_sql.open(path)
    assert after.changes(since=made.version).scan(["_rowid", "_change_type"]).to_table().to_pylist() == [
        {"_rowid": found[0], "_change_type": "delete"}
    ]
    assert lance_sql.audit(path).is_healthy


@pytest.mark.parametrize("folder", old_writers.TABLES, ids=lambda folder: folder.name)
def test_tables_of_early_releases_get_them(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "t.lance"
    shutil.copytree(folder / "data.lance", path)
    before = lance_sql.open(path)
    if any(field.dictionary is not None for field in before.snapshot.manifest.schema.by_id.values()):
        with pytest.raises(UnsupportedFeature, match="dictionaries in the manifest"):
            before.maintenance.enable_stable_row_ids()
        return
    made = before.maintenance.enable_stable_row_ids()
    assert_same(made.to_table(), old_writers.expected(folder), before.schema.names, folder.name)
    known = made.scan(["_rowid"]).to_table().column("_rowid").to_pylist()
    column = next(field.name for field in made.schema if pa.types.is_int64(field.type))
    assert lance.dataset(path).count_rows() == len(known)
    wanted = [(known[0], "delete")]
    try:
        lance.dataset(path).update({column: "-7"}, where=f"_rowid = {known[1]}")
        wanted += [(known[1], "update_postimage"), (known[1], "update_preimage")]
    except (OSError, pa.ArrowInvalid):
        # pylance itself does not read the files of every early release any more
        assert folder.name.endswith(("0_12", "0_12_zstd", "legacy", "early_2_1"))
    lance_sql.open(path).delete(f"_rowid = {known[0]}")
    assert lance.dataset(path).count_rows() == len(known) - 1
    after = lance_sql.open(path)
    changes = after.changes(since=made.version).scan(["_rowid", "_change_type"]).to_table().to_pylist()
    assert sorted(tuple(change.values()) for change in changes) == wanted
    assert lance_sql.audit(path).is_healthy


@pytest.mark.parametrize("kind", ["btree", "bitmap", "zonemap", "bloomfilter"])
def test_indices_of_this_library_stay_right(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "t.lance"
    made = lance_sql.write(table(range(300)), path, stable_row_ids=False, max_rows_per_file=100)
    made = made.delete("k = 150").indices.create("k", kind, name="by_k").maintenance.enable_stable_row_ids()
    made = made.update({"v": "'new'"}, "k IN (123, 250)").update({"k": "k + 1000"}, "k = 99").delete("k = 7")
    wanted = {123: [123], 150: [], 99: [], 1099: [1099], 7: [], 250: [250], 0: [0]}

    def check() -> None:
        for key, expected in wanted.items():
            for reader in (lance_sql.open(path), lance.dataset(path)):
                found = reader.to_table(columns=["k"], filter=f"k = {key}").column("k").to_pylist()
                assert found == expected, (key, reader)

    check()
    made.maintenance.compact(target_rows=1000)
    check()
    lance_sql.open(path).indices.optimize()
    check()
    assert lance_sql.audit(path).is_healthy
