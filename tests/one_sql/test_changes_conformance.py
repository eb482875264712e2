"""CHANGES means what it does in Spark 4.2: net changes by the first and the last thing that happened to a row, bounds,
and rows that were written again. One thing differs, and docs/change-feed.md says so: where the images from before a
range and after it are told together, both have the version of the last commit, in Spark each its own.

Source: Spark, ResolveChangelogTableNetChangesSuite, ChangelogEndToEndSuite, ChangelogResolutionSuite.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import lance_sql
from lance_sql.errors import UnsupportedFeature

FILLER = 100
KEY = {"lance-schema:unenforced-primary-key": "true"}
SCHEMA = pa.schema([pa.field("id", pa.int64(), nullable=False, metadata=KEY), pa.field("name", pa.string())])

each_engine = pytest.mark.parametrize("engine", ["duckdb", "datafusion"])

PRE, POST = "update_preimage", "update_postimage"

# what happens to row 1 by version, and what is left of it in versions 2 to 5
LIFECYCLES: list[tuple[str, dict[int, str], list[tuple[str, str, int]]]] = [
    ("insert", {3: "+a"}, [("a", "insert", 3)]),
    ("delete", {1: "+a", 3: "-"}, [("a", "delete", 3)]),
    ("insert, delete", {2: "+a", 5: "-"}, []),
    ("insert, insert", {2: "+a", 3: "-", 5: "+b"}, [("b", "insert", 5)]),
    ("insert, update", {2: "+a", 5: "=b"}, [("b", "insert", 5)]),
    ("update", {1: "+a", 3: "=b"}, [("a", PRE, 3), ("b", POST, 3)]),
    ("update, update", {1: "+a", 2: "=b", 4: "=c"}, [("a", PRE, 4), ("c", POST, 4)]),
    ("update, insert", {1: "+a", 2: "=b", 3: "-", 5: "+c"}, [("a", PRE, 5), ("c", POST, 5)]),
    ("delete, update", {1: "+a", 2: "-", 3: "+b", 5: "=c"}, [("a", PRE, 5), ("c", POST, 5)]),
    ("delete, insert", {1: "+a", 2: "-", 5: "+b"}, [("a", PRE, 5), ("b", POST, 5)]),
    ("update, delete", {1: "+a", 3: "=b", 5: "-"}, [("a", "delete", 5)]),
    ("delete, delete", {1: "+a", 2: "-", 3: "+b", 5: "-"}, [("a", "delete", 5)]),
]


def made(path: Path, steps: dict[int, str], last: int = 5) -> lance_sql.Dataset:
    """A table whose row 1 lives so. Another row changes with every version, so that there is one."""
    rows = [{"id": FILLER, "name": "1"}]
    if steps.get(1):
        rows.append({"id": 1, "name": steps[1][1:]})
    table = lance_sql.write(pa.Table.from_pylist(rows, SCHEMA), path, stable_row_ids=False)
    for version in range(2, last + 1):
        step = steps.get(version, "")
        match step[:1]:
            case "+":
                row = pa.Table.from_pylist([{"id": 1, "name": step[1:]}], SCHEMA)
                table = lance_sql.write(row, path, mode="append")
            case "=":
                table = table.update({"name": f"'{step[1:]}'"}, "id = 1")
            case "-":
                table = table.delete("id = 1")
            case _:
                table = table.update({"name": f"'{version}'"}, f"id = {FILLER}")
        assert table.version == version
    return table


def rows(text: str, engine: Any) -> list[tuple[Any, ...]]:
    return sorted(lance_sql.sql(text, engine).fetchall(), key=lambda row: (row[-1], row[1] != PRE, row))


@each_engine
@pytest.mark.parametrize(("steps", "left"), [pytest.param(*case, id=name) for name, *case in LIFECYCLES])
def test_net_changes_of_a_row(
    engine: Any, steps: dict[int, str], left: list[tuple[str, str, int]], tmp_path: Path
) -> None:
    table = made(tmp_path / "t.lance", steps)
    text = f"""
        SELECT name, _change_type, _commit_version FROM '{table.uri}'
        CHANGES FROM VERSION 2 TO VERSION 5 WITH (deduplicationMode = 'netChanges', computeUpdates = 'true')
        WHERE id = 1
    """
    assert rows(text, engine) == left


@each_engine
def test_commits_outside_the_range_do_not_count(engine: Any, tmp_path: Path) -> None:
    table = made(tmp_path / "t.lance", {2: "+a", 5: "=b", 7: "-"}, last=7)
    text = "SELECT name, _change_type, _commit_version FROM '{}' CHANGES FROM VERSION {} TO VERSION {} WITH ({}) {}"
    net = "deduplicationMode = 'netChanges'"
    found = rows(text.format(table.uri, 3, 6, net, "WHERE id = 1"), engine)
    assert found == [("a", PRE, 5), ("b", POST, 5)]
    assert rows(text.format(table.uri, 2, 7, net, "WHERE id = 1"), engine) == []


@each_engine
@pytest.mark.parametrize(
    ("bounds", "versions"),
    [
        ("FROM VERSION 2 TO VERSION 4", {2, 3, 4}),
        ("FROM VERSION 2 INCLUSIVE TO VERSION 4 INCLUSIVE", {2, 3, 4}),
        ("FROM VERSION 2 EXCLUSIVE TO VERSION 4", {3, 4}),
        ("FROM VERSION 2 TO VERSION 4 EXCLUSIVE", {2, 3}),
        ("FROM VERSION 2 EXCLUSIVE TO VERSION 4 EXCLUSIVE", {3}),
        ("FROM VERSION 3 TO VERSION 3", {3}),
        ("FROM VERSION 4", {4, 5}),
        ("FROM VERSION 5 EXCLUSIVE", set()),
    ],
)
def test_bounds(engine: Any, bounds: str, versions: set[int], tmp_path: Path) -> None:
    table = made(tmp_path / "t.lance", {})
    found = lance_sql.sql(f"SELECT DISTINCT _commit_version FROM '{table.uri}' CHANGES {bounds}", engine).fetchall()
    assert {version for (version,) in found} == versions


@each_engine
def test_rows_that_were_written_again(engine: Any, tmp_path: Path) -> None:
    """A row whose values an update left as they were has changes, which are left out where that is asked for."""
    table = lance_sql.write({"id": [1, 2], "name": ["a", "b"]}, tmp_path / "t.lance")
    table = table.update({"name": "CASE WHEN id = 1 THEN 'c' ELSE name END"}, "true")
    text = "SELECT id, _change_type, _commit_version FROM '{}' CHANGES FROM VERSION 2 WITH (deduplicationMode = '{}')"
    written = [(1, PRE, 2), (2, PRE, 2), (1, POST, 2), (2, POST, 2)]
    assert rows(text.format(table.uri, "none"), engine) == written
    assert rows(text.format(table.uri, "dropCarryovers"), engine) == [(1, PRE, 2), (1, POST, 2)]
    assert rows(text.format(table.uri, "netChanges"), engine) == written


@each_engine
def test_columns_and_filters(engine: Any, tmp_path: Path) -> None:
    table = made(tmp_path / "t.lance", {2: "+a"})
    names = lance_sql.sql(f"SELECT * FROM '{table.uri}' CHANGES FROM VERSION 1 TO VERSION 2", engine).to_table()
    assert names.column_names[:5] == ["id", "name", "_change_type", "_commit_version", "_commit_timestamp"]
    text = (
        f"SELECT id, _change_type, _commit_version FROM '{table.uri}' CHANGES FROM VERSION 1 WHERE _commit_version = 2"
    )
    assert rows(text, engine) == [(1, "insert", 2)]


@each_engine
def test_updates_as_deletes_and_inserts_are_refused_by_name(engine: Any, tmp_path: Path) -> None:
    table = made(tmp_path / "t.lance", {})
    text = f"SELECT * FROM '{table.uri}' CHANGES FROM VERSION 1 WITH (computeUpdates = 'false')"
    with pytest.raises(UnsupportedFeature, match="computeUpdates = true"):
        lance_sql.sql(text, engine)
