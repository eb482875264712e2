"""Random statements that write, over a table with a column of each kind, for a native table and a Lance one alike."""

from __future__ import annotations

from random import Random
from typing import Final

TABLE: Final = """
    SELECT i::BIGINT AS id, (i % 5)::TINYINT AS i8, (i * 37 % 11)::INTEGER AS g, (i * 3)::UBIGINT AS u,
        i / 4.0::DOUBLE AS f, (i / 8.0)::FLOAT AS r, (i * 1.37)::DECIMAL(10, 2) AS d, (i / 3)::DECIMAL(30, 8) AS w,
        CASE i % 4 WHEN 0 THEN NULL WHEN 1 THEN 'Ab' || i ELSE 'ab' || i END AS s, encode('b' || i) AS b,
        i % 3 = 0 AS k, DATE '2024-01-01' + i::INTEGER AS dt, TIME '00:00:00' + to_minutes(i * 17) AS tm,
        TIMESTAMP '2024-03-09 20:00:00' + to_hours(i) AS ts, TIMESTAMPTZ '2024-03-09 20:00:00+00' + to_hours(i) AS tz,
        {'x': i::INTEGER, 'y': 'y' || i} AS st, [i / 2.0::DOUBLE, NULL] AS l, (i * 1000)::SMALLINT AS h,
        (i * 7)::DECIMAL(38, 0) AS hu, (TIMESTAMP '2024-03-09 20:00:00' + to_hours(i))::TIMESTAMP_S AS tss,
        (TIMESTAMP '2024-03-09 20:00:00' + to_hours(i))::TIMESTAMP_NS AS tn, MAP {'k' || i: i::INTEGER} AS m,
        [i, 1, 2]::INTEGER[3] AS a3, [{'p': i::INTEGER, 'q': i / 2.0::DOUBLE}] AS ls
    FROM range(12) AS t(i)
"""
COLUMNS: Final = (
    "id",
    "i8",
    "g",
    "u",
    "f",
    "r",
    "d",
    "w",
    "s",
    "b",
    "k",
    "dt",
    "tm",
    "ts",
    "tz",
    "st",
    "l",
    "h",
    "hu",
    "tss",
    "tn",
    "m",
    "a3",
    "ls",
)
NUMBERS: Final = ("id", "i8", "g", "u", "f", "r", "d", "w", "h", "hu")
ZONES: Final = ("UTC", "America/New_York", "Asia/Kathmandu", "Pacific/Auckland")

SETUP: Final = """
    CREATE TABLE helper AS SELECT i::INTEGER AS n, (i % 4)::INTEGER AS g, 'h' || i AS s,
        TIMESTAMPTZ '2024-03-10 02:30:00+00' AS tz FROM range(2, 9) AS t(i);
    CREATE MACRO am(x) AS x + 1;
    CREATE MACRO len(x) AS 7;
    CREATE MACRO biggest() AS (SELECT max(n) FROM helper);
    SET VARIABLE v = 5;
    SET VARIABLE word = 'ab1';
"""

LITERALS: Final = (
    *(
        "NULL",
        "0",
        "1",
        "5",
        "-1",
        "300",
        "1e0",
        "2.5",
        "4.35",
        "1.005",
        "19.99",
        "9007199254740993",
        "1234567890123456.7891",
    ),
    *(
        "1_000",
        "true",
        "false",
        "''",
        "'text'",
        "'12'",
        "'1.005'",
        "'4.35'",
        "'no'",
        "'true'",
        "'\\xAA'",
        "'2024-05-06'",
    ),
    *("'2024-01-01 00:00:00'", "'2024-01-01 00:00:00+02'", "'04:05:06'", "'2024-03-10 02:30:00'", "DATE '2024-02-29'"),
    *("TIMESTAMP '2024-03-10 02:30:00'", "TIMESTAMPTZ '2024-01-01 00:00:00+00'", "TIME '23:59:59.5'", "'\\xAA'::BLOB"),
    *(
        "[1, 2]",
        "[1.5, NULL]",
        "['3']",
        "{'x': 1, 'y': NULL}",
        "{'y': 'a', 'x': 2}",
        "{'x': '7', 'y': 8}",
        "INTERVAL 1 DAY",
    ),
    *("getvariable('v')", "getvariable('word')", "am(3)", "len('abc')", "biggest()", "(SELECT max(n) FROM helper)"),
    *(
        "(SELECT count(*) FROM {t})",
        "'NaN'::DOUBLE",
        "'inf'::FLOAT",
        "1 / 3",
        "7 // 2",
        "2 ** 10",
        "current_setting('TimeZone')",
    ),
    *("TIMESTAMPTZ '2024-03-10 07:30:00+00'::VARCHAR", "TIMESTAMP '2024-11-03 01:30:00'::TIMESTAMPTZ::VARCHAR", "'A'"),
)


