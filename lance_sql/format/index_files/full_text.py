"""The files of a full-text index: its words, the documents of each word, and the lengths of documents.

    metadata.lance             the partitions, and the tokenization parameters
    part_<p>_tokens.lance      the words of a partition, with numbers
    part_<p>_docs.lance        the row and the length of each document, by its number
    part_<p>_invert.lance      the documents of each word, in blocks

Source: full text index specification.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import numpy as np
import pyarrow as pa

from lance_sql import _kernels
from lance_sql.errors import CorruptFile, UnsupportedFeature, at
from lance_sql.format.index_files.index_file import IndexFile, json_note
from lance_sql.format.index_files.token_fst import TokenFst
from lance_sql.runtime.cached_property import cached_property
from lance_sql.runtime.caches import LruCache
from lance_sql.values import kinds, row_ranges
from lance_sql.values.arrays import U32, U64

METADATA: Final = "metadata.lance"
LISTS: Final = "_invert.lance"
"""Suffix of the names of files with posting lists."""
MOST_VERSION: Final = 3


_MOST_PARTITIONS: Final = 1 << 16
_MOST_HELD: Final = 32 << 20
_TAILS: Final = {"fixed32_v1": False, "varint_delta_v1": True}


class FullTextIndex:
    """An open segment of a full-text index. Thread-safe.

    parameters: of the tokenization; those that early releases lacked are missing
    """

    def __init__(self, file: Callable[[str], IndexFile]) -> None:
        """
        file: opens a file of the segment by its name
        raises: CorruptFile; UnsupportedFeature for unknown formats
        """
        metadata = file(METADATA)
        with at(file=metadata.path):
            self.parameters: Mapping[str, Any] = json_note(metadata.note("params"), dict)
            numbers = json_note(metadata.note("partitions"), list)
            if len(numbers) > _MOST_PARTITIONS or not all(isinstance(each, int) and each >= 0 for each in numbers):
                raise CorruptFile(f"{len(numbers)} partitions: {str(numbers)[:80]}")
            version = metadata.number("format_version", 1) or 1
            if version > MOST_VERSION:
                raise UnsupportedFeature(f"format {version} of full-text indices is not supported by this release")
            tail = metadata.note("posting_tail_codec") or "fixed32_v1"
            if tail not in _TAILS:
                raise UnsupportedFeature(f"the code {tail[:40]!r} of posting lists is not supported")
            block_size = metadata.number("posting_block_size", 128) or 0
            if block_size not in (128, 256):
                raise UnsupportedFeature(f"blocks of {block_size} documents are not supported")
        self.block_size = block_size
        self.partitions = tuple(
            TextPartition(
                file(f"part_{number}_tokens.lance"),
                file(f"part_{number}_docs.lance"),
                file(f"part_{number}{LISTS}"),
                block_size,
                is_varint=_TAILS[tail],
            )
            for number in numbers
        )

    @property
    def num_documents(self) -> int:
        """Number of documents, including those of deleted rows."""
        return sum(len(each.row_ids) for each in self.partitions)

    @property
    def num_tokens(self) -> int:
        """Number of words in all documents."""
        return sum(each.num_tokens for each in self.partitions)

    @property
    def num_bytes(self) -> int:
        """Memory, including cached posting lists."""
        return sum(each.num_bytes for each in self.partitions) + 1024


class TextPartition:
    """A part of the documents, with its own words."""

    def __init__(
        self, tokens: IndexFile, documents: IndexFile, lists: IndexFile, block_size: int, *, is_varint: bool
    ) -> None:
        self._tokens, self._lists = tokens, lists
        self._block_size, self._is_varint = block_size, is_varint
        if any(name.startswith("_doc_index") for name in documents.names):
            raise UnsupportedFeature(f"{documents.path}: a full-text index of list elements is not supported")
        row_ids, lengths = documents.read(["_rowid", "_num_tokens"])
        with at(file=documents.path):
            if row_ids.type != pa.uint64() or lengths.type != pa.uint32() or row_ids.null_count or lengths.null_count:
                raise CorruptFile(f"documents are {row_ids.type}, {lengths.type}")
        self.row_ids: U64 = row_ids.to_numpy()
        self.lengths: U32 = lengths.to_numpy()
        self.num_tokens = int(self.lengths.sum(dtype=np.uint64))
        (counts,) = lists.read(["_length"])
        with at(file=lists.path):
            if counts.type != pa.uint32() or counts.null_count:
                raise CorruptFile(f"lengths of lists are {counts.type}")
            self._counts: U32 = counts.to_numpy()
            if len(self._counts) and self._counts.max() > len(self.row_ids):
                raise CorruptFile(f"a word in {self._counts.max()} of {len(self.row_ids)} documents")
        # counted by the owner of the index
        self._cache: LruCache[int, tuple[U32, U32]] = LruCache(
            None, most_bytes=_MOST_HELD, num_bytes=lambda each: each[0].nbytes * 2 + 1
        )

    @property
    def num_bytes(self) -> int:
        """Maximum memory."""
        return self.row_ids.nbytes + self.lengths.nbytes + self._counts.nbytes + min(self._lists.num_bytes, _MOST_HELD)

    def find(self, token: str) -> int | None:
        """Returns the number of a word, or None if no document contains it.

        raises: CorruptFile
        """
        with at(file=self._tokens.path):
            words = self._words
            number = words.find(token.encode()) if isinstance(words, TokenFst) else words.get(token.encode())
            if number is not None and number >= len(self._counts):
                raise CorruptFile(f"word {number} of {len(self._counts)}")
            return number

    def words(self) -> Iterator[bytes]:
        """Yields all words, in byte order.

        raises: CorruptFile
        """
        with at(file=self._tokens.path):
            words = self._words
            yield from (word for word, _ in words.words()) if isinstance(words, TokenFst) else sorted(words)

    def count(self, number: int) -> int:
        """Returns the number of documents with a word."""
        return int(self._counts[number])

    def documents(self, number: int) -> tuple[U32, U32]:
        """Returns the documents with a word, ascending, and its frequency in each.

        raises: CorruptFile
        """
        cached = self._cache.get(number)
        if cached is not None:
            return cached
        (lists,) = self._lists.read(["_posting"], row_ranges.single(number, number + 1))
        count = self.count(number)
        with at(file=self._lists.path, column="_posting"):
            if lists.null_count or not kinds.is_list(lists.type):
                raise CorruptFile(f"a list of documents is NULL, or {lists.type}")
            blocks = lists.flatten()
            if blocks.null_count or blocks.type != pa.large_binary():
                raise CorruptFile(f"a block of documents is NULL, or {blocks.type}")
            if len(blocks) != -(-count // self._block_size):
                raise CorruptFile(f"{count} documents in {len(blocks)} blocks")
            offsets = np.frombuffer(blocks.buffers()[1], np.int64)[blocks.offset : blocks.offset + len(blocks) + 1]
            documents, often = np.empty(count, np.uint32), np.empty(count, np.uint32)
            _kernels.decode_postings(
                blocks.buffers()[2] or b"",
                np.ascontiguousarray(offsets),
                count,
                self._block_size,
                self._is_varint,
                len(self.row_ids),
                documents,
                often,
            )
        if documents.nbytes * 2 < _MOST_HELD:
            self._cache.put(number, (documents, often))
        return documents, often

    @cached_property
    def _words(self) -> TokenFst | dict[bytes, int]:
        if self._tokens.has("_token_fst_bytes"):
            (data,) = self._tokens.read(["_token_fst_bytes"])
            if len(data) != 1 or data.null_count:
                raise CorruptFile(f"{len(data)} sets of words")
            return TokenFst(data[0].as_py())
        tokens, numbers = self._tokens.read(["_token", "_token_id"])
        return {token.encode(): number for token, number in zip(tokens.to_pylist(), numbers.to_pylist(), strict=True)}
