"""What went wrong, in a line and an exit code."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from typing import Final

from lance_sql import errors
from lance_sql.errors import CorruptFile, InvalidArgument, LanceError
from lance_sql.terminal_text import one_line

WRONG_USAGE: Final = 2
CANNOT_READ: Final = 3
INTERRUPTED: Final = 130

# DuckDB's errors about the text of a query; all others come out of running it.
_USAGE_ERRORS: Final = ("BinderException", "CatalogException", "ParserException", "SyntaxException")
# What an engine or Arrow says of an error of this library: the type and the message end its traceback.
_WRAPPED: Final = re.compile(r"^(?:.*\s)?lance_sql\.errors\.(\w+): (.+)$", re.MULTILINE)
_WHERE: Final = re.compile(r"^(LINE \d+: )(.*)\n( *)\^", re.MULTILINE)
_BEFORE: Final = 15
_NEAR: Final = 40
_UNKNOWN_TABLE: Final = re.compile(r"Table with name (\w+) does not exist!")
_UNKNOWN_COLUMN: Final = re.compile(r'Referenced column "([^"]+)" not found in FROM clause')
_AFTER_DAMAGE: Final = "'lance-sql verify{}' with the table says which versions and columns can still be read"
# Values are decoded by a deep check alone.
_IN_A_COLUMN: Final = re.compile(r"\bcolumn '")


@dataclass(frozen=True, slots=True)
class Failure:
    message: str
    exit_code: int


def explain(error: Exception) -> Failure | None:
    """The failure that a user is told of, in one line; None for an error of this program itself."""
    found = _explained(error)
    return None if found is None else Failure(one_line(found.message), found.exit_code)


def _explained(error: Exception) -> Failure | None:
    if isinstance(error, LanceError):
        return _of(type(error), str(error))
    wrapped = _WRAPPED.findall(str(error))
    if wrapped:
        name, message = wrapped[-1]
        return _of(getattr(errors, name, LanceError), message)
    if isinstance(error, MemoryError):
        return Failure("this takes more memory than there is", CANNOT_READ)
    if isinstance(error, OSError):
        return Failure(" ".join(str(error).split()), CANNOT_READ)
    engine = sys.modules.get("duckdb")
    if engine is None or not isinstance(error, engine.Error):
        return None
    if isinstance(error, engine.InterruptException):
        return Failure("interrupted", INTERRUPTED)
    if type(error).__name__ in _USAGE_ERRORS:
        return Failure(_in_one_line(str(error)), WRONG_USAGE)
    # DuckDB wraps what a table reports: "Invalid Input Error: No Lance table at ..."
    return Failure(str(error).removeprefix("Invalid Input Error: "), CANNOT_READ)


def _in_one_line(message: str) -> str:
    """What DuckDB says of a query, and where: the part of its line that a caret is under, of the user's own text."""
    said = " ".join(message.partition("\nLINE ")[0].split())
    unknown = _UNKNOWN_TABLE.search(said)
    if unknown is not None:
        # what is alike is a table of the system
        said = said.partition(" Did you mean")[0]
        return f"{said} A Lance table is a path in quotes, such as FROM '{unknown[1]}.lance'"
    word = _UNKNOWN_COLUMN.search(said)
    if word is not None and f'"{word[1]}"' not in _shown(message):
        said += f" Text has single quotes: '{word[1]}'"
    where = _WHERE.search(message)
    if where is None:
        return said
    near = where[2][max(len(where[3]) - len(where[1]) - _BEFORE, 0) :][:_NEAR].strip()
    return f"{said} (near: {near})" if near and "syntax error" in said else said


def _shown(message: str) -> str:
    return message.partition("\nLINE ")[2]


def _of(kind: type[Exception], message: str) -> Failure:
    if issubclass(kind, InvalidArgument):
        return Failure(message, WRONG_USAGE)
    if issubclass(kind, CorruptFile):
        deep = " --deep" if _IN_A_COLUMN.search(message) else ""
        return Failure(f"{message}. {_AFTER_DAMAGE.format(deep)}", CANNOT_READ)
    return Failure(message, CANNOT_READ)
