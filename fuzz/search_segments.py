"""Segments of search indices, opened without the table: with any contents of their files, they return distances and
documents of rows, or raise an error.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import islice
from typing import Any, Final

import numpy as np

from fuzz.index_files import file_cuts
from fuzz.inputs import Values
from fuzz.mutations import cuts, damage
from fuzz.search_files import mutate as damage_file
from lance_sql import _kernels
from lance_sql.format.index_files.full_text import FullTextIndex, TextPartition
from lance_sql.format.index_files.index_file import IndexFile, json_note
from lance_sql.format.index_files.token_fst import TokenFst
from lance_sql.format.index_files.vector_index import AUXILIARY, INDEX, VectorIndex
from lance_sql.format.text_analysis.analyzer import Analyzer
from lance_sql.reads.search.stored_vectors import Probed, stored_vectors
from lance_sql.store import MemoryStore

SET: Final = "words"
"""The part that is a set of words by itself."""
PARAMETERS: Final = "params"
"""The part that says how texts are taken apart."""
_ODD_VALUES: Final[tuple[Any, ...]] = (
    None, True, False, 0, -1, 1, 5, 2.5, 2**40, 2**70, "", "simple", "raw", "ngram", "icu", "text", "json", "German",
    "x", [], [1], ["the"], {}, {"a": 1},
)  # fmt: skip
_NUM_ROWS: Final = 1 << 10
_K: Final = 7
_MOST_WORDS: Final = 300


def read(values: Values) -> None:
    """Reads a set of words, or a segment.

    raises: LanceError
    """
    content = values.get(SET)
    if isinstance(content, bytes):
        _read_words(TokenFst(content))
        return
    if PARAMETERS in values:
        _take_apart(Analyzer.of(json_note(str(values[PARAMETERS]), dict)))
        return
    # the folder is another one in each table
    store = MemoryStore({path.rpartition("/")[2]: data for path, data in values.items() if isinstance(data, bytes)})
    if any(path.endswith(AUXILIARY) for path in values):
        _read_vectors(VectorIndex(IndexFile(store, INDEX), IndexFile(store, AUXILIARY)))
    else:
        for partition in FullTextIndex(lambda name: IndexFile(store, name)).partitions:
            _read_partition(partition)


def _read_words(known: TokenFst) -> None:
    for word, number in islice(known.words(), _MOST_WORDS):
        found = known.find(word)
        assert found is not None, f"{word!r} leads to {number}, and is not found"
    known.find(b"text")


def _take_apart(analyzer: Analyzer) -> None:
    for text in ("Größe of the quick\tfoxes", "", "ab"):
        spans = [(text[start:end], token) for start, end, token in analyzer.spans(text)]
        assert [analyzer.changed(word) for word, _ in spans] == [token for _, token in spans]
        assert [token for _, token in analyzer.tokens(text)] == [token for _, token in spans]


def _read_vectors(index: VectorIndex) -> None:
    stored = stored_vectors(index)
    query = np.arange(index.dimension).astype(index.centroids.dtype) % 5
    nearest = _kernels.NearestRows(1, _K, float("-inf"), float("inf"))
    prepared = stored.prepare(query)
    flags = np.ones(_NUM_ROWS, np.bool_)
    for partition in index.partitions(range(min(len(index.centroids), 50))):
        rows = np.where(partition.row_ids < _NUM_ROWS, partition.row_ids, np.uint64(2**64 - 1)).view(np.int64)
        center = index.centroids[partition.number]
        stored.show(nearest, 0, prepared, [Probed(center, partition, rows)], flags)
    count = nearest.count(0)
    found, far = np.empty(count, np.uint64), np.empty(count, np.float32)
    nearest.result(0, found, far)
    assert count <= _K
    assert (found < _NUM_ROWS).all()
    assert (far[1:] >= far[:-1]).all(), "not by distance"


def _read_partition(partition: TextPartition) -> None:
    words = list(islice(partition.words(), _MOST_WORDS))
    for word in (b"text", b"three", *words[:3], *words[-2:]):
        number = partition.find(word.decode("utf-8", "replace"))
        if number is None:
            continue
        documents, often = partition.documents(number)
        assert len(documents) == len(often) == partition.count(number)
        assert (documents[1:] > documents[:-1]).all(), "documents that do not ascend"
        assert (documents < len(partition.row_ids)).all(), "documents that are not there"


def mutate(rng: np.random.Generator, values: Values) -> Values:
    """A damaged set of words, a parameter that is something else, or a damaged file."""
    if PARAMETERS in values:
        said = json.loads(str(values[PARAMETERS]))
        for name in rng.choice(sorted(said), int(rng.integers(1, 3))).tolist():
            said[name] = _ODD_VALUES[int(rng.integers(len(_ODD_VALUES)))]
        return {PARAMETERS: json.dumps(said)}
    content = values.get(SET)
    return {SET: damage(rng, content)} if isinstance(content, bytes) else damage_file(rng, values)


def some_cuts(values: Values) -> Iterator[tuple[str, int]]:
    """Positions at which sets of words and files are cut."""
    content = values.get(SET)
    if isinstance(content, bytes):
        yield from ((SET, length) for length in cuts(content))
    else:
        yield from file_cuts(values)
