"""Columns from a table or view of the engine, which has the values by the addresses of rows, in the syntax of
lance-spark.

ALTER TABLE t ADD COLUMNS a, b FROM v        new columns; rows that the view lacks have NULL
ALTER TABLE t UPDATE COLUMNS a, b FROM v     as UPDATE t SET a = v.a, b = v.b FROM v WHERE t._rowaddr = v._rowaddr
"""

from __future__ import annotations

from typing import Final

from sqlglot import exp

from lance_sql.dataset import Dataset
from lance_sql.errors import CommitConflict
from lance_sql.one_sql import changing, upkeep
from lance_sql.one_sql.dialects import parse
from lance_sql.one_sql.engines import Engine
from lance_sql.one_sql.token_reader import TokenReader
from lance_sql.one_sql.writing_statements import Change
from lance_sql.reads.scan.system_columns import ROW_ADDRESS
from lance_sql.writes.statements import column_changes

_TABLE: Final = "the_table"
_VIEW: Final = "the_values"


def added(read: TokenReader, path: str, names: list[str]) -> Change:
    """Reads the view after ADD COLUMNS names FROM."""
    query = exp.select(*(exp.column(name, quoted=True) for name in (ROW_ADDRESS, *names))).from_(_view(read))

    def work(dataset: Dataset, engine: Engine) -> Dataset:
        rows = engine.prepare(query, is_typed=False).reader().read_all()
        if dataset.latest().version != dataset.version:
            raise CommitConflict(f"{dataset.snapshot.name} was changed while its rows were read: run it again")
        return Dataset(column_changes.add_looked_up(dataset.snapshot, rows.rename_columns([ROW_ADDRESS, *names])))

    return upkeep.Upkeep(path, work)


def updated(read: TokenReader, path: str) -> Change:
    """Reads the rest of UPDATE COLUMNS."""
    read.accept_one("COLUMNS", "COLUMN")
    names = read.names("a column")
    read.expect("FROM")
    view = exp.alias_(_view(read), _VIEW, table=True)
    own, other = (exp.column(ROW_ADDRESS, table=table, quoted=True) for table in (_TABLE, _VIEW))
    values = tuple((name, exp.column(name, table=_VIEW, quoted=True)) for name in names)
    return changing.Modification(path, _TABLE, exp.EQ(this=own, expression=other), (view,), values)


def _view(read: TokenReader) -> exp.Expr:
    (query,) = parse(f"SELECT 1 FROM {read.rest('a table or a view')}", read.dialect)
    view: exp.Expr = query.args["from_"].this
    return view
