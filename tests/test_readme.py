"""The examples of the documents and docstrings run and print their output."""

from __future__ import annotations

import doctest
import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import duckdb
import pytest

import lance_sql
from tests.documents import ROOT, Example, check_targets, examples, run_console, run_python, run_sql
from tests.forked import Forks

# Whose examples need Spark: tests/providers/test_spark.py runs them.
ELSEWHERE = ("pyspark.md",)
# Whose examples have statements on connections that DuckDB 1.5 does not take there.
SINCE_2_0 = ("docs/one-sql.md", "lance_sql.one_sql.connections.connect")
DOCUMENTS = [
    document
    for document in (ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md")))
    if document.name not in ELSEWHERE
]
BLOCKS = [block for document in DOCUMENTS for block in examples(document)]
RUNNERS: dict[str, Callable[[Example, Forks], None]] = {
    "sql": lambda block, _: run_sql(block),
    "console": run_console,
    "sh": lambda block, _: check_targets(block),
}


def single_blocks() -> list[Example]:
    return [block for block in BLOCKS if block.kind in RUNNERS]


@pytest.fixture(autouse=True)
def in_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


def skip_before_2_0(name: str) -> None:
    if name in SINCE_2_0 and duckdb.__version__.startswith("1."):
        pytest.skip("connections of DuckDB 1.5 are plain: lance_sql.sql takes such statements there")


def test_every_example_has_a_kind_that_is_run() -> None:
    assert {block.kind for block in BLOCKS} <= {"python", "text", *RUNNERS}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_python_examples_print_their_output(document: Path) -> None:
    skip_before_2_0(str(document.relative_to(ROOT)))
    run_python([block for block in examples(document) if block.kind == "python"])


@pytest.mark.parametrize("block", single_blocks(), ids=lambda block: f"{block.document}:{block.line}")
def test_other_examples_print_their_output(block: Example, forks: Forks) -> None:
    RUNNERS[block.kind](block, forks)


def modules() -> Iterator[ModuleType]:
    # what is installed for development has the folders beside the package on its path as well
    own = {path.stem for path in (ROOT / "lance_sql").iterdir()} - {"_kernels"} | {"providers"}
    for found in pkgutil.walk_packages(lance_sql.__path__, "lance_sql."):
        if found.name.split(".")[1] not in own or "__main__" in found.name or found.name.endswith("_pb2"):
            continue
        try:
            yield importlib.import_module(found.name)
        except ModuleNotFoundError as error:
            # what only another version of DuckDB has, and tools
            if error.name != "duckdb._sources" and not (error.name or "").startswith(("dbt", "harlequin")):
                raise
    yield lance_sql


class _Finder(doctest.DocTestFinder):
    """Also finds functions that a decorator of another module wraps."""

    def _from_module(self, module: Any, object: Any) -> bool:
        found: bool = super()._from_module(module, inspect.unwrap(object))  # type: ignore[misc]  # not in its stubs
        return found


def docstrings() -> list[doctest.DocTest]:
    finder = _Finder(exclude_empty=True)
    tests = [test for module in modules() for test in finder.find(module, extraglobs={"lance_sql": lance_sql})]
    return [test for test in tests if test.examples]


@pytest.mark.parametrize("test", docstrings(), ids=lambda test: test.name)
def test_examples_in_docstrings_print_their_output(test: doctest.DocTest, tmp_path: Path) -> None:
    """Examples may write to `path`, and change `orders`, a table of one version."""
    skip_before_2_0(test.name)
    orders = lance_sql.write(lance_sql.open("examples/orders.lance"), tmp_path / "orders.lance")
    test.globs |= {"path": str(tmp_path / "new.lance"), "orders": orders}
    runner = doctest.DocTestRunner(verbose=False)
    runner.run(test)
    assert runner.summarize(verbose=False).failed == 0


@pytest.mark.parametrize("name", sorted(set(lance_sql.__all__)))
def test_public_names_have_a_docstring(name: str) -> None:
    assert getattr(lance_sql, name).__doc__
