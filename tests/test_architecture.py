"""A module imports from its own folder and from lower floors only; see docs/architecture.md."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import lance_sql

ROOT = Path(__file__).parents[1]

FLOORS = (
    ("terminal_text",),
    ("arrays", "errors"),
    ("caches", "file_versions", "gathering", "progress", "selection", "row_ranges", "proto", "_kernels", "value_text"),
    (
        "ages",
        "bitmaps",
        "equal_values",
        "frames",
        "local_paths",
        "pages",
        "process_memory",
        "schema",
        "text_analysis",
        "version_names",
    ),
    ("store", "casts", "encodings"),
    ("layouts",),
    ("file",),
    ("index_files",),
    ("table",),
    ("scan", "commit"),
    ("statements",),
    ("arrow_dataset", "version_history", "physical_layout", "search"),
    ("changes", "fresh_rows"),
    ("cursors", "contracts"),
    ("publishing",),
    ("dataset", "verification", "lineage_audit", "table_folders"),
    ("writing", "metadata_tables", "distributed", "differences"),
    ("applying", "catalogs"),
    ("providers", "repairs"),
    ("one_sql", "everyday"),
    ("connections",),
    ("spark", "cli", "testing", "dbt"),
)
FLOOR_OF = {unit: floor for floor, units in enumerate(FLOORS) for unit in units}

# What providers and the command line may use beside each other: what users get, and the types they ask for.
PUBLIC = (
    "ages",
    "applying",
    "arrow_dataset",
    "caches",
    "casts.conversion",
    "catalogs",
    "changes.answer_scan",
    "changes.answers",
    "changes.bounds",
    "changes.feed",
    "changes.plan",
    "changes.row_history",
    "changes.scan",
    "connections",
    "dataset",
    "differences",
    "distributed",
    "errors",
    "everyday",
    "fresh_rows",
    "lineage_audit.report",
    "lineage_audit.walk",
    "local_paths",
    "metadata_tables",
    "one_sql",
    "physical_layout",
    "progress",
    "providers",
    "repairs",
    "scan.predicates",
    "scan.scan",
    "scan.system_columns",
    "search",
    "schema.duckdb_types",
    "store.allowed_bases",
    "store.cached",
    "terminal_text",
    "value_text",
    "verification",
    "version_names",
    "writing",
)
ENGINES = ("duckdb", "_duckdb", "datafusion", "pyspark", "lance")


def modules() -> Iterator[tuple[str, Path]]:
    """Every module by its name below lance_sql, generated code left out."""
    for folder, prefix in (("lance_sql", ""), ("providers", "providers.")):
        for path in sorted((ROOT / folder).rglob("*.py")):
            name = prefix + ".".join(path.relative_to(ROOT / folder).with_suffix("").parts)
            if not name.endswith("_pb2"):
                yield name, path


def imports(name: str, path: Path) -> Iterator[str]:
    """The absolute names of what a module imports."""
    package = ["lance_sql", *name.split(".")[:-1]]
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            parent = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*parent, *([node.module] if node.module else [])])
            yield from (f"{module}.{alias.name}" for alias in node.names)


def own_imports(name: str, path: Path) -> Iterator[str]:
    """The same for what is in lance_sql, without that name."""
    prefix = "lance_sql."
    yield from (found.removeprefix(prefix) for found in imports(name, path) if found.startswith(prefix))


MODULES = [module for module in modules() if module[0] != "__init__"]
USERS = [module for module in MODULES if module[0].startswith(("providers.", "cli."))]
CORE = [module for module in MODULES if module not in USERS]


def each(chosen: list[tuple[str, Path]]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize(("name", "path"), chosen, ids=[name for name, _ in chosen])


@each(MODULES)
def test_a_module_imports_from_lower_floors_only(name: str, path: Path) -> None:
    unit = name.partition(".")[0]
    for found in own_imports(name, path):
        below = found.partition(".")[0]
        if below in FLOOR_OF and below != unit:
            assert FLOOR_OF[below] < FLOOR_OF[unit], f"{name} imports {found}"


@each(USERS)
def test_providers_and_the_command_line_use_the_public_interface(name: str, path: Path) -> None:
    for found in own_imports(name, path):
        unit = name.partition(".")[0]
        inside = f"{found}.".startswith(tuple(f"{allowed}." for allowed in (unit, *PUBLIC)))
        assert inside or found in lance_sql.__all__, f"{name} imports {found}"


@each(CORE)
def test_the_core_knows_no_engine(name: str, path: Path) -> None:
    for found in imports(name, path):
        assert found.partition(".")[0] not in ENGINES, f"{name} imports {found}"


def test_every_module_has_a_floor() -> None:
    assert {name.partition(".")[0] for name, _ in modules()} - {"__init__"} <= set(FLOOR_OF)


def test_the_document_names_every_module() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text()
    floors = re.findall(r"^\| \d* *\| (.+?) \|", text, re.MULTILINE)
    named = {name.rstrip("/") for cell in floors for name in re.findall(r"`([\w/]+)`", cell)}
    assert named == set(FLOOR_OF)


def test_the_workers_of_the_fuzzer_need_no_other_writer() -> None:
    """Those with sanitizers run in an environment that has this library alone."""
    code = "import sys; sys.modules['lance'] = None; import fuzz.worker"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=Path(__file__).parents[1])
