"""Checksums of files: recorded with each commit, carried as long as the file is there, and compared."""

from __future__ import annotations

import json
import pickle
import random
import shutil
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import lance
import numpy as np
import pyarrow as pa
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

import lance_sql
from lance_sql.cli.main import main
from lance_sql.jobs import distributed
from lance_sql.store import checksums
from lance_sql.store.local import LocalStore
from lance_sql.table import checksums as recorded
from lance_sql.table.fragment import Fragment
from tests.kernels.test_bloom import xxhash64

FLIPPED = 40


def files_of(table: Path) -> set[str]:
    """The files of the newest version, and of its indices."""
    snapshot = lance_sql.open(table).snapshot
    found = set()
    for fragment in snapshot.manifest.fragments:
        found |= {f"data/{file.path}" for file in fragment.files}
        if fragment.deletion_file is not None:
            found.add(f"_deletions/{fragment.deletion_file.name(fragment.id)}")
    return found | {f"_indices/{each.uuid}/{name}" for each in snapshot.indices() for name in each.file_sizes}


def known(table: Path) -> set[str]:
    records, errors = recorded.read(LocalStore(str(table)))
    assert not errors
    return {path for record in records for path in record.files}


def flip(file: Path, offset: int, count: int = FLIPPED) -> None:
    content = bytearray(file.read_bytes())
    for place in range(offset, min(offset + count, len(content))):
        content[place] ^= 0x55
    file.write_bytes(content)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Several data files, deletion files of both kinds, and indices."""
    root = tmp_path / "t.lance"
    rng = np.random.default_rng(1)
    dataset = lance_sql.write({"id": range(20_000), "x": rng.random(20_000)}, root, max_rows_per_file=10_000)
    dataset = dataset.indices.create("id", "btree").indices.create("x", "zonemap")
    dataset = dataset.delete("id < 6000").delete("id = 15000").update({"x": "0.5"}, "id = 19000")
    lance_sql.write({"id": [20_000], "x": [1.0]}, root, mode="append")
    return root


@settings(max_examples=30)
@given(st.lists(st.integers(0, 3 * checksums.BLOCK_BYTES), max_size=4), st.integers(0, 2**32))
def test_a_checksum_does_not_depend_on_the_pieces(lengths: list[int], seed: int) -> None:
    content = np.random.default_rng(seed).bytes(sum(lengths))
    hasher = checksums.Hasher()
    start = 0
    for length in lengths:
        hasher.update(content[start : start + length])
        start += length
    made = hasher.finish()
    assert made == checksums.of(content)
    assert made.is_consistent


def test_a_checksum_is_the_hash_of_each_block() -> None:
    content = np.random.default_rng(2).bytes(checksums.BLOCK_BYTES + 77)
    blocks = (content[: checksums.BLOCK_BYTES], content[checksums.BLOCK_BYTES :])
    assert checksums.of(content).hashes == b"".join(xxhash64(block).to_bytes(8, "little") for block in blocks)
    assert checksums.of(b"") == checksums.Checksum(0, b"")


def test_every_file_of_a_table_has_a_checksum(table: Path) -> None:
    assert files_of(table) <= known(table)
    report = lance_sql.verify(table, checksums=True)
    assert report.is_healthy
    assert report.compared is not None
    assert report.compared.without == 0
    assert "compared with their checksum" in str(report)


def test_flipped_bytes_are_found_wherever_they_are(table: Path) -> None:
    """40 bytes in any file: the table, the version, the file; of a data file the column and the page as well."""
    picked = random.Random(4)
    for name in sorted(files_of(table)):
        file = table / name
        content = file.read_bytes()
        flip(file, picked.randrange(max(len(content) - FLIPPED, 1)))
        report = lance_sql.verify(table, checksums=True)
        assert {problem.file for problem in report.problems} == {name}
        newest = max(report.versions)
        assert all(newest in problem.versions for problem in report.problems)
        assert report.newest_healthy_version == (newest if name.startswith("_indices") else newest - 1) or (
            not name.startswith("_indices")
        )
        file.write_bytes(content)
    assert lance_sql.verify(table, checksums=True).is_healthy


def test_values_that_decode_are_found_with_column_and_page(tmp_path: Path) -> None:
    root = tmp_path / "t.lance"
    lance_sql.write({"id": range(1000), "x": np.random.default_rng(1).random(1000)}, root)
    (file,) = (root / "data").iterdir()
    before = lance_sql.open(root).to_pandas()["x"].sum()
    snapshot = lance_sql.open(root).snapshot
    (page,) = snapshot.open_fragments.files.open(snapshot.manifest.fragments[0].files[0]).column(1).pages
    start, end = max(page.buffers, key=lambda buffer: buffer.end - buffer.start)
    flip(file, (start + end) // 2)
    assert lance_sql.open(root).to_pandas()["x"].sum() != before
    assert lance_sql.verify(root).is_healthy
    for report in (lance_sql.verify(root, checksums=True), lance_sql.verify(root, deep=True)):
        assert ("x", 0) in {(problem.column, problem.page) for problem in report.problems}
        assert "checksum mismatch" in str(report)
    result = CliRunner().invoke(main, ["verify", str(root), "--checksums"])
    assert result.exit_code == 1
    assert f"data/{file.name}" in result.stdout
    assert "version 1" in result.stdout


def test_the_differing_blocks_of_a_long_file_are_listed(tmp_path: Path) -> None:
    root = tmp_path / "t.lance"
    lance_sql.write({"x": np.random.default_rng(1).random(1_000_000), "y": np.zeros(1_000_000)}, root)
    (file,) = (root / "data").iterdir()
    block = checksums.BLOCK_BYTES
    flip(file, 2 * block + 5)
    flip(file, 5 * block + 5)
    problems = lance_sql.verify(root, checksums=True).problems
    assert {problem.column for problem in problems} == {"x"}
    assert all(f"bytes {2 * block} to {3 * block}, {5 * block} to {6 * block} of" in str(each) for each in problems)


def test_checksums_live_as_long_as_their_files(table: Path, tmp_path: Path) -> None:
    """Over cleanups here and by pylance, compactions, restores, branches and clones."""
    lance_sql.open(table).maintenance.cleanup(older_than=timedelta(0))
    assert files_of(table) <= known(table)
    assert not {path for path in known(table) if path.startswith("data/") and not (table / path).exists()}
    branch = lance_sql.open(table).branches.create("b").delete("id = 7000")
    clone = lance_sql.open(table).branches.shallow_clone(tmp_path / "c.lance").delete("id = 7001")
    for report in (
        lance_sql.verify(table, branch="b", checksums=True),
        lance_sql.verify(clone.uri, checksums=True),
    ):
        assert report.is_healthy
        assert report.compared is not None
        assert report.compared.without == 0
    assert branch.count_rows() == clone.count_rows()
    restored = lance_sql.open(table).maintenance.compact().restore(lance_sql.open(table).versions()[0].version)
    lance.dataset(table).cleanup_old_versions(timedelta(0), delete_unverified=True)
    assert restored.version == lance_sql.open(table).version
    assert files_of(table) <= known(table)
    report = lance_sql.verify(table, checksums=True)
    assert report.is_healthy
    assert report.compared is not None
    assert report.compared.without == 0
    # what a moved table brings along
    shutil.move(table, tmp_path / "moved.lance")
    assert lance_sql.verify(tmp_path / "moved.lance", checksums=True).is_healthy


def test_a_cleanup_makes_few_records_of_many(tmp_path: Path) -> None:
    root = tmp_path / "t.lance"
    dataset = lance_sql.write({"id": [0]}, root)
    for number in range(1, 50):
        dataset = lance_sql.write({"id": [number]}, root, mode="append")
    assert len(list((root / "_checksums").iterdir())) == 50
    dataset.maintenance.cleanup(older_than=timedelta(0))
    assert len(list((root / "_checksums").iterdir())) == 1
    assert len(files_of(root)) == 50
    assert files_of(root) <= known(root)


def test_files_of_other_writers_have_no_checksums(table: Path) -> None:
    lance.write_dataset(pa.table({"id": [1], "x": [0.5]}, lance.dataset(table).schema), table, mode="append")
    lance.dataset(table).delete("id = 8000")
    report = lance_sql.verify(table, deep=True)
    assert report.compared is not None
    assert report.compared.without == 2
    assert "files without one, such as those of other writers, may have wrong values" in str(report)
    assert lance.dataset(table).count_rows() == lance_sql.open(table).count_rows()


def test_a_refused_commit_leaves_no_record(table: Path) -> None:
    before = set((table / "_checksums").iterdir())
    dataset = lance_sql.open(table)
    lance_sql.write({"y": [1]}, table, mode="overwrite")
    with pytest.raises(lance_sql.LanceError):
        dataset.update({"x": "1.0"}, "id = 1")
    assert len(set((table / "_checksums").iterdir()) - before) == 1


def test_recorded_checksums_are_validated(table: Path) -> None:
    """Records that are none are named; they make no file damaged, and none healthy."""
    folder = table / "_checksums"
    good = json.loads(next(folder.iterdir()).read_text())
    path = next(iter(good["files"]))
    hostile: list[bytes] = [
        b"",
        b"[]",
        b"[" * 100_000,
        b'{"hash": "xxh64", "block_bytes": 1048576, "files": []}',
        json.dumps(good | {"files": {"../x": good["files"][path]}}).encode(),
        json.dumps(good | {"files": {path: {"size": -1, "blocks": ""}}}).encode(),
        json.dumps(good | {"files": {path: {"size": 1 << 60, "blocks": "00"}}}).encode(),
        json.dumps(good | {"files": {path: {"size": 1e400, "blocks": "00"}}}).encode(),
        json.dumps(good | {"files": {path: {"size": "1", "blocks": 7}}}).encode(),
    ]
    for number, content in enumerate(hostile):
        (folder / f"h{number}.json").write_bytes(content)
    # of a later release
    (folder / "later.json").write_text(json.dumps(good | {"hash": "other"}))
    report = lance_sql.verify(table, checksums=True)
    assert {problem.affects for problem in report.problems} == {"record"}
    assert {problem.file for problem in report.problems} == {f"_checksums/h{n}.json" for n in range(len(hostile))}
    assert report.newest_healthy_version == max(report.versions)


def test_an_audit_compares_files_as_well(tmp_path: Path) -> None:
    root = tmp_path / "t.lance"
    lance_sql.write({"id": [1, 2, 3]}, root)
    lance_sql.write({"id": [4, 5, 6]}, root, mode="append")
    newest = lance_sql.open(root).snapshot.manifest.fragments[-1].files[0].path
    flip(root / "data" / newest, 0, 1)
    report = lance_sql.audit(root)
    (fault,) = report.faults
    assert (fault.version, fault.kind) == (2, "changed_file")
    assert f"data/{newest}" in str(fault)
    assert lance_sql.audit(root, checksums=False).is_healthy


def _job(path: str) -> None:
    job = pickle.loads(pickle.dumps(lance_sql.begin_write(lance_sql.open(path).schema, path, mode="append")))
    job.commit(pickle.loads(pickle.dumps(job.write_fragments({"id": [-1], "x": [0.5]}))))


def _distributed(path: str) -> None:
    def run(job: distributed.CompactionJob) -> list[tuple[Fragment, ...]]:
        return [job.write(number) for number in range(len(job.groups))]

    distributed.compact_groups(lance_sql.open(path), run)


STATEMENTS: dict[str, Callable[[str], object]] = {
    "merge": lambda path: lance_sql.open(path).merge({"id": [1, -5], "x": [0.1, 0.2]}, on="id"),
    "add columns": lambda path: lance_sql.open(path).add_columns({"y": "id + 1"}),
    "alter column": lambda path: lance_sql.open(path).alter_column("x", type=pa.float32()),
    "compact": lambda path: lance_sql.open(path).maintenance.compact(max_deleted_share=0),
    "distributed compaction": _distributed,
    "optimize indices": lambda path: lance_sql.open(path).indices.optimize(rebuild=True),
    "bitmap": lambda path: lance_sql.open(path).indices.create("id", "bitmap", name="b"),
    "bloom filter": lambda path: lance_sql.open(path).indices.create("id", "bloomfilter", name="f"),
    "job": _job,
    "overwrite": lambda path: lance_sql.write({"z": [1]}, path, mode="overwrite"),
    "new column": lambda path: lance_sql.write(
        {"id": [-2], "x": [1.0], "n": [7]}, path, mode="append", merge_schema=True
    ),
    "sql": lambda path: lance_sql.sql(
        f"MERGE INTO '{path}' AS t USING (SELECT 3 AS id) AS s ON t.id = s.id WHEN MATCHED THEN DELETE"
    ),
    "repair": lambda path: lance_sql.repair(path),
}


@pytest.mark.parametrize("statement", STATEMENTS)
def test_every_statement_records_checksums(table: Path, statement: str) -> None:
    STATEMENTS[statement](str(table))
    assert files_of(table) <= known(table)
    report = lance_sql.verify(table, checksums=True)
    assert report.is_healthy
    assert report.compared is not None
    assert report.compared.without == 0
