"""Everyday queries: their files, descriptions and parameters, and their text with values."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any, Final

from lance_sql.errors import InvalidArgument
from lance_sql.values.sql_text import identifier, literal

_PARAMETER: Final = re.compile(r"-- :(\w+) \((\w+)\)(?: = (\S+))? (.+)")
_USE: Final = re.compile(r"(?<![:\w]):([a-z]+)\b")
_DECIMAL: Final = re.compile(r"\d{1,18}(\.\d{1,18})?", re.ASCII)
TABLE: Final = "table"
KINDS: Final = ("version", "number", "fraction", "columns")


@dataclass(frozen=True, slots=True)
class Parameter:
    """
    kind: "version" (a number, a tag or a time), "number", "fraction" or "columns" (names with commas between)
    default: as text; None if a value is required
    """

    name: str
    kind: str
    default: str | None
    help: str

    def to_sql(self, value: Any) -> str:
        """Converts a value to SQL.

        raises: InvalidArgument for a value of another kind
        """
        text = str(value).strip()
        match self.kind:
            case "columns":
                names = [name.strip() for name in (text.split(",") if isinstance(value, str) else map(str, value))]
                if all(names):
                    return ", ".join(map(identifier, names))
            case "version" if text:
                return text if text.isascii() and text.isdecimal() else literal(text)
            case "number" if text.isascii() and text.isdecimal():
                return text
            case "fraction" if _DECIMAL.fullmatch(text):
                return text
        raise InvalidArgument(f"{self.name}={value!r} is not valid: pass {self.kind} ({self.help})")


@dataclass(frozen=True, slots=True)
class EverydayQuery:
    """Everyday query. text: the file, including comments"""

    name: str
    about: str
    parameters: tuple[Parameter, ...]
    text: str

    def to_sql(self, table: str, values: Mapping[str, Any] | None = None) -> str:
        """Returns the query over a table, for `lance_sql.sql`.

        values: of the parameters, by name
        raises: InvalidArgument for parameters that are unknown, missing, or of another kind

        >>> from lance_sql.one_sql.recipes import everyday_query
        >>> text = everyday_query("changed-since").to_sql("examples/orders.lance", {"since": 4})
        >>> lance_sql.sql(text).to_pylist()[0]["deleted"]
        50
        """
        given = dict(values or {})
        parameters = {parameter.name: parameter for parameter in self.parameters}
        for name in given:
            if name not in parameters:
                names = ", ".join(parameters) or "none"
                raise InvalidArgument(f"The query {self.name!r} has no parameter {name!r}; parameters: {names}")
        texts = {TABLE: literal(table)}
        for parameter in self.parameters:
            value = given.get(parameter.name)
            if value is None:
                value = parameter.default
            if value is None:
                raise InvalidArgument(f"The query {self.name!r} needs {parameter.name}: {parameter.help}")
            texts[parameter.name] = parameter.to_sql(value)
        lines = [line for line in self.text.splitlines() if not line.startswith("--")]
        return _USE.sub(lambda use: texts[use[1]], "\n".join(lines))


@cache
def everyday_queries() -> tuple[EverydayQuery, ...]:
    """Returns all queries, sorted by name."""
    folder = resources.files("lance_sql.one_sql.recipes") / "files"
    files = sorted((file.name, file) for file in folder.iterdir() if file.name.endswith(".sql"))
    return tuple(_parsed(name.removesuffix(".sql"), file.read_text(encoding="utf-8")) for name, file in files)


def everyday_query(name: str) -> EverydayQuery:
    """
    raises: InvalidArgument for an unknown query
    """
    queries = {query.name: query for query in everyday_queries()}
    if name not in queries:
        close = difflib.get_close_matches(name, queries, 1)
        hint = f"Did you mean {close[0]!r}?" if close else f"There are {', '.join(queries)}"
        raise InvalidArgument(f"No query {name!r}. {hint}")
    return queries[name]


def _parsed(name: str, text: str) -> EverydayQuery:
    about, *lines = [line for line in text.splitlines() if line.startswith("--")]
    parameters = []
    for line in lines:
        match = _PARAMETER.fullmatch(line)
        assert match is not None, f"{name}.sql: {line}"
        assert match[2] in KINDS, f"{name}.sql: {line}"
        parameters.append(Parameter(match[1], match[2], match[3], match[4]))
    return EverydayQuery(name, about.removeprefix("-- "), tuple(parameters), text)
