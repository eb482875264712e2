"""SQL dialect of filters: DuckDB's, which also accepts names in backticks, as Spark and projections use them."""

from __future__ import annotations

from typing import ClassVar

from sqlglot import exp
from sqlglot.dialects.duckdb import DuckDB


class FilterSql(DuckDB):
    """Dialect like DuckDB's SQL. DuckDB itself rejects backticks, so no text changes its meaning."""

    def to_json_path(self, path: exp.Expr | None) -> exp.Expr | None:
        """Returns a path as it is written: 'a.b' and '$.a.b' differ."""
        return path

    class Tokenizer(DuckDB.Tokenizer):
        """Tokens of DuckDB, names in backticks, and bytes as in X'00FF', which the parser's DuckDB does not know."""

        IDENTIFIERS: ClassVar = ['"', "`"]
        HEX_STRINGS: ClassVar = [("x'", "'"), ("X'", "'")]
