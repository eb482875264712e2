"""Types of DuckDB that it hands over to Arrow as something else, without a word: they are refused by name.

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
    """Whether rows come from DuckDB, as a relation."""
    return type(data).__module__.partition(".")[0] in ("duckdb", "_duckdb") and hasattr(data, "types")


def check_types(relation: Any) -> None:
    """Makes sure that the columns of a relation come out of DuckDB as what they are.

    raises: UnsupportedFeature with the column and the way out
    """
    for name, type in zip(relation.columns, relation.types, strict=True):
        for inner in _types(type):
            changed = _CHANGED.get(inner) or (_CUT.get(inner) if _is_old(relation) else None)
            if changed is not None:
                raise UnsupportedFeature(
                    f"Column {name!r}: DuckDB hands over {changed} as another type, with other values: cast it first, "
                    f"as in CAST({name} AS VARCHAR)"
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
    """Whether it is one of DuckDB 1, whose relations are not of a module in Python."""
    return type(relation).__module__ == "_duckdb"
