"""A view is refreshed by every way to write its place, and that of its tables."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

import pytest

import lance_sql

WAYS: dict[str, Callable[[Path], str]] = {
    "path": str,
    "file": lambda path: f"file://{quote(str(path))}",
    "relative": os.path.relpath,
    "link": lambda path: str(path.parent.parent / "link" / path.name),
    "dots": lambda path: f"{path.parent}/../{path.parent.name}/{path.name}",
}


@pytest.mark.parametrize("made", WAYS)
@pytest.mark.parametrize("refreshed", WAYS)
def test_a_view_by_any_address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, made: str, refreshed: str) -> None:
    folder = tmp_path / "a b"
    folder.mkdir()
    (tmp_path / "link").symlink_to(folder)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(folder)
    table, view = folder / "t.lance", folder / "v.lance"
    lance_sql.write({"id": [1]}, table)
    way = WAYS[made]
    lance_sql.sql(f"CREATE MATERIALIZED VIEW '{way(view)}' AS SELECT id FROM '{way(table)}'")
    lance_sql.write({"id": [2]}, table, mode="append")
    monkeypatch.chdir(tmp_path / "elsewhere")
    lance_sql.sql(f"REFRESH MATERIALIZED VIEW '{WAYS[refreshed](view)}'").fetchall()
    assert sorted(lance_sql.open(view).to_table()["id"].to_pylist()) == [1, 2]
    assert lance_sql.sql(f"REFRESH MATERIALIZED VIEW '{WAYS[refreshed](view)}'").fetchall()[0][2:] == (0, 0, 0)
