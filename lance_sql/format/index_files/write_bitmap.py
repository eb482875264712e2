"""Building of a BITMAP: a growing compressed set of rows for each distinct value, compared by bits.

Rows are buffered, so that each set grows rarely, by many rows.

Source: indices, bitmap.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lance_sql.format.file.writer import WrittenFile
from lance_sql.format.index_files import order, writing
from lance_sql.format.index_files.bitmap import FILE
from lance_sql.format.index_files.row_sets import GrowingSet
from lance_sql.store import Store
from lance_sql.values.arrays import U64

_ROWS_AT_ONCE: Final = 1 << 21
_BYTES_AT_ONCE: Final = 64 << 20


class BitmapBuilder:
    """Takes the values of rows with their addresses or ids, in any order."""

    def __init__(self, type: pa.DataType) -> None:
        """
        raises: UnsupportedFeature for types without an order
        """
        order.check(type)
        self._type = type
        self._keys: pa.Array = pa.array([], type)
        self._numbers: dict[object, int] = {}
        self._rows: list[GrowingSet] = []
        self._waiting: list[tuple[pa.Array, U64]] = []
        self._num_waiting = self._bytes_waiting = 0

    def add(self, values: pa.Array, numbers: U64) -> None:
        self._waiting.append((values, numbers))
        self._num_waiting += len(values)
        self._bytes_waiting += values.nbytes
        if self._num_waiting >= _ROWS_AT_ONCE or self._bytes_waiting >= _BYTES_AT_ONCE:
            self._grow()

    def _grow(self) -> None:
        """Moves the buffered rows into their sets."""
        if self._num_waiting == 0:
            return
        values = pa.concat_arrays([each for each, _ in self._waiting])
        numbers = np.concatenate([each for _, each in self._waiting])
        self._waiting.clear()
        self._num_waiting = self._bytes_waiting = 0
        encoded = _bits(values).dictionary_encode(null_encoding="encode")
        codes = encoded.indices.to_numpy(zero_copy_only=False)
        counts = np.bincount(codes, minlength=len(encoded.dictionary))
        ends = np.cumsum(counts)
        # NumPy uses radix sort for 16-bit numbers, several times as fast as sorting wider ones
        narrow = codes.astype(np.uint16) if len(counts) <= 2**16 else codes
        by_code = np.argsort(narrow, kind="stable")
        set_numbers = []
        new = []
        for key, first in zip(encoded.dictionary.to_pylist(), by_code[ends - counts].tolist(), strict=True):
            set_number = self._numbers.get(key)
            if set_number is None:
                set_number = self._numbers[key] = len(self._rows)
                self._rows.append(GrowingSet())
                new.append(first)
            set_numbers.append(set_number)
        if new:
            self._keys = pa.concat_arrays([self._keys, values.take(pa.array(new))])
        for set_number, part in zip(set_numbers, np.split(numbers[by_code], ends[:-1]), strict=True):
            self._rows[set_number].add(part)

    def write(self, store: Store, folder: str, *, file_version: str) -> tuple[WrittenFile, ...]:
        """Writes the files of the index."""
        self._grow()
        schema = pa.schema([("keys", self._type), ("bitmaps", pa.binary())])
        notes = {"lance:index_stats": f'{{"num_bitmaps":{len(self._rows)}}}'}
        path = f"{folder}/{FILE}"
        return (writing.write(store, path, schema, self._batches(schema), file_version=file_version, notes=notes),)

    def _batches(self, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        set_numbers = order.ascending(self._keys)
        for first in range(0, len(set_numbers), 256):
            chosen = set_numbers[first : first + 256]
            sets = [self._rows[set_number].serialize() for set_number in chosen.tolist()]
            keys = self._keys.take(pa.array(chosen))
            yield pa.RecordBatch.from_arrays([keys, pa.array(sets, pa.binary())], schema=schema)


def _bits(values: pa.Array) -> pa.Array:
    """Returns the values in a form that is equal only if all bits are."""
    if pa.types.is_floating(values.type):
        return values.view(f"int{values.type.bit_width}")
    if pa.types.is_temporal(values.type):
        return values.view(f"int{values.type.bit_width}")
    if pa.types.is_boolean(values.type):
        return pc.cast(values, pa.uint8())
    return values
