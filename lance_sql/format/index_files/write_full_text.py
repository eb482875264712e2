"""Building of a full-text index: texts are tokenized, and each word gets the list of its documents.

texts --> numbers of words --> lists of documents --> a partition of three files, whenever the lists are large

Source: full text index specification, format 2.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import pyarrow as pa
from pyroaring import BitMap

from lance_sql import _kernels
from lance_sql.errors import InvalidArgument, UnsupportedFeature
from lance_sql.format.file.writer import WrittenFile
from lance_sql.format.index_files import writing
from lance_sql.format.index_files.full_text import LISTS, METADATA
from lance_sql.format.proto import table_pb2
from lance_sql.format.text_analysis.analyzer import Analyzer
from lance_sql.format.text_analysis.token_numbers import TokenNumbers
from lance_sql.store import Store
from lance_sql.values import kinds
from lance_sql.values.arrays import U64

FORMAT: Final = 2
PARTITION_BYTES: Final = 160 << 20
"""Size of the lists of a partition; writing one takes a small multiple of it."""

DEFAULTS: Final[Mapping[str, Any]] = {
    "lance_tokenizer": "text",
    "base_tokenizer": "simple",
    "language": "English",
    "with_position": False,
    "max_token_length": 40,
    "lower_case": True,
    "stem": True,
    "remove_stop_words": True,
    "custom_stop_words": None,
    "ascii_folding": True,
    "min_ngram_length": 3,
    "max_ngram_length": 3,
    "prefix_only": False,
    "block_size": 128,
    "split_identifiers": False,
    "split_on_numerics": False,
    "preserve_original": False,
    "index_operators": False,
}
"""Default tokenization parameters, in the terms and the order of the files."""

FIXED: Final = (
    "lance_tokenizer",
    "block_size",
    "split_identifiers",
    "split_on_numerics",
    "preserve_original",
    "index_operators",
)
"""Parameters with fixed values."""

_NOTES: Final = {"format_version": str(FORMAT), "posting_tail_codec": "varint_delta_v1", "posting_block_size": "128"}
_POSITION_NOTES: Final = {"positions_layout": "shared_stream_v2", "positions_codec": "packed_delta_v1"}


def parameters_of(options: Mapping[str, Any]) -> dict[str, Any]:
    """Returns all parameters of an index, given some of them.

    raises: InvalidArgument for unknown or invalid ones; UnsupportedFeature for unknown
        tokenizations
    """
    option_names = [name for name in DEFAULTS if name not in FIXED]
    for name, value in options.items():
        if name not in option_names:
            raise InvalidArgument(f"A full-text index has no option {name!r}; options: {', '.join(option_names)}")
        default = DEFAULTS[name]
        if isinstance(default, bool) and not isinstance(value, bool):
            raise InvalidArgument(f"{name}={value!r} is not True or False")
        if (
            type(default) is int
            and value is not None
            and (isinstance(value, bool) or not isinstance(value, int) or value < 1)
        ):
            raise InvalidArgument(f"{name}={value!r} is not a number of at least 1")
    parameters = {**DEFAULTS, **options}
    if parameters["base_tokenizer"] == "ngram":
        parameters.update(stem=False, remove_stop_words=False)
        if parameters["with_position"]:
            raise InvalidArgument("n-grams have no order: leave with_position out")
    if parameters["custom_stop_words"] is not None:
        if isinstance(parameters["custom_stop_words"], str) or not isinstance(
            parameters["custom_stop_words"], list | tuple | set
        ):
            raise InvalidArgument("custom_stop_words must be a list of words")
        parameters["custom_stop_words"] = sorted(map(str, parameters["custom_stop_words"]))
    Analyzer.of(parameters)
    return parameters


def details(parameters: Mapping[str, Any]) -> bytes:
    """Returns the details for the manifest of an index with these parameters."""
    length = parameters.get("max_token_length", 40)
    message = table_pb2.InvertedIndexDetails(
        base_tokenizer=parameters["base_tokenizer"],
        language=json.dumps(parameters["language"]),
        with_position=parameters["with_position"],
        max_token_length=length,
        lower_case=parameters["lower_case"],
        stem=parameters["stem"],
        remove_stop_words=parameters["remove_stop_words"],
        ascii_folding=parameters["ascii_folding"],
        min_ngram_length=parameters["min_ngram_length"],
        max_ngram_length=parameters["max_ngram_length"],
        prefix_only=parameters["prefix_only"],
        block_size=128,
        posting_format_version=FORMAT,
    )
    return bytes(message.SerializeToString())


def check(type: pa.DataType) -> None:
    """raises: UnsupportedFeature for columns of other types than texts, or lists of texts."""
    inner = type.value_type if kinds.is_list(type) else type
    if not kinds.is_text(inner):
        raise UnsupportedFeature(f"a full-text index on a column of type {type} is not supported")


class FullTextBuilder:
    """Takes the texts of rows with their row ids."""

    def __init__(
        self,
        parameters: Mapping[str, Any],
        store: Store,
        folder: str,
        *,
        file_version: str,
        partition_bytes: int = PARTITION_BYTES,
    ) -> None:
        """
        parameters: of `parameters_of`, or of an existing index
        folder: of the files
        raises: as `Analyzer.of`
        """
        self._parameters = {**DEFAULTS, **parameters}
        self._analyzer = Analyzer.of(self._parameters)
        self._store, self._folder, self._file_version = store, folder, file_version
        self._partition_bytes = partition_bytes
        self._written: list[WrittenFile] = []
        self._num_partitions = 0
        self._begin()

    def _begin(self) -> None:
        self._tokens = TokenNumbers(self._analyzer)
        self._lists = _kernels.PostingLists(self._parameters["with_position"], self._analyzer.base == "ngram")
        self._row_ids: list[U64] = []

    def add(self, texts: pa.Array, row_ids: U64) -> None:
        """Adds rows.

        raises: errors of the store
        """
        words, ends, token_of = self._tokens.numbers(texts)
        has_words = np.zeros(len(texts), np.bool_)
        self._lists.add(words, ends, len(texts), token_of, has_words.view(np.uint8))
        self._row_ids.append(row_ids[has_words])
        if self._lists.num_bytes + self._tokens.num_bytes > self._partition_bytes:
            self._write_partition()

    def write(self) -> tuple[WrittenFile, ...]:
        """Writes the remaining data, and returns all files of the index.

        raises: errors of the store
        """
        try:
            if self._lists.num_documents or not self._num_partitions:
                self._write_partition()
            notes = {
                "params": json.dumps(self._parameters, separators=(",", ":")),
                "partitions": json.dumps(list(range(self._num_partitions)), separators=(",", ":")),
                "token_set_format": "fst",
                **self._notes,
            }
            empty = pa.array([BitMap().serialize()], pa.binary())
            self._file(METADATA, {"deleted_fragments": empty}, notes)
            return tuple(self._written)
        except BaseException:
            for each in self._written:
                self._store.delete(each.path)
            raise

    @property
    def _notes(self) -> dict[str, str]:
        return {**_NOTES, **(_POSITION_NOTES if self._parameters["with_position"] else {})}

    def _write_partition(self) -> None:
        number = self._num_partitions
        self._num_partitions += 1
        tokens = [token.encode() for token in self._tokens.tokens]
        # every token has a list, because tokens that only earlier batches had are not in the set
        order = sorted(range(len(tokens)), key=tokens.__getitem__)
        ordered = [tokens[each] for each in order]
        ends = np.concatenate(([0], np.cumsum([len(each) for each in ordered], dtype=np.int64))).astype(np.int64)
        transducer = _kernels.token_set(b"".join(ordered), ends, len(ordered))
        blocks, impacts, scores, counts, positions, position_ends, starts, start_ends = self._lists.encode(
            np.array(order, np.uint32)
        )
        lengths = np.frombuffer(self._lists.lengths(), np.uint32)
        lists: dict[str, pa.Array] = {
            "_posting": _lists(*blocks),
            "_max_score": pa.array(np.frombuffer(scores, np.float32)),
            "_length": pa.array(np.frombuffer(counts, np.uint32)),
            "_impacts": _lists(*impacts),
        }
        if self._parameters["with_position"]:
            lists["_compressed_position"] = _binaries(positions, position_ends)
            lists["_position_block_offset"] = pa.ListArray.from_arrays(
                pa.array(np.frombuffer(start_ends, np.int32)), pa.array(np.frombuffer(starts, np.uint32))
            )
        documents = {
            "_rowid": pa.array(np.concatenate([np.empty(0, np.uint64), *self._row_ids])),
            "_num_tokens": pa.array(lengths),
        }
        words = {
            "_token_fst_bytes": pa.array([transducer], pa.large_binary()),
            "_token_next_id": pa.array([len(tokens)], pa.uint32()),
            "_token_total_length": pa.array([int(ends[-1])], pa.uint64()),
        }
        self._begin()
        self._file(f"part_{number}_tokens.lance", words, {})
        total = {"total_tokens": str(int(lengths.sum(dtype=np.uint64)))}
        self._file(f"part_{number}_docs.lance", documents, total)
        self._file(f"part_{number}{LISTS}", lists, self._notes)

    def _file(self, name: str, columns: Mapping[str, pa.Array], notes: Mapping[str, str]) -> None:
        fields = [pa.field(key, values.type, nullable=False) for key, values in columns.items()]
        batch = pa.RecordBatch.from_arrays(list(columns.values()), schema=pa.schema(fields))
        path = f"{self._folder}/{name}"
        file = writing.write(self._store, path, batch.schema, [batch], file_version=self._file_version, notes=notes)
        self._written.append(file)


def _binaries(data: bytes, ends: bytes) -> pa.Array:
    return pa.Array.from_buffers(pa.large_binary(), len(ends) // 8 - 1, [None, pa.py_buffer(ends), pa.py_buffer(data)])


def _lists(data: bytes, item_ends: bytes, list_ends: bytes) -> pa.Array:
    return pa.ListArray.from_arrays(pa.array(np.frombuffer(list_ends, np.int32)), _binaries(data, item_ends))
