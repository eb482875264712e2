"""Conditions on members of JSON in Spark: pushed where both mean the same, against Spark over a view of the texts."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

import lance_sql
from lance_sql.one_sql import narrowing
from lance_sql.providers.sources import Source
from tests.json_documents import quoted, rows_of
from tests.one_sql.test_json_conditions import write

# of PySpark and pandas
pytestmark = pytest.mark.filterwarnings("ignore")

PATHS = ("$.a", "$.b", "$.é", "$.a.b", "$.a[0]", "$.b[1].a", "$['k y']", "$.k y", "$.*", "$[0]", "$.A", "a", "$")
CONSTANTS = ("7", "x", "7.0", "1e22", "true", "null", "", "abc", "[1]", "-7", "é")


def condition(draw: random.Random) -> str:
    member = f"get_json_object(v, {quoted(draw.choice(PATHS))})"
    one, other = map(quoted, draw.sample(CONSTANTS, 2))
    return draw.choice(
        [
            f"{member} = {one}",
            f"{member} = {one}",
            f"{member} <> {one}",
            f"{member} IN ({one}, {other})",
            f"try_cast({member} AS INT) > 3",
            f"{member} IS NOT NULL",
            f"{member} IS NULL",
            f"NOT ({member} = {one})",
            f"{member} = {one} OR id < 20",
            f"from_json(v, 'a STRING').a = {one}",
            f"try_variant_get(parse_json(v), '$.a', 'string') = {one}",
        ]
    )


def check(spark: Any, folder: Path, monkeypatch: pytest.MonkeyPatch, count: int, words: str = "get_json") -> None:
    """Compares the rows of random conditions with those of a view of the texts."""
    pushed: list[str] = []
    original = narrowing._filtered

    def recorded(source: Source, where: str | None) -> Source:
        made = original(source, where)
        pushed.extend([made.where] if made.where is not None else [])
        return made

    monkeypatch.setattr(narrowing, "_filtered", recorded)
    table, texts = write(folder / "t.lance", 3)
    spark.createDataFrame(texts.to_pylist(), "id BIGINT, v STRING").createOrReplaceTempView("texts")
    draw = random.Random(5)
    made = dict.fromkeys(condition(draw) for _ in range(count))
    for text in made:
        if words not in text:
            continue
        expected = sorted(row.id for row in spark.sql(f"SELECT id FROM texts WHERE {text}").collect())
        query = f"SELECT id FROM '{table.uri}' WHERE {text}"
        found = lance_sql.sql(query, session=spark, dialect="spark").to_table()["id"].to_pylist()
        assert sorted(found) == expected, text
    assert len(made) // 4 < len(pushed) < len(made)
    assert not any("from_json" in each or "variant" in each for each in pushed)


def test_conditions_on_members(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check(spark, tmp_path, monkeypatch, 40)


def test_conditions_of_frames(spark: Any, tmp_path: Path) -> None:
    table = lance_sql.write(rows_of([{"a": number % 9} for number in range(30)]), tmp_path / "t.lance")
    filter = "v->>'a' = '7'"
    whole = spark.read.format("lance").load(table.uri).where("get_json_object(v, '$.a') = '7'")
    filtered = spark.read.format("lance").option("filter", filter).load(table.uri)
    for frame in (whole, filtered):
        assert sorted(row.id for row in frame.select("id").collect()) == [7, 16, 25]
