"""Types of columns in text files that are written into a table: those of the table, where no value changes by it.

A file of CSV or JSON has no types, and those that are found in it depend on its rows: amounts of a day without cents
are integers, and codes of a day without letters lose their zeros.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

import pyarrow as pa

from lance_sql.values import kinds

_INTEGERS: Final = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT")
_WIDER: Final[dict[str, tuple[str, ...]]] = {
    **dict.fromkeys(
        (*_INTEGERS, *(f"U{name}" for name in _INTEGERS)),
        (*_INTEGERS, *(f"U{name}" for name in _INTEGERS), "FLOAT", "DOUBLE", "DECIMAL"),
    ),
    "DOUBLE": ("FLOAT",),
    "DATE": ("TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS"),
}
"""Types of DuckDB that hold the same values, or raise, by the type that was found."""


def fitted(found: Mapping[str, str], table: pa.Schema | None, connection: Any, *, is_csv: bool) -> dict[str, str]:
    """Returns types of DuckDB by column.

    found: types in the files
    table: columns of the table; None for a new one
    is_csv: whether a value can be read as the text that it is
    """
    wanted = {} if table is None else _types(table, connection)
    return {
        name: wanted[name] if name in wanted and _holds(wanted[name], type, is_csv) else type
        for name, type in found.items()
    }


def _holds(wanted: str, found: str, is_csv: bool) -> bool:
    return (is_csv and wanted == "VARCHAR") or re.sub(r"\(.*", "", wanted) in _WIDER.get(found, ())


def _types(table: pa.Schema, connection: Any) -> dict[str, str]:
    """Returns the types of DuckDB for numbers, text and times."""
    plain = [
        pa.field(field.name, field.type)
        for field in table
        if pa.types.is_primitive(field.type) or pa.types.is_decimal(field.type) or kinds.is_text(field.type)
    ]
    if not plain:
        return {}
    relation = connection.from_arrow(pa.schema(plain).empty_table())
    return dict(zip(relation.columns, map(str, relation.types), strict=True))
