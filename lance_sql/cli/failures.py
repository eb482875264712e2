"""Failures as one line and an exit code."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass, replace
from typing import Final

import click

from lance_sql import errors
from lance_sql.cli import engine_errors
from lance_sql.errors import CorruptFile, InvalidArgument, LanceError
from lance_sql.runtime.terminal_text import one_line

WRONG_USAGE: Final = 2
CANNOT_READ: Final = 3
INTERRUPTED: Final = 130

# DuckDB's errors about the text of a query; all others come from running it.
_USAGE_ERRORS: Final = ("BinderException", "CatalogException", "ParserException", "SyntaxException")
# DuckDB's prefix for errors in functions of this library.
_IN_OURS: Final = re.compile(
    r"^(?:Invalid Input Error: )?(?:Python exception occurred while executing the UDF: \w+: )?"
)
_AFTER_DAMAGE: Final = "'lance-sql verify{}' lists the versions and columns that can be read"
# Only a deep check decodes values.
_IN_A_COLUMN: Final = re.compile(r"\bcolumn '")


@dataclass(frozen=True, slots=True)
class Failure:
    """Failure to report. excerpt: lines of the statement that it is about"""

    message: str
    exit_code: int
    excerpt: str | None = None

    def show(self) -> None:
        """Prints the failure to stderr."""
        click.echo(f"Error: {self.message}" + ("" if self.excerpt is None else f"\n{self.excerpt}"), err=True)


def explain(error: Exception) -> Failure | None:
    """Returns the failure to report to the user; None for a bug of this program."""
    failure = _explained(error)
    return None if failure is None else replace(failure, message=one_line(failure.message))


def _explained(error: Exception) -> Failure | None:
    if isinstance(error, LanceError):
        return _of(type(error), str(error))
    wrapped = errors.in_text(str(error))
    if wrapped is not None:
        return _of(type(wrapped), str(wrapped))
    if isinstance(error, MemoryError):
        return Failure("this takes more memory than there is", CANNOT_READ)
    if isinstance(error, OSError):
        return Failure(" ".join(str(error).split()), CANNOT_READ)
    engine = sys.modules.get("duckdb")
    if engine is None or not isinstance(error, engine.Error):
        return None
    if isinstance(error, engine.InterruptException):
        return Failure("interrupted", INTERRUPTED)
    statement = "\n".join(getattr(error, "__notes__", ()))
    message, excerpt = engine_errors.explained(_IN_OURS.sub("", str(error)), statement)
    # DuckDB also marks invalid values in the statement
    is_usage = type(error).__name__ in _USAGE_ERRORS or excerpt is not None
    return Failure(message, WRONG_USAGE if is_usage else CANNOT_READ, excerpt)


def _of(kind: type[Exception], message: str) -> Failure:
    if issubclass(kind, InvalidArgument):
        return Failure(message, WRONG_USAGE)
    if issubclass(kind, CorruptFile):
        deep = " --deep" if _IN_A_COLUMN.search(message) else ""
        return Failure(f"{message}. {_AFTER_DAMAGE.format(deep)}", CANNOT_READ)
    return Failure(message, CANNOT_READ)
