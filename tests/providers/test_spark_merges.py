"""Merges by Spark at scale: equal to one process, in little memory of the driver, all or nothing."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import lance
import numpy as np
import pyarrow as pa
import pytest

import lance_sql
from tests.documents import ROOT

pytest.importorskip("pyspark", reason='PySpark is not installed: pip install "lance-sql[spark]"')

pytestmark = pytest.mark.slow

CHANGES = 1_000_000
MOST_BYTES = 32
SYSTEM = ("_rowid", "_row_created_at_version", "_row_last_updated_at_version")


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip("Java is not installed: apt-get install openjdk-17-jre-headless")
    job = ROOT / "tests" / "providers" / "merge_job.py"
    environment = os.environ | {"PYSPARK_PYTHON": sys.executable}
    command = [sys.executable, str(job), *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=1800, check=False)


def rows(first: int, last: int, width: int) -> pa.Table:
    ids = np.arange(first, last)
    return pa.table({"id": ids, "v": ids % 7, "s": pa.array(["x" * width]).take(pa.array(np.zeros(len(ids), np.int8)))})


def written(path: Path, num_rows: int, width: int) -> lance_sql.Dataset:
    step = 250_000
    parts = (rows(first, first + step, width).to_batches()[0] for first in range(0, num_rows, step))
    return lance_sql.write(parts, path, schema=rows(0, 1, 1).schema, max_rows_per_file=500_000)


def content(table: lance_sql.Dataset) -> pa.Table:
    return table.scan([*table.schema.names, *SYSTEM]).to_table().sort_by("id")


def test_a_million_changes_on_two_workers_are_those_of_one_process(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sizes = {"large": (5_000_000, 8), "small": (2_000_000, 8), "wide": (2_000_000, 200)}
    tables = {name: written(tmp_path / f"{name}.lance", *size) for name, size in sizes.items()}
    per_row = {}
    for name, table in tables.items():
        written(Path(table.uri + ".warm"), 250_000, 8)
        done = run("measure", table.uri)
        assert done.returncode == 0, done.stderr[-3000:]
        per_row[name] = json.loads(done.stdout.splitlines()[-1]) / CHANGES
    with capsys.disabled():
        print(", ".join(f"{name}: {value:.1f} bytes of the driver per changed row" for name, value in per_row.items()))
    assert max(per_row.values()) <= MOST_BYTES

    table = tables["large"]
    num_rows, num_new = sizes["large"][0], CHANGES // 10
    numbers = np.arange(CHANGES)
    updates = CHANGES - num_new
    ids = np.where(numbers < updates, numbers * 5 + numbers % 5, num_rows + numbers - updates)
    texts = pa.array([f"merged {number}" for number in range(CHANGES)])
    source = pa.table({"id": ids, "v": np.full(CHANGES, -1), "s": texts})
    local = table.branches.shallow_clone(tmp_path / "local.lance").merge(source, on="id")
    made, expected = content(lance_sql.open(table.uri)), content(local)
    # a clone has a version of its own, and new rows get their ids in any order
    assert made.drop_columns(list(SYSTEM)) == expected.drop_columns(list(SYSTEM))
    for name in SYSTEM[1:]:
        versions = made[name].to_numpy(), expected[name].to_numpy()
        assert set(versions[0]) == {1, 2}
        assert np.array_equal(versions[0] == 2, versions[1] == local.version), name
    assert made["_rowid"].slice(0, num_rows) == expected["_rowid"].slice(0, num_rows)
    assert set(made["_rowid"].slice(num_rows).to_pylist()) == set(range(num_rows, num_rows + num_new))
    report = lance_sql.audit(table.uri)
    assert report.is_healthy, str(report)
    assert lance_sql.verify(table.uri).is_healthy


@pytest.mark.parametrize("point", range(10))
def test_a_driver_that_dies_leaves_the_old_version_or_the_new_one(tmp_path: Path, point: int) -> None:
    path = tmp_path / "t.lance"
    before = lance_sql.write(rows(0, 30, 3), path, max_rows_per_file=10)
    done = run("kill", str(path), str(point))
    assert done.returncode == -signal.SIGKILL, (done.stdout, done.stderr[-3000:])
    table = lance_sql.open(path)
    keys = [n for n in range(5, 35) if n % 10]
    merged = dict.fromkeys(keys, (-1, "merged"))
    expected = {n: (n % 7, "xxx") for n in range(30)}
    if table.version == 2:
        expected |= merged
    else:
        assert table.version == 1
    assert {row["id"]: (row["v"], row["s"]) for row in table.to_table().to_pylist()} == expected
    assert before.to_table() == lance_sql.open(path, version=1).to_table()
    assert lance_sql.verify(path, deep=True).is_healthy
    assert lance_sql.audit(path).is_healthy
    assert lance.dataset(str(path)).count_rows() == len(expected)
    # whoever comes next is not in the way of what was left behind
    source = pa.table({"id": keys, "v": [-1] * len(keys), "s": ["merged"] * len(keys)})
    again = table.merge(source, on="id")
    assert {row["id"]: (row["v"], row["s"]) for row in again.to_table().to_pylist()} == expected | merged
