"""Many small data files, opened and read in one call of a kernel.

The kernel supports local files 2.1 and 2.2 of at most 1 MiB whose columns `_kernels.open_columns` opens. It skips
everything else, and damaged files too, so that the caller reads these one by one and raises the precise error.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa

from lance_sql import _kernels
from lance_sql.format.file.mapped_columns import PlainColumn

MAX_BYTES: Final = 1024 * 1024
"""Larger files are skipped."""


@dataclass(frozen=True, slots=True)
class SmallFile:
    """A file to be read whole.

    path: in the local file system
    num_rows: the required number of rows
    columns: that are read
    """

    path: str
    num_rows: int
    columns: Sequence[PlainColumn]


def read(files: Sequence[SmallFile]) -> tuple[list[bool], list[pa.Array]]:
    """Reads the columns of the files.

    files: with the same columns in the same types
    returns: whether each file was read, and the columns of all files that were read, concatenated
    """
    columns = files[0].columns
    num_rows = np.array([file.num_rows for file in files], np.int64)
    indices = np.array([[column.key[0] for column in file.columns] for file in files], np.int64)
    types = [column.key[1] for column in columns]
    done, arrays = _kernels.read_small_files([file.path for file in files], num_rows, types, indices)
    if not arrays:
        return done, []
    # frees the arrays unless they are imported
    joined = _kernels.to_batch(arrays)
    batch = pa.RecordBatch._import_from_c(joined.address, pa.schema([column.field for column in columns]))
    return done, [column.form.finish(array, column.type) for column, array in zip(columns, batch.columns, strict=True)]
