"""Whatever the files of a table claim, every verb ends in its result or in one line, in little memory and time."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from lance_sql.cli.main import main
from lance_sql.dataset import Dataset
from tests.hostile import tables, verbs

ROOT = Path(__file__).parents[2]
SAMPLE = ("deletions-2-32-bitmap", "transaction-of-terabytes", "file-name-with-escapes")


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("hostile") / "base.lance"
    tables.make(root)
    return root


def ran(base: Path, kind: str, *chosen: str) -> list[dict[str, Any]]:
    # Arrow's allocator and the threads of BLAS reserve address space that nobody uses
    settings = {"ARROW_DEFAULT_MEMORY_POOL": "system", "OPENBLAS_NUM_THREADS": "1", "MALLOC_ARENA_MAX": "1"}
    if os.access("/dev/shm", os.W_OK):
        # nothing here has to survive a crash
        settings["TMPDIR"] = "/dev/shm"
    found = subprocess.run(
        [sys.executable, "-m", "tests.hostile.worker", str(base), kind, *chosen],
        cwd=ROOT,
        env=os.environ | settings,
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.returncode == 0, found.stderr[-3000:]
    return [json.loads(line) for line in found.stdout.splitlines()]


def check(found: list[dict[str, Any]]) -> None:
    wrong = [f"{each['verb']}: {each['said']}" for each in found if each["came"] == "wrong"]
    assert not wrong, "\n".join(wrong)


def test_there_are_enough_kinds_of_tables() -> None:
    assert len(tables.KINDS) >= 60


def test_every_verb_is_there() -> None:
    """All that a handle can do, and all that the command line can, but for what takes a query or no table."""
    text = Path(verbs.__file__).read_text()
    methods = {name for name, each in vars(Dataset).items() if not name.startswith("_") and callable(each)}
    assert {name for name in methods if f".{name}(" not in text} == set()
    commands = {name.split()[1] for name in verbs.COMMANDS}
    assert set(main.commands) - commands <= {"cache", "materialize", "query", "write", "merge"}


@pytest.mark.parametrize("kind", SAMPLE)
def test_every_verb_ends_in_a_result_or_in_one_line(base: Path, kind: str) -> None:
    found = ran(base, kind, *list(verbs.VERBS)[::4], "verify", "audit")
    check(found)


@pytest.mark.slow
@pytest.mark.parametrize("kind", tables.KINDS)
def test_every_verb_over_every_table(base: Path, kind: str) -> None:
    found = ran(base, kind)
    assert len(found) == len(verbs.VERBS)
    check(found)
