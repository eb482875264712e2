"""Many processes, two libraries, one table: nothing that was acknowledged is lost, and nothing happens twice."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import lance
import pyarrow as pa
import pytest

import lance_sql

from . import worker


def run(
    folder: Path, libraries: list[str], commits: int, *, uri: str | None = None, options: dict[str, str] | None = None
) -> list[dict[str, Any]]:
    """Lets processes of these libraries change one table at the same time, and checks what it has become.

    returns: what each worker says
    """
    path = uri or str(folder / "t.lance")
    first = pa.table({"k": [-1], "v": [0]}, schema=pa.schema([("k", pa.int64()), ("v", pa.int64())]))
    lance_sql.write(first, path, storage_options=options)
    logs = [folder / f"{number}.json" for number in range(len(libraries))]
    extra = [] if options is None else [json.dumps(options)]
    processes = [
        subprocess.Popen(
            [sys.executable, worker.__file__, path, str(number), library, str(commits), str(log), *extra],
            stderr=subprocess.PIPE,
            text=True,
        )
        for number, (library, log) in enumerate(zip(libraries, logs, strict=True))
    ]
    for process in processes:
        _, errors = process.communicate(timeout=900)
        assert process.returncode == 0, errors[-4000:]
    return [json.loads(log.read_text()) for log in logs]


def check(results: list[dict[str, Any]], path: str, options: dict[str, str] | None = None) -> None:
    """Every acknowledged change is there once; of those without an answer, all or nothing."""
    opened = lance_sql.open(path, storage_options=options)
    ours = opened.scan(["k", "v", "_rowid"]).to_table()
    found = sorted(zip(*(ours.column(name).to_pylist() for name in ("k", "v")), strict=True))
    expected = [(-1, 0)]
    expected += [(key, value) for result in results for key, value in result["rows"]]
    for states in (states for result in results for states in result["unsure"]):
        before, after = ([tuple(row) for row in state] for state in states)
        touched = {key for key, _ in before + after}
        state = [row for row in found if row[0] in touched]
        assert state in (before, after)
        expected += state
    assert found == sorted(expected)
    ids = ours.column("_rowid").to_pylist()
    assert len(set(ids)) == len(ids)
    theirs = lance.dataset(path, storage_options=options).scanner(columns=["k", "v", "_rowid"]).to_table()
    assert theirs.sort_by("k").to_pylist() == ours.sort_by("k").to_pylist()
    assert opened.version >= 1 + sum(result["made"] for result in results)
    assert lance_sql.verify(path, version=opened.version, deep=True, storage_options=options).is_healthy


def test_three_writers(tmp_path: Path) -> None:
    check(run(tmp_path, ["lance_sql", "lance_sql", "pylance"], 8), str(tmp_path / "t.lance"))


@pytest.mark.slow
def test_eight_writers_of_fifty_commits(tmp_path: Path) -> None:
    check(run(tmp_path, ["lance_sql"] * 5 + ["pylance"] * 3, 50), str(tmp_path / "t.lance"))
