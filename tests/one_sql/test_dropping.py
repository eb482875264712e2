"""A statement about views drops no table, and the reverse."""

from __future__ import annotations

from pathlib import Path

import pytest

import lance_sql
from lance_sql.errors import CorruptFile, InvalidArgument, TableNotFound


@pytest.fixture
def place(tmp_path: Path) -> Path:
    lance_sql.write({"id": [1]}, tmp_path / "t.lance")
    lance_sql.materialize(f"SELECT id FROM '{tmp_path / 't.lance'}'", tmp_path / "v.lance")
    return tmp_path


@pytest.mark.parametrize(
    ("statement", "name", "message"),
    [
        ("DROP MATERIALIZED VIEW", "t", "is a table, not a materialized view: use DROP TABLE"),
        ("DROP MATERIALIZED VIEW IF EXISTS", "t", "is a table, not a materialized view"),
        ("DROP TABLE", "v", "is a materialized view: use DROP MATERIALIZED VIEW"),
        ("DROP TABLE IF EXISTS", "v", "is a materialized view"),
        ("CREATE OR REPLACE TABLE", "v", "is a materialized view: use CREATE OR REPLACE MATERIALIZED VIEW"),
        ("CREATE OR REPLACE MATERIALIZED VIEW", "t", "is not a view: use another path"),
    ],
)
@pytest.mark.parametrize("is_attached", [False, True])
def test_the_other_kind_is_refused(place: Path, statement: str, name: str, message: str, is_attached: bool) -> None:
    connection = lance_sql.attach(lance_sql.connect(), place, as_="lake")
    target = f"lake.{name}" if is_attached else f"'{place / name}.lance'"
    if statement.startswith("CREATE"):
        if is_attached:
            pytest.skip("a view has a path")
        target += f" AS SELECT id FROM '{place / 't.lance'}'"
    with pytest.raises(InvalidArgument, match=message):
        lance_sql.sql(f"{statement} {target}", connection=connection)
    assert lance_sql.open(place / f"{name}.lance").count_rows() == 1


@pytest.mark.parametrize(("statement", "name"), [("DROP MATERIALIZED VIEW", "v"), ("DROP TABLE", "t")])
def test_its_own_kind_is_dropped(place: Path, statement: str, name: str) -> None:
    lance_sql.sql(f"{statement} '{place / name}.lance'")
    assert not (place / f"{name}.lance").exists()
    lance_sql.sql(f"{statement} IF EXISTS '{place / name}.lance'")
    with pytest.raises(TableNotFound):
        lance_sql.sql(f"{statement} '{place / name}.lance'")


def test_a_damaged_table_is_dropped_as_a_table_alone(place: Path) -> None:
    (manifest,) = (place / "t.lance" / "_versions").glob("*.manifest")
    manifest.write_bytes(b"damaged")
    with pytest.raises(CorruptFile):
        lance_sql.sql(f"DROP MATERIALIZED VIEW IF EXISTS '{place / 't.lance'}'")
    lance_sql.sql(f"DROP TABLE '{place / 't.lance'}'")
    assert not (place / "t.lance").exists()
