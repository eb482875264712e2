"""Streams lose no signal, and do not wait forever for an interpreter held by another thread."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pytest

import lance_sql
from lance_sql import _kernels

SCHEMA = pa.schema([("id", pa.int64())])
BATCH = pa.record_batch([pa.array([1, 2, 3])], schema=SCHEMA)


def stream(batches: Iterator[pa.RecordBatch], at_end: Callable[[], object] | None = None) -> _kernels.BatchStream:
    return _kernels.BatchStream(batches, SCHEMA, most_ahead=2, eager=False, at_end=at_end)


def test_generators_are_closed_where_no_signal_comes() -> None:
    threads: list[tuple[str, threading.Thread]] = []

    def batches() -> Iterator[pa.RecordBatch]:
        try:
            while True:
                yield BATCH
        finally:
            threads.append(("closed", threading.current_thread()))

    for _ in range(20):
        reader = pa.RecordBatchReader.from_stream(
            stream(batches(), lambda: threads.append(("ended", threading.current_thread())))
        )
        reader.read_next_batch()
        del reader
    assert [what for what, _ in threads] == ["closed", "ended"] * 20
    assert threading.main_thread() not in [thread for _, thread in threads]


def test_the_end_callback_runs_once_after_the_last_batch() -> None:
    calls: list[int] = []
    each = iter(stream(iter([BATCH, BATCH]), lambda: calls.append(len(read))))
    read = list(each)
    assert calls == []
    del each
    assert calls == [2]


def test_errors_of_the_end_callback_are_only_logged(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda unraisable: said.append(unraisable.exc_type))
    each = stream(iter([BATCH]), lambda: 1 / 0)
    assert len(list(each)) == 1
    del each
    assert said == [ZeroDivisionError]


def test_an_interrupt_in_a_stream_is_one_of_the_program() -> None:
    """An engine makes an error of its own of what a stream says."""

    def batches() -> Iterator[pa.RecordBatch]:
        yield BATCH
        raise KeyboardInterrupt

    reader = pa.RecordBatchReader.from_stream(stream(batches()))
    with pytest.raises(KeyboardInterrupt):  # noqa: PT012
        with pytest.raises((OSError, pa.ArrowException)):
            reader.read_all()
        # the first instructions after it
        for _ in range(1000):
            pass


# DuckDB asks for the frame of its caller while it binds a query, and drops what is raised there. Plain DuckDB then
# says that there is no such table; a path of a table is found all the same, and the query goes on. An interrupt that
# comes just then is sent once more a little later; in all other code it is raised.
LOOP = """
import os, signal, sys, threading, lance_sql
def interrupted(number, frame):
    if frame.f_code.co_name != "currentframe":
        raise KeyboardInterrupt
    threading.Timer(0.01, os.kill, (os.getpid(), number)).start()
signal.signal(signal.SIGINT, interrupted)
connection = lance_sql.connect()
query = f"SELECT * FROM '{sys.argv[1]}' WHERE id % 3 = 1"
print("begun", flush=True)
while True:
    connection.execute(query).fetchall()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
@pytest.mark.parametrize("pause", [0.0, 0.02, 0.05])
def test_an_interrupt_ends_queries_in_a_loop(tmp_path: Path, pause: float) -> None:
    made = lance_sql.write({"id": list(range(20_000))}, tmp_path / "t.lance")
    command = [sys.executable, "-c", LOOP, made.uri]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as program:
        try:
            assert program.stdout is not None
            assert program.stdout.readline() == "begun\n"
            time.sleep(pause)
            program.send_signal(signal.SIGINT)
            program.communicate(timeout=30)
        finally:
            program.kill()
    assert program.returncode != 0


def test_a_stream_does_not_wait_for_ever_for_who_waits_for_it() -> None:
    is_reading = threading.Event()

    def batches() -> Iterator[pa.RecordBatch]:
        while True:
            yield BATCH
            is_reading.set()

    errors: list[str] = []

    def read() -> None:
        reader = pa.RecordBatchReader.from_stream(stream(batches()))
        try:
            reader.read_all()
        except (OSError, pa.ArrowException) as error:
            errors.append(str(error))

    _kernels.limit_wait_for_interpreter(0.1)
    try:
        thread = threading.Thread(target=read)
        thread.start()
        assert is_reading.wait(30)
        # a call that holds the interpreter's lock, as an engine may that waits for its threads
        ctypes.PyDLL(None).usleep(1_000_000)
        thread.join(30)
    finally:
        _kernels.limit_wait_for_interpreter(20.0 if _is_duckdb_1() else 0.0)
    assert len(errors) == 1
    assert "another thread holds Python's lock" in errors[0]


def _is_duckdb_1() -> bool:
    duckdb = pytest.importorskip("duckdb")
    return str(duckdb.__version__).startswith("1.")


HALF_READ = """
import sys, lance_sql
from lance_sql import _kernels
import lance_sql.providers.duckdb.registration
_kernels.limit_wait_for_interpreter(0.5)
for _ in range(4):
    connection = lance_sql.connect()
    connection.execute(f"SELECT * FROM '{sys.argv[1]}'")
    connection.fetchone()
    del connection
print("ended")
"""


def test_a_half_read_result_without_its_connection_ends(tmp_path: Path) -> None:
    job = lance_sql.begin_write(SCHEMA, tmp_path / "t.lance", mode="create")
    parts = [part for _ in range(300) for part in job.write_fragments(pa.table({"id": range(3000)}))]
    made = job.commit(parts)
    run = subprocess.run(
        [sys.executable, "-c", HALF_READ, made.uri], capture_output=True, text=True, timeout=100, env=dict(os.environ)
    )
    assert (run.stdout, run.returncode) == ("ended\n", 0), run.stderr
