"""Functions of the official extension that change a table, called as statements; defaults and indices without rows."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import lance_sql
from lance_sql.dataset import Dataset
from lance_sql.errors import LanceError
from lance_sql.providers.duckdb.protocol import has_sources

PREFIXES = ("SELECT Count FROM", "select * from", "FROM", "CALL")


@pytest.fixture
def table(tmp_path: Path) -> Dataset:
    return lance_sql.write({"id": [1, 2], "s": ["a", "b"]}, tmp_path / "t.lance")


def metadata(table: Dataset) -> dict[str, str]:
    return dict(table.snapshot.manifest.table_metadata)


def of_schema(table: Dataset) -> dict[bytes, bytes]:
    return table.schema.metadata or {}


def of_column(table: Dataset) -> dict[bytes, bytes]:
    return table.schema.field("s").metadata or {}


@pytest.mark.parametrize(
    ("kind", "column", "read", "expected"),
    [
        ("config", "", lambda table: table.config.list(), {"a": "b"}),
        ("table_metadata", "", metadata, {"a": "b"}),
        ("schema_metadata", "", of_schema, {b"a": b"b"}),
        ("column_metadata", ", 's'", of_column, {b"a": b"b"}),
    ],
)
def test_keys_are_set_and_removed(
    table: Dataset, kind: str, column: str, read: Callable[[Dataset], Any], expected: Any
) -> None:
    for prefix in PREFIXES:
        assert lance_sql.sql(f"{prefix} lance_set_{kind}('{table.uri}'{column}, 'a', 'b')").fetchall() == [(1,)]
        assert read(table.latest()) == expected
        assert lance_sql.sql(f"{prefix} lance_unset_{kind}('{table.uri}'{column}, 'a')").fetchall() == [(1,)]
        assert read(table.latest()) == {}


def test_upkeep(table: Dataset) -> None:
    table.append({"id": [3], "s": ["c"]})
    lance_sql.sql(f"CALL lance_create_scalar_index('{table.uri}', 'id', 'i')")
    lance_sql.sql(f"CALL lance_compact_files('{table.uri}')")
    assert [(index.name, index.kind) for index in table.latest().indices.list()] == [("i", "btree")]
    assert len(table.latest().snapshot.manifest.fragments) == 1
    versions = table.latest().versions()
    lance_sql.sql(f"CALL lance_cleanup_old_versions('{table.uri}', 99999, false)")
    assert table.latest().versions() == versions
    lance_sql.sql(f"CALL lance_cleanup_old_versions('{table.uri}', 0, false)")
    assert len(table.latest().versions()) == 1


def test_a_rehearsal_changes_nothing(table: Dataset) -> None:
    for call in ("lance_set_config('{}', 'a', 'b')", "lance_cleanup_old_versions('{}', 0, false)"):
        lance_sql.sql(f"CALL {call.format(table.uri)}", dry_run=True)
    assert table.latest().version == 1


@pytest.mark.parametrize(
    ("call", "error"),
    [
        ("lance_cleanup_old_versions('{}', 0, true)", "running writes"),
        ("lance_cleanup_old_versions('{}', 'old', false)", "not a number of seconds"),
        ("lance_set_config('{}', 'a')", "table, key, value, not 2"),
        ("lance_set_column_metadata('{}', 'nothing', 'a', 'b')", "nothing"),
        ("lance_set_config('nothing', 'a', 'b')", "'nothing' is not one"),
        ("lance_set_config('{}', 'a', lower('B'))", r"\) is expected"),
        ("lance_set_config('{}', 'a', 'b') WHERE true", "inside of a query"),
    ],
)
def test_refused_calls(table: Dataset, call: str, error: str) -> None:
    with pytest.raises(LanceError, match=error):
        lance_sql.sql(f"SELECT * FROM {call.format(table.uri)}")
    assert table.latest().version == 1


@pytest.mark.skipif(not has_sources(), reason="connections of DuckDB 1.5 parse no statements")
def test_tables_of_catalogs(table: Dataset) -> None:
    connection = lance_sql.connect(catalog=Path(table.uri).parent)
    result = connection.execute("SELECT Count FROM lance_set_config('lake.main.t', 'a', 'b')")
    assert result.fetchall() == [(1,)]
    assert table.latest().config.list() == {"a": "b"}


def test_comments_are_where_other_libraries_have_them(table: Dataset) -> None:
    path = table.uri

    def comment() -> str | None:
        found: str | None = lance_sql.sql(f"DESCRIBE DETAIL '{path}'").to_pylist()[0]["comment"]
        return found

    lance_sql.sql(f"CREATE OR REPLACE TABLE '{path}' (id INT) COMMENT 'of CREATE'")
    assert comment() == "of CREATE"
    lance_sql.sql(f"COMMENT ON TABLE '{path}' IS 'of COMMENT'")
    assert comment() == "of COMMENT"
    assert metadata(table.latest()) == {"comment": "of COMMENT"}
    assert table.latest().config.list() == {}
    lance_sql.sql(f"CREATE OR REPLACE TABLE '{path}' (id INT) COMMENT 'once more'")
    assert comment() == "once more"
    lance_sql.sql(f"COMMENT ON TABLE '{path}' IS NULL")
    assert comment() is None


@pytest.mark.parametrize("kind", ["btree", "bitmap", "zonemap", "bloomfilter"])
def test_an_index_without_rows_is_filled_later(table: Dataset, kind: str) -> None:
    empty = table.indices.create("id", kind, train=False)
    (index,) = empty.indices.list()
    assert (index.num_fragments, index.num_uncovered) == (0, 1)
    assert empty.scan(["id"], "id = 2").to_table()["id"].to_pylist() == [2]
    more = empty.append({"id": [2], "s": ["z"]})
    assert more.count_rows("id = 2") == 2
    filled = more.indices.optimize()
    (index,) = filled.indices.list()
    assert (index.num_fragments, index.num_uncovered) == (2, 0)
    assert filled.count_rows("id = 2") == 2


@pytest.mark.parametrize("kind", ["inverted", "ivf_flat"])
def test_an_index_that_is_learned_needs_rows(tmp_path: Path, kind: str) -> None:
    column = {"inverted": ["a"], "ivf_flat": [[1.0, 2.0]]}[kind]
    table = lance_sql.write({"c": column}, tmp_path / "t.lance")
    with pytest.raises(LanceError, match="built from rows"):
        table.indices.create("c", kind, train=False)
