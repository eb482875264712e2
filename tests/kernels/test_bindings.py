"""The Python interface of the kernels: all of it is in the stub, and used by the library."""

from __future__ import annotations

import ast
import enum
from collections.abc import Iterator
from pathlib import Path

from lance_sql import _kernels

ROOT = Path(__file__).parents[2]

FOR_TESTS = {"use_compression_libraries"}
"""How tests come to a machine without the libraries of compression."""


def in_module() -> set[str]:
    """Functions and classes, and methods and properties as "Class.method"."""
    return {name for name, value in vars(_kernels).items() if not name.startswith("_")} | {
        f"{name}.{attribute}"
        for name, value in vars(_kernels).items()
        if isinstance(value, type) and not issubclass(value, enum.Enum | Exception)
        for attribute in vars(value)
        if not attribute.startswith("_")
    }


def in_stub() -> set[str]:
    found = set()
    for node in ast.parse((ROOT / "lance_sql" / "_kernels.pyi").read_text()).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_"):
            found.add(node.name)
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            found.update(
                f"{node.name}.{each.name}"
                for each in node.body
                if isinstance(each, ast.FunctionDef) and not each.name.startswith("_")
            )
    return found


def words(folder: str) -> Iterator[str]:
    """The names that modules look up in something, or import."""
    for path in (ROOT / folder).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Attribute):
                yield node.attr
            elif isinstance(node, ast.ImportFrom):
                yield from (alias.name for alias in node.names)


def test_the_stub_has_all_of_it() -> None:
    assert in_stub() == in_module()


def test_the_library_uses_all_of_it() -> None:
    """Kernels that only tests call go, with their seeds and tests."""
    used = {*words("lance_sql"), *words("providers")}
    unused = {name for name in in_module() if name.rpartition(".")[2] not in used}
    assert unused == FOR_TESTS
