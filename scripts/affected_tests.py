"""Prints the tests of what differs from a base: `python scripts/affected_tests.py [BASE]`.

BASE is the commit that main and HEAD have in common; on main itself, HEAD, so that uncommitted changes count.

- a changed test runs, and all tests in the folder of a changed module (tests/reads/scan/ for lance_sql/reads/scan/);
- for a module that imports a changed one, its own test file runs;
- for a kernel, tests/kernels/ and the folder of tests with the name of the kernel's folder;
- for a page of the documents, the tests of documents.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.test_architecture import graph  # noqa: E402  the root is not on the path of a script

DOCUMENTS = ("tests/test_docs.py", "tests/test_readme.py")


def main() -> None:
    base = sys.argv[1] if len(sys.argv) > 1 else _git("merge-base", "main", "HEAD")[0]
    changed = [*_git("diff", "--name-only", base), *_git("ls-files", "--others", "--exclude-standard")]
    print(" ".join(dict.fromkeys(tests_of(changed))))


def tests_of(changed: Iterable[str]) -> Iterator[str]:
    """The test files and folders that exist for changed files, those that are nearest first."""
    paths = [PurePosixPath(name) for name in changed]
    for path in paths:
        if path.parts[0] == "tests" and path.name.startswith("test_"):
            yield from _existing(str(path))
        elif path.parts[0] == "kernels":
            folder = path.parts[1]
            yield from _existing("tests/kernels", *(f"tests{above}/{folder}" for above in ("", "/format", "/reads")))
        elif path.suffix == ".md":
            yield from _existing(*DOCUMENTS)
    modules = {module for path in paths if (module := _module(path))}
    for module in sorted(modules):
        *folders, name = module.split(".")
        above = ["/".join(["tests", *folders[:count]]) for count in range(len(folders), 0, -1)]
        yield from islice(_existing(*(above or [f"tests/test_{name}.py"])), 1)
    for importer in sorted(_importers(modules)):
        *folders, name = importer.split(".")
        yield from _existing("/".join(["tests", *folders, f"test_{name}.py"]))
    if modules:
        yield "tests/test_architecture.py"


def _module(path: PurePosixPath) -> str | None:
    """The name of a module below lance_sql; None for other files."""
    if path.suffix != ".py" or path.parts[0] not in ("lance_sql", "providers"):
        return None
    parts = path.with_suffix("").parts
    return ".".join(parts[1:] if parts[0] == "lance_sql" else parts).removesuffix(".__init__")


def _importers(modules: set[str]) -> set[str]:
    """The modules that import one of these, or a name of one."""
    wanted = {f"lance_sql.{module}" for module in modules}
    return {
        name
        for name, imported in graph().items()
        if name not in modules and any(found in wanted or found.rpartition(".")[0] in wanted for found in imported)
    }


def _existing(*names: str) -> Iterator[str]:
    yield from (name for name in names if (ROOT / name).exists())


def _git(*arguments: str) -> list[str]:
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()


if __name__ == "__main__":
    main()
