"""The package where it was installed, imported from the folder of its sources and from elsewhere."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

import lance_sql
from lance_sql import _kernels
from lance_sql.providers.duckdb import extension
from tests.documents import ROOT

USE = """
import lance_sql, lance_sql.providers, lance_sql.cli, lance_sql.reads.scan.scan
from lance_sql import _kernels
orders = lance_sql.open(PATH)
assert orders.count_rows() == 370
assert lance_sql.connect().execute(f"SELECT count(*) FROM '{PATH}'").fetchall() == [(370,)]
print(lance_sql.reads.scan.scan.__file__)
print(_kernels.__file__)
print(lance_sql.providers.__file__)
"""


@pytest.fixture
def wheel_content(tmp_path: Path) -> Path:
    """A folder with the files of a wheel, as if it had been installed there."""
    folder = tmp_path / "installed"
    ignored = shutil.ignore_patterns("__pycache__", "*.cpp")
    shutil.copytree(ROOT / "lance_sql", folder / "lance_sql", ignore=ignored)
    shutil.copytree(ROOT / "providers", folder / "lance_sql" / "providers", ignore=ignored)
    shutil.copytree(ROOT / "pyspark_lance", folder / "pyspark_lance", ignore=ignored)
    shutil.copy(_kernels.__file__, folder / "lance_sql")
    shutil.copy(extension.FILE, folder / "lance_sql")
    return folder


def used(folder: Path, installed: list[str]) -> list[str]:
    """The places of three modules, for a Python that starts in a folder.

    installed: folders of installed packages, in which no .pth file counts: an editable installation needs one
    """
    table = ROOT / "examples" / "orders.lance"
    code = f"import sys; sys.path[:0] = ['']; sys.path += {installed!r}; PATH = {str(table)!r}\n" + USE
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        [sys.executable, "-S", "-c", code], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


@pytest.mark.parametrize("start", ["sources", "elsewhere"])
def test_an_installed_package_is_used_from_any_folder(wheel_content: Path, tmp_path: Path, start: str) -> None:
    folder = ROOT if start == "sources" else tmp_path
    found = used(folder, [str(wheel_content), sysconfig.get_path("purelib"), *_engines()])
    assert all(Path(place).is_relative_to(wheel_content) for place in found), found


def _engines() -> list[str]:
    """Where the DuckDB of this run is, which may be another than the installed one."""
    return [entry for entry in sys.path if entry.endswith("duckdb15")]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["wheel", "sdist"])
def test_a_built_package_is_used_from_any_folder(tmp_path: Path, kind: str) -> None:
    source = ROOT
    if kind == "sdist":
        backend = tmp_path / "backend"
        _pip("install", "--target", str(backend), "scikit-build-core>=1.1", "nanobind>=3.1")
        build = f"import sys; sys.path.insert(0, {str(backend)!r}); import scikit_build_core.build as b; "
        build += f"print(b.build_sdist({str(tmp_path)!r}))"
        subprocess.run([sys.executable, "-c", build], cwd=ROOT, check=True, capture_output=True)
        (source,) = tmp_path.glob("*.tar.gz")
    installed = tmp_path / "installed"
    _pip("install", "--no-deps", "--target", str(installed), str(source))
    for folder in (ROOT, tmp_path):
        found = used(folder, [str(installed), sysconfig.get_path("purelib")])
        assert all(Path(place).is_relative_to(installed) for place in found), found


def _pip(*arguments: str) -> None:
    command = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", *arguments]
    subprocess.run(command, check=True, capture_output=True)


def test_the_names_of_the_package_are_all_there() -> None:
    assert all(getattr(lance_sql, name) is not None for name in lance_sql.__all__)
