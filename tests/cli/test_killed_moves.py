"""`lance-sql write TABLE FOLDER` that is killed: the same command goes on, and no row is lost or there twice."""

from __future__ import annotations

import importlib.util
import random
import signal
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import lance_sql
from tests.cli.test_folders import IN_PARTS, KINDS, ROWS
from tests.forked import Forks
from tests.seeds import seeds

PROGRAM = """
import os, signal, sys
from functools import wraps

import lance_sql
from lance_sql.cli import folders, moved_rows, moving
from lance_sql.cli.main import main

state, moment, calls, *arguments = sys.argv[1:]
os.environ["XDG_STATE_HOME"] = state
folders._ROWS_OF_A_PART = folders._BYTES_OF_A_PART = 1
calls = int(calls)


def killing(function, *, before):
    @wraps(function)
    def called(*arguments, **keywords):
        global calls
        calls -= 1
        if before and not calls:
            os.kill(os.getpid(), signal.SIGKILL)
        result = function(*arguments, **keywords)
        if not calls:
            os.kill(os.getpid(), signal.SIGKILL)
        return result
    return called


when, _, place = moment.partition(" ")
if place:
    owner, name = {
        "reading": (moved_rows.Checksum, "add"),
        "writing": (lance_sql.WriteJob, "write_fragments"),
        "journal": (moving.Journal, "save"),
        "commit": (lance_sql.WriteJob, "commit"),
        "comparing": (moving, "_compare"),
        "removal": (moving.Journal, "remove"),
    }[place]
    setattr(owner, name, killing(getattr(owner, name), before=when == "before"))
main([*arguments, "--quiet"])
"""
KEPT = pa.table({"id": [1000], "name": ["kept"], "day": ["d9"]})
MOMENTS = {
    ("before reading", 2): "Going on after 1 of",
    ("after writing", 2): "Going on after 1 of",
    ("after journal", 1): "",
    ("before journal", 2): "",
    ("after journal", 3): "Going on after 2 of",
    ("before commit", 1): "Going on after 3 of 3",
    ("after commit", 1): "has committed",
    ("before comparing", 1): "has committed",
    ("after comparing", 1): "has committed",
    ("before removal", 1): "has committed",
}


def program(place: Path, mode: str, moment: str = "", calls: int = 0) -> list[str]:
    """The command, which kills itself at a moment."""
    arguments = ["write", str(place / "t.lance"), str(place / "rows"), "--mode", mode, "--yes"]
    return ["-c", PROGRAM, str(place / "state"), moment, str(calls), *arguments]


def ready(place: Path, kind: str, mode: str) -> None:
    KINDS[kind](place / "rows")
    if mode != "create":
        lance_sql.write(KEPT, place / "t.lance")


def check(place: Path, mode: str) -> None:
    """The table has each row of the folder once, in one version, and no other files."""
    table = lance_sql.open(place / "t.lance")
    assert table.version == (1 if mode == "create" else 2)
    kept = KEPT.to_pylist() if mode == "append" else []
    found = table.to_table().select(ROWS.column_names).sort_by("id").to_pylist()
    assert found == [*ROWS.to_pylist(), *kept]
    fragments = len(table.snapshot.manifest.fragments) + (mode == "overwrite")
    assert len(list((place / "t.lance" / "data").iterdir())) == fragments
    assert lance_sql.verify(table.uri, deep=True).is_healthy
    assert not list((place / "state").rglob("*.journal"))


def few_and_all() -> list[Any]:
    few = [("before reading", 2), ("after journal", 3), ("after commit", 1)]
    every = [(mode, *moment) for mode in ("create", "append", "overwrite") for moment in MOMENTS]
    return [
        pytest.param(*each, marks=() if each[0] == "append" and each[1:] in few else pytest.mark.slow) for each in every
    ]


@pytest.mark.parametrize(("mode", "moment", "calls"), few_and_all())
def test_the_next_run_goes_on(forks: Forks, tmp_path: Path, mode: str, moment: str, calls: int) -> None:
    ready(tmp_path, "parquet", mode)
    assert forks.run(program(tmp_path, mode, moment, calls)).returncode == -signal.SIGKILL
    done = forks.run(program(tmp_path, mode))
    assert done.returncode == 0, done.stderr
    assert MOMENTS[moment, calls] in done.stderr
    check(tmp_path, mode)


def is_done(place: Path, mode: str) -> bool:
    """Whether a killed command has done everything but to say so."""
    versions = place / "t.lance" / "_versions"
    made = versions.exists() and len(list(versions.glob("*.manifest"))) == (1 if mode == "create" else 2)
    return made and not list((place / "state").rglob("*.journal"))


@seeds(range(0), range(4))
def test_at_any_time(forks: Forks, tmp_path: Path, seed: int) -> None:
    chance, killed = random.Random(seed), 0
    kinds = sorted(IN_PARTS if importlib.util.find_spec("pyiceberg") is None else KINDS)
    for number in range(25):
        kind, mode = chance.choice(kinds), chance.choice(["create", "append", "overwrite"])
        place = tmp_path / str(number)
        place.mkdir()
        ready(place, kind, mode)
        code, seconds = -signal.SIGKILL, 0.2
        while code == -signal.SIGKILL and not is_done(place, mode):
            with open(place / "err", "w+") as err:
                process = forks.start(program(place, mode), stdout=err.fileno(), stderr=err.fileno())
                time.sleep(chance.uniform(0, seconds))
                process.kill()
                code = process.wait()
                killed += code == -signal.SIGKILL
                seconds *= 1.3
                err.seek(0)
                assert code in (0, -signal.SIGKILL), (kind, mode, err.read())
        check(place, mode)
    assert killed
