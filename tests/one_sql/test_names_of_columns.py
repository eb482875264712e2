"""Columns that SQL cannot distinguish, or that are called like the library's own: right, or refused by name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import lance
import pyarrow as pa
import pytest

import lance_sql
from lance_sql.errors import InvalidArgument, LanceError

ROWS = [{"a": 1, "A": 10, "v": "x"}, {"a": 2, "A": 20, "v": "y"}]
NAMED = r"columns 'A' and 'a' differ only in case|columns 'a' and 'A' differ only in case"
Act = Callable[[str], Any]


def run(text: str, **options: Any) -> Act:
    return lambda path: lance_sql.sql(text.format(path), **options).fetchall()


def on_connection(text: str) -> Act:
    return lambda path: lance_sql.connect().execute(text.format(path)).fetchall()


REFUSED: dict[str, Act] = {
    "update": lambda path: lance_sql.open(path).update({"A": "A + 1"}, "a = 1"),
    "update of another": lambda path: lance_sql.open(path).update({"v": "CAST(A AS VARCHAR)"}, "true"),
    "UPDATE": run("UPDATE '{}' SET A = A + 1 WHERE true"),
    "UPDATE by one": run("UPDATE '{}' SET v = 'z' WHERE A = 20"),
    "DELETE": run("DELETE FROM '{}' WHERE A = 2"),
    "MERGE": run("MERGE INTO '{}' t USING (SELECT 1 AS k) s ON t.A = s.k WHEN MATCHED THEN DELETE"),
    "MERGE that sets": run(
        "MERGE INTO '{}' t USING (SELECT 'x' AS k) s ON t.v = s.k WHEN MATCHED THEN UPDATE SET A = t.A"
    ),
    "SELECT": run("""SELECT "A" FROM '{}'"""),
    "SELECT *": on_connection("SELECT * FROM '{}'"),
    "WHERE": on_connection("SELECT v FROM '{}' WHERE A = 2"),
    "lance_changes": on_connection("SELECT v FROM lance_changes('{}') WHERE A = 10"),
    "lance_row_history": on_connection("SELECT A FROM lance_row_history('{}')"),
    "registered": lambda path: lance_sql.register(duckdb.connect(), "t", path).execute("SELECT A FROM t").fetchall(),
    "materialize": lambda path: lance_sql.materialize(
        f"SELECT a, sum(A) AS s FROM '{path}' GROUP BY a", path + ".v.lance"
    ),
}
RIGHT: dict[str, tuple[Act, object]] = {
    "another column": (on_connection("SELECT v FROM '{}' WHERE v = 'y'"), [("y",)]),
    "count": (on_connection("SELECT count(*) FROM '{}'"), [(2,)]),
    "datafusion": (run("""SELECT "A" FROM '{}' WHERE "A" > 2 ORDER BY v""", engine="datafusion"), [(10,), (20,)]),
    "filter": (lambda path: lance_sql.open(path).scan(["A"], "A = 20").to_table().to_pylist(), [{"A": 20}]),
    "UPDATE": (run("UPDATE '{}' SET v = 'z' WHERE v = 'x'"), None),
    "Arrow": (
        lambda path: sorted(
            lance_sql.open(path).update({"A": pa.compute.field("A") + 1}, "true").to_table()["A"].to_pylist()
        ),
        [11, 21],
    ),
    "delete": (lambda path: lance_sql.open(path).delete("A = 20").to_table().to_pylist(), ROWS[:1]),
    "rename": (lambda path: lance_sql.open(path).rename_columns({"A": "b"}).schema.names, ["a", "b", "v"]),
}


@pytest.fixture
def path(tmp_path: Path) -> str:
    """A table of another library with columns that differ in case."""
    made = str(tmp_path / "t.lance")
    lance.write_dataset(pa.Table.from_pylist(ROWS), made, enable_stable_row_ids=True)
    return made


@pytest.mark.parametrize("door", REFUSED)
def test_columns_that_differ_in_case_are_refused(path: str, door: str) -> None:
    with pytest.raises((LanceError, duckdb.Error), match=NAMED):
        REFUSED[door](path)
    assert lance_sql.open(path).to_table().to_pylist() == ROWS
    assert lance_sql.open(path).version == 1


@pytest.mark.parametrize("door", RIGHT)
def test_what_needs_neither_or_is_exact_is_right(path: str, door: str) -> None:
    act, expected = RIGHT[door]
    found = act(path)
    assert expected is None or found == expected


def test_members_that_differ_in_case(tmp_path: Path) -> None:
    made = str(tmp_path / "t.lance")
    lance.write_dataset(pa.table({"id": [1], "s": [{"b": {"a": 1, "A": 2}}]}), made)
    with pytest.raises(duckdb.Error, match="'s' has members 'a' and 'A'"):
        on_connection("SELECT s.b.A FROM '{}'")(made)
    assert on_connection("SELECT id FROM '{}'")(made) == [(1,)]


@pytest.mark.parametrize("name", ["_RowId", "_ROWADDR"])
def test_names_like_system_columns(tmp_path: Path, name: str) -> None:
    with pytest.raises(InvalidArgument, match=f"{name!r} is reserved"):
        lance_sql.write({name: [1]}, tmp_path / "own.lance")
    made = str(tmp_path / "t.lance")
    lance.write_dataset(pa.table({name: [5], "id": [1]}), made, enable_stable_row_ids=True)
    for text in (
        "UPDATE '{}' SET id = 2 WHERE id = 1",
        "MERGE INTO '{}' t USING (SELECT 1 AS k) s ON t.id = s.k WHEN MATCHED THEN UPDATE SET id = 2",
    ):
        with pytest.raises(InvalidArgument, match=f"column {name!r} .* differs from the system column"):
            run(text)(made)
    assert on_connection("SELECT * FROM '{}'")(made) == [(5, 1)]
    assert lance_sql.open(made).update({"id": "id + 1"}, "true").to_table().to_pylist() == [{name: 5, "id": 2}]


@pytest.mark.parametrize("name", ["_commit_job", "_commit_user", "_commit_host"])
def test_columns_called_like_the_origin_of_a_commit(tmp_path: Path, name: str) -> None:
    table = lance_sql.write({"id": [1, 2], name: ["x", "y"]}, tmp_path / "t.lance").update({name: "'z'"}, "id = 2")
    for condition, count in (
        (f"{name} = 'y'", 2),
        (f"{name} <> 'y'", 2),
        (f"{name} IN ('x', 'z')", 2),
        (f"{name} IS NOT NULL", 4),
    ):
        assert table.changes().scan(filter=condition).to_table().num_rows == count
        assert table.changes().scan(filter=condition).count_rows() == count
        for engine in ("duckdb", "datafusion"):
            query = f"SELECT count(*) FROM lance_changes('{table.uri}') WHERE {condition}"
            assert lance_sql.sql(query, engine).fetchall() == [(count,)]
    numbers = lance_sql.write({"id": [1], name: [8]}, tmp_path / "n.lance")
    assert numbers.changes().scan(filter=f"{name} = 8").to_table().num_rows == 1


@pytest.mark.parametrize("name", ["__lance_key", "__lance_change", "__LANCE_KEY", "__lance_n", "__lance_there"])
@pytest.mark.parametrize(
    "query", ["SELECT * FROM {}", 'SELECT id, "{name}" AS k FROM {}', 'SELECT id, v AS "{name}" FROM {}']
)
def test_views_over_columns_called_like_their_own(tmp_path: Path, name: str, query: str) -> None:
    table = lance_sql.write({"id": [1], "v": [4], name: [5]}, tmp_path / "t.lance")
    text = query.format(f"'{table.uri}'", name=name)
    view = lance_sql.materialize(text, tmp_path / "v.lance")
    lance_sql.write({"id": [2], "v": [6], name: [7]}, table, mode="append")
    lance_sql.open(table.uri).delete("id = 1")
    view.refresh()
    assert lance_sql.open(tmp_path / "v.lance").to_table().to_pylist() == lance_sql.sql(text).to_pylist()
    view.refresh(verify=True)
