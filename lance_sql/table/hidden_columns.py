"""Hidden columns: row ids and row versions of a fragment stored in one of its data files, not in the manifest.

Source: DataFragment.column_row_ids and its siblings; row lineage, spilled lineage.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from lance_sql.errors import CorruptFile
from lance_sql.format.file.column_rows import read_columns
from lance_sql.format.file.leaves import Leaf
from lance_sql.format.file.opening import Listed, open_column
from lance_sql.format.file.reader import FileReader
from lance_sql.format.layouts.nest import Chain
from lance_sql.format.schema import Field
from lance_sql.values import row_ranges
from lance_sql.values.arrays import U64


def read(file: FileReader, column_index: int, num_rows: int) -> U64:
    """Reads the values of a hidden column, one per physical row.

    file: the open data file
    num_rows: physical rows of the fragment
    raises: CorruptFile
    """
    if file.num_rows != num_rows:
        with file.at():
            raise CorruptFile(f"the file has {file.num_rows} rows, its fragment {num_rows}")
    if num_rows == 0:
        return np.empty(0, np.uint64)
    leaf = Leaf(Field("row lineage", 0, -1, "uint64"), pa.uint64())
    listed = Listed(frozenset([0]), {0: column_index})
    column = open_column(file, listed, leaf, Chain(pa.uint64()), "row lineage")
    assert column is not None
    (array,) = read_columns([column], row_ranges.single(0, num_rows))
    if array.null_count:
        with file.at():
            raise CorruptFile("a hidden column of row ids or versions has NULLs")
    values: U64 = array.to_numpy()
    return values
