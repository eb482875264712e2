"""Conditions on members of JSON that engines evaluate over a table as they find it, without `lance_sql.sql`: none of
them reaches the scan, except as the argument `filter`."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import datafusion
import polars
import pytest

import lance_sql
from lance_sql import Dataset
from tests.json_documents import MISSING, as_string, document, member, quoted, rows_of

NUM_DOCUMENTS = 1500
FILTER = "v->>'a' = '7'"

DOORS: dict[str, Callable[[Dataset], Any]] = {
    "a connection": lambda table: lance_sql.connect().sql(f"SELECT id FROM '{table.uri}' WHERE {FILTER}").pl(),
    "a connection, a path": lambda table: (
        lance_sql.connect()
        .sql(f"SELECT id FROM '{table.uri}' WHERE json_extract_string(v, '$.a') IN ('7', 'none')")
        .pl()
    ),
    "a connection, parts": lambda table: (
        lance_sql.connect()
        .sql(f"SELECT id FROM '{table.uri}' WHERE id >= 0 AND TRY_CAST(v->'a' AS VARCHAR) IN ('7', '\"7\"')")
        .pl()
    ),
    "a connection, filter": lambda table: (
        lance_sql.connect().sql(f"SELECT id FROM lance_scan('{table.uri}', filter := {quoted(FILTER)})").pl()
    ),
    "DataFusion, scan": lambda table: datafusion.SessionContext().from_arrow(table.scan(["id"], FILTER)).to_polars(),
    "Polars": lambda table: (
        polars.scan_pyarrow_dataset(table)
        .filter(polars.col("v").str.json_path_match("$.a") == "7")
        .select("id")
        .collect()
    ),
    "Polars, scan": lambda table: table.to_polars(["id"], FILTER),
}


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> tuple[Dataset, list[Any]]:
    draw = random.Random(3)
    documents = [MISSING if draw.random() < 0.1 else document(draw) for _ in range(NUM_DOCUMENTS)]
    path: Path = tmp_path_factory.mktemp("json") / "t.lance"
    return lance_sql.write(rows_of(documents), path, max_rows_per_file=400), documents


@pytest.mark.parametrize("door", DOORS)
def test_conditions_of_engines_find_their_rows(table: tuple[Dataset, list[Any]], door: str) -> None:
    made, documents = table
    expected = [row for row, each in enumerate(documents) if as_string(member(each, ["a"])) == "7"]
    assert len(expected) > 3
    assert sorted(DOORS[door](made)["id"].to_list()) == expected


def test_texts_are_compared_in_datafusion(table: tuple[Dataset, list[Any]]) -> None:
    made, documents = table
    context = lance_sql.register(datafusion.SessionContext())
    expected = [row for row, each in enumerate(documents) if each == "7"]
    found = context.sql(f"SELECT id FROM lance_table('{made.uri}') WHERE v = {quoted(json.dumps('7'))}").to_polars()
    assert sorted(found["id"].to_list()) == expected != []


def test_duckdb_offers_no_conditions_on_members(
    table: tuple[Dataset, list[Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    source = pytest.importorskip("lance_sql.providers.duckdb.source", reason="DuckDB before 2.0 has no sources")
    offered: list[str] = []

    def accepts(self: object, predicate: Any) -> bool:
        offered.append(predicate.fragment())
        return False

    monkeypatch.setattr(source.DuckDBSource, "accepts", accepts)
    made, _ = table
    for condition in (FILTER, "json_exists(v, '$.a')", "(v->>'a')::VARCHAR IS NULL", f"id = 3 AND {FILTER}"):
        lance_sql.connect().sql(f"SELECT id FROM '{made.uri}' WHERE {condition}").fetchall()
    assert set(offered) == {'("id" = 3)'}
