"""System columns of every table: the location of a row, and the versions that inserted and updated it.

    _rowid                          the stable row id, or the address on tables without stable row ids
    _rowaddr                        fragment id in the high 32 bits, offset in the low 32
    _row_created_at_version         the version that inserted the row        (only with stable row ids)
    _row_last_updated_at_version    the last version that changed it         (only with stable row ids)

All are uint64 and never NULL. They come from the manifest, except where a writer moved them to a data file.
"""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from lance_sql.errors import InvalidArgument
from lance_sql.table.open_fragment import OpenFragment
from lance_sql.values import row_ranges
from lance_sql.values.arrays import U64, as_column
from lance_sql.values.row_ranges import RowRanges

ROW_ID = "_rowid"
ROW_ADDRESS = "_rowaddr"
CREATED_AT = "_row_created_at_version"
LAST_UPDATED_AT = "_row_last_updated_at_version"

NAMES = (ROW_ID, ROW_ADDRESS, CREATED_AT, LAST_UPDATED_AT)
VERSION_COLUMNS = (CREATED_AT, LAST_UPDATED_AT)
TYPE = pa.uint64()


def available(*, stable_row_ids: bool) -> tuple[str, ...]:
    """Returns the system columns of a table, in their usual order."""
    return NAMES if stable_row_ids else (ROW_ID, ROW_ADDRESS)


def require(names: Sequence[str], *, stable_row_ids: bool, table: str) -> None:
    """Raises InvalidArgument with the reason if `names` has a version column that the table does not have."""
    if not stable_row_ids and any(name in VERSION_COLUMNS for name in names):
        raise InvalidArgument(
            f"{table} was created without stable row ids, so row history is not recorded and the columns {CREATED_AT}"
            f" and {LAST_UPDATED_AT} do not exist: enable stable row ids from now on with"
            " maintenance.enable_stable_row_ids(), or compare two versions by key"
        )


def require_in_text(text: str, names: Sequence[str], table: str) -> None:
    """Applies `require` to a filter in SQL text: reports why a version column in it does not exist."""
    require([name for name in VERSION_COLUMNS if name in text], stable_row_ids=CREATED_AT in names, table=table)


def field(name: str) -> pa.Field:
    """Returns the Arrow field of a system column."""
    return pa.field(name, TYPE, nullable=False)


def read(name: str, fragment: OpenFragment, rows: RowRanges) -> pa.Array:
    """Reads the column for `rows` (physical offsets) of a fragment."""
    if name == ROW_ID:
        values = fragment.row_ids(rows)
    elif name == ROW_ADDRESS:
        values = addresses(fragment.id, rows)
    elif name == CREATED_AT:
        values = fragment.created_at(rows)
    else:
        values = fragment.last_updated_at(rows)
    return as_column(values, TYPE)


def addresses(fragment_id: int, rows: RowRanges) -> U64:
    """Returns the row addresses of `rows`."""
    return row_ranges.expand(rows).astype(np.uint64) | np.uint64(fragment_id << 32)
