"""Spark's SQL."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime, time
from typing import Any, ClassVar, Final

from sqlglot import exp
from sqlglot.dialects.spark import Spark
from sqlglot.generators.spark import SparkGenerator

from lance_sql.errors import UnsupportedFeature
from lance_sql.values.typed_sql import PRINTED, keep_path

from ..sources import Source
from ..syntax import JsonPaths, Syntax, measure_lists


class LanceSpark(Spark):
    """SQL of Spark 4, with parts that stay as typed. Its name for sqlglot is "lancespark"."""

    def to_json_path(self, path: exp.Expr | None) -> exp.Expr | None:
        """Parses a path to a member of JSON."""
        return keep_path(super().to_json_path(path), path, "spark")

    class Tokenizer(Spark.Tokenizer):
        """Tokens of Spark, in which a doubled quote is a quote: sqlglot reads two texts side by side."""

        STRING_ESCAPES: ClassVar = ["\\", "'", '"']

    class Generator(SparkGenerator):
        """Writes own words unchanged."""

        TRANSFORMS: ClassVar = {**SparkGenerator.TRANSFORMS, **PRINTED}


def _rewritten(query: exp.Expr, sources: Mapping[str, Source]) -> exp.Expr:
    measure_lists(query, sources)
    return _ordered_outside(query)


def _ordered_outside(query: exp.Expr) -> exp.Expr:
    """Moves ORDER BY and LIMIT outside QUALIFY, which becomes a subquery; they would be inside it.

    raises: UnsupportedFeature for an order by an expression that is not selected
    """
    for select in list(query.find_all(exp.Select)):
        moved = {key: select.args[key] for key in ("order", "limit", "offset") if select.args.get(key)}
        if not select.args.get("qualify") or not moved:
            continue
        names = {each.alias_or_name.lower() for each in select.expressions}
        columns = [column for part in moved.values() for column in part.find_all(exp.Column)]
        if "*" not in names and any(column.name.lower() not in names for column in columns):
            raise UnsupportedFeature("Spark has no QUALIFY with ORDER BY of a column that is not selected")
        for column in columns:
            column.set("table", None)
        inner = select.copy()
        for key in moved:
            inner.set(key, None)
        outer = exp.select("*").from_(inner.subquery("_qualified"))
        for key, part in moved.items():
            outer.set(key, part.copy())
        if select is query:
            return outer
        select.replace(outer)
    return query


def _literal(value: Any) -> str | None:
    if not isinstance(value, datetime):
        return None
    return f"CAST('{value.isoformat(' ')}' AS {'TIMESTAMP_NTZ' if value.tzinfo is None else 'TIMESTAMP'})"


SYNTAX: Final = Syntax(
    LanceSpark,
    missing=((exp.Summarize, "SUMMARIZE"), (exp.Columns, "COLUMNS(..)"), (exp.Comprehension, "a list comprehension")),
    rewritten=_rewritten,
    literal=_literal,
    no_literals=(time,),
    has_colons=True,
    json=JsonPaths(re.compile(r"\$(?:\.[A-Za-z_][A-Za-z0-9_]*|\[\d{1,6}\])+")),
    similar=("databricks",),
)
