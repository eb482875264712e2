"""Scores of rows for a full-text query: BM25 over the documents of an index, and of rows that it does not cover.

Source: BM25; full text index specification, scores.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from lance_sql import _kernels
from lance_sql.errors import UnsupportedFeature
from lance_sql.format.index_files.full_text import TextPartition
from lance_sql.format.text_analysis.analyzer import Token
from lance_sql.reads.scan.predicates import Predicate
from lance_sql.reads.scan.take import parts, take_at
from lance_sql.reads.search.numbering import RowNumbers, row_numbers
from lance_sql.reads.search.ranking import SCORE, Ranking
from lance_sql.reads.search.text_column import K1, B, Documents, TextColumn, open_column, tokens_of
from lance_sql.table.snapshot import Snapshot
from lance_sql.values.arrays import F32, BoolMask

if TYPE_CHECKING:
    from lance_sql.reads.search.text_query import Match, Part, Phrase, TextQuery


Hits = tuple[BoolMask, F32]
"""Mask of the rows by their numbers, and their scores; 0 for other rows."""

_ONE: Final = np.float32(1)
_HALF: Final = np.float32(0.5)


def rank(query: TextQuery, snapshot: Snapshot, allowed: Predicate | None) -> Ranking:
    """Returns the best rows; see `Ranker.rank`."""
    from lance_sql.reads.search.text_query import Match

    search = _Search(query, snapshot, allowed)
    if isinstance(query.part, Match) and not query.part.fuzziness and query.part.boost > 0:
        return search.best(query.part, query.k)
    passing, scores = search.hits(query.part)
    numbers = np.flatnonzero(passing)
    order = np.lexsort((numbers, -scores[numbers].astype(np.float64)))[: query.k]
    chosen = numbers[order]
    notes = tuple(each.note for each in search.columns.values())
    return Ranking(search.numbers.addresses(chosen), {SCORE: pa.array(scores[chosen])}, notes)


class _Search:
    """State of one search.

    numbers: of the version's rows
    columns: searched columns, by name
    """

    def __init__(self, query: TextQuery, snapshot: Snapshot, allowed: Predicate | None) -> None:
        self.numbers: RowNumbers = row_numbers(snapshot)
        self.columns: dict[str, TextColumn] = {}
        self._query, self._snapshot, self._allowed = query, snapshot, allowed
        self._passing = self.numbers.live if allowed is None else self.numbers.matching(allowed)

    def hits(self, part: Part) -> Hits:
        """Returns the rows of a part of the query."""
        from lance_sql.reads.search.text_query import Boolean, Boost, Match, MultiMatch, Phrase

        match part:
            case Match():
                return self._match(part)
            case Phrase():
                return self._phrase(part)
            case MultiMatch():
                every = [self._match(each) for each in part.parts]
                passing = np.logical_or.reduce([flags for flags, _ in every])
                greatest = np.maximum.reduce([np.where(flags, scores, -np.inf) for flags, scores in every])
                return passing, np.where(passing, greatest, 0).astype(np.float32)
            case Boost():
                passing, scores = self.hits(part.positive)
                _, less = self.hits(part.negative)
                return passing, np.where(passing, scores - np.float32(part.negative_boost) * less, 0).astype(np.float32)
            case Boolean():
                must = [self.hits(each) for each in part.must]
                should = [self.hits(each) for each in part.should]
                passing = (
                    np.logical_and.reduce([each for each, _ in must])
                    if must
                    else np.logical_or.reduce([each for each, _ in should])
                )
                for each in part.must_not:
                    passing = passing & ~self.hits(each)[0]
                total = np.zeros(len(passing), np.float32)
                for _, own in (*must, *should):
                    total += own
                return passing, np.where(passing, total, 0).astype(np.float32)

    def best(self, part: Match, k: int | None) -> Ranking:
        """Returns the best rows for some words, for which the kernels skip most documents."""
        column = self._column(part.column)
        pairs = list(dict.fromkeys(column.analyzer.tokens(part.terms)))
        times = Counter(token for _, token in pairs)
        # each position of the query has a token, but all n-grams are at one position
        needed = len(times) if part.needs_all and column.analyzer.base != "ngram" else 1
        nearest = _kernels.NearestRows(1, k or 0, float("-inf"), float("inf"))
        allowed = self._passing.view(np.uint8)
        if column.indexed and column.count:
            average = np.float32(column.total / column.count)
            factors = {token: float(_idf(column.count, column.num_indexed(token))) for token in times}
            for each in column.indexed:
                words = _kernels.QueriedWords()
                for token, often in times.items():
                    scored = each.scored(token, average)
                    if scored is not None:
                        words.add(
                            scored.documents, scored.ratios, scored.starts, scored.greatest, factors[token], often
                        )
                words.show(nearest, each.rows, len(each.rows), allowed, needed, k or 0)
        if len(column.fresh.rows):
            passing, scores = self._scored(replace(column, indexed=()), pairs, None, needs_all=part.needs_all)
            numbers = np.flatnonzero(passing)
            nearest.add_distances(0, -scores[numbers], None, numbers.astype(np.uint64), len(numbers))
        count = nearest.count(0)
        rows, far = np.empty(count, np.uint64), np.empty(count, np.float32)
        nearest.result(0, rows, far)
        scores = -far if part.boost == 1 else -far * np.float32(part.boost)
        return Ranking(self.numbers.addresses(rows.view(np.int64)), {SCORE: pa.array(scores)}, (column.note,))

    def _column(self, name: str) -> TextColumn:
        column = self.columns.get(name)
        if column is None:
            query = self._query
            column = self.columns[name] = open_column(
                self._snapshot,
                name,
                self.numbers,
                self._allowed,
                use_index=query.use_index,
                fast_search=query.fast_search,
            )
        return column

    def _match(self, part: Match) -> Hits:
        column = self._column(part.column)
        tokens = column.analyzer.tokens(part.terms)
        alike: Mapping[str, Sequence[str]] = {}
        if part.fuzziness:
            words = dict.fromkeys(token for _, token in tokens)
            alike = expansions(
                list(words),
                [each.partition for each in column.indexed],
                part.fuzziness,
                part.prefix_length,
                part.max_expansions,
            )
        passing, scores = self._scored(column, tokens, alike if part.fuzziness else None, needs_all=part.needs_all)
        return passing, scores if part.boost == 1 else scores * np.float32(part.boost)

    def _scored(
        self, column: TextColumn, tokens: Sequence[Token], alike: Mapping[str, Sequence[str]] | None, *, needs_all: bool
    ) -> Hits:
        """Returns the rows that have any token, or one at each position of the query.

        alike: indexed words that replace each token; None for the token itself
        """
        passing = np.zeros(self.numbers.num_rows, np.bool_)
        scores = np.zeros(self.numbers.num_rows, np.float32)
        groups: tuple[tuple[Sequence[Documents], bool], ...] = ((column.indexed, False), ((column.fresh,), True))
        # a token that occurs twice at one position counts once there
        pairs = list(dict.fromkeys(tokens))
        for documents, is_fresh in groups:
            count = column.count + (len(column.fresh.rows) if is_fresh else 0)
            total = column.total + (int(column.fresh.lengths.sum()) if is_fresh else 0)
            if count == 0:
                continue
            average = np.float32(total / count)
            expanded = [
                (position, each)
                for position, token in pairs
                for each in ((token,) if alike is None or is_fresh else alike.get(token, ()))
            ]
            positions: dict[str, list[int]] = {}
            for position, token in expanded:
                positions.setdefault(token, []).append(position)
            idf = {
                token: _idf(count, column.num_indexed(token) + (column.num_fresh(token) if is_fresh else 0))
                for token in positions
            }
            wanted = {position for position, _ in pairs} if needs_all else set()
            for each in documents:
                own, have_token = _bm25(each, positions, idf, average, wanted)
                counts = have_token & (each.rows >= 0)
                rows = each.rows[counts]
                passed = self._passing[rows]
                passing[rows[passed]] = True
                scores[rows[passed]] = own[counts][passed]
        return passing, scores

    def _phrase(self, part: Phrase) -> Hits:
        column = self._column(part.column)
        if column.analyzer.base == "ngram":
            raise UnsupportedFeature(f"column {part.column!r} is indexed by n-grams, which have no order for a phrase")
        tokens = column.analyzer.tokens(part.terms)
        passing, scores = self._scored(column, tokens, None, needs_all=True)
        if len(tokens) < 2:
            return passing, scores
        numbers = np.flatnonzero(passing)
        addresses = self.numbers.addresses(numbers)
        for some in parts(self._snapshot, (column.column,), addresses, by_address=True):
            texts = take_at(self._snapshot, (column.column,), addresses[some]).column(0).to_pylist()
            for number, text_tokens in zip(numbers[some].tolist(), tokens_of(column.analyzer, texts), strict=True):
                if not has_phrase(text_tokens, tokens, part.slop):
                    passing[number] = False
                    scores[number] = 0
        return passing, scores


def has_phrase(tokens: Sequence[Token], phrase: Sequence[Token], slop: int) -> bool:
    """Whether the tokens of a phrase follow each other in a text, with gaps at most `slop` wider."""
    positions: dict[str, list[int]] = {}
    for position, token in tokens:
        positions.setdefault(token, []).append(position)
    reached: set[int] | None = None
    before = 0
    for position, token in phrase:
        here = positions.get(token, ())
        if reached is None:
            reached = set(here)
        else:
            gap = position - before
            reached = {each for each in here if any(each - gap - more in reached for more in range(slop + 1))}
        if not reached:
            return False
        before = position
    return bool(reached)


def _idf(count: int, having: int) -> np.float32:
    ratio = (np.float32(count - having) + _HALF) / (np.float32(having) + _HALF) + _ONE
    # in 64 bits and rounded once: the last bit of NumPy's 32-bit logarithm differs now and then
    return np.float32(math.log(float(ratio)))


def _bm25(
    documents: Documents,
    positions: Mapping[str, Sequence[int]],
    idf: Mapping[str, np.float32],
    average: np.float32,
    wanted: set[int],
) -> tuple[F32, BoolMask]:
    """Returns the score of each document, and the mask of those with a token.

    positions: of each token in the query
    wanted: positions that all need a token
    """
    count = len(documents.rows)
    scores = np.zeros(count, np.float32)
    have_token = np.zeros(count, np.bool_)
    at: dict[int, BoolMask] = {position: np.zeros(count, np.bool_) for position in wanted}
    for token, every in positions.items():
        having = documents.with_token(token)
        if having is None:
            continue
        which, often = having
        frequency = often.astype(np.float32)
        norm = K1 * (_ONE - B + B * documents.lengths[which] / average)
        # in this order, so that every bit equals that of pylance
        weight = idf[token] * ((K1 + _ONE) * frequency / (frequency + norm))
        # once for each position of the query
        for position in every:
            scores[which] += weight
            if position in at:
                at[position][which] = True
        have_token[which] = True
    for each in at.values():
        have_token &= each
    return scores, have_token


def expansions(
    words: Sequence[str], partitions: Sequence[TextPartition], distance: int, prefix_length: int, most: int
) -> dict[str, list[str]]:
    """Returns for each word those of the index within an edit distance, in byte order.

    prefix_length: number of bytes that must be equal
    most: limit for all words together
    """
    every = sorted({word for each in partitions for word in each.words()})
    alike_words: dict[str, list[str]] = {}
    left = most
    for word in words:
        begin = word.encode()[:prefix_length]
        alike: list[str] = []
        for each in every:
            if left == 0:
                break
            if each.startswith(begin) and is_within(word, text := each.decode("utf-8", "replace"), distance):
                alike.append(text)
                left -= 1
        alike_words[word] = alike
    return alike_words


def is_within(a: str, b: str, distance: int) -> bool:
    """Whether the edit distance of two texts is at most `distance`."""
    if abs(len(a) - len(b)) > distance:
        return False
    before = list(range(len(b) + 1))
    for i, letter in enumerate(a, 1):
        row = [i]
        for j, other in enumerate(b, 1):
            row.append(min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (letter != other)))
        if min(row) > distance:
            return False
        before = row
    return before[-1] <= distance
