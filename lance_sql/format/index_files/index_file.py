"""One file of an index: a data file with named columns, read without its table.

Index files are immutable, so objects made of a whole file are cached for all tables of the process
(`IndexFile.once`).

Source: indices, directory layout.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, TypeVar

import numpy as np
import pyarrow as pa

from lance_sql.errors import CorruptFile, UnsupportedFeature, at
from lance_sql.format.file import mapped_rows
from lance_sql.format.file.column import Column
from lance_sql.format.file.column_rows import read_columns
from lance_sql.format.file.leaves import is_leaf, leaves
from lance_sql.format.file.mapped_columns import PlainColumn
from lance_sql.format.file.mapped_rows import FileRows
from lance_sql.format.file.metadata_v2 import MetadataV2
from lance_sql.format.file.opening import Listed, open_column
from lance_sql.format.file.page_cache import KNOWN, CachedPage, PageCache
from lance_sql.format.file.reader import FileReader
from lance_sql.format.layouts.nest import Chain
from lance_sql.format.schema import Schema, arrow_field
from lance_sql.format.schema.types import is_json
from lance_sql.runtime.cached_property import cached_property
from lance_sql.store import Store
from lance_sql.values import row_ranges
from lance_sql.values.row_ranges import RowRanges

MOST_CACHED_BYTES: Final = 8 << 20
"""Larger objects are not cached for later tables, because they would leave no room for others."""

_HEAD_BYTES: Final = 4 << 20
_PART_BYTES: Final = 16 << 20
_MOST_DIGITS: Final = 20

_Made = TypeVar("_Made", bound=CachedPage)


class IndexFile:
    """A file of an index, opened on first use. Thread-safe.

    path: in the store
    raises: each of its methods, CorruptFile if the file is missing or damaged, UnsupportedFeature for an unknown
        version
    """

    def __init__(
        self,
        store: Store,
        path: str,
        *,
        size: int | None = None,
        has_short_end: bool = False,
        uses_cache: bool = True,
    ) -> None:
        """
        size: of the file, if known
        has_short_end: as for `FileReader`
        uses_cache: whether `once` may use and fill the cache
        """
        self.path = path
        self._store = store
        self._size = size
        self._has_short_end = has_short_end
        self._uses_cache = uses_cache
        self._identity: str | None = None
        self._columns: dict[str, Column] = {}
        self._plain_columns: dict[tuple[str, ...], Sequence[PlainColumn]] = {}

    @cached_property
    def _file(self) -> FileReader:
        cache = PageCache("pages of index files", _HEAD_BYTES)
        file = FileReader(self._store, self.path, cache, size=self._size, has_short_end=self._has_short_end)
        self._identity = self._identity or file.bytes.identity
        return file

    def is_unchanged(self, store: Store) -> bool:
        """Whether a store has the file that was read first, as far as it can detect that."""
        return self._identity is not None and store.identity(self.path) == self._identity

    @cached_property
    def _schema(self) -> Schema:
        file = self._file
        with at(file=self.path):
            return file.metadata.schema

    def once(self, kind: type[_Made], make: Callable[[], _Made], *others: IndexFile) -> _Made:
        """Returns the result of `make` for this file and others, cached for all readers if their stores can identify
        files.

        kind: type of the result; the same files have one result of each type
        make: computes a result that holds neither a file nor its bytes
        raises: as `make`
        """
        files = (self, *others)
        identities = tuple([file._store.identity(file.path) if file._uses_cache else None for file in files])
        if None in identities:
            return make()
        for file, identity in zip(files, identities, strict=True):
            file._identity = file._identity or identity
        key = (kind, identities)
        cached = KNOWN.get(key)
        if isinstance(cached, kind):
            return cached
        made = make()
        if made.num_bytes <= MOST_CACHED_BYTES:
            KNOWN.keep(key, made)
        return made

    @property
    def loses_nulls(self) -> bool:
        """Whether NULLs of the file read as other values, as in version 0.1 of early releases."""
        return not isinstance(self._file.metadata, MetadataV2)

    @property
    def num_rows(self) -> int:
        return self._file.num_rows

    @property
    def num_bytes(self) -> int:
        return self._file.bytes.size

    def note(self, key: str) -> str | None:
        """Returns a value of the schema metadata, or None.

        raises: CorruptFile for a value that is not text
        """
        value = self._schema.metadata.get(key)
        with at(file=self.path):
            return None if value is None else value.decode()

    def number(self, key: str, default: int | None = None) -> int | None:
        """Returns a metadata value as a number of at least 0, or `default`.

        raises: CorruptFile for a value that is not a number
        """
        text = self.note(key)
        if text is None:
            return default
        with at(file=self.path):
            if not (text.isascii() and text.isdecimal() and len(text) <= _MOST_DIGITS):
                raise CorruptFile(f"the metadata {key!r} is {text[:50]!r}, not a number")
            return int(text)

    def buffer(self, number: int) -> bytes:
        """Returns a global buffer.

        raises: CorruptFile if there is none with this number
        """
        with at(file=self.path):
            if not isinstance(self._file.metadata, MetadataV2):
                raise CorruptFile("files of version 0.1 have no global buffers")
            return memoryview(self._file.metadata.global_buffer(number)).tobytes()

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(field.name for field in self._schema.fields)

    def has(self, name: str) -> bool:
        """Whether there is a column of this name."""
        return name in self.names

    def parts(self, name: str) -> Iterator[pa.Array]:
        """Yields all rows of a column, in parts of bounded size.

        raises: as `read`
        """
        at_once = max(1, int(_PART_BYTES / max(self.row_bytes([name]), 1)))
        for start in range(0, self.num_rows, at_once):
            yield self.read([name], row_ranges.single(start, min(start + at_once, self.num_rows)))[0]

    def type_of(self, name: str) -> pa.DataType:
        """Returns the type of a column.

        raises: CorruptFile if there is none of this name
        """
        for field in self._schema.fields:
            if field.name == name:
                return arrow_field(field).type
        with at(file=self.path):
            raise CorruptFile(f"an index file without a column {name!r}")

    def row_bytes(self, names: Sequence[str]) -> float:
        """Returns the approximate Arrow bytes of one row of these columns.

        raises: as `read`
        """
        return sum(self._column(name).row_bytes for name in names)

    def read(self, names: Sequence[str], rows: RowRanges | None = None) -> list[pa.Array]:
        """Reads rows of these columns, by default all.

        raises: CorruptFile, UnsupportedFeature
        """
        if rows is None:
            rows = row_ranges.single(0, self.num_rows)
        if len(rows) == 0:
            return [pa.array([], self.type_of(name)) for name in names]
        with at(file=self.path):
            if rows[0, 0] < 0 or rows[-1, 1] > self.num_rows:
                raise CorruptFile(f"row {rows[-1, 1] - 1} of an index file of {self.num_rows} rows")
        plain = self._plain(tuple(names))
        arrays = mapped_rows.read([FileRows(self._file, plain, np.ascontiguousarray(rows))]) if plain else None
        return read_columns([self._column(name) for name in names], rows) if arrays is None else arrays

    def _plain(self, names: tuple[str, ...]) -> Sequence[PlainColumn]:
        """Returns columns that the kernels open; none if they do not open all of them."""
        found = self._plain_columns.get(names)
        if found is None:
            columns = [column for name in names if (column := self._plain_column(name)) is not None]
            found = self._plain_columns[names] = columns if len(columns) == len(names) else []
        return found

    def _plain_column(self, name: str) -> PlainColumn | None:
        field = next((each for each in self._schema.fields if each.name == name), None)
        if field is None or field.children or field.is_blob_v2 or is_json(field) or self.loses_nulls:
            return None
        return PlainColumn.of(self._column_numbers[field.id], arrow_field(field).type, name)

    def _column(self, name: str) -> Column:
        column = self._columns.get(name)
        if column is None:
            column = self._columns[name] = self._open(name)
        return column

    def _open(self, name: str) -> Column:
        _ = self.type_of(name)
        field = next(each for each in self._schema.fields if each.name == name)
        with at(file=self.path, column=name):
            inside = leaves(field)
            if len(inside) != 1:
                raise UnsupportedFeature(f"a column of an index file with {len(inside)} columns in it")
            listed = Listed(frozenset(self._column_numbers), {} if self.loses_nulls else self._column_numbers)
            column = open_column(self._file, listed, inside[0], Chain(inside[0].type, inside[0].outer), name)
            assert column is not None
            return column

    @cached_property
    def _column_numbers(self) -> dict[int, int]:
        """The column numbers of fields: of leaves, and in version 2.0 of the lists around them."""
        numbers: dict[int, int] = {}
        metadata = self._file.metadata
        has_lists = isinstance(metadata, MetadataV2) and metadata.has_path_columns
        waiting = list(reversed(self._schema.fields))
        while waiting:
            field = waiting.pop()
            if is_leaf(field) or (has_lists and field.is_list):
                numbers[field.id] = len(numbers)
            waiting.extend(reversed(() if is_leaf(field) else field.children))
        return numbers


def json_note(text: str | None, type: type[Any]) -> Any:
    """Parses a note in JSON.

    text: of `IndexFile.note`
    type: of the value
    raises: CorruptFile
    """
    try:
        value = json.loads(text or "")
    except (ValueError, RecursionError) as error:
        raise CorruptFile("metadata that is not valid JSON") from error
    if not isinstance(value, type):
        raise CorruptFile(f"metadata that is {value.__class__.__name__}, not {type.__name__}")
    return value
