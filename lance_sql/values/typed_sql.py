"""Parts of parsed SQL that stay as typed, and the printing of them by a dialect."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import ClassVar, Final, cast

from sqlglot import exp
from sqlglot.generator import Generator


class OwnWords(exp.Expression):
    """Part of a statement as typed, with nodes between its texts: one more text than nodes."""

    arg_types: ClassVar = {"texts": True, "expressions": False}


class OwnQuery(OwnWords, exp.Query):
    """Query as typed, with nodes between its texts."""


def joined(parts: Iterable[str | exp.Expr], kind: type[OwnWords] = OwnWords) -> OwnWords:
    """Joins texts and nodes into one part; inlines the texts of own words."""
    texts, nodes = [""], list[exp.Expr]()
    for part in parts:
        if isinstance(part, str):
            texts[-1] += part
        elif isinstance(part, OwnWords):
            texts[-1] += part.args["texts"][0]
            for node, text in zip(part.expressions, part.args["texts"][1:], strict=True):
                nodes.append(node.copy())
                texts.append(text)
        else:
            nodes.append(part.copy())
            texts.append("")
    return kind(texts=texts, expressions=nodes)


def _print_words(generator: Generator, node: OwnWords) -> str:
    printed: str = node.args["texts"][0]
    for each, text in zip(node.expressions, node.args["texts"][1:], strict=True):
        # a quoted text may be replaced by a word
        before = " " if printed[-1:].isalnum() else ""
        after = " " if text[:1].isalnum() else ""
        printed += f"{before}{generator.sql(each)}{after}{text}"
    return printed


PRINTED: Final[Mapping[type[exp.Expr], Callable[..., str]]] = {OwnWords: _print_words, OwnQuery: _print_words}
"""The transforms of a dialect that prints own words."""


class _Shown(Generator):
    """Writes SQL for messages."""

    TRANSFORMS: ClassVar = {**Generator.TRANSFORMS, **PRINTED}


def shown(node: exp.Expr) -> str:
    """Returns a part of a statement for a message, parts as typed among it."""
    return str(_Shown().generate(node))


_TYPED: Final = "typed_path"


def keep_path(parsed: exp.Expr | None, path: exp.Expr | None, engine: str) -> exp.Expr | None:
    """Returns the parsed path to a member of JSON, with the path as it was typed in its metadata.

    engine: whose dialect it is in
    """
    if isinstance(parsed, exp.JSONPath) and isinstance(path, exp.Literal):
        parsed.meta[_TYPED] = (engine, path.is_string, path.name)
    return parsed


def typed_path(path: exp.Expr) -> tuple[str, bool, str] | None:
    """Returns the engine of a path that was kept, whether it is a text, and the text or number."""
    return cast("tuple[str, bool, str] | None", path.meta.get(_TYPED))
