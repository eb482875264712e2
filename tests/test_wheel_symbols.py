"""The check of wheels for systems with glibc 2.28, on modules that the compiler makes here."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
WHEELS = sorted((ROOT / "dist").glob("*.whl"))

# A library of C of its own, so that the system's may be any.
LIBRARY = "int old_one(void) { return 1; } int new_one(void) { return 2; }"
VERSIONS = "GLIBC_2.28 { global: old_one; }; GLIBC_2.29 { global: new_one; };"
USES_OLD = "int old_one(void); int use(void) { return old_one(); }"
USES_NEW = "int old_one(void); int new_one(void); int use(void) { return old_one() + new_one(); }"

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="wheels are for Linux")


def _compile(code: str, out: Path, *options: str | Path) -> Path:
    compiler = os.environ.get("CXX", "c++").split()
    command = [
        *compiler,
        "-shared",
        "-fPIC",
        "-nostdlib",
        "-x",
        "c",
        "-",
        "-x",
        "none",
        *map(str, options),
        "-o",
        str(out),
    ]
    subprocess.run(command, input=code, text=True, check=True)
    return out


def _wheel(folder: Path, module: Path) -> Path:
    wheel = folder / "made.whl"
    with zipfile.ZipFile(wheel, "w") as file:
        file.write(module, "lance_sql/_kernels.so")
        file.writestr("lance_sql/__init__.py", "")
    return wheel


def _check(*wheels: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "scripts" / "wheel_symbols.py"), *map(str, wheels)]
    return subprocess.run(command, capture_output=True, text=True)


@pytest.fixture
def library(tmp_path: Path) -> Path:
    versions = tmp_path / "versions"
    versions.write_text(VERSIONS)
    return _compile(LIBRARY, tmp_path / "libc.so.6", "-Wl,-soname,libc.so.6", f"-Wl,--version-script={versions}")


def test_symbols_of_glibc_2_28_pass(tmp_path: Path, library: Path) -> None:
    wheel = _wheel(tmp_path, _compile(USES_OLD, tmp_path / "module.so", library))
    done = _check(wheel)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{wheel}: needs GLIBC_2.28\n", "")


def test_newer_symbols_are_named(tmp_path: Path, library: Path) -> None:
    wheel = _wheel(tmp_path, _compile(USES_NEW, tmp_path / "module.so", library))
    done = _check(wheel)
    assert done.returncode == 1
    assert done.stderr == f"lance-sql: {wheel}: lance_sql/_kernels.so needs GLIBC_2.29\n"


def test_another_library_is_named(tmp_path: Path) -> None:
    other = _compile(LIBRARY, tmp_path / "libother.so", "-Wl,-soname,libother.so.6")
    done = _check(_wheel(tmp_path, _compile(USES_OLD, tmp_path / "module.so", other)))
    assert done.returncode == 1
    assert done.stderr.endswith("lance_sql/_kernels.so needs libother.so.6\n")


def test_a_wheel_without_modules_fails(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "empty.whl", "w") as file:
        file.writestr("lance_sql/__init__.py", "")
    assert _check(tmp_path / "empty.whl").returncode == 1


@pytest.mark.skipif(not WHEELS, reason="no wheels in dist/: make wheel")
def test_built_wheels_pass() -> None:
    done = _check(*WHEELS)
    assert (done.returncode, done.stderr) == (0, "")
