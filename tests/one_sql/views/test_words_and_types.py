"""Views by synonyms of functions, and over types that DuckDB gets in other ones: only changes are computed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import lance_sql

AGGREGATES = [
    "list(x ORDER BY x)",
    "string_agg(s, ',' ORDER BY s)",
    "group_concat(s, ',' ORDER BY s)",
    "max_by(x, id)",
    "min_by(x, id)",
    "var_samp(x)",
    "max(ifnull(x, 0))",
    "max(nvl(x, 0))",
    "max(substr(s, 1, 2))",
    "max(len(s))",
    "max(lcase(s))",
    "max(ucase(s))",
    "max(ceiling(x))",
    "max(pow(x, 2))",
    "bool_and(x > 5)",
    "bool_or(x > 5)",
    "bool_or(x > 5) FILTER (WHERE x > 1)",
    "max(if(x > 5, x, 0))",
    "max(if(x > 5, if(s = 'c', 1, 2), 0))",
    "sum(CASE WHEN x > 5 THEN 1 ELSE if(x > 1, 2, 3) END)",
    "max(struct_pack(a := x, b := s))",
    "max({'a': x, 'b': s})",
    "first(struct_pack(a := g))",
    "quantile_cont(x, 0.5)",
    "median(x)",
]


def refreshed(path: str, query: str, made: str, rows: Any) -> list[dict[str, Any]]:
    view = lance_sql.materialize(query, made)
    lance_sql.write(rows, path, mode="append")
    lance_sql.open(path).delete("id = 1")
    done = view.refresh()
    assert done.mode == "changes", done.reason
    found: list[dict[str, Any]] = lance_sql.open(made).scan().to_table().to_pylist()
    return sorted(found, key=repr)


@pytest.mark.parametrize("aggregate", AGGREGATES)
def test_words_that_sqlglot_prints_as_others(tmp_path: Path, aggregate: str) -> None:
    path = str(tmp_path / "t.lance")
    lance_sql.write({"id": [1, 2, 3], "g": [1, 1, 2], "x": [5, 6, 7], "s": ["aa", "B", "c"]}, path)
    query = f"SELECT g, {aggregate} AS y FROM '{path}' GROUP BY g"
    rows = {"id": [4, 5], "g": [2, 3], "x": [1, 2], "s": ["zz", "Q"]}
    try:
        lance_sql.sql(query).to_table()
    except Exception as error:
        pytest.skip(f"DuckDB does not have it: {error}")
    found = refreshed(path, query, str(tmp_path / "v.lance"), rows)
    assert found == sorted(lance_sql.sql(query).to_table().to_pylist(), key=repr)


TYPES = {
    "half float": (pa.float16(), [1.5, 2.5, None]),
    "half vector": (pa.list_(pa.float16(), 2), [[1.5, 2.5], None, [0.0, 1.0]]),
    "half float in a struct": (pa.struct([("h", pa.float16())]), [{"h": 1.5}, None, {"h": None}]),
    "wide decimal": (pa.decimal256(50, 0), [1, 2, None]),
    "span of nanoseconds": (pa.duration("ns"), [1000, 2000, None]),
    "day in milliseconds": (pa.date64(), [86_400_000, 0, None]),
}


@pytest.mark.parametrize("kind", TYPES)
def test_types_that_duckdb_gets_in_others(tmp_path: Path, kind: str) -> None:
    type, values = TYPES[kind]
    path = str(tmp_path / "t.lance")
    rows = pa.table(
        {
            "id": [1, 2, 3],
            "x": pa.array(values, pa.int64()).cast(type)
            if kind in ("day in milliseconds", "span of nanoseconds")
            else pa.array(values, type),
        }
    )
    lance_sql.write(rows, path)
    query = f"SELECT id, {'CAST(x AS VARCHAR) AS x' if 'span' in kind else 'x'} FROM '{path}' WHERE id > 0"
    more = rows.set_column(0, "id", pa.array([4, 5, 6]))
    found = refreshed(path, query, str(tmp_path / "v.lance"), more)
    assert found == sorted(lance_sql.sql(query).to_table().to_pylist(), key=repr)
