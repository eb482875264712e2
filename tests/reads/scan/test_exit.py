"""A process ends in peace, whatever streams it has left half read."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ORDERS = Path(__file__).parents[3] / "examples" / "orders.lance"

HALF_READ = """
import lance_sql
reader = lance_sql.open(TABLE).scan(batch_size=10).to_reader()
reader.read_next_batch()
"""
DATAFUSION = """
import datafusion, lance_sql
for _ in range(10):
    context = lance_sql.register(datafusion.SessionContext())
    context.sql(f"SELECT id FROM lance_scan('{TABLE}') LIMIT 1").to_pydict()
"""
DUCKDB = """
import lance_sql
connection = lance_sql.connect()
connection.execute(f"SELECT id FROM lance_scan('{TABLE}')").fetchone()
"""

# Each thread asks for the interpreter's lock while the main thread ends the interpreter.
THREADS = """
import threading, time
import numpy
from lance_sql import _kernels
words, values = numpy.zeros(1 << 16, numpy.uint64), numpy.zeros(1 << 17, numpy.uint64)
def unpack():
    while True:
        _kernels.unpack(words, 64, 32, len(values), values)
for _ in range(8):
    threading.Thread(target=unpack, daemon=True).start()
time.sleep(0.1)
"""


@pytest.mark.parametrize("script", [HALF_READ, DATAFUSION, DUCKDB], ids=["reader", "datafusion", "duckdb"])
def test_a_process_ends_quietly_with_a_half_read_stream(script: str) -> None:
    program = f"TABLE = {str(ORDERS)!r}\n{script}"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_process_ends_quietly_while_threads_are_in_a_kernel() -> None:
    for _ in range(5):
        done = subprocess.run([sys.executable, "-c", THREADS], capture_output=True, text=True, timeout=60)
        assert (done.returncode, done.stderr) == (0, "")
