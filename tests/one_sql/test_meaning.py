"""A statement that writes has the meaning that the connection gives it: zone, variables, macros, collation, casts."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest

import lance_sql
from lance_sql.errors import InvalidArgument, LanceError

SETUP = """
    CREATE TABLE t AS SELECT * FROM (VALUES
        (1, TIMESTAMPTZ '2024-01-01 00:00:00+00', 'Ab', {'x': 3, 'y': 'p'}),
        (2, TIMESTAMPTZ '2024-01-01 06:00:00+00', 'ab', {'x': 4, 'y': 'q'})) AS v(id, tz, s, st);
    ALTER TABLE t ADD COLUMN f DOUBLE; ALTER TABLE t ADD COLUMN g BIGINT; ALTER TABLE t ADD COLUMN d DECIMAL(20, 4);
    ALTER TABLE t ADD COLUMN ts TIMESTAMP; ALTER TABLE t ADD COLUMN b BLOB; ALTER TABLE t ADD COLUMN l DOUBLE[];
    CREATE TABLE helper AS SELECT unnest([2, 3]) AS n;
"""


@pytest.fixture
def both(tmp_path: Path) -> tuple[duckdb.DuckDBPyConnection, Callable[[str], Any]]:
    """A connection with a native table t, and what runs a statement on it and on a Lance table of the same rows."""
    connection = lance_sql.connect()
    connection.execute("SET TimeZone = 'America/New_York'")
    connection.execute(SETUP)
    path = tmp_path / "t.lance"
    lance_sql.write(connection.sql("FROM t"), str(path))

    def run(text: str) -> list[Any]:
        connection.execute(text.replace("{t}", "t"))
        lance_sql.sql(text.replace("{t}", f"'{path}'"), connection=connection, all_rows=True)
        native: list[Any] = connection.sql("FROM t ORDER BY id").fetchall()
        assert connection.sql(f"FROM '{path}' ORDER BY id").fetchall() == native
        return native

    return connection, run


Both = tuple[duckdb.DuckDBPyConnection, Callable[[str], Any]]


def test_times_are_those_of_the_connections_zone(both: Both) -> None:
    _, run = both
    assert [row[0] for row in run("DELETE FROM {t} WHERE tz >= '2024-01-01 00:00:00'")] == [1]
    assert run("UPDATE {t} SET s = tz::VARCHAR WHERE id = 1")[0][2] == "2023-12-31 19:00:00-05"
    assert (
        str(run("INSERT INTO {t} (id, ts) SELECT 3, TIMESTAMPTZ '2024-01-01 00:00:00+00'")[1][7])
        == "2023-12-31 19:00:00"
    )
    run("INSERT INTO {t} (id, tz) SELECT 4, TIMESTAMP '2024-01-01 00:00:00'")
    assert run("INSERT INTO {t} (id, s) SELECT 5, TIMESTAMP '2024-01-01 00:00:00'")[-1][2] == "2024-01-01 00:00:00"


def test_the_machines_zone_is_that_of_a_new_connection(tmp_path: Path) -> None:
    zone = duckdb.connect().execute("SELECT current_setting('TimeZone')").fetchone()
    lance_sql.sql(f"CREATE TABLE '{tmp_path}/z.lance' AS SELECT current_setting('TimeZone') AS z")
    assert lance_sql.open(f"{tmp_path}/z.lance").to_table()["z"][0].as_py() == (zone or ("",))[0]


def test_variables_macros_and_collations_are_those_of_the_connection(both: Both) -> None:
    connection, run = both
    connection.execute("SET VARIABLE v = 5")
    connection.execute("CREATE MACRO abs(x) AS x + 100; CREATE MACRO am(x) AS x * 2; CREATE MACRO len(x) AS 77")
    assert [row[5] for row in run("UPDATE {t} SET g = getvariable('v')")] == [5, 5]
    assert [row[5] for row in run("UPDATE {t} SET g = abs(id) + am(id)")] == [103, 106]
    assert [row[5] for row in run("UPDATE {t} SET g = len(s)")] == [77, 77]
    connection.execute("SET default_collation = 'NOCASE'")
    assert run("DELETE FROM {t} WHERE s = 'AB'") == []


def test_operators_are_those_that_were_typed(both: Both) -> None:
    _, run = both
    # versions of DuckDB differ in what has to match
    run("UPDATE {t} SET g = 1 WHERE s ~ 'b'")
    assert [row[5] for row in run("UPDATE {t} SET g = 2 ** 3 ** 2")] == [64, 64]
    assert len(run("DELETE FROM {t} WHERE s ~ 'a.' -- one of them\n AND true")) == 1


def test_each_value_of_a_list_is_cast_by_itself(both: Both) -> None:
    _, run = both
    run("INSERT INTO {t} (id, g) VALUES (3, 9007199254740993), (4, 1e0)")
    run("INSERT INTO {t} (id, d) VALUES (5, 1234567890123456.7891), (6, 1e0), (7, 1.00005)")
    run("INSERT INTO {t} (id, s) VALUES (8, true), (9, 5), (10, 1.50), (11, '007')")
    run(r"INSERT INTO {t} (id, b) VALUES (12, '\xAA'), (13, 'a')")
    run("INSERT INTO {t} (id, l, st) VALUES (14, [1, 2], {'x': 1, 'y': NULL}), (15, [4.35], {'y': 'b', 'x': '2'})")
    run("INSERT INTO {t} (id, tz) VALUES (16, '2024-01-01 00:00:00')")
    rows = run("INSERT INTO {t} (id, g) VALUES (17, 2.5), (18, '12'), (19, (SELECT max(n) FROM helper))")
    assert [row[5] for row in rows[-3:]] == [3, 12, 3]


def test_decimals_are_stored_as_doubles_that_are_found_again(both: Both) -> None:
    connection, run = both
    run("UPDATE {t} SET f = 4.35 WHERE f IS NULL AND id = 1")
    run("INSERT INTO {t} (id, f) VALUES (3, 19.99)")
    run("MERGE INTO {t} AS x USING helper AS h ON x.id = h.n WHEN MATCHED THEN UPDATE SET f = 1001.3")
    run("UPDATE {t} SET d = 0.07 WHERE id = 1")
    run("UPDATE {t} SET f = d WHERE id = 1")
    assert [row[4] for row in run("DELETE FROM {t} WHERE f <> 0.07 AND f <> 1001.3")] == [0.07, 1001.3, 1001.3]
    del connection


def test_conditions_of_a_merge_may_have_queries_and_give_another_answer_each_time(both: Both) -> None:
    _, run = both
    text = "MERGE INTO {t} AS x USING (SELECT n AS id, n * 10 AS g FROM helper) AS h ON x.id = h.id"
    rows = run(
        f"{text} WHEN MATCHED AND h.g IN (SELECT n * 10 FROM helper) THEN UPDATE SET s = h.g, g = x.st.x"
        " WHEN NOT MATCHED AND random() < 2 THEN INSERT (id, g) VALUES (h.id, (SELECT max(n) FROM helper))"
        " WHEN NOT MATCHED BY SOURCE AND random() < 2 THEN UPDATE SET s = 'alone'"
    )
    assert [(row[0], row[2], row[5]) for row in rows] == [(1, "alone", None), (2, "20", 4), (3, None, 3)]


def test_members_of_structs_are_found_behind_any_alias(both: Both) -> None:
    _, run = both
    assert run("UPDATE {t} AS x SET id = x.st.x + 10 WHERE x.st.x = 3")[-1][0] == 13
    run("UPDATE {t} AS st SET g = st.st.x WHERE st.st.y = 'q'")
    run("UPDATE {t} SET g = t.st.x WHERE t.st.x = 3")
    assert len(run("DELETE FROM {t} AS st WHERE st.x = 4")) == 1


def test_errors_of_an_engine_while_computing_become_own_errors(both: Both, tmp_path: Path) -> None:
    connection, _ = both
    path = tmp_path / "t.lance"
    source = "(SELECT n, n::TINYINT + 124::TINYINT AS i8 FROM helper)"
    text = f"MERGE INTO '{path}' AS t USING {source} AS h ON t.id = h.n + 50"
    with pytest.raises(LanceError, match=r"DuckDB cannot compute .*[Oo]verflow") as caught:
        lance_sql.sql(f"{text} WHEN NOT MATCHED THEN INSERT (id) VALUES (h.i8 + h.i8)", connection=connection)
    assert "\n" not in str(caught.value)
    with pytest.raises(InvalidArgument, match=r"DuckDB cannot compute this: .*much"):
        lance_sql.sql(f"UPDATE '{path}' SET g = 'much' WHERE id = 1", connection=connection)
    assert lance_sql.open(str(path)).version == 1


def test_a_clause_behind_one_without_a_condition_is_refused(both: Both, tmp_path: Path) -> None:
    text = f"MERGE INTO '{tmp_path}/t.lance' AS t USING (SELECT 1 AS id) AS h ON t.id = h.id"
    with pytest.raises(InvalidArgument, match="without a condition precedes another one for the same rows"):
        lance_sql.sql(f"{text} WHEN MATCHED THEN DELETE WHEN MATCHED AND t.id = 1 THEN UPDATE SET g = 1")


@pytest.mark.parametrize(
    "text",
    [
        'UPDATE {t} AS "my t" SET g = CASE WHEN "my t".id = 1 THEN 7 ELSE CASE WHEN true THEN 8 END END'
        ' WHERE "my t".id > 0',
        "UPDATE {t} SET s = 'a WHERE b, c = 1', b = $$FROM$$, g = 1 WHERE s <> $$WHERE$$ -- WHERE false",
        "/* WHERE */ UPDATE {t} SET g = id /* , f = 1 */, f = 2\nFROM helper -- FROM nowhere\n AS h\nWHERE h.n = t.id;",
        "UPDATE {t} SET g = 1, s = 'x' IS DISTINCT FROM s FROM helper AS h WHERE h.n = t.id",
        "UPDATE {t} SET g = extract(year FROM tz), s = trim(both 'A' FROM s), l = [x + 1 FOR x IN [1, 2] IF x > 1]"
        " WHERE true",
        "update {t} set g=(select max(n) from helper where n<>3)where id in(select 1 union select 2)and not false",
        "DELETE FROM {t} USING helper AS h, (SELECT 2 AS m) AS o WHERE h.n = t.id AND o.m = h.n",
        "INSERT INTO {t}(id,s)VALUES(3,'a, b'),(4,CASE WHEN 1=1 THEN 'x' END),((5),('(')); ",
        "INSERT INTO {t} (id) (SELECT n + 10 FROM helper)",
        "INSERT INTO {t} (id, g) FROM (SELECT n + 10, n FROM helper)",
        "INSERT INTO {t} (id) WITH c AS (SELECT 12 AS n) SELECT n FROM c ORDER BY n LIMIT 1",
        "WITH c AS (SELECT 12 AS n), d AS (FROM c) INSERT INTO {t} (id) WITH e AS (FROM d) SELECT n FROM e",
        "INSERT INTO {t} BY NAME (SELECT 'WHEN' AS s, 12 AS id)",
        "MERGE INTO {t} USING (SELECT 1 AS id, 'THEN' AS w) AS h ON (t.id = h.id AND CASE WHEN true THEN true END)"
        " WHEN MATCHED AND CASE WHEN h.w = 'THEN' THEN true ELSE false END"
        " THEN UPDATE SET s = CASE WHEN true THEN h.w END"
        " WHEN NOT MATCHED BY SOURCE THEN DELETE",
        "MERGE INTO {t} AS x USING helper ON x.id = helper.n WHEN MATCHED THEN UPDATE SET g = n, s = 'WHEN MATCHED'"
        " WHEN NOT MATCHED THEN INSERT (id, s) VALUES (n, concat('(', n, ','))",
    ],
)
def test_parts_of_statements_are_told_apart(both: Both, text: str) -> None:
    connection, run = both
    connection.execute("DROP TABLE IF EXISTS nowhere")
    before = connection.sql("FROM t").fetchall()
    assert run(text) != before


def test_statements_in_another_dialect_are_translated(both: Both, tmp_path: Path) -> None:
    connection, _ = both
    path = f"`{tmp_path}/t.lance`"

    def run(text: str) -> list[Any]:
        lance_sql.sql(text.replace("{t}", path), connection=connection, dialect="spark")
        return connection.sql(f"SELECT id, g, s, f FROM '{tmp_path}/t.lance' ORDER BY id").fetchall()

    assert run("INSERT INTO {t} (id, g, f) VALUES (3, 9007199254740993, 4.35), (4, 1e0, 2)")[2:] == [
        (3, 9007199254740993, None, 4.35),
        (4, 1, None, 2.0),
    ]
    assert run("INSERT INTO {t} (id, s) SELECT n + 10, array_join(array('a', 'b'), '-') FROM helper")[4][2] == "a-b"
    assert run("UPDATE {t} AS x SET x.g = size(array(1, 2)), s = concat_ws('-', x.s, 'z') WHERE x.id = 1")[0][1:3] == (
        2,
        "Ab-z",
    )
    assert len(run("DELETE FROM {t} WHERE id IN (SELECT n + 10 FROM helper)")) == 4
    text = "MERGE INTO {t} AS x USING helper AS h ON x.id = h.n WHEN MATCHED AND h.n IN (SELECT 2) THEN DELETE"
    assert [row[0] for row in run(f"{text} WHEN MATCHED THEN UPDATE SET x.g = h.n * 7")] == [1, 3, 4]
    assert run("UPDATE {t} SET f = 0 WHERE id = 3")[1] == (3, 21, None, 0.0)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT count(*) FROM {t} WHERE s ~ 'b'",
        "SELECT 2 ** 3 ** 2, 1_000, 'x' ~ 'x'",
        "FROM {t} AS a JOIN {t} AS b ON a.id = b.id ORDER BY a.id",
        "WITH c AS (FROM {t}) SELECT c.id, EXISTS (FROM {t} AS o WHERE o.id = c.id) FROM c ORDER BY id",
        "SELECT id FROM {t} WHERE s <> '{t}.lance' AND id IN (SELECT id FROM {t}) ORDER BY 1 -- 'x.lance'",
        "SELECT t.id FROM {t} AT (VERSION => 1) ORDER BY 1",
        "SELECT v.id FROM {t} VERSION AS OF 1 AS v, helper WHERE n = v.id ORDER BY 1",
        "SELECT l.id FROM lance_scan({t}, version := 1) AS l ORDER BY 1",
    ],
)
def test_queries_keep_their_words(both: Both, tmp_path: Path, text: str) -> None:
    connection, _ = both
    path = f"'{tmp_path}/t.lance'"
    native = text.replace("lance_scan({t}, version := 1)", "t").replace(" AT (VERSION => 1)", "")
    native = native.replace(" VERSION AS OF 1", "").replace("'{t}.lance'", "''").replace("{t}", "t")
    ours = text.replace("'{t}.lance'", "''").replace("{t}", path)
    assert lance_sql.sql(ours, connection=connection).fetchall() == connection.sql(native).fetchall()


def test_types_that_the_engine_has_otherwise_keep_their_values(tmp_path: Path) -> None:
    path = str(tmp_path / "t.lance")
    berlin = pa.timestamp("us", "Europe/Berlin")
    types = {
        "id": pa.int64(),
        "half": pa.float16(),
        "word": pa.dictionary(pa.int16(), pa.string()),
        "long": pa.duration("ms"),
        "day": pa.date64(),
        "many": pa.decimal256(50, 5),
        "four": pa.binary(4),
        "moment": berlin,
        "time": pa.time32("s"),
        "big": pa.large_string(),
        "vector": pa.list_(pa.float16(), 2),
        "st": pa.struct([("half", pa.float16()), ("word", pa.dictionary(pa.int8(), pa.string()))]),
    }
    schema = pa.schema(list(types.items()))
    lance_sql.write(pa.table({name: pa.array([], type) for name, type in types.items()}, schema=schema), path)
    connection = lance_sql.connect()
    connection.execute("SET TimeZone = 'America/New_York'")

    def run(text: str) -> dict[str, Any]:
        lance_sql.sql(text.replace("{t}", f"'{path}'"), connection=connection)
        found = lance_sql.open(path).to_table()
        assert found.schema.types == schema.types
        row: dict[str, Any] = found.sort_by("id").slice(0, 1).to_pylist()[0]
        return row

    run(
        "INSERT INTO {t} VALUES (1, 0.1, 'a', INTERVAL '1 day 1.5 seconds', '2024-02-29', 1.000005, 'abcd',"
        " '2024-01-01 00:00:00', '04:05:06', 'b', [0.1, 2], {'half': 0.1, 'word': 'c'})"
    )
    row = run("UPDATE {t} SET id = id WHERE id = 1")
    assert (row["half"], row["word"], row["four"], row["big"]) == (float(np.float16(0.1)), "a", b"abcd", "b")
    assert (row["long"], str(row["day"]), str(row["many"])) == (timedelta(days=1, seconds=1.5), "2024-02-29", "1.00001")
    assert row["moment"] == datetime(2024, 1, 1, 5, tzinfo=UTC)
    assert (str(row["time"]), row["vector"]) == ("04:05:06", [float(np.float16(0.1)), 2.0])
    assert row["st"] == {"half": float(np.float16(0.1)), "word": "c"}
    # what a statement does not set is not rounded on its way
    row = run(
        "UPDATE {t} SET many = many * 2, long = long * 2, moment = moment + INTERVAL 1 HOUR WHERE time = '04:05:06'"
    )
    assert (str(row["many"]), row["long"]) == ("2.00002", timedelta(days=2, seconds=3))
    row = run(
        "MERGE INTO {t} AS x USING (SELECT 1 AS id) AS h ON x.id = h.id"
        " WHEN MATCHED AND x.word IN (SELECT 'a')"
        " THEN UPDATE SET word = 'z', vector = [1, 2], st = {'word': 'y', 'half': 2}"
    )
    assert (row["word"], row["vector"], row["st"]) == ("z", [1.0, 2.0], {"half": 2.0, "word": "y"})
    for value, says in (
        ("long = INTERVAL 1 MONTH", "months has no fixed length"),
        ("four = 'abcde'", "four"),
        ("time = '04:05:06.5'", "not a whole number of units"),
        ("half = 70000", "too large"),
    ):
        with pytest.raises(InvalidArgument, match=says):
            run(f"UPDATE {{t}} SET {value} WHERE id = 1")
