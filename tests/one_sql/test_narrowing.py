"""Columns and rows that a query needs: with only these, it returns the same result."""

from __future__ import annotations

from datetime import date, timedelta
from decimal import Decimal
from functools import cache
from pathlib import Path
from random import Random

import duckdb
import pyarrow as pa
import pytest
import sqlglot

import lance_sql
from lance_sql.dataset import Dataset
from lance_sql.one_sql.narrowing import Needed, needed
from lance_sql.providers.adapter import named

_QUERIES_OF_A_SEED = 40


def _rows(seed: int) -> pa.Table:
    random = Random(seed)
    count = 40

    def some(values: list[object]) -> list[object]:
        return [random.choice([None, *values]) for _ in range(count)]

    return pa.table(
        {
            "K": pa.array(some(list(range(6))), pa.int32()),
            "a": pa.array(some(list(range(-3, 9))), pa.int64()),
            "s": pa.array(some(["x", "y", "ab", "a%", "it's", ""]), pa.string()),
            "f": pa.array(some([-1.5, 0.0, 2.0, 7.25, float("nan")]), pa.float64()),
            "m": pa.array(some([Decimal("0.05"), Decimal("0.06"), Decimal("7.00")]), pa.decimal128(10, 2)),
            "d": pa.array(some([date(1994, 1, 1) + timedelta(days=20 * each) for each in range(9)]), pa.date32()),
        }
    )


