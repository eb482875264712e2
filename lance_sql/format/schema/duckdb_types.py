"""DuckDB types that it silently exports to Arrow with other values: they are refused by name, or exported otherwise.

UHUGEINT               DECIMAL(38, 0), where large numbers are negative
TIME WITH TIME ZONE    TIME, without the offset
BIT                    BLOB, in DuckDB's own form
BIGNUM                 cut by DuckDB 1.5, whole by later versions
INTERVAL               nanoseconds, which overflow after 292 years: whole days are moved to the days
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from lance_sql.errors import UnsupportedFeature

_CHANGED: Final = {"uhugeint": "UHUGEINT", "time with time zone": "TIME WITH TIME ZONE", "bit": "BIT"}
_CUT: Final = {"bignum": "BIGNUM"}
_MOST_HOURS: Final = 2_562_046
"""Hours whose nanoseconds, with the minutes after them, fit 64 bits."""


def is_relation(data: object) -> bool:
    """Whether rows come from a DuckDB relation."""
    return type(data).__module__.partition(".")[0] in ("duckdb", "_duckdb") and hasattr(data, "types")


def exportable(relation: Any) -> Any:
    """Returns a relation that DuckDB exports with equal values, from the first row on.

    raises: UnsupportedFeature with the column and a workaround
    """
    _check_types(relation)
    # by number, because columns may share a name
    exact = [_balanced(f"#{number}", type) for number, type in enumerate(relation.types, 1)]
    # a relation of DuckDB 1.5 holds a result that was half read, and would export the rest of it
    if not any(exact) and not hasattr(relation, "fetchone"):
        return relation
    return relation.project(
        ", ".join(
            f"{value or f'#{number}'} AS {_quoted(name, chr(34))}"
            for number, (value, name) in enumerate(zip(exact, relation.columns, strict=True), 1)
        )
    )


def _quoted(name: str, mark: str) -> str:
    return f"{mark}{name.replace(mark, mark * 2)}{mark}"


def _balanced(value: str, type: Any, depth: int = 0) -> str | None:
    """Returns an SQL expression for the values of a type whose intervals have few hours; None for a type without
    intervals.

    value: an SQL expression without side effects
    """
    kind = str(type.id).lower()
    if kind == "interval":
        part = {name: f"datepart('{name}', {value})" for name in ("year", "month", "day", "hour", "minute")}
        return (
            f"CASE WHEN {part['hour']} BETWEEN -{_MOST_HOURS} AND {_MOST_HOURS} THEN {value} ELSE"
            f" to_months(({part['year']} * 12 + {part['month']})::INTEGER)"
            f" + to_days(({part['day']} + {part['hour']} // 24)::INTEGER) + to_hours({part['hour']} % 24)"
            f" + to_minutes({part['minute']}) + to_microseconds(datepart('microsecond', {value})) END"
        )
    if kind not in ("list", "array", "struct", "map"):
        return None
    children = [(name, child) for name, child in type.children if hasattr(child, "id")]
    if kind == "struct":
        members = [f"struct_extract({value}, {_quoted(name, chr(39))})" for name, _ in children]
        exact = [_balanced(member, child, depth) for member, (_, child) in zip(members, children, strict=True)]
        if not any(exact):
            return None
        packed = ", ".join(
            f"{_quoted(name, chr(34))} := {balanced or member}"
            for (name, _), member, balanced in zip(children, members, exact, strict=True)
        )
        return f"CASE WHEN {value} IS NOT NULL THEN struct_pack({packed}) END"
    item = f"e{depth}"
    exact = [_balanced(item, child, depth + 1) for _, child in children]
    if not any(exact):
        return None
    if kind == "map":
        lists = [
            f"list_transform({read}({value}), lambda {item}: {balanced or item})"
            for read, balanced in zip(("map_keys", "map_values"), exact, strict=True)
        ]
        return f"CASE WHEN {value} IS NOT NULL THEN map({', '.join(lists)}) END"
    as_list = value if kind == "list" else f"{value}::{children[0][1]}[]"
    transformed = f"list_transform({as_list}, lambda {item}: {exact[0]})"
    return transformed if kind == "list" else f"{transformed}::{type}"


def _check_types(relation: Any) -> None:
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
