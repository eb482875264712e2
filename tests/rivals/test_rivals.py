"""Many processes, two libraries, one table: nothing that was acknowledged is lost, and nothing happens twice."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import lance
import pyarrow as pa
import pytest

import lance_sql

from . import worker


def run(folder: Path, libraries: list[str], commits: int) -> None:
    path = str(folder / "t.lance")
    lance_sql.write(pa.table({"k": [-1], "v": [0]}, schema=pa.schema([("k", pa.int64()), ("v", pa.int64())])), path)
    logs = [folder / f"{number}.json" for number in range(len(libraries))]
    processes = [
        subprocess.Popen(
            [sys.executable, worker.__file__, path, str(number), library, str(commits), str(log)],
            stderr=subprocess.PIPE,
            text=True,
        )
        for number, (library, log) in enumerate(zip(libraries, logs, strict=True))
    ]
    for process in processes:
        _, errors = process.communicate(timeout=900)
        assert process.returncode == 0, errors[-4000:]
    results = [json.loads(log.read_text()) for log in logs]

    expected = [(-1, 0)]
    expected += [(key, value) for result in results for key, value in result["rows"]]
    ours = lance_sql.open(path).scan(["k", "v", "_rowid"]).to_table()
    assert sorted(zip(*(ours.column(name).to_pylist() for name in ("k", "v")), strict=True)) == sorted(expected)
    ids = ours.column("_rowid").to_pylist()
    assert len(set(ids)) == len(ids)
    theirs = lance.dataset(path).scanner(columns=["k", "v", "_rowid"]).to_table()
    assert theirs.sort_by("k").to_pylist() == ours.sort_by("k").to_pylist()
    assert lance_sql.open(path).version >= 1 + sum(result["acknowledged"] for result in results)
    assert lance_sql.verify(path, version=lance_sql.open(path).version, deep=True).is_healthy


def test_three_writers(tmp_path: Path) -> None:
    run(tmp_path, ["lance_sql", "lance_sql", "pylance"], 8)


@pytest.mark.slow
def test_eight_writers_of_fifty_commits(tmp_path: Path) -> None:
    run(tmp_path, ["lance_sql"] * 5 + ["pylance"] * 3, 50)
