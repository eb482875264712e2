"""Members of structs as columns for the kernels, NULL if an enclosing struct is."""

from __future__ import annotations

import pyarrow as pa

from lance_sql.format.file.column_rows import streamed
from lance_sql.format.file.leaves import is_leaf
from lance_sql.format.file.open_column import OpenRows
from lance_sql.format.schema import Field, arrow_field
from lance_sql.reads.scan.predicates import Path
from lance_sql.reads.scan.virtual_columns import missing_column
from lance_sql.table.open_fragment import OpenFragment
from lance_sql.values.row_ranges import RowRanges


def stored_member(field: Field, path: Path) -> Field | None:
    """Returns the member of a field at a path, through structs whose members have columns of their own; None for
    other fields.

    field: cut down to the member
    path: the names below the field
    """
    for name in path:
        if is_leaf(field) or field.logical_type != "struct":
            return None
        field = next(child for child in field.children if child.name == name)
    return field if is_leaf(field) else None


def member(fragment: OpenFragment, field: Field, path: Path, rows: RowRanges) -> tuple[pa.DataType, OpenRows] | None:
    """Returns the type of a member, and some of its rows; None if Python is needed to read it.

    field, path: see `stored_member`
    raises: CorruptFile, UnsupportedFeature
    """
    stored = stored_member(field, path)
    if stored is None:
        return None
    type = arrow_field(stored).type
    columns = tuple(fragment.columns_of(field))
    if not columns:
        opened = missing_column(fragment, ".".join((field.name, *path)), type, rows)
    else:
        opened = streamed(columns[0], rows) if len(columns) == 1 else None
    return (type, opened) if opened is not None else None
