"""Statements that write: what they do to rows, what they keep of them, and what they refuse."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import lance_sql
from lance_sql.dataset import Dataset
from lance_sql.errors import ColumnNotFound, InvalidArgument, TableExists, TableNotFound, UnsupportedFeature
from lance_sql.jobs import distributed
from lance_sql.one_sql.written import Written
from lance_sql.table.commit_origin import MAX_STATEMENT

ROWS = {"id": [1, 2, 3, 4], "status": ["open", "paid", "open", None], "amount": [1.5, 2.5, 3.5, 4.5]}


@pytest.fixture(autouse=True)
def _in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("LANCE_SQL_JOB", raising=False)
    lance_sql.write(ROWS, "t.lance")


def run(text: str, **options: Any) -> Written:
    done = lance_sql.sql(text, **options)
    assert isinstance(done, Written)
    return done


def counts(done: Written) -> tuple[int | None, int | None, int | None]:
    return done.change.rows_inserted, done.change.rows_updated, done.change.rows_deleted


def table() -> Dataset:
    return lance_sql.open("t.lance")


def rows(*columns: str) -> list[tuple[Any, ...]]:
    found = table().scan(["id", *columns]).to_table().to_pylist()
    return sorted((tuple(row.values()) for row in found), key=lambda row: int(row[0]))


@pytest.mark.parametrize("engine", ["duckdb", "datafusion"])
def test_a_query_is_inserted(engine: str) -> None:
    done = run("INSERT INTO 't.lance' SELECT id + 10, status, amount FROM 't.lance' WHERE id < 3", engine=engine)
    assert counts(done) == (2, 0, 0)
    assert done.dataset == table()
    assert rows("status")[-2:] == [(11, "open"), (12, "paid")]


@pytest.mark.parametrize("engine", ["duckdb", "datafusion"])
def test_rows_are_stored_in_the_order_of_the_query(engine: str) -> None:
    lance_sql.write({"n": [i * 7919 % 10007 for i in range(10_000)]}, "numbers.lance")
    run("INSERT INTO 't.lance' (id) SELECT n + 10 FROM 'numbers.lance' ORDER BY n", engine=engine)
    ids = table().to_table()["id"].to_pylist()
    assert ids == sorted(ids)


def test_copies_have_versions_and_files_of_some_rows() -> None:
    options = "FORMAT lance, DATA_STORAGE_VERSION '2.2', MAX_ROWS_PER_FILE 4"
    run(f"COPY (SELECT unnest(range(9)) AS id) TO 'z.lance' ({options})")
    files = "SELECT kind, file_version, rows FROM lance_files('z.lance') WHERE kind = 'data'"
    assert lance_sql.sql(files).fetchall() == [*[("data", "2.2", 4), ("data", "2.2", 4), ("data", "2.2", 1)]]
    run("COPY (SELECT unnest(range(9)) AS id) TO 'z.lance' (FORMAT lance, MODE append, MAX_ROWS_PER_FILE = 3)")
    assert len(lance_sql.open("z.lance").maintenance.layout().fragments) == 6
    with pytest.raises(InvalidArgument, match=r"2\.2"):
        run("COPY (SELECT 9 AS id) TO 'z.lance' (FORMAT lance, MODE append, DATA_STORAGE_VERSION '2.0')")
    with pytest.raises(UnsupportedFeature, match="use one of"):
        run("COPY (SELECT 9 AS id) TO 'x.lance' (FORMAT lance, DATA_STORAGE_VERSION '1.0')")
    with pytest.raises(InvalidArgument, match="MAX_ROWS_PER_FILE must be a number"):
        run("COPY (SELECT 9 AS id) TO 'x.lance' (FORMAT lance, MAX_ROWS_PER_FILE many)")
    assert lance_sql.open("z.lance").version == 2


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("INSERT INTO 't.lance' VALUES (5, 'new', 5.5)", (5, "new", 5.5)),
        ("INSERT INTO t.lance VALUES (5, 'new', 5.5)", (5, "new", 5.5)),
        ("INSERT INTO 't.lance' (amount, ID) VALUES (7, 5)", (5, None, 7.0)),
        ("INSERT INTO 't.lance' BY NAME SELECT 'x' AS status, 5 AS id", (5, "x", None)),
        ("WITH a AS (SELECT 5 AS n) INSERT INTO 't.lance' SELECT n, 'x', n FROM a", (5, "x", 5.0)),
        ("INSERT INTO 't.lance' WITH a AS (SELECT 5 AS n) SELECT n, 'x', n FROM a", (5, "x", 5.0)),
    ],
)
def test_rows_are_inserted_by_position_or_by_name(text: str, expected: tuple[Any, ...]) -> None:
    assert counts(run(text)) == (1, 0, 0)
    assert rows("status", "amount")[-1] == expected


def test_values_are_assigned_as_sql_does() -> None:
    schema = pa.schema([("at", pa.timestamp("us")), ("d", pa.decimal128(6, 2))])
    lance_sql.write(pa.table({"at": [], "d": []}, schema=schema), "typed.lance")
    run("INSERT INTO 'typed.lance' VALUES ('2026-01-02 03:04:05', 1.005), (NULL, 2)")
    found = lance_sql.open("typed.lance").scan().to_table()
    assert found.schema.types == schema.types
    assert str(found["d"][0]) == "1.01"
    with pytest.raises(InvalidArgument, match=r"cannot compute this: .*soon"):
        run("INSERT INTO 'typed.lance' VALUES ('soon', 1)")


def test_overwriting_keeps_the_versions_before() -> None:
    assert counts(run("INSERT OVERWRITE 't.lance' SELECT 9, 'x', 1")) == (1, 0, 4)
    assert (table().version, lance_sql.open("t.lance", version=1).count_rows()) == (2, 4)


@pytest.mark.parametrize("engine", ["duckdb", "datafusion"])
@pytest.mark.parametrize("file_version", ["2.0", "2.1", "2.2"])
def test_overwriting_by_a_query_keeps_the_columns(engine: str, file_version: str) -> None:
    pytest.importorskip(engine)
    blob = {"lance-encoding:blob": "true"}
    schema = pa.schema(
        [
            pa.field("id", pa.int64(), False, {"lance-schema:unenforced-primary-key": "true", "comment": "the key"}),
            pa.field("j", pa.json_(pa.string())),
            pa.field("u", pa.uuid()),
            pa.field("b", pa.large_binary(), metadata=blob),
            pa.field("d", pa.dictionary(pa.int8(), pa.string())),
            pa.field("v", pa.list_(pa.float16(), 2)),
            pa.field("c", pa.string(), metadata={"lance-encoding:compression": "zstd"}),
        ],
        {"made": "by hand"},
    )
    values = {"id": 1, "j": '{"k":1}', "u": b"0123456789abcdef", "b": b"long", "d": "a", "v": [1.0, 2.0], "c": "x"}
    arrays = []
    for field in schema:
        type = field.type.storage_type if isinstance(field.type, pa.BaseExtensionType) else field.type
        array = pa.array([values[field.name]], type)
        is_extension = isinstance(field.type, pa.BaseExtensionType)
        arrays.append(pa.ExtensionArray.from_storage(field.type, array) if is_extension else array)
    before = lance_sql.write(pa.Table.from_arrays(arrays, schema=schema), "c.lance", file_version=file_version)
    run("INSERT OVERWRITE 'c.lance' SELECT * FROM 'c.lance'", engine=engine)
    after = lance_sql.open("c.lance")
    assert after.snapshot.manifest.schema == before.snapshot.manifest.schema
    assert after.scan().to_table() == before.scan().to_table()
    run("INSERT INTO 'c.lance' (id) SELECT 2", engine=engine)
    with pytest.raises(InvalidArgument, match="id"):
        run("INSERT OVERWRITE 'c.lance' (j) SELECT j FROM 'c.lance'", engine=engine)
    with pytest.raises(InvalidArgument, match="id"):
        run("INSERT OVERWRITE 'c.lance' (id) SELECT CAST(NULL AS BIGINT)", engine=engine)


def test_tables_are_created_from_queries() -> None:
    assert counts(run("CREATE TABLE 'n.lance' AS SELECT * FROM 't.lance' WHERE id < 3")) == (2, 0, 0)
    with pytest.raises(TableExists):
        run("CREATE TABLE 'n.lance' AS SELECT 1 AS id")
    assert counts(run("CREATE OR REPLACE TABLE 'n.lance' AS SELECT 1 AS id")) == (1, 0, 2)
    assert counts(run("COPY (SELECT 2 AS id) TO 'n.lance' (FORMAT lance, MODE append)")) == (1, 0, 0)
    run("COPY (SELECT 2 AS id) TO 'm.lance'")
    assert lance_sql.open("n.lance").scan().to_table().num_rows == 2
    with pytest.raises(UnsupportedFeature, match=r"takes MODE create, append or overwrite, .* not ROW_GROUP_SIZE"):
        run("COPY (SELECT 2 AS id) TO 'n.lance' (FORMAT lance, ROW_GROUP_SIZE 7)")


def test_copies_are_compressed() -> None:
    run("COPY (SELECT 2 AS id) TO 'z.lance' (FORMAT lance, COMPRESSION zstd, COMPRESSION_LEVEL 9)")
    asked = lance_sql.open("z.lance").schema.field("id").metadata
    assert asked == {b"lance-encoding:compression": b"zstd", b"lance-encoding:compression-level": b"9"}
    run("COPY (SELECT 2 AS id) TO 'y.lance' (FORMAT lance, COMPRESSION 'LZ4', MODE overwrite)")
    assert lance_sql.open("y.lance").schema.field("id").metadata == {b"lance-encoding:compression": b"lz4"}
    with pytest.raises(InvalidArgument, match="gzip"):
        run("COPY (SELECT 2 AS id) TO 'x.lance' (FORMAT lance, COMPRESSION gzip)")
    with pytest.raises(InvalidArgument, match="must be a number"):
        run("COPY (SELECT 2 AS id) TO 'x.lance' (FORMAT lance, COMPRESSION zstd, COMPRESSION_LEVEL high)")
    with pytest.raises(InvalidArgument, match="use the compression of the table"):
        run("COPY (SELECT 2 AS id) TO 'z.lance' (FORMAT lance, COMPRESSION zstd, MODE append)")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("UPDATE 't.lance' SET amount = amount * 2 WHERE status = 'open'", {1: 3.0, 3: 7.0}),
        ("UPDATE t.lance SET amount = t.amount * 2 WHERE t.status = 'open'", {1: 3.0, 3: 7.0}),
        ("UPDATE 't.lance' x SET amount = 0 WHERE x.id = 1", {1: 0.0}),
        ("UPDATE 't.lance' SET AMOUNT = 0 WHERE ID = 1", {1: 0.0}),
        ("UPDATE 't.lance' SET amount = 0 WHERE id IN (SELECT max(id) FROM 't.lance')", {4: 0.0}),
        ("UPDATE 't.lance' SET amount = (SELECT count(*) FROM 't.lance') WHERE id = 1", {1: 4.0}),
        ("UPDATE 't.lance' SET amount = s.v FROM (VALUES (2, 9)) s(k, v) WHERE s.k = t.id", {2: 9.0}),
        ("UPDATE 't.lance' SET amount = 0 WHERE list_sum([id, 1]) = 2", {1: 0.0}),
    ],
)
def test_updates_keep_row_ids_and_record_when(text: str, expected: dict[int, float]) -> None:
    before = dict(rows("_rowid"))
    assert counts(run(text)) == (0, len(expected), 0)
    assert dict(rows("amount")) == {1: 1.5, 2: 2.5, 3: 3.5, 4: 4.5} | expected
    assert dict(rows("_rowid")) == before
    assert dict(rows("_row_last_updated_at_version")) == {id: 2 if id in expected else 1 for id in range(1, 5)}
    assert set(dict(rows("_row_created_at_version")).values()) == {1}


@pytest.mark.parametrize(
    ("text", "gone"),
    [
        ("DELETE FROM 't.lance' WHERE status = 'open'", {1, 3}),
        ("DELETE FROM t.lance AS x WHERE x.status IS NULL", {4}),
        ("DELETE FROM 't.lance' WHERE id = (SELECT min(id) FROM 't.lance')", {1}),
        ("DELETE FROM 't.lance' USING (VALUES (2), (2), (3)) s(k) WHERE s.k = t.id", {2, 3}),
        ("DELETE FROM 't.lance' WHERE true", {1, 2, 3, 4}),
        ("DELETE FROM 't.lance' WHERE false", set()),
    ],
)
def test_rows_are_deleted(text: str, gone: set[int]) -> None:
    assert counts(run(text)) == (0, 0, len(gone))
    assert {id for id, *_ in rows()} == {1, 2, 3, 4} - gone


@pytest.mark.parametrize("text", ["DELETE FROM 't.lance'", "TRUNCATE 't.lance'", "UPDATE 't.lance' SET amount = 0"])
def test_every_row_is_removed_or_changed_on_purpose_only(text: str) -> None:
    with pytest.raises(InvalidArgument, match=r"(removes|changes) every row of t\.lance"):
        run(text)
    assert sum(count or 0 for count in counts(run(text, all_rows=True))) == 4


def test_a_dry_run_describes_the_change_and_makes_none() -> None:
    done = run("MERGE INTO t.lance USING (SELECT 1 AS id) AS s ON t.id = s.id WHEN MATCHED THEN DELETE", dry_run=True)
    assert counts(done) == (0, 0, 1)
    assert done.dataset is None
    assert done.to_pylist()[0]["version"] is None
    assert counts(run("CREATE TABLE 'n.lance' AS SELECT 1 AS x", dry_run=True)) == (1, 0, 0)
    assert not Path("n.lance").exists()
    with pytest.raises(ColumnNotFound):
        run("UPDATE 't.lance' SET nothing = 1 WHERE true", dry_run=True)
    assert table().version == 1


def test_a_merge_takes_the_first_clause_that_holds() -> None:
    before = dict(rows("_rowid"))
    text = """
        MERGE INTO 't.lance' AS t
        USING (VALUES (1, 'gone', 0.0), (2, 'paid', 20.0), (3, 'skip', 0.0), (7, 'new', 7.0), (8, 'no', 0.0))
            AS s(id, status, amount)
        ON t.id = s.id
        WHEN MATCHED AND s.status = 'gone' THEN DELETE
        WHEN MATCHED AND s.status = 'skip' THEN DO NOTHING
        WHEN MATCHED THEN UPDATE SET amount = s.amount + t.amount
        WHEN NOT MATCHED AND s.status <> 'no' THEN INSERT (id, status) VALUES (s.id, upper(s.status))
        WHEN NOT MATCHED BY SOURCE THEN UPDATE SET status = 'lost'
    """
    assert counts(run(text)) == (1, 2, 1)
    assert rows("status", "amount") == [(2, "paid", 22.5), (3, "open", 3.5), (4, "lost", 4.5), (7, "NEW", None)]
    after = dict(rows("_rowid"))
    assert {id: after[id] for id in (2, 3, 4)} == {id: before[id] for id in (2, 3, 4)}
    assert dict(rows("_row_created_at_version")) == {2: 1, 3: 1, 4: 1, 7: 2}
    assert dict(rows("_row_last_updated_at_version")) == {2: 2, 3: 1, 4: 2, 7: 2}
    assert table().history()[-1].operation == "merge"


@pytest.mark.parametrize(
    ("clause", "expected"),
    [
        ("NOT MATCHED BY SOURCE AND id = 2 THEN DELETE", [(1, "open"), (3, "open"), (4, None)]),
        (
            'NOT MATCHED BY SOURCE AND "Amount" > 3 THEN UPDATE SET status = concat(status, id)',
            [(1, "open"), (2, "paid"), (3, "open3"), (4, "4")],
        ),
        (
            "NOT MATCHED BY SOURCE AND id IN (SELECT id FROM (VALUES (3)) AS u(id)) THEN DELETE",
            [(1, "open"), (2, "paid"), (4, None)],
        ),
        (
            "NOT MATCHED BY SOURCE THEN UPDATE SET status = list_transform([1], lambda id: id + amount)[1]::VARCHAR",
            [(1, "open"), (2, "3.5"), (3, "4.5"), (4, "5.5")],
        ),
        (
            "NOT MATCHED BY SOURCE THEN UPDATE SET status = [id + amount FOR id IN [1]][1]::VARCHAR",
            [(1, "open"), (2, "3.5"), (3, "4.5"), (4, "5.5")],
        ),
        (
            "NOT MATCHED AND amount > 8 THEN INSERT (id, status) VALUES (id, status || id)",
            [(1, "open"), (2, "paid"), (3, "open"), (4, None), (9, "new9")],
        ),
    ],
)
def test_a_column_without_a_table_is_of_the_one_table_that_has_the_row(
    clause: str, expected: list[tuple[object, ...]]
) -> None:
    run(
        "MERGE INTO 't.lance' AS t USING (VALUES (1, 'old', 1.0), (8, 'new', 8.0), (9, 'new', 9.0))"
        f" AS s(id, status, amount) ON t.id = s.id WHEN {clause}"
    )
    assert rows("status") == expected


def test_a_column_without_a_table_stays_ambiguous_where_both_tables_have_the_row() -> None:
    with pytest.raises(InvalidArgument, match='Ambiguous reference to column name "status"'):
        run(
            "MERGE INTO 't.lance' AS t USING (VALUES (1, 'old')) AS s(id, status) ON t.id = s.id"
            " WHEN MATCHED AND status = 'old' THEN DELETE"
        )


def test_merges_of_whole_rows_are_upserts() -> None:
    run("CREATE TABLE 's.lance' AS SELECT 'x' AS status, unnest([2, 9]) AS id")
    text = "MERGE INTO t.lance USING 's.lance' ON t.id = s.id"
    done = run(f"{text} WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *")
    assert counts(done) == (1, 1, 0)
    assert rows("status", "amount") == [
        (1, "open", 1.5),
        (2, "x", 2.5),
        (3, "open", 3.5),
        (4, None, 4.5),
        (9, "x", None),
    ]
    # what a column of the target was has no place in whole rows of another table
    assert counts(run(f"{text} WHEN NOT MATCHED BY SOURCE THEN DELETE")) == (0, 0, 3)


def test_null_keys_match_nothing() -> None:
    run("UPDATE 't.lance' SET status = NULL", all_rows=True)
    text = "MERGE INTO t.lance USING (SELECT NULL::VARCHAR AS status) s ON t.status = s.status"
    assert counts(run(f"{text} WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT (id) VALUES (9)")) == (1, 0, 0)


def test_two_rows_of_a_source_cannot_change_one_row() -> None:
    text = "MERGE INTO t.lance USING (VALUES (1), (1)) s(id) ON t.id = s.id WHEN MATCHED THEN UPDATE SET amount = 0"
    with pytest.raises(InvalidArgument, match="Two rows of the source match one row"):
        run(text)
    assert table().version == 1
    assert len(list(Path("t.lance/data").iterdir())) == 1


def test_columns_that_a_statement_does_not_set_stay_exactly_what_they_are() -> None:
    kept = pa.table(
        {
            "id": [1, 2],
            "half": pa.array([1.5, None], pa.float16()),
            "small": pa.array([1, 2], pa.uint8()),
            "nested": pa.array([{"a": [1, None]}, None]),
            "words": pa.array(["x", "y"]).dictionary_encode(),
            "at": pa.array([1, 2], pa.timestamp("ns")),
        }
    )
    lance_sql.write(kept, "kept.lance")
    written = lance_sql.open("kept.lance").scan().to_table()
    run("UPDATE 'kept.lance' SET id = id + 10 WHERE id IN (SELECT 2)")
    run("MERGE INTO 'kept.lance' k USING (SELECT 1 AS id) s ON k.id = s.id WHEN MATCHED THEN UPDATE SET id = 11")
    found = lance_sql.open("kept.lance").scan().to_table().sort_by("id")
    assert found.schema == written.schema
    assert found.drop_columns("id").to_pylist() == written.drop_columns("id").to_pylist()


def test_other_writers_may_come_between(monkeypatch: pytest.MonkeyPatch) -> None:
    original, calls = distributed.from_batches, []

    def interrupted(*arguments: Any, **options: Any) -> Any:
        calls.append(1)
        if len(calls) == 1:
            table().update({"amount": "100"}, "id = 1")
        return original(*arguments, **options)

    monkeypatch.setattr(distributed, "from_batches", interrupted)
    text = (
        "MERGE INTO t.lance USING (SELECT 1 AS id) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET amount = t.amount + 1"
    )
    assert counts(run(text)) == (0, 1, 0)
    assert len(calls) == 2
    assert rows("amount")[0] == (1, 101.0)


def test_a_connection_brings_its_own_tables() -> None:
    connection = duckdb.connect()
    connection.execute("CREATE TEMP TABLE fresh AS SELECT 1 AS id, 'x' AS status")
    done = run(
        "MERGE INTO t.lance USING fresh ON t.id = fresh.id WHEN MATCHED THEN UPDATE SET *", connection=connection
    )
    assert counts(done) == (0, 1, 0)


def test_the_statement_and_the_job_are_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "DELETE FROM 't.lance' WHERE id = 1"
    run(text, job="nightly")
    monkeypatch.setenv("LANCE_SQL_JOB", "weekly")
    table().delete("id = 2")
    run("INSERT INTO 't.lance' BY NAME SELECT 1 AS id" + " " * 3 + f"-- {'x' * 2 * MAX_STATEMENT}")
    found = [(entry.job, entry.statement) for entry in table().history()[1:]]
    assert found[:2] == [("nightly", text), ("weekly", None)]
    assert found[2][0] == "weekly"
    assert found[2][1] is not None
    assert len(found[2][1]) == MAX_STATEMENT
    shown = lance_sql.sql("SELECT job, statement FROM lance_versions('t.lance') WHERE version = 2").fetchall()
    assert shown == [("nightly", text)]
    # nothing of it is left for commits that follow
    monkeypatch.delenv("LANCE_SQL_JOB")
    assert table().delete("id = 3").history()[-1].job is None
    with pytest.raises(TableNotFound):
        run("DELETE FROM 'none.lance' WHERE id = 1", job="failed")
    assert table().delete("id = 4").history()[-1].statement is None


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("INSERT INTO 't.lance' SELECT 1", InvalidArgument, "has 1 column for 3 columns"),
        ("INSERT INTO 't.lance' (id, id) SELECT 1, 2", InvalidArgument, "inserted twice"),
        ("INSERT INTO 't.lance' (id, nothing) SELECT 1, 2", ColumnNotFound, "nothing"),
        ("INSERT INTO 't.lance' SELECT 1, 'a', 2 RETURNING id", UnsupportedFeature, "not support RETURNING"),
        (
            "INSERT INTO 't.lance' SELECT 1, 'a', 2 ON CONFLICT DO NOTHING",
            UnsupportedFeature,
            "ON CONFLICT is not supported here",
        ),
        ("INSERT INTO 't.lance' DEFAULT VALUES", UnsupportedFeature, "INSERT"),
        ("INSERT INTO 't.lance@1' SELECT 1", InvalidArgument, "the newest version: give t.lance without @1"),
        ("DELETE FROM t.lance@audited WHERE id = 1", InvalidArgument, "without @audited"),
        ("INSERT INTO mine SELECT 1", UnsupportedFeature, "in the engine itself for mine"),
        ("UPDATE mine SET a = 1", UnsupportedFeature, "in the engine itself for mine"),
        ("UPDATE 't.lance' SET nothing = 1 WHERE true", ColumnNotFound, "nothing"),
        ("UPDATE 't.lance' SET id = 1, ID = 2 WHERE true", InvalidArgument, "a column twice"),
        ("UPDATE 't.lance' SET (id, amount) = (1, 2)", UnsupportedFeature, "one by one"),
        ("UPDATE 't.lance' SET s.a = 5 WHERE id = 1", UnsupportedFeature, "cannot set s.a = 5: .* one by one"),
        ("UPDATE 't.lance' SET l[1] = 5 WHERE id = 1", UnsupportedFeature, "an item of l: .* one by one"),
        *(
            (f"MERGE INTO t.lance USING (SELECT 1 AS id) s ON t.id = s.id WHEN {clause}", UnsupportedFeature, message)
            for clause, message in (
                ("MATCHED THEN UPDATE SET s.amount = 5", "cannot set s.amount = 5: .* one by one"),
                ("NOT MATCHED THEN INSERT (id, s.amount) VALUES (1, 2)", "cannot insert into s.amount: name columns"),
                ("NOT MATCHED THEN INSERT (id, s['amount']) VALUES (1, 2)", "cannot insert into s.*: name columns"),
            )
        ),
        ("UPDATE 't.lance' SET amount = DEFAULT", UnsupportedFeature, "UPDATE cannot set DEFAULT"),
        ("UPDATE 't.lance' SET amount = 'much' WHERE true", InvalidArgument, "does not fit|much"),
        ("DELETE FROM 't.lance' WHERE nothing = 1", ColumnNotFound, "nothing"),
        ("DELETE FROM 'none.lance' WHERE id = 1", TableNotFound, "none.lance"),
        ("MERGE INTO mine USING 't.lance' s ON mine.id = s.id WHEN MATCHED THEN DELETE", UnsupportedFeature, "mine"),
        ("MERGE INTO t.lance USING 't.lance' s USING (id) WHEN MATCHED THEN DELETE", UnsupportedFeature, "USING .. ON"),
        ("MERGE INTO t.lance USING (SELECT 1 AS id) ON t.id = 1 WHEN MATCHED THEN DELETE", InvalidArgument, "a name"),
        ("CREATE TABLE 'n.lance' (id INTEGER) PARTITIONED BY (id)", UnsupportedFeature, "has no partitions"),
        ("CREATE TABLE mine AS SELECT 1", UnsupportedFeature, "in the engine itself for mine"),
        ("ALTER TABLE t ADD COLUMN x INTEGER", UnsupportedFeature, "does not run ALTER TABLE"),
        ("COPY 't.lance' FROM 'x.csv'", UnsupportedFeature, "COPY"),
    ],
)
def test_mistakes_are_reported_in_one_line(text: str, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message) as caught:
        run(text)
    assert "\n" not in str(caught.value)
    assert table().version == 1


def test_other_engines_name_the_way_out() -> None:
    text = "MERGE INTO t.lance USING (SELECT 1 AS id) s ON t.id = s.id WHEN MATCHED THEN DELETE"
    with pytest.raises(UnsupportedFeature, match="DataFusion cannot compute MERGE: engine='duckdb' does"):
        run(text, engine="datafusion")
    # what the verbs take needs no engine
    assert counts(run("DELETE FROM 't.lance' WHERE id = 1", engine="datafusion")) == (0, 0, 1)
    assert counts(run("UPDATE 't.lance' SET amount = 0 WHERE id = 2", engine="datafusion")) == (0, 1, 0)


def test_connections_of_duckdb_alone_do_not_write_tables() -> None:
    connection = lance_sql.register(duckdb.connect())
    for text in ("INSERT INTO 't.lance' SELECT 1", "DELETE FROM 't.lance'"):
        with pytest.raises(duckdb.Error, match=r"does not exist|Can only|lance"):
            connection.execute(text)
    assert table().version == 1


needs_own_connections = pytest.mark.skipif(
    duckdb.__version__ < "2", reason="DuckDB 1.5 has connections of its own only"
)


@needs_own_connections
def test_connections_write_with_parameters_in_any_order() -> None:
    connection = lance_sql.connect()
    done = connection.execute("INSERT INTO 't.lance' VALUES (?, ?, ?)", [9, "it's $1 or ?", 0.5]).fetchall()
    assert done == [("insert", 2, 1, 0, 0)]
    connection.execute("UPDATE 't.lance' SET status = ?, amount = ? WHERE id = ?", ["b", 7.5, 9])
    connection.execute("UPDATE 't.lance' SET amount = $2 WHERE id = $1", [9, 8.5])
    connection.sql("DELETE FROM 't.lance' WHERE id = $one", params={"one": 1})
    assert rows("status", "amount")[-1] == (9, "b", 8.5)
    assert len(rows()) == 4
    with pytest.raises(InvalidArgument, match="2 values are given"):
        connection.execute("DELETE FROM 't.lance' WHERE id = ?", [1, 2])


@needs_own_connections
def test_connections_see_the_variables_of_whoever_calls_them() -> None:
    connection = lance_sql.connect()

    def insert() -> None:
        frame = pa.table({"id": [20]})  # noqa: F841  # read by name
        assert connection.execute("FROM frame").fetchall() == [(20,)]
        assert connection.sql("FROM frame").fetchall() == [(20,)]
        connection.execute("INSERT INTO 't.lance' BY NAME FROM frame")

    insert()
    assert rows()[-1] == (20,)


@needs_own_connections
def test_a_change_is_no_part_of_a_transaction() -> None:
    connection = lance_sql.connect()
    connection.execute("BEGIN")
    with pytest.raises(InvalidArgument, match="ROLLBACK would not undo"):
        connection.execute("DELETE FROM 't.lance' WHERE id = 1")
    connection.execute("ROLLBACK")
    connection.execute("CREATE TABLE own (id INTEGER); INSERT INTO own VALUES (?)", [1])
    connection.executemany("INSERT INTO own VALUES (?)", [[2], [3]])
    assert connection.cursor().execute("DELETE FROM 't.lance' WHERE id IN (FROM own)").fetchall()[0][-1] == 3
    with pytest.raises(UnsupportedFeature, match="once for each row"):
        connection.executemany("INSERT INTO 't.lance' (id) VALUES (?)", [[2], [3]])


@needs_own_connections
@pytest.mark.parametrize("text", ["DELETE FROM 't.lance'", "TRUNCATE 't.lance'", "TRUNCATE TABLE 't.lance'"])
@pytest.mark.parametrize("method", ["execute", "sql"])
def test_connections_delete_all_rows_and_update_some(text: str, method: str) -> None:
    connection = lance_sql.connect()
    with pytest.raises(InvalidArgument, match="add WHERE true"):
        getattr(connection, method)("UPDATE 't.lance' SET id = 1")
    assert lance_sql.open("t.lance").version == 1
    num_rows = len(rows())
    assert getattr(connection, method)(text).fetchall() == [("delete", 2, 0, 0, num_rows)]
    assert rows() == []


@needs_own_connections
def test_views_and_explanations_travel_in_time() -> None:
    run("DELETE FROM 't.lance' WHERE id = 1")
    connection = lance_sql.connect()
    connection.execute("CREATE VIEW v AS SELECT t.id FROM 't.lance' VERSION AS OF 1 WHERE t.id < 3")
    assert connection.cursor().execute("SELECT count(*) FROM v").fetchall() == [(2,)]
    assert "id" in str(connection.execute("EXPLAIN FROM 't.lance' AT (VERSION => 1)").fetchall())
    assert connection.execute("SELECT count(*) FROM 't.lance' VERSION AS OF 1 WHERE id < ?", [2]).fetchall() == [(1,)]


KEYS = st.lists(st.integers(0, 6), unique=True, max_size=6)


@given(target=KEYS, source=KEYS, upserts=st.booleans(), removes=st.booleans())
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_merges_do_what_duckdb_does(target: list[int], source: list[int], upserts: bool, removes: bool) -> None:
    schema = pa.schema([("id", pa.int64()), ("v", pa.int64())])
    old = pa.table({"id": target, "v": target}, schema=schema)
    new = pa.table({"id": source, "v": [-key for key in source]}, schema=schema)
    lance_sql.write(old, "g.lance", mode="overwrite")
    clauses = "WHEN MATCHED AND t.v % 2 = 0 THEN UPDATE SET v = s.v WHEN MATCHED THEN DELETE"
    clauses += " WHEN NOT MATCHED THEN INSERT VALUES (s.id, s.v)" if upserts else ""
    clauses += " WHEN NOT MATCHED BY SOURCE AND t.id > 3 THEN DELETE" if removes else ""
    connection = duckdb.connect()
    connection.register("old", old)
    connection.register("source", new)
    connection.execute("CREATE TABLE expected AS FROM old")
    connection.execute(f"MERGE INTO expected AS t USING source AS s ON t.id = s.id {clauses}")
    run(f"MERGE INTO 'g.lance' AS t USING source AS s ON t.id = s.id {clauses}", connection=connection)
    found = lance_sql.open("g.lance").scan().to_table().sort_by("id").to_pylist()
    assert found == connection.sql("FROM expected ORDER BY id").to_arrow_table().to_pylist()


@pytest.mark.parametrize(
    ("text", "dialect", "says"),
    [
        ("UPDATE `t.lance` AS t JOIN `t.lance` AS s ON t.id = s.id AND s.id = 1 SET t.amount = 0", "mysql", "JOIN"),
        ("TRUNCATE TABLE `t.lance` PARTITION (id = 1)", "spark", "PARTITION"),
        ("WITH c AS (SELECT 1 AS id) DELETE FROM 't.lance' WHERE id IN (SELECT id FROM c)", None, "WITH before it"),
        ("WITH c AS (SELECT 1 AS id) UPDATE 't.lance' SET amount = 0 WHERE id IN (SELECT id FROM c)", None, "WITH"),
        ("DELETE FROM 't.lance' TABLESAMPLE 10% WHERE id > 0", None, "TABLESAMPLE"),
        ("DELETE FROM 't.lance' WHERE id > 0 RETURNING id", None, "RETURNING"),
        (
            "MERGE INTO 't.lance' t USING (SELECT 1 AS id, 7 AS w) s ON (t.id = s.id) "
            "WHEN MATCHED THEN UPDATE SET t.amount = s.w WHERE s.w > 100",
            "oracle",
            "WHERE",
        ),
        ("INSERT INTO 't.lance' (amount) BY NAME SELECT 5 AS id", None, "BY NAME"),
    ],
)
def test_no_part_of_a_statement_is_passed_over(text: str, dialect: str | None, says: str) -> None:
    with pytest.raises(UnsupportedFeature, match=says):
        lance_sql.sql(text, dialect=dialect, all_rows=True)
    assert table().version == 1


def test_values_of_a_clause_do_not_change_those_of_another() -> None:
    precise = {"id": [1, 9], "big": [2**53 + 1, 2**53 + 3], "other": [0, 0]}
    lance_sql.write(precise, "big.lance")
    run(
        """MERGE INTO 'big.lance' t USING (SELECT unnest([1, 9]) AS id, 0.5::DOUBLE AS half) s ON t.id = s.id
        WHEN MATCHED AND s.id = 9 THEN UPDATE SET big = s.half * 4, other = 1
        WHEN MATCHED THEN UPDATE SET other = 5"""
    )
    found = lance_sql.open("big.lance").to_table().sort_by("id").to_pylist()
    assert found == [{"id": 1, "big": 2**53 + 1, "other": 5}, {"id": 9, "big": 2, "other": 1}]
    run(
        """MERGE INTO 'big.lance' t USING (SELECT unnest([1, 9]) AS id, 0.5::DOUBLE AS half) s ON t.id = s.id
        WHEN MATCHED AND s.id = 9 THEN UPDATE SET big = s.half * 4
        WHEN MATCHED THEN UPDATE SET big = t.big + 2"""
    )
    assert lance_sql.open("big.lance").scan(["big"], "id = 1").to_table()["big"].to_pylist() == [2**53 + 3]


@pytest.mark.parametrize("kind", ["FULL", "RIGHT", "LEFT", "INNER"])
def test_joins_of_other_tables_are_made_before_that_with_the_table(kind: str) -> None:
    done = run(
        f"""UPDATE 't.lance' SET amount = 0 FROM (SELECT 99 AS id) a {kind} JOIN (SELECT 1 AS id) b ON a.id = b.id
        WHERE t.id = b.id"""
    )
    assert counts(done) == (0, int(kind in ("FULL", "RIGHT")), 0)
    assert table().count_rows() == 4


def test_several_tables_are_joined_with_commas() -> None:
    done = run(
        "UPDATE 't.lance' SET amount = a.id + b.id FROM (SELECT 1 AS id) a, (SELECT 2 AS id) b WHERE t.id = b.id"
    )
    assert counts(done) == (0, 1, 0)
    assert rows("amount")[1] == (2, 3.0)


def test_a_column_of_the_source_may_have_any_name() -> None:
    done = run(
        """MERGE INTO 't.lance' t USING (SELECT 9 AS id, 3 AS __clause, true AS __in_source, 1.0 AS v0) s ON t.id = s.id
        WHEN NOT MATCHED THEN INSERT (id, amount) VALUES (s.id, s.__clause + s.v0)"""
    )
    assert counts(done) == (1, 0, 0)
    assert rows("amount")[-1] == (9, 4.0)


def test_deleting_with_another_table_and_no_condition_has_to_be_meant() -> None:
    with pytest.raises(InvalidArgument, match="all_rows=True"):
        lance_sql.sql("DELETE FROM 't.lance' USING (SELECT 1) q")
    assert table().count_rows() == 4


def test_a_rehearsal_of_replacing_tells_what_goes() -> None:
    for text in (
        "CREATE OR REPLACE TABLE 't.lance' AS SELECT 5 AS id WHERE false",
        "COPY (SELECT 5 AS id WHERE false) TO 't.lance' (FORMAT lance, MODE overwrite)",
    ):
        done = run(text, dry_run=True)
        assert counts(done) == (0, 0, 4)
    with pytest.raises(TableExists, match=r"t\.lance' exists already, at version 1"):
        lance_sql.sql("CREATE TABLE 't.lance' AS SELECT 5 AS id", dry_run=True)
    assert table().version == 1


def test_copy_takes_every_mode_and_no_version() -> None:
    with pytest.raises(InvalidArgument, match=r"newest version: give t\.lance without @1"):
        lance_sql.sql("COPY (SELECT 5 AS id) TO 't.lance@1' (FORMAT lance)")
    assert not Path("t.lance@1").exists()
    assert counts(run("COPY (SELECT 5 AS id) TO 'u.lance' (FORMAT lance, MODE create)")) == (1, 0, 0)
    with pytest.raises(TableExists):
        lance_sql.sql("COPY (SELECT 5 AS id) TO 'u.lance' (FORMAT lance, MODE create)")


def test_a_table_may_be_called_by_a_word_of_sql() -> None:
    lance_sql.write(ROWS, "order.lance")
    done = run("DELETE FROM 'order.lance' WHERE id IN (SELECT 1)")
    assert counts(done) == (0, 0, 1)


def test_changes_may_be_the_name_of_a_column() -> None:
    assert lance_sql.sql("SELECT id changes FROM 't.lance' ORDER BY 1 LIMIT 1").to_pylist() == [{"changes": 1}]


def test_members_of_structs_are_refused_with_the_way_out() -> None:
    run("CREATE TABLE 's.lance' AS SELECT 1 AS id, {'c': 1} AS b")
    with pytest.raises(InvalidArgument, match="member of a struct"):
        run("ALTER TABLE 's.lance' ALTER COLUMN b.c TYPE BIGINT")


def test_a_uri_with_the_signs_of_a_pattern_is_a_table_where_there_is_one() -> None:
    lance_sql.write({"id": [7]}, "memory://writes/[a]/t.lance")
    query = "FROM 'memory://writes/[a]/t.lance'"
    assert lance_sql.sql(query).fetchall() == lance_sql.connect().execute(query).fetchall() == [(7,)]
    with pytest.raises(InvalidArgument, match="is a pattern"):
        run("INSERT INTO 't.lance' (id) SELECT id FROM 'memory://writes/[b]/*.lance'")


def test_blob_arrays_of_pylance_are_refused_with_the_way_out() -> None:
    lance = pytest.importorskip("lance")
    with pytest.raises(InvalidArgument, match=r"Pass the bytes of a blob array of pylance: b.storage.field\('data'\)"):
        lance_sql.write(pa.table({"b": lance.blob_array([b"a"])}), "b.lance")


@pytest.mark.parametrize("engine", ["duckdb", "datafusion"])
@pytest.mark.parametrize("text", ["CREATE TABLE 'new.lance' AS {}", "CREATE OR REPLACE TABLE 'new.lance' AS {}"])
def test_columns_that_an_engine_knows_not_to_be_null_may_be_null(engine: str, text: str) -> None:
    query = "SELECT id, 'new' AS state, count(*) AS n FROM 't.lance' GROUP BY id"
    made = run(text.format(query), engine=engine).dataset
    assert made is not None
    assert [field.nullable for field in made.schema] == [True] * 3
    lance_sql.sql("INSERT INTO 'new.lance' (id) VALUES (2)", engine)
    assert lance_sql.open("new.lance").count_rows("state IS NULL AND n IS NULL") == 1


@pytest.mark.parametrize("dialect", ["spark", "datafusion", "bigquery", "databricks"])
@pytest.mark.parametrize(
    ("type", "expected"),
    [
        ("MAP<STRING, INT>", pa.map_(pa.string(), pa.int32())),
        ("STRUCT<a: INT, b: STRING>", pa.struct([("a", pa.int32()), ("b", pa.string())])),
        ("ARRAY<STRUCT<a: INT, b: ARRAY<STRING>>>", None),
        ("STRUCT<m: MAP<STRING, DECIMAL(5, 1)>, b: STRING>", None),
    ],
)
def test_types_with_commas_in_angle_brackets(dialect: str, type: str, expected: pa.DataType | None) -> None:
    if dialect in ("bigquery", "datafusion"):
        type = type.replace(":", "")
    made = run(f"CREATE TABLE 'new.lance' (id BIGINT, x {type} NOT NULL, y INT)", dialect=dialect).dataset
    assert made is not None
    assert made.schema.names == ["id", "x", "y"]
    assert not made.schema.field("x").nullable
    if dialect == "spark" and expected is not None:
        assert made.schema.field("x").type == expected
    lance_sql.sql(f"ALTER TABLE 'new.lance' ADD COLUMN z {type}", dialect=dialect)
    assert lance_sql.open("new.lance").schema.field("z").type == made.schema.field("x").type
