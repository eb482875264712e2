"""Processes that are killed at any moment, not only between calls of a store: nothing is lost or half there."""

from __future__ import annotations

import os
import random
import shutil
import time
from datetime import timedelta
from pathlib import Path
from typing import Any, TextIO

import lance
import numpy as np
import pyarrow as pa
import pytest

import lance_sql
from tests.forked import Fork, Forks

from .killed import NUM_ROWS, VERBS

LINEAGE = ("_rowid", "_row_created_at_version")


@pytest.fixture(scope="module")
def before(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Twenty fragments, some with deleted rows, and an index."""
    path = str(tmp_path_factory.mktemp("kills") / "t.lance")
    keys = np.arange(NUM_ROWS)
    rows = pa.table({"k": keys, "v": keys * 10, "s": pa.array(keys % 1000).cast(pa.string())})
    table = lance_sql.write(rows, path, max_rows_per_file=NUM_ROWS // 20)
    table.indices.create("k", "btree").delete("k % 50 = 7")
    return path


def rows_of(path: str) -> pa.Table:
    """All rows, by their ids."""
    table = lance_sql.open(path)
    return table.scan([*table.schema.names, *LINEAGE]).to_table().sort_by("_rowid")


def started(forks: Forks, path: str, verb: str) -> tuple[Fork, TextIO]:
    """A process that has begun, and the rest of its output."""
    output, its = os.pipe()
    process = forks.start(["-m", "tests.writes.statements.killed", path, verb], stdout=its)
    os.close(its)
    said = os.fdopen(output)
    assert said.readline() == "begun\n"
    return process, said


def kill_after(forks: Forks, path: str, verb: str, seconds: float) -> None:
    """A process that is killed so long after it began."""
    process, said = started(forks, path, verb)
    with said:
        time.sleep(seconds)
        process.kill()
        process.wait()


def finish(forks: Forks, path: str, verb: str) -> float:
    """The seconds that a verb takes from begin to end."""
    process, said = started(forks, path, verb)
    with said:
        start = time.perf_counter()
        rest = said.read()
    assert (process.wait(), rest) == (0, "done\n")
    return time.perf_counter() - start


@pytest.fixture(scope="module", params=VERBS)
def undisturbed(
    request: Any, before: str, forks: Forks, tmp_path_factory: pytest.TempPathFactory
) -> tuple[str, pa.Table, float]:
    """A verb, the rows that it leaves, and the seconds that it takes."""
    path = str(tmp_path_factory.mktemp("undisturbed") / "t.lance")
    shutil.copytree(before, path)
    seconds = finish(forks, path, request.param)
    return request.param, rows_of(path), seconds


def check_kills(
    forks: Forks, before: str, undisturbed: tuple[str, pa.Table, float], folder: Path, draw: random.Random
) -> None:
    verb, after, seconds = undisturbed
    old = rows_of(before)
    path = str(folder / "t.lance")
    shutil.copytree(before, path)
    kill_after(forks, path, verb, draw.uniform(0, 1.05 * seconds))
    found = rows_of(path)
    assert found in (old, after)
    assert lance_sql.verify(path, deep=True).is_healthy
    assert lance_sql.audit(path).is_healthy
    assert lance.dataset(path).count_rows() == found.num_rows
    # who comes next does it as if nothing had been
    if found == old:
        finish(forks, path, verb)
    assert rows_of(path) == after
    assert (
        lance_sql.open(path).scan(["v"], "k = 3000").to_table()
        == lance_sql.open(path, use_indices=False).scan(["v"], "k = 3000").to_table()
    )
    # and what the dead one left behind can be told from what is needed
    lance_sql.open(path).maintenance.cleanup(older_than=timedelta(0))
    assert rows_of(path) == after


@pytest.mark.parametrize("moment", range(2))
def test_a_killed_process_loses_nothing(
    forks: Forks, before: str, undisturbed: tuple[str, pa.Table, float], tmp_path: Path, moment: int
) -> None:
    check_kills(forks, before, undisturbed, tmp_path, random.Random(moment))


@pytest.mark.slow
@pytest.mark.parametrize("moment", range(10))
def test_thirty_killed_processes_lose_nothing(
    forks: Forks, before: str, undisturbed: tuple[str, pa.Table, float], tmp_path: Path, moment: int
) -> None:
    check_kills(forks, before, undisturbed, tmp_path, random.Random(100 + moment))
