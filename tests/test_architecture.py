"""A folder imports only from the folders below it; see docs/architecture.md, whose picture is FLOORS."""

from __future__ import annotations

import ast
import itertools
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

from lance_sql.providers import adapter

ROOT = Path(__file__).parents[1]

FLOORS = (
    "cli testing spark",
    "one_sql",
    "providers",
    "health catalogs",
    "jobs",
    "opening",
    "dataset",
    "handles",
    "changes",
    "writes",
    "reads",
    "table",
    "format",
    "store",
    "values",
    "errors",
    "runtime",
)
INSIDE = {
    "format": (
        "index_files old_files",
        "file",
        "layouts",
        "encodings casts",
        "schema",
        "text_analysis file_versions proto",
    ),
    "reads": ("search mem_wal polars_source", "scan", "arrow_dataset write_ahead_log"),
    "writes": ("physical_layout", "statements", "commit"),
    "changes": ("publishing", "contracts", "modules of the feed"),
}
"""The floors of a folder. Modules without a name here are on the last one."""

HEIGHT = {unit: -floor for floor, units in enumerate(FLOORS) for unit in units.split()}
HEIGHT_INSIDE = {
    f"{folder}.{unit}": -floor
    for folder, floors in INSIDE.items()
    for floor, units in enumerate(floors)
    for unit in units.split()
}

ENGINES = ("duckdb", "_duckdb", "datafusion", "pyspark", "lance")


MOST_LINES = 60
"""Limit of the lines of a function without its docstring."""


def modules() -> Iterator[tuple[str, Path]]:
    """Every module by its name below lance_sql, generated code left out."""
    for folder, prefix in (("lance_sql", ""), ("providers", "providers.")):
        for path in sorted((ROOT / folder).rglob("*.py")):
            name = prefix + ".".join(path.relative_to(ROOT / folder).with_suffix("").parts)
            if not name.endswith("_pb2"):
                yield name, path


def is_module(name: str) -> bool:
    """Whether a module of this library, or a folder of modules, has the name."""
    if not re.fullmatch(r"lance_sql(\.\w+)+\.?", name):
        return False
    parts = name.rstrip(".").split(".")
    path = ROOT.joinpath(*(parts[1:] if parts[1] == "providers" else parts))
    return path.is_dir() or path.with_suffix(".py").is_file()


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
        elif isinstance(node, ast.Constant) and is_module(name := str(node.value)):
            # for import_module
            yield name.rstrip(".")


@cache
def graph() -> Mapping[str, tuple[str, ...]]:
    """What each module imports, by its name below lance_sql; each file is parsed once."""
    return {name: tuple(imports(name, path)) for name, path in modules() if name != "__init__"}


def own_imports(name: str) -> Iterator[str]:
    """The imports of a module that lie in lance_sql, without that prefix."""
    prefix = "lance_sql."
    yield from (found.removeprefix(prefix) for found in graph()[name] if found.startswith(prefix))


def test_the_name_of_a_module_is_an_import(tmp_path: Path) -> None:
    module = tmp_path / "gate.py"
    module.write_text(
        'import_module("lance_sql.changes.feed"); KEY = "lance_sql.rule."; f"lance_sql.providers.{engine}"'
    )
    assert list(imports("writes.commit.gate", module)) == ["lance_sql.changes.feed", "lance_sql.providers"]


def is_user(name: str) -> bool:
    return name.startswith(("providers.", "cli."))


def is_upwards(importer: str, found: str) -> bool:
    """Whether an import goes to a higher floor, or to another unit of the same one."""
    ours, theirs = importer.split("."), found.split(".")
    if ours[0] != theirs[0]:
        return theirs[0] in HEIGHT and HEIGHT[theirs[0]] >= HEIGHT[ours[0]]
    # the modules that a folder's __init__ offers; a module that takes them from there is known by their names
    if ours[0] not in INSIDE or ours[1:2] in (theirs[1:2], ["__init__"]):
        return False
    lowest = 1 - len(INSIDE[ours[0]])
    height, other = (HEIGHT_INSIDE.get(".".join(parts[:2]), lowest) for parts in (ours, theirs))
    return other > height or other == height > lowest


def test_a_module_imports_from_lower_floors_only() -> None:
    upwards = [f"{name} imports {found}" for name in graph() for found in own_imports(name) if is_upwards(name, found)]
    assert not upwards


def test_search_has_one_door() -> None:
    door = "reads.search."
    others = [
        f"{name} imports {found}"
        for name in graph()
        for found in own_imports(name)
        if not name.startswith(door)
        and found.startswith(door)
        and found.count(".") > door.count(".")
        and found.split(".")[2] not in ("recall", "search_page")
    ]
    assert not others


