"""Which conditions DuckDB and DataFusion pass to the scan, over selective conditions of every kind; the rows are those
of Parquet either way. tests/reads/test_polars_source.py does the same with Polars."""

from __future__ import annotations

import logging
from decimal import Decimal
from pathlib import Path
from typing import Any

import datafusion
import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import lance_sql
from lance_sql.providers.duckdb.protocol import has_sources

ROWS = 20_000
CONDITIONS = {
    "=": "id = 777",
    "<>": "one <> 1",
    "<": "id < 20",
    ">=": "id >= 19990",
    "mirrored": "20 > id",
    "BETWEEN": "id BETWEEN 100 AND 110",
    "IN": "id IN (5, 77, 19999)",
    "NOT IN": "one NOT IN (1, 2)",
    "IS NULL": "rare IS NULL",
    "IS NOT NULL": "few IS NOT NULL",
    "IS NOT DISTINCT FROM": "id IS NOT DISTINCT FROM 5",
    "IS DISTINCT FROM": "one IS DISTINCT FROM 1",
    "AND": "id > 100 AND id < 110",
    "OR": "id = 5 OR id = 7",
    "OR of columns": "id = 5 OR share < 0.0001",
    "NOT": "NOT (id > 10)",
    "small int": "small = 7",
    "unsigned": "u = 777",
    "double": "share < 0.0001",
    "double with NaN": "f > 9999",
    "single": "g = 12.5",
    "decimal": "d = 7.77",
    "decimal, order": "d < 0.05",
    "text": "s = 'name-777'",
    "text, order": "s > 'name-9998'",
    "text, IN": "s IN ('name-1', 'name-2')",
    "LIKE 'x%'": "s LIKE 'name-777%'",
    "LIKE '%x'": "s LIKE '%-777'",
    "LIKE '%x%'": "s LIKE '%e-777%'",
    "LIKE 'x_y%'": "s LIKE 'name_777%'",
    "starts_with()": "starts_with(s, 'name-777')",
    "lower()": "lower(s) = 'name-777'",
    "length": "length(s) = 6",
    "date": "day = DATE '1970-01-05'",
    "timestamp": "t < TIMESTAMP '2024-12-31 23:59:50'",
    "timestamp with zone": "tz < TIMESTAMPTZ '2024-12-31 23:59:50+00'",
    "year": "date_part('year', t) = 2024",
    "bool": "b",
    "not bool": "NOT c",
    "member": "st.x = 777",
    "member of a member": "st.y.z = 'in-777'",
    "array": "list_contains(l, 777)",
    "two columns": "id <= small",
    "arithmetic": "id + 1 = 778",
    "modulo": "id % 10000 = 5",
    "cast": "CAST(id AS VARCHAR) = '777'",
    "CASE": "CASE WHEN id < 10 THEN true ELSE false END",
    "binary": "bin = 'AB'::BLOB",
    "half of it": "id < 100 AND id % 2 = 0",
}
"""In the words of DuckDB."""

IN_DATAFUSION = {
    "timestamp with zone": "tz < TIMESTAMP '2024-12-31T23:59:50Z'",
    "member": "st['x'] = 777",
    "member of a member": "st['y']['z'] = 'in-777'",
    "array": "array_has(l, 777)",
    "binary": "bin = X'4142'",
}

LEFT = {
    "CASE",
    "IS DISTINCT FROM",
    "IS NOT DISTINCT FROM",
    "LIKE '%x%'",
    "LIKE '%x'",
    "LIKE 'x%'",
    "LIKE 'x_y%'",
    "array",
    "length",
    "lower()",
    "modulo",
    "starts_with()",
    "two columns",
}
"""Neither engine offers these to a source. `filter :=` of `lance_scan` passes most of them."""
LEFT_BY_DUCKDB = LEFT | {"bool", "cast", "not bool", "year"}
LEFT_BY_DATAFUSION = LEFT | {"arithmetic", "member", "member of a member", "single"}


def rows() -> pa.Table:
    number = np.arange(ROWS)
    seconds = pa.array(number + 1_735_689_580).cast(pa.timestamp("s"))
    return pa.table(
        {
            "id": number,
            "small": pa.array(number // 20, pa.int16()),
            "one": np.where(number == 9, 2 + (number % 2), 1),
            "u": pa.array(number, pa.uint64()),
            "rare": pa.array([None if each == 5 else each for each in number]),
            "few": pa.array([each if each == 5 else None for each in number]),
            "share": number / ROWS / 2,
            "f": [float("nan") if each % 5000 == 0 else each / 2 for each in number],
            "g": pa.array(number / 2, pa.float32()),
            "d": pa.array([Decimal(int(each)) / 100 for each in number], pa.decimal128(10, 2)),
            "s": [f"name-{each}" for each in number],
            "day": pa.array(number // 20, pa.int32()).cast(pa.date32()),
            "t": seconds.cast(pa.timestamp("us")),
            "tz": seconds.cast(pa.timestamp("us", "UTC")),
            "b": number < 30,
            "c": number >= 30,
            "st": [{"x": int(each), "y": {"z": f"in-{each}"}} for each in number],
            "l": [[int(each), 1] for each in number],
            "bin": [b"AB" if each == 5 else b"CD" for each in number],
        }
    )


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("pushed")
    pyarrow.parquet.write_table(rows(), folder / "t.parquet")
    lance_sql.write(rows(), folder / "t.lance", max_rows_per_file=ROWS // 4)
    return folder / "t.lance", folder / "t.parquet"


def left(run: Any, conditions: dict[str, str], caplog: pytest.LogCaptureFixture) -> set[str]:
    """Returns the conditions whose scans had no filter.

    run: returns the ids that pass, in Lance and in Parquet
    """
    found = set()
    for name, condition in conditions.items():
        caplog.clear()
        with caplog.at_level(logging.DEBUG, "lance_sql"):
            ids, expected = run(condition)
        assert ids == expected, condition
        assert 0 < len(expected) < 600, condition
        filters = [
            vars(each)["facts"].get("filter") for each in caplog.records if vars(each).get("operation") == "scan"
        ]
        assert filters, condition
        if not any(filters):
            found.add(name)
    return found


@pytest.mark.skipif(not has_sources(), reason="DuckDB 1.5 reads an Arrow dataset")
def test_duckdb(files: tuple[Path, Path], caplog: pytest.LogCaptureFixture) -> None:
    lance, parquet = files
    with lance_sql.connect() as connection:

        def run(condition: str) -> list[list[Any]]:
            tables = f"'{lance}'", f"read_parquet('{parquet}')"
            return [
                connection.execute(f"SELECT id FROM {table} WHERE {condition} ORDER BY id").fetchall()
                for table in tables
            ]

        assert left(run, CONDITIONS, caplog) == LEFT_BY_DUCKDB


def test_datafusion(files: tuple[Path, Path], caplog: pytest.LogCaptureFixture) -> None:
    context = lance_sql.register(datafusion.SessionContext(), "lance", files[0])
    context.register_parquet("parquet", str(files[1]))

    def run(condition: str) -> list[list[Any]]:
        return [
            context.sql(f"SELECT id FROM {table} WHERE {condition} ORDER BY id").to_pydict()["id"]
            for table in ("lance", "parquet")
        ]

    assert left(run, CONDITIONS | IN_DATAFUSION, caplog) == LEFT_BY_DATAFUSION
