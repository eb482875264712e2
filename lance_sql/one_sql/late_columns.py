"""Late materialization of `SELECT .. ORDER BY .. LIMIT n` over one table in DuckDB: a first query finds the addresses
of the rows, and a second one reads the other columns of only n rows.

    SELECT * FROM 't.lance' ORDER BY price DESC LIMIT 5

    SELECT _rowaddr FROM lance_scan('t.lance', version := 7) ORDER BY price DESC, _rowaddr LIMIT 5
    SELECT * EXCLUDE (..) FROM lance_scan('t.lance', version := 7) WHERE _rowaddr IN (..) ORDER BY price DESC, _rowaddr

DuckDB does this for its own file readers; its interface for other sources has no column of row numbers. Of rows that
are equal in the order, those with the lowest row addresses come first; DuckDB would return any of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

from sqlglot import exp

from lance_sql.dataset import Dataset
from lance_sql.errors import InvalidArgument, LanceError
from lance_sql.one_sql.dialects import dialect_of, parse, tokenize
from lance_sql.one_sql.references import Reference, reference

MOST_ROWS: Final = 10_000
"""Maximum LIMIT: for more rows, reading all columns at once is as fast."""
FEWEST_TABLE_ROWS: Final = 500_000
FEWEST_COLUMNS: Final = 3
"""Minimum number of selected columns besides those of the order and the filter; for fewer, one query is faster."""

_PARTS: Final = frozenset({"expressions", "from", "from_", "where", "order", "limit", "offset"})
_PARTS_OF_TABLE: Final = frozenset({"this", "alias", "db", "catalog"})
_ADDRESS: Final = "_rowaddr"


@dataclass(frozen=True, slots=True)
class LateColumns:
    """Pair of queries for late materialization.

    addresses: the query for the addresses of the rows, of one column
    """

    addresses: str
    _columns: str
    _table: str
    _order: str

    def rows(self, addresses: Iterable[int]) -> str:
        """Returns the query for the rows with these addresses."""
        chosen = ", ".join(map(str, addresses))
        where = f"{_ADDRESS} IN ({chosen})" if chosen else "false"
        return f"SELECT {self._columns} FROM {self._table} WHERE {where} ORDER BY {self._order}"


def late_columns(text: str, open_table: Callable[[str, int | None], Dataset]) -> LateColumns | None:
    """Returns the queries for a statement; None if it is of another kind, or would not gain from it.

    open_table: opens the table at a path, at a version or the newest one
    """
    dialect = dialect_of("duckdb")
    try:
        trees = parse(text, dialect)
    except (InvalidArgument, ValueError):
        # DuckDB raises the error
        return None
    if len(trees) != 1 or not isinstance(tree := trees[0], exp.Select) or not _given(tree) <= _PARTS:
        return None
    tables = list(tree.find_all(exp.Table))
    most, skipped = _count(tree.args.get("limit")), _count(tree.args.get("offset"))
    if len(tables) != 1 or not _given(tables[0]) <= _PARTS_OF_TABLE or tree.args.get("order") is None:
        return None
    if most is None or (skipped is None and tree.args.get("offset") is not None) or not 0 < most <= MOST_ROWS:
        return None
    try:
        table_reference = reference(tables[0])
        if (
            table_reference is None
            or (version := _version(table_reference)) is None
            or not isinstance(table_reference.path, str)
        ):
            return None
        dataset = open_table(table_reference.path, version[0])
    except (LanceError, OSError):
        # running the statement raises the error
        return None
    name = tables[0].alias or table_reference.name
    if not _is_simple(tree, dataset, name) or dataset.count_rows() < FEWEST_TABLE_ROWS:
        return None
    where, order = _texts(text, tree) or (None, None)
    if order is None:
        return None
    quoted = exp.to_identifier(name, quoted=True).sql("duckdb")
    path = exp.Literal.string(table_reference.path).sql("duckdb")
    table = f"lance_scan({path}, version := {dataset.version}) AS {quoted}"
    order = f"{order}, {_ADDRESS}"
    filtered = "" if where is None else f" WHERE {where}"
    addresses = f"SELECT {_ADDRESS} FROM {table}{filtered} ORDER BY {order} LIMIT {most} OFFSET {skipped or 0}"
    return LateColumns(addresses, _columns(tree, dataset, table_reference), table, order)


def _given(node: exp.Expr) -> set[str]:
    return {name for name, value in node.args.items() if value}


def _count(node: exp.Expr | None) -> int | None:
    """Returns the number of a LIMIT or OFFSET; None if it is not a number."""
    if node is None or not _given(node) <= {"expression"}:
        return None
    value = node.args.get("expression")
    return (
        int(value.this) if isinstance(value, exp.Literal) and not value.is_string and value.this.isdecimal() else None
    )


def _version(table_reference: Reference) -> tuple[int | None] | None:
    """Returns the requested version, if any, as a tuple; None if there are other arguments."""
    if table_reference.function not in ("lance_scan", "lance_table"):
        return None
    arguments = dict(table_reference.arguments)
    version = arguments.pop("version", None)
    if arguments or not (version is None or isinstance(version, int)):
        return None
    return (version,)


def _is_simple(tree: exp.Select, dataset: Dataset, name: str) -> bool:
    """Whether the statement uses columns only where both queries can, and has enough other columns."""
    column_names = {each.casefold() for each in dataset.schema.names}
    if _ADDRESS not in dataset.system_columns or len(column_names) < len(dataset.schema.names):
        return False
    first = [tree.args["order"], *([tree.args["where"]] if tree.args.get("where") is not None else [])]
    if any(part.find(exp.Query, exp.Placeholder, exp.Parameter, exp.Window, exp.AggFunc) for part in first):
        return False
    keys = tree.args["order"].expressions
    if not all(isinstance(key, exp.Ordered) and isinstance(key.this, exp.Column) for key in keys):
        return False
    for column in tree.find_all(exp.Column):
        if column.name.casefold() not in column_names or len(column.parts) > 2 or isinstance(column.this, exp.Star):
            return False
        if column.table and column.table.casefold() != name.casefold():
            return False
    tested = {column.name.casefold() for part in first for column in part.find_all(exp.Column)}
    chosen: set[str] = set()
    for each in tree.expressions:
        match each:
            case exp.Star() if not _given(each):
                chosen |= column_names
            case exp.Column():
                chosen.add(each.name.casefold())
            case exp.Alias(this=exp.Column() as column) if each.alias.casefold() not in column_names:
                chosen.add(column.name.casefold())
            case _:
                return False
    return len(chosen - tested) >= FEWEST_COLUMNS


def _texts(text: str, tree: exp.Select) -> tuple[str | None, str] | None:
    """Returns the typed text of WHERE and of ORDER BY; None if it cannot be found reliably."""
    spans: dict[str, tuple[int, int]] = {}
    depth = 0
    tokens = tokenize(text, dialect_of("duckdb"))
    for token in tokens:
        word = text[token.start : token.end + 1].upper()
        depth += (word in ("(", "[", "{")) - (word in (")", "]", "}"))
        kind = word.split()[0] if word else ""
        if not depth and kind in ("WHERE", "ORDER", "LIMIT", "OFFSET", ";"):
            if kind in spans:
                return None
            spans[kind] = token.start, token.end + 1
    if "ORDER" not in spans or "LIMIT" not in spans or ("WHERE" in spans) != (tree.args.get("where") is not None):
        return None
    behind = [start for start, _ in spans.values()] + [len(text)]
    start, end = spans["ORDER"]
    if text[start:end].upper() == "ORDER":
        by = next((each for each in tokens if each.start >= end), None)
        if by is None or text[by.start : by.end + 1].upper() != "BY":
            return None
        end = by.end + 1
    order = text[end : min(each for each in behind if each >= end)].strip()
    where = None
    if "WHERE" in spans:
        end = spans["WHERE"][1]
        where = text[end : min(each for each in behind if each >= end)].strip()
    # a comment at the end of a line would swallow the text after it
    return None if "--" in order or "--" in (where or "") else (where, order)


def _columns(tree: exp.Select, dataset: Dataset, table_reference: Reference) -> str:
    hidden = ", ".join(exp.to_identifier(name, quoted=True).sql("duckdb") for name in dataset.system_columns)
    star = "*" if table_reference.function == "lance_scan" else f"* EXCLUDE ({hidden})"
    return ", ".join(star if isinstance(each, exp.Star) else each.sql("duckdb") for each in tree.expressions)