def test_an_import_of_a_higher_floor_is_found() -> None:
    assert is_upwards("table.snapshot", "reads.scan.scan.Scan")
    assert is_upwards("health.repairs.repairing", "catalogs.contract.Catalog")
    assert is_upwards("format.file.reader", "format.index_files.btree")
    assert is_upwards("format.casts.table", "format.encodings.tree")
    assert is_upwards("changes.feed", "changes.contracts.rules.Rule")
    assert not is_upwards("reads.scan.scan", "table.snapshot.Snapshot")
    assert not is_upwards("changes.publishing.branch", "changes.feed")


def test_the_core_imports_no_engine() -> None:
    engines = [
        f"{name} imports {found}"
        for name in itertools.filterfalse(is_user, graph())
        for found in graph()[name]
        if found.partition(".")[0] in ENGINES
    ]
    assert not engines


def compared(tree: ast.AST) -> Iterator[str]:
    """The texts that values are compared with, looked up by, or matched against."""
    for node in ast.walk(tree):
        match node:
            case ast.Compare():
                parts: list[ast.expr] = [node.left, *node.comparators]
            case ast.Dict():
                parts = [key for key in node.keys if key is not None]
            case ast.MatchValue():
                parts = [node.value]
            case _:
                continue
        for part in parts:
            inner = part.elts if isinstance(part, ast.Tuple | ast.List | ast.Set) else [part]
            yield from (each.value for each in inner if isinstance(each, ast.Constant) and isinstance(each.value, str))


def engines_asked_by_name(name: str, tree: ast.AST) -> set[str]:
    """The engines whose name a module compares, if it is not a module about the engine."""
    every = adapter.every()
    known = {engine: engine for engine in adapter.FOLDERS} | {
        each: engine.name for engine in every for each in engine.modules
    }
    return {known[each] for each in compared(tree) if each in known and known[each] not in re.split(r"[._]", name)}


def test_engines_are_asked_what_they_can_do() -> None:
    asked = {name: engines_asked_by_name(name, ast.parse(path.read_text())) for name, path in modules()}
    # the sessions of Sail are those of Spark, and a frame of Spark may be the rows of a write
    exempt = ("providers.spark.sessions", "writes.statements.frames")
    assert {name: found for name, found in asked.items() if found and name not in exempt} == {}


def test_a_comparison_with_the_name_of_an_engine_is_found() -> None:
    for text in (
        "is_kept = self.name == 'duckdb'",
        "if 'spark' != engine: pass",
        "name in ('spark', 'databricks')",
        "match name:\n    case 'datafusion': pass",
        "{'sail': 1}[name]",
        "kind in {'pyspark'}",
    ):
        assert engines_asked_by_name("one_sql.running", ast.parse(text)), text
    assert not engines_asked_by_name("providers.duckdb.queries", ast.parse("module == '_duckdb'"))
    assert not engines_asked_by_name("one_sql.running", ast.parse("named('duckdb'); name == 'sqlite'"))


def test_every_module_has_a_floor() -> None:
    assert {name.partition(".")[0] for name, _ in modules()} - {"__init__"} == set(HEIGHT)


def test_the_document_draws_the_floors() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text()
    picture = re.search(r"```text\n(.*?)```", text, re.DOTALL)
    assert picture is not None
    assert tuple(line.split("  ")[0] for line in picture[1].splitlines()) == FLOORS


def test_the_document_names_files_that_exist() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text()
    named = re.findall(r"(?<![\w/.-])((?:\w+/)+(?:\w+\.(?:pyi?|h))?)(?![\w/])", text)
    roots = (
        ROOT,
        *(ROOT / "lance_sql" / name for name in ("", "format", "reads", "values", "writes", "changes", "one_sql")),
    )
    roots = (*roots, ROOT / "kernels")
    assert len(named) > 50
    assert [name for name in named if not any((root / name).exists() for root in roots)] == []


def test_the_workers_of_the_fuzzer_need_no_other_writer() -> None:
    """Those with sanitizers run in an environment that has this library alone."""
    code = "import sys; sys.modules['lance'] = None; import fuzz.worker"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=Path(__file__).parents[1])


def test_functions_are_short() -> None:
    long = []
    for name, path in modules():
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef):
                lines = (
                    (node.end_lineno or 0)
                    - node.lineno
                    + 1
                    - len((ast.get_docstring(node, clean=False) or "").splitlines())
                )
                if lines > MOST_LINES:
                    long.append(f"{name}.{node.name}: {lines} lines")
    assert not long, long
