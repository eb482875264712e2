"""PySpark over Lance tables.

Some modules work without PySpark, so the package imports nothing. This package also has the names
of `data_source`: `from lance_sql.providers.spark import LanceDataSource`.
"""

from __future__ import annotations

from importlib import import_module
from typing import Final

_NAMES: Final = ("LanceDataSource", "LanceReader", "read", "register", "register_table")


def __getattr__(name: str) -> object:
    if name not in _NAMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.data_source"), name)
