"""Jobs of writes whose files are gone: refused before the commit, with nothing changed."""

from __future__ import annotations

import pickle
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import lance_sql
from lance_sql import CommitConflict, InvalidArgument, LanceError
from lance_sql.jobs import write_job

SCHEMA = pa.schema([("id", pa.int64())])
MODES = ("create", "append", "overwrite")

ABORT = "import pickle, sys; pickle.load(sys.stdin.buffer).abort()"


def abort_elsewhere(job: Any, files: Sequence[Path]) -> None:
    subprocess.run([sys.executable, "-c", ABORT], input=pickle.dumps(job), check=True, timeout=60)


def remove_all(job: Any, files: Sequence[Path]) -> None:
    for file in files:
        file.unlink()


WAYS: dict[str, Callable[[Any, Sequence[Path]], object]] = {
    "abort": lambda job, files: job.abort(),
    "abort of a copy": lambda job, files: pickle.loads(pickle.dumps(job)).abort(),
    "abort elsewhere": abort_elsewhere,
    "removed": remove_all,
    "one removed": lambda job, files: files[0].unlink(),
}


def begin(path: Path, mode: Any) -> Any:
    if mode != "create":
        lance_sql.write({"id": [1]}, path)
    return lance_sql.begin_write(SCHEMA, path, mode=mode, max_rows_per_file=2)


def written(job: Any, num_rows: int) -> list[Any]:
    return [part for start in range(0, num_rows, 4) for part in job.write_fragments({"id": range(start, start + 4)})]


def files_of(path: Path, job: Any) -> list[Path]:
    return sorted((path / "data").glob(f"{job.id}*"))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("num_rows", [4, 4 * write_job._MOST_ASKED], ids=["few", "many"])
def test_a_job_whose_files_are_gone_makes_no_version(tmp_path: Path, mode: str, way: str, num_rows: int) -> None:
    path = tmp_path / "t.lance"
    job = begin(path, mode)
    parts = written(job, num_rows)
    WAYS[way](job, files_of(path, job))
    for each in (job, pickle.loads(pickle.dumps(job))):
        with pytest.raises(CommitConflict) as raised:
            each.commit(parts)
        message = str(raised.value)
        if way.startswith("abort") and way != "abort elsewhere":
            assert message == "t.lance: this job was aborted, and its files are gone: start another one"
        else:
            count = 1 if way == "one removed" else len(parts)
            assert re.fullmatch(
                rf"t\.lance: {count} of {len(parts)} files of this job are missing, such as data/{job.id}_[\w]+\.lance:"
                r" an abort or another program removed them\. Write them again",
                message,
            )
    if mode == "create":
        with pytest.raises(lance_sql.TableNotFound):
            lance_sql.open(path)
    else:
        assert lance_sql.open(path).version == 1
        assert lance_sql.open(path).to_table()["id"].to_pylist() == [1]
    # nothing is in the way of the next try
    again = lance_sql.begin_write(SCHEMA, path, mode=mode)  # type: ignore[arg-type]  # one of the modes
    assert again.commit(written(again, 4)).count_rows() == (5 if mode == "append" else 4)


@pytest.mark.parametrize("mode", MODES)
def test_an_abort_between_parts_is_refused_at_once(tmp_path: Path, mode: str) -> None:
    path = tmp_path / "t.lance"
    job = begin(path, mode)
    written(job, 8)
    job.abort()
    with pytest.raises(InvalidArgument, match="aborted"):
        job.write_fragments({"id": [1]})
    assert files_of(path, job) == []


@pytest.mark.parametrize("mode", MODES)
def test_a_part_of_an_aborted_job_does_not_save_the_others(tmp_path: Path, mode: str) -> None:
    path = tmp_path / "t.lance"
    job = begin(path, mode)
    copy = pickle.dumps(job)
    parts = written(job, 4)
    abort_elsewhere(job, ())
    late = pickle.loads(copy)
    parts += written(late, 4)
    with pytest.raises(CommitConflict, match="2 of 4 files of this job are missing"):
        late.commit(parts)
    assert lance_sql.open(path).version == 1 if mode != "create" else not (path / "_versions").exists()


@pytest.mark.parametrize("mode", MODES)
def test_an_abort_after_the_commit_changes_nothing(tmp_path: Path, mode: str) -> None:
    path = tmp_path / "t.lance"
    job = begin(path, mode)
    parts = written(job, 4)
    table = job.commit(parts)
    job.abort()
    assert lance_sql.open(path).to_table() == table.to_table()
    with pytest.raises(LanceError, match="already") as raised:
        job.commit(parts)
    assert "aborted" not in str(raised.value)
    assert lance_sql.open(path).version == table.version


@pytest.mark.parametrize("mode", MODES)
def test_another_process_finds_the_version_of_a_job(tmp_path: Path, mode: str) -> None:
    path = tmp_path / "t.lance"
    job = begin(path, mode)
    copy = pickle.loads(pickle.dumps(job))
    fragments = written(job, 4)
    assert copy.committed() is None
    made = job.commit(fragments)
    lance_sql.write({"id": [9]}, path, mode="append").maintenance.compact()
    found = copy.committed()
    assert (found.version, found.count_rows()) == (made.version, made.count_rows())
    lance_sql.open(path).maintenance.cleanup(older_than="0d", retain_versions=1)
    assert copy.committed() is None
