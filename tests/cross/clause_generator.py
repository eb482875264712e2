"""Random SELECTs with the clauses and the arguments of nodes that a rewriting may overlook, in the SQL of one engine.

A query reads {t} and {u}, which have the columns of `ROWS`. Its rows have a defined value, in any order.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

import pyarrow as pa

_DUCKDB, _DATAFUSION, _SPARK, _SAIL = "duckdb", "datafusion", "spark", "sail"
ENGINES: Final = (_DUCKDB, _DATAFUSION, _SPARK, _SAIL)
_OF_SPARK: Final = (_SPARK, _SAIL)
_OF_BOTH: Final = (_DUCKDB, _DATAFUSION)
_NOT_SAIL: Final = (_DUCKDB, _DATAFUSION, _SPARK)

_POINT: Final = pa.struct([("a", pa.int64()), ("x", pa.string())])
ROWS: Final = pa.table(
    {
        "id": pa.array(range(12), pa.int64()),
        "k": pa.array([0, 1, 2, None, 0, 1, 2, 3, 0, 1, None, 2], pa.int32()),
        "s": ["apple", "banana", None, "a%b", "A_c", "", "it's", "avocado", "a\\b", "zebra", "a!b", "Apple"],
        "f": [0.2, -1.5, None, float("nan"), 0.0, -0.0, 7.25, 0.3, 1e300, 2.0, 0.1, -7.0],
        "m": pa.array([None if i == 4 else Decimal(i * 7 - 30) / 100 for i in range(12)], pa.decimal128(10, 2)),
        "d": pa.array([None if i == 6 else 8766 + 20 * i for i in range(12)], pa.int32()).cast(pa.date32()),
        "b": [True, False, None] * 4,
        "l": pa.array([None if i == 5 else list(range(i % 4)) for i in range(12)], pa.list_(pa.int64())),
        "p": pa.array([None if i == 7 else {"a": i % 3, "x": "v" * (i % 3)} for i in range(12)], _POINT),
    }
)
COLUMNS: Final = tuple(ROWS.column_names)


@dataclass(frozen=True)
class _Form:
    """Text with places in braces, and the engines that have it."""

    text: str
    engines: Sequence[str] = ENGINES


_CONDITIONS: Final = (
    _Form("{q}s {not}LIKE '{pattern}'"),
    _Form("{q}s {not}LIKE '{pattern}'"),
    _Form("{q}s {not}LIKE 'a!%%b' ESCAPE '!'"),
    _Form("{q}s {not}ILIKE '{pattern}'"),
    _Form("{q}s {not}RLIKE 'a.*b'", _OF_SPARK),
    _Form("{q}s {not}LIKE {quantifier} ('a%%', '%%n%%')", _OF_SPARK),
    _Form("{q}s {not}SIMILAR TO 'a.*'", (_DUCKDB,)),
    _Form("{q}s {tilde} 'a.*'", _OF_BOTH),
    _Form("{q}s {not}IN ('apple', 'it''s', '')"),
    _Form("{q}s {compared} 'b'"),
    _Form("{q}k {not}IN (0, {small})"),
    _Form("{q}k {not}IN (0, NULL)"),
    _Form("{q}id {not}BETWEEN {small} AND 7"),
    _Form("{q}d {not}BETWEEN DATE '1994-01-01' AND DATE '1994-03-01'"),
    _Form("{q}d {compared} DATE '1994-01-01' + INTERVAL '2' MONTH"),
    _Form("{q}d {compared} DATE '1994-05-01' - INTERVAL '40' DAY"),
    # Sail compares doubles with decimals, and fails for NaN
    _Form("{q}f {compared} {float}", _NOT_SAIL),
    _Form("{q}f + 0.1 {compared} 0.3", _NOT_SAIL),
    _Form("{q}f * 3 {compared} 0.6", _NOT_SAIL),
    _Form("{q}m {compared} 0.06 - 0.1"),
    _Form("{q}m - 0.01 {compared} 0.05"),
    _Form("{q}id + {small} {compared} 6"),
    _Form("{small} {compared} {q}id"),
    _Form("{q}id % 3 {compared} 1"),
    _Form("{q}b"),
    _Form("{q}b IS {not}TRUE"),
    _Form("{q}b IS {not}FALSE"),
    _Form("({q}id > {small}) IS {not}TRUE", _OF_SPARK),
    _Form("{q}{any} IS {not}NULL"),
    _Form("{q}k IS {not}DISTINCT FROM {small}"),
    _Form("{q}k <=> {small}", _OF_SPARK),
    _Form("{q}id {compared} CASE WHEN {condition} THEN {small} ELSE 4 END"),
    _Form("{q}p.a {compared} 1", (_DUCKDB, _SPARK)),
    _Form("coalesce({q}k, {small}) {compared} 1"),
    _Form("{not}EXISTS (SELECT 1 FROM {u} AS e WHERE e.id = {q}k AND {econdition})"),
    _Form("{q}id {not}IN (SELECT e.id FROM {u} AS e WHERE {econdition})"),
    _Form("{q}id {compared} (SELECT max(e.k) FROM {u} AS e WHERE {econdition})"),
    _Form("{q}id {compared} ANY (SELECT e.k FROM {u} AS e WHERE e.k IS NOT NULL)", (_DUCKDB,)),
    _Form("({condition} OR {condition})"),
    _Form("({condition} AND {condition})"),
    _Form("NOT ({condition})"),
    _Form("(NOT {condition})"),
    _Form("({condition}) = ({condition})", _OF_SPARK),
)
_VALUES: Final = (
    _Form("{q}id"),
    _Form("{q}{any}"),
    _Form("{q}k + {small}"),
    _Form("upper({q}s)"),
    _Form("length({q}s)"),
    _Form("CASE WHEN {condition} THEN {q}id ELSE {q}k END"),
    _Form("CASE {q}k WHEN 0 THEN 'zero' WHEN 1 THEN {q}s END"),
    _Form("nullif({q}k, {small})"),
    _Form("substring({q}s, 2, 2)"),
    _Form("trim(BOTH 'a' FROM {q}s)"),
    _Form("CAST({q}id AS VARCHAR)", _OF_BOTH),
    _Form("CAST({q}id AS STRING)", _OF_SPARK),
    _Form("extract(year FROM {q}d)"),
    _Form("transform({q}l, x -> x + {q}id)", _OF_SPARK),
    _Form("filter({q}l, x -> x > {q}k)", _OF_SPARK),
    _Form("aggregate({q}l, 0L, (acc, x) -> acc + x)", _OF_SPARK),
    _Form("exists({q}l, id -> id > 1)", _OF_SPARK),
    _Form("list_transform({q}l, lambda x: x + {q}id)", (_DUCKDB,)),
    _Form("list_filter({q}l, lambda x: x > {q}k)", (_DUCKDB,)),
    _Form("[x + {q}id FOR x IN {q}l IF x > 0]", (_DUCKDB,)),
    _Form("struct({q}p.*)", (_SPARK,)),
    _Form("to_json(struct({q}*))", _OF_SPARK),
    _Form("to_json(struct(*))", _OF_SPARK),
    _Form("to_json(named_struct('a', {q}id, 'b', {q}s))", _OF_SPARK),
    _Form("concat_ws('|', {q}s, CAST({q}id AS STRING))", _OF_SPARK),
    _Form("{'a': {q}id, 'b': {q}s}", (_DUCKDB,)),
    _Form("(SELECT count(*) FROM {u} AS e WHERE e.k = {q}k AND {econdition})"),
)
_AGGREGATES: Final = (
    _Form("count(*)"),
    _Form("count({q}{any})"),
    _Form("count(DISTINCT {q}k)"),
    _Form("count(DISTINCT {q}k, {q}s)", _OF_SPARK),
    _Form("count({q}*)", _OF_SPARK),
    _Form("count(*) FILTER (WHERE {condition})"),
    _Form("sum({q}id) FILTER (WHERE {condition})"),
    _Form("sum(DISTINCT {q}k)"),
    _Form("min({q}s)"),
    _Form("max({q}d)"),
    _Form("max_by({q}s, {q}id)", (_DUCKDB, *_OF_SPARK)),
    _Form("to_json(max_by(struct({q}*), {q}id))", _OF_SPARK),
    _Form("to_json(sort_array(collect_list(struct({q}*))))", (_SPARK,)),
    _Form("bool_and({condition})"),
    _Form("first({q}k ORDER BY {q}id DESC)", (_DUCKDB,)),
    _Form("percentile_cont(0.5) WITHIN GROUP (ORDER BY {q}id DESC)", (_DUCKDB, *_OF_SPARK)),
    _Form("string_agg({q}s, ',' ORDER BY {q}id DESC)", _OF_BOTH),
    _Form("array_agg({q}k ORDER BY {q}id {direction})", _OF_BOTH),
    _Form("sort_array(collect_list({q}id), false)", _OF_SPARK),
    _Form("listagg({q}s, ',') WITHIN GROUP (ORDER BY {q}id DESC)", (_SPARK,)),
)
_WINDOWS: Final = (
    _Form("row_number() OVER (PARTITION BY {q}k ORDER BY {q}id {direction})"),
    _Form("rank() OVER (ORDER BY {q}k {direction} NULLS {end})"),
    _Form("sum({q}id) OVER (PARTITION BY {q}k ORDER BY {q}id ROWS BETWEEN 1 PRECEDING AND CURRENT ROW)"),
    _Form("lag({q}k, 1) OVER (ORDER BY {q}id {direction})"),
    _Form("lag({q}k, 1) IGNORE NULLS OVER (ORDER BY {q}id {direction})", (_SPARK, _DATAFUSION)),
    _Form("lag({q}k, 1 IGNORE NULLS) OVER (ORDER BY {q}id {direction})", (_DUCKDB,)),
    _Form("first_value({q}k) IGNORE NULLS OVER (ORDER BY {q}id)", (_SPARK,)),
    _Form("count(*) FILTER (WHERE {condition}) OVER (ORDER BY {q}id)"),
    _Form("sum({q}id) OVER w"),
)
_STARS: Final = (
    _Form("*"),
    _Form("{q}*"),
    _Form("* EXCEPT ({any})", _OF_SPARK),
    _Form("{q}* EXCEPT ({any})", _OF_SPARK),
    _Form("* EXCLUDE ({any})", _OF_BOTH),
    _Form("{q}* EXCLUDE ({any})", _OF_BOTH),
    _Form("* REPLACE (k + 1 AS k)", _OF_BOTH),
    _Form("* RENAME (k AS kk)", (_DUCKDB,)),
    _Form("COLUMNS('[ks]')", (_DUCKDB,)),
    _Form("COLUMNS(lambda c: c < 'f')", (_DUCKDB,)),
    # Sail reads members below NULL
    _Form("{q}p.*", (_DUCKDB, _SPARK)),
)
_SOURCES: Final = (
    _Form("{t} AS t"),
    _Form("{t} AS t"),
    _Form("{t} AS t"),
    _Form("(SELECT * FROM {t} AS i WHERE {icondition}) AS t"),
    _Form("(SELECT * FROM {t} AS i WHERE {icondition} UNION ALL SELECT * FROM {u} AS i) AS t"),
    _Form("(SELECT * FROM {t} AS i {setop} SELECT * FROM {u} AS i WHERE {icondition}) AS t", (_DUCKDB, _DATAFUSION)),
    _Form("(SELECT * FROM {t} AS i ORDER BY id {direction} LIMIT {small}) AS t"),
    _Form("(SELECT id, k, s, f, m, d, b, l, p FROM {t} AS i) AS t (id, k, s, m, f, d, b, l, p)"),
    _Form("{t} AS t (id, k, s, m, f, d, b, l, p)", (_DUCKDB, *_OF_SPARK)),
    _Form(
        "(SELECT z.a1 AS id, z.a2 AS k, z.a3 AS s, z.a4 AS f, z.a5 AS m, z.a6 AS d, z.a7 AS b, z.a8 AS l, z.a9 AS p"
        " FROM {t} AS z (a1, a2, a3, a4, a5, a6, a7, a8, a9)) AS t",
        (_DUCKDB, *_OF_SPARK),
    ),
    _Form("(SELECT i.* FROM {t} AS i {join} {u} AS j ON i.id = j.k AND {icondition}) AS t"),
    _Form("(SELECT i.* FROM {t} AS i {half} JOIN {u} AS j ON i.id = j.k AND {icondition}) AS t"),
    _Form("(SELECT i.* FROM {t} AS i, {u} AS j WHERE i.id = j.k AND {icondition}) AS t"),
    _Form("(SELECT DISTINCT * FROM {t} AS i) AS t", _OF_BOTH),
    _Form("(SELECT * FROM {t} AS i WHERE {icondition}) TABLESAMPLE (100 PERCENT) AS t", (_SPARK,)),
    _Form("(SELECT *, row_number() OVER (PARTITION BY k ORDER BY id) AS n FROM {t} AS i) AS t"),
)


class Queries:
    """Generator of queries.

    engine: whose SQL it is, one of ENGINES
    """

    def __init__(self, chance: random.Random, engine: str) -> None:
        self._chance = chance
        self._engine = engine

    def query(self) -> str:
        source = self._filled(_SOURCES, "t.", 2)
        where = f" WHERE {self._condition('t.', 2)}" if self._chance.random() < 0.8 else ""
        kind = self._chance.randrange(8)
        if kind < 2:
            text = self._grouped(source, where)
        elif kind == 2:
            text = f"SELECT {self._star()} FROM {source}{where}"
        elif kind == 3:
            text = self._with_windows(source, where)
        elif kind == 4:
            inner = f"SELECT {self._star()} FROM {source}{where}"
            text = (
                f"WITH c AS ({inner}) SELECT * FROM c"
                if self._chance.random() < 0.5
                else f"SELECT * FROM ({inner}) AS z"
            )
        elif kind == 5:
            texts = [f"SELECT t.id, {self._value('t.', 1)} AS v FROM {source}{where}" for _ in range(1)]
            texts.append(f"SELECT e.id, NULL FROM {{u}} AS e WHERE {self._condition('e.', 1)}")
            text = f" {self._chance.choice(['UNION', 'UNION ALL', 'EXCEPT', 'INTERSECT'])} ".join(texts)
        else:
            values = ", ".join(f"{self._value('t.', 2)} AS c{at}" for at in range(self._chance.randrange(1, 4)))
            text = f"SELECT t.id, {values} FROM {source}{where}"
            if self._chance.random() < 0.4:
                nulls = self._chance.choice(["", " NULLS FIRST", " NULLS LAST"])
                direction = self._chance.choice(["", " ASC", " DESC"])
                text += f" ORDER BY t.k{direction}{nulls}, t.id"
                if self._engine == _DATAFUSION:
                    # of several partitions it sorts some by fewer columns, over datasets of pyarrow as well
                    return text.replace("%%", "%")
                text += f" LIMIT {self._chance.randrange(9)}"
                text += " OFFSET 1" if self._chance.random() < 0.3 else ""
        return text.replace("%%", "%")

    def _grouped(self, source: str, where: str) -> str:
        key = self._chance.choice(["t.k", "t.b", "t.s"])
        group = self._chance.choice(["{k}", "{k}", "ROLLUP ({k})", "CUBE ({k}, t.b)", "GROUPING SETS (({k}), ())"])
        having = f" HAVING {self._chance.choice(['count(*) > 1', 'NOT count(*) > 2', 'max(t.id) > 4'])}"
        having = having if self._chance.random() < 0.4 else ""
        values = ", ".join(f"{self._aggregate('t.')} AS c{at}" for at in range(self._chance.randrange(1, 3)))
        if self._chance.random() < 0.3:
            return f"SELECT {values} FROM {source}{where}{having}"
        return f"SELECT {key} AS g, {values} FROM {source}{where} GROUP BY {group.format(k=key)}{having}"

    def _with_windows(self, source: str, where: str) -> str:
        window = self._filled(_WINDOWS, "t.", 1)
        qualify = ""
        if self._engine != _SPARK and self._engine != _SAIL and self._chance.random() < 0.3:
            qualify = " QUALIFY row_number() OVER (PARTITION BY t.k ORDER BY t.id) < 3"
        named = " WINDOW w AS (PARTITION BY t.b ORDER BY t.id)" if "OVER w" in window else ""
        if qualify and self._engine == _DUCKDB:
            return f"SELECT t.id, {window} AS w1 FROM {source}{where}{named}{qualify}"
        return f"SELECT t.id, {window} AS w1 FROM {source}{where}{qualify}{named}"

    def _star(self) -> str:
        return self._filled(_STARS, "t.", 1)

    def _condition(self, qualifier: str, depth: int) -> str:
        return self._filled(_CONDITIONS if depth else _CONDITIONS[:30], qualifier, depth)

    def _value(self, qualifier: str, depth: int) -> str:
        return self._filled(_VALUES, qualifier, depth)

    def _aggregate(self, qualifier: str) -> str:
        return self._filled(_AGGREGATES, qualifier, 1)

    def _filled(self, forms: Sequence[_Form], qualifier: str, depth: int) -> str:
        text = self._chance.choice([form.text for form in forms if self._engine in form.engines])
        for place, make in self._places(qualifier, max(depth - 1, 0)).items():
            while place in text:
                text = text.replace(place, make(), 1)
        return text

    def _places(self, qualifier: str, depth: int) -> dict[str, Any]:
        choice = self._chance.choice
        return {
            "{q}": lambda: qualifier,
            "{not}": lambda: choice(["", "NOT "]),
            "{tilde}": lambda: choice(["~", "!~"] if self._engine == _DATAFUSION else ["~"]),
            "{pattern}": lambda: choice(["a%%", "%%an%%", "_", "%%", "A_c", "it''s", "%%b"]),
            "{quantifier}": lambda: choice(["ANY", "ALL", "SOME"]),
            "{compared}": lambda: choice(["=", "<>", "<", "<=", ">", ">=", "!="]),
            "{float}": lambda: choice(["0.0", "0.2", "2", "-7.0", "0.3"]),
            "{small}": lambda: str(self._chance.randrange(6)),
            "{any}": lambda: choice([name for name in COLUMNS if name not in ("l", "p")]),
            "{direction}": lambda: choice(["", "ASC", "DESC"]),
            "{end}": lambda: choice(["FIRST", "LAST"]),
            "{setop}": lambda: choice(["UNION", "INTERSECT", "EXCEPT"]),
            "{join}": lambda: choice(["JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "INNER JOIN"]),
            "{half}": lambda: choice(["LEFT SEMI", "LEFT ANTI"] if self._engine != _DUCKDB else ["SEMI", "ANTI"]),
            "{condition}": lambda: self._condition(qualifier, depth),
            "{econdition}": lambda: self._condition("e.", 0),
            "{icondition}": lambda: self._condition("i.", 1),
        }
