"""Edits of a statement's text: texts or nodes replace some ranges, and all other words stay as typed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from sqlglot import Token, exp

from lance_sql.values.typed_sql import OwnWords


class Edit(NamedTuple):
    """Replacement of the characters from `start` to `end`, exclusive."""

    start: int
    end: int
    new: str | exp.Expr


def over(tokens: Sequence[Token], first: int, end: int, new: str | exp.Expr) -> Edit:
    """Replaces the tokens from `first` to `end`, exclusive."""
    return Edit(tokens[first].start, tokens[end - 1].end + 1, new)


def edited(text: str, edits: Iterable[Edit]) -> str:
    """Returns the text with replacements that are texts."""
    return "".join(str(part) for part in _parts(text, edits, 0, len(text)))


def own_words(
    text: str, edits: Iterable[Edit], start: int = 0, end: int | None = None, kind: type[OwnWords] = OwnWords
) -> OwnWords:
    """Returns a range of the text with the replacements in it, which are nodes."""
    texts, nodes = [], []
    for part in _parts(text, edits, start, len(text) if end is None else end):
        if isinstance(part, str):
            texts.append(part)
        else:
            nodes.append(part.copy())
    return kind(texts=texts, expressions=nodes)


def _parts(text: str, edits: Iterable[Edit], start: int, end: int) -> Iterator[str | exp.Expr]:
    """Yields text as typed and replacements, in turn; the first and the last one are text."""
    for edit in sorted(edits, key=lambda edit: edit[:2]):
        if start <= edit.start and edit.end <= end:
            yield text[start : edit.start]
            yield edit.new
            start = edit.end
    yield text[start:end]
