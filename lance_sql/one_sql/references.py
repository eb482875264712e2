"""Lance tables of a statement, and their arguments."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from sqlglot import exp
from sqlglot.optimizer.scope import find_all_in_scope

from lance_sql.errors import InvalidArgument, UnsupportedFeature
from lance_sql.one_sql import spellings
from lance_sql.one_sql.constants import constant
from lance_sql.one_sql.named_tables import FORMAT, SUFFIX, is_path, path_of_name, place_of_name
from lance_sql.providers.attached import Place
from lance_sql.providers.table_functions import FUNCTIONS, SEARCHES, unknown
from lance_sql.reads.scan import system_columns
from lance_sql.table.version_names import split_name

WITH_SYSTEM_COLUMNS: Final = "with_system_columns"
"""Mark of a table whose query names system columns of it, if the query is not around the node."""


@dataclass(frozen=True, slots=True)
class Reference:
    """One table of a statement.

    name: the name that qualifies its columns without an alias
    function: of `FUNCTIONS`
    arguments: given arguments by name; Python values, lists as tuples
    """

    name: str
    function: str
    path: str | tuple[str, ...]
    arguments: tuple[tuple[str, Any], ...] = ()


def references(tree: exp.Expr) -> Iterator[tuple[exp.Table, Reference]]:
    """Yields the nodes of a statement that are Lance tables, and their references; skips tables of the engine.

    raises: InvalidArgument for invalid arguments; UnsupportedFeature for arguments that are not constants
    """
    for node in list(tree.find_all(exp.Table)):
        table_reference = reference(node)
        if table_reference is not None:
            yield node, table_reference


def reference(node: exp.Table) -> Reference | None:
    """Returns the reference of a table in a statement; None for a table of the engine.

    raises: as `references`
    """
    if isinstance(node.this, exp.Func):
        return _of_function(node.this, tuple(part.name for part in node.parts[:-1]))
    path = path_of(node)
    if path is None:
        return None
    arguments = tuple(_time_travel(node))
    plain, *_ = split_name(path)
    if arguments and plain != path:
        raise InvalidArgument(f"{path!r} names a version, and so does {arguments[0][0]}: leave one of them out")
    name = re.split(r"[\\/]", plain.rstrip("/"))[-1]
    name = name[: -len(SUFFIX)] if name.lower().endswith(SUFFIX) else name
    if not is_path(".".join(part.name for part in node.parts)) and node.parts[0].name.lower() != FORMAT:
        # a catalog table has its name in the catalog, wherever its files are
        name = node.name if plain == path else split_name(node.name)[0]
        name = name if node.this.args.get("quoted") else name.lower()
    # a pattern is no name, and neither is a path such as 's/.lance'
    name = name if name and not set("*?[") & set(name) else "lance_table"
    function = "lance_scan" if node.meta.get(WITH_SYSTEM_COLUMNS) or names_system_columns(node, name) else "lance_table"
    return Reference(name, function, path, arguments)


def names_system_columns(node: exp.Table, name: str) -> bool:
    """Whether the SELECT around a table names system columns of it, without a star, which would contain them.

    name: of the table without an alias
    """
    select = node.parent.parent if isinstance(node.parent, exp.From | exp.Join) else None
    if not isinstance(select, exp.Select) or any(each.is_star for each in select.expressions):
        return False
    tables = [each for each in find_all_in_scope(select, exp.Table) if isinstance(each.parent, exp.From | exp.Join)]
    own, is_alone = (node.alias or name).lower(), len(tables) == 1
    columns = list(find_all_in_scope(select, exp.Column))
    # the name of a table is a row of it
    if any(column.name.lower() == own and not column.table for column in columns) or node.args.get("pivots"):
        return False
    return any(
        column.name.lower() in system_columns.NAMES and (column.table.lower() == own if column.table else is_alone)
        for column in columns
    )


def path_of(node: exp.Expr | None) -> str | None:
    """Returns the path of a table that is named by one: 'a/b.lance', b.lance, 'b.lance@41', and lance.`b` of Spark.

    returns: None for tables of the engine
    """
    if not isinstance(node, exp.Table) or not isinstance(node.this, exp.Identifier):
        return None
    parts = [part for part in node.parts if isinstance(part, exp.Identifier)]
    if len(parts) == 1 and _is_common(node):
        return None
    return path_of_name([part.name for part in parts], is_quoted=any(part.quoted for part in parts))


def place_of(node: exp.Expr | None) -> Place | None:
    """Returns the place of a missing table in an attached catalog; None for an existing one, and for other names."""
    if not isinstance(node, exp.Table) or not isinstance(node.this, exp.Identifier) or path_of(node) is not None:
        return None
    return place_of_name([part.name for part in node.parts])


def _is_common(node: exp.Table) -> bool:
    """Whether a name refers to a query of WITH."""
    above: exp.Expr | None = node.parent
    while above is not None:
        common = above.args.get("with_")
        if common is not None and any(each.alias.lower() == node.name.lower() for each in common.expressions):
            return True
        above = above.parent
    return False


def _time_travel(node: exp.Table) -> Iterator[tuple[str, Any]]:
    """Yields the arguments of VERSION AS OF and TIMESTAMP AS OF (Spark), and of AT (VERSION => 3) (DuckDB catalogs)."""
    version = node.args.get("version")
    if version is not None:
        if str(version.args.get("kind", "")).upper() != "AS OF":
            raise UnsupportedFeature(
                f"{version.name} {version.args.get('kind')} is not supported: use {version.name} AS OF"
            )
        yield _version(version.name.upper(), version.expression)
    when = node.args.get("when")
    if when is not None:
        if str(when.this).upper() != "AT":
            raise UnsupportedFeature(f"{when.this} is not supported: use AT (VERSION => ..)")
        yield _version(str(when.args.get("kind")).upper(), when.expression)


def _version(kind: str, value: exp.Expr) -> tuple[str, Any]:
    chosen = constant(value, f"{kind} AS OF")
    if kind == "TIMESTAMP":
        return "as_of", chosen
    if kind not in ("VERSION", "TIMESTAMP"):
        raise UnsupportedFeature(f"AT ({kind} => ..) is not supported: use AT (VERSION => ..) or AT (TIMESTAMP => ..)")
    if isinstance(chosen, bool) or not isinstance(chosen, int | str):
        raise InvalidArgument(f"{kind} {chosen!r} is not a version: pass a number or a tag")
    return "version", chosen


def _of_function(node: exp.Func, schema: tuple[str, ...] = ()) -> Reference | None:
    function = node.name.lower() if isinstance(node, exp.Anonymous) else ""
    if function in spellings.FUNCTIONS and _names_table(node, schema):
        function = spellings.FUNCTIONS[function]
    elif not function.startswith("lance_") or schema:
        return None
    if function not in FUNCTIONS:
        raise unknown(function)
    names = FUNCTIONS[function].names
    path: Any = None
    given: dict[str, Any] = {}
    for position, argument in enumerate(node.expressions):
        named = isinstance(argument, exp.PropertyEQ | exp.Kwarg) or is_named_by_equals(function, argument)
        value = constant(argument.expression if named else argument, function, fractions=function in SEARCHES)
        if (position == 0 and not named) or (named and argument.this.name.lower() == "path"):
            if path is not None:
                raise InvalidArgument(f"{function} has the argument 'path' twice")
            path = value
            continue
        name = argument.this.name.lower() if named else _name_at(function, position)
        if name not in names:
            raise InvalidArgument(f"{function} has no argument {name!r}; arguments after the path: {', '.join(names)}")
        if name in given:
            raise InvalidArgument(f"{function} has the argument {name!r} twice")
        given[name] = value
    if isinstance(path, str) and not is_path(path):
        path = path_of_name((*schema, *path.split("."))) or path
    if not isinstance(path, str) and not (isinstance(path, tuple) and path and all(isinstance(e, str) for e in path)):
        raise InvalidArgument(f"{function} takes a path first, in quotes, or a list of them, not {path!r}")
    # of a search, NULL for `k` is no default: it means all rows
    nullable = {"k"} if function in SEARCHES else ()
    arguments = tuple((key, value) for key, value in given.items() if value is not None or key in nullable)
    return Reference(function, function, path, arguments)


def is_named_by_equals(function: str, argument: exp.Expr) -> bool:
    """Whether an argument is `name = constant`, as the official extension of DuckDB writes named arguments."""
    name = argument.this if isinstance(argument, exp.EQ) else None
    return isinstance(name, exp.Column) and not name.table and function in FUNCTIONS


def _names_table(node: exp.Func, schema: tuple[str, ...]) -> bool:
    """Whether the first argument of a function is a Lance table."""
    first = node.expressions[0] if node.expressions else None
    if not isinstance(first, exp.Literal) or not first.is_string:
        return False
    return is_path(first.this) or path_of_name((*schema, *first.this.split("."))) is not None


def _name_at(function: str, position: int) -> str:
    """Returns the name of a positional argument. A version or a tag may follow the path, as in DataFusion."""
    names = FUNCTIONS[function].names
    if names[0] == "version":
        if position == 1:
            return "version"
        raise InvalidArgument(
            f"{function} takes a path and a version or a tag; name other arguments, as in as_of => '..'"
        )
    if position > len(names):
        raise InvalidArgument(f"{function} takes a path and at most {len(names)} arguments")
    name: str = names[position - 1]
    return name
