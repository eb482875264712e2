"""Every verb with every kind of source in every state: all rows are written, or the verb raises and nothing is."""

from __future__ import annotations

import itertools
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import lance_sql
from tests.writes.statements.test_read_once import AGAIN, ONCE, ROWS, SCHEMA, VERBS

PRODUCER = """
import io, sys, time, pyarrow as pa
rows, made = pa.table({"id": range(6), "v": [10] * 6}), io.BytesIO()
with pa.ipc.new_stream(made, rows.schema) as writer:
    for batch in rows.to_batches(max_chunksize=2):
        first = made.tell()
        writer.write_batch(batch)
# Arrow takes an end between two batches for the end of the stream
sys.stdout.buffer.write(made.getvalue()[: first - 50])
sys.stdout.buffer.flush()
time.sleep(60)
"""
STATES = ("fresh", "failed", "read before", "changed meanwhile")


def state(folder: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = lance_sql.open(folder).to_table().sort_by("id").to_pylist()
    return found


def rows_after(verb: str, before: list[dict[str, Any]]) -> list[dict[str, Any]]:
    new: list[dict[str, Any]] = ROWS.to_pylist()
    if verb == "overwrite":
        return new
    if verb == "append":
        return sorted([*before, *new], key=lambda row: row["id"])
    return before if verb in ("create", "job") else new


def prepared(table: lance_sql.Dataset, kind: str, how: str) -> Any:
    if kind in AGAIN:
        # its own table: the other one changes
        other = lance_sql.write(ROWS, Path(table.uri).with_name("source.lance"))
        source = AGAIN[kind](other)
        if how == "changed meanwhile":
            lance_sql.write(ROWS.slice(0, 1), other.uri, mode="append")
        elif how == "read before":
            lance_sql.write(source, f"{table.uri}.read", schema=SCHEMA)
        return source
    source = ONCE[kind](how == "failed")
    if how in ("failed", "read before"):
        try:
            lance_sql.write(source, f"{table.uri}.read", schema=SCHEMA)
        except (OSError, lance_sql.InvalidArgument):
            assert how == "failed"
    return source


CASES = [
    each
    for each in itertools.product(VERBS, [*ONCE, *AGAIN], STATES)
    if not (each[1] in AGAIN and each[2] == "failed") and not (each[1] == "answer" and each[2] == "changed meanwhile")
]
SHORT = random.Random(58).sample(CASES, 24)


@pytest.mark.parametrize(
    ("verb", "kind", "how"), [pytest.param(*case, marks=() if case in SHORT else pytest.mark.slow) for case in CASES]
)
def test_all_rows_are_written_or_none(tmp_path: Path, verb: str, kind: str, how: str) -> None:
    table = lance_sql.write({"id": range(4), "v": range(4)}, tmp_path / "t.lance", schema=SCHEMA)
    source = prepared(table, kind, how)
    before = state(tmp_path / "t.lance")
    is_gone = kind in ONCE and how in ("failed", "read before")
    if is_gone:
        with pytest.raises(lance_sql.InvalidArgument, match=r"^The [^\n]* was read before[^\n]*$"):
            VERBS[verb](table, source)
        assert state(tmp_path / "t.lance") == before
        assert not (tmp_path / "t.lance.new").exists()
        return
    VERBS[verb](table, source)
    written = tmp_path / ("t.lance.new" if verb == "create" else "t.lance")
    assert state(written) == (ROWS.to_pylist() if verb == "create" else rows_after(verb, before))


def killed(process: subprocess.Popen[bytes]) -> Iterator[pa.RecordBatch]:
    """Yields batches of a producer that is killed after the first one."""
    with pa.PythonFile(process.stdout, "r") as stream:
        reader = pa.ipc.open_stream(stream)
        yield reader.read_next_batch()
        process.kill()
        yield from reader


@pytest.mark.parametrize(
    "verb", [pytest.param(each, marks=() if each == "append" else pytest.mark.slow) for each in VERBS]
)
@pytest.mark.parametrize("kind", ["generator", "reader"])
def test_a_killed_producer_adds_no_row(tmp_path: Path, verb: str, kind: str) -> None:
    table = lance_sql.write({"id": range(4), "v": range(4)}, tmp_path / "t.lance", schema=SCHEMA)
    before = state(tmp_path / "t.lance")
    with subprocess.Popen([sys.executable, "-c", PRODUCER], stdout=subprocess.PIPE) as process:
        source = killed(process)
        rows = source if kind == "generator" else pa.RecordBatchReader.from_batches(SCHEMA, source)
        for _ in range(2):
            with pytest.raises((OSError, lance_sql.LanceError, pa.ArrowException)):
                VERBS[verb](table, rows)
    assert state(tmp_path / "t.lance") == before
    assert not (tmp_path / "t.lance.new").exists()
