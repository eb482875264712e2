"""The contract of a provider: a Lance table in an engine gives the rows of a native table, and stays fresh."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import lance
import pyarrow as pa
import pytest

import lance_sql
from lance_sql.providers.duckdb import tables

NAN = float("nan")
ROWS = pa.table(
    {
        "id": pa.array([1, 2, 3, 4, 5, 6], pa.int64()),
        "ratio": pa.array([1.5, NAN, None, -0.0, float("inf"), 0.0], pa.float64()),
        "half": pa.array([1.5, NAN, None, -0.0, 2.0, 0.0], pa.float16()),
        "name": pa.array(["a", "b", None, "a", "é", ""], pa.string()),
        "place": pa.array([{"city": "Rome"}, None, {"city": None}, {"city": "Oslo"}, {"city": "Rome"}, None]),
    }
)


@pytest.fixture
def table(tmp_path: Path) -> str:
    """Version 1: four rows. Version 2: six rows. Tag `first` is version 1."""
    path = str(tmp_path / "data.lance")
    lance.write_dataset(ROWS.slice(0, 4), path, enable_stable_row_ids=True)
    lance.write_dataset(ROWS.slice(4), path, mode="append")
    lance.dataset(path).tags.create("first", 1)
    return path


class Provider:
    """The tests of each provider; subclasses run queries in its engine."""

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """The rows of a query in which lance_scan is known."""
        raise NotImplementedError

    def scan(self, path: str, version: int | None = None) -> str:
        """The table function of a version, as SQL."""
        raise NotImplementedError

    def named(self, name: str, dataset: lance_sql.Dataset) -> None:
        """Registers a table under a name."""
        raise NotImplementedError

    def ids(self, path: str, condition: str) -> list[int]:
        return [row[0] for row in self.rows(f"SELECT id FROM {self.scan(path)} WHERE {condition} ORDER BY id")]

    @pytest.mark.parametrize(
        ("condition", "expected"),
        [
            ("ratio > 1", [1, 2, 5]),
            ("ratio >= 1.5 AND id < 5", [1, 2]),
            ("ratio = 0", [4, 6]),
            ("ratio IN (0, 1.5)", [1, 4, 6]),
            ("NOT ratio > 0", [4, 6]),
            ("ratio IS NULL", [3]),
            ("half > 1", [1, 2, 5]),
            ("name IN ('a', 'é')", [1, 4, 5]),
            ("name NOT IN ('a', 'é')", [2, 6]),
            ("name = 'a' OR ratio > 100", [1, 2, 4, 5]),
            ("name LIKE 'a%'", [1, 4]),
            ("id BETWEEN 2 AND 3", [2, 3]),
            ("_row_created_at_version > 1", [5, 6]),
            ("_rowid >= 4 AND name = ''", [6]),
            ("id > 100", []),
        ],
    )
    def test_a_filter_is_exact(self, table: str, condition: str, expected: list[int]) -> None:
        assert self.ids(table, condition) == expected

    def test_counting_needs_no_columns(self, table: str) -> None:
        assert self.rows(f"SELECT count(*) FROM {self.scan(table)}") == [(6,)]
        assert self.rows(f"SELECT count(*) FROM {self.scan(table)} WHERE name = 'a'") == [(2,)]

    def test_all_columns_come_in_order_and_system_columns_after_them(self, table: str) -> None:
        rows = self.rows(f"SELECT * FROM {self.scan(table)} WHERE id = 5")
        assert rows == [(5, float("inf"), 2.0, "é", {"city": "Rome"}, 4, 1 << 32, 2, 2)]

    def test_a_version_is_read_as_it_was(self, table: str) -> None:
        assert self.rows(f"SELECT count(*), max(id) FROM {self.scan(table, 1)}") == [(4, 4)]

    def test_two_versions_can_be_joined(self, table: str) -> None:
        old, new = self.scan(table, 1), self.scan(table)
        anti = f"SELECT n.id FROM {new} AS n LEFT JOIN {old} AS o ON n.id = o.id WHERE o.id IS NULL ORDER BY n.id"
        assert self.rows(anti) == [(5,), (6,)]

    def test_a_new_query_sees_new_commits(self, table: str) -> None:
        count = f"SELECT count(*) FROM {self.scan(table)}"
        assert self.rows(count) == [(6,)]
        lance.write_dataset(ROWS.slice(0, 1), table, mode="append")
        assert self.rows(count) == [(7,)]

    def test_a_named_table_has_its_own_columns_only(self, table: str) -> None:
        self.named("events", lance_sql.open(table))
        assert self.rows("SELECT * FROM events WHERE ratio > 100 ORDER BY id")[0] == (2, *self.rest(2))
        assert self.rows("SELECT count(*) FROM events") == [(6,)]

    @staticmethod
    def rest(number: int) -> tuple[Any, ...]:
        """The columns after `id`, NaN as an object equal to any NaN."""
        return tuple(
            _Any() if value != value else value for value in list(ROWS.slice(number - 1, 1).to_pylist()[0].values())[1:]
        )

    def test_nested_columns_are_filtered(self, table: str) -> None:
        assert self.ids(table, "place IS NULL") == [2, 6]
        assert self.ids(table, f"{self.field('place', 'city')} = 'Rome'") == [1, 5]

    def field(self, column: str, name: str) -> str:
        return f"{column}.{name}"

    def test_a_missing_table_is_named_in_the_error(self, table: str) -> None:
        wrong = table.replace("data.lance", "dat.lance")
        with pytest.raises(Exception, match=f"No Lance table at '{wrong}'.*Did you mean '{table}'"):
            self.rows(f"SELECT * FROM {self.scan(wrong)}")

    def test_a_missing_version_is_named_in_the_error(self, table: str) -> None:
        with pytest.raises(Exception, match=r"Version 9 does not exist in data\.lance: versions 1 to 2"):
            self.rows(f"SELECT * FROM {self.scan(table, 9)}")

    def test_a_limit_is_kept(self, table: str) -> None:
        assert len(self.rows(f"SELECT id FROM {self.scan(table)} LIMIT 3")) == 3


class _Any:
    """Equal to every NaN."""

    def __eq__(self, other: object) -> bool:
        return other != other

    __hash__ = None  # type: ignore[assignment]  # as mutable classes have it


class TestDuckDB(Provider):
    @pytest.fixture(autouse=True)
    def _connect(self) -> Any:
        with lance_sql.connect() as self.connection:
            yield

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        result: list[tuple[Any, ...]] = self.connection.execute(sql).fetchall()
        return result

    def scan(self, path: str, version: int | None = None) -> str:
        return f"lance_scan('{path}')" if version is None else f"lance_scan('{path}', version := {version})"

    def named(self, name: str, dataset: lance_sql.Dataset) -> None:
        lance_sql.register(self.connection, name, dataset)


class TestDuckDBAsDataset(TestDuckDB):
    """The way of DuckDB versions that have no sources."""

    @pytest.fixture(autouse=True)
    def _as_dataset(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(tables, "_table_class", lambda: tables.DuckDBTable)


class TestDuckDBWithEveryFilter(TestDuckDB):
    """Sources may apply whatever filter they understand, however little it saves."""

    @pytest.fixture(autouse=True)
    def _every_filter(self, monkeypatch: pytest.MonkeyPatch) -> None:
        source = pytest.importorskip("lance_sql.providers.duckdb.source")
        monkeypatch.setattr(source, "is_worthwhile", lambda *_: True)


class TestDataFusion(Provider):
    @pytest.fixture(autouse=True)
    def _connect(self) -> None:
        datafusion = pytest.importorskip("datafusion")
        self.context = lance_sql.register(datafusion.SessionContext())

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        return [tuple(row.values()) for row in self.context.sql(sql).to_pylist()]

    def scan(self, path: str, version: int | None = None) -> str:
        return f"lance_scan('{path}')" if version is None else f"lance_scan('{path}', {version})"

    def named(self, name: str, dataset: lance_sql.Dataset) -> None:
        lance_sql.register(self.context, name, dataset)

    def field(self, column: str, name: str) -> str:
        return f"{column}['{name}']"
