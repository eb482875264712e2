"""DataFusion only: partitions, positional arguments."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
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


@pytest.mark.parametrize("function", ["lance_scan", "lance_changes"])
def test_a_frame_reads_the_version_of_when_it_was_made(context: Any, tmp_path: Path, function: str) -> None:
    path = str(tmp_path / "t.lance")
    lance_sql.write({"id": [1, 2]}, path)
    query = f"SELECT count(*) AS n FROM {function}('{path}')"
    frame = context.sql(query)
    context.sql(f"PREPARE counted AS {query}")
    before = frame.to_pylist()
    lance_sql.write({"id": [7]}, path, mode="append")
    assert frame.to_pylist() == context.sql("EXECUTE counted").to_pylist() == before
    assert context.sql(query).to_pylist() == [{"n": before[0]["n"] + 1}]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        *(("", "lance_scan takes a path"), ("3", "takes a path first, not 3")),
        *(("'{path}', 1.5", "1.5 is not a version, a tag or a time"), ("'{path}', 1, 2", "as_of=2 is not a time")),
        ("'{path}', true", "True is not a version, a tag or a time"),
    ],
)
def test_wrong_arguments_are_named(context: Any, path: str, arguments: str, message: str) -> None:
    with pytest.raises(Exception, match=message):
        context.sql(f"SELECT * FROM lance_scan({arguments.format(path=path)})")


def test_a_table_has_one_partition_per_task(context: Any, path: str) -> None:
    lance_sql.register(context, "t", path)
    plan = context.sql("SELECT * FROM t WHERE id >= 0").execution_plan()
    assert plan.partition_count == len(lance_sql.open(path).get_fragments())
    rows = context.sql("SELECT id FROM t WHERE id % 2 = 0 AND id > 900 ORDER BY id").to_pylist()
    assert [row["id"] for row in rows] == list(range(902, 1000, 2))


@pytest.fixture
def tables(context: Any, tmp_path: Path) -> Any:
    """The context with a table `t` of NaNs and NULLs, the same as `open`, and `nothing`, which has no rows."""
    nan = float("nan")
    rows = pa.table(
        {
            "id": range(8),
            "f": [1.0, nan, None, 2.5, nan, None, -0.0, 0.0],
            "g": pa.array([1.0, nan, 1.0, nan, 3.0, None, 0.0, -0.0], pa.float32()),
            "h": pa.array([1.0, nan, 1.0, nan, 3.0, None, 0.0, -0.0], pa.float16()),
            "b": [True, False, None, True, False, True, False, None],
        }
    )
    lance_sql.register(context, "t", lance_sql.write(rows, str(tmp_path / "nan.lance"), max_rows_per_file=3))
    lance_sql.register(context, "nothing", lance_sql.write(rows.slice(0, 0), str(tmp_path / "empty.lance")))
    context.from_arrow(rows, name="native")
    return context


@pytest.mark.parametrize(
    "condition",
    [
        *(f"f {op} f" for op in ("=", "<>", "<", "<=", ">", ">=")),
        *(f"f {op} g" for op in ("=", "<>", "<", "<=", ">", ">=")),
        *(f"h {op} g" for op in ("=", "<>", "<", "<=", ">", ">=")),
        "NOT (f = f)",
        "NOT (f <> f)",
        "f IS DISTINCT FROM f",
        "f IS DISTINCT FROM g",
        "(f BETWEEN 1 AND 2) IS NULL",
        "(f BETWEEN 1 AND 2) IS NOT NULL",
        "(f NOT BETWEEN 1 AND 2) IS NULL",
        "(f > 1 OR id > 3) IS NULL",
        "(f IN (1, 2.5, 3, 4)) IS NULL",
        "(NOT (f > 1)) IS NULL",
        "(f IS NULL) IS NULL",
        "(f = f) = (g = g)",
        "(f > 1) <> (id > 3)",
        "(f > 1) IS TRUE",
        "(f > 1) IS UNKNOWN",
        "b = (f > 1)",
        "b IS NULL OR (f >= 2) IS NOT NULL",
    ],
)
def test_a_condition_keeps_the_rows_of_a_native_table(tables: Any, condition: str) -> None:
    found, expected = (
        [row["id"] for row in tables.sql(f"SELECT id FROM {name} WHERE {condition} ORDER BY id").to_pylist()]
        for name in ("t", "native")
    )
    assert found == expected


@pytest.mark.parametrize("source", ["nothing", "t WHERE id > 100", "t WHERE id > 100 AND f > 1", "t WHERE _rowid > 9"])
@pytest.mark.parametrize(
    "query",
    [
        "SELECT id FROM {} ORDER BY id",
        "SELECT id, f FROM {} ORDER BY f DESC, id LIMIT 3",
        "SELECT id FROM {} LIMIT 3",
        "SELECT count(*) AS n, max(f) AS m FROM {}",
        "SELECT b, count(*) AS n FROM {} GROUP BY b ORDER BY b",
        "SELECT DISTINCT b FROM {}",
        "SELECT row_number() OVER (ORDER BY id) AS n FROM {}",
        "SELECT a.id FROM (SELECT id FROM {}) AS a JOIN native ON a.id = native.id ORDER BY a.id",
        "SELECT native.id FROM native LEFT JOIN (SELECT id FROM {}) AS a ON a.id = native.id ORDER BY native.id",
        "SELECT id FROM native WHERE id IN (SELECT id FROM {}) ORDER BY id",
        "SELECT id FROM {} UNION ALL SELECT id FROM native ORDER BY id LIMIT 2",
    ],
)
def test_no_rows_can_be_asked_for_in_every_way(tables: Any, tmp_path: Path, source: str, query: str) -> None:
    if "_rowid" in source:
        source = source.replace("t ", f"lance_scan('{tmp_path}/nan.lance') ")
    found = tables.sql(query.format(source)).to_pylist()
    assert found == tables.sql(query.format("native WHERE id < 0")).to_pylist()


def test_a_name_can_be_given_anew(context: Any, path: str) -> None:
    lance_sql.register(context, "t", path)
    lance.write_dataset(pa.table({"id": [1]}), path, mode="append")
    lance_sql.register(context, "t", path)
    assert context.sql("SELECT count(*) AS n FROM t").to_pylist() == [{"n": 1001}]


@pytest.mark.parametrize(
    "query",
    [
        "SELECT length(s) AS c FROM {t} UNION SELECT id * 10 FROM {t} ORDER BY 1",
        "SELECT CASE WHEN id > 1 THEN length(s) ELSE id END AS c FROM {t} ORDER BY 1",
        "SELECT sum(c) AS c FROM (SELECT length(s) AS c FROM {t} UNION ALL SELECT f FROM {t}) AS q",
        "SELECT id FROM {t} WHERE (id = 1) IS DISTINCT FROM (id = 2) AND id > 1 ORDER BY id",
        "SELECT id FROM {t} WHERE id > 2 OR (id = 1) IS NOT DISTINCT FROM (id = 2) OR id = 9 ORDER BY id",
    ],
)
def test_types_and_operators_mean_what_they_mean_in_duckdb(tmp_path: Path, query: str) -> None:
    rows = pa.table({"id": [1, 2, 3], "s": ["a", "bb", "ccc"], "f": [0.5, 1.5, 2.5]})
    lance_sql.write(rows, tmp_path / "t.lance")
    expected = duckdb.execute(query.format(t="rows")).fetchall()
    found = lance_sql.sql(query.format(t=f"'{tmp_path}/t.lance'"), session=datafusion.SessionContext())
    assert found.fetchall() == expected
