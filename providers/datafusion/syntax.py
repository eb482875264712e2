"""DataFusion's SQL."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, ClassVar, Final

from sqlglot import exp, transforms
from sqlglot.dialects.postgres import Postgres
from sqlglot.generators.postgres import PostgresGenerator

from ..sources import Source
from ..syntax import Syntax, measure_lists

_MOMENT: Final = re.compile(
    r"(\d{4})-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:\.\d{1,9})?\s?(Z|[+-]\d\d(?::?\d\d)?)?", re.IGNORECASE
)
_YEARS: Final = range(1678, 2262)
"""Those of nanoseconds, which DataFusion casts texts to."""
_MOST_DIGITS: Final = 76


class DataFusion(Postgres):
    """SQL of DataFusion: that of Postgres except for some functions. Its name for sqlglot is "datafusion"."""

    class Generator(PostgresGenerator):
        """Writes functions that have other names in DataFusion."""

        TRANSFORMS: ClassVar = {
            **PostgresGenerator.TRANSFORMS,
            # keeps QUALIFY: the usual rewrite loses the order
            exp.Select: transforms.preprocess([transforms.eliminate_semi_and_anti_joins]),
            exp.ArrayContains: lambda self, node: self.func("array_has", node.this, node.expression),
            exp.ArraySize: lambda self, node: self.func("array_length", node.this),
            exp.CountIf: lambda self, node: f"count(*) FILTER (WHERE {self.sql(node, 'this')})",
            exp.Unhex: lambda self, node: self.func("decode", node.this, exp.Literal.string("hex")),
            exp.IntDiv: lambda self, node: f"CAST(trunc({self.binary(node, '/')}) AS BIGINT)",
            exp.AnyValue: lambda self, node: self.func("first_value", node.this),
            exp.IgnoreNulls: lambda self, node: f"{self.sql(node, 'this')} IGNORE NULLS",
            # DataFusion reads a following AND or OR as part of the second value
            exp.NullSafeEQ: lambda self, node: f"({self.binary(node, 'IS NOT DISTINCT FROM')})",
            exp.NullSafeNEQ: lambda self, node: f"({self.binary(node, 'IS DISTINCT FROM')})",
        }

        def cast_sql(self, expression: exp.Cast, safe_prefix: str | None = None) -> str:
            """Writes moments with an offset in UTC, as a session without a time zone would drop the zone, and years
            that nanoseconds do not have in microseconds."""
            value = expression.this
            moment = _MOMENT.fullmatch(value.name) if isinstance(value, exp.Literal) and value.is_string else None
            if moment is not None:
                year, offset = moment.groups()
                unit = "Nanosecond" if int(year) in _YEARS else "Microsecond"
                if offset and expression.to.is_type("timestamptz"):
                    return self.sql(_cast(value, f'Timestamp({unit}, Some("UTC"))'))
                if not offset and unit == "Microsecond" and expression.to.is_type("timestamp", "timestampntz"):
                    return self.sql(_cast(value, f"Timestamp({unit}, None)"))
            return super().cast_sql(expression, safe_prefix)


def _rewritten(query: exp.Expr, sources: Mapping[str, Source]) -> exp.Expr:
    measure_lists(query, sources)
    _spell_columns(query, sources)
    return query


def _spell_columns(query: exp.Expr, sources: Mapping[str, Source]) -> None:
    """Spells columns with their stored case: DataFusion lowercases unquoted names."""
    spelled: dict[str, set[str]] = {}
    for source in sources.values():
        for name in source.relation.schema.names:
            spelled.setdefault(name.lower(), set()).add(name)
    for column in query.find_all(exp.Column):
        spellings = spelled.get(column.name.lower(), set())
        if isinstance(column.this, exp.Identifier) and not column.this.quoted and len(spellings) == 1:
            name = next(iter(spellings))
            if name != name.lower():
                column.set("this", exp.to_identifier(name, quoted=True))


def _cast(value: exp.Expr, type: str) -> exp.Expr:
    return exp.Anonymous(this="arrow_cast", expressions=[value.copy(), exp.Literal.string(type)])


def _literal(value: Any) -> str | None:
    if not isinstance(value, int) or -(2**63) <= value < 2**64 or abs(value) >= 10**_MOST_DIGITS:
        return None
    # digits alone would be a float
    type = "Decimal128(38, 0)" if abs(value) < 10**38 else f"Decimal256({_MOST_DIGITS}, 0)"
    return f"arrow_cast('{value}', '{type}')"


SYNTAX: Final = Syntax(
    DataFusion,
    missing=(
        (exp.Cluster, "CLUSTER BY"),
        (exp.Distribute, "DISTRIBUTE BY"),
        (exp.Sort, "SORT BY"),
        (exp.Pivot, "PIVOT"),
        (exp.Summarize, "SUMMARIZE"),
        (exp.TableSample, "TABLESAMPLE"),
        (exp.Columns, "COLUMNS(..)"),
        (exp.Comprehension, "a list comprehension"),
        (exp.Lambda, "a lambda"),
    ),
    rewritten=_rewritten,
    cast=_cast,
    literal=_literal,
)
