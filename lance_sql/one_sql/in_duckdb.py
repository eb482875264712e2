"""A statement for DuckDB itself, on a connection that has the table functions: clauses that DuckDB does not have become
calls of them, and every other word stays as it was typed.

    FROM 't.lance' VERSION AS OF 4            FROM lance_table('t.lance', version := 4) AS "t"
    FROM table_changes('t.lance', 5, 6)       FROM lance_changes('t.lance', start_version := 5, end_version := 6)
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect

from lance_sql.errors import InvalidArgument
from lance_sql.one_sql.clauses import rewrite
from lance_sql.one_sql.dialects import parse, tokenize
from lance_sql.one_sql.named_tables import is_path
from lance_sql.one_sql.own_words import Words
from lance_sql.one_sql.references import OTHER_NAMES, Reference, reference

_EXPLAIN: Final = ("EXPLAIN", "EXPLAIN ANALYZE")


def in_duckdb(text: str, dialect: Dialect) -> str:
    """The statement; the same text where DuckDB has words for all of it.

    raises: InvalidArgument, UnsupportedFeature for clauses that make no sense
    """
    prefix, text = _split_explain(text, dialect)
    rewritten = rewrite(text, dialect)
    try:
        (tree,) = parse(rewritten, dialect)
    except (InvalidArgument, ValueError):
        # DuckDB says what is wrong
        return prefix + rewritten
    wanted = [node for node in tree.find_all(exp.Table) if _is_ours(node)]
    if not wanted:
        return prefix + rewritten
    words = Words(rewritten, dialect, None)
    edits = sorted(_edits(words, wanted))
    pieces, start = [], 0
    for begins, ends, replacement in edits:
        pieces += [rewritten[start:begins], replacement]
        start = ends
    return prefix + "".join([*pieces, rewritten[start:]])


def _split_explain(text: str, dialect: Dialect) -> tuple[str, str]:
    """EXPLAIN with what belongs to it, and the statement that is explained: the parser does not look into it."""
    first = tokenize(text, dialect)[:1]
    if not first or first[0].text.upper() not in _EXPLAIN:
        return "", text
    end = first[0].end + 1
    rest = text[end:]
    if rest.lstrip()[:7].upper() == "ANALYZE":
        end += len(rest) - len(rest.lstrip()) + 7
    return text[:end], text[end:]


def _is_ours(node: exp.Table) -> bool:
    """Whether DuckDB has no words for a table."""
    if isinstance(node.this, exp.Anonymous):
        return node.this.name.lower() in OTHER_NAMES and reference(node) is not None
    if not (node.args.get("version") or node.args.get("when")):
        return (
            not is_path(".".join(part.name for part in node.parts)) and "@" in node.name and reference(node) is not None
        )
    return reference(node) is not None


def _edits(words: Words, nodes: list[exp.Table]) -> Iterator[tuple[int, int, str]]:
    for node in nodes:
        table_reference = reference(node)
        assert table_reference is not None, "looked at before"
        start, end, alias = words.span(node)
        call = _call(table_reference)
        if alias is None and not node.alias:
            alias = table_reference.name
        yield start, end, call if alias is None else f"{call} AS {exp.to_identifier(alias, quoted=True).sql('duckdb')}"


def _call(table_reference: Reference) -> str:
    arguments = "".join(f", {name} := {_literal(value)}" for name, value in table_reference.arguments)
    return f"{table_reference.function}({_literal(table_reference.path)}{arguments})"


def _literal(value: Any) -> str:
    if isinstance(value, tuple | list):
        return f"[{', '.join(map(_literal, value))}]"
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return str(value).lower() if isinstance(value, bool) else "NULL" if value is None else str(value)
