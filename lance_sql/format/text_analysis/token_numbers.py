"""Tokenization of many texts at once, by token numbers: kernels find the words, and Python normalizes each once."""

from __future__ import annotations

from functools import cache
from typing import Final

import numpy as np
import pyarrow as pa

from lance_sql import _kernels
from lance_sql._kernels import Splitting
from lance_sql.format.text_analysis.analyzer import Analyzer, word_characters
from lance_sql.values import kinds
from lance_sql.values.arrays import U32

LEFT_OUT: Final = 0xFFFFFFFF
"""The number of a word that is not a token, but has a position."""

_SPLITTINGS: Final = {
    "simple": Splitting.WORDS,
    "whitespace": Splitting.WHITESPACE,
    "raw": Splitting.WHOLE,
    "ngram": Splitting.NGRAMS,
}


class TokenNumbers:
    """The tokens of all added texts. Not thread-safe.

    tokens: by their numbers
    """

    def __init__(self, analyzer: Analyzer) -> None:
        self._analyzer = analyzer
        self._words = _kernels.WordDictionary(
            _SPLITTINGS[analyzer.base], analyzer.least, analyzer.most, analyzer.prefix_only, _word_characters()
        )
        self.tokens: list[str] = []
        self._numbers: dict[str, int] = {}
        self._token_of = np.empty(1024, np.uint32)
        self._num_numbered = 0

    @property
    def num_bytes(self) -> int:
        """Approximate memory."""
        return self._words.num_bytes + 200 * len(self.tokens)

    def numbers(self, texts: pa.Array) -> tuple[bytes, bytes, U32]:
        """Returns the words of texts, u32, the end of the words of each text, i64, and the token number of each word.

        texts: strings, or lists of them, whose words follow each other; NULL is a text without words
        """
        size = len(texts)
        ends_of_rows = None
        if not kinds.is_text(texts.type):
            lengths = texts.value_lengths().fill_null(0).to_numpy(zero_copy_only=False)
            ends_of_rows = np.cumsum(lengths, dtype=np.int64)
            texts = texts.flatten()
        elif texts.null_count:
            ends_of_rows = np.cumsum(texts.is_valid().to_numpy(zero_copy_only=False), dtype=np.int64)
            texts = texts.drop_null()
        texts = pa.array(texts, pa.large_string()) if texts.type != pa.large_string() else texts
        texts = texts.fill_null("")
        _, offsets, data = texts.buffers()
        starts = np.zeros(1, np.int64) if offsets is None else np.frombuffer(offsets, np.int64)
        starts = starts[texts.offset : texts.offset + len(texts) + 1]
        words, ends = self._words.add(data or b"", np.ascontiguousarray(starts), len(texts))
        if ends_of_rows is not None:
            every = np.concatenate(([0], np.frombuffer(ends, np.int64)))
            ends = every[ends_of_rows].tobytes()
        assert len(ends) == 8 * size
        return words, ends, self._token_numbers()

    def _token_numbers(self) -> U32:
        num_numbered, count = self._num_numbered, self._words.num_words
        if count > len(self._token_of):
            self._token_of = np.concatenate(
                (self._token_of[:num_numbered], np.empty(2 * count - num_numbered, np.uint32))
            )
        if count > num_numbered:
            self._token_of[num_numbered:count] = [
                LEFT_OUT if token is None else self._number(token)
                for token in map(
                    self._analyzer.changed,
                    (word.decode("utf-8", "replace") for word in self._words.words(num_numbered)),
                )
            ]
            self._num_numbered = count
        return self._token_of[:count]

    def _number(self, token: str) -> int:
        number = self._numbers.get(token)
        if number is None:
            number = self._numbers[token] = len(self.tokens)
            self.tokens.append(token)
        return number


@cache
def _word_characters() -> bytes:
    return np.array(word_characters(), np.uint32).tobytes()
