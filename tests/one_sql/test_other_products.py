"""Statements as the documentation of other products has them, with the name of a table here, in every place that takes
SQL: they work, or fail with one line that names the alternative.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

import duckdb
import pyarrow as pa
import pytest
from click.testing import CliRunner

import lance_sql
from lance_sql.cli import agreement, main
from lance_sql.cli.shell import Shell
from lance_sql.dataset import Dataset
from lance_sql.errors import ContractBroken, LanceError, UnsupportedFeature
from lance_sql.format.schema.primary_key import primary_key


@dataclass(frozen=True)
class Answers:
    """The values of the first column, in any order."""

    values: tuple[Any, ...]


@dataclass(frozen=True)
class Does:
    """What holds for the table afterwards."""

    check: Callable[[Dataset], bool]


@dataclass(frozen=True)
class Refuses:
    """What the line says to write instead, or why there is nothing to write."""

    says: str


Expected: TypeAlias = Answers | Does | Refuses


def ids(*expected: int) -> Does:
    return Does(lambda table: sorted(table.scan(["id"]).to_table()["id"].to_pylist()) == list(expected))


def columns(*expected: str) -> Does:
    return Does(lambda table: table.schema.names == list(expected))


def values(column: str, type: pa.DataType, *expected: object) -> Does:
    return Does(lambda table: pa.concat_arrays(in_order(table, column).chunks) == pa.array(expected, type))


def in_order(table: Dataset, column: str) -> pa.ChunkedArray:
    return table.scan([column, "id"]).to_table().sort_by("id")[column]


def is_enforced(table: Dataset, rule: str) -> bool:
    with pytest.raises(ContractBroken, match=rule):
        lance_sql.write({"id": [9], "s": ["x"]}, table.uri, mode="append")
    lance_sql.sql(f"ALTER TABLE '{table.uri}' DROP CONSTRAINT {rule}")
    return rule not in table.latest().rules


def exists(path: str, rows: int) -> Does:
    return Does(lambda table: lance_sql.open(path).count_rows() == rows)


# version 1: ids 1, 2, 3; 2: 4 as well; 3: without 1; 4: s of 2 is 'new'. {1} .. {4} are the times of the commits.
STATEMENTS: dict[str, list[tuple[str, Expected]]] = {
    "Delta Lake": [
        ("SELECT id FROM t.lance VERSION AS OF 1", Answers((1, 2, 3))),
        ("SELECT id FROM 't.lance' TIMESTAMP AS OF '{2}'", Answers((1, 2, 3, 4))),
        ("SELECT id FROM t.lance@1", Answers((1, 2, 3))),
        ("SELECT id FROM table_changes('t.lance', 2, 3) ORDER BY 1", Answers((1, 4))),
        ("SELECT DISTINCT _change_type FROM table_changes('t.lance', '{3}', '{3}')", Answers(("delete",))),
        ("SELECT id FROM table_changes_by_path('t.lance', 3) WHERE _change_type = 'delete'", Answers((1,))),
        ("DESCRIBE HISTORY 't.lance'", Answers((1, 2, 3, 4))),
        ("DESCRIBE HISTORY 't.lance' LIMIT 1", Answers((4,))),
        ("DESCRIBE DETAIL 't.lance'", Answers(("lance",))),
        ("OPTIMIZE 't.lance'", Does(lambda table: len(table.maintenance.layout().fragments) == 1)),
        ("OPTIMIZE 't.lance' ZORDER BY (id)", Refuses("CREATE INDEX")),
        ("OPTIMIZE 't.lance' WHERE id > 3", Refuses("no partitions")),
        ("VACUUM 't.lance' RETAIN 0 HOURS", Does(lambda table: len(table.versions()) == 1)),
        ("VACUUM 't.lance' RETAIN 0 HOURS DRY RUN", Does(lambda table: len(table.versions()) == 4)),
        ("RESTORE TABLE 't.lance' TO VERSION AS OF 1", ids(1, 2, 3)),
        ("RESTORE 't.lance' TO TIMESTAMP AS OF '{2}'", ids(1, 2, 3, 4)),
        ("CREATE TABLE 'c.lance' SHALLOW CLONE 't.lance' VERSION AS OF 2", exists("c.lance", 4)),
        ("CREATE TABLE 'c.lance' DEEP CLONE 't.lance'", Refuses("CREATE TABLE 'c.lance' AS FROM 't.lance'")),
        ("CREATE OR REPLACE TABLE 't.lance' (n BIGINT, v STRING) USING lance", columns("n", "v")),
        ("ALTER TABLE 't.lance' ADD COLUMNS (x INT COMMENT 'why', y DOUBLE)", columns("id", "s", "x", "y")),
        ("ALTER TABLE 't.lance' SET TBLPROPERTIES ('a.b' = 'c')", Does(lambda t: config(t) == {"a.b": "c"})),
        ("ALTER TABLE 't.lance' ALTER COLUMN id COMMENT 'the key'", Does(lambda t: comment(t, "id") == "the key")),
        (
            "ALTER TABLE 't.lance' ADD CONSTRAINT known CHECK (id > 1 AND id < 9)",
            Does(lambda t: is_enforced(t, "known")),
        ),
        ("ALTER TABLE 't.lance' ADD CONSTRAINT few CHECK (id > 2)", Refuses("1 of 3 rows break")),
        ("ALTER TABLE 't.lance' DROP CONSTRAINT few", Refuses("few")),
        ("ALTER TABLE 't.lance' DROP CONSTRAINT IF EXISTS few", ids(2, 3, 4)),
        ("SHOW TBLPROPERTIES 't.lance'", Answers(())),
        ("CONVERT TO DELTA parquet.`/data/events`", Refuses("CREATE TABLE 'x.lance' AS")),
        ("FSCK REPAIR TABLE 't.lance'", Refuses("lance-sql repair")),
        ("REORG TABLE t APPLY (PURGE)", Refuses("OPTIMIZE 'x.lance'")),
        ("TRUNCATE TABLE 't.lance'", ids()),
    ],
    "Iceberg": [
        ("SELECT id FROM 't.lance' FOR VERSION AS OF 2", Answers((1, 2, 3, 4))),
        ("SELECT id FROM 't.lance' FOR SYSTEM_VERSION AS OF 3", Answers((2, 3, 4))),
        ("SELECT id FROM 't.lance' FOR SYSTEM_TIME AS OF '{1}'", Answers((1, 2, 3))),
        (
            "ALTER TABLE 't.lance' CREATE TAG audited AS OF VERSION 2",
            Does(lambda t: t.tags["audited"].version == 2),
        ),
        ("ALTER TABLE 't.lance' CREATE BRANCH work", Does(lambda table: "work" in table.branches)),
        ("CALL system.rollback_to_snapshot('db.t', 4)", Refuses("RESTORE TABLE 'x.lance' TO VERSION AS OF")),
        ("CALL catalog.system.expire_snapshots('db.t')", Refuses("VACUUM 'x.lance'")),
        ("CALL system.rewrite_data_files(table => 'db.t')", Refuses("OPTIMIZE 'x.lance'")),
        ("CALL system.create_changelog_view(table => 't')", Refuses("lance_changes")),
        ("ALTER TABLE 't.lance' RENAME COLUMN s TO status", columns("id", "status")),
        (
            "ALTER TABLE 't.lance' ALTER COLUMN id TYPE double",
            Does(lambda t: str(t.schema.field("id").type) == "double"),
        ),
        ("ALTER TABLE 't.lance' DROP COLUMN s", columns("id")),
    ],
    "Trino": [
        ("SELECT id FROM \"t.lance\" FOR TIMESTAMP AS OF TIMESTAMP '{1}'", Answers((1, 2, 3))),
        ("ALTER TABLE 't.lance' EXECUTE optimize", Does(lambda table: len(table.maintenance.layout().fragments) == 1)),
        (
            "ALTER TABLE 't.lance' EXECUTE expire_snapshots(retention_threshold => '0d')",
            Does(lambda table: len(table.versions()) == 1),
        ),
        ("ALTER TABLE 't.lance' ADD COLUMN IF NOT EXISTS s varchar", columns("id", "s")),
        ("ALTER TABLE 't.lance' SET PROPERTIES (owner = 'us')", Does(lambda table: config(table) == {"owner": "us"})),
        ("COMMENT ON TABLE 't.lance' IS 'all of them'", Does(lambda t: metadata(t) == {"comment": "all of them"})),
        ("COMMENT ON COLUMN 't.lance'.s IS 'a word'", Does(lambda table: comment(table, "s") == "a word")),
        ("ANALYZE 't.lance'", ids(2, 3, 4)),
        (
            "SHOW COLUMNS FROM 't.lance'",
            Answers(("id", "s", "_rowid", "_rowaddr", "_row_created_at_version", "_row_last_updated_at_version")),
        ),
    ],
    "DuckDB and DuckLake": [
        ("SELECT id FROM 't.lance' AT (VERSION => 3)", Answers((2, 3, 4))),
        ("SELECT id FROM 't.lance' AT (TIMESTAMP => '{1}') AS t", Answers((1, 2, 3))),
        ("SELECT id FROM table_insertions('t.lance', 1, 2)", Answers((1, 2, 3, 4))),
        ("SELECT id FROM table_deletions('t.lance', 1, 3)", Answers((1,))),
        ("SUMMARIZE 't.lance'", Answers(("id", "s"))),
        ("COPY (SELECT 7 AS id) TO 'c.lance'", exists("c.lance", 1)),
        ("CREATE TABLE 'c.lance' AS FROM 't.lance'", exists("c.lance", 3)),
        ("INSERT INTO 't.lance' VALUES (9, 'nine')", ids(2, 3, 4, 9)),
        ("INSERT INTO 't.lance' VALUES (9, 'n') ON CONFLICT DO NOTHING", Refuses("MERGE INTO 'x.lance'")),
        ("INSERT OR REPLACE INTO 't.lance' VALUES (2, 'n')", Refuses("OR, only MERGE INTO")),
        ("DROP TABLE 't.lance'", Does(lambda table: not Path("t.lance").exists())),
        ("DROP TABLE IF EXISTS 'nothing.lance'", ids(2, 3, 4)),
        ("CREATE TABLE IF NOT EXISTS 't.lance' (other INTEGER)", columns("id", "s")),
        ("ALTER TABLE 't.lance' RENAME TO 'c.lance'", exists("c.lance", 3)),
        ("ALTER TABLE 't.lance' ALTER s SET NOT NULL", Does(lambda table: not table.schema.field("s").nullable)),
        ("ALTER TABLE 't.lance' ADD COLUMN x INTEGER DEFAULT 7", values("x", pa.int32(), 7, 7, 7)),
        ("ALTER TABLE 't.lance' ADD COLUMN x BIGINT DEFAULT (id + 1)", values("x", pa.int64(), 3, 4, 5)),
        (
            "ALTER TABLE 't.lance' ADD COLUMN x INT DEFAULT 7, ADD COLUMN y VARCHAR DEFAULT s",
            columns("id", "s", "x", "y"),
        ),
        ("ALTER TABLE 't.lance' ADD COLUMN x INT DEFAULT 7, ADD COLUMN y INT", Refuses("two statements")),
        ("ALTER TABLE 't.lance' ADD COLUMN x INT NOT NULL DEFAULT 7", Refuses("ALTER COLUMN")),
        ("CREATE TABLE 'c.lance' (x INTEGER DEFAULT 7)", Refuses("UPDATE .. SET")),
        ("CALL ducklake_expire_snapshots('lake')", Refuses("VACUUM 'x.lance'")),
    ],
    "Postgres, MySQL and LanceDB": [
        ("CREATE INDEX ON 't.lance' USING btree (id)", Does(lambda table: table.indices.list()[0].kind == "btree")),
        ("CREATE INDEX by_s ON 't.lance' (s) USING BITMAP", Does(lambda table: table.indices.list()[0].name == "by_s")),
        ("CREATE INDEX ON 't.lance' USING ivf_pq (s)", Refuses("a vector index on a column of type string")),
        ("CREATE INDEX ON 't.lance' USING gist (s)", Refuses("btree, bitmap, bloomfilter")),
        ("DROP INDEX IF EXISTS nothing ON 't.lance'", ids(2, 3, 4)),
        ("SHOW INDEXES FROM 't.lance'", Answers(())),
        ("SHOW INDEX IN 't.lance'", Answers(())),
        ("SHOW TABLES IN '.'", Answers(("t",))),
    ],
    "lance-spark and the Lance extension of DuckDB": [
        (
            "ALTER TABLE 't.lance' CREATE INDEX by_id USING btree (id)",
            Does(lambda table: [index.name for index in table.indices.list()] == ["by_id"]),
        ),
        ("ALTER TABLE 't.lance' CREATE INDEX by_id USING btree (id) WITH (nothing = 'x')", Refuses("nothing")),
        ("ALTER TABLE 't.lance' DROP INDEX IF EXISTS nothing", ids(2, 3, 4)),
        ("ALTER TABLE 't.lance' DROP INDEX nothing", Refuses("nothing")),
        ("ALTER TABLE 't.lance' OPTIMIZE INDEX nothing WITH (retrain = true)", Refuses("nothing")),
        ("ALTER TABLE 't.lance' OPTIMIZE INDEX nothing WITH (num_indices_to_merge = 0)", Refuses("Options: retrain")),
        ("ALTER INDEX nothing ON 't.lance' OPTIMIZE", Refuses("nothing")),
        ("REINDEX 't.lance'", ids(2, 3, 4)),
        (
            "ALTER TABLE 't.lance' CREATE INDEX by_s USING bitmap (s) WITH (num_segments = 1)",
            Does(lambda table: [index.kind for index in table.indices.list()] == ["bitmap"]),
        ),
        ("CREATE INDEX i ON 't.lance' (s) USING bitmap WITH (num_segments = 4)", Refuses("one segment")),
        (
            "ALTER TABLE 't.lance' SET TBLPROPERTIES ('delta.appendOnly' = 'true')",
            Refuses("every writer may update"),
        ),
        (
            "ALTER TABLE 't.lance' SET TBLPROPERTIES ('DELTA.AppendOnly' = 'true')",
            Refuses("every writer may update"),
        ),
        (
            "CREATE TABLE 'c.lance' (id INT) TBLPROPERTIES ('delta.constraints.positive' = 'id > 0')",
            Refuses("ADD CONSTRAINT positive CHECK"),
        ),
        ("CREATE TABLE 'c.lance' (id INT) TBLPROPERTIES ('delta.appendOnly' = 'false')", exists("c.lance", 0)),
        (
            "CREATE TABLE 'c.lance' (id INT) TBLPROPERTIES ('delta.deletedFileRetentionDuration' = 'interval 7 days')",
            Refuses("lance_sql.maintain.older_than"),
        ),
        (
            "ALTER TABLE 't.lance' SET TBLPROPERTIES ('history.expire.min-snapshots-to-keep' = '5')",
            Refuses("lance_sql.maintain.retain_versions"),
        ),
        ("CREATE INDEX i ON 't.lance' (id) USING BTREE WITH (train = false)", Does(lambda table: covered(table) == 0)),
        ("CREATE INDEX i ON 't.lance' (s) USING INVERTED WITH (train = false)", Refuses("built from rows")),
        ("SELECT Count FROM lance_set_config('t.lance', 'a', 'b')", Does(lambda table: config(table) == {"a": "b"})),
        ("CALL lance_set_config('t.lance', 'a')", Refuses("table, key, value, not 2")),
        ("OPTIMIZE 't.lance' WITH (target_rows_per_fragment = 2)", ids(2, 3, 4)),
        ("OPTIMIZE 't.lance' WITH (num_threads = 2)", Refuses("Options: target_rows")),
        ("VACUUM 't.lance' WITH (before_version = 3)", Does(lambda table: len(table.versions()) == 2)),
        ("VACUUM LANCE 't.lance' WITH (retain_n_versions = 1)", Does(lambda table: len(table.versions()) == 1)),
        ("VACUUM 't.lance' WITH (older_than = '0d')", Does(lambda table: len(table.versions()) == 1)),
        ("VACUUM 't.lance' WITH (before_timestamp_millis = 0)", Does(lambda table: len(table.versions()) == 4)),
        ("VACUUM 't.lance' WITH (before_version = 9)", Does(lambda table: len(table.versions()) == 1)),
        ("VACUUM 't.lance' WITH (before_version = 0)", Refuses("not the number of a version")),
        ("OPTIMIZE 't.lance' WITH (materialize_deletions = true)", ids(2, 3, 4)),
        ("OPTIMIZE 't.lance' WITH (materialize_deletions = 1)", Refuses("neither true nor false")),
        ("ALTER TABLE 't.lance' SET AUTO_CLEANUP (interval = 20)", Refuses("lance.auto_cleanup.interval")),
        ("ALTER TABLE 't.lance' UNSET AUTO_CLEANUP", Refuses("lance-sql maintain")),
        ("ALTER TABLE t.lance SWAP WITH u", Refuses("RENAME TO")),
        ("SELECT id FROM VECTOR_SEARCH('t.lance', array(0.5), 2)", Refuses("lance_vector_search")),
        ("SELECT id FROM SEARCH(table => 't.lance', query => 'a', k => 1)", Refuses("lance_fts")),
        ("SELECT id FROM HYBRID_SEARCH('t.lance', array(0.5), 'a', 3)", Refuses("lance_hybrid_search")),
        ("SELECT id FROM 't.lance' WHERE lance_match(s, 'a')", Refuses("lance_fts")),
        ("SELECT id FROM 't.lance' WHERE lance_multi_match('a', s)", Refuses("lance_fts")),
        ("VACUUM 't.lance' WITH (delete_unverified = true)", Refuses("Options: before_version")),
        (
            "ALTER TABLE 't.lance' CREATE BRANCH b AS OF BRANCH main VERSION 2",
            Does(lambda table: table.branches["b"].version == 2),
        ),
        (
            "ALTER TABLE 't.lance' CREATE TAG b AS OF BRANCH main",
            Does(lambda table: table.tags["b"].version == 4),
        ),
        ("ALTER TABLE 't.lance' CREATE BRANCH b AS OF TAG nothing", Refuses("nothing")),
        ("SHOW BRANCH IN 't.lance'", Answers(())),
        ("SHOW TAG IN 't.lance'", Answers(())),
        ("REPLACE TABLE 't.lance' AS SELECT 9 AS id", ids(9)),
        ("REPLACE TABLE 'nothing.lance' AS SELECT 9 AS id", Refuses("nothing.lance")),
        ("REPLACE TABLE 't.lance' (id INT)", columns("id")),
        ("REPLACE TABLE 'nothing.lance' (id INT)", Refuses("nothing.lance")),
        ("CREATE TABLE 'c.lance' USING lance AS SELECT 9 AS id", exists("c.lance", 1)),
        ("CREATE TABLE IF NOT EXISTS 't.lance' AS SELECT 9 AS id", ids(2, 3, 4)),
        ("CREATE TABLE IF NOT EXISTS 'c.lance' AS SELECT 9 AS id", exists("c.lance", 1)),
        (
            "CREATE TABLE 'c.lance' USING lance TBLPROPERTIES ('v.arrow.fixed-size-list.size' = '2', 'a' = 'b')"
            " AS SELECT 1 AS id, [1.5::FLOAT, NULL] AS v",
            Does(lambda table: is_with_vectors(lance_sql.open("c.lance"))),
        ),
        (
            "ALTER TABLE 'key.lance' SET UNENFORCED PRIMARY KEY (b, a)",
            Does(lambda table: primary_key(lance_sql.open("key.lance").snapshot.manifest.schema) == ("b", "a")),
        ),
        ("ALTER TABLE 't.lance' SET UNENFORCED PRIMARY KEY (id)", Refuses("may be NULL")),
        ("ALTER TABLE 'key.lance' SET UNENFORCED PRIMARY KEY (a, a)", Refuses("twice")),
        ("MERGE WITH SCHEMA EVOLUTION INTO 't.lance' AS t USING u AS s ON t.id = s.id", Refuses("ADD COLUMN")),
        ("INSERT INTO 't.lance' REPLACE WHERE id = 2 SELECT 2 AS id", Refuses("NOT MATCHED BY SOURCE")),
        ("REINDEX nothing ON 't.lance' RETRAIN", Refuses("nothing")),
        ("COPY (SELECT 1 AS id LIMIT 0) TO 'e.lance' (FORMAT lance, WRITE_EMPTY_FILE false)", Refuses("leave it out")),
        ("SHOW MAINTENANCE ON 't.lance'", Refuses("SHOW TBLPROPERTIES")),
    ],
    "Snowflake and BigQuery": [
        ("SELECT id FROM 't.lance' AT (OFFSET => -60)", Refuses("AT (TIMESTAMP => ")),
        ("SELECT id FROM 't.lance' BEFORE (STATEMENT => '8e5d')", Refuses("AT (")),
        ("SELECT id FROM 't.lance' CHANGES (INFORMATION => DEFAULT) AT (VERSION => 1)", Refuses("lance_changes")),
        ("UNDROP TABLE t", Refuses("RESTORE TABLE")),
        ("CREATE OR REPLACE STREAM s ON TABLE t", Refuses("lance-sql cursors")),
        ("SELECT id FROM 't.lance' FOR SYSTEM_TIME AS OF TIMESTAMP '{2}'", Answers((1, 2, 3, 4))),
    ],
    "Spark": [
        ("SELECT id FROM t.lance CHANGES FROM VERSION 2 TO VERSION 3 ORDER BY id", Answers((1, 4))),
        ("SELECT id FROM 't.lance' CHANGES FROM VERSION 2 EXCLUSIVE TO VERSION 3", Answers((1,))),
        ("SHOW CREATE TABLE 'plain.lance'", Answers(("CREATE TABLE 'plain.lance' (\n  \"n\" BIGINT\n)",))),
        (
            "DESCRIBE TABLE EXTENDED 'plain.lance'",
            Answers(("n", "_rowid", "_rowaddr", "_row_created_at_version", "_row_last_updated_at_version")),
        ),
        ("ANALYZE TABLE 't.lance' COMPUTE STATISTICS FOR COLUMNS id", ids(2, 3, 4)),
        ("REFRESH TABLE t", Refuses("newest version")),
    ],
}
CASES = [
    pytest.param(text, expected, id=f"{product}: {text}")
    for product in STATEMENTS
    for text, expected in STATEMENTS[product]
]


def config(table: Dataset) -> dict[str, str]:
    return dict(table.snapshot.manifest.config)


def is_with_vectors(table: Dataset) -> bool:
    is_vector = str(table.schema.field("v").type).endswith("[2]")
    return is_vector and config(table) == {"a": "b"} and table.version == 1


def metadata(table: Dataset) -> dict[str, str]:
    """Returns the metadata of a table, which may not be in its config."""
    assert config(table) == {}
    return dict(table.snapshot.manifest.table_metadata)


def covered(table: Dataset) -> int:
    """Returns the number of fragments that the only index covers."""
    (index,) = table.indices.list()
    return index.num_fragments


def comment(table: Dataset, column: str) -> str | None:
    found = (table.schema.field(column).metadata or {}).get(b"comment")
    return None if found is None else found.decode()


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("prepared")
    table = lance_sql.write({"id": [1, 2, 3], "s": ["a", "b", "c"]}, folder / "t.lance")
    table = lance_sql.write({"id": [4], "s": ["d"]}, folder / "t.lance", mode="append")
    table.delete("id = 1").update({"s": "'new'"}, "id = 2")
    return folder


@pytest.fixture(autouse=True)
def _in_folder(prepared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(prepared / "t.lance", tmp_path / "t.lance")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(agreement, "_is_terminal", lambda: True)
    monkeypatch.setattr("click.confirm", lambda *_, **__: True)


def of_sql(text: str, capsys: pytest.CaptureFixture[str]) -> list[Any]:
    return [row[0] for row in lance_sql.sql(text, all_rows=True).fetchall()]


@cache
def connection() -> Any:
    return lance_sql.connect()


def of_execute(text: str, capsys: pytest.CaptureFixture[str]) -> list[Any]:
    return [row[0] for row in connection().execute(text).fetchall()]


def of_relation(text: str, capsys: pytest.CaptureFixture[str]) -> list[Any]:
    return [row[0] for row in connection().sql(text).fetchall()]


def of_command_line(text: str, capsys: pytest.CaptureFixture[str]) -> list[Any]:
    result = CliRunner().invoke(main, [text, "--yes", "--all", "--output", "json"])
    if result.exit_code:
        raise LanceError(result.stderr)
    return _first_values(result.stdout)


def of_shell(text: str, capsys: pytest.CaptureFixture[str]) -> list[Any]:
    shell = Shell(connection())
    shell.run(".output json")
    shell.run(f"{text};" if not text.startswith("TRUNCATE") else "DELETE FROM 't.lance' WHERE true;")
    out, err = capsys.readouterr()
    if "Error" in err:
        raise LanceError(err)
    return _first_values(out)


def _first_values(text: str) -> list[Any]:
    return [next(iter(row.values())) for row in json.loads(text)] if text.strip() else []


SURFACES = [of_sql, of_command_line, of_shell]
if duckdb.__version__ >= "2":
    SURFACES += [of_execute, of_relation]


@pytest.mark.parametrize("surface", SURFACES, ids=lambda surface: surface.__name__[3:])
@pytest.mark.parametrize(("text", "expected"), CASES)
def test_statements(
    text: str,
    expected: Expected,
    surface: Callable[[str, pytest.CaptureFixture[str]], list[Any]],
    capsys: pytest.CaptureFixture[str],
) -> None:
    table = lance_sql.open("t.lance")
    if "plain.lance" in text:
        lance_sql.write({"n": [1]}, "plain.lance")
    if "key.lance" in text:
        names = [pa.field(name, pa.int64(), nullable=False) for name in "ab"]
        lance_sql.write({"a": [1], "b": [2]}, "key.lance", schema=pa.schema(names))
    for info in table.versions():
        text = text.replace(f"{{{info.version}}}", str(info.timestamp))
    if isinstance(expected, Refuses):
        with pytest.raises(LanceError) as refused:
            surface(text, capsys)
        message = str(refused.value).strip()
        assert expected.says in message
        assert "\n" not in message
        assert table.latest().version == 4
        return
    values = surface(text, capsys)
    if isinstance(expected, Answers):
        assert sorted(values) == sorted(expected.values)
    else:
        is_there = Path("t.lance").exists()
        assert expected.check(table.latest() if is_there else table)


def test_there_are_enough_of_them() -> None:
    assert len(CASES) >= 60


@pytest.mark.parametrize("engine", ["duckdb", "datafusion"])
@pytest.mark.parametrize(
    ("call", "instead"),
    {
        "lance_compact_files('{}')": "OPTIMIZE",
        "lance_cleanup_old_versions('{}', 0, false)": "VACUUM",
        "lance_create_scalar_index('{}', 'id', 'i')": "CREATE INDEX",
        "lance_set_config('{}', 'a', 'b')": "SET TBLPROPERTIES",
        "lance_unset_config('{}', 'a')": "SET TBLPROPERTIES",
        "lance_set_column_metadata('{}', 'id', 'a', 'b')": "COMMENT ON COLUMN",
        "lance_set_schema_metadata('{}', 'a', 'b')": "a statement of its own",
    }.items(),
)
def test_functions_that_change_tables_are_statements(tmp_path: Path, engine: Any, call: str, instead: str) -> None:
    path = tmp_path / "new.lance"
    lance_sql.write({"id": [1]}, path)
    with pytest.raises(UnsupportedFeature, match=instead):
        lance_sql.sql(f"SELECT 1 FROM {call.format(path)}", engine)
    assert lance_sql.open(path).version == 1


def test_indices_have_the_columns_of_the_extension(tmp_path: Path) -> None:
    path = tmp_path / "new.lance"
    table = lance_sql.write({"id": range(9), "s": ["x"] * 9}, path).indices.create("id", "btree")
    table.append({"id": [9], "s": ["y"]}).delete("id = 3")
    found = lance_sql.sql(f"SELECT * FROM lance_indexes('{path}')").to_table()
    assert found.to_pylist() == [
        {"index_name": "id_idx", "index_type": "btree", "column_names": ["id"], "rows_indexed": 8}
    ]


@pytest.mark.parametrize("engine", ["duckdb", "datafusion"])
def test_an_index_is_extended_or_rebuilt_by_its_name(tmp_path: Path, engine: Any) -> None:
    path = tmp_path / "new.lance"
    table = lance_sql.write({"id": range(9), "k": range(9)}, path).indices.create("id", "btree", name="By Id")
    table.indices.create("k", "btree").append({"id": [9], "k": [9]})
    lance_sql.sql(f"REINDEX \"By Id\" ON '{path}'", engine)
    by_name = {each.name: each for each in lance_sql.open(path).indices.list()}
    assert [by_name[name].num_uncovered for name in ("By Id", "k_idx")] == [0, 1]
    lance_sql.sql(f"REINDEX k_idx ON '{path}' RETRAIN", engine)
    by_name = {each.name: each for each in lance_sql.open(path).indices.list()}
    assert by_name["k_idx"].num_uncovered == 0


@pytest.mark.parametrize("option", ["", " true", " 'true'"])
def test_a_copy_of_no_rows_is_an_empty_table(tmp_path: Path, option: str) -> None:
    path = tmp_path / "new.lance"
    lance_sql.sql(f"COPY (SELECT 1 AS id LIMIT 0) TO '{path}' (FORMAT lance, WRITE_EMPTY_FILE{option})")
    assert lance_sql.open(path).count_rows() == 0
