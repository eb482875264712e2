"""The parts of a statement that writes: replaces the parsed parts by the text that the user typed.

UPDATE 't.lance' SET <column> = <value>, .. FROM <tables> WHERE <condition>
DELETE FROM 't.lance' USING <tables> WHERE <condition>
INSERT INTO 't.lance' (..) <query>,  or VALUES (<value>, ..), ..
CREATE TABLE 't.lance' AS <query>,  COPY (<query>) TO 't.lance'
MERGE INTO 't.lance' USING <table> ON <condition> WHEN .. AND <condition> THEN .. <value> ..
"""

from __future__ import annotations

from sqlglot import exp

from lance_sql.errors import InvalidArgument
from lance_sql.one_sql.free_columns import is_default, unqualified
from lance_sql.one_sql.own_words import Words
from lance_sql.values.typed_sql import OwnQuery


def put_words(tree: exp.Expr, words: Words) -> None:
    """Replaces the parts of a statement by their words; keeps its kind and its names.

    raises: InvalidArgument for a statement whose tree and tokens disagree
    """
    match tree:
        case exp.Update():
            _put_update(tree, words)
        case exp.Delete():
            _put_delete(tree, words)
        case exp.Insert():
            _put_insert(tree, words)
        case exp.Create() if isinstance(tree.expression, exp.Query | exp.Values):
            start = words.find(("AS",), words.position_behind(tree.this))
            tree.set("expression", words.piece(start + 1, len(words), tree.expression, OwnQuery))
        case exp.Copy() if isinstance(tree.this, exp.Subquery):
            opening = words.find(("(",), 0)
            tree.this.set("this", words.piece(opening + 1, words.closing(opening), tree.this.this, OwnQuery))
        case exp.Merge() if isinstance(tree.args.get("on"), exp.Expr) and not tree.args.get("using_cond"):
            _put_merge(tree, words)


def _put_update(tree: exp.Update, words: Words) -> None:
    start = words.find(("SET",), 0)
    source = words.find(("FROM",), start + 1)
    where = words.find(("WHERE",), start + 1)
    _put_assignments(tree.expressions, words, start + 1, min(source, where))
    if tree.args.get("from_"):
        _put(tree.args["from_"], words, source + 1, where)
    if tree.args.get("where"):
        _put(tree.args["where"], words, where + 1, _end(words, where))


def _put_delete(tree: exp.Delete, words: Words) -> None:
    using = words.find(("USING",), words.position_behind(tree.this))
    where = words.find(("WHERE",), words.position_behind(tree.this))
    if tree.args.get("using"):
        tree.set("using", [words.piece(using + 1, where)])
    if tree.args.get("where"):
        _put(tree.args["where"], words, where + 1, _end(words, where))


def _put_insert(tree: exp.Insert, words: Words) -> None:
    named = isinstance(tree.this, exp.Schema)
    start = words.position_behind(tree.this.this if named else tree.this)
    if words.word(start) == "AS":
        start += 2
    if named:
        start = words.closing(start) + 1
    if words.word(start) == "BY":
        start += 2
    query, common = tree.expression, tree.args.get("with_")
    if isinstance(query, exp.Values) and not common:
        if words.word(start) != "VALUES":
            raise _misunderstood("VALUES")
        rows = words.split(start + 1, len(words))
        _check_count(rows, query.expressions, "rows of VALUES")
        for (first, _), row in zip(rows, query.expressions, strict=True):
            _put_values(row, words, first)
    elif isinstance(query, exp.Query | exp.Values):
        own_query = words.piece(start, len(words), query, OwnQuery)
        if common:
            tree.set("with_", None)
            before = words.piece(0, words.find(("INSERT",), 0))
            own_query = OwnQuery(texts=["", " SELECT * FROM (", ")"], expressions=[before, own_query])
        tree.set("expression", own_query)


def _put_merge(tree: exp.Merge, words: Words) -> None:
    using = words.find(("USING",), words.position_behind(tree.this))
    on = words.find(("ON",), using)
    when = words.find(("WHEN",), on)
    _put_node(tree, "using", words, using + 1, on)
    _put_node(tree, "on", words, on + 1, when)
    clauses = tree.args["whens"].expressions
    for clause in clauses:
        end = words.find(("WHEN",), when + 1)
        then = words.find(("THEN",), when, end)
        condition = words.find(("AND",), when, then)
        # one table has no such rows, so an unqualified column always belongs to the other
        is_one_sided = not clause.args.get("matched")
        if clause.args.get("condition"):
            _put_node(clause, "condition", words, condition + 1, then, splits=is_one_sided)
        _put_action(clause.args["then"], words, then + 1, end, splits=is_one_sided)
        when = end
    if when != len(words):
        raise _misunderstood("WHEN")


def _put_action(action: exp.Expr, words: Words, first: int, end: int, *, splits: bool) -> None:
    if isinstance(action, exp.Update) and action.expressions and isinstance(action.expressions[0], exp.EQ):
        _put_assignments(action.expressions, words, words.find(("SET",), first, end) + 1, end, splits=splits)
    if isinstance(action, exp.Insert) and isinstance(action.expression, exp.Tuple):
        _put_values(action.expression, words, words.find(("VALUES",), first, end) + 1, splits=splits)


def _put_assignments(nodes: list[exp.Expr], words: Words, first: int, end: int, *, splits: bool = False) -> None:
    """Replaces the right sides of SET by their words."""
    parts = words.split(first, end)
    _check_count(parts, nodes, "columns of SET")
    for (start, stop), node in zip(parts, nodes, strict=True):
        if isinstance(node, exp.EQ) and isinstance(node.this, exp.Column) and not is_default(node.expression):
            _put_node(node, "expression", words, words.find(("=",), start, stop) + 1, stop, splits=splits)


def _put_values(row: exp.Expr, words: Words, opening: int, *, splits: bool = False) -> None:
    """Replaces the values between two parentheses by their words."""
    parts = words.split(opening + 1, words.closing(opening))
    nodes = row.expressions if isinstance(row, exp.Tuple) else [row.this]
    _check_count(parts, nodes, "values")
    values = [
        node if is_default(node) else words.piece(start, stop, columns=unqualified(node) if splits else ())
        for (start, stop), node in zip(parts, nodes, strict=True)
    ]
    row.replace(exp.Tuple(expressions=values)) if not isinstance(row, exp.Tuple) else row.set("expressions", values)


def _put(clause: exp.Expr, words: Words, first: int, end: int) -> None:
    _put_node(clause, "this", words, first, end)


def _put_node(parent: exp.Expr, key: str, words: Words, first: int, end: int, *, splits: bool = False) -> None:
    """
    splits: columns without a table become nodes among the words
    """
    tree = parent.args[key]
    parent.set(key, words.piece(first, end, tree, columns=unqualified(tree) if splits else ()))


def _end(words: Words, where: int) -> int:
    """Returns the end of a condition; clauses after it are rejected by name."""
    return words.find(("RETURNING", "ORDER", "LIMIT"), where)


def _check_count(parts: list[tuple[int, int]], nodes: list[exp.Expr], what: str) -> None:
    if len(parts) != len(nodes):
        raise _misunderstood(what)


def _misunderstood(what: str) -> InvalidArgument:
    return InvalidArgument(f"Not SQL that this library can parse: its {what}")
