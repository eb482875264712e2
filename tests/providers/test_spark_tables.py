"""Tables as objects in PySpark: changes that Spark computes and writes, with the result that one process has."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import lance_sql
from lance_sql.errors import ColumnNotFound, InvalidArgument, TableExists, TableNotFound

pytest.importorskip("pyspark", reason='PySpark is not installed: pip install "lance-sql[spark]"')

from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

from lance_sql.spark import LanceTable, MergeBuilder, write

pytestmark = pytest.mark.filterwarnings("ignore")

SYSTEM = ("_rowid", "_row_created_at_version", "_row_last_updated_at_version")


def rows(keys: range) -> pa.Table:
    return pa.table(
        {
            "id": pa.array(keys, pa.int64()),
            "v": pa.array([n % 200 for n in keys], pa.uint8()),
            "s": pa.array([f"x{n}" for n in keys]),
        }
    )


@pytest.fixture
def path(tmp_path: Path) -> str:
    made = lance_sql.write(rows(range(60)), tmp_path / "t.lance", max_rows_per_file=20)
    made.tags.create("before")
    return str(made.delete("id = 59").uri)


def content(table: lance_sql.Dataset, *, with_lineage: bool = False) -> list[dict[str, Any]]:
    names = [*table.schema.names, *(SYSTEM if with_lineage else ())]
    found: list[dict[str, Any]] = table.scan(names).to_table().sort_by("id").to_pylist()
    return found


def test_a_merge_is_that_of_one_process(spark: SparkSession, path: str, tmp_path: Path) -> None:
    local = lance_sql.open(path).branches.shallow_clone(tmp_path / "local.lance")
    source = pa.table({"id": pa.array([3, 25, 59, 100, None], pa.int64()), "s": ["a", "b", "c", "d", "e"]})
    local = local.merge(source, on="id")
    frame = spark.createDataFrame(
        source.to_pandas().astype(object).where(lambda x: x.notna(), None), "id bigint, s string"
    )
    table = LanceTable.for_path(spark, path)
    made = table.merge(frame, on="id").when_matched_update().when_not_matched_insert().execute()
    assert content(made) == content(local)
    # new rows get their ids in any order
    old = [row for row in content(made, with_lineage=True) if row["_row_created_at_version"] < made.version]
    assert old == [row for row in content(local, with_lineage=True) if row["_row_created_at_version"] < made.version]
    new = {row["_rowid"] for row in content(made, with_lineage=True)} - {row["_rowid"] for row in old}
    assert new == {60, 61, 62}
    assert made.version == local.version == 3
    assert lance_sql.audit(path).is_healthy
    assert lance_sql.verify(path, deep=True).is_healthy
    summary = made.versions()[-1].summary
    assert summary is not None
    assert (summary.operation, summary.rows_updated, summary.rows_inserted) == ("merge", 2, 3)
    kinds = {row["_change_type"]: row["count"] for row in table.changes(3).groupBy("_change_type").count().collect()}
    assert kinds == {"insert": 3, "update_preimage": 2, "update_postimage": 2}


def test_columns_of_one_type_keep_their_places(spark: SparkSession, tmp_path: Path) -> None:
    made = lance_sql.write({"id": [1, 2, 3], "a": ["a1", "a2", "a3"], "b": ["b1", "b2", "b3"]}, tmp_path / "t.lance")
    table = LanceTable.for_path(spark, made.uri)
    table.update({"a": "'new'"}, "id = 1")
    source = spark.createDataFrame([(2, "in"), (4, "in")], "id bigint, b string")
    merged = table.merge(source, on="id").when_matched_update().when_not_matched_insert().execute()
    assert content(merged) == [
        {"id": 1, "a": "new", "b": "b1"},
        {"id": 2, "a": "a2", "b": "in"},
        {"id": 3, "a": "a3", "b": "b3"},
        {"id": 4, "a": None, "b": "in"},
    ]


@pytest.mark.parametrize("kind", [LanceTable, MergeBuilder])
def test_every_verb_has_the_name_of_delta_on_spark(kind: type) -> None:
    verbs = [name for name in vars(kind) if "_" in name and not name.startswith("_")]
    assert verbs
    for name in verbs:
        first, *others = name.split("_")
        alias = "toDF" if name == "to_df" else first + "".join(map(str.capitalize, others))
        assert hasattr(kind, alias), alias


def test_clauses_in_their_order(spark: SparkSession, path: str) -> None:
    frame = spark.sql("SELECT id, id % 2 = 0 AS is_gone, 7 AS w FROM range(50, 65)")
    made = (
        LanceTable.forPath(spark, path)
        .merge(frame, "ID")
        .whenMatchedDelete("source.is_gone")
        .whenMatchedUpdate("target.id < 56", {"V": "target.v + source.w", "s": F.lit("new")})
        .whenNotMatchedInsert("source.id <> 60", {"ID": "source.id", "s": "concat('in ', source.id)"})
        .whenNotMatchedBySourceDelete("target.id < 10")
        .when_not_matched_by_source_update({"s": "upper(target.s)"}, F.col("target.id") < 12)
        .execute(properties={"why": "a test"})
    )
    found = {row["id"]: (row["v"], row["s"]) for row in content(made)}
    expected: dict[int, tuple[int | None, str]] = {n: (n % 200, f"x{n}") for n in range(59)}
    for key in [*range(10), 50, 52, 54, 56, 58]:
        del expected[key]
    expected |= {10: (10, "X10"), 11: (11, "X11"), 51: (58, "new"), 53: (60, "new"), 55: (62, "new")}
    expected |= {n: (None, f"in {n}") for n in (59, 61, 62, 63, 64)}
    assert found == expected
    assert made.version == 3
    summary = made.versions()[-1].summary
    assert summary is not None
    assert (summary.rows_updated, summary.rows_inserted, summary.rows_deleted) == (5, 5, 15)
    assert summary.properties == {"why": "a test"}


@pytest.mark.slow
def test_errors_of_a_merge_are_reported(spark: SparkSession, path: str) -> None:
    table = LanceTable.for_path(spark, path)
    twice = spark.sql("SELECT 3L AS id, 'a' AS s UNION ALL SELECT 3L, 'b'")
    with pytest.raises(InvalidArgument, match="Two rows of the source match one row"):
        table.merge(twice, "id").when_matched_update().execute()
    with pytest.raises(InvalidArgument, match="pass a condition as condition="):
        table.merge(twice, "id").when_matched_update("source.id > 1")
    with pytest.raises(ColumnNotFound, match="has no key column 'idd'"):
        table.merge(twice, "idd").when_matched_update().execute()
    with pytest.raises(ColumnNotFound, match="has no column 'w', which the merge sets"):
        table.merge(twice.withColumn("w", F.lit(1)), "id").when_matched_update().execute()
    with pytest.raises(InvalidArgument, match="does nothing"):
        table.merge(twice, "id").execute()
    with pytest.raises(InvalidArgument, match="pass each key column once"):
        table.merge(twice, [])
    with pytest.raises(InvalidArgument, match="does not fit uint8") as caught:
        table.merge(twice.limit(1), "id").when_matched_update({"v": "300"}).execute()
    assert len(str(caught.value).splitlines()) == 1
    with pytest.raises(TableNotFound):
        LanceTable.for_path(spark, path + ".none")
    assert table.dataset().version == 2


def test_update_delete_compact_and_history(spark: SparkSession, path: str) -> None:
    table = LanceTable.for_path(spark, path)
    assert table.update({"v": "v + 1", "s": F.lit("u")}, "id < 5").version == 3
    assert table.update({"s": "concat(s, '!')"}, F.col("id") == 4).version == 4
    assert table.delete("id IN (10, 30)").version == 5
    assert table.delete(F.col("id") == 11).version == 6
    assert table.delete("id = 1000").version == 6
    made = table.compact(target_rows=1000)
    assert len(made.snapshot.manifest.fragments) == 1
    found = {row["id"]: (row["v"], row["s"]) for row in content(made)}
    expected = {n: (n % 200, f"x{n}") for n in range(59) if n not in (10, 11, 30)}
    expected |= {n: (n + 1, "u") for n in range(4)} | {4: (5, "u!")}
    assert found == expected
    report = lance_sql.audit(path)
    assert report.is_healthy, str(report)
    told = [(row.version, row.operation, row.rows_deleted) for row in table.history(3).collect()]
    assert told == [(8, "compact", 0), (7, "reserve_fragments", 0), (6, "delete", 1)]
    assert table.to_df(["id"], "id < 3").count() == 3
    assert [file.version for file in table.cleanup(retain_versions=3).versions] != []
    with pytest.raises(InvalidArgument, match="where='true' updates all rows"):
        table.update({"v": "1"})
    with pytest.raises(ColumnNotFound):
        table.update({"w": "1"}, "true")
    with pytest.raises(ColumnNotFound, match="No column 'idd'"):
        table.delete("idd = 3")


def test_names_of_delta_and_columns_in_any_case(spark: SparkSession, path: str) -> None:
    table = LanceTable.for_path(spark, path)
    frame = spark.sql("SELECT 3L AS ID, 'three' AS S UNION ALL SELECT 100L, 'new'")
    made = table.merge(frame, "Id").whenMatchedUpdateAll("source.id = 3").whenNotMatchedInsertAll().execute()
    found = {row["id"]: (row["v"], row["s"]) for row in content(made)}
    assert (found[3], found[100], len(found)) == ((3, "three"), (None, "new"), 60)
    spark.conf.set("spark.sql.caseSensitive", "true")
    try:
        with pytest.raises(ColumnNotFound, match="has no key column 'Id'"):
            table.merge(frame, "Id").whenMatchedUpdateAll().execute()
    finally:
        spark.conf.unset("spark.sql.caseSensitive")


def test_columns_of_spark_may_be_null_later(spark: SparkSession, tmp_path: Path) -> None:
    path = str(tmp_path / "t.lance")
    frame = spark.range(3).selectExpr("id", "struct(id AS a, array(id) AS b) AS s")
    assert not any(field.nullable for field in frame.schema)
    frame.write.format("lance").mode("append").save(path)
    made = lance_sql.open(path)
    assert all(field.nullable for field in made.schema)
    assert made.schema.field("s").type.field("b").type.value_field.nullable
    nothing = spark.sql(
        "SELECT CAST(NULL AS bigint) AS id, struct(CAST(NULL AS bigint) AS a, array(1L, NULL) AS b) AS s"
    )
    nothing.write.format("lance").mode("append").save(path)
    assert lance_sql.open(path).count_rows("id IS NULL") == 1
    # what a table promises itself stays
    strict = str(tmp_path / "strict.lance")
    schema = pa.schema([pa.field("id", pa.int64(), nullable=False)])
    lance_sql.write(pa.table({"id": [1]}, schema=schema), strict)
    spark.range(3).write.format("lance").mode("overwrite").save(strict)
    assert not lance_sql.open(strict).schema.field("id").nullable


@pytest.mark.slow
def test_modes_files_and_columns_of_writes(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "t.lance"
    frame = spark.range(0, 100, 1, 8).selectExpr("id", "concat('x', id) AS s")
    made = write(frame, path, target_rows_per_file=50)
    assert len(made.snapshot.manifest.fragments) == 2
    with pytest.raises(TableExists, match="say mode="):
        write(frame, path)
    assert write(frame, path, mode="ignore").version == 1
    wide = spark.range(100, 102, 1, 1).selectExpr("id AS ID", "'y' AS S", "1.5D AS score")
    with pytest.raises(InvalidArgument, match="score: no such column"):
        write(wide, path, mode="append")
    before = lance_sql.open(path).version
    grown = write(wide, path, mode="append", merge_schema=True)
    assert grown.version == before + 1
    failing = wide.selectExpr("id", "if(id > 100, raise_error('no'), 1) AS other")
    with pytest.raises(Exception, match="no"):
        write(failing, path, mode="append", merge_schema=True)
    assert lance_sql.open(path).schema.names == ["id", "s", "score"]
    again = (
        wide.selectExpr("id + 10 AS id", "'z' AS s", "2 AS extra").write.format("lance").option("mergeSchema", "true")
    )
    again.mode("append").save(str(path))
    assert lance_sql.open(path).to_table(filter="extra IS NOT NULL")["id"].to_pylist() == [110, 111]
    lance_sql.open(path).restore(grown.version)
    assert grown.schema.names == ["id", "s", "score"]
    assert grown.count_rows("score IS NULL") == 100
    assert grown.count_rows() == 102
    assert write(frame, path, mode="overwrite", maxRowsPerFile="10").count_rows() == 100
    with pytest.raises(InvalidArgument, match="is not one of"):
        write(frame, path, mode="replace")


def test_a_branch_by_its_address(spark: SparkSession, path: str) -> None:
    """Reads, LanceTable and SQL take `t.lance@load`; writes of frames name the option."""
    table = lance_sql.open(path)
    table.branches.create("load")
    place, version = f"{path}@load", table.version
    frame = spark.createDataFrame([(100, "new")], "id bigint, s string")
    on_branch = LanceTable.for_path(spark, place)
    made = on_branch.merge(frame, on="id").when_not_matched_insert().execute()
    assert (made.branch, made.count_rows()) == ("load", 60)
    assert on_branch.delete("id < 10").count_rows() == 50
    assert on_branch.update({"s": "'y'"}, "id = 100").count_rows("s = 'y'") == 1
    lance_sql.sql(f"INSERT INTO '{place}' VALUES (101, 1, 'z')", session=spark)
    lance_sql.sql(f"DELETE FROM '{place}' WHERE id = 100", session=spark)
    frame.write.format("lance").option("branch", "load").mode("append").save(path)
    assert spark.read.format("lance").load(place).count() == on_branch.to_df().count() == 51
    feed = spark.read.format("lance").option("readChangeFeed", "true").option("since", version).load(place)
    assert feed.where("_change_type = 'delete' AND id = 100").count() == 1
    assert lance_sql.open(path).version == version
    for mode in ("append", "overwrite"):
        with pytest.raises(Exception, match="is the name of a version or branch of"):
            frame.write.format("lance").mode(mode).save(place)
    for name in ("before", "1"):
        assert spark.read.format("lance").load(f"{path}@{name}").count() == 60
        with pytest.raises(InvalidArgument, match="Changes apply to the newest version"):
            LanceTable.for_path(spark, f"{path}@{name}")
        with pytest.raises(InvalidArgument, match="Changes apply to the newest version"):
            lance_sql.sql(f"DELETE FROM '{path}@{name}' WHERE id = 1", session=spark)
    assert lance_sql.open(path).version == version
