"""N-gram: the rows of the texts with each trigram of letters and digits.

    tokens   posting_list       'abc' = 11 * 37^2 + 12 * 37 + 13, with 0-9 as 1 to 10 and a-z as 11 to 36

Texts are first folded to ASCII, lower-cased, and split at characters other than letters and digits. Only runs of ASCII
are taken from a search text: these stay adjacent in a text, whatever other characters are folded to.

Source: indices, n-gram.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from lance_sql.errors import CorruptFile, UnsupportedFeature, at
from lance_sql.format.index_files.index_file import IndexFile
from lance_sql.values import bitmaps, kinds, row_ranges
from lance_sql.values.arrays import I64, U32

if TYPE_CHECKING:
    from pyroaring import BitMap64

FILE: Final = "ngram_postings.lance"
MAX_TOKENS: Final = 37**3
"""Upper bound of tokens, exclusive."""

_RUNS: Final = re.compile(r"[0-9a-z]{3,}")
_NUMBER_OF: Final = {character: number for number, character in enumerate("0123456789abcdefghijklmnopqrstuvwxyz", 1)}
_BYTES_AT_ONCE: Final = 16 << 20


@dataclass(frozen=True, slots=True)
class Postings:
    """The rows of each trigram, read on demand.

    tokens: ascending: uint32[n]
    list_numbers: the row of each list in the file: int64[n]
    """

    tokens: U32
    list_numbers: I64
    file: IndexFile

    @property
    def num_bytes(self) -> int:
        """Approximate memory."""
        return 12 * len(self.tokens) + (1 << 16)

    def rows_with(self, trigrams: Sequence[int]) -> BitMap64:
        """Returns the addresses, or row ids, of rows that have all of some trigrams, at least one.

        raises: CorruptFile
        """
        from pyroaring import BitMap64

        wanted = np.unique(np.array(trigrams, np.uint32))
        numbers = np.minimum(np.searchsorted(self.tokens, wanted), max(len(self.tokens) - 1, 0))
        if len(self.tokens) == 0 or (self.tokens[numbers] != wanted).any():
            return BitMap64()
        common: BitMap64 | None = None
        for rows in self._lists(np.sort(self.list_numbers[numbers])):
            common = rows if common is None else common & rows
            if not common:
                break
        assert common is not None
        return common

    def _lists(self, list_numbers: I64) -> Iterator[BitMap64]:
        at_once = max(1, int(_BYTES_AT_ONCE / max(self.file.row_bytes(["posting_list"]), 1)))
        for start in range(0, len(list_numbers), at_once):
            (lists,) = self.file.read(["posting_list"], row_ranges.from_sorted(list_numbers[start : start + at_once]))
            with at(file=self.file.path, column="posting_list"):
                if lists.null_count:
                    raise CorruptFile("a trigram without rows")
                for each in lists:
                    yield bitmaps.deserialize_64(each.as_buffer().to_pybytes())


def read(file: IndexFile) -> Postings:
    """Opens the lists of a file.

    raises: CorruptFile; UnsupportedFeature for a file that cannot distinguish NULL from other values
    """
    kind = file.type_of("posting_list")
    with at(file=file.path):
        if file.loses_nulls:
            raise UnsupportedFeature("an n-gram index in a file of version 0.1 is not supported")
        if not (kinds.is_bytes(kind) and kinds.has_offsets(kind)):
            raise CorruptFile(f"lists of rows of type {kind}")
        if file.num_rows > MAX_TOKENS:
            raise CorruptFile(f"{file.num_rows} trigrams, more than the possible {MAX_TOKENS}")
    (stored_tokens,) = file.read(["tokens"])
    with at(file=file.path, column="tokens"):
        if stored_tokens.type != pa.uint32() or stored_tokens.null_count:
            raise CorruptFile(f"trigrams of type {stored_tokens.type}, {stored_tokens.null_count} of them NULL")
        tokens = stored_tokens.to_numpy()
        list_numbers = np.argsort(tokens, kind="stable")
        tokens = tokens[list_numbers]
        if (tokens[1:] == tokens[:-1]).any():
            raise CorruptFile("two lists of rows of one trigram")
    return Postings(tokens, list_numbers.astype(np.int64), file)


def trigrams(text: str) -> list[int]:
    """Returns trigrams of every text that contains this one; none for too few adjacent letters and digits."""
    trigram_numbers = []
    # some other characters have an ASCII letter as their lower case
    lowered = "".join(character.lower() if character.isascii() else " " for character in text)
    for run in _RUNS.findall(lowered):
        numbers = [_NUMBER_OF[character] for character in run]
        trigram_numbers += [(a * 37 + b) * 37 + c for a, b, c in zip(numbers, numbers[1:], numbers[2:], strict=False)]
    return trigram_numbers
