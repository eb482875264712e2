"""The measured recall of an index."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from click.testing import CliRunner

import lance_sql
from lance_sql.cli.main import main
from lance_sql.errors import InvalidArgument
from lance_sql.reads.search.recall import recalls
from lance_sql.testing import assert_search


@pytest.fixture
def table(tmp_path: Path) -> lance_sql.Dataset:
    rng = np.random.default_rng(1)
    vectors = rng.normal(size=(1500, 8)).astype(np.float32)
    rows = pa.table({"id": np.arange(1500), "v": pa.FixedSizeListArray.from_arrays(pa.array(vectors.reshape(-1)), 8)})
    made = lance_sql.write(rows, str(tmp_path / "t.lance"), max_rows_per_file=400)
    return made.indices.create("v", "ivf_flat", metric="cosine", num_partitions=10).delete("id % 5 = 3")


def test_recall_grows_with_probes(table: lance_sql.Dataset) -> None:
    found = recalls(table.snapshot, nprobes=(1, 3, 10, None), num_queries=40)
    shares = [each.share for each in found]
    assert 0 < shares[0] < shares[1] < shares[2] == 1.0
    assert [each.nprobes for each in found] == [1, 3, 10, None]
    # counted by hand, for the queries that the report has as well
    assert recalls(table.snapshot, nprobes=(3,), num_queries=40)[0].share == shares[1]


def test_on_the_command_line(table: lance_sql.Dataset) -> None:
    arguments = ["recall", table.uri, "--column", "v", "--nprobes", "1,10,auto", "--queries", "20", "-o", "json"]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 0, result.output
    rows = [json.loads(line) for line in result.output.splitlines() if line.startswith("{")] or json.loads(
        result.output
    )
    assert [row["nprobes"] for row in rows] == ["1", "10", "auto"]
    assert rows[1]["recall"] == 1.0
    assert CliRunner().invoke(main, ["recall", table.uri, "--nprobes", "few"]).exit_code != 0


def test_searches_that_find_enough(table: lance_sql.Dataset) -> None:
    query = [1.0, 0, 0, 0, 0, 0, 0, 0]
    exact = table.search(query, column="v", k=20, columns=["id"], use_index=False).to_table()["id"].to_pylist()
    assert_search(table, query, exact, nprobes=10)
    assert_search(table, query, exact, nprobes=1, min_recall=0.05)
    with pytest.raises(AssertionError, match=r"a recall of 0\.\d+, where 1\.0 is wanted\n  missing: "):
        assert_search(table, query, exact, nprobes=1)
    with pytest.raises(InvalidArgument, match="expected keys"):
        assert_search(table, query, [])


def test_tables_without_vectors(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgument):
        recalls(lance_sql.write({"id": [1]}, str(tmp_path / "t")).snapshot)
    empty = pa.table({"v": pa.array([], pa.list_(pa.float32(), 4))})
    with pytest.raises(InvalidArgument, match="no rows"):
        recalls(lance_sql.write(empty, str(tmp_path / "u")).snapshot)


def test_without_an_index_there_is_nothing_to_measure(tmp_path: Path) -> None:
    rows = {"id": [1, 2], "v": pa.array([[1.0, 2.0], [3.0, 4.0]], pa.list_(pa.float32(), 2))}
    table = lance_sql.write(rows, tmp_path / "t.lance").indices.create("id", "btree")
    message = "t.lance version 2 has no vector index on 'v', so that every search is exact"
    with pytest.raises(InvalidArgument, match=message):
        recalls(table.snapshot)
    result = CliRunner().invoke(main, ["recall", table.uri])
    assert result.exit_code != 0
    assert message in result.stderr
