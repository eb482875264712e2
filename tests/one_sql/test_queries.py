"""`lance_sql.sql`: the same statement in DuckDB and DataFusion; Spark's part is in tests/providers."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import lance_sql
from lance_sql.errors import InvalidArgument, TableNotFound, UnsupportedFeature, VersionNotFound
from lance_sql.one_sql.query_rows import Rows

ORDERS = str(Path(__file__).parents[2] / "examples" / "orders.lance")
ENGINES = ("duckdb", "datafusion")

each_engine = pytest.mark.parametrize("engine", ENGINES)


@pytest.fixture(autouse=True)
def _in_examples(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(Path(ORDERS).parent)


def one(text: str, engine: str, **options: Any) -> Any:
    """The only value of the only row."""
    ((value,),) = lance_sql.sql(text, engine, **options).fetchall()
    return value


@each_engine
@pytest.mark.parametrize(
    ("table", "expected"),
    [
        ("'orders.lance'", 370),
        ("'orders.lance/'", 370),
        ("orders.lance", 370),
        ("orders.lance@4", 400),
        ("orders.lance@audited", 350),
        ("orders.lance@4 AS o", 400),
        ("'orders.lance@4'", 400),
        (f"'{ORDERS}'", 370),
        ("'orders.lance' VERSION AS OF 4", 400),
        ("'orders.lance' VERSION AS OF '4'", 400),
        ("'orders.lance' VERSION AS OF 'audited'", 350),
        ("'orders.lance' FOR VERSION AS OF 4", 400),
        ("'orders.lance' TIMESTAMP AS OF '2026-11-21 04:35:31Z'", 300),
        ("'orders.lance' TIMESTAMP AS OF TIMESTAMP '2026-11-21 04:35:31'", 300),
        ("'orders.lance' AT (VERSION => 4)", 400),
        ("lance_scan('orders.lance', version := 4)", 400),
        ("lance_scan('orders.lance', version => 4)", 400),
        ("lance_scan('orders.lance', 4)", 400),
        ("lance_table('orders.lance', 'audited')", 350),
        ("lance_scan('orders.lance', tag => 'audited')", 350),
        ("lance_scan('orders.lance', as_of => '2026-11-21 04:35:31Z')", 300),
        ("lance_changes('orders.lance', 5, 6)", 86),
        ("lance_changes('orders.lance', since => 2, mode => 'net')", 770),
        ("lance_changes('orders.lance', 5, 6, key => ['id'])", 82),
        ("'orders.lance' CHANGES FROM VERSION 5 TO VERSION 6", 86),
        ("orders.lance CHANGES FROM VERSION 4 EXCLUSIVE TO VERSION 7 EXCLUSIVE c", 86),
        ("orders.lance CHANGES FROM VERSION 5 INCLUSIVE TO VERSION 6 INCLUSIVE", 86),
        ("orders.lance CHANGES FROM VERSION 'audited' TO VERSION 6", 86),
        ("orders.lance CHANGES FROM VERSION 2 EXCLUSIVE WITH (deduplicationMode = 'netChanges')", 770),
        ("orders.lance CHANGES FROM TIMESTAMP '2026-11-21 04:35:37Z'", 44),
        ("lance_insertions('orders.lance', 6)", 20),
        ("lance_deletions('orders.lance', 5, 6)", 50),
        ("lance_row_history('orders.lance')", 864),
        ("lance_versions('orders.lance')", 9),
        ("lance_files('orders.lance', version => 6)", 8),
    ],
)
def test_every_way_to_name_a_table_is_understood(engine: str, table: str, expected: int) -> None:
    assert one(f"SELECT count(*) FROM {table}", engine) == expected


@each_engine
def test_a_path_has_the_columns_of_the_table_and_a_scan_the_system_columns_as_well(engine: str) -> None:
    names = lance_sql.open("orders.lance").schema.names
    assert lance_sql.sql("SELECT * FROM 'orders.lance'", engine).to_table().column_names == names
    found = lance_sql.sql("SELECT * FROM lance_scan('orders.lance')", engine).to_table().column_names
    assert found[: len(names)] == names
    assert set(found[len(names) :]) == set(lance_sql.open("orders.lance").system_columns)


@each_engine
def test_columns_may_be_called_by_the_name_of_their_table(engine: str) -> None:
    assert one("SELECT max(orders.id) FROM 'orders.lance@4'", engine) == 400
    assert one("SELECT max(lance_scan._rowid) FROM lance_scan('orders.lance')", engine) == 419


@each_engine
def test_tables_may_stand_anywhere_in_a_query(engine: str) -> None:
    text = """
        WITH old AS (SELECT * FROM orders.lance@4)
        SELECT count(*) FROM old
        WHERE id NOT IN (SELECT id FROM 'orders.lance') AND EXISTS (SELECT 1 FROM lance_tags('orders.lance'))
    """
    assert one(text, engine) == 50
    assert one("SELECT count(*) FROM 'orders.lance' a JOIN 'orders.lance@4' b ON a.id = b.id", engine) == 350
    both = "SELECT id FROM 'orders.lance@4' EXCEPT SELECT id FROM 'orders.lance'"
    assert lance_sql.sql(both, engine).to_table().num_rows == 50


@each_engine
def test_texts_that_look_like_clauses_stay_texts(engine: str) -> None:
    text = "SELECT 'a.lance@41 CHANGES FROM VERSION 1' AS changes FROM 'orders.lance' WHERE 'x.lance' <> status LIMIT 1"
    assert one(text, engine) == "a.lance@41 CHANGES FROM VERSION 1"


@each_engine
def test_a_column_called_changes_is_a_column(engine: str, tmp_path: Path) -> None:
    lance_sql.write({"changes": [3], "version": [7]}, tmp_path / "x.lance")
    assert lance_sql.sql(f"SELECT changes, version FROM '{tmp_path}/x.lance'", engine).fetchall() == [(3, 7)]


@each_engine
def test_names_with_capitals_are_found(engine: str, tmp_path: Path) -> None:
    lance_sql.write({"Id": [1, 2], "theName": ["a", "b"]}, tmp_path / "Mixed.lance")
    text = f"SELECT theName FROM '{tmp_path}/Mixed.lance' WHERE Id = 2"
    assert one(text, engine) == "b"


@each_engine
def test_results_have_arrows_stream_interface(engine: str) -> None:
    rows = lance_sql.sql("SELECT id, amount FROM 'orders.lance' ORDER BY id LIMIT 3", engine)
    assert pa.table(rows).column("id").to_pylist() == [1, 2, 3]
    assert rows.to_reader().read_all().num_rows == 3
    assert rows.to_pylist()[0]["id"] == 1
    assert rows.to_polars().height == 3
    assert isinstance(rows, Rows)
    assert rows.engine == engine
    assert "orders.lance" not in rows.statement


@each_engine
def test_a_statement_sees_one_version_of_a_table(engine: str, tmp_path: Path) -> None:
    path = f"{tmp_path}/t.lance"
    table = lance_sql.write({"id": [1, 2]}, path)
    rows = lance_sql.sql(f"SELECT count(*) FROM '{path}' a, '{path}' b", engine)
    table.delete("id = 1")
    # the versions are those of the call, however often the rows are asked for
    assert rows.fetchall() == rows.fetchall() == [(4,)]
    assert one(f"SELECT count(*) FROM '{path}' a, '{path}' b", engine) == 1


@each_engine
@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("SELECT * FROM 'none.lance'", TableNotFound, "none.lance"),
        ("SELECT * FROM orders.lance@77", VersionNotFound, "77"),
        ("SELECT * FROM orders.lance@4 VERSION AS OF 5", InvalidArgument, "leave one of them out"),
        ("SELECT * FROM lance_scan('orders.lance', speed := 1)", InvalidArgument, "no argument 'speed'"),
        ("SELECT * FROM lance_scan('orders.lance', tag := 'a', tag := 'b')", InvalidArgument, "twice"),
        ("SELECT * FROM lance_scan('orders.lance', 4, '2026-01-01')", InvalidArgument, "name other arguments"),
        ("SELECT * FROM lance_scan(4)", InvalidArgument, "a path first"),
        ("SELECT * FROM lance_speed('orders.lance')", InvalidArgument, "No table function 'lance_speed'"),
        ("SELECT * FROM lance_scan('orders.lance', version := 1 + 1)", UnsupportedFeature, "takes constants"),
        ("SELECT * FROM 'orders.lance' VERSION AS OF (SELECT 1)", UnsupportedFeature, "takes constants"),
        ("SELECT * FROM 'orders.lance' CHANGES FROM VERSION x", UnsupportedFeature, "a number, a tag or a time"),
        ("SELECT * FROM 'orders.lance' CHANGES FROM 3", InvalidArgument, "VERSION or TIMESTAMP"),
        ("SELECT * FROM 'orders.lance' CHANGES FROM VERSION", InvalidArgument, "ends before its bound"),
        ("SELECT * FROM 'orders.lance' CHANGES FROM VERSION 1 WITH (x = 'y')", UnsupportedFeature, "deduplicationMode"),
        (
            "SELECT * FROM 'orders.lance' CHANGES FROM VERSION 1 WITH (deduplicationMode = 'none'",
            InvalidArgument,
            "WITH",
        ),
        ("SELECT FROM WHERE", InvalidArgument, "Not SQL: line 1"),
        ("SELECT 'open", InvalidArgument, "Not SQL"),
        ("SELECT 1; SELECT 2", InvalidArgument, "Cannot run 2 statements"),
        ("", InvalidArgument, "Cannot run 0 statements"),
        ("CREATE VIEW x AS SELECT 1", UnsupportedFeature, "does not run CREATE VIEW"),
        ("DROP TABLE x", UnsupportedFeature, "does not run DROP TABLE"),
        ("GRANT SELECT ON x TO y", UnsupportedFeature, "does not run GRANT"),
    ],
)
def test_mistakes_are_reported_in_one_line(engine: str, text: str, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message) as caught:
        lance_sql.sql(text, engine)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("engine", "text", "construct"),
    [
        ("datafusion", "PIVOT 'orders.lance' ON status USING count(*)", "DataFusion does not support PIVOT"),
        ("datafusion", "SELECT COLUMNS('a.*') FROM 'orders.lance'", "DataFusion does not support COLUMNS"),
        (
            "datafusion",
            "SELECT * FROM 'orders.lance' a ASOF JOIN 'orders.lance' b ON a.id >= b.id",
            "not support ASOF JOIN",
        ),
        ("datafusion", "SELECT * FROM 'orders.lance' USING SAMPLE 3", "DataFusion does not support TABLESAMPLE"),
        ("datafusion", "SUMMARIZE 'orders.lance'", "DataFusion does not support SUMMARIZE"),
        (
            "datafusion",
            "SELECT [x + 1 FOR x IN tags] FROM 'orders.lance'",
            "DataFusion does not support a list comprehension",
        ),
        ("datafusion", "SELECT damerau_levenshtein('a', 'b')", "DataFusion does not run .*damerau"),
    ],
)
def test_features_missing_from_an_engine_are_named(engine: str, text: str, construct: str) -> None:
    with pytest.raises(UnsupportedFeature, match=construct):
        lance_sql.sql(text, engine, dialect="duckdb")


def test_sparks_own_constructs_are_refused_by_duckdb() -> None:
    with pytest.raises(UnsupportedFeature, match="DuckDB does not support DISTRIBUTE BY"):
        lance_sql.sql("SELECT id FROM 'orders.lance' DISTRIBUTE BY id", "duckdb", dialect="spark")
    with pytest.raises(UnsupportedFeature, match=r"DuckDB does not run this statement.*java_method"):
        lance_sql.sql("SELECT java_method('a', 'b')", "duckdb", dialect="spark")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT count(*) FILTER (status = 'open') FROM 'orders.lance'", 104),
        ("SELECT 7 / 2", 3.5),
        ("SELECT 7 // 2", 3),
        ("SELECT len('abc')", 3),
        ("SELECT list_contains(tags, 'gift') FROM 'orders.lance' WHERE id = 1", True),
        ("SELECT count_if(status = 'open') FROM 'orders.lance'", 104),
        ("SELECT id FROM 'orders.lance' QUALIFY row_number() OVER (ORDER BY id DESC) = 1", 420),
        ("SELECT amount FROM 'orders.lance' ORDER BY amount LIMIT 1 OFFSET 369", None),
    ],
)
def test_duckdbs_dialect_is_translated(text: str, expected: object) -> None:
    assert one(text, "duckdb") == expected
    assert one(text, "datafusion", dialect="duckdb") == expected


def test_sparks_dialect_is_translated() -> None:
    text = "SELECT count(*) FROM lance.`orders.lance` VERSION AS OF 4 WHERE size(tags) > 0 AND `status` RLIKE '^o'"
    found = {one(text, engine, dialect="spark") for engine in ENGINES}
    assert len(found) == 1
    assert found != {0}


def test_a_connection_brings_its_own_tables() -> None:
    connection = lance_sql.connect()
    connection.execute("CREATE TEMP TABLE wanted AS SELECT 7 AS id")
    text = "SELECT status FROM 'orders.lance' JOIN wanted USING (id)"
    assert lance_sql.sql(text, connection=connection).to_table().num_rows == 1
    # nothing of the query stays behind
    assert connection.execute("SELECT count(*) FROM duckdb_views() WHERE view_name LIKE '__lance%'").fetchall() == [
        (0,)
    ]


def test_a_plain_connection_of_duckdb_is_enough() -> None:
    import duckdb

    assert one("SELECT count(*) FROM orders.lance@4", "duckdb", connection=duckdb.connect()) == 400


def test_a_context_brings_its_own_tables() -> None:
    datafusion = pytest.importorskip("datafusion")
    context = datafusion.SessionContext()
    context.register_record_batches("wanted", [[pa.record_batch({"id": [7]})]])
    text = "SELECT status FROM 'orders.lance' JOIN wanted USING (id)"
    assert lance_sql.sql(text, session=context).to_table().num_rows == 1
    assert context.catalog().schema().names() == {"wanted"}


def test_an_engine_that_is_none_is_refused() -> None:
    with pytest.raises(InvalidArgument, match="'sqlite' is not one of"):
        lance_sql.sql("SELECT 1", "sqlite")
    with pytest.raises(InvalidArgument, match="dialect='klingon'"):
        lance_sql.sql("SELECT 1", dialect="klingon")
    with pytest.raises(InvalidArgument, match="pass a DuckDB connection"):
        lance_sql.sql("SELECT 1", connection=object())
    with pytest.raises(InvalidArgument, match="belongs to DuckDB"):
        lance_sql.sql("SELECT 1", "spark", connection=lance_sql.connect())
    with pytest.raises(InvalidArgument, match="either connection= or session="):
        lance_sql.sql("SELECT 1", connection=lance_sql.connect(), session=lance_sql.connect())


def test_no_engine_is_imported_before_a_statement_runs() -> None:
    code = "import lance_sql, sys; lance_sql.sql; print({'duckdb', 'datafusion', 'pyspark'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env={**os.environ})
    assert done.stdout == "set()\n"


def test_times_are_read_as_times() -> None:
    (value,) = lance_sql.sql("SELECT min(created) FROM 'orders.lance'").fetchall()[0]
    assert isinstance(value, datetime)


def test_lengths_of_lists_are_not_those_of_texts() -> None:
    text = "SELECT len(tags), len([1, 2]), len(status) FROM 'orders.lance' WHERE id = 1"
    assert lance_sql.sql(text).fetchall() == lance_sql.sql(text, "datafusion", dialect="duckdb").fetchall()


def test_qualify_keeps_the_order() -> None:
    first = "QUALIFY row_number() OVER (PARTITION BY status ORDER BY id) = 1"
    text = f"SELECT id, status FROM 'orders.lance' {first} ORDER BY id DESC"
    assert lance_sql.sql(text).fetchall() == lance_sql.sql(text, "datafusion", dialect="duckdb").fetchall()


@each_engine
def test_several_tables_are_read_together(engine: str, tmp_path: Path) -> None:
    for number, name in enumerate(("a", "b", "c")):
        lance_sql.write({"id": [number, number + 10]}, tmp_path / f"{name}.lance").delete("id = 10")
    assert one(f"SELECT sum(id) FROM '{tmp_path}/*.lance'", engine) == 26
    assert one(f"SELECT sum(t.id) FROM '{tmp_path}/[ab].lance@1' AS t", engine) == 22
    assert one(f"SELECT max(id) FROM lance_scan(['{tmp_path}/a.lance', '{tmp_path}/b.lance'])", engine) == 11
    lance_sql.write({"id": ["x"]}, tmp_path / "d.lance")
    with pytest.raises(InvalidArgument, match=r"d\.lance has id string where .*a\.lance has id int64"):
        lance_sql.sql(f"SELECT * FROM '{tmp_path}/*.lance'", engine)
    with pytest.raises(TableNotFound, match="No Lance table matches"):
        lance_sql.sql(f"SELECT * FROM '{tmp_path}/z*.lance'", engine)
    with pytest.raises(UnsupportedFeature, match="takes one path"):
        lance_sql.sql(f"SELECT * FROM lance_changes(['{tmp_path}/a.lance', '{tmp_path}/b.lance'], 1)", engine)


@each_engine
def test_versions_are_counted_from_the_newest(engine: str) -> None:
    assert one("SELECT count(*) FROM lance_scan('orders.lance', version => -1)", engine) == 362
    assert one("SELECT count(*) FROM 'orders.lance@-5'", engine) == 400
    with pytest.raises(VersionNotFound, match="Version -9 does not exist"):
        lance_sql.sql("SELECT * FROM lance_scan('orders.lance', version => -9)", engine)
