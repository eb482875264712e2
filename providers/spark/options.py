"""Options of the format "lance" in PySpark, checked by name and by value.

Spark passes some names in lower case, so that all are compared without case.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

import lance_sql.opening
from lance_sql.changes.feed import ChangeFeed
from lance_sql.dataset import Dataset
from lance_sql.errors import InvalidArgument

from ..bounds import bound

_STORAGE: Final = "storage."
TIME_TRAVEL: Final = ("version", "tag", "asof")
READ: Final = ("path", *TIME_TRAVEL, "branch", "columns", "filter", "systemcolumns", "partitions")


_OF_DELTA: Final = {"versionasof": "version", "timestampasof": "asof"}
"""Options with Delta's names."""


class ReadOptions:
    """Options of `spark.read.option` for a version of a table.

    raises: InvalidArgument
    """

    def __init__(self, options: Mapping[str, str]) -> None:
        lowered = checked(options, ("readchangefeed", *READ))
        self._path = path(lowered)
        version = lowered.get("version")
        self._time_travel: dict[str, Any] = {
            "version": bound(version),
            "tag": lowered.get("tag"),
            "branch": lowered.get("branch"),
            "as_of": lowered.get("asof"),
        }
        self._columns = lowered.get("columns")
        self.filter = lowered.get("filter")
        self._with_system_columns = flag("systemColumns", lowered.get("systemcolumns", "false"))
        self.partitions = number("partitions", lowered.get("partitions", "0"))
        self._storage_options = storage_options(options)

    def open(self) -> Dataset:
        """Opens the requested version."""
        return self.open_at({})

    def open_at(self, time_travel: Mapping[str, Any]) -> Dataset:
        """Opens another version.

        time_travel: arguments of `lance_sql.open` instead of the options
        """
        arguments = {**self._time_travel, **time_travel}
        return lance_sql.opening.open(self._path, storage_options=self._storage_options, **arguments)

    def names(self, relation: Dataset | ChangeFeed) -> list[str]:
        """Returns the requested columns."""
        names: list[str] = relation.schema.names
        if self._columns is not None:
            names = names_in("columns", self._columns)
        if self._with_system_columns:
            names = [*names, *(name for name in relation.system_columns if name not in names)]
        return names


def checked(options: Mapping[str, str], known: Sequence[str]) -> dict[str, str]:
    """Returns the options by their names in lower case.

    raises: InvalidArgument for an unknown option
    """
    lowered: dict[str, str] = {}
    for given, value in options.items():
        name = _OF_DELTA.get(given.lower(), given.lower())
        if name.startswith(_STORAGE):
            continue
        if name in lowered:
            raise InvalidArgument(f"The option {given} repeats another option")
        lowered[name] = value
    for name in lowered:
        if name not in known:
            close = difflib.get_close_matches(name, known, 1)
            hint = f"Did you mean {close[0]!r}? " if close else ""
            raise InvalidArgument(f"The format lance has no option {name!r}. {hint}Options: {', '.join(known)}")
    return lowered


def path(lowered: Mapping[str, str]) -> str:
    """Returns the path of the table.

    raises: InvalidArgument
    """
    if "path" not in lowered:
        raise InvalidArgument("The path of the table is missing: pass load(path) or save(path)")
    # Spark's catalog writes file:/x instead of the URI file:///x
    where = lowered["path"]
    return where.removeprefix("file:") if where.startswith("file:/") and not where.startswith("file://") else where


def storage_options(options: Mapping[str, str]) -> dict[str, str] | None:
    """Returns the options for the file system of the path."""
    storage = {name[len(_STORAGE) :]: value for name, value in options.items() if name.lower().startswith(_STORAGE)}
    return storage or None


def to_options(dataset: Dataset) -> dict[str, str]:
    """Returns the options that identify the table and branch of a dataset, without the path.

    raises: UnsupportedFeature for a table with a manifest store
    """
    options = {} if dataset.branch is None else {"branch": dataset.branch}
    return options | {f"{_STORAGE}{key}": value for key, value in dataset.snapshot.access.texts().items()}


def number(name: str, text: str) -> int:
    """Parses a whole number.

    raises: InvalidArgument
    """
    try:
        return int(text)
    except ValueError:
        raise InvalidArgument(f"The option {name}={text!r} is not a whole number") from None


def flag(name: str, text: str) -> bool:
    """Parses true or false.

    raises: InvalidArgument
    """
    if text.lower() not in ("true", "false"):
        raise InvalidArgument(f"The option {name}={text!r} is neither true nor false")
    return text.lower() == "true"


def names_in(name: str, text: str) -> list[str]:
    """Parses column names: a JSON array, for names with commas, or names separated by commas."""
    if not text.lstrip().startswith("["):
        return [each.strip() for each in text.split(",")]
    try:
        names = json.loads(text)
    except ValueError:
        names = None
    if not isinstance(names, list) or not all(isinstance(each, str) for each in names):
        raise InvalidArgument(f"The option {name}={text!r} is not a JSON array of names")
    return names
