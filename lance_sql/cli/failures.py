"""What went wrong, in a line and an exit code."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Final

from lance_sql.errors import InvalidArgument, LanceError

WRONG_USAGE: Final = 2
CANNOT_READ: Final = 3

# DuckDB's errors about the text of a query; all others come out of running it.
_USAGE_ERRORS: Final = ("BinderException", "CatalogException", "ParserException", "SyntaxException")


@dataclass(frozen=True, slots=True)
class Failure:
    message: str
    exit_code: int


def explain(error: Exception) -> Failure | None:
    """The failure that a user is told of; None for an error of this program itself."""
    if isinstance(error, InvalidArgument):
        return Failure(str(error), WRONG_USAGE)
    if isinstance(error, LanceError):
        return Failure(str(error), CANNOT_READ)
    if isinstance(error, OSError):
        return Failure(str(error), CANNOT_READ)
    engine = sys.modules.get("duckdb")
    if engine is None or not isinstance(error, engine.Error):
        return None
    if type(error).__name__ in _USAGE_ERRORS:
        return Failure(str(error), WRONG_USAGE)
    # DuckDB wraps what a table reports: "Invalid Input Error: No Lance table at ..."
    return Failure(str(error).removeprefix("Invalid Input Error: "), CANNOT_READ)
