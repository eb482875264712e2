"""Tables of very many fragments, whose manifest alone is large: every fragment has the same data file.

Such tables cannot be written in minutes. Their manifest is made here, with row ids and versions as a writer records
them, so that opening, counting and planning are those of a real table.
"""

from __future__ import annotations

import shutil
import struct
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import lance
import numpy as np
import pyarrow as pa

import lance_sql
from lance_sql.format.proto import row_ids_pb2, table_pb2

from .measure import medians, report

ROWS = 1_000
"""Rows of a fragment."""

NUM_TASKS = 64

_MEMORY = """
import re
{imports}

def peak():
    return int(re.search(r"VmHWM:\\s*(\\d+)", open("/proc/self/status").read())[1])

before = peak()
{statement}
print(peak() - before)
"""

_SECONDS_TO_SETTLE = 2.5
"""A file that was written more recently is read again, because the clock of the file system may be coarse."""


def make(path: Path, num_fragments: int) -> None:
    """Writes a table of so many fragments."""
    shutil.rmtree(path, ignore_errors=True)
    content = pa.table({"id": np.arange(ROWS), "value": np.random.default_rng(5).random(ROWS)})
    lance.write_dataset(content, path, enable_stable_row_ids=True)
    (manifest,) = (path / "_versions").glob("*.manifest")
    stored = manifest.read_bytes()
    (position,) = struct.unpack_from("<q", stored, len(stored) - 16)
    (length,) = struct.unpack_from("<I", stored, position)
    message = table_pb2.Manifest.FromString(stored[position + 4 :][:length])
    first = message.fragments[0]
    del message.fragments[1:]
    for number in range(1, num_fragments):
        fragment = message.fragments.add()
        fragment.CopyFrom(first)
        fragment.id = number
        ids = row_ids_pb2.RowIdSequence()
        ids.segments.add().range.CopyFrom(row_ids_pb2.U64Segment.Range(start=number * ROWS, end=(number + 1) * ROWS))
        fragment.inline_row_ids = ids.SerializeToString()
    message.max_fragment_id = num_fragments - 1
    message.next_row_id = num_fragments * ROWS
    # the transaction of the only version is in front of the manifest
    made = message.SerializeToString()
    manifest.write_bytes(stored[:position] + struct.pack("<I", len(made)) + made + stored[-16:])


def measure(folder: Path, runs: int, num_fragments: int) -> None:
    """Both sides open, count, plan and append to a table of so many fragments."""
    path = folder / f"fragments_{num_fragments}.lance"
    make(path, num_fragments)
    rows = num_fragments * ROWS
    _report(
        f"open and count {num_fragments:,} fragments",
        {
            "ours": lambda: _is(lance_sql.open(_newest(path)).count_rows(), rows),
            "pylance": lambda: _is(lance.dataset(_newest(path)).count_rows(), rows),
        },
        runs,
        bound=1.0,
    )
    time.sleep(_SECONDS_TO_SETTLE)
    table, theirs = lance_sql.open(path), lance.dataset(path)
    statement = f"SELECT count(*) FROM '{path}'"
    connection = lance_sql.connect()
    _report(
        "count(*) of the open table",
        {
            "DuckDB": lambda: _is(connection.sql(statement).fetchall()[0][0], rows),
            "DataFusion": lambda: _is(lance_sql.sql(statement, engine="datafusion").fetchall()[0][0], rows),
            "pylance": lambda: _is(theirs.count_rows(), rows),
        },
        runs,
    )
    _report(
        f"{NUM_TASKS} tasks, as Spark plans",
        {
            "ours": lambda: _is(len(table.scan().tasks(NUM_TASKS)), NUM_TASKS),
            "pylance's fragments": lambda: _is(len(theirs.get_fragments()), num_fragments),
        },
        runs,
    )
    for name, imports, ours in (
        ("pylance", "import lance", f"lance.dataset('{path}').count_rows()"),
        ("ours", "import lance_sql, lance_sql.dataset", f"lance_sql.open('{path}').scan().tasks({NUM_TASKS})"),
    ):
        script = _MEMORY.format(imports=imports, statement=ours)
        grown = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True).stdout
        print(f"{'memory of a process':<34}   {name} {int(grown) / 1024:8.1f} MiB", flush=True)
    copies = {side: _copies(path, side, runs + 1) for side in ("ours", "pylance")}
    row = pa.table({"id": [-1], "value": [0.5]})
    _report(
        "append a row",
        {
            "ours": lambda: lance_sql.write(row, copies["ours"].pop(), mode="append"),
            "pylance": lambda: lance.write_dataset(row, copies["pylance"].pop(), mode="append"),
        },
        runs,
        bound=1.5,
    )
    newer = {side: _copies(path, f"{side}_newer", 1)[0] for side in ("ours", "pylance")}
    for copy in newer.values():
        lance.write_dataset(row, copy, mode="append")
    _report(
        "rows that the newest version added",
        {
            "ours": lambda: _is(lance_sql.open(_newest(newer["ours"])).changes(since=1).count_rows(), 1),
            "pylance": lambda: _is(_added(_newest(newer["pylance"])), 1),
        },
        runs,
        bound=1.0,
    )
    for each in folder.glob(f"fragments_{num_fragments}*.lance"):
        shutil.rmtree(each)


def _added(path: Path) -> int:
    return int(lance.dataset(path).count_rows("_row_created_at_version = 2"))


def _copies(path: Path, side: str, number: int) -> list[Path]:
    made = []
    for copy in range(number):
        made.append(path.with_name(f"{path.stem}_{side}_{copy}.lance"))
        shutil.rmtree(made[-1], ignore_errors=True)
        shutil.copytree(path, made[-1])
    return made


def _newest(path: Path) -> Path:
    """The same table with an unread newest manifest."""
    min((path / "_versions").glob("*.manifest")).touch()
    return path


def _is(found: int, expected: int) -> int:
    assert found == expected, (found, expected)
    return found


def _report(what: str, sides: dict[str, Callable[[], object]], runs: int, *, bound: float | None = None) -> None:
    report(what, medians(sides, runs), peer="pylance" if "pylance" in sides else "ours", bound=bound)
