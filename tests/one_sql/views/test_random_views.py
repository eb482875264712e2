"""Views of many kinds over tables that change at random: a refresh gives the rows of the query."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

import lance_sql
from lance_sql.dataset import Dataset

FOLLOWED = (
    "SELECT * FROM '{o}'",
    "SELECT id, amount * 2 AS twice FROM '{o}' WHERE status <> 'open' OR status IS NULL",
    "SELECT status FROM '{o}' WHERE amount > 40",
    "SELECT o.id, c.name, o.amount FROM '{o}' o JOIN '{c}' c ON o.customer = c.id",
    "SELECT o.id, c.name, r.label FROM '{o}' o LEFT JOIN '{c}' c ON o.customer = c.id"
    " LEFT JOIN '{r}' r ON r.region = o.region",
    "SELECT o.id, unnest([o.amount, c.id]) AS part FROM '{o}' o LEFT JOIN '{c}' c ON o.customer = c.id AND c.id < 6",
    "SELECT status, count(*) AS n, sum(amount) AS total, avg(price) AS mean FROM '{o}' GROUP BY status",
    "SELECT customer, min(price) AS least, max(amount) AS most FROM '{o}' WHERE amount < 80 GROUP BY 1",
    "SELECT customer, status, sum(price) AS s FROM '{o}' GROUP BY ALL HAVING count(*) > 1",
    "SELECT c.name, count(o.id) AS n, sum(o.price)::FLOAT8 AS s FROM '{o}' o LEFT JOIN '{c}' c ON o.customer = c.id"
    " GROUP BY c.name",
    "SELECT DISTINCT status, customer % 3 AS third FROM '{o}'",
    "SELECT o.amount // 10 AS bucket, median(o.price) AS m, count(DISTINCT c.region) AS n FROM '{o}' o"
    " JOIN '{c}' c ON o.customer < c.id GROUP BY bucket",
)
WHOLE = (
    "SELECT id, row_number() OVER (ORDER BY id) AS n FROM '{o}'",
    "SELECT sum(amount) AS s FROM '{o}'",
    "SELECT * FROM '{o}' ORDER BY id LIMIT 7",
    "SELECT id FROM '{o}' WHERE customer IN (SELECT id FROM '{c}')",
)


def orders(random: random.Random, count: int, first: int) -> pa.Table:
    return pa.table(
        {
            "id": pa.array(range(first, first + count), pa.int64()),
            "customer": pa.array([random.choice([None, *range(8)]) for _ in range(count)], pa.int64()),
            "status": pa.array([random.choice(["open", "paid", "it's {x}", None]) for _ in range(count)], pa.string()),
            "amount": pa.array([random.choice([None, *range(0, 100, 7)]) for _ in range(count)], pa.int64()),
            "price": pa.array([random.choice([None, 0.1, 2.5, -3.0, 1e6]) for _ in range(count)], pa.float64()),
            "region": pa.array([random.choice(["n", "s"]) for _ in range(count)], pa.string()),
        }
    )


def customers(random: random.Random) -> pa.Table:
    ids = [random.randrange(10) for _ in range(random.randrange(1, 9))]
    return pa.table(
        {
            "id": pa.array(ids, pa.int64()),
            "name": pa.array([random.choice("ABC") for _ in ids], pa.string()),
            "region": pa.array([random.choice(["n", "s", None]) for _ in ids], pa.string()),
        }
    )


def step(random: random.Random, table: Dataset, name: str, first: int) -> Dataset:
    kind = random.choice(["insert", "insert", "update", "update", "delete", "merge", "compact", "restore", "overwrite"])
    table = table.latest()
    if kind == "overwrite" and random.random() < 0.7:
        kind = "update"
    if kind in ("insert", "overwrite"):
        rows = orders(random, random.randrange(1, 8), first) if name == "o" else customers(random)
        if name == "r":
            rows = pa.table({"region": ["n", "x"], "label": ["N", str(first)]})
        return lance_sql.write(rows, table.uri, mode="append" if kind == "insert" else "overwrite")
    where = f"id % {random.randrange(2, 5)} = 1" if name != "r" else "region = 'n'"
    if kind == "update":
        values = {"o": {"amount": "amount + 3", "customer": "id % 7"}, "c": {"name": "'D'"}, "r": {"label": "'L'"}}
        return table.update(values[name], where)
    if kind == "delete":
        return table.delete(where)
    if kind == "merge" and name == "o":
        rows = orders(random, 5, max(first - random.randrange(1, 9), 0))
        return table.merge(rows, "id")
    if kind == "restore" and table.version > 1:
        return table.restore(random.randrange(max(1, table.version - 2), table.version + 1))
    return table.maintenance.compact()


def rows(table: pa.Table) -> Counter[Any]:
    def plain(value: Any) -> Any:
        return float(f"{value:.9g}") if isinstance(value, float) else value

    return Counter(tuple(map(plain, row.values())) for row in table.to_pylist())


def expected(query: str, tables: dict[str, Dataset]) -> Counter[Any]:
    """By DuckDB over its own copies."""
    connection = duckdb.connect()
    names = {}
    for name, table in tables.items():
        connection.register(f"arrow_{name}", table.latest().scan().to_table())
        connection.execute(f"CREATE TABLE own_{name} AS FROM arrow_{name}")
        names[name] = f"own_{name}"
    return rows(connection.sql(query.replace("'{", "{").replace("}'", "}").format(**names, x="{x}")).to_arrow_table())


def run(seed: int, folder: Path) -> Counter[str]:
    chance = random.Random(seed)
    tables = {
        "o": lance_sql.write(orders(chance, 30, 0), folder / "o.lance"),
        "c": lance_sql.write(customers(chance), folder / "c.lance"),
        "r": lance_sql.write(pa.table({"region": ["n", "s"], "label": ["N", "S"]}), folder / "r.lance"),
    }
    paths = {name: table.uri for name, table in tables.items()}
    queries = [*chance.sample(FOLLOWED, 3), chance.choice(WHOLE)]
    views = [
        lance_sql.materialize(query.format(**paths), folder / f"v{number}.lance")
        for number, query in enumerate(queries)
    ]
    modes: Counter[str] = Counter()
    first = 100
    for _ in range(4):
        for _ in range(chance.randrange(0, 4)):
            name = chance.choice("ooocr")
            tables[name] = step(chance, tables[name], name, first)
            first += 10
        for query, view in zip(queries, views, strict=True):
            done = view.refresh(verify=True)
            modes[f"{done.mode} {done.reason or ''}"] += 1
            found = rows(done.dataset.scan().to_table())
            assert found == expected(query, tables), (seed, query, str(done))
    for view in views:
        assert lance_sql.audit(view.dataset.uri).is_healthy, (seed, view.query)
    return modes


@pytest.mark.parametrize("seed", range(4))
def test_a_refresh_gives_the_rows_of_the_query(seed: int, tmp_path: Path) -> None:
    modes = run(seed, tmp_path)
    assert any(mode.startswith("changes") for mode in modes), modes


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1000, 1500))
def test_a_refresh_gives_the_rows_of_the_query_many_times(seed: int, tmp_path: Path) -> None:
    _ = run(seed, tmp_path)
