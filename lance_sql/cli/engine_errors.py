"""DuckDB errors for people: one line, with a suggestion if there is one, and the part of the statement that the error
is about.

    Conversion Error: Could not convert string "abc" to DECIMAL(10,2)
      SELECT * FROM 'orders.lance' WHERE amount > 'abc'
                                                  ^
"""

from __future__ import annotations

import difflib
import os
import re
from contextlib import suppress
from typing import Final

from lance_sql.runtime.terminal_text import one_line, width_of

# the number also counts lines of DuckDB's own, so it is useless
_EXCERPT: Final = re.compile(r"\n+(LINE \d+: )(.*)\n( *)(\^+)")
_WIDTH: Final = 100
_UNKNOWN_TABLE: Final = re.compile(r"Table with name (\S+) does not exist!")
_TOP: Final = re.compile(r"\bSELECT\s+TOP\s*\(?\s*(\d+)", re.IGNORECASE)
_UNKNOWN_COLUMN: Final = re.compile(r'Referenced column "([^"]+)" not found in FROM clause')
_CANDIDATE: Final = re.compile(r'"([^"]+)"')
_BARE_PATH: Final = re.compile(r"(?<![\w'\"./:-])((?:[\w.-]+/|/)+[\w.-]+|[\w-]+\.lance)(?![\w'\"/])")
_ARGUMENT: Final = re.compile(r"(\w+)\s*(?::=|=>)")
_PARAMETER: Final = re.compile(r"(\w+) :=")


def explained(message: str, statement: str = "") -> tuple[str, str | None]:
    """
    statement: the typed statement, if known
    returns: the error in one line; and an excerpt of the statement with a mark below, if DuckDB has one
    """
    match = _EXCERPT.search(message)
    said = " ".join((message[: match.start()] if match is not None else message).split())
    if match is None:
        return _with_hint(said, statement), None
    return _with_hint(said, statement or match[2]), _excerpt(match[2], len(match[3]) - len(match[1]), len(match[4]))


def _with_hint(said: str, typed: str) -> str:
    if "syntax error" in said and typed.strip().isidentifier():
        return f"No verb {typed.strip()!r}, and not SQL: 'lance-sql --help' lists the verbs"
    if "syntax error" in said and (top := _TOP.search(typed)) is not None:
        return f"{said}. TOP {top[1]} is LIMIT {top[1]} at the end of the query"
    path = _BARE_PATH.search(typed) if "syntax error" in said or 'function call "/(' in said else None
    if path is not None:
        return f"{said.partition(' Candidate functions')[0]} A table is a path in quotes: '{path[1]}'"
    if (unknown := _UNKNOWN_TABLE.search(said)) is not None:
        # the suggestion is a system table
        said = said.partition(" Did you mean")[0]
        if os.path.splitext(unknown[1])[1]:
            return _missing_file(unknown[1])
        return f"{said} A Lance table is a path in quotes, such as FROM '{unknown[1]}.lance'"
    if (word := _UNKNOWN_COLUMN.search(said)) is not None:
        candidates = _CANDIDATE.findall(said[word.end() :])
        closest = difflib.get_close_matches(word[1], candidates, 1)
        if closest:
            return f"{said[: word.end()]}. Did you mean {closest[0]!r}?"
        # a plain name may have been meant as a text
        return f"{said} Text has single quotes: '{word[1]}'" if f".{word[1]}" not in typed else said
    if "unterminated string literal" in said:
        return f"{said}: a quote that begins a text or a path has none that ends it"
    if "Macro" in said and "does not support the supplied arguments" in said:
        return _wrong_argument(said, typed)
    if 'extension "lance"' in said:
        return (
            "lance-sql needs no extension of DuckDB: tables are paths, such as FROM 'lake/orders.lance', and"
            " ATTACH 'lake' AS lake (TYPE lance) makes a schema of a folder"
        )
    said = re.sub(r'^(Binder Error: )Values list "', r'\1Table "', said)
    return said.partition(" Candidate functions:")[0]


def _missing_file(path: str) -> str:
    folder, name = os.path.split(path)
    with suppress(OSError):
        if closest := difflib.get_close_matches(name, os.listdir(folder or "."), 1):
            return f"No file {path!r}. Did you mean {os.path.join(folder, closest[0])!r}?"
    return f"No file {path!r}: check the path and its suffix, such as .parquet, .csv or .json"


def _wrong_argument(said: str, typed: str) -> str:
    parameters = _PARAMETER.findall(said.partition("Candidate macros")[2])
    for name in _ARGUMENT.findall(typed):
        if name not in parameters and (closest := difflib.get_close_matches(name, parameters, 1)):
            return f"No argument {name!r}. Did you mean {closest[0]!r}? Arguments: {', '.join(parameters)}"
    return said


def _excerpt(line: str, start: int, length: int) -> str | None:
    """Returns a line of the statement, cut to a width, with marks below it.

    start, length: of the marked part
    """
    if not 0 <= start <= len(line):
        return None
    first = max(start - _WIDTH // 2, 0) if len(line) > _WIDTH else 0
    before = one_line(line[first:start])
    behind = one_line(line[start : first + _WIDTH])
    return f"  {before}{behind}\n  {' ' * width_of(before)}{'^' * max(min(length, width_of(behind)), 1)}"
