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
from typing import TYPE_CHECKING, Any

from lance_sql.runtime import first_use, ports

if TYPE_CHECKING:
    __all__: list[str]
    __version__: str
    from lance_sql.catalogs import Catalog as Catalog, catalog as catalog
    from lance_sql.changes.cursors import Cursor as Cursor
    from lance_sql.dataset import Dataset as Dataset
    from lance_sql.errors import (
        BranchExists as BranchExists,
        ColumnNotFound as ColumnNotFound,
        CommitConflict as CommitConflict,
        ContractBroken as ContractBroken,
        CorruptFile as CorruptFile,
        DamagedLineage as DamagedLineage,
        ForeignBase as ForeignBase,
        InvalidArgument as InvalidArgument,
        LanceError as LanceError,
        MissingDependency as MissingDependency,
        RetryableConflict as RetryableConflict,
        TableExists as TableExists,
        TableNotFound as TableNotFound,
        TagExists as TagExists,
        UnsupportedFeature as UnsupportedFeature,
        VersionNotFound as VersionNotFound,
    )
    from lance_sql.health.differences import Difference as Difference, diff as diff
    from lance_sql.health.repairs import repair as repair, salvage as salvage
    from lance_sql.health.verification import audit as audit, verify as verify
    from lance_sql.jobs.applying import apply_changes as apply_changes
    from lance_sql.jobs.write_job import WriteJob as WriteJob
    from lance_sql.jobs.writing import begin_write as begin_write, write as write
    from lance_sql.one_sql.connections import connect as connect
    from lance_sql.one_sql.running import sql as sql
    from lance_sql.one_sql.views import View as View, materialize as materialize
    from lance_sql.opening import open as open
    from lance_sql.providers import attach as attach, read_spark as read_spark, register as register
    from lance_sql.reads.scan.scan import Scan as Scan, ScanTask as ScanTask
    from lance_sql.reads.search import nearest as nearest, words as words
    from lance_sql.runtime.cache_usage import cache_usage as cache_usage, clear_caches as clear_caches
    from lance_sql.store.manifest_store import (
        ManifestEntry as ManifestEntry,
        ManifestStore as ManifestStore,
        SqliteManifestStore as SqliteManifestStore,
    )
    from lance_sql.table.commit_origin import configure as configure, job as job


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


def _old_files() -> Callable[..., Any]:
    from lance_sql.format.old_files.opening import Opening

    implementation: Callable[..., Any] = Opening
    return implementation


def _read_checksums() -> Callable[..., Any]:
    from lance_sql.table.checksums import read_new

    return read_new


def _write() -> Callable[..., Any]:
    from lance_sql.jobs.writing import write

    return write


ports.ENFORCE_RULES.connect(_enforce_rules)
ports.FORGET_CACHED.connect(_forget_cached)
ports.OLD_FILES.connect(_old_files)
ports.READ_CHECKSUMS.connect(_read_checksums)
ports.SQL_EXPRESSIONS.connect(_sql_expressions)
ports.WRITE.connect(_write)


# type checkers report names that are not imported above
if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        if name == "__version__":
            from importlib.metadata import version

            return version("lance-sql")
        if name != "__all__" and name not in first_use.names(__name__):
            from lance_sql.values.guessed_names import OF_MODULE, unknown_name

            raise unknown_name(f"module {__name__!r}", name, first_use.names(__name__), OF_MODULE)
        return first_use.load(__name__, name)


def __dir__() -> list[str]:
    return sorted(first_use.names(__name__))
