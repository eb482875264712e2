"""Writes, changes and reads a table with the installed package, and prints its version."""

from __future__ import annotations

import importlib.metadata
import platform
import tempfile
from pathlib import Path

import lance_sql

with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "tried.lance"
    table = lance_sql.write({"id": range(100_000), "word": ["a", "b"] * 50_000}, path)
    table = table.update({"word": "'c'"}, "id < 10").delete("id >= 99990")
    assert lance_sql.connect().sql(f"SELECT count(*) FROM '{path}' WHERE word = 'c'").fetchall() == [(10,)]
    assert table.changes(since=1).count_rows() == 30

wheel = next(
    line.removeprefix("Tag: ")
    for line in (importlib.metadata.distribution("lance-sql").read_text("WHEEL") or "").splitlines()
    if line.startswith("Tag: ")
)
print(f"lance-sql {lance_sql.__version__} ({wheel}) works with Python {platform.python_version()}")
