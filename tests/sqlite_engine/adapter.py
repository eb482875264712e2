"""SQLite as an engine of the library."""

from __future__ import annotations

from typing import ClassVar, Final

from lance_sql.providers.adapter import Adapter


class _SQLite(Adapter):  # type: ignore[misc]  # mypy sees providers in their own folder
    name: ClassVar = "sqlite"
    title: ClassVar = "SQLite"
    connection: ClassVar = "an SQLite connection"
    modules: ClassVar = frozenset({"sqlite3"})
    folder: ClassVar = "tests.sqlite_engine"
    extra: ClassVar = "all"


ADAPTER: Final = _SQLite()
