"""Highlighting of the words that a query has found in a text, for pages, not for scores."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from lance_sql.format.text_analysis.analyzer import Analyzer
from lance_sql.reads.search.fuzzy import is_within
from lance_sql.reads.search.numbering import row_numbers
from lance_sql.reads.search.text_column import analyzer_of
from lance_sql.reads.search.text_query import Boolean, Boost, Match, MultiMatch, Part, Phrase, TextQuery
from lance_sql.table.snapshot import Snapshot

Piece: TypeAlias = tuple[str, bool]
"""A part of a text, and whether the query has found it."""

Highlighter: TypeAlias = Callable[[str], list[Piece]]

MOST_CHARACTERS: Final = 600
_BEFORE: Final = 120
_ELLIPSIS: Final = "…"


def highlighters(query: TextQuery, snapshot: Snapshot) -> Mapping[str, Highlighter]:
    """Returns for each searched column a function that marks the words in its texts.

    raises: as the search
    """
    wanted: dict[str, list[_Wanted]] = {}
    numbers = row_numbers(snapshot)
    analyzers: dict[str, Analyzer] = {}
    for part in _searched(query.part):
        if part.column not in analyzers:
            analyzers[part.column] = analyzer_of(snapshot, part.column, numbers, use_index=query.use_index)
        tokens = frozenset(token for _, token in analyzers[part.column].tokens(part.terms))
        loose = (part.fuzziness, part.prefix_length) if isinstance(part, Match) else (0, 0)
        wanted.setdefault(part.column, []).append(_Wanted(tokens, *loose))
    return {name: _Marker(analyzers[name], tuple(each)) for name, each in wanted.items()}


@dataclass(frozen=True)
class _Wanted:
    """The tokens to mark. With fuzziness, also tokens that differ from one by that many letters after a common
    prefix of bytes."""

    tokens: frozenset[str]
    fuzziness: int
    prefix_length: int

    def has(self, token: str) -> bool:
        if not self.fuzziness:
            return token in self.tokens
        begin = token.encode()[: self.prefix_length]
        return any(
            each.encode()[: self.prefix_length] == begin and is_within(each, token, self.fuzziness)
            for each in self.tokens
        )


@dataclass(frozen=True)
class _Marker:
    analyzer: Analyzer
    wanted: tuple[_Wanted, ...]

    def __call__(self, text: str) -> list[Piece]:
        spans = self._spans(text)
        first, last = 0, len(text)
        if len(text) > MOST_CHARACTERS:
            # around the first word that was found
            first = max(0, spans[0][0] - _BEFORE) if spans else 0
            last = min(len(text), first + MOST_CHARACTERS)
        pieces: list[Piece] = [(_ELLIPSIS, False)] if first else []
        for start, end in spans:
            if start >= last:
                break
            if start > first:
                pieces.append((text[first:start], False))
            pieces.append((text[max(start, first) : min(end, last)], True))
            first = end
        if first < last:
            pieces.append((text[first:last], False))
        return [*pieces, (_ELLIPSIS, False)] if last < len(text) else pieces

    def _spans(self, text: str) -> list[tuple[int, int]]:
        """Returns the positions of the found words; overlapping n-grams are merged."""
        spans: list[tuple[int, int]] = []
        for start, end, token in self.analyzer.spans(text):
            if any(each.has(token) for each in self.wanted):
                if spans and start < spans[-1][1]:
                    spans[-1] = (spans[-1][0], max(end, spans[-1][1]))
                else:
                    spans.append((start, end))
        return spans


def _searched(part: Part) -> Iterator[Match | Phrase]:
    """Yields the parts whose words find a row."""
    match part:
        case Match() | Phrase():
            yield part
        case MultiMatch():
            yield from part.parts
        case Boost():
            yield from _searched(part.positive)
        case Boolean():
            for each in (*part.must, *part.should):
                yield from _searched(each)