class Generator:
    """Statements with {t} where the table is.

    seed: the same statements for the same seed
    """

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)
        self._next_id = 100

    def statement(self) -> str:
        """One statement."""
        kinds = (self._insert_values, self._insert_query, self._update, self._update_from, self._delete, self._merge)
        return self._random.choices(kinds, weights=(4, 2, 5, 2, 3, 4))[0]()

    def _pick(self, *options: str) -> str:
        return self._random.choice(options)

    def _literal(self) -> str:
        return self._random.choice(LITERALS)

    def _fitting(self, column: str) -> str:
        """A value that the column often takes."""
        by_column = {
            "s": (
                "'New'",
                "'ab2'",
                "upper('é')",
                "5",
                "true",
                "1.50",
                "DATE '2024-01-01'",
                "TIMESTAMP '2024-01-01 00:00:00'",
            ),
            "b": ("'\\xAA'", "'abc'", "'\\xAA'::BLOB", "encode('ü')"),
            "k": ("true", "'no'", "1", "0.0", "NULL"),
            "dt": (
                "'2024-05-06'",
                "TIMESTAMPTZ '2024-03-10 03:00:00+00'",
                "DATE '2024-02-29'",
                "TIMESTAMP '2024-03-10 23:00:00'",
            ),
            "tm": ("'04:05:06'", "TIME '23:59:59.5'", "TIMESTAMP '2024-03-10 02:30:00'::TIME"),
            "ts": (
                "'2024-01-01 00:00:00'",
                "TIMESTAMPTZ '2024-03-10 07:30:00+00'",
                "DATE '2024-02-29'",
                "TIMESTAMP '2024-03-10 02:30:00'",
            ),
            "tz": (
                "'2024-01-01 00:00:00'",
                "TIMESTAMP '2024-03-10 02:30:00'",
                "DATE '2024-02-29'",
                "'2024-01-01 00:00:00+02'",
            ),
            "st": ("{'x': 1, 'y': NULL}", "{'y': 'a', 'x': 2}", "{'x': '7', 'y': 8}", "row(3, 'z')", "NULL"),
            "tss": (
                "'2024-01-01 00:00:00'",
                "TIMESTAMP '2024-03-10 02:30:00.7'",
                "TIMESTAMPTZ '2024-03-10 07:30:00+00'",
            ),
            "tn": ("'2024-01-01 00:00:00.123456789'", "TIMESTAMP '2024-03-10 02:30:00'", "DATE '2024-02-29'"),
            "m": ("MAP {'a': 1}", "MAP {'a': '2', 'b': NULL}", "MAP {}", "NULL"),
            "a3": ("[1, 2, 3]", "[1.5, 2.5, NULL]", "[1, 2]", "['7', '8', '9']", "NULL"),
            "ls": ("[{'p': 1, 'q': 4.35}]", "[{'q': 1, 'p': 2.5}, NULL]", "[]", "NULL", "[{'p': '3', 'q': '1.5'}]"),
            "l": ("[1, 2]", "[1.5, NULL]", "['3']", "[]", "NULL", "[4.35]"),
        }
        if column in by_column:
            return self._pick(*by_column[column])
        return self._pick(
            "5", "4.35", "2.5", "1.005", "1e0", "'12'", "true", "NULL", "am(2)", "getvariable('v')", "0.1 + 0.2"
        )

    def _value(self, column: str, alias: str = "") -> str:
        """A value for a column, of the row's own columns where there is an alias or none is needed."""
        roll = self._random.random()
        if roll < 0.5:
            return self._fitting(column)
        if roll < 0.7:
            return self._literal()
        return self._of_row(alias)

    def _of_row(self, alias: str) -> str:
        q = f"{alias}." if alias else ""
        n = q + self._random.choice(NUMBERS)
        m = q + self._random.choice(NUMBERS)
        return self._pick(
            *(n, f"{n} + 1", f"{n} * {m}", f"{n} / 3", f"am({n})", f"-{n}", f"round({n}, 1)", f"{q}s", f"{q}s || 'x'"),
            *(f"upper({q}s)", f"len({q}s)", f"length({q}s)", f"{q}tz::VARCHAR", f"{q}tz::DATE", f"{q}ts::TIMESTAMPTZ"),
            *(
                f"{q}tz::TIMESTAMP",
                f"{q}ts::VARCHAR",
                f"{q}dt",
                f"{q}ts",
                f"{q}tz",
                f"{q}tm",
                f"{q}st",
                f"{q}st.x",
                f"{q}st.y",
            ),
            *(
                f"{q}l",
                f"{q}l[1]",
                f"{q}b",
                f"{q}k",
                f"{q}tz + INTERVAL 1 DAY",
                f"date_trunc('day', {q}tz)",
                f"{n}::VARCHAR",
            ),
            *(
                f"CASE WHEN {q}k THEN {n} ELSE 4.35 END",
                f"coalesce({q}s, 'none')",
                f"(SELECT max(h.n) FROM helper AS h WHERE h.g < {n})",
            ),
            *(
                f"hour({q}tz)",
                f"strftime({q}tz, '%H:%M')",
                f"list_sum({q}l)",
                f"[{n}, 1.5]",
                f"{q}m",
                f"{q}a3",
                f"{q}ls",
                f"{q}tn",
                f"{q}tss",
                f"{q}m['k2']",
                f"{q}ls[1].q",
                f"{{'x': {n}, 'y': {q}s}}",
            ),
        )

    def _condition(self, alias: str = "") -> str:
        q = f"{alias}." if alias else ""
        n = q + self._random.choice(NUMBERS)
        k = self._random.randint(-1, 12)
        made = self._pick(
            *(
                f"{q}id < {k}",
                f"{q}id % 3 = {k % 3}",
                f"{q}g = {k}",
                f"{n} > {k}.5",
                f"{n} IN ({k}, 4.35, 7)",
                f"{q}f = 4.35",
            ),
            *(
                f"{q}tz >= '2024-03-10 02:30:00'",
                f"{q}tz >= TIMESTAMP '2024-03-10 00:00:00'",
                f"{q}tz::DATE = DATE '2024-03-10'",
            ),
            *(
                f"{q}ts < TIMESTAMPTZ '2024-03-10 05:00:00+00'",
                f"{q}tz::VARCHAR LIKE '2024-03-09%'",
                f"hour({q}tz) > 12",
            ),
            *(
                f"{q}s = 'AB{k}'",
                f"{q}s LIKE 'ab%'",
                f"{q}s ~ 'ab.*'",
                f"{q}s ~ 'b'",
                f"{q}s IS NULL",
                f"{q}s > 'ab5'",
                f"{q}s IN ('ab2', 'AB3')",
            ),
            *(
                f"{q}st.x = {k}",
                f"{q}st.y = 'y{k}'",
                f"{q}k",
                f"NOT {q}k",
                f"{q}dt > '2024-01-05'",
                f"{q}tm < '01:00:00'",
            ),
            *(
                f"am({n}) > {k}",
                f"len({q}s) = 7",
                f"{q}g = getvariable('v')",
                f"{q}s = getvariable('word')",
                f"{q}d > 4.35",
            ),
            *(
                f"{q}g IN (SELECT n FROM helper)",
                f"EXISTS (SELECT 1 FROM helper AS h WHERE h.n = {n})",
                f"{q}id = biggest()",
            ),
            *(
                f"random() < 2 AND {q}id > {k}",
                f"{n} IS DISTINCT FROM {k}",
                f"{q}id BETWEEN {k} AND {k + 4}",
                f"{q}l[1] > {k}",
            ),
            *(
                f"{q}id > (SELECT avg(id) FROM {{t}})",
                f"abs({n} - {k}) < 3",
                f"CASE WHEN {q}k THEN {n} > 3 ELSE {n} < 9 END",
            ),
        )
        if self._random.random() < 0.25:
            made = f"({made}) {self._pick('AND', 'OR')} ({self._condition(alias)})"
        return made

    def _target(self) -> tuple[str, str]:
        """The table as a statement names it, and what its columns are called by."""
        alias = self._pick("", "", "x", "st")
        return ("{t}", self._pick("", "tt")) if not alias else (f"{{t}} AS {alias}", self._pick("", alias))

    def _sets(self, alias: str) -> str:
        columns = self._random.sample(COLUMNS[1:], self._random.choice((1, 1, 2, 3)))
        return ", ".join(f"{column} = {self._value(column, alias)}" for column in columns)

    def _update(self) -> str:
        table, alias = self._target()
        return f"UPDATE {table} SET {self._sets(alias)} WHERE {self._condition(alias)}"

    def _update_from(self) -> str:
        table, alias = self._target()
        alias = alias or ("tt" if table == "{t}" else table.split()[-1])
        column = self._random.choice(COLUMNS[1:])
        value = self._pick("h.n", "h.s", "h.tz", "h.n / 4", f"h.n + {alias}.id", self._fitting(column))
        where = f"h.n = {alias}.id AND ({self._condition(alias)})"
        return f"UPDATE {table} SET {column} = {value} FROM helper AS h WHERE {where}"

    def _delete(self) -> str:
        table, alias = self._target()
        return f"DELETE FROM {table} WHERE {self._condition(alias)} AND id % 4 = {self._random.randint(0, 3)}"

    def _new_id(self) -> int:
        self._next_id += 1
        return self._next_id

    def _insert_values(self) -> str:
        columns = ["id", *self._random.sample(COLUMNS[1:], self._random.choice((1, 2, 4)))]
        rows = []
        for _ in range(self._random.choice((1, 2, 3))):
            values = [
                str(self._new_id()),
                *(self._pick(self._fitting(c), self._fitting(c), self._literal()) for c in columns[1:]),
            ]
            rows.append(f"({', '.join(values)})")
        return f"INSERT INTO {{t}} ({', '.join(columns)}) VALUES {', '.join(rows)}"

    def _insert_query(self) -> str:
        column = self._random.choice(COLUMNS[1:])
        start = self._new_id() * 1000
        return self._pick(
            f"INSERT INTO {{t}} (id, {column}) SELECT n + {start}, {self._fitting(column)} FROM helper WHERE n < 6",
            f"INSERT INTO {{t}} BY NAME SELECT {self._value(column)} AS {column}, id + {start} AS id"
            " FROM {t} WHERE id < 4",
            f"INSERT INTO {{t}} (id, {column}) SELECT id + {start}, {self._of_row('o')} FROM {{t}} AS o"
            f" WHERE ({self._condition('o')}) AND id < 12",
            f"WITH c AS (SELECT n FROM helper) INSERT INTO {{t}} (id, {column})"
            f" SELECT n + {start}, {self._literal()} FROM c",
        )

    def _merge(self) -> str:
        source = self._pick(
            "(SELECT n AS id, g, s, tz, n / 3 AS part FROM helper)",
            "(SELECT id + 6 AS id, g::INTEGER AS g, s, tz, d AS part FROM {t} WHERE id < 12)",
            "(VALUES (1, 2, 'AB', TIMESTAMPTZ '2024-03-10 02:30:00+00', 4.35),"
            " (50 + getvariable('v'), 3, NULL, NULL, 1.5))",
        )
        name = "h(id, g, s, tz, part)" if source.startswith("(VALUES") else "h"
        clauses = [self._merge_clause("MATCHED", self._pick("x", "h")) for _ in range(self._random.choice((1, 1, 2)))]
        if len(clauses) == 2 and clauses[0].startswith("WHEN MATCHED THEN"):
            # nothing reaches the second, which DuckDB 2.0 refuses and 1.5 does not
            clauses.pop()
        if self._random.random() < 0.6:
            clauses.append(self._merge_clause("NOT MATCHED", "h"))
        if self._random.random() < 0.3:
            clauses.append(self._merge_clause("NOT MATCHED BY SOURCE", "x"))
        return f"MERGE INTO {{t}} AS x USING {source} AS {name} ON x.id = h.id {' '.join(clauses)}"

    def _merge_clause(self, kind: str, alias: str) -> str:
        conditions = {
            "h": (
                "h.g > 1",
                "h.g IN (SELECT n FROM helper)",
                "random() < 2",
                "h.s LIKE 'h%'",
                "len(h.s) = 7",
                "h.tz >= '2024-03-10'",
            ),
            "x": (
                "x.k",
                "x.st.x > 3",
                "random() < 2",
                "x.g = getvariable('v')",
                "x.tz >= '2024-03-10 02:30:00'",
                "am(x.id) > 4",
            ),
        }
        condition = f" AND {self._pick(*conditions[alias])}" if self._random.random() < 0.6 else ""
        if kind == "NOT MATCHED":
            column = self._random.choice(COLUMNS[1:])
            value = self._pick("h.s", "h.part", "h.tz", "h.g", self._fitting(column))
            start = self._new_id() * 1000
            action = f"INSERT (id, {column}) VALUES (h.id + {start}, {value})"
        elif kind == "NOT MATCHED BY SOURCE":
            action = (
                self._pick("DELETE", f"UPDATE SET {self._sets('x')}") if condition else f"UPDATE SET {self._sets('x')}"
            )
        else:
            column = self._random.choice(COLUMNS[1:])
            value = self._pick("h.s", "h.part", "h.tz", "h.g + x.g", "x.st.x + h.g", self._value(column, "x"))
            action = self._pick(
                f"UPDATE SET {column} = {value}", f"UPDATE SET {column} = {value}", "DELETE", "DO NOTHING"
            )
            action = action if condition or action != "DELETE" else f"UPDATE SET {column} = {value}"
        return f"WHEN {kind}{condition} THEN {action}"
