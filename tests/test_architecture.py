"""A module imports from its own folder and from lower floors only; see docs/architecture.md."""

from __future__ import annotations

import ast
import itertools
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import lance_sql

ROOT = Path(__file__).parents[1]

FLOORS = (
    ("terminal_text",),
    ("arrays", "errors"),
    (
        "caches",
        "dictionaries",
        "file_versions",
        "gathering",
        "progress",
        "selection",
        "row_ranges",
        "proto",
        "_kernels",
        "value_text",
    ),
    (
        "ages",
        "bitmaps",
        "equal_values",
        "frames",
        "key_numbers",
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
    "selection",
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


@cache
def graph() -> Mapping[str, tuple[str, ...]]:
    """What each module imports, by its name below lance_sql; each file is parsed once."""
    return {name: tuple(imports(name, path)) for name, path in modules() if name != "__init__"}


def own_imports(name: str) -> Iterator[str]:
    """The imports of a module that lie in lance_sql, without that prefix."""
    prefix = "lance_sql."
    yield from (found.removeprefix(prefix) for found in graph()[name] if found.startswith(prefix))


def is_user(name: str) -> bool:
    return name.startswith(("providers.", "cli."))


def test_a_module_imports_from_lower_floors_only() -> None:
    upwards = [
        f"{name} imports {found}"
        for name in graph()
        for found in own_imports(name)
        if (below := found.partition(".")[0]) in FLOOR_OF
        and below != (unit := name.partition(".")[0])
        and FLOOR_OF[below] >= FLOOR_OF[unit]
    ]
    assert not upwards


def test_providers_and_the_command_line_use_the_public_interface() -> None:
    private = [
        f"{name} imports {found}"
        for name in filter(is_user, graph())
        for found in own_imports(name)
        if not f"{found}.".startswith(tuple(f"{allowed}." for allowed in (name.partition(".")[0], *PUBLIC)))
        and found not in lance_sql.__all__
    ]
    assert not private


def test_the_core_knows_no_engine() -> None:
    engines = [
        f"{name} imports {found}"
        for name in itertools.filterfalse(is_user, graph())
        for found in graph()[name]
        if found.partition(".")[0] in ENGINES
    ]
    assert not engines


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
