"""What only DataFusion has: partitions, positional arguments."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import lance
import pyarrow as pa
import pytest

import lance_sql

datafusion = pytest.importorskip("datafusion")


@pytest.fixture
def path(tmp_path: Path) -> str:
    path = str(tmp_path / "data.lance")
    lance.write_dataset(pa.table({"id": range(1000)}), path, max_rows_per_file=250)
    lance.dataset(path).tags.create("all", 1)
    return path


@pytest.fixture
def context() -> Any:
    return lance_sql.register(datafusion.SessionContext())


def test_a_tag_is_the_second_argument(context: Any, path: str) -> None:
    assert context.sql(f"SELECT count(*) AS n FROM lance_scan('{path}', 'all')").to_pylist() == [{"n": 1000}]


@pytest.mark.parametrize("arguments", ["", "3", "'{path}', 1.5", "'{path}', 1, 2", "'{path}', true"])
def test_wrong_arguments_are_named(context: Any, path: str, arguments: str) -> None:
    with pytest.raises(Exception, match="lance_scan takes"):
        context.sql(f"SELECT * FROM lance_scan({arguments.format(path=path)})")


def test_a_table_has_one_partition_per_task(context: Any, path: str) -> None:
    lance_sql.register(context, "t", path)
    plan = context.sql("SELECT * FROM t WHERE id >= 0").execution_plan()
    assert plan.partition_count == len(lance_sql.open(path).get_fragments())
    rows = context.sql("SELECT id FROM t WHERE id % 2 = 0 AND id > 900 ORDER BY id").to_pylist()
    assert [row["id"] for row in rows] == list(range(902, 1000, 2))


def test_no_rows_are_no_partitions(context: Any, path: str) -> None:
    empty = context.sql(f"SELECT count(*) AS n FROM lance_scan('{path}') WHERE _rowid > 99999999999999")
    assert empty.to_pylist() == [{"n": 0}]


def test_a_name_can_be_given_anew(context: Any, path: str) -> None:
    lance_sql.register(context, "t", path)
    lance.write_dataset(pa.table({"id": [1]}), path, mode="append")
    lance_sql.register(context, "t", path)
    assert context.sql("SELECT count(*) AS n FROM t").to_pylist() == [{"n": 1001}]
