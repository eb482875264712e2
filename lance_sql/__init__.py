"""Read and write tables of the Lance format, and hand them to SQL engines.

>>> import lance_sql
>>> orders = lance_sql.open("examples/orders.lance")
>>> orders.count_rows("_row_created_at_version > 1") > 0
True

Names are imported on first use, so that importing the package costs next to nothing.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any

from lance_sql.runtime import ports

if TYPE_CHECKING:
    __version__: str
    from lance_sql.catalogs import Catalog, catalog
    from lance_sql.changes.cursors import Cursor
    from lance_sql.dataset import Dataset
    from lance_sql.errors import (
        BranchExists,
        ColumnNotFound,
        CommitConflict,
        ContractBroken,
        CorruptFile,
        DamagedLineage,
        ForeignBase,
        InvalidArgument,
        LanceError,
        MissingDependency,
        RetryableConflict,
        TableExists,
        TableNotFound,
        TagExists,
        UnsupportedFeature,
        VersionNotFound,
    )
    from lance_sql.health.differences import Difference, diff
    from lance_sql.health.repairs import repair, salvage
    from lance_sql.health.verification import audit, verify
    from lance_sql.jobs.applying import apply_changes
    from lance_sql.jobs.write_job import WriteJob
    from lance_sql.jobs.writing import begin_write, write
    from lance_sql.one_sql.connections import connect
    from lance_sql.one_sql.running import sql
    from lance_sql.one_sql.views import View, materialize
    from lance_sql.opening import open
    from lance_sql.providers import attach, read_spark, register
    from lance_sql.reads.scan.scan import Scan, ScanTask
    from lance_sql.reads.search.queries import nearest, words
    from lance_sql.runtime.cache_usage import cache_usage, clear_caches
    from lance_sql.store.manifest_store import ManifestEntry, ManifestStore, SqliteManifestStore
    from lance_sql.table.commit_origin import configure, job

__all__ = [
    "BranchExists",
    "Catalog",
    "ColumnNotFound",
    "CommitConflict",
    "ContractBroken",
    "CorruptFile",
    "Cursor",
    "DamagedLineage",
    "Dataset",
    "Difference",
    "ForeignBase",
    "InvalidArgument",
    "LanceError",
    "ManifestEntry",
    "ManifestStore",
    "MissingDependency",
    "RetryableConflict",
    "Scan",
    "ScanTask",
    "SqliteManifestStore",
    "TableExists",
    "TableNotFound",
    "TagExists",
    "UnsupportedFeature",
    "VersionNotFound",
    "View",
    "WriteJob",
    "apply_changes",
    "attach",
    "audit",
    "begin_write",
    "cache_usage",
    "catalog",
    "clear_caches",
    "configure",
    "connect",
    "diff",
    "job",
    "materialize",
    "nearest",
    "open",
    "read_spark",
    "register",
    "repair",
    "salvage",
    "sql",
    "verify",
    "words",
    "write",
]

_NAMES = {
    "catalogs": ("Catalog", "catalog"),
    "changes.cursors": ("Cursor",),
    "dataset": ("Dataset",),
    "health.differences": ("Difference", "diff"),
    "health.repairs": ("repair", "salvage"),
    "health.verification": ("audit", "verify"),
    "jobs.applying": ("apply_changes",),
    "jobs.write_job": ("WriteJob",),
    "jobs.writing": ("begin_write", "write"),
    "one_sql.connections": ("connect",),
    "one_sql.running": ("sql",),
    "one_sql.views": ("View", "materialize"),
    "opening": ("open",),
    "providers": ("attach", "read_spark", "register"),
    "reads.scan.scan": ("Scan", "ScanTask"),
    "reads.search.queries": ("nearest", "words"),
    "runtime.cache_usage": ("cache_usage", "clear_caches"),
    "store.manifest_store": ("ManifestEntry", "ManifestStore", "SqliteManifestStore"),
    "table.commit_origin": ("configure", "job"),
}
"""Names by module; those of `errors` are not listed."""
_MODULES = {name: module for module, names in _NAMES.items() for name in names}


def _folders(sources: list[str]) -> list[str]:
    """Returns the folders in which to look for modules of the package: the installed one before its sources.

    In the source folder Python finds the sources first. But the kernels are built, and the providers put in their
    place, when the package is installed.
    """
    candidates = [os.path.join(entry, __name__) for entry in sys.path]
    return [*(folder for folder in candidates if os.path.isdir(os.path.join(folder, "providers"))), *sources]


if not os.path.isdir(os.path.join(__path__[0], "providers")):
    __path__ = _folders(list(__path__))


def _enforce_rules() -> Callable[..., Any]:
    from lance_sql.changes.contracts.enforcement import enforce

    return enforce


def _sql_expressions() -> Callable[..., Any]:
    from lance_sql.providers.duckdb.expressions import SqlExpressions

    implementation: Callable[..., Any] = SqlExpressions
    return implementation


def _forget_cached() -> Callable[..., Any]:
    from lance_sql.store.cached import forget_cached

    return forget_cached


def _read_checksums() -> Callable[..., Any]:
    from lance_sql.table.checksums import read_new

    return read_new


def _write() -> Callable[..., Any]:
    from lance_sql.jobs.writing import write

    return write


ports.ENFORCE_RULES.connect(_enforce_rules)
ports.FORGET_CACHED.connect(_forget_cached)
ports.READ_CHECKSUMS.connect(_read_checksums)
ports.SQL_EXPRESSIONS.connect(_sql_expressions)
ports.WRITE.connect(_write)


# type checkers report names that are not imported above
if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        if name == "__version__":
            from importlib.metadata import version

            return version("lance-sql")
        if name not in __all__:
            from lance_sql.values.guessed_names import OF_MODULE, unknown_name

            raise unknown_name(f"module {__name__!r}", name, __all__, OF_MODULE)
        value = getattr(import_module(f"{__name__}.{_MODULES.get(name, 'errors')}"), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted(__all__)
