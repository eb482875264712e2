"""docs/from-pylance.md: what the same text of SQL means in both, and the ways that take the place of methods."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import lance
import pyarrow as pa
import pytest

import lance_sql
from lance_sql.errors import LanceError

NOON = datetime.datetime(2026, 1, 1, 12)
ROWS = pa.table(
    {
        "a": [7, -7],
        "f": [1.7, -1.5],
        "s": ["x", "y"],
        "t": pa.array([NOON, NOON], pa.timestamp("us", "UTC")),
        "n": pa.array([100, 1], pa.int8()),
    }
)
DIFFERENT = [
    ("a / 2", "a // 2"),
    ("7 / 2", "7 // 2"),
    ("CAST(f AS BIGINT)", "CAST(trunc(f) AS BIGINT)"),
    ("CAST(t AS STRING)", "strftime(t, '%Y-%m-%dT%H:%M:%SZ')"),
    ("1.5", "CAST(1.5 AS DOUBLE)"),
    ("sha256(s)", "unhex(sha256(s))"),
]
SAME = ["a + 1", "a % 3", "abs(a)", "f * 2", "round(f)", "f / 0", "length(s)", "s || 'x'", "upper(s)", "f IS NULL"]


def theirs(folder: Path, text: str) -> pa.ChunkedArray:
    lance.write_dataset(ROWS, folder / "theirs").add_columns({"x": text})
    return lance.dataset(folder / "theirs").to_table()["x"]


def ours(folder: Path, text: str, name: str) -> Any:
    return lance_sql.write(ROWS, folder / name).add_columns({"x": text}).to_table()["x"]


@pytest.mark.parametrize(("text", "instead"), DIFFERENT)
def test_texts_that_mean_something_else(tmp_path: Path, text: str, instead: str) -> None:
    expected = theirs(tmp_path, text)
    other = ours(tmp_path, text, "other")
    assert (other.type, other.to_pylist()) != (expected.type, expected.to_pylist())
    assert ours(tmp_path, instead, "instead").cast(expected.type).to_pylist() == expected.to_pylist()
    page = (Path(__file__).parents[1] / "docs" / "from-pylance.md").read_text()
    assert f"`{text}`" in page
    assert instead in page or instead == "7 // 2"


@pytest.mark.parametrize("text", SAME)
def test_texts_that_mean_the_same(tmp_path: Path, text: str) -> None:
    assert ours(tmp_path, text, "ours").to_pylist() == theirs(tmp_path, text).to_pylist()


def test_versions_of_changes_that_find_nothing(tmp_path: Path) -> None:
    table = lance_sql.write(ROWS, tmp_path / "t.lance")
    assert table.delete("a = 0").version == table.update({"a": "0"}, "a = 0").version == 1
    assert table.merge(ROWS, on="a").version == 1
    dataset = lance.write_dataset(ROWS, tmp_path / "theirs")
    dataset.delete("a = 0")
    assert dataset.version == 2


def test_values_that_do_not_fit(tmp_path: Path) -> None:
    table = lance_sql.write(ROWS, tmp_path / "t.lance")
    with pytest.raises(LanceError):
        table.update({"n": "n + 100"}, "n = 100")
    assert table.latest().version == 1


def test_ways_without_a_method(tmp_path: Path) -> None:
    path = str(tmp_path / "t.lance")
    rows = pa.table({"id": range(100), "v": range(100)})
    table = lance_sql.write(rows, path, max_rows_per_file=10)
    query = f"SELECT id, v * 2 AS w FROM '{path}' ORDER BY id LIMIT 2 OFFSET 20"
    assert lance_sql.sql(query).to_table().to_pydict() == {"id": [20, 21], "w": [40, 42]}
    assert lance_sql.sql(f"SELECT count(*) FROM (FROM '{path}' USING SAMPLE 30)").fetchall() == [(30,)]
    tasks = table.scan(["id"]).tasks(4)
    assert sum(task.to_reader().read_all().num_rows for task in tasks) == 100
    assert lance_sql.sql(f"SELECT count(*) FROM lance_fragments('{path}')").fetchall() == [(10,)]
    change = (
        f"MERGE INTO '{path}' AS t USING (SELECT 1 AS id, 0 AS v UNION ALL SELECT 2, 9) AS source ON t.id = source.id"
    )
    lance_sql.sql(f"{change} WHEN MATCHED AND source.v > t.v THEN UPDATE SET *")
    assert table.latest().scan(["v"], "id < 3").to_table()["v"].to_pylist() == [0, 1, 9]
