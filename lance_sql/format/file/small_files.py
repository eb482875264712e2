"""Many small data files, or many columns of one file, opened and read in one call of a kernel.

The kernel supports simple cases: local files 2.1 and 2.2, each column one value, or one mini-block page whose chunks
alone determine its values; for many files those of at most 64 KiB. It skips everything else, and damaged files
too, so that the caller reads these one by one and raises the precise error.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np
import pyarrow as pa

from lance_sql import _kernels
from lance_sql._kernels import ValueCodec
from lance_sql.errors import LanceError, at
from lance_sql.format.file.metadata_v2 import parse_layout
from lance_sql.format.layouts.levels import level_encoding
from lance_sql.format.layouts.tree import ConstantLayout, Layer, MiniBlock, PageLayout
from lance_sql.format.layouts.value_codecs import value_codec

MAX_BYTES: Final = 64 * 1024
"""Larger files are skipped."""

_pages = _kernels.FlatPages()


@dataclass(frozen=True, slots=True)
class SmallFile:
    """A file to be read whole.

    path: in the local file system
    num_rows: the required number of rows
    column_indices: of the requested columns
    """

    path: str
    num_rows: int
    column_indices: tuple[int, ...]


def is_plain(type: pa.DataType) -> bool:
    """Whether columns of the type can be read here."""
    return _format(type) is not None


def read(files: Sequence[SmallFile], types: Sequence[pa.DataType]) -> tuple[list[bool], list[pa.Array]]:
    """Reads the columns of the files.

    types: of the columns, each of which `is_plain`
    returns: whether each file was read, and the columns of all files that were read, concatenated
    """
    formats = _formats(types)
    paths = [file.path for file in files]
    num_rows = np.array([file.num_rows for file in files], np.int64)
    indices = np.array([file.column_indices for file in files], np.int64)
    done, unknown, columns = _kernels.read_small_files(_pages, paths, num_rows, formats, indices)
    if unknown:
        _learn(unknown)
        done, _, columns = _kernels.read_small_files(_pages, paths, num_rows, formats, indices)
    return done, [_imported(type, column) for type, column in zip(types, columns, strict=True)]


def read_many_columns(
    content: pa.Buffer, num_rows: int, column_indices: Sequence[int], types: Sequence[pa.DataType]
) -> list[pa.Array | None]:
    """Reads all rows of columns of one file. Returns None for columns to be read one by one.

    content: all bytes of the file
    num_rows: the required number of rows
    types: of the columns, each of which `is_plain`
    """
    indices = np.array(column_indices, np.int64)
    formats = _formats(types)
    unknown, columns = _kernels.read_many_columns(_pages, content, num_rows, formats, indices)
    if unknown:
        _learn(unknown)
        _, columns = _kernels.read_many_columns(_pages, content, num_rows, formats, indices)
    return [
        _imported(type, column) if column is not None else None for type, column in zip(types, columns, strict=True)
    ]


def _formats(types: Sequence[pa.DataType]) -> list[tuple[bool, int]]:
    return [_format(type) or (False, 0) for type in types]


def _imported(type: pa.DataType, column: _kernels.NativeArray) -> pa.Array:
    return pa.Array._import_from_c(column.address, type)


_VARIABLE: Final = {pa.string(): 32, pa.binary(): 32, pa.large_string(): 64, pa.large_binary(): 64}


@lru_cache(maxsize=1024)
def _format(type: pa.DataType) -> tuple[bool, int] | None:
    """Returns whether the type is a string type, and the bits of its values or offsets; None for other buffers."""
    if type in _VARIABLE:
        return True, _VARIABLE[type]
    if pa.types.is_primitive(type) or pa.types.is_decimal128(type) or pa.types.is_decimal256(type):
        return False, type.bit_width
    return None


def _learn(encodings: Sequence[bytes]) -> None:
    """Passes the parsed form of encodings to the kernel."""
    for encoding in encodings:
        _learn_one(encoding)


def _learn_one(encoding: bytes) -> None:
    try:
        with at():
            layout = parse_layout(encoding)
        codec = _codec(layout)
        if isinstance(layout, MiniBlock) and codec is not None:
            definition = None
            if layout.definition is not None and layout.layers == (Layer.NULLABLE_ITEM,):
                levels = level_encoding(layout.definition)
                definition = levels.codec, levels.num_bits
            _pages.add(
                encoding,
                num_items=layout.num_items,
                codec=codec[0],
                bits=codec[1],
                large=layout.has_large_chunk,
                has_def=layout.definition is not None,
                num_buffers=layout.num_buffers,
                definition=definition,
            )
            return
        if isinstance(layout, ConstantLayout) and _is_plain_constant(layout):
            _pages.add_constant(encoding, layout.inline_value)
            return
    except LanceError:
        # reading the file on its own raises the error
        pass
    _pages.add_other(encoding)


_LAYERS: Final = ((Layer.NULLABLE_ITEM,), (Layer.ALL_VALID_ITEM,))


def _is_plain_constant(layout: ConstantLayout) -> bool:
    """Whether all rows have the value of the layout, or all are NULL."""
    if layout.repetition is not None or layout.definition is not None or layout.layers not in _LAYERS:
        return False
    return layout.inline_value is not None or layout.layers == (Layer.NULLABLE_ITEM,)


def _codec(layout: PageLayout) -> tuple[ValueCodec, int] | None:
    """Returns the kernels' codec of a page and its bits, or None for a page that they do not support."""
    match layout:
        case MiniBlock(
            layers=(Layer.NULLABLE_ITEM | Layer.ALL_VALID_ITEM,),
            repetition=None,
            dictionary=None,
            repetition_index_depth=0,
            values=values,
        ):
            codec = value_codec(values)
            return codec[:2] if codec is not None and codec[2] is None else None
    return None
