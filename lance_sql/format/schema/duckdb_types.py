"""DuckDB types that it silently exports to Arrow as other types: they are refused by name.

UHUGEINT               DECIMAL(38, 0), where large numbers are negative
TIME WITH TIME ZONE    TIME, without the offset
BIT                    BLOB, in DuckDB's own form
BIGNUM                 cut by DuckDB 1.5, whole by later versions
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from lance_sql.errors import UnsupportedFeature

_CHANGED: Final = {"uhugeint": "UHUGEINT", "time with time zone": "TIME WITH TIME ZONE", "bit": "BIT"}
_CUT: Final = {"bignum": "BIGNUM"}


def is_relation(data: object) -> bool:
    """Whether rows come from a DuckDB relation."""
    return type(data).__module__.partition(".")[0] in ("duckdb", "_duckdb") and hasattr(data, "types")


def check_types(relation: Any) -> None:
    """Makes sure that DuckDB exports the columns of a relation with their own types.

    raises: UnsupportedFeature with the column and a workaround
    """
    for name, type in zip(relation.columns, relation.types, strict=True):
        for inner in _types(type):
            changed = _CHANGED.get(inner) or (_CUT.get(inner) if _is_old(relation) else None)
            if changed is not None:
                raise UnsupportedFeature(
                    f"Column {name!r}: DuckDB returns {changed} as another type, with other values: cast it first, as"
                    f" in CAST({name} AS VARCHAR)"
                )


def _types(type: Any) -> Iterator[str]:
    yield str(type.id).lower()
    try:
        children = type.children
    except Exception:
        # a class of DuckDB, for types without
        return
    for _, child in children:
        if hasattr(child, "id"):
            yield from _types(child)


def _is_old(relation: Any) -> bool:
    """Whether it belongs to DuckDB 1, whose relations have no Python module."""
    return type(relation).__module__ == "_duckdb"
