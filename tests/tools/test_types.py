"""Types of the public functions, as the checkers of users see them in an installed package."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CODE = Path(__file__).with_name("user_code.txt").read_text()
WRONG = [number for number, line in enumerate(CODE.splitlines(), 1) if line.endswith("# wrong")]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder with the code, and the package in its installed form, which has the providers inside."""
    (tmp_path / "code.py").write_text(CODE)
    package = tmp_path / "site" / "lance_sql"
    package.mkdir(parents=True)
    for entry in [*(ROOT / "lance_sql").iterdir(), ROOT / "providers"]:
        (package / entry.name).symlink_to(entry)
    return tmp_path


@pytest.mark.slow
def test_mypy_finds_what_is_wrong_and_nothing_else(project: Path) -> None:
    pytest.importorskip("mypy", reason="mypy is not installed: make types")
    options = ["--strict", "--no-incremental", "--follow-imports=silent", "--ignore-missing-imports"]
    run = subprocess.run(
        [sys.executable, "-m", "mypy", *options, "--config-file", "", "code.py"],
        cwd=project,
        env={"MYPYPATH": str(project / "site"), "PATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    found = {int(line) for line in re.findall(r"^code\.py:(\d+): error", run.stdout, re.MULTILINE)}
    assert sorted(found) == WRONG, run.stdout + run.stderr


def test_pyright_finds_what_is_wrong_and_nothing_else(project: Path) -> None:
    if find_spec("basedpyright") is None:
        pytest.skip("basedpyright, a distribution of pyright, is not on the path")
    settings = {"include": ["code.py"], "extraPaths": ["site"], "typeCheckingMode": "standard"}
    (project / "pyrightconfig.json").write_text(json.dumps(settings))
    run = subprocess.run(
        [sys.executable, "-m", "basedpyright", "--pythonpath", sys.executable, "--level", "error", "--outputjson"],
        cwd=project,
        capture_output=True,
        text=True,
        check=False,
    )
    diagnostics = [each for each in json.loads(run.stdout)["generalDiagnostics"] if each["severity"] == "error"]
    found = {each["range"]["start"]["line"] + 1 for each in diagnostics}
    assert sorted(found) == WRONG, diagnostics
