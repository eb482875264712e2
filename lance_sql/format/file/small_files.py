"""Many small data files, opened and read in one call of a kernel.

The kernel supports local files 2.1 and 2.2 of at most 64 KiB whose columns `_kernels.open_columns` opens. It skips
everything else, and damaged files too, so that the caller reads these one by one and raises the precise error.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa

from lance_sql import _kernels
from lance_sql.format.layouts.column_type import plain_type

MAX_BYTES: Final = 64 * 1024
"""Larger files are skipped."""


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


def is_possible(types: Sequence[pa.DataType]) -> bool:
    """Whether columns of the types can be read here."""
    return None not in map(plain_type, types)


def read(files: Sequence[SmallFile], types: Sequence[pa.DataType]) -> tuple[list[bool], list[pa.Array]]:
    """Reads the columns of the files.

    types: of the columns, which are possible
    returns: whether each file was read, and the columns of all files that were read, concatenated
    """
    wanted = [each for each in map(plain_type, types) if each is not None]
    num_rows = np.array([file.num_rows for file in files], np.int64)
    indices = np.array([file.column_indices for file in files], np.int64)
    done, columns = _kernels.read_small_files([file.path for file in files], num_rows, wanted, indices)
    if not columns:
        return done, []
    schema = pa.schema([pa.field("", type) for type in types])
    # frees the columns unless they are imported
    joined = _kernels.to_batch(columns)
    return done, pa.RecordBatch._import_from_c(joined.address, schema).columns
