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
_LINE: Final = re.compile(r"^LINE (\d+):", re.MULTILINE)
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
    """What DuckDB says of a query, without the part of the query that it shows below."""
    said = message.partition("\nLINE ")[0]
    where = _LINE.search(message)
    line = f" (line {where[1]})" if where is not None and where[1] != "1" else ""
    return " ".join(said.split()) + line


def _of(kind: type[Exception], message: str) -> Failure:
    if issubclass(kind, InvalidArgument):
        return Failure(message, WRONG_USAGE)
    if issubclass(kind, CorruptFile):
        deep = " --deep" if _IN_A_COLUMN.search(message) else ""
        return Failure(f"{message}. {_AFTER_DAMAGE.format(deep)}", CANNOT_READ)
    return Failure(message, CANNOT_READ)
