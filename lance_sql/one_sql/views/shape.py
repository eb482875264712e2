"""Shape of the query of a view: whether changed rows of its tables determine the changed rows of the view.

    rows     SELECT .. FROM t [JOIN d ..] [WHERE ..]     each row of t gives rows of the view
    groups   .. GROUP BY k  |  SELECT DISTINCT ..         each row of t belongs to one group
    whole    all others: windows, LIMIT, subqueries, random()

The first table of FROM is followed row by row, the others are joined to it (JOIN, LEFT JOIN).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect

from lance_sql.one_sql.dialects import generate, tokenize
from lance_sql.one_sql.references import Reference, reference, references
from lance_sql.providers.adapter import named
from lance_sql.reads.scan.system_columns import NAMES as SYSTEM_COLUMNS
from lance_sql.values.sql_tree import given

_CLAUSES: Final = frozenset({"expressions", "from_", "joins", "where", "group", "having", "order", "distinct"})
_OF_TABLE: Final = frozenset({"this", "db", "catalog", "alias"})
_OF_JOIN: Final = frozenset({"this", "on", "side", "kind", "using"})
_WITHOUT_CALL: Final = ("current_date", "current_time", "current_timestamp", "localtime", "localtimestamp")
_OF_THE_MOMENT: Final = frozenset(
    {
        *("age", "current_localtime", "current_localtimestamp", "current_setting", "get_current_time"),
        *("get_current_timestamp", "getvariable", "now", "today", "transaction_timestamp", "txid_current"),
    }
)
"""Functions whose value is constant within one query, and may change in the next."""
_NOISE: Final = frozenset({"AS", "INNER", "OUTER", "ASC", "CAST", "::", ";", "(", ")", "{", "}", "STRUCT_PACK"})
_SYNONYMS: Final[Mapping[str, str]] = {
    "!=": "<>",
    "==": "=",
    ":=": ":",
    "IIF": "IF",
    "INTEGER": "INT",
    "INT4": "INT",
    "INT8": "BIGINT",
    "LONG": "BIGINT",
    "INT2": "SMALLINT",
    "VARCHAR": "TEXT",
    "STRING": "TEXT",
    "FLOAT8": "DOUBLE",
    "BOOL": "BOOLEAN",
    "NUMERIC": "DECIMAL",
    "LIST": "ARRAY_AGG",
    "STRING_AGG": "LISTAGG",
    "GROUP_CONCAT": "LISTAGG",
    "MAX_BY": "ARG_MAX",
    "MIN_BY": "ARG_MIN",
    "VAR_SAMP": "VARIANCE",
    "IFNULL": "COALESCE",
    "NVL": "COALESCE",
    "SUBSTR": "SUBSTRING",
    "LEN": "LENGTH",
    "CHAR_LENGTH": "LENGTH",
    "LCASE": "LOWER",
    "UCASE": "UPPER",
    "DATEDIFF": "DATE_DIFF",
    "CEILING": "CEIL",
    "POW": "POWER",
}
"""Words of DuckDB that sqlglot prints as synonyms."""
_NAMES_OF_CALLS: Final[Mapping[type[exp.Expr], str]] = {
    exp.If: "IF",
    exp.LogicalAnd: "BOOL_AND",
    exp.LogicalOr: "BOOL_OR",
}


@dataclass(frozen=True, slots=True)
class Functions:
    """Names of functions of an engine, in lower case.

    volatile: functions whose value may differ between calls
    aggregates: aggregate functions
    """

    volatile: Collection[str]
    aggregates: Collection[str]


@dataclass(frozen=True, slots=True)
class Shape:
    """Query that can be refreshed from changes.

    select: the query
    tables: the names of its tables, in the order of FROM; the first one is followed
    keys: positions of the columns that identify groups; None if single rows are followed
    """

    select: exp.Select
    tables: tuple[str, ...]
    keys: tuple[int, ...] | None


def is_plain(table_reference: Reference) -> bool:
    """Whether a table is read at its newest version, without other arguments."""
    return (
        table_reference.function == "lance_table"
        and not table_reference.arguments
        and isinstance(table_reference.path, str)
        and not set("*?[") & set(table_reference.path)
        and "@" not in table_reference.path.rpartition("/")[2]
    )


def shape(
    tree: exp.Expr, text: str, dialect: Dialect, functions: Functions, columns: Mapping[str, Sequence[str]]
) -> Shape | str:
    """Returns the shape of a query; or the reason why it must always run over all rows.

    text: the text of the tree
    columns: of the tables that it names
    """
    if not isinstance(tree, exp.Select):
        return f"it is a {type(tree).__name__.upper()}"
    reason = _unknown_clause(tree)
    if reason is not None:
        return reason
    tables = _tables(tree)
    if isinstance(tables, str):
        return tables
    select = _with_columns(tree, [columns[name] for name in tables])
    own = dict(zip(map(str.lower, aliased(nodes(tree))), (_folded(columns[name]) for name in tables), strict=True))
    reason = (
        _changed_words(tree, text, dialect) or _unknown_part(select, text, functions) or _unknown_column(select, own)
    )
    if reason is not None:
        return reason
    keys = _keys(select, functions, set().union(*own.values()))
    return keys if isinstance(keys, str) else Shape(select, tables, keys)


def _folded(names: Sequence[str]) -> set[str]:
    return {name.lower() for name in names}


def _unknown_column(select: exp.Select, own: Mapping[str, Collection[str]]) -> str | None:
    """Returns a reason if a name is no column, such as a whole row of a table: an image has other columns.

    own: the columns of each table, by its alias
    """
    columns = set().union(*own.values())
    aliases = {each.alias.lower() for each in select.expressions if each.alias}
    grouped = select.args.get("group") is not None or select.args.get("distinct") is not None
    for node in select.find_all(exp.Column):
        parts = [part.name.lower() for part in node.parts]
        is_known = parts[0] in columns if len(parts) == 1 else parts[1] in own.get(parts[0], ()) or parts[0] in columns
        if is_known or parts[0] in _parameters_of(node):
            continue
        # the name of another column of the result; key columns of groups are computed alone
        outside = node.find_ancestor(exp.Group, exp.Having, exp.Order)
        if len(parts) == 1 and parts[0] in aliases and parts[0] not in own and (outside or not grouped):
            continue
        return f"it uses {node.sql('duckdb')}, which is not a column of its tables"
    return None


def _parameters_of(node: exp.Expr) -> set[str]:
    """Returns the names of the parameters of the lambdas around an expression."""
    names: set[str] = set()
    above = node.find_ancestor(exp.Lambda)
    while above is not None:
        names |= {each.name.lower() for each in above.expressions}
        above = above.find_ancestor(exp.Lambda)
    return names


def _with_columns(tree: exp.Select, columns: Sequence[Sequence[str]]) -> exp.Select:
    """Expands each plain `*` and `t.*` of the query to columns."""
    names = aliased(nodes(tree))
    is_joined_by_name = any(join.args.get("using") for join in tree.args.get("joins") or ())
    items: list[exp.Expr] = []
    for item in tree.expressions:
        star = item.this if isinstance(item, exp.Column) else item
        if not isinstance(star, exp.Star) or any(star.args.values()) or (item is star and is_joined_by_name):
            items.append(item.copy())
            continue
        wanted = item.table.lower() if isinstance(item, exp.Column) else None
        if wanted is not None and wanted not in map(str.lower, names):
            # members of a struct
            items.append(item.copy())
            continue
        for name, table_columns in zip(names, columns, strict=True):
            if wanted in (None, name.lower()):
                items += [exp.column(column, table=name, quoted=True) for column in table_columns]
    select = tree.copy()
    select.set("expressions", items)
    return select


def aliased(tables: Sequence[exp.Table]) -> list[str]:
    """Returns the names that qualify the columns of each table."""
    aliases = []
    for node in tables:
        table_reference = reference(node)
        aliases.append(node.alias or ("" if table_reference is None else table_reference.name))
    return aliases


def nodes(select: exp.Select) -> list[exp.Table]:
    """Returns the tables of FROM, in order."""
    return [select.args["from_"].this, *(join.this for join in select.args.get("joins") or ())]


def _unknown_clause(tree: exp.Select) -> str | None:
    unknown = sorted(given(tree) - _CLAUSES)
    if unknown:
        return f"it has {unknown[0].rstrip('_').upper()}"
    if any(query is not tree and not isinstance(query, exp.Table) for query in tree.find_all(exp.Query)):
        return "it has a query within the query"
    return None


def _unknown_part(tree: exp.Select, text: str, functions: Functions) -> str | None:
    kinds = (
        (exp.Window, "a window"),
        (exp.Star, "*"),
        (exp.Columns, "COLUMNS(..)"),
        (exp.PositionalColumn, "a column by its position"),
        (exp.Collate, "COLLATE"),
    )
    for kind, name in kinds:
        if any(not isinstance(node.parent, exp.Count) for node in tree.find_all(kind)):
            return f"it has {name}"
    words = set(re.findall(r"[a-z_]\w*", text.lower()))
    calls = set(re.findall(r"[a-z_]\w*(?=\s*\()", text.lower()))
    volatile = sorted((calls & {*functions.volatile, *_OF_THE_MOMENT}) | (words & set(_WITHOUT_CALL)))
    if volatile:
        return f"{volatile[0]} gives another value each time"
    system = sorted(words & {name.lower() for name in SYSTEM_COLUMNS})
    return f"it names {system[0]}" if system else None


def _changed_words(tree: exp.Select, text: str, dialect: Dialect) -> str | None:
    """Returns a reason if the printed tree differs from the typed query: parts are computed from the tree."""
    typed, printed = (
        [_SYNONYMS.get(word, word) for token in tokenize(each, dialect) if (word := token.text.upper()) not in _NOISE]
        for each in (text, generate(_as_typed(tree), named("duckdb")))
    )
    if Counter(typed) != Counter(printed):
        other = next((a for a, b in zip(typed, printed, strict=False) if a != b), "its end")
        return f"a part of it cannot be computed alone, near {other}"
    return None


def _as_typed(tree: exp.Select) -> exp.Select:
    """Returns the query with calls that sqlglot prints in other words of the same meaning as unknown functions.

    if(a, b, c) is printed as CASE, and the argument of bool_and is cast to BOOLEAN, which it is already.
    """
    tree = tree.copy()
    # inner calls first
    for node in reversed(list(tree.find_all(*_NAMES_OF_CALLS))):
        if node.arg_key != "ifs":
            arguments = [node.args[key] for key in ("this", "true", "false") if node.args.get(key) is not None]
            node.replace(exp.Anonymous(this=_NAMES_OF_CALLS[type(node)], expressions=arguments))
    return tree


def _tables(tree: exp.Select) -> tuple[str, ...] | str:
    if tree.args.get("from_") is None:
        return "it has no FROM"
    for join in tree.args.get("joins") or ():
        side, kind = str(join.args.get("side") or "").upper(), str(join.args.get("kind") or "").upper()
        if not given(join) <= _OF_JOIN or side not in ("", "LEFT") or kind not in ("", "INNER", "OUTER", "CROSS"):
            return f"it has a {' '.join(filter(None, (str(join.args.get('method') or ''), side, kind)))} JOIN"
    paths = []
    for node in nodes(tree):
        table_reference = reference(node) if isinstance(node, exp.Table) else None
        if table_reference is None or not is_plain(table_reference) or not given(node) <= _OF_TABLE:
            return f"{node.sql('duckdb')} is no Lance table at its newest version"
        paths.append(str(table_reference.path))
    if len(list(references(tree))) != len(paths):
        return "it has a query within the query"
    names = [name.lower() for name in aliased(nodes(tree))]
    return tuple(paths) if len(set(names)) == len(names) else "two of its tables have one name"


def _keys(tree: exp.Select, functions: Functions, columns: Collection[str]) -> tuple[int, ...] | str | None:
    items = [item.unalias() for item in tree.expressions]
    group, distinct = tree.args.get("group"), tree.args.get("distinct")
    if (group is not None or distinct is not None) and any(item.find(exp.Explode, exp.Unnest) for item in items):
        return "it has unnest in GROUP BY or DISTINCT"
    if distinct is not None:
        if group is not None or distinct.args.get("on"):
            return "it has DISTINCT ON, or DISTINCT of groups"
        if any(_aggregates(item, functions) for item in items):
            return "it has one row of all rows"
        return tuple(range(len(items)))
    if group is None:
        has_aggregate = any(_aggregates(item, functions) for item in items) or tree.args.get("having")
        return "it has one row of all rows" if has_aggregate else None
    if group.args.get("all"):
        positions = tuple(number for number, item in enumerate(items) if not _aggregates(item, functions))
        return positions or "it has one row of all rows"
    if given(group) != {"expressions"}:
        return "it has groups of several kinds"
    keys = []
    for wanted in group.expressions:
        position = _position(wanted, tree.expressions, items, columns)
        if position is None:
            return f"it does not select {wanted.sql('duckdb')}, which is in its GROUP BY"
        keys.append(position)
    return tuple(keys)


def _position(
    wanted: exp.Expr, expressions: Sequence[exp.Expr], items: Sequence[exp.Expr], columns: Collection[str]
) -> int | None:
    """Returns the position of the result column that identifies a group; None if there is none.

    columns: of the tables, in lower case
    """
    if isinstance(wanted, exp.Literal) and not wanted.is_string:
        return int(wanted.this) - 1 if wanted.this.isdecimal() and 0 < int(wanted.this) <= len(items) else None
    for number, item in enumerate(items):
        if item == wanted:
            return number
    if isinstance(wanted, exp.Column) and not wanted.table and wanted.name.lower() not in columns:
        names = [each.alias.lower() for each in expressions]
        return names.index(wanted.name.lower()) if wanted.name.lower() in names else None
    return None


def _aggregates(item: exp.Expr, functions: Functions) -> bool:
    if item.find(exp.AggFunc) is not None:
        return True
    return any(node.name.lower() in functions.aggregates for node in item.find_all(exp.Anonymous))
