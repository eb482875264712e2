"""The damaged tables of the corpus: an ordinary error or a table, in bounded time and memory."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from select import select
from typing import Any

import pytest

from tests.conftest import Case

READER = Path(__file__).with_name("read_damaged.py")
SECONDS = 20
# The tables are below 1 MB; what is left is the interpreter with pyarrow, for all tables one after the other.
PEAK_BYTES = 400 * 1024 * 1024


class Reader:
    """A process that reads tables. It is started again when it has died or has not answered in time."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None

    def read(self, case: Case) -> dict[str, Any]:
        if self._process is None:
            command = [sys.executable, str(READER)]
            self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        request = {
            "table": case.table,
            "version": case.info.get("read_version"),
            "columns": case.info.get("columns"),
        }
        process.stdin.write(json.dumps(request) + "\n")
        process.stdin.flush()
        answered, _, _ = select([process.stdout], [], [], SECONDS)
        line = process.stdout.readline() if answered else ""
        if not line:
            code = self.stop()
            pytest.fail(f"the reader ended with code {code}" if answered else f"no answer in {SECONDS} s")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def stop(self) -> int | None:
        """Ends the process; returns its exit code."""
        process, self._process = self._process, None
        if process is None:
            return None
        process.kill()
        process.communicate()
        return process.returncode


@pytest.fixture(scope="module")
def reader() -> Iterator[Reader]:
    reader = Reader()
    yield reader
    reader.stop()


def test_damage_ends_in_an_error_or_a_table(reader: Reader, corpus_negative: Case) -> None:
    answer = reader.read(corpus_negative)
    assert (answer["peak_bytes"] or 0) < PEAK_BYTES
    if "error" in answer:
        assert answer["lance"], answer
        assert 10 < len(answer["message"]) < 1000, answer
        assert "Traceback" not in answer["message"]
    else:
        assert corpus_negative.info["expect"] != "error", f"{answer['rows']} rows were read"
