"""Completion in the terminal: verbs, options, and paths, which the shell itself completes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

COMMAND = Path(sys.executable).parent / "lance-sql"


def offered(*words: str) -> list[str]:
    variables = {"_LANCE_SQL_COMPLETE": "bash_complete", "COMP_WORDS": " ".join(("lance-sql", *words))}
    environment = {**os.environ, **variables, "COMP_CWORD": str(len(words))}
    done = subprocess.run([COMMAND], env=environment, capture_output=True, text=True, check=True)
    return done.stdout.split()


@pytest.mark.parametrize(
    "words",
    [("versions", "ex"), ("diff", "a.lance", "b"), ("salvage", "t.lance", "out"), ("write", "t.lance", "x.par")],
)
def test_paths_are_the_terminals(words: tuple[str, ...]) -> None:
    assert offered(*words) == [f"file,{words[-1]}"]


def test_verbs_and_options() -> None:
    assert offered("vers") == ["plain,versions"]
    assert offered("versions", "t.lance", "--lim") == ["plain,--limit"]
    assert offered("index", "create", "t") == ["file,t"]
    assert offered("tag", "t.lance", "aud") == []
