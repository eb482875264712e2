"""The adapter of harlequin: what its editor and its catalog show.

harlequin is not in the environment of the other tests; `make engines` has it in a folder of its own.
"""

from __future__ import annotations

from collections.abc import Iterable
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import pytest

import lance_sql

pytest.importorskip("harlequin_duckdb", reason="harlequin is not on the path")


def adapter(*arguments: object) -> Any:
    (entry,) = entry_points(group="harlequin.adapter", name="lance")
    return entry.load()(tuple(map(str, arguments)))


def labels(items: Iterable[Any]) -> dict[str, Any]:
    return {item.label: labels(item.fetch_children()) for item in items}


def test_tables_folders_and_databases(tmp_path: Path) -> None:
    lance_sql.write({"id": [1, 2, 3]}, tmp_path / "my shop" / "orders.lance")
    lance_sql.write({"k": ["a"]}, tmp_path / "keys.lance")
    for _ in range(2):
        # nothing is left in the database of the first session
        session = adapter(tmp_path / "my shop", tmp_path / "keys.lance", tmp_path / "lake.duckdb").connect()
        assert labels(session.get_catalog().items) == {
            "lake": {"main": {}},
            "memory": {"main": {"keys": {"k": {}}}},
            "my shop": {"main": {"orders": {"id": {}}}},
        }
        session.conn.close()
    session = adapter(tmp_path / "my shop").connect()
    assert session.execute('FROM "my shop".orders').set_limit(2).fetchall().num_rows == 2
    assert session.execute('DELETE FROM "my shop".orders WHERE id = 1').fetchall()["rows_deleted"].to_pylist() == [1]
    assert session.execute("CREATE VIEW small AS SELECT 1 AS a") is None
    assert [found.item.label for found in session.search_catalog("orde")] == ["orders"]


def test_errors_are_those_that_harlequin_shows(tmp_path: Path) -> None:
    from harlequin.exception import HarlequinConnectionError, HarlequinQueryError

    lance_sql.write({"id": [1]}, tmp_path / "t.lance")
    session = adapter(tmp_path / "t.lance").connect()
    for query in ("FROM 'none.lance'", "SELEC 1", f"DELETE FROM '{tmp_path}/t.lance'"):
        with pytest.raises(HarlequinQueryError):
            session.execute(query)
    (tmp_path / "note.txt").write_text("a note")
    for argument in ("note.txt", "t.lance/_versions"):
        with pytest.raises(HarlequinConnectionError):
            adapter(tmp_path / "t.lance", tmp_path / argument, tmp_path / argument).connect()


def test_an_empty_session() -> None:
    assert adapter().connect().execute("SELECT 1 AS a").fetchall()["a"].to_pylist() == [1]
