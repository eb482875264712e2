"""The SQL of filters: DuckDB's, in which names may stand in backticks as well, as Spark and projections have them."""

from __future__ import annotations

from typing import ClassVar

from sqlglot.dialects.duckdb import DuckDB


class FilterSql(DuckDB):
    """Parsed like DuckDB's SQL. To DuckDB itself a backtick is an error, so that nothing gets another meaning."""

    class Tokenizer(DuckDB.Tokenizer):
        """Its tokens, and names in backticks."""

        IDENTIFIERS: ClassVar = ['"', "`"]
