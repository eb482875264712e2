"""The examples of the documents and docstrings run and print what they say."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

import lance_sql
from tests.documents import ROOT, Example, check_targets, examples, run_console, run_python, run_sql

DOCUMENTS = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCKS = [block for document in DOCUMENTS for block in examples(document)]
RUNNERS = {"sql": run_sql, "console": run_console, "sh": check_targets}


def single_blocks() -> list[Example]:
    return [block for block in BLOCKS if block.kind in RUNNERS]


@pytest.fixture(autouse=True)
def in_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


def test_every_example_has_a_kind_that_is_run() -> None:
    assert {block.kind for block in BLOCKS} <= {"python", "text", *RUNNERS}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_python_examples_print_what_they_say(document: Path) -> None:
    run_python([block for block in examples(document) if block.kind == "python"])


@pytest.mark.parametrize("block", single_blocks(), ids=lambda block: f"{block.document}:{block.line}")
def test_other_examples_do_what_they_say(block: Example) -> None:
    RUNNERS[block.kind](block)


def modules() -> Iterator[ModuleType]:
    for found in pkgutil.walk_packages(lance_sql.__path__, "lance_sql."):
        if not found.name.startswith(("lance_sql.proto.", "lance_sql._kernels")) and "__main__" not in found.name:
            yield importlib.import_module(found.name)
    yield lance_sql


def test_examples_in_docstrings_print_what_they_say() -> None:
    num_tests = 0
    for module in modules():
        found = doctest.testmod(module, extraglobs={"lance_sql": lance_sql})
        assert found.failed == 0, module.__name__
        num_tests += found.attempted
    assert num_tests > 0


@pytest.mark.parametrize("name", sorted(set(lance_sql.__all__)))
def test_public_names_have_a_docstring(name: str) -> None:
    assert getattr(lance_sql, name).__doc__
