"""A kernel includes from its own folder and from those above it in docs/architecture.md."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
KERNELS = ROOT / "kernels"
FILES = sorted(path for path in KERNELS.rglob("*") if path.is_file())

FOLDERS = (
    "system",
    "proto",
    "arrow",
    "encodings",
    "predicates",
    "layouts",
    "file",
    "schema",
    "table",
    "search",
    "stream",
    "bind",
)


def test_every_kernel_is_in_one_of_the_folders() -> None:
    assert {path.relative_to(KERNELS).parts[0] for path in FILES} == set(FOLDERS)
    assert {len(path.relative_to(KERNELS).parts) for path in FILES} == {2}
    headers = [path.name for path in FILES if path.suffix == ".h"]
    assert len(set(headers)) == len(headers)


def test_includes_run_one_way() -> None:
    for path in FILES:
        for included in re.findall(r'#include "([^"]+)"', path.read_text()):
            assert (KERNELS / included).is_file(), f"{path} includes {included}"
            folder = included.partition("/")[0]
            assert FOLDERS.index(folder) <= FOLDERS.index(path.parent.name), f"{path} includes {included}"


def test_the_first_line_describes_a_kernel() -> None:
    assert [path for path in FILES if not re.match(r"// \w.*", path.read_text())] == []


def test_the_page_on_the_architecture_has_the_same_folders() -> None:
    section = (ROOT / "docs" / "architecture.md").read_text().partition("## The kernels")[2].partition("\n## ")[0]
    assert tuple(re.findall(r"^\| `(\w+)/` \|", section, re.MULTILINE)) == FOLDERS
