"""Queries that only count the rows of a table: the manifest records the number.

Engines request rows without values and count them in blocks of some thousands, 200 million in 30 ms. Such a query is
still bound by its engine, for the name of its column and for errors.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import pyarrow as pa
from sqlglot import exp

from lance_sql.dataset import Dataset
from lance_sql.providers.sources import Source
from lance_sql.values.sql_tree import given

_CLAUSES: Final = {"expressions", "from_"}
_OF_COUNT: Final = {"this", "big_int"}
_OF_TABLE: Final = {"this", "db", "catalog", "alias", "version", "when"}


def counted_table(query: exp.Expr, sources: Mapping[str, Source]) -> Dataset | None:
    """Returns the table of `SELECT count(*) FROM 't.lance'`; None for a query that is more than that.

    sources: of the Lance tables in the query
    """
    # text in the engine's own dialect has its tree attached
    tree = query.meta.get("tree") or query
    if len(sources) != 1 or not isinstance(tree, exp.Select) or given(tree) != _CLAUSES:
        return None
    (source,) = sources.values()
    table = tree.args["from_"].this
    is_whole = isinstance(table, exp.Table) and given(table) <= _OF_TABLE and source.where is None
    # DuckDB renames the second of two equal names
    is_count = len(tree.expressions) == 1 and _is_count(tree.expressions[0].unalias())
    return source.relation if is_whole and is_count and isinstance(source.relation, Dataset) else None


def counted_rows(dataset: Dataset, names: Sequence[str], *, nullable: bool) -> pa.RecordBatchReader:
    """Returns the number of rows, as one row of one column.

    nullable: the engine's Arrow schema allows NULLs in counts
    raises: CorruptFile if the manifest lacks the number and the files with it are damaged
    """
    (name,) = names
    schema = pa.schema([pa.field(name, pa.int64(), nullable=nullable)])
    return pa.Table.from_pydict({name: [dataset.count_rows()]}, schema).to_reader()


def _is_count(expression: exp.Expr) -> bool:
    """Whether an expression is count(*) or the count of a constant that is not NULL."""
    if not isinstance(expression, exp.Count) or not given(expression) <= _OF_COUNT:
        return False
    counted = expression.this
    return isinstance(counted, exp.Literal) or (isinstance(counted, exp.Star) and not given(counted))
