"""Rewriting of a statement for DuckDB itself, on a connection with the table functions: clauses that DuckDB lacks
become calls of them, and all other words stay as typed.

    FROM 't.lance' VERSION AS OF 4            FROM lance_table('t.lance', version := 4) AS "t"
    FROM table_changes('t.lance', 5, 6)       FROM lance_changes('t.lance', start_version := 5, end_version := 6)
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect

from lance_sql.errors import InvalidArgument
from lance_sql.one_sql import spellings
from lance_sql.one_sql.by_tokens import in_quotes
from lance_sql.one_sql.clauses import rewrite
from lance_sql.one_sql.named_tables import FORMAT, is_path, path_of_name
from lance_sql.one_sql.own_words import Words, names_beside
from lance_sql.one_sql.parsed import Parsed
from lance_sql.one_sql.references import Reference, is_named_by_equals, reference
from lance_sql.one_sql.text_edits import Edit, edited
from lance_sql.values.sql_text import identifier, literal


def in_duckdb(text: str, dialect: Dialect, parsed: Parsed | None = None) -> str:
    """Rewrites the statement; returns the same text if DuckDB supports all of it.

    parsed: the statement, if it is known
    raises: InvalidArgument, UnsupportedFeature for invalid clauses
    """
    try:
        parsed = parsed or Parsed.of(text, dialect)
    except InvalidArgument:
        # DuckDB may support it, or raise the error
        return in_quotes(rewrite(text, dialect), dialect)
    rewritten, tree = parsed.text, parsed.tree
    wanted = [node for node in tree.find_all(exp.Table) if _is_ours(node)]
    stems = {column.table.lower() for column in tree.find_all(exp.Column) if column.table}
    named = [node for node in tree.find_all(exp.Table) if node not in wanted and _is_called(node, stems)]
    if not wanted and not named:
        return rewritten
    words = Words(rewritten, dialect, None)
    return edited(rewritten, [*_edits(words, wanted, stems), *_aliases(words, named)])


def _is_ours(node: exp.Table) -> bool:
    """Whether DuckDB has no syntax for a table."""
    if isinstance(node.this, exp.Anonymous):
        is_of_others = node.this.name.lower() in spellings.FUNCTIONS
        is_named = any(is_named_by_equals(node.this.name.lower(), each) for each in node.this.expressions)
        return (is_of_others or is_named or _named_table(node) is not None) and reference(node) is not None
    if not _has_version(node):
        whole = ".".join(part.name for part in node.parts)
        table_reference = reference(node)
        # DuckDB reads an unquoted path as a table of a schema
        is_other = len(node.parts) > 1 if is_path(whole) else "@" in node.name or _is_prefixed(node)
        return table_reference is not None and (is_other or table_reference.function == "lance_scan")
    return reference(node) is not None


def _is_prefixed(node: exp.Table) -> bool:
    """Whether a table is a path behind the name of the format, as in lance."a/b"."""
    *first, path = [part.name for part in node.parts]
    return [name.lower() for name in first] == [FORMAT] and path_of_name([FORMAT, path], is_quoted=True) == path


def _named_table(node: exp.Table) -> str | None:
    """Returns the path of a catalog table that is the first argument of a table function."""
    first = node.this.expressions[0] if node.this.expressions else None
    is_text = isinstance(first, exp.Literal) and first.is_string and node.this.name.lower().startswith("lance_")
    return path_of_name(first.this.split(".")) if is_text and first is not None and not is_path(first.this) else None


def _is_called(node: exp.Table, stems: set[str]) -> bool:
    """Whether columns of a quoted path are qualified by its table name, which DuckDB does not support."""
    if node.alias or len(node.parts) != 1 or not is_path(node.name) or not stems:
        return False
    table_reference = None if _has_version(node) else reference(node)
    if table_reference is None:
        return False
    name = table_reference.name.lower()
    return name in stems and name not in names_beside(node)


def _has_version(node: exp.Table) -> bool:
    return bool(node.args.get("version") or node.args.get("when"))


def _aliases(words: Words, nodes: list[exp.Table]) -> Iterator[Edit]:
    for node in nodes:
        table_reference = reference(node)
        assert table_reference is not None, "looked at before"
        _, end, _ = words.span(node)
        yield Edit(end, end, f" AS {identifier(table_reference.name)}")


def _edits(words: Words, nodes: list[exp.Table], stems: set[str]) -> Iterator[Edit]:
    for node in nodes:
        table_reference = reference(node)
        assert table_reference is not None, "looked at before"
        start, end, alias = words.span(node)
        call = _call(table_reference)
        is_renamed = _has_version(node) or (call.startswith("lance_scan") and not isinstance(node.this, exp.Func))
        if alias is None and not node.alias and (is_renamed or table_reference.name.lower() in stems):
            alias = table_reference.name
        if alias is not None:
            call += f" AS {identifier(alias)}"
        yield Edit(start, end, call)


def _call(table_reference: Reference) -> str:
    path, is_whole = table_reference.path, not table_reference.arguments
    if table_reference.function == "lance_table" and is_whole and isinstance(path, str) and is_path(path):
        return _literal(table_reference.path)
    arguments = "".join(f", {name} := {_literal(value)}" for name, value in table_reference.arguments)
    return f"{table_reference.function}({_literal(table_reference.path)}{arguments})"


def _literal(value: Any) -> str:
    if isinstance(value, tuple | list):
        return f"[{', '.join(map(_literal, value))}]"
    if isinstance(value, str):
        return literal(value)
    return str(value).lower() if isinstance(value, bool) else "NULL" if value is None else str(value)
