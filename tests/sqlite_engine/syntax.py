"""SQLite's SQL, as sqlglot has it."""

from __future__ import annotations

from typing import Final

from sqlglot import exp
from sqlglot.dialects.sqlite import SQLite

from lance_sql.providers.syntax import Syntax

SYNTAX: Final = Syntax(SQLite, missing=((exp.Qualify, "QUALIFY"), (exp.Array, "a list")))
