"""A text column at one version: the documents of its index, and those of rows that no index covers.

The last one of several documents of a row counts: merged indices keep those of earlier images.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, Final, Protocol
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from lance_sql import _kernels
from lance_sql.errors import UnsupportedFeature
from lance_sql.format.index_files.full_text import MOST_VERSION, FullTextIndex, TextPartition
from lance_sql.format.text_analysis.analyzer import Analyzer, Token
from lance_sql.reads.scan.predicates import Predicate
from lance_sql.reads.scan.projection import OutputColumn, resolve
from lance_sql.reads.scan.scan import Scan
from lance_sql.reads.scan.system_columns import ROW_ADDRESS
from lance_sql.reads.search.numbering import RowNumbers
from lance_sql.runtime.caches import LruCache, Measured, Usage
from lance_sql.table.index_kinds import FULL_TEXT
from lance_sql.table.indices import IndexSegment
from lance_sql.table.snapshot import Snapshot
from lance_sql.values.arrays import F32, I64, U32

K1: Final = np.float32(1.2)
B: Final = np.float32(0.75)
_ONE: Final = np.float32(1)
WINDOW_DOCUMENTS: Final = 512
_MOST_PREPARED: Final = 32 << 20

_MOST_NUMBERS: Final = 4096
_NOT_THERE: Final = -1
"""Number of a word that is not in a partition."""


@dataclass(frozen=True)
class ScoredList:
    """Documents of a word, u32, with ratios, f32, and their windows; see `_kernels.prepare_word_list`."""

    documents: U32
    ratios: F32
    starts: U32
    greatest: F32

    @property
    def num_bytes(self) -> int:
        """Memory of the arrays."""
        return 64 + self.documents.nbytes + self.ratios.nbytes + self.starts.nbytes + self.greatest.nbytes


class Documents(Protocol):
    """Some documents of a column.

    rows: the number of the row of each; -1 for one that does not count
    lengths: number of tokens of each, as scores use it
    is_indexed: words come from an index, in which similar words can be found
    """

    rows: I64
    lengths: F32
    is_indexed: bool

    def with_token(self, token: str) -> tuple[npt.NDArray[Any], npt.NDArray[Any]] | None:
        """Returns the documents with a token, ascending, and its frequencies."""
        ...


@dataclass
class IndexedDocuments:
    """Documents of a partition of an index."""

    partition: TextPartition
    rows: I64
    lengths: F32
    is_indexed: bool = True
    _prepared: LruCache[tuple[int, float], ScoredList] = field(
        default_factory=lambda: LruCache(
            "scored lists of words", most_bytes=_MOST_PREPARED, num_bytes=lambda each: each.num_bytes
        )
    )
    _numbers: LruCache[str, int] = field(
        default_factory=lambda: LruCache("numbers of words", most_entries=_MOST_NUMBERS)
    )

    def number_of(self, token: str) -> int | None:
        """Returns the number of a token in the partition; None if it is missing."""
        number = self._numbers.get_or_make(token, lambda: self._find(token))
        return None if number == _NOT_THERE else number

    def _find(self, token: str) -> int:
        number = self.partition.find(token)
        return _NOT_THERE if number is None else number

    def scored(self, token: str, average: np.float32) -> ScoredList | None:
        """Returns the documents with a token, in the form of the kernels; None without any.

        average: average number of tokens of a document
        """
        number = self.number_of(token)
        if number is None:
            return None
        key = number, float(average)
        cached = self._prepared.get(key)
        if cached is not None:
            return cached
        documents, often = self.partition.documents(number)
        count = len(self.rows)
        windows = -(-count // WINDOW_DOCUMENTS)
        ratios, starts = np.empty(len(documents), np.float32), np.empty(windows + 1, np.uint32)
        greatest = np.empty(windows, np.float32)
        norms = K1 * (_ONE - B + B * self.lengths / average)
        _kernels.prepare_word_list(documents, often, len(documents), norms, count, ratios, starts, greatest)
        scored = ScoredList(documents, ratios, starts, greatest)
        if scored.num_bytes < _MOST_PREPARED:
            self._prepared.put(key, scored)
        return scored

    def with_token(self, token: str) -> tuple[npt.NDArray[Any], npt.NDArray[Any]] | None:
        number = self.number_of(token)
        return None if number is None else self.partition.documents(number)


@dataclass
class FreshDocuments:
    """Documents of rows that no index covers, tokenized on the fly."""

    rows: I64
    lengths: F32
    words: Mapping[str, tuple[list[int], list[int]]]
    is_indexed: bool = False

    def with_token(self, token: str) -> tuple[npt.NDArray[Any], npt.NDArray[Any]] | None:
        postings = self.words.get(token)
        return None if postings is None else (np.array(postings[0], np.int64), np.array(postings[1], np.uint32))


@dataclass
class TextColumn:
    """Documents and statistics of a text column.

    count, total: number of documents, and of their tokens, for scores of an index
    fresh: rows without an index, with numbers of their own
    """

    column: OutputColumn
    analyzer: Analyzer
    indexed: Sequence[IndexedDocuments]
    fresh: FreshDocuments
    count: int
    total: int
    note: str
    _counts: dict[str, int] = field(default_factory=dict)

    def num_indexed(self, token: str) -> int:
        """Returns the number of indexed documents with a token."""
        if token not in self._counts:
            numbers = ((each, each.number_of(token)) for each in self.indexed)
            self._counts[token] = sum(each.partition.count(number) for each, number in numbers if number is not None)
        return self._counts[token]

    def num_fresh(self, token: str) -> int:
        """Returns the number of documents with a token among rows without an index."""
        postings = self.fresh.words.get(token)
        return 0 if postings is None else len(postings[0])


def open_column(
    snapshot: Snapshot,
    name: str,
    numbers: RowNumbers,
    allowed: Predicate | None,
    *,
    use_index: bool,
    fast_search: bool,
) -> TextColumn:
    """Opens the documents of a column.

    raises: CorruptFile, UnsupportedFeature for an unreadable index, whose words are unknown
    """
    (column,) = resolve(snapshot, [name])
    segments = _segments(snapshot, column) if use_index and snapshot.use_indices else []
    live = snapshot.manifest.fragments.distinct_ids
    if not segments:
        fresh = _fresh(snapshot, column, numbers, allowed, live, Analyzer())
        note = f"no index on {name}: rows are taken apart, words as they are"
        return TextColumn(column, Analyzer(), (), fresh, 0, 0, note)
    opened = _indexed(snapshot, name, segments, live, numbers)
    analyzer, indexed = opened.analyzer, opened.documents
    uncovered = live.difference(*(segment.fragment_ids or frozenset() for segment in segments))
    fresh = _fresh(snapshot, column, numbers, allowed, frozenset() if fast_search else uncovered, analyzer)
    note = f"index {segments[0].name}: {len(segments)} segments"
    if uncovered and not fast_search:
        note += f"; {len(uncovered)} fragments that it does not cover are taken apart"
    return TextColumn(column, analyzer, indexed, fresh, opened.count, opened.total, note)


def analyzer_of(snapshot: Snapshot, name: str, numbers: RowNumbers, *, use_index: bool) -> Analyzer:
    """Returns the tokenizer of the texts of a column.

    raises: as `open_column`
    """
    (column,) = resolve(snapshot, [name])
    segments = _segments(snapshot, column) if use_index and snapshot.use_indices else []
    live = snapshot.manifest.fragments.distinct_ids
    return _indexed(snapshot, name, segments, live, numbers).analyzer if segments else Analyzer()


@dataclass(frozen=True)
class _Indexed:
    """Index of a column at a version; see `TextColumn`."""

    analyzer: Analyzer
    documents: Sequence[IndexedDocuments]
    count: int
    total: int


_lock = Lock()
_indexed_by_snapshot: WeakKeyDictionary[Snapshot, dict[str, _Indexed]] = WeakKeyDictionary()
_COUNTED: Final = Measured(
    "documents for searches", lambda: Usage(len(_indexed_by_snapshot)), _indexed_by_snapshot.clear
)


def _indexed(
    snapshot: Snapshot, name: str, segments: Sequence[IndexSegment], live: frozenset[int], numbers: RowNumbers
) -> _Indexed:
    """Returns the documents of all segments; read once for each version."""
    with _lock:
        by_column = _indexed_by_snapshot.setdefault(snapshot, {})
        indexed = by_column.get(name)
    if indexed is None:
        indexed = _read_indexed(snapshot, segments, live, numbers)
        with _lock:
            by_column[name] = indexed
    return indexed


def _read_indexed(
    snapshot: Snapshot, segments: Sequence[IndexSegment], live: frozenset[int], numbers: RowNumbers
) -> _Indexed:
    opened = [(each, _open(snapshot, each)) for each in segments]
    analyzer = Analyzer.of(opened[0][1].parameters)
    if any(index.parameters != opened[0][1].parameters for _, index in opened):
        raise UnsupportedFeature(f"the segments of the index {segments[0].name!r} tokenize text in different ways")
    indexed: list[IndexedDocuments] = []
    last = np.full(numbers.num_rows, -1, np.int64)
    first = 0
    for segment, index in opened:
        inside = numbers.of_fragments(live & (segment.fragment_ids or frozenset()))
        flags = numbers.live if inside is None else numbers.live & inside
        for partition in index.partitions:
            rows = numbers.of_row_ids(partition.row_ids)
            counts = (rows >= 0) & (flags[np.maximum(rows, 0)] if len(flags) else False)
            rows = np.where(counts, rows, -1)
            # the last one of several counts
            last[rows[counts]] = first + np.flatnonzero(counts)
            first += len(rows)
            indexed.append(IndexedDocuments(partition, rows, _lengths(partition, index.block_size)))
    first = 0
    for each in indexed:
        own = np.arange(first, first + len(each.rows))
        stale = (
            (each.rows >= 0) & (last[np.maximum(each.rows, 0)] != own) if len(last) else np.zeros(len(own), np.bool_)
        )
        each.rows[stale] = -1
        first += len(each.rows)
    count, total = sum(index.num_documents for _, index in opened), sum(index.num_tokens for _, index in opened)
    return _Indexed(analyzer, indexed, count, total)


def _segments(snapshot: Snapshot, column: OutputColumn) -> list[IndexSegment]:
    """Returns the segments of the first index of the column."""
    inside = column.field
    assert inside is not None
    for name in column.path:
        inside = next(child for child in inside.children if child.name == name)
    # the index of a list column is on the list or on its items
    ids = {inside.id, *(child.id for child in inside.children)}
    every = [each for each in snapshot.indices() if each.kind is FULL_TEXT]
    name_of = next((each.name for each in every if set(each.field_ids[:1]) & ids), None)
    return [each for each in every if each.name == name_of]


def _open(snapshot: Snapshot, segment: IndexSegment) -> FullTextIndex:
    way = "pass use_index=False to search without it, by whole words"
    try:
        if not 1 <= segment.index_version <= MOST_VERSION:
            raise UnsupportedFeature(f"its format {segment.index_version} is not supported by this release")
        index = snapshot.open_indices.open_for_search(segment)
    except UnsupportedFeature as error:
        raise UnsupportedFeature(f"The full-text index {segment.name!r} cannot be read: {error}; {way}") from error
    assert isinstance(index, FullTextIndex)
    return index


def _lengths(partition: TextPartition, block_size: int) -> F32:
    lengths = partition.lengths
    if block_size == 256:
        # four significant bits
        bits = np.floor(np.log2(np.maximum(lengths, 1))).astype(np.int64)
        shift = np.maximum(bits - 3, 0).astype(np.uint32)
        lengths = lengths >> shift << shift
    return lengths.astype(np.float32)


def _fresh(
    snapshot: Snapshot,
    column: OutputColumn,
    numbers: RowNumbers,
    allowed: Predicate | None,
    fragments: frozenset[int],
    analyzer: Analyzer,
) -> FreshDocuments:
    """Tokenizes the documents of rows of some fragments."""
    words: dict[str, tuple[list[int], list[int]]] = {}
    rows: list[int] = []
    lengths: list[int] = []
    if fragments:
        (address,) = resolve(snapshot, [ROW_ADDRESS])
        scan = Scan(snapshot, (column, address), allowed, None, None)
        task = scan.task(each for each in scan.plan.fragments() if each.fragment.id in fragments)
        for batch in task.to_reader():
            row_numbers = numbers.of_addresses(batch.column(1).to_numpy()).tolist()
            for row, text in zip(row_numbers, batch.column(0).to_pylist(), strict=True):
                tokens = analyzer.tokens(text) if text is not None else []
                if not tokens:
                    continue
                for token, often in Counter(token for _, token in tokens).items():
                    documents, counts = words.setdefault(token, ([], []))
                    documents.append(len(rows))
                    counts.append(often)
                rows.append(row)
                lengths.append(len(tokens))
    return FreshDocuments(np.array(rows, np.int64), np.array(lengths, np.float32), words)


def tokens_of(analyzer: Analyzer, texts: Iterable[Any]) -> list[list[Token]]:
    """Returns the tokens of some values of a column."""
    return [analyzer.tokens(text) if text is not None else [] for text in texts]
