"""Metadata in SQL: the same tables in both engines."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import lance
import pyarrow as pa
import pytest

import lance_sql
from lance_sql.catalogs import metadata_tables

Run: TypeAlias = Callable[[str], list[dict[str, Any]]]


def _duckdb() -> Run:
    connection = lance_sql.connect()
    return lambda sql: connection.sql(sql).to_arrow_table().to_pylist()


def _datafusion() -> Run:
    from datafusion import SessionContext

    from lance_sql.providers.datafusion import registration

    context = registration.register(SessionContext())
    return lambda sql: pa.table(context.sql(sql)).to_pylist()


@pytest.fixture(params=[_duckdb, _datafusion], ids=["duckdb", "datafusion"])
def run(request: pytest.FixtureRequest) -> Run:
    engine: Run = request.param()
    return engine


@pytest.fixture
def table(tmp_path: Path) -> lance_sql.Dataset:
    rows = pa.table({"id": [1, 2, 3], "name": ["a", "b", None]}).replace_schema_metadata({"made": "by hand"})
    dataset = lance_sql.write(rows, tmp_path / "t.lance").delete("id = 2")
    dataset.tags.create("after")
    dataset.branches.create("test")
    return dataset


@pytest.mark.parametrize("name", metadata_tables.TABLES)
def test_sql_has_what_python_has(run: Run, table: lance_sql.Dataset, name: str) -> None:
    if name in ("indices", "indexes"):
        table = table.indices.create("id", "zonemap")
    if name == "rules":
        table = table.rules.set("known", "not_null(id)")
    if name == "cursors":
        table.cursors.open("job", start=1)
    if name == "config":
        table = table.config.update({"team": "growth"})
    if name == "column_metadata":
        table = table.config.update_field_metadata("id", {"note": "a key"})
    if name == "table_metadata":
        lance.dataset(table.uri).update_metadata({"owner": "us"})
        table = table.latest()
    expected = metadata_tables.TABLES[name](table).to_pylist()
    assert run(f"SELECT * FROM lance_{name}('{table.uri}')") == expected
    assert expected


def test_versions_record_their_operation(run: Run, table: lance_sql.Dataset) -> None:
    rows = run(f"SELECT version, operation, deleted, tags FROM lance_versions('{table.uri}') ORDER BY version")
    assert rows == [
        {"version": 1, "operation": "create", "deleted": 0, "tags": None},
        {"version": 2, "operation": "delete", "deleted": 1, "tags": "after"},
    ]


def test_conditions_that_are_constant(run: Run, table: lance_sql.Dataset) -> None:
    versions = f"lance_versions('{table.uri}')"
    assert run(f"SELECT a FROM (SELECT 1 AS a) LEFT JOIN {versions} ON false") == [{"a": 1}]
    assert run(f"SELECT version FROM {versions} WHERE version > 1 AND NULL") == []


def test_files_of_an_older_version(table: lance_sql.Dataset) -> None:
    duckdb, datafusion = _duckdb(), _datafusion()
    by_name = duckdb(f"SELECT kind FROM lance_files('{table.uri}', version := 1)")
    assert by_name == datafusion(f"SELECT kind FROM lance_files('{table.uri}', 1)") == [{"kind": "data"}]
    assert duckdb(f"SELECT deleted_rows FROM lance_fragments('{table.uri}', tag := 'after')") == [{"deleted_rows": 1}]


def test_a_table_has_its_own_columns_only(run: Run, table: lance_sql.Dataset) -> None:
    assert run(f"SELECT * FROM lance_table('{table.uri}') WHERE id > 1") == [{"id": 3, "name": None}]


def test_a_table_of_an_older_version(table: lance_sql.Dataset) -> None:
    sql = f"SELECT count(*) AS n FROM lance_table('{table.uri}', version := 1)"
    assert _duckdb()(sql) == _datafusion()(sql.replace("version := ", "")) == [{"n": 3}]


def test_errors_name_the_table(run: Run, tmp_path: Path) -> None:
    for function in ("lance_table", "lance_versions", "lance_files"):
        with pytest.raises(Exception, match=r"missing\.lance"):
            run(f"SELECT * FROM {function}('{tmp_path}/missing.lance')")


@pytest.mark.parametrize("engine", ["duckdb", "datafusion"])
def test_metadata_of_other_writers(tmp_path: Path, engine: str) -> None:
    members = pa.struct([pa.field("y", pa.int64(), metadata={"unit": "m"})])
    fields = [pa.field("id", pa.int64(), metadata={"note": "é"}), pa.field("s", members)]
    rows = pa.table({"id": [1], "s": [{"y": 2}]}, pa.schema(fields, metadata={"made": "by hand"}))
    dataset = lance.write_dataset(rows, tmp_path / "t.lance")
    dataset.update_config({"team": "growth"})
    dataset.update_metadata({"owner": "us"})

    def found(name: str, version: int | None = None) -> list[tuple[object, ...]]:
        more = "" if version is None else f", {version}"
        return lance_sql.sql(f"FROM lance_{name}('{tmp_path}/t.lance'{more})", engine).fetchall()

    assert ("team", "growth") in found("config")
    assert found("config", 1) == []
    assert found("table_metadata") == [("owner", "us")]
    assert found("schema_metadata") == [("made", "by hand")]
    assert {("id", "note", "é"), ("s.y", "unit", "m")} <= set(found("column_metadata"))

    def of_column(arguments: str) -> list[tuple[object, ...]]:
        query = f"FROM lance_column_metadata('{tmp_path}/t.lance', {arguments})"
        return [row for row in lance_sql.sql(query, engine).fetchall() if not str(row[1]).startswith("lance")]

    assert of_column("'id'") == [("id", "note", "é")]
    assert of_column("'s.y'") == of_column("'s.y', 1") == [("s.y", "unit", "m")]
    with pytest.raises(lance_sql.ColumnNotFound, match="nothing"):
        of_column("'nothing'")