class Queries:
    """Random queries over tables t0, t1 and t2."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.depth = 0

    def condition(self, table: str) -> str:
        some = self.random
        plain = [
            f"{table}.a {some.choice(['<', '<=', '>', '>=', '=', '<>'])} {some.randint(-3, 8)}",
            f"{some.randint(-3, 8)} < {table}.A",
            f"{table}.k BETWEEN {some.randint(0, 2)} AND {some.randint(2, 5)}",
            f"{table}.s IN ('x', 'it''s', '')",
            f"{table}.s LIKE '{some.choice(['a%', '%', '_', 'x'])}'",
            f"{table}.f {some.choice(['<', '>', '=', '<>', '>='])} {some.choice(['0.0', '2', '7.5'])}",
            f"{table}.m {some.choice(['<=', '>', '='])} 0.06 - 0.01",
            f"{table}.d {some.choice(['<', '>='])} DATE '1994-01-01' + INTERVAL '3' MONTH",
            f"{table}.d = '1994-01-21'",
            f"{table}.{some.choice('kasfmd')} IS NULL",
            f"{table}.s IS NOT NULL",
            f"{table}.a + 1 > 3",
        ]
        match some.randrange(8):
            case 0:
                return f"NOT ({self.condition(table)})"
            case 1:
                return f"({self.condition(table)} OR {self.condition(table)})"
            case 2:
                return f"({self.condition(table)} AND {self.condition(table)})"
            case _:
                return some.choice(plain)

    def relation(self) -> str:
        some = self.random
        self.depth += 1
        kind = some.randrange(9) if self.depth < 4 else 0
        one = f"t{some.randrange(3)}"
        columns = "K, a, s, f, m, d"
        match kind:
            case 1:
                made = f"(SELECT * FROM {self.relation()} AS i{self.where('i')})"
            case 2:
                made = f"(SELECT {columns} FROM {one} AS i{self.where('i')})"
            case 3:
                made = f"(SELECT a AS k, k AS a, s, f, m, d FROM {self.relation()} AS i{self.where('i')})"
            case 4:
                made = (
                    f"(SELECT * FROM {self.relation()} AS i{self.where('i')} UNION {some.choice(['', 'ALL'])}"
                    f" SELECT a AS z, k AS y, s, f, m, d FROM {self.relation()} AS i{self.where('i')})"
                )
            case 5:
                made = (
                    "(SELECT k, a, min(s) AS s, min(f) AS f, min(m) AS m, min(d) AS d"
                    f" FROM {self.relation()} AS i{self.where('i')} GROUP BY k, a)"
                )
            case 6:
                made = f"(SELECT * FROM {self.relation()} AS i{self.where('i')} ORDER BY k, a, s, f, m, d LIMIT 9)"
            case 7:
                made = (
                    f"(SELECT {columns} FROM (SELECT *, row_number() OVER (PARTITION BY k ORDER BY a, s, f, m, d) AS n"
                    f" FROM {self.relation()} AS j) AS i WHERE n < 3)"
                )
            case 8:
                join = some.choice(["JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"])
                made = (
                    f"(SELECT i.k, j.a, i.s, j.f, i.m, j.d FROM {self.relation()} AS i {join} {self.relation()} AS j"
                    f" ON i.k = j.a{self.and_('i')}{self.and_('j')}{self.where('i', 'j')})"
                )
            case _:
                made = one
        self.depth -= 1
        return made

    def where(self, *tables: str) -> str:
        parts = [self.condition(self.random.choice(tables)) for _ in range(self.random.randrange(3))]
        return f" WHERE {' AND '.join(parts)}" if parts else ""

    def and_(self, table: str) -> str:
        return f" AND {self.condition(table)}" if self.random.random() < 0.5 else ""

    def query(self) -> str:
        some = self.random
        with_ = f"WITH c AS (SELECT * FROM {self.relation()} AS q{self.where('q')}) " if some.random() < 0.4 else ""
        first = "c" if with_ else self.relation()
        second = "c" if with_ and some.random() < 0.4 else self.relation()
        join = some.choice(["JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "SEMI JOIN", "ANTI JOIN"])
        is_left_only = join in ("SEMI JOIN", "ANTI JOIN")
        tables = ("l",) if is_left_only else ("l", "r")
        other = tables[-1]
        condition = f"l.k = r.k{self.and_('l')}{self.and_('r')}"
        source = f"FROM {first} AS l {join} {second} AS r ON {condition}{self.where(*tables)}"
        inside = f"l.k IN (SELECT w.k FROM {self.relation()} AS w{self.where('w')})"
        if some.random() < 0.5:
            what = some.choice(["*", "*", "w.*", "DISTINCT *", "w.s, w.*"])
            end = some.choice(["", "", " ORDER BY w.a", " LIMIT 1", f" UNION ALL SELECT * FROM {self.relation()} AS w"])
            there = f"SELECT {what} FROM {self.relation()} AS w WHERE w.k = l.k{self.and_('w')}{end}"
            inside = f"{some.choice(['', 'NOT '])}EXISTS ({there})"
        source += (
            (" AND " if " WHERE " in source.rpartition(" AS r ON ")[2] else " WHERE ") + inside
            if some.random() < 0.3
            else ""
        )
        return with_ + some.choice(
            [
                f"SELECT * {source}",
                f"SELECT l.k, {other}.s, l.m {source}",
                f"SELECT count(*), sum(l.a), min({other}.s) {source}",
                f"SELECT {other}.k, count(*) AS n {source} GROUP BY {other}.k HAVING count(*) > 1",
                f"SELECT DISTINCT l.s {source}",
            ]
        )


@cache
def tables() -> dict[str, pa.Table]:
    """By their names in queries."""
    return {f"t{number}": _rows(number) for number in range(3)}


def _with_own_names(tree: sqlglot.exp.Expr) -> dict[str, str]:
    """Gives each table of a query a name of its own; what they were."""
    names = {}
    for number, node in enumerate(list(tree.find_all(sqlglot.exp.Table))):
        if node.name in tables():
            names[f"n{number}"] = node.name
            node.set(
                "alias", node.args.get("alias") or sqlglot.exp.TableAlias(this=sqlglot.exp.to_identifier(node.name))
            )
            node.set("this", sqlglot.exp.to_identifier(f"n{number}"))
    return names


def check(folder: Path, seed: int) -> tuple[int, int, int]:
    """Queries of which something is known, columns that they do not want, and tables with a filter."""
    datasets = {name: lance_sql.write(table, folder / f"{name}.lance") for name, table in tables().items()}
    queries = Queries(seed)
    known = columns = filters = 0
    for _ in range(_QUERIES_OF_A_SEED):
        text = queries.query()
        tree = sqlglot.parse_one(text, dialect="duckdb")
        names = _with_own_names(tree)
        found = needed(tree, {name: datasets[table].schema for name, table in names.items()}, named("spark"))
        connection = duckdb.connect()
        for name, table in names.items():
            connection.register(name, tables()[table])
        try:
            expected = connection.sql(tree.sql("duckdb")).fetchall()
        except duckdb.Error:
            continue
        if found is None:
            continue
        for name, table in names.items():
            connection.register(name, _narrow(datasets[table], found[name]))
            columns += datasets[table].schema.names.__len__() - len(found[name].columns)
            filters += found[name].where is not None
        answer = connection.sql(tree.sql("duckdb")).fetchall()
        assert sorted(map(repr, answer)) == sorted(map(repr, expected)), (seed, text, found)
        known += 1
    return known, columns, filters


def _narrow(dataset: Dataset, wanted: Needed) -> pa.Table:
    names = [name for name in dataset.schema.names if name.lower() in wanted.columns]
    return dataset.scan(names or ["_rowid"], wanted.where).to_table()


is_steady = pytest.mark.skipif(
    duckdb.__version__ < "2", reason="DuckDB 1.5 answers a LIMIT inside of a LIMIT of its own tables in several ways"
)


@is_steady
@pytest.mark.parametrize("seed", range(3))
def test_the_answer_is_the_same(tmp_path: Path, seed: int) -> None:
    known, columns, filters = check(tmp_path, seed)
    assert known > _QUERIES_OF_A_SEED / 2
    assert columns > known
    assert filters > known / 2


def test_an_order_by_all_keeps_all() -> None:
    schemas = {"t": pa.schema([("a", pa.int64()), ("b", pa.int64())])}
    for text in (
        "SELECT a FROM (SELECT * FROM t ORDER BY ALL LIMIT 3)",
        "SELECT a FROM (SELECT * FROM t GROUP BY ALL)",
    ):
        for dialect in ("duckdb", "spark"):
            assert needed(sqlglot.parse_one(text, dialect=dialect), schemas, named("spark")) is None


@pytest.mark.parametrize(
    ("inside", "wanted"),
    [
        ("SELECT * FROM u WHERE u.a = t.a", {"a"}),
        ("(SELECT u.* FROM u WHERE u.a = t.a LIMIT 1)", {"a"}),
        ("SELECT * FROM (SELECT * FROM u) AS v WHERE v.a = t.a", {"a"}),
        ("SELECT DISTINCT * FROM u WHERE u.a = t.a", {"a", "b", "c"}),
        ("SELECT * FROM u WHERE u.a = t.a ORDER BY 2", {"a", "b", "c"}),
        ("SELECT * FROM u WHERE u.a = t.a UNION SELECT 1, 2, 3", {"a", "b", "c"}),
    ],
)
def test_rows_that_are_only_counted_need_no_star(inside: str, wanted: set[str]) -> None:
    schemas = {"t": pa.schema([("a", pa.int64())]), "u": pa.schema([(name, pa.int64()) for name in "abc"])}
    for dialect in ("duckdb", "spark"):
        found = needed(
            sqlglot.parse_one(f"SELECT t.a FROM t WHERE EXISTS ({inside})", dialect=dialect), schemas, named("spark")
        )
        assert found is not None
        assert found["u"].columns == wanted


@is_steady
@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 200))
def test_the_answer_is_the_same_to_many_more(tmp_path: Path, seed: int) -> None:
    check(tmp_path, seed)
