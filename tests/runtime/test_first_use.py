"""Each name of a package stands once, where type checkers read it, and is imported when it is first used."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module

import pytest

from lance_sql.runtime import first_use

PACKAGES = ("lance_sql", "lance_sql.changes", "lance_sql.handles", "lance_sql.testing", "lance_sql.writes.statements")


@pytest.mark.parametrize("package", PACKAGES)
def test_the_names_are_those_of_the_imports(package: str) -> None:
    module = import_module(package)
    names = first_use.names(package)
    assert len(names) > 5
    assert module.__all__ == sorted(names)
    for name, source in names.items():
        owner = import_module(source)
        expected = import_module(f"{package}.{name}") if owner is module else getattr(owner, name)
        assert getattr(module, name) is expected


@pytest.mark.parametrize("package", PACKAGES)
def test_an_unknown_name_is_an_attribute_error(package: str) -> None:
    with pytest.raises(AttributeError, match=f"^module '{package}' has no attribute 'nosuch'"):
        _ = import_module(package).nosuch


def test_importing_the_packages_imports_neither_arrow_nor_their_modules() -> None:
    shown = subprocess.run(
        [sys.executable, "-c", f"import sys, {', '.join(PACKAGES)}; print(sorted(sys.modules))"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    for absent in ("pyarrow", "ast", "lance_sql.errors", "lance_sql.changes.feed", "lance_sql.testing.changes"):
        assert f"'{absent}'" not in shown
