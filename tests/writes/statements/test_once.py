"""Writes that are made once, however often they are tried, and by however many at the same time."""

from __future__ import annotations

import dataclasses
import pickle
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import lance
import pyarrow as pa
import pytest

import lance_sql
from lance_sql import InvalidArgument
from lance_sql.jobs.write_job import WriteJob


def rows(*keys: int) -> pa.Table:
    return pa.table({"k": pa.array(keys, pa.int64())})


def write(path: Path, number: int, *keys: int, app: str = "app", mode: Any = "append") -> lance_sql.Dataset:
    return lance_sql.write(rows(*keys), path, mode=mode, txn_app_id=app, txn_version=number)


def content(path: Path) -> list[int]:
    assert lance_sql.verify(path).is_healthy
    found: list[int] = sorted(lance_sql.open(path).to_table().column("k").to_pylist())
    return found


def data_files(path: Path) -> set[str]:
    return {file.name for file in (path / "data").iterdir()}


def test_a_write_is_made_once(tmp_path: Path) -> None:
    path = tmp_path / "t"
    lance_sql.write(rows(0), path)
    made = write(path, 5, 1, 2)
    lance.write_dataset(rows(3), path, mode="append")
    files = data_files(path)
    assert write(path, 5, 1, 2).version == made.version
    # a later one was made: this one was, before it
    assert write(path, 4, 9).version == made.version
    assert (content(path), data_files(path)) == ([0, 1, 2, 3], files)
    write(path, 6, 4)
    write(path, 5, 5, app="another")
    assert content(path) == [0, 1, 2, 3, 4, 5]
    summary = lance_sql.open(path).versions()[-1].summary
    assert summary is not None
    assert (summary.txn_app_id, summary.txn_version, summary.properties) == ("another", 5, {})


def test_tables_are_created_and_overwritten_once(tmp_path: Path) -> None:
    path = tmp_path / "t"
    assert write(path, 0, 1, mode="overwrite").version == 1
    assert write(path, 0, 1, mode="overwrite").version == 1
    assert write(path, 1, 2, mode="overwrite").version == 2
    assert content(path) == [2]


def jobs(path: Path, count: int, mode: Any, number: int = 7) -> list[tuple[WriteJob, Any]]:
    """Attempts of one write, all of which have written their files."""
    begun = [
        lance_sql.begin_write(rows().schema, path, mode=mode, txn_app_id="app", txn_version=number)
        for _ in range(count)
    ]
    return [(job, job.write_fragments(rows(100, 101))) for job in begun]


@pytest.mark.parametrize("mode", ["append", "overwrite", "create"])
def test_one_of_many_concurrent_attempts_commits(tmp_path: Path, mode: Any) -> None:
    path = tmp_path / "t"
    if mode != "create":
        lance_sql.write(rows(0), path)
    attempts = jobs(path, 6, mode)
    with ThreadPoolExecutor(6) as pool:
        made = list(pool.map(lambda attempt: attempt[0].commit(attempt[1]).version, attempts))
    assert len(set(made)) == 1
    assert content(path) == ([0, 100, 101] if mode == "append" else [100, 101])
    assert lance.dataset(path).version == made[0]


def test_an_attempt_that_comes_late_finds_the_first_one(tmp_path: Path) -> None:
    path = tmp_path / "t"
    lance_sql.write(rows(0), path)
    (first, written), (late, again) = jobs(path, 2, "append")
    made = first.commit(written)
    lance_sql.open(path).delete("k = 0").maintenance.compact()
    files = data_files(path)
    assert pickle.loads(pickle.dumps(late)).commit(again).version == made.version
    assert content(path) == [100, 101]
    # its own files went
    assert len(data_files(path)) == len(files) - 1


def test_the_loser_of_a_race_writes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The look for the turn comes before the first attempt's commit, the commit after it."""
    path = tmp_path / "t"
    lance_sql.write(rows(0), path)
    (first, written), (late, again) = jobs(path, 2, "append")
    made = first.commit(written)
    original = WriteJob._of_turn
    looks: list[WriteJob] = []

    def look(job: WriteJob) -> Any:
        looks.append(job)
        return None if len(looks) == 1 else original(job)

    monkeypatch.setattr(WriteJob, "_of_turn", look)
    assert late.commit(again).version == made.version
    assert len(looks) == 2
    assert content(path) == [0, 100, 101]


def test_wrong_arguments_are_reported(tmp_path: Path) -> None:
    path = tmp_path / "t"
    for arguments in ({"txn_app_id": "a"}, {"txn_version": 1}):
        with pytest.raises(InvalidArgument, match="Pass both"):
            lance_sql.write(rows(1), path, **arguments)
    for app, number in (("", 1), ("a", -1), ("a", "1"), ("a", True), ("a", 2**63)):
        with pytest.raises(InvalidArgument, match=r"txn_app_id=|txn_version="):
            lance_sql.write(rows(1), path, txn_app_id=app, txn_version=number)  # type: ignore[arg-type]  # on purpose
    job = lance_sql.begin_write(rows().schema, path, txn_app_id="a", txn_version=1)
    other = dataclasses.replace(job, id="0" * 32)
    with pytest.raises(InvalidArgument, match="not written by this job"):
        job.commit(other.write_fragments(rows(1)))
