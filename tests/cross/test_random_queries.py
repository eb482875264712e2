"""Random queries through every interface, compared with DuckDB over native tables.

A query takes its rows from {t} and {u}, which stand for a table in some place: see `test_statements`.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Final, NamedTuple

import pytest

import lance_sql
from tests.cross.test_statements import ALL_PLACES, answer_of, doors_to, in_words, make_tables, native_tables, spelled
from tests.seeds import seeds

QUERIES_OF_A_SEED: Final = 60
_COMPARED: Final = ("=", "<>", "<", "<=", ">", ">=", "IS DISTINCT FROM")
_JOINS: Final = ("JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN")
_SETS: Final = ("UNION", "UNION ALL", "INTERSECT", "EXCEPT")


class Relation(NamedTuple):
    """Text of a FROM clause, and its columns of numbers and of texts."""

    text: str
    numbers: list[str]
    texts: list[str]


class Queries:
    """Generator of queries.

    chance: of all choices
    """

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance

    def query(self, depth: int = 2) -> str:
        """Returns a query with a defined order."""
        if depth and self._chance.random() < 0.2:
            width = self._chance.randrange(1, 3)
            left, right = self._select(0, width), self._select(0, width)
            return self._ordered(f"{left} {self._chance.choice(_SETS)} {right}", width)
        width = self._chance.randrange(1, 4)
        return self._ordered(self._select(depth, width), width)

    def _ordered(self, text: str, width: int) -> str:
        limit = f" LIMIT {self._chance.randrange(9)}" if self._chance.random() < 0.2 else ""
        return f"{text} ORDER BY {', '.join(map(str, range(1, width + 1)))}{limit}"

    def _select(self, depth: int, width: int) -> str:
        """Returns a SELECT of some numbers."""
        source = self._source(depth)
        filtered = f" WHERE {self._condition(source, depth)}" if self._chance.random() < 0.7 else ""
        names = [f"c{at}" for at in range(width)]
        if self._chance.random() < 0.3:
            keys = self._listed([self._number(source) for _ in range(width - 1)], names)
            grouped = f" GROUP BY {', '.join(map(str, range(1, width)))}" if width > 1 else ""
            having = f" HAVING count(*) {self._chance.choice(_COMPARED[1:6])} 1" if self._chance.random() < 0.4 else ""
            aggregate = self._chance.choice(["count(*)", "count({})", "sum({})", "min({})", "max({})"])
            last = f"CAST({aggregate.format(self._number(source))} AS BIGINT) AS {names[-1]}"
            return f"SELECT {', '.join([*keys, last])} FROM {source.text}{filtered}{grouped}{having}"
        items = [self._number(source) for _ in names]
        if self._chance.random() < 0.2:
            part, by = self._number(source), self._number(source)
            items[-1] = f"CAST(rank() OVER (PARTITION BY {part} ORDER BY {by}) AS BIGINT)"
        distinct = "DISTINCT " if self._chance.random() < 0.2 else ""
        return f"SELECT {distinct}{', '.join(self._listed(items, names))} FROM {source.text}{filtered}"

    @staticmethod
    def _listed(items: list[str], names: list[str]) -> list[str]:
        return [f"{item} AS {name}" for item, name in zip(items, names, strict=False)]

    def _source(self, depth: int) -> Relation:
        kind = self._chance.random()
        if depth and kind < 0.2:
            return Relation(f"({self._select(depth - 1, 2)}) AS q", ["q.c0", "q.c1"], ["'x.lance'"])
        if kind < 0.4:
            join = self._chance.choice(_JOINS)
            return Relation(
                f"{{t}} AS a {join} {{u}} AS b ON a.id = b.id", ["a.id", "a.k", "b.id", "a.versions"], ["a.v", "b.w"]
            )
        if kind < 0.6:
            return Relation("{u} AS b", ["b.id"], ["b.w"])
        return Relation("{t} AS a", ["a.id", "a.k", "a.versions"], ["a.v"])

    def _number(self, source: Relation, depth: int = 2) -> str:
        kind = self._chance.randrange(9) if depth else 0
        inner = self._chance.choice(source.numbers)
        if kind == 1:
            return f"({self._number(source, depth - 1)} {self._chance.choice('+-*')} {self._chance.randrange(5)})"
        if kind == 2:
            return f"({inner} % {self._chance.randrange(2, 5)})"
        if kind == 3:
            return f"length({self._text(source)})"
        if kind == 4:
            return f"coalesce({inner}, -1)"
        if kind == 5:
            then, other = self._number(source, depth - 1), self._number(source, depth - 1)
            return f"CASE WHEN {self._condition(source, 0)} THEN {then} ELSE {other} END"
        if kind == 6:
            return f"abs({inner} - {self._chance.randrange(9)})"
        return inner

    def _text(self, source: Relation) -> str:
        inner = self._chance.choice(source.texts)
        return self._chance.choice([inner, f"upper({inner})", f"({inner} || '.lance')", f"substr({inner}, 1, 1)"])

    def _condition(self, source: Relation, depth: int) -> str:
        kind = self._chance.randrange(10)
        if kind < 2 and depth:
            joined = self._chance.choice([" AND ", " OR "])
            return f"({joined.join(self._condition(source, depth - 1) for _ in range(2))})"
        if kind == 2:
            return f"NOT ({self._condition(source, 0)})"
        if kind == 3:
            return f"{self._text(source)} LIKE '{self._chance.choice(['v%', '%1%', 'u_', '%.lance', 'V3'])}'"
        if kind == 4:
            values = ", ".join(str(self._chance.randrange(12)) for _ in range(self._chance.randrange(1, 4)))
            return f"{self._number(source, 1)} {self._chance.choice(['IN', 'NOT IN'])} ({values})"
        if kind == 5:
            first = self._chance.randrange(6)
            return f"{self._number(source, 1)} BETWEEN {first} AND {first + self._chance.randrange(6)}"
        if kind == 6:
            return f"{self._chance.choice([*source.numbers, *source.texts])} IS {self._chance.choice(['', 'NOT '])}NULL"
        if kind == 7 and depth:
            return f"{self._chance.choice(source.numbers)} IN (SELECT s.id FROM {{u}} AS s)"
        return f"{self._number(source, 1)} {self._chance.choice(_COMPARED)} {self._number(source, 1)}"


@pytest.fixture(autouse=True)
def _in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def _queries(seed: int) -> list[str]:
    chance = random.Random(seed)
    return [Queries(chance).query() for _ in range(QUERIES_OF_A_SEED)]


@seeds(range(2), range(2, 50))
def test_queries_give_what_they_give_of_tables_of_duckdb(seed: int) -> None:
    place = list(ALL_PLACES)[seed % len(ALL_PLACES)]
    make_tables(place, have_keys=seed % 2 == 1)
    duckdb, ways = native_tables(), list(doors_to(place))
    different, num_answers = [], 0
    for query in _queries(seed):
        expected = answer_of(lambda text: duckdb.execute(text).fetchall(), spelled(query, "t", "u"))
        num_answers += expected is not None
        for name, run in ways:
            text = spelled(query, *ALL_PLACES[place])
            found = answer_of(run, text)
            if found != expected:
                different.append((name, text, found, expected))
    assert not different
    assert num_answers == QUERIES_OF_A_SEED


@seeds(range(1), range(1, 50))
def test_datafusion_gives_the_same(seed: int) -> None:
    datafusion = pytest.importorskip("datafusion")
    place = list(ALL_PLACES)[seed % len(ALL_PLACES)]
    make_tables(place, have_keys=seed % 2 == 1)
    context = lance_sql.register(datafusion.SessionContext())
    if "catalog" in place:
        lance_sql.attach(context, ".", as_="lake")
    duckdb, num_answers = native_tables(), 0
    for query in _queries(seed):
        expected = in_words(duckdb.execute(spelled(query, "t", "u")).fetchall())
        text = spelled(query, *ALL_PLACES[place])
        found = answer_of(lambda text: lance_sql.sql(text, session=context).fetchall(), text)
        # DataFusion rejects some plans of its own
        assert found in (None, expected), query
        num_answers += found is not None
    assert num_answers > 0.9 * QUERIES_OF_A_SEED
