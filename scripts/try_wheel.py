"""Writes, changes and reads a table with the installed package, and prints its version."""

from __future__ import annotations

import importlib.metadata
import platform
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
import pyarrow as pa

import lance_sql
from lance_sql import _kernels

with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "tried.lance"
    table = lance_sql.write({"id": range(100_000), "word": ["a", "b"] * 50_000}, path)
    table = table.update({"word": "'c'"}, "id < 10").delete("id >= 99990")
    assert lance_sql.connect().sql(f"SELECT count(*) FROM '{path}' WHERE word = 'c'").fetchall() == [(10,)]
    assert table.changes(since=1).count_rows() == 30
    assert table.count_rows("word IN ('a', 'x') AND id BETWEEN 1000 AND 1999 AND NOT starts_with(word, 'b')") == 500

    command = [Path(sys.executable).with_name("lance-sql"), f"SELECT count(*) AS n FROM '{path}'", "--output", "csv"]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout.split() == ["n", "99990"]

    # vectors and words, by an index and without one
    vectors = pa.array([[i, i % 7] for i in range(1000)], pa.list_(pa.float32(), 2))
    texts = [f"parcel {i} is late" for i in range(1000)]
    found = lance_sql.write(
        pa.table({"id": range(1000), "vector": vectors, "text": texts}), Path(folder) / "found.lance"
    )
    for kind in (None, "inverted"):
        found = found.indices.create("text", kind) if kind else found
        nearest, words = lance_sql.nearest([700.0, 0.0]), lance_sql.words("parcel 17", "text")
        assert found.search(nearest, k=1).to_table()["id"].to_pylist() == [700]
        assert found.search(words, k=1).to_table()["id"].to_pylist() == [17]

wheel = next(
    line.removeprefix("Tag: ")
    for line in (importlib.metadata.distribution("lance-sql").read_text("WHEEL") or "").splitlines()
    if line.startswith("Tag: ")
)
print(f"lance-sql {lance_sql.__version__} ({wheel}) works with Python {platform.python_version()}")


def unpack() -> None:
    packed, values = np.zeros(1 << 16, np.uint64), np.zeros(1 << 17, np.uint64)
    while True:
        _kernels.unpack(packed, 64, 32, len(values), values)


# the process ends while threads are in a kernel
for _ in range(8):
    threading.Thread(target=unpack, daemon=True).start()
time.sleep(0.1)
