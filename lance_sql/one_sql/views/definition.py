"""Definition of a materialized view: its query, and the versions of the tables that it was computed from.

    config  lance_sql.view = {"query": "SELECT ..", "sources": [{"name": "orders.lance", "path": "../orders.lance",
                              "version": 41, "timestamp": ".."}], "time_zone": "Europe/Berlin",
                              "settings": {"default_collation": "", ..}}

The commit of the rows sets it. So a refresh that dies changes nothing, and of two concurrent refreshes, one finds the
other's rows and starts again from there.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from lance_sql.dataset import Dataset
from lance_sql.errors import CorruptFile
from lance_sql.table.commit_summary import VIEW
from lance_sql.values.local_paths import expanded

KEY: Final = VIEW


@dataclass(frozen=True, slots=True)
class SourceVersion:
    """Table that a view is computed from.

    name: as in the query
    path: of the table; relative to the view if the table is below the view's folder, so that both can be moved
    version: the version that the view was computed from
    timestamp: of this version; another one means that the table was replaced
    """

    name: str
    path: str
    version: int
    timestamp: str


@dataclass(frozen=True, slots=True)
class Definition:
    """Definition of a view.

    sources: without tables that the query reads at a fixed version
    time_zone: in which the rows were computed; None if an earlier release did not record it
    settings: of DuckDB, with which they were computed; empty if an earlier release did not record them
    """

    query: str
    sources: tuple[SourceVersion, ...]
    time_zone: str | None
    settings: Mapping[str, str] = field(default_factory=dict)

    def to_json(self) -> str:
        """Returns the value in the config."""
        sources = [
            {"name": each.name, "path": each.path, "version": each.version, "timestamp": each.timestamp}
            for each in self.sources
        ]
        content: dict[str, Any] = {"query": self.query, "sources": sources, "time_zone": self.time_zone}
        content["settings"] = dict(self.settings)
        return json.dumps(content, separators=(",", ":"))


def of(config: Mapping[str, str], table: str) -> Definition | None:
    """Reads the definition; returns None for a table that is no view.

    raises: CorruptFile
    """
    text = config.get(KEY)
    if text is None:
        return None
    try:
        content: Any = json.loads(text)
        query, time_zone = content["query"], content.get("time_zone")
        settings = dict(content.get("settings", {}))
        sources = tuple(
            SourceVersion(each["name"], each["path"], each["version"], each["timestamp"]) for each in content["sources"]
        )
    except (ValueError, RecursionError, TypeError, LookupError) as error:
        raise CorruptFile(f"{table}: {KEY} of its config has unknown content: {text[:80]!r}") from error
    texts = [
        query,
        *([] if time_zone is None else [time_zone]),
        *settings.values(),
        *(text for each in sources for text in (each.name, each.path, each.timestamp)),
    ]
    if not all(isinstance(each, str) for each in texts) or not all(type(each.version) is int for each in sources):
        raise CorruptFile(f"{table}: {KEY} of its config has unknown content: {text[:80]!r}")
    return Definition(query, sources, time_zone, settings)


def timestamp(dataset: Dataset) -> str:
    """Returns the commit time of a version, which distinguishes a table from another one of the same name."""
    return str(dataset.snapshot.manifest.timestamp)


def absolute(path: str, view: str) -> str:
    """Returns the current path of a table.

    path: of a `SourceVersion`
    view: the path of the view
    """
    if "://" in path or os.path.isabs(path):
        return path
    return os.path.normpath(os.path.join(_folder(view), path))


def relative(path: str, view: str) -> str:
    """Returns the path of a table as a view records it."""
    if "://" in path:
        return path
    whole = os.path.abspath(expanded(path))
    if "://" in view:
        return whole
    folder = _folder(view)
    return os.path.relpath(whole, folder) if whole.startswith(os.path.join(folder, "")) else whole


def _folder(view: str) -> str:
    return os.path.dirname(os.path.abspath(expanded(view)))
