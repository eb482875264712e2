"""Statements through every interface, compared with DuckDB over native tables.

A statement of the corpus names {t} and {u}: paths in quotes, paths without, or names of a catalog here, each alone or
with a branch, a tag or a version, and tables of DuckDB there. A door gives the same rows, or refuses in a line; none
changes or refuses what is DuckDB's own.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

import duckdb
import pytest
from click.testing import CliRunner

import lance_sql
from lance_sql.cli import main
from lance_sql.errors import LanceError
from lance_sql.providers.duckdb.protocol import has_sources

_T: Final = "SELECT i AS id, i % 3 AS k, 'v' || i AS v, i * 2 AS versions FROM range(8) AS r(i)"
_U: Final = "SELECT i AS id, 'u' || i AS w FROM range(3, 12) AS r(i)"

QUERIES: Final = (
    "SELECT * FROM {t} ORDER BY id",
    "FROM {t} SELECT id, v WHERE id > 3 ORDER BY ALL",
    "SELECT t.id, u.w FROM {t} JOIN {u} ON t.id = u.id ORDER BY t.id",
    "SELECT t.* FROM {t} WHERE t.id < 2 ORDER BY T.ID",
    "SELECT x.id FROM {t} AS x WHERE x.id IN (SELECT u.id FROM {u}) ORDER BY 1",
    "SELECT id, (SELECT max(u.w) FROM {u} WHERE u.id = x.id) AS m FROM {t} AS x ORDER BY id",
    "SELECT id FROM {t} WHERE versions BETWEEN 1 AND 5 ORDER BY id",
    "SELECT id AS version, k AS changes FROM {t} ORDER BY version",
    "WITH t AS (SELECT 7 AS id) SELECT t.id FROM t",
    "WITH a AS (FROM {t}), b AS (FROM {u}) SELECT count(*) FROM a JOIN b USING (id)",
    "SELECT count(*) FROM {t} UNION ALL SELECT count(*) FROM {u} ORDER BY 1",
    "SELECT id FROM {t} EXCEPT SELECT id FROM {u} ORDER BY id",
    "SELECT k, list(id ORDER BY id) FROM {t} GROUP BY ALL ORDER BY k",
    "SELECT k, count(*) FILTER (WHERE id > 2) FROM {t} GROUP BY CUBE (k) ORDER BY k",
    "SELECT id, row_number() OVER (PARTITION BY k ORDER BY id) AS n FROM {t} QUALIFY n = 1 ORDER BY id",
    "PIVOT {t} ON k USING sum(id) GROUP BY v ORDER BY v",
    "PIVOT (SELECT id, k FROM {t}) ON k IN (0, 1) USING sum(id) GROUP BY id ORDER BY id",
    "UNPIVOT (SELECT id, versions FROM {t}) ON id, versions INTO NAME n VALUE a ORDER BY ALL",
    "UNPIVOT {t} ON id, versions INTO NAME n VALUE a ORDER BY ALL",
    "SELECT COLUMNS('i.*') FROM {t} ORDER BY ALL",
    "SELECT * EXCLUDE (v) REPLACE (k + 1 AS k) FROM {t} ORDER BY id",
    "SELECT * FROM {t} POSITIONAL JOIN {u} ORDER BY ALL",
    "FROM {t} AS f SEMI JOIN {u} USING (id) SELECT count(*)",
    "FROM {t} ANTI JOIN {u} USING (id) SELECT count(*)",
    "SELECT * FROM {t} ASOF JOIN {u} USING (id) ORDER BY ALL",
    "SELECT v FROM {t}, LATERAL (SELECT {t2}.id + 1 AS n) ORDER BY v",
    "SELECT id FROM {t} WHERE v LIKE '%.lance%' OR v = $$v1$$ OR v = $x$v2$x$ ORDER BY id",
    "SELECT count(*) /* FROM 'x.lance' VERSION AS OF 1 */ FROM {t} -- 'y.lance'",
    "SELECT 'it''s .lance' AS a, \"id\" AS \"x.lance\" FROM {t} LIMIT 1",
    "SELECT {'a.lance': id, 'b': [k, {'c': v}]} FROM {t} ORDER BY id",
    "SELECT [x + 1 FOR x IN [id, k] IF x > 1] FROM {t} ORDER BY id",
    "SELECT id::VARCHAR COLLATE NOCASE, TRY_CAST(v AS INT), v[1:1], v ~ 'v[12]' FROM {t} ORDER BY id",
    "SELECT DISTINCT ON (k) k, id FROM {t} ORDER BY k, id",
    "SELECT count(*) FROM {t} TABLESAMPLE 100%",
    "SELECT extract(year FROM t.lance), trim(BOTH FROM 'x.lance') FROM (SELECT DATE '2026-01-01' AS lance) AS t",
    "SELECT * FROM {t} ORDER BY id DESC NULLS LAST LIMIT 3 OFFSET 1",
    "SELECT id FROM {t} LIMIT 50%",
    "VALUES ((SELECT count(*) FROM {t})), (1)",
    "SELECT EXISTS (FROM {u} WHERE w = 'u5'), 3 IN (SELECT id FROM {t})",
    "SELECT id FROM {t} WHERE id = ANY (SELECT id FROM {u}) ORDER BY id",
    "DESCRIBE {t}",
    "DESC {t}",
    "DESCRIBE SELECT id FROM {t}",
    "SUMMARIZE {t}",
    "SELECT column_name FROM (DESCRIBE {t})",
    "TABLE {t} ORDER BY id",
    "WITH RECURSIVE r AS (SELECT 0 AS n UNION ALL SELECT n + 1 FROM r WHERE n < 3)"
    " SELECT v FROM {t} JOIN r ON id = n ORDER BY v",
)
CHANGES: Final = (
    "INSERT INTO {t} VALUES (20, 1, 'a', 2), (21, 2, 'b.lance', 3)",
    "INSERT INTO {t} (v, id) VALUES ('a', 20)",
    "INSERT INTO {t} (FROM {t} WHERE id < 2)",
    "INSERT INTO {t} (SELECT * FROM {t} WHERE id < 2) UNION ALL (FROM {t} LIMIT 0)",
    "INSERT INTO {t} BY POSITION SELECT 20, 1, 'a', 2",
    "INSERT INTO {t} BY POSITION (FROM {t} WHERE id = 1)",
    "INSERT INTO {t} BY NAME SELECT 'a' AS v, 20 AS id",
    "INSERT INTO {t} AS z VALUES (20, 1, 'a', 2)",
    "INSERT INTO {t} SELECT id + 10, k, v, versions FROM {t} WHERE versions BETWEEN 2 AND 6",
    "INSERT INTO {t} (id, v) SELECT id, w FROM {u} WHERE u.id > 5",
    "WITH c AS (SELECT 30 AS id) INSERT INTO {t} (id) FROM c",
    "UPDATE {t} SET v = 'x', k = k + 1 WHERE id % 2 = 0",
    "UPDATE {t} AS x SET v = w FROM {u} WHERE x.id = u.id",
    "UPDATE {t} SET v = CASE WHEN v ~ 'v[12]' THEN $$it's$$ ELSE v END WHERE true",
    "DELETE FROM {t} WHERE id > 4",
    "DELETE FROM {t} USING {u} WHERE t.id = u.id",
    "DELETE FROM {t} WHERE id IN (SELECT id FROM {u})",
    "MERGE INTO {t} AS t USING {u} AS u ON t.id = u.id WHEN MATCHED THEN UPDATE SET v = u.w"
    " WHEN NOT MATCHED THEN INSERT (id, v) VALUES (u.id, u.w)",
    "MERGE INTO {t} AS t USING (SELECT 1 AS id) AS s USING (id) WHEN MATCHED THEN DELETE",
    "MERGE INTO {t} AS t USING (SELECT 1 AS id) s ON t.id = s.id WHEN NOT MATCHED BY SOURCE AND t.id > 5 THEN DELETE",
    *(
        f"MERGE INTO {{t}} AS t USING (SELECT {source}) AS s ON t.id = s.id WHEN {action}"
        for source in (
            "1 AS id",
            "1 AS id, 7 AS k, 'new' AS v, 8 AS versions",
            "1 AS id, 8 AS versions, 'new' AS v, 7 AS k",
            "'77' AS v, 1 AS id, 7 AS k, 8 AS versions",
            "50 AS id, 8 AS versions, 'new' AS v, 7 AS k",
        )
        for action in (
            "MATCHED THEN UPDATE",
            "MATCHED THEN UPDATE BY NAME",
            "MATCHED THEN UPDATE BY POSITION",
            "NOT MATCHED THEN INSERT",
            "NOT MATCHED THEN INSERT BY NAME",
            "NOT MATCHED THEN INSERT BY NAME *",
            "NOT MATCHED THEN INSERT BY POSITION *",
            "NOT MATCHED THEN INSERT VALUES (s.id, 1, 'x', 2)",
            "MATCHED THEN UPDATE BY NAME WHEN NOT MATCHED THEN INSERT BY POSITION",
        )
    ),
    "MERGE INTO {t} AS t USING (SELECT 1 AS id) AS s ON t.id = s.id WHEN MATCHED THEN ERROR",
    "TRUNCATE {t}",
    "INSERT OR REPLACE INTO {t} VALUES (1, 1, 'a', 2)",
    "INSERT INTO {t} VALUES (1, 1, 'a', 2) ON CONFLICT DO NOTHING",
    "INSERT INTO {t} VALUES (1, 1, 'a', 2) RETURNING id",
    "COPY {t} FROM 'rows.csv'",
    "EXPLAIN INSERT INTO {t} VALUES (1, 1, 'a', 2)",
    "PREPARE p AS DELETE FROM {t} WHERE id = $1",
    "INSERT INTO {t} SELECT 1",
    "INSERT INTO {t} VALUES (1, 'no number', 'a', 2)",
    "UPDATE {t} SET nothing = 1 WHERE true",
    "DELETE FROM {t} WHERE id = " + "(" * 300 + "1" + ")" * 300,
)
# {s} are statements of DuckDB itself; the last one is a question
OWN: Final = (
    ("CREATE TABLE own AS SELECT * FROM {t}", "FROM own ORDER BY ALL"),
    *(
        ("CREATE TABLE own AS SELECT * FROM {t} LIMIT 0", f"INSERT INTO own {query}", "FROM own ORDER BY ALL")
        for query in (
            "(FROM {t})",
            "((FROM {t}))",
            "(id) (FROM {t} SELECT id)",
            "(FROM {t} SELECT id, k, v, versions WHERE id IN (SELECT id FROM {u}))",
            "FROM {t}",
            "(WITH c AS (FROM {t}) FROM c)",
        )
    ),
    *(
        (
            f"CREATE TABLE {word} AS SELECT id FROM {{t}}",
            f"ALTER TABLE {word} ADD COLUMN b INT",
            f"FROM {word} ORDER BY ALL",
        )
        for word in ("date", "time", "interval", "list", "map", "struct", "json", "index", "format", "comment", "view")
    ),
    (
        "CREATE TABLE date (a INT)",
        "COMMENT ON TABLE date IS 'x.lance'",
        "CREATE INDEX i ON date (a)",
        "DROP TABLE date",
        "SELECT 1",
    ),
    ("CREATE TEMP TABLE x AS FROM {t}", "DROP TABLE temp.x", "SELECT 1"),
    (
        "CREATE TABLE pk (id BIGINT PRIMARY KEY, s VARCHAR)",
        "INSERT INTO pk SELECT id, v FROM {t} ON CONFLICT DO NOTHING",
        "INSERT INTO pk VALUES (1, 'x.lance') ON CONFLICT DO UPDATE SET s = excluded.s",
        "INSERT OR REPLACE INTO pk VALUES (2, 'b')",
        "FROM pk ORDER BY id",
    ),
    (
        "CREATE TABLE nn AS SELECT id FROM {t} WHERE versions BETWEEN 1 AND 5",
        "UPDATE nn SET id = id + 1 RETURNING id",
        "FROM nn ORDER BY ALL",
    ),
    (
        "CREATE TABLE own AS FROM {t}",
        "DELETE FROM own USING {u} WHERE own.id = u.id",
        "INSERT INTO own BY POSITION FROM {t}",
        "INSERT INTO own (SELECT * FROM {t})",
        "MERGE INTO own USING {u} ON own.id = u.id WHEN MATCHED THEN UPDATE SET v = u.w",
        "TRUNCATE own",
        "FROM own",
    ),
    (
        "CREATE SCHEMA version",
        "CREATE TABLE version.changes (restore INT)",
        "INSERT INTO version.changes VALUES (1)",
        "UPDATE version.changes SET restore = 2",
        "FROM version.changes",
    ),
    (
        "CREATE SCHEMA lance",
        "CREATE TABLE lance.orders AS FROM {t}",
        "DELETE FROM lance.orders WHERE id > 1",
        "FROM lance.orders ORDER BY id",
    ),
    ("CREATE VIEW own AS SELECT * FROM {t} WHERE id > 3", "SELECT count(*) FROM own"),
    ("CREATE MACRO plus(a) AS a + 1", "SELECT plus(id) FROM {t} ORDER BY id"),
    ("CREATE MACRO rows(n) AS TABLE FROM {t} WHERE id < n", "SELECT count(*) FROM rows(3)"),
    ("PREPARE p AS SELECT count(*) FROM {t} WHERE id > $1", "EXECUTE p(3)"),
    ("SET VARIABLE z = 'a.lance'", "SELECT getvariable('z'), count(*) FROM {t}"),
    ("CREATE TYPE mood AS ENUM ('a.lance', 'b')", "SELECT 'b'::mood, count(*) FROM {t}"),
    (
        "CREATE TABLE own AS FROM {t}",
        "VACUUM ANALYZE",
        "VACUUM ANALYZE own",
        "VACUUM (ANALYZE)",
        "ANALYZE own",
        "SELECT 1",
    ),
    ("ATTACH ':memory:' AS other", "CREATE TABLE other.t AS FROM {t}", "SELECT count(*) FROM other.t"),
    ("COPY (FROM {t} ORDER BY id) TO 'out.csv' (HEADER)", "FROM 'out.csv'"),
    ("COPY {t} TO 'out.parquet'", "SELECT count(*) FROM 'out.parquet'"),
    ("CREATE TABLE own (id INT)", "COPY own FROM 'ids.csv'", "FROM own ORDER BY id"),
    ("CREATE SEQUENCE s", "SELECT nextval('s') FROM {t}"),
    (
        "BEGIN",
        "CREATE TABLE own AS FROM {t}",
        "ROLLBACK",
        "SELECT count(*) FROM duckdb_tables() WHERE table_name = 'own'",
    ),
    ("EXPLAIN SELECT * FROM {t}", "EXPLAIN ANALYZE SELECT * FROM {t}", "SELECT 1"),
    ("SELECT count(*) FROM {t} WHERE id = " + "(" * 300 + "1" + ")" * 300,),
    ("SELECT " + "CASE WHEN true THEN " * 200 + "id" + " ELSE 0 END" * 200 + " FROM {t} ORDER BY 1",),
)

REFUSED: Final = {"sql": ("SELECT column_name FROM (DESC",), "command line": ("SELECT column_name FROM (DESC",)}
"""What a door refuses, by what it begins with."""

Run = Callable[[str], list[tuple[Any, ...]]]


@pytest.fixture(autouse=True)
def _in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("rows.csv").write_text("1,1,a,2\n")
    Path("ids.csv").write_text("5\n6\n")


def make_tables(place: str = "path", *, have_keys: bool = False) -> None:
    """Makes the tables; those of places with a branch, a tag or a version have other rows as their newest of main.

    have_keys: the ids are primary keys
    """
    source = duckdb.connect()
    for name, query in (("t", _T), ("u", _U)):
        rows, path = source.sql(query).to_arrow_table(), f"{'a/' if place == 'folder' else ''}{name}.lance"
        if have_keys:
            id = rows.schema.field("id").with_nullable(False)
            key = id.with_metadata({"lance-schema:unenforced-primary-key": "true"})
            rows = rows.cast(rows.schema.set(rows.schema.get_field_index("id"), key))
        if place not in (*BRANCHES, *EARLIER):
            lance_sql.write(rows, path)
            continue
        table = lance_sql.write(rows.slice(2, 1), path)
        if place in BRANCHES:
            table.branches.create("load")
            lance_sql.write(rows, path, mode="overwrite", branch="load")
        else:
            lance_sql.write(rows, path, mode="overwrite").tags.create("kept")
            lance_sql.write(rows.slice(2, 1), path, mode="overwrite")


def native_tables() -> Any:
    connection = duckdb.connect()
    connection.execute(f"CREATE TABLE t AS {_T}; CREATE TABLE u AS {_U}")
    return connection


def spelled(text: str, t: str, u: str) -> str:
    return text.replace("{t2}", "t").replace("{t}", t).replace("{u}", u)


PLACES: Final = {
    "path": ("'t.lance'", "'u.lance'"),
    "folder": ("'a/t.lance'", "'a/u.lance'"),
    "plain": ("t.lance", "u.lance"),
    "catalog": ("lake.t", "LAKE.U"),
}
BRANCHES: Final = {
    "branch": ("'t.lance@load'", '"u.lance@load"'),
    "branch of a plain path": ("t.lance@load", "u.lance@load"),
    "branch in a catalog": ("lake.t@load", 'LAKE."u@load"'),
}
EARLIER: Final = {
    "tag": ("'t.lance@kept'", "u.lance@kept"),
    "version": ("'t.lance@2'", "'u.lance@-1'"),
    "tag in a catalog": ("lake.t@kept", 'LAKE."u@kept"'),
}
ALL_PLACES: Final = {**PLACES, **BRANCHES, **EARLIER}


def _slow_but(places: Iterable[str], *sample: str) -> list[Any]:
    return [place if place in sample else pytest.param(place, marks=pytest.mark.slow) for place in places]


def doors_to(place: str) -> Iterator[tuple[str, Run]]:
    def connection() -> Any:
        made = lance_sql.connect()
        return lance_sql.attach(made, ".", as_="lake") if "catalog" in place else made

    if has_sources():
        own = connection()
        yield "connection", lambda text: own.execute(text).fetchall()
        if place in ("path", "branch"):
            related = connection()
            yield "relation", lambda text: _rows(related.sql(text))
    other = connection()
    yield "sql", lambda text: lance_sql.sql(text, connection=other, all_rows=True).fetchall()
    if place in ("path", "branch"):
        yield "command line", _by_command_line


def _rows(relation: Any) -> list[tuple[Any, ...]]:
    rows: list[tuple[Any, ...]] = [] if relation is None else relation.fetchall()
    return rows


class _OfCommandLineError(LanceError):
    """Raised with the message of the command line."""


def _by_command_line(text: str) -> list[tuple[Any, ...]]:
    result = CliRunner().invoke(main, [text, "-o", "json", "--yes", "--all"])
    if result.exit_code:
        assert "Traceback" not in result.output
        raise _OfCommandLineError(result.stderr)
    return [tuple(row.values()) for row in json.loads(result.stdout)] if result.stdout.strip() else []


def in_words(rows: list[tuple[Any, ...]]) -> list[str]:
    """Rows in words that JSON keeps; Arrow has decimals for numbers that are too long for it."""
    return [str([None if value is None else str(_number(value)) for value in row]) for row in rows]


def _number(value: Any) -> Any:
    return int(value) if isinstance(value, Decimal) and value == int(value) else value


def answer_of(run: Run, text: str) -> list[str] | None:
    """Returns the result of a statement; None if it is refused."""
    try:
        return in_words(run(text))
    except (LanceError, duckdb.Error) as error:
        message = str(error)
        # DuckDB shows where it stopped, and this project has one line
        assert message.strip()
        return None


@pytest.mark.parametrize("place", _slow_but(ALL_PLACES, *PLACES, "branch of a plain path", "tag"))
def test_queries_give_what_they_give_of_tables_of_duckdb(place: str) -> None:
    make_tables(place)
    native, doors = native_tables(), list(doors_to(place))
    different = []
    for query in QUERIES:
        expected = answer_of(lambda text: native.execute(text).fetchall(), spelled(query, "t", "u"))
        for name, run in doors:
            if name == "command line" and query.startswith("SUMMARIZE"):
                # 0.00 percent is 0 in JSON
                continue
            is_refused = any(query.startswith(words) for words in REFUSED.get(name, ()))
            text = spelled(query, *ALL_PLACES[place])
            answer = answer_of(run, text)
            if answer != expected and not (is_refused and answer is None):
                different.append((name, text, answer, expected))
    assert not different


def _is_refused(change: str) -> bool:
    words = ("THEN ERROR", "OR REPLACE", "CONFLICT", "RETURNING", "COPY", "EXPLAIN", "PREPARE")
    return any(word in change for word in (*words, "((((", "USING (id)", "WITH c AS"))


@pytest.mark.parametrize(
    "place", ["path", *_slow_but(["plain", "catalog"], "catalog"), *_slow_but(BRANCHES, "branch in a catalog")]
)
def test_changes_do_what_they_do_to_a_table_of_duckdb(place: str) -> None:
    make_tables(place)
    doors, branch = list(doors_to(place)), "load" if place in BRANCHES else None
    different = []
    for change in CHANGES:
        native = native_tables()
        after = answer_of(lambda text: native.execute(text).fetchall(), spelled(change, "t", "u"))  # noqa: B023 - called at once
        expected = in_words(native.execute("FROM t ORDER BY ALL").fetchall())
        for name, run in doors:
            version = _made_again("t.lance", branch)
            said = _said(run, spelled(change, *ALL_PLACES[place]))
            table = lance_sql.open("t.lance", branch=branch)
            if said is None:
                is_right = after is not None and in_words(_sorted(table)) == expected
            else:
                is_ours = "base table" not in said and ("does not exist" not in said or "nothing" in change)
                is_right = is_ours and table.version == version and (after is None or _is_refused(change))
            if not is_right:
                different.append((name, change, said))
    assert not different
    if branch is not None:
        assert lance_sql.open("t.lance").version == 1


@pytest.mark.parametrize("place", _slow_but(EARLIER, "tag in a catalog"))
def test_changes_of_an_earlier_version_are_refused(place: str) -> None:
    make_tables(place)
    different = []
    for name, run in doors_to(place):
        for change in CHANGES:
            said = _said(run, spelled(change, *ALL_PLACES[place]))
            if said is None or lance_sql.open("t.lance").version != 3:
                different.append((name, change, said))
    assert not different


def _made_again(path: str, branch: str | None) -> int:
    """Gives a table its first rows; its version."""
    table, first = lance_sql.open(path, branch=branch), 1 if branch is None else 2
    return table.version if table.version == first else table.restore(first).version


def _said(run: Run, text: str) -> str | None:
    """Returns the error of a statement; None if it succeeded."""
    try:
        run(text)
    except (LanceError, duckdb.Error) as error:
        return str(error)
    return None


def _sorted(table: Any) -> list[tuple[Any, ...]]:
    rows: list[tuple[Any, ...]] = duckdb.connect().from_arrow(table.to_table()).order("ALL").fetchall()
    return rows


@pytest.mark.skipif(not has_sources(), reason="connections of DuckDB 1.5 take no statements")
@pytest.mark.parametrize("place", ["path", "plain"])
def test_statements_of_duckdb_stay_its_own(place: str) -> None:
    make_tables(place)
    different = []
    for statements in OWN:
        native, own = native_tables(), next(doors_to(place))[1]
        for text in statements:
            expected = native.execute(spelled(text, "t", "u")).fetchall()
            try:
                answer: Any = own(spelled(text, *PLACES[place]))
            except (LanceError, duckdb.Error) as error:
                answer = str(error)
            if answer != expected and not text.startswith("EXPLAIN"):
                different.append((text, answer, expected))
    assert not different


def test_statements_of_duckdb_run_on_the_command_line() -> None:
    make_tables()
    failed = []
    for statements in OWN:
        whole = "; ".join(spelled(text, *PLACES["path"]) for text in statements)
        result = CliRunner().invoke(main, [whole, "-o", "csv", "--yes", "--all"])
        if result.exit_code:
            failed.append((whole, result.stderr))
    assert not failed


SHARED: Final = (
    "SELECT id, v FROM {t} WHERE id > 3 ORDER BY id",
    "SELECT t.id, u.w FROM {t} JOIN {u} ON t.id = u.id ORDER BY t.id",
    "SELECT k, count(*) AS n, sum(id) AS s FROM {t} GROUP BY k ORDER BY k",
    "WITH a AS (SELECT id FROM {t}) SELECT count(*) AS n FROM a",
    "SELECT id FROM {t} WHERE versions BETWEEN 1 AND 5 ORDER BY id",
    "SELECT id FROM {t} EXCEPT SELECT id FROM {u} ORDER BY id",
    "SELECT id, row_number() OVER (PARTITION BY k ORDER BY id) AS n FROM {t} ORDER BY id",
    "SELECT count(*) AS n FROM {t} WHERE id IN (SELECT id FROM {u})",
)


@pytest.mark.parametrize("place", _slow_but(ALL_PLACES, *PLACES, "branch of a plain path", "tag"))
def test_datafusion_gives_the_same(place: str) -> None:
    datafusion = pytest.importorskip("datafusion")
    make_tables(place)
    context = lance_sql.register(datafusion.SessionContext())
    if "catalog" in place:
        lance_sql.attach(context, ".", as_="lake")
    native = native_tables()
    for query in SHARED:
        expected = native.execute(spelled(query, "t", "u")).fetchall()
        assert lance_sql.sql(spelled(query, *ALL_PLACES[place]), session=context).fetchall() == expected, query
