"""Building a BITMAP: for each distinct value, told apart by its bits, a compressed set of rows that grows.

Source: indices, bitmap.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lance_sql.file.writer import WrittenFile
from lance_sql.index_files import order, writing
from lance_sql.index_files.bitmap import FILE
from lance_sql.index_files.row_sets import GrowingSet
from lance_sql.store import Store

U64 = npt.NDArray[np.uint64]


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

    def add(self, values: pa.Array, numbers: U64) -> None:
        """Takes some rows."""
        encoded = _bits(values).dictionary_encode(null_encoding="encode")
        codes = encoded.indices.to_numpy(zero_copy_only=False)
        by_code = np.argsort(codes, kind="stable")
        ends = np.cumsum(np.bincount(codes, minlength=len(encoded.dictionary)))
        firsts = by_code[ends - np.bincount(codes, minlength=len(encoded.dictionary))] if len(codes) else by_code
        places = []
        new = []
        for code, key in enumerate(encoded.dictionary.to_pylist()):
            place = self._numbers.get(key)
            if place is None:
                place = self._numbers[key] = len(self._rows)
                self._rows.append(GrowingSet())
                new.append(int(firsts[code]))
            places.append(place)
        if new:
            self._keys = pa.concat_arrays([self._keys, values.take(pa.array(new))])
        for place, part in zip(places, np.split(numbers[by_code], ends[:-1]), strict=True) if places else ():
            self._rows[place].add(part)

    def write(self, store: Store, folder: str, *, file_version: str) -> tuple[WrittenFile, ...]:
        """Writes the files of the index."""
        schema = pa.schema([("keys", self._type), ("bitmaps", pa.binary())])
        notes = {"lance:index_stats": f'{{"num_bitmaps":{len(self._rows)}}}'}
        path = f"{folder}/{FILE}"
        return (writing.write(store, path, schema, self._batches(schema), file_version=file_version, notes=notes),)

    def _batches(self, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        places = order.ascending(self._keys)
        for first in range(0, len(places), 256):
            chosen = places[first : first + 256]
            sets = [self._rows[place].serialize() for place in chosen.tolist()]
            keys = self._keys.take(pa.array(chosen))
            yield pa.RecordBatch.from_arrays([keys, pa.array(sets, pa.binary())], schema=schema)


def _bits(values: pa.Array) -> pa.Array:
    """The values as something that is equal only where all bits are."""
    if pa.types.is_floating(values.type):
        return values.view(f"int{values.type.bit_width}")
    if pa.types.is_temporal(values.type):
        return values.view(f"int{values.type.bit_width}")
    if pa.types.is_boolean(values.type):
        return pc.cast(values, pa.uint8())
    return values
