"""DuckDB's SQL."""

from __future__ import annotations

import re
from typing import Any, ClassVar, Final

from sqlglot import exp
from sqlglot.dialects.duckdb import DuckDB
from sqlglot.generators.duckdb import DuckDBGenerator

from lance_sql.values.typed_sql import PRINTED, keep_path

from ..syntax import JsonPaths, Syntax
from . import sql_parser, sql_tokens


class LanceDuckDB(DuckDB):
    """SQL of DuckDB, with parts that stay as typed. Its name for sqlglot is "lanceduckdb"."""

    def to_json_path(self, path: exp.Expr | None) -> exp.Expr | None:
        """Parses a path to a member of JSON."""
        return keep_path(super().to_json_path(path), path, "duckdb")

    Tokenizer = sql_tokens.Tokenizer
    Parser = sql_parser.Parser

    class Generator(DuckDBGenerator):
        """Writes own words unchanged."""

        TRANSFORMS: ClassVar = {**DuckDBGenerator.TRANSFORMS, **PRINTED}


def _literal(value: Any) -> str | None:
    return f"from_hex('{value.hex()}')" if isinstance(value, bytes | bytearray) else None


_WORD: Final = r"[A-Za-z_][A-Za-z0-9_]*"

SYNTAX: Final = Syntax(
    LanceDuckDB,
    missing=((exp.Cluster, "CLUSTER BY"), (exp.Distribute, "DISTRIBUTE BY"), (exp.Sort, "SORT BY")),
    missing_joins=(),
    has_pivot_statement=True,
    literal=_literal,
    json=JsonPaths(re.compile(rf'\$(?:\.{_WORD}|\."[\w .\-]+"|\[\d{{1,6}}\])+'), is_exact=True),
)
