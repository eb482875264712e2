"""Search results as an HTML page: each row with its scores, and with highlighted words."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import pyarrow as pa

from lance_sql.format.text_analysis.analyzer import Analyzer
from lance_sql.reads.search.hybrid import HybridQuery
from lance_sql.reads.search.numbering import row_numbers
from lance_sql.reads.search.ranking import QUERY_INDEX, Ranker
from lance_sql.reads.search.text_column import analyzer_of
from lance_sql.reads.search.text_query import Boolean, Boost, Match, MultiMatch, Part, Phrase, TextQuery
from lance_sql.reads.search.text_ranking import is_within
from lance_sql.reads.search.vector_query import is_vector
from lance_sql.table.snapshot import Snapshot
from lance_sql.values import html

if TYPE_CHECKING:
    from lance_sql.reads.search.search_scan import SearchScan


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


MOST_HITS: Final = 200
_TONES: Final = {"new": "ins", "changed": "upd", "gone": "del"}


def search_page(scan: SearchScan) -> str:
    """Renders a page about a search.

    raises: MissingDependency if Jinja2 is not installed; as reading
    """
    rows, ranker = scan.rows, scan.rows.ranker
    own = [field.name for field in (*ranker.leading, *ranker.fields)]
    reader = scan.to_reader()
    return answer_page(
        rows.snapshot,
        ranker,
        _first(reader),
        own,
        explained=scan.explain().splitlines()[1:],
        total=scan.count_rows(),
        conditions=[str(each) for each in (rows.allowed, scan.condition) if each is not None],
    )


def answer_page(
    snapshot: Snapshot,
    ranker: Ranker,
    rows: pa.Table,
    own: Sequence[str],
    *,
    explained: Sequence[str],
    total: int,
    since: int | None = None,
    conditions: Sequence[str] = (),
) -> str:
    """Renders a page about found rows, or about changes among them since a version.

    rows: at most `MOST_HITS` of them
    own: the columns that the table does not have
    explained: lines that describe the search; conditions: of the rows that it may find
    """
    by_words = ranker.text if isinstance(ranker, HybridQuery) else ranker
    marks = highlighters(by_words, snapshot) if isinstance(by_words, TextQuery) else {}
    numbers = [field.name for field in ranker.fields if field.name in rows.schema.names]
    names = [field.name for field in rows.schema if field.name not in own and not is_vector(field.type)]
    hits = [
        _hit(row, names, numbers, marks, index)
        for index, row in enumerate(rows.drop_columns(_hidden(rows)).to_pylist())
    ]
    best = _strengths([hit["strength"] for hit in hits])
    return html.render(
        "search",
        name=snapshot.name,
        uri=snapshot.uri,
        version=snapshot.version,
        since=since,
        question=ranker.describe(),
        conditions=conditions,
        bars=numbers[-1].lstrip("_").replace("_", " ") if numbers and any(best) else None,
        hits=[{**hit, "share": share} for hit, share in zip(hits, best, strict=True)],
        total=total,
        explained=[line.strip() for line in explained],
        counts=[(kind, tone, sum(hit["change"] == kind for hit in hits)) for kind, tone in _TONES.items()],
    )


def _first(reader: pa.RecordBatchReader) -> pa.Table:
    """Returns the first rows of a stream."""
    batches, left = [], MOST_HITS
    for batch in reader:
        batches.append(batch.slice(0, left))
        left -= batches[-1].num_rows
        if not left:
            break
    return pa.Table.from_batches(batches, reader.schema)


def _hidden(rows: pa.Table) -> list[str]:
    """Returns the vector columns, whose hundreds of numbers are not shown."""
    return [field.name for field in rows.schema if is_vector(field.type)]


def _hit(
    row: Mapping[str, Any], names: Sequence[str], numbers: Sequence[str], marks: Mapping[str, Highlighter], index: int
) -> dict[str, Any]:
    texts = [(name, _marked(row[name], marks[name])) for name in names if name in marks and row[name] is not None]
    shown = {name for name, _ in texts}
    numbered = [(name.lstrip("_").replace("_", " "), row[name], row.get(f"_previous{name}")) for name in numbers]
    # rows are ordered by the last score
    strength = row[numbers[-1]] if numbers else None
    return {
        "rank": index + 1,
        "query": row.get(QUERY_INDEX),
        "change": row.get("_change"),
        "tone": _TONES.get(row.get("_change", ""), ""),
        "row_change": row.get("_row_change"),
        "numbers": [(name, _number(value), _number(previous)) for name, value, previous in numbered],
        "texts": texts,
        "values": [(name, row[name]) for name in names if name not in shown],
        "strength": strength,
    }


def _marked(value: Any, mark: Highlighter) -> list[Piece]:
    """Marks a text, or the items of a list one after the other."""
    pieces: list[Piece] = []
    left = 4 * MOST_CHARACTERS
    for text in [value] if isinstance(value, str) else [each for each in value if each is not None]:
        if left <= 0:
            break
        pieces += [*([(" · ", False)] if pieces else []), *mark(text)]
        left -= len(text)
    return pieces


def _number(value: float | None) -> str | None:
    return None if value is None else f"{value:.4g}"


def _strengths(values: Sequence[float | None]) -> list[float | None]:
    """Returns the values as shares of the greatest one, so that bars begin at zero; None where there is no bar."""
    high = max((value for value in values if value is not None), default=0.0)
    if not 0 < high < math.inf:
        return [None] * len(values)
    return [None if value is None else max(value, 0.0) / high for value in values]
