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

_ERRORS = "lance_sql.errors"
_MODULES = {
    "BranchExists": _ERRORS,
    "ColumnNotFound": _ERRORS,
    "CommitConflict": _ERRORS,
    "ContractBroken": _ERRORS,
    "CorruptFile": _ERRORS,
    "Cursor": "lance_sql.changes.cursors",
    "DamagedLineage": _ERRORS,
    "Dataset": "lance_sql.dataset",
    "Difference": "lance_sql.health.differences",
    "ForeignBase": _ERRORS,
    "InvalidArgument": _ERRORS,
    "LanceError": _ERRORS,
    "ManifestEntry": "lance_sql.store.manifest_store",
    "ManifestStore": "lance_sql.store.manifest_store",
    "MissingDependency": _ERRORS,
    "RetryableConflict": _ERRORS,
    "Scan": "lance_sql.reads.scan.scan",
    "ScanTask": "lance_sql.reads.scan.scan",
    "SqliteManifestStore": "lance_sql.store.manifest_store",
    "TableExists": _ERRORS,
    "TableNotFound": _ERRORS,
    "TagExists": _ERRORS,
    "UnsupportedFeature": _ERRORS,
    "VersionNotFound": _ERRORS,
    "View": "lance_sql.one_sql.views",
    "WriteJob": "lance_sql.jobs.write_job",
    "apply_changes": "lance_sql.jobs.applying",
    "attach": "lance_sql.providers",
    "audit": "lance_sql.health.verification",
    "begin_write": "lance_sql.jobs.writing",
    "Catalog": "lance_sql.catalogs",
    "cache_usage": "lance_sql.runtime.cache_usage",
    "catalog": "lance_sql.catalogs",
    "clear_caches": "lance_sql.runtime.cache_usage",
    "configure": "lance_sql.table.commit_origin",
    "connect": "lance_sql.one_sql.connections",
    "diff": "lance_sql.health.differences",
    "job": "lance_sql.table.commit_origin",
    "materialize": "lance_sql.one_sql.views",
    "nearest": "lance_sql.reads.search.queries",
    "open": "lance_sql.opening",
    "read_spark": "lance_sql.providers",
    "register": "lance_sql.providers",
    "repair": "lance_sql.health.repairs",
    "salvage": "lance_sql.health.repairs",
    "sql": "lance_sql.one_sql.running",
    "verify": "lance_sql.health.verification",
    "words": "lance_sql.reads.search.queries",
    "write": "lance_sql.jobs.writing",
}


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


def _read_checksums() -> Callable[..., Any]:
    from lance_sql.table.checksums import read_new

    return read_new


ports.ENFORCE_RULES.connect(_enforce_rules)
ports.READ_CHECKSUMS.connect(_read_checksums)
ports.SQL_EXPRESSIONS.connect(_sql_expressions)


def __getattr__(name: str) -> object:
    if name == "__version__":
        from importlib.metadata import version

        return version("lance-sql")
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_MODULES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
