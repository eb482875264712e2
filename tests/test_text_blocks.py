"""Blocks of documents that are not run where they stand: those that need a damaged table are run over one, and all
others are read by the parser that would read them. tests/tools runs those that need other packages."""

from __future__ import annotations

import ast
import re
import shlex
import textwrap
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import lance_sql
from lance_sql.cli import main
from tests.documents import ROOT, Example, examples

_DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
_BLOCKS = [block for path in _DOCUMENTS for block in examples(path) if block.kind == "text"]
_COMMAND = re.compile(r"^\$ (lance-sql .*)$", re.MULTILINE)
_ASKS = "No terminal to ask for confirmation"


def _commands(block: Example) -> list[list[str]]:
    return [shlex.split(line, comments=True)[1:] for line in _COMMAND.findall(block.text)]


def _is_python(block: Example) -> bool:
    return re.search(r"^(import|from) \w|lance_sql\.\w+\(|^%", block.text, re.MULTILINE) is not None and not (
        _COMMAND.search(block.text) or "|" in block.text or block.document.endswith(("architecture.md", "models.md"))
    )


ON_CALL = [block for block in _BLOCKS if _commands(block)]
PYTHON = [block for block in _BLOCKS if _is_python(block)]


def name(block: Example) -> str:
    return f"{block.document}:{block.line}"


@pytest.fixture
def damaged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a table with 42 versions, of which the newest lost a data file."""
    monkeypatch.chdir(tmp_path)
    table = lance_sql.write({"id": list(range(362)), "kind": ["a"] * 362}, "events.lance")
    for number in range(40):
        table = table.update({"kind": f"'{number}'"}, f"id = {number}")
    before = set((tmp_path / "events.lance" / "data").iterdir())
    table = lance_sql.write({"id": list(range(400, 408)), "kind": ["b"] * 8}, "events.lance", mode="append")
    assert table.version == 42
    [newest] = set((tmp_path / "events.lance" / "data").iterdir()) - before
    newest.unlink()
    return tmp_path


def _run(arguments: list[str]) -> Result:
    result = CliRunner().invoke(main, arguments)
    if result.exit_code == 2 and _ASKS in result.stderr:
        result = CliRunner().invoke(main, [*arguments, "--yes"])
    return result


@pytest.mark.parametrize("block", ON_CALL, ids=name)
def test_commands_are_run_over_a_damaged_table(block: Example, damaged: Path) -> None:
    for arguments in _commands(block):
        result = _run(arguments)
        # what is looked at may be damaged, and what is compared may differ; no command is wrong
        assert result.exit_code in (0, 1, 3, 4), f"{shlex.join(arguments)}: {result.output}"
        assert "Traceback" not in result.output
        if result.exit_code == 3:
            assert "the file is missing" in result.stderr or "events.lance" in result.stderr


def test_there_are_such_blocks() -> None:
    assert {block.document for block in ON_CALL} >= {"docs/on-call.md", "docs/command-line.md"}
    assert {block.document for block in PYTHON} >= {"docs/frames.md", "docs/object-stores.md", "docs/pyspark.md"}


@pytest.mark.parametrize("block", PYTHON, ids=name)
def test_python_can_be_parsed_and_names_what_there_is(block: Example) -> None:
    lines = [line for line in block.text.splitlines() if not re.match(r"\s*(%|export |spark\.read)", line)]
    tree = ast.parse(textwrap.dedent("\n".join(lines)))
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "lance_sql":
            assert node.attr in (*lance_sql.__all__, "spark"), f"{name(block)}: lance_sql.{node.attr}"
