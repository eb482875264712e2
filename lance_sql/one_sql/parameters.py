"""Values for the parameters of a statement: `?`, `$1` and `$name` in every dialect, and `:name` in Spark's.

    SELECT * FROM 'orders.lance' WHERE id = ? AND status = $status

DuckDB binds values on its connections. Elsewhere they become literals in the dialect of the text, quoted by it, so that
they also stand where engines take no parameters, such as `lance_scan('orders.lance', version => ?)`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any, Final
from uuid import UUID

from sqlglot import Token, TokenType, exp
from sqlglot.dialects.dialect import Dialect

from lance_sql.errors import InvalidArgument
from lance_sql.one_sql.dialects import tokenize
from lance_sql.providers.syntax import Syntax

_MOST_DIGITS: Final = 38
_SHOWN: Final = 200


def by_name(parameters: object) -> dict[str, Any]:
    """Returns the values by lower-case name, those of a sequence by number from 1.

    raises: InvalidArgument for something else
    """
    if isinstance(parameters, Mapping):
        return {str(name).lower(): value for name, value in parameters.items()}
    if isinstance(parameters, Sequence) and not isinstance(parameters, str | bytes):
        return {str(number): value for number, value in enumerate(parameters, 1)}
    raise InvalidArgument("Parameters must be a list of values, or a dict of values by name")


def put(text: str, dialect: Dialect, texts: Mapping[str, str], *, has_colons: bool = False) -> str:
    """Replaces the parameters of a statement by texts.

    texts: by name; those of numbered parameters by number
    has_colons: also replace `:name`
    raises: InvalidArgument if the parameters are others than the texts
    """
    given = f"{len(texts)} values are given for the parameters of {text.strip()[:_SHOWN]}"
    pieces, start = [], 0
    used = set()
    for name, begin, end in _parameters(text, dialect, has_colons):
        if name not in texts:
            raise InvalidArgument(f"{given}: no value for {text[begin:end]}")
        used.add(name)
        # it may adjoin a word
        pieces += [text[start:begin], f" {texts[name]} "]
        start = end
    unused = [name for name in texts if name not in used]
    if unused:
        raise InvalidArgument(f"{given}: no parameter {unused[0]}")
    return "".join([*pieces, text[start:]])


def with_values(text: str, parameters: object, syntax: Syntax) -> str:
    """Returns a statement with its values as literals.

    raises: InvalidArgument as `put`, and for values without a literal
    """
    dialect = syntax.dialect()
    literals = {key: literal(value, syntax, dialect, f"${key}") for key, value in by_name(parameters).items()}
    return put(text, dialect, literals, has_colons=syntax.has_colons)


def _parameters(text: str, dialect: Dialect, has_colons: bool) -> Iterator[tuple[str, int, int]]:
    """Yields the name of each parameter, and its place in the text."""
    tokens = tokenize(text, dialect)
    count = 0
    for before, token, following in zip([None, *tokens], tokens, [*tokens[1:], None], strict=False):
        if token.token_type == TokenType.PLACEHOLDER:
            count += 1
            yield str(count), token.start, token.end + 1
        elif following is None or following.start != token.end + 1:
            continue
        elif token.token_type == TokenType.PARAMETER or (has_colons and _is_named(before, token, following)):
            yield following.text.lower(), token.start, following.end + 1


def _is_named(before: Token | None, token: Token, following: Token) -> bool:
    """Whether a colon begins a parameter, and is not a path into a value, as in `a:b`."""
    if token.token_type != TokenType.COLON or not following.text.isidentifier():
        return False
    return before is None or before.end + 1 < token.start or before.text in ("(", ",", "=", "<", ">")


def literal(value: Any, syntax: Syntax, dialect: Dialect, parameter: str) -> str:
    """Returns a value in a dialect.

    dialect: of the syntax
    parameter: for errors
    raises: InvalidArgument
    """
    if type(value).__module__ == "numpy" and getattr(value, "shape", None) == ():
        value = value.item()
    own: str | None = syntax.literal(value)
    if own is not None:
        return own
    match value:
        case _ if isinstance(value, syntax.no_literals):
            pass
        case None:
            return "NULL"
        case bool():
            return "TRUE" if value else "FALSE"
        case int():
            # a minus may follow another one, which would begin a comment
            return f"({value})" if value < 0 else str(value)
        case float():
            word = repr(value) if math.isfinite(value) else "NaN" if value != value else f"{'-' * (value < 0)}Infinity"
            return _cast(word, "DOUBLE", dialect)
        case Decimal() if value.is_finite():
            _, digits, exponent = value.as_tuple()
            scale = max(-int(exponent), 0)
            precision = max(len(digits) + max(int(exponent), 0), scale, 1)
            if precision <= _MOST_DIGITS:
                return _cast(format(value, "f"), f"DECIMAL({precision}, {scale})", dialect)
        case str() if "\0" not in value:
            return exp.Literal.string(value).sql(dialect=dialect)
        case UUID():
            return exp.Literal.string(str(value)).sql(dialect=dialect)
        case bytes() | bytearray():
            return f"X'{value.hex()}'"
        case datetime():
            return _cast(value.isoformat(" "), "TIMESTAMP" if value.tzinfo is None else "TIMESTAMPTZ", dialect)
        case date():
            return _cast(value.isoformat(), "DATE", dialect)
        case time() if value.tzinfo is None:
            return _cast(value.isoformat(), "TIME", dialect)
        case list() | tuple():
            members = [exp.Var(this=literal(each, syntax, dialect, parameter)) for each in value]
            return exp.Array(expressions=members).sql(dialect=dialect)
        case _:
            pass
    raise InvalidArgument(
        f"The value of {parameter} is a {type(value).__name__} without an SQL literal: pass a number, text, bytes, a"
        " date, a time, a list of them, or None"
    )


def _cast(text: str, type: str, dialect: Dialect) -> str:
    quoted = exp.Literal.string(text).sql(dialect=dialect)
    return f"CAST({quoted} AS {exp.DataType.build(type, dialect='duckdb').sql(dialect=dialect)})"
