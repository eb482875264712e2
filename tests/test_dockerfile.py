"""The Dockerfile: what it copies is all that the build needs. `docs/start.md` says how to build and use it."""

from __future__ import annotations

import re
import tomllib
from pathlib import PurePath

from tests.documents import ROOT

LINES = (ROOT / "Dockerfile").read_text().splitlines()
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


def copied() -> dict[str, str]:
    """Places in the image by what is copied from the checkout."""
    found = {}
    for line in LINES:
        if line.startswith("COPY ") and "--from" not in line:
            *sources, target = line.split()[1:]
            for source in sources:
                found[source] = target + PurePath(source).name if target.endswith("/") else target
    return found


def test_what_is_copied_is_there_and_keeps_its_place() -> None:
    for source, target in copied().items():
        assert (ROOT / source).exists()
        assert target == f"/src/{source}"


def test_everything_that_the_build_names_is_copied() -> None:
    build = (ROOT / "CMakeLists.txt").read_text()
    named = {
        "CMakeLists.txt",
        "pyproject.toml",
        PROJECT["project"]["readme"],
        *PROJECT["project"]["license-files"],
        *PROJECT["tool"]["scikit-build"]["wheel"]["packages"].values(),
        *re.findall(r"\b(?:providers|scripts|kernels)/[\w./]*", build),
    }
    assert {"scripts/duckdb_extension_footer.py", "providers", "kernels/"} <= named
    places = [PurePath(source) for source in copied()]
    missing = [name for name in named if not any(PurePath(name).is_relative_to(place) for place in places)]
    assert not missing


def test_commands() -> None:
    bases = [line.split()[1] for line in LINES if line.startswith("FROM ")]
    assert bases == ["python:3.12-slim"] * 2
    assert 'ENTRYPOINT ["lance-sql"]' in LINES
    assert "lance-sql" in PROJECT["project"]["scripts"]
    assert any("[duckdb]" in line for line in LINES)
    assert "duckdb" in PROJECT["project"]["optional-dependencies"]
    assert "docker build" in (ROOT / "docs" / "start.md").read_text()
