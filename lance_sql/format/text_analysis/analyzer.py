"""Tokenization of texts, as in the indices that Lance writes.

Tokens keep their positions in the text. Too long tokens are left out, and so are stop words, which are looked up
after stemming. Options are lower case, stemming, and removal of accents.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any, Final

from lance_sql.errors import CorruptFile, UnsupportedFeature, missing_package
from lance_sql.runtime.cached_property import cached_property

Token = tuple[int, str]
"""The position of a token in its text, and the token."""

_BASES: Final = ("simple", "whitespace", "raw", "ngram")
_WHITESPACE: Final = re.compile(r"[^\t\n\f\r ]+")
_WHOLE: Final = re.compile(r"\A.*", re.DOTALL)


@dataclass(frozen=True)
class Analyzer:
    """The tokenization of a text. By default it only finds words.

    base: simple, for runs of letters and digits; whitespace; raw, for the whole text; ngram, for all substrings of
        `least` to `most` characters
    max_bytes: leave out tokens of at least this many bytes
    language: for stemming and stop words
    """

    base: str = "simple"
    max_bytes: int | None = None
    lower: bool = False
    language: str = "English"
    stems: bool = False
    removes_stop_words: bool = False
    stop_words: tuple[str, ...] | None = None
    folds: bool = False
    least: int = 3
    most: int = 3
    prefix_only: bool = False

    @classmethod
    def of(cls, parameters: Mapping[str, Any]) -> Analyzer:
        """Creates the analyzer of an index.

        raises: UnsupportedFeature for unknown tokenizers; CorruptFile for parameters of other types;
            MissingDependency without the stemmer
        """
        base = parameters.get("base_tokenizer", "simple")
        kind = parameters.get("lance_tokenizer") or "text"
        if base not in _BASES or kind != "text":
            raise UnsupportedFeature(
                f"a full-text index with the tokenizer {str(base)[:40]!r} for {str(kind)[:40]!r} is not supported"
            )
        is_ngram = base == "ngram"
        custom = parameters.get("custom_stop_words")
        if not isinstance(custom, list | tuple | None):
            raise CorruptFile(f"stop words that are {type(custom).__name__}")
        longest = parameters.get("max_token_length", 40)
        analyzer = cls(
            base,
            None if longest is None else _length("max_token_length", longest),
            bool(parameters.get("lower_case", True)),
            str(parameters.get("language", "English")).strip('"'),
            bool(parameters.get("stem", True)) and not is_ngram,
            bool(parameters.get("remove_stop_words", True)) and not is_ngram,
            None if custom is None else tuple(map(str, custom)),
            bool(parameters.get("ascii_folding", True)),
            _length("min_ngram_length", parameters.get("min_ngram_length", 3)),
            _length("max_ngram_length", parameters.get("max_ngram_length", 3)),
            bool(parameters.get("prefix_only", False)),
        )
        _ = analyzer._stem, analyzer._stopped
        return analyzer

    def tokens(self, texts: str | Iterable[str | None]) -> list[Token]:
        """Tokenizes a text, or the items of a list with consecutive positions."""
        tokens: list[Token] = []
        first = 0
        for text in [texts] if isinstance(texts, str) else texts:
            last = first - 1
            for position, token in self._parts(text or ""):
                last = first + position
                changed = self._changed_once(token)
                if changed is not None:
                    tokens.append((last, changed))
            first = last + 1
        return tokens

    def spans(self, text: str) -> Iterator[tuple[int, int, str]]:
        """Yields the tokens of `tokens` with their start and end in the text. This is slower than `tokens`, and only
        pages need it."""
        pattern = self._pattern
        spans = self._ngrams(text) if pattern is None else (each.span() for each in pattern.finditer(text))
        for start, end in spans:
            changed = self._changed_once(text[start:end])
            if changed is not None:
                yield start, end, changed

    def _parts(self, text: str) -> Iterable[Token]:
        """Splits a text into parts; n-grams all have one position."""
        pattern = self._pattern
        if pattern is None:
            return ((0, text[start:end]) for start, end in self._ngrams(text))
        return enumerate(pattern.findall(text))

    @cached_property
    def _pattern(self) -> re.Pattern[str] | None:
        """The pattern of tokens; None for n-grams, which overlap."""
        match self.base:
            case "simple":
                return _words()
            case "whitespace":
                return _WHITESPACE
            case "raw":
                return _WHOLE
        return None

    def _ngrams(self, text: str) -> Iterator[tuple[int, int]]:
        for start in range(1 if self.prefix_only else len(text)):
            for size in range(self.least, min(self.most, len(text) - start) + 1):
                yield start, start + size

    def _changed_once(self, token: str) -> str | None:
        try:
            return self._changed_tokens[token]
        except KeyError:
            changed = self._changed_tokens[token] = self.changed(token)
            return changed

    @cached_property
    def _changed_tokens(self) -> dict[str, str | None]:
        """Normalized tokens; bounded, because texts may have any number of them."""
        return _Bounded()

    def changed(self, token: str) -> str | None:
        """Returns the normalized token, or None if it is left out."""
        if self.max_bytes is not None and len(token.encode()) >= self.max_bytes:
            return None
        if self.lower:
            token = token.lower()
        if self._stem is not None:
            token = self._stem(token)
        if token in self._stopped:
            return None
        if self.folds and not token.isascii():
            token = token.translate(_folding())
        return token if token or self.base == "raw" else None

    @cached_property
    def _stem(self) -> Any:
        if not self.stems:
            return None
        try:
            import Stemmer
        except ImportError as error:
            raise missing_package("Stems of words need PyStemmer. Pass stem=False, or install it", "search") from error
        try:
            return Stemmer.Stemmer(self.language.lower()).stemWord
        except KeyError as error:
            raise UnsupportedFeature(f"stems of {self.language[:40]!r} are not supported") from error

    @cached_property
    def _stopped(self) -> frozenset[str]:
        if not self.removes_stop_words:
            return frozenset()
        if self.stop_words is not None:
            return frozenset(self.stop_words)
        words_by_language = _table("stop_words")
        if self.language not in words_by_language:
            raise UnsupportedFeature(f"stop words of {self.language[:40]!r} are not supported")
        return frozenset(words_by_language[self.language])

    def __reduce__(self) -> Any:
        values = (getattr(self, name) for name in self.__dataclass_fields__)
        return Analyzer, tuple(values)


def _length(name: str, value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 1 << 32:
        raise CorruptFile(f"{name} is {str(value)[:40]!r}")
    return value


class _Bounded(dict[str, str | None]):
    """A dictionary that clears itself when it is full."""

    _MOST: Final = 1 << 17

    def __setitem__(self, key: str, value: str | None) -> None:
        if len(self) >= self._MOST:
            self.clear()
        super().__setitem__(key, value)


@cache
def _table(name: str) -> Any:
    return json.loads(
        resources.files("lance_sql.format.text_analysis").joinpath(f"tables/{name}.json").read_text("utf-8")
    )


def word_characters() -> Sequence[tuple[int, int]]:
    """Returns the first and the last of each range of word characters."""
    ranges: Sequence[tuple[int, int]] = _table("word_characters")
    return ranges


@cache
def _words() -> re.Pattern[str]:
    ranges = "".join(f"\\U{low:08x}-\\U{high:08x}" for low, high in word_characters())
    return re.compile(f"[{ranges}]+")


@cache
def _folding() -> dict[int, str]:
    return {ord(letter): plain for letter, plain in _table("ascii_folding").items()}
