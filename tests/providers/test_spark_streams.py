"""Streams of Spark over restarts and losses, beside other writers: nothing is lost, and nothing is there twice."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import lance
import pyarrow as pa
import pytest

import lance_sql
from tests.documents import ROOT

pytest.importorskip("pyspark", reason='PySpark is not installed: pip install "lance-sql[spark]"')

RUNS = ("ends", "loses", "dies", "ends", "dies", "ends")
COMMITS = 5
"""Of each source before each run, so that there are thirty batches with rows."""


def run(folder: Path, how: str) -> None:
    environment = os.environ | {"PYSPARK_PYTHON": sys.executable, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "tests.providers.stream_job", str(folder), how]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=900, check=False)
    assert done.returncode == (-signal.SIGKILL if how == "dies" else 0), done.stderr[-3000:]


class Source:
    """A table that two libraries change in turn, and a model of what was ever inserted into it."""

    def __init__(self, path: Path, first: int) -> None:
        self.path = path
        self.next_id = first
        self.inserted: list[int] = []
        self.random = random.Random(first)
        lance_sql.write(self.rows(), path)

    def rows(self) -> pa.Table:
        ids = list(range(self.next_id, self.next_id + self.random.randint(1, 40)))
        self.next_id = ids[-1] + 1
        self.inserted += ids
        return pa.table({"id": pa.array(ids, pa.int64()), "s": [f"row {number}" for number in ids]})

    def commit(self) -> None:
        if self.random.random() < 0.5:
            lance_sql.write(self.rows(), self.path, mode="append")
        else:
            lance.write_dataset(self.rows(), str(self.path), mode="append")

    def change(self) -> None:
        """What is no insert, and makes no row of the stream."""
        some = self.random.sample(self.inserted, min(3, len(self.inserted)))
        lance.dataset(str(self.path)).update({"s": "'changed'"}, where=f"id IN ({', '.join(map(str, some))})")
        lance_sql.open(self.path).delete(f"id = {some[0]}")
        lance_sql.open(self.path).maintenance.compact()


@pytest.mark.slow
def test_streams_over_restarts_and_losses(tmp_path: Path) -> None:
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip("Java is not installed: apt-get install openjdk-17-jre-headless")
    sources = {"a": Source(tmp_path / "a.lance", 0), "b": Source(tmp_path / "b.lance", 1_000_000)}
    target = tmp_path / "t.lance"
    lance_sql.write(pa.table({"id": pa.array([-1], pa.int64()), "s": ["ours"]}), target)
    others = [-1]
    for number, how in enumerate(RUNS):
        for source in sources.values():
            for _ in range(COMMITS if number else COMMITS - 1):
                source.commit()
        run(tmp_path, how)
        for source in sources.values():
            source.change()
        others.append(-2 - number)
        theirs = pa.table({"id": pa.array(others[-1:], pa.int64()), "s": ["theirs"]})
        lance.write_dataset(theirs, str(target), mode="append")
        if number % 2:
            lance_sql.open(target).maintenance.compact()
    # what was left when the last run died, and nothing more
    run(tmp_path, "ends")
    assert (tmp_path / "lost").exists()

    table = lance_sql.open(target)
    expected = Counter([*others, *sources["a"].inserted, *sources["b"].inserted])
    assert Counter(table.to_table()["id"].to_pylist()) == expected
    feed: Any = table.changes().scan(["id", "s", "_change_type"]).to_table()
    assert set(feed["_change_type"].to_pylist()) == {"insert"}
    assert Counter(feed["id"].to_pylist()) == expected
    # a stream begins with the rows of the first version that it sees, as they were inserted
    texts = dict(zip(feed["id"].to_pylist(), feed["s"].to_pylist(), strict=True))
    assert all(texts[number] == f"row {number}" for source in sources.values() for number in source.inserted)
    turns = Counter(
        (each.txn_app_id, each.txn_version)
        for each in (info.summary for info in table.versions())
        if each is not None and each.txn_app_id is not None
    )
    assert set(turns.values()) == {1}
    assert len({application for application, _ in turns}) == 2
    assert len(turns) >= 2 * (COMMITS * len(RUNS) - COMMITS)
    assert lance_sql.verify(target, deep=True).is_healthy
    assert lance.dataset(str(target)).count_rows() == expected.total()
