"""Random JSON documents, and columns of them."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Sequence
from typing import Any, Final

import pyarrow as pa

FIELD: Final = pa.field("v", pa.string(), metadata={"ARROW:extension:name": "arrow.json"})
"""A column of JSON."""

KEYS: Final = ("a", "b", "c", "é", "k y", "0", "1")
SCALARS: Final[tuple[Any, ...]] = (
    None, True, False, 0, 1, 7, -7, 7.0, 7.5, -0.5, 2**53 + 1, 2**63, -(2**63), 1e300,
    "", "7", "7.5", "x", "true", "No", "é", 'q"\\\n', " 7", "[1]",
)  # fmt: skip
MISSING: Final = object()
"""No document, or no such member."""


def document(
    draw: random.Random, keys: Sequence[str] = KEYS, scalars: Sequence[Any] = SCALARS, *, depth: int = 0
) -> Any:
    """Returns a scalar, list or object of up to four levels."""
    kind = draw.random()
    if depth == 3 or kind < 0.3:
        return draw.choice(scalars)
    if kind < 0.5:
        return [document(draw, keys, scalars, depth=depth + 1) for _ in range(draw.randrange(4))]
    chosen = draw.sample(keys, draw.randrange(1, 5))
    return {key: document(draw, keys, scalars, depth=depth + 1) for key in chosen}


def rows_of(documents: Sequence[Any], first_id: int = 0) -> pa.Table:
    """Returns a table of ids and documents; NULL for MISSING."""
    texts = [None if each is MISSING else json.dumps(each) for each in documents]
    ids = range(first_id, first_id + len(texts))
    return pa.table({"id": ids, "v": texts}, schema=pa.schema([("id", pa.int64()), FIELD]))


def quoted(text: str) -> str:
    """Returns a text as a literal of SQL."""
    return "'" + text.replace("'", "''") + "'"


Step = str | int


def member(value: Any, steps: Sequence[Step]) -> Any:
    """Returns the member at a path; MISSING without one."""
    for step in steps:
        if isinstance(step, str):
            value = value.get(step, MISSING) if isinstance(value, dict) else MISSING
        else:
            value = value[step] if isinstance(value, list) and step < len(value) else MISSING
        if value is MISSING:
            return MISSING
    return value


def json_text(value: Any) -> str:
    """Returns a document as tables return it."""
    if isinstance(value, dict):
        value = {key: value[key] for key in sorted(value, key=str.encode)}
        return "{" + ",".join(f"{json_text(key)}:{json_text(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(json_text, value)) + "]"
    return json.dumps(value, ensure_ascii=False)


def as_number(value: Any) -> Any:
    """Returns a member as a number, MISSING for NULL; raises ValueError for others."""
    if value is MISSING or value is None:
        return MISSING
    if isinstance(value, str):
        if value != value.strip():
            raise ValueError(value)
        return float(value)
    if isinstance(value, (list, dict)):
        raise ValueError(value)
    return value


def as_integer(value: Any) -> Any:
    number = as_number(value)
    if isinstance(number, float):
        number = int(math.copysign(math.floor(abs(number) + 0.5), number))
    if number is not MISSING and not -(2**63) <= number < 2**63:
        raise ValueError(value)
    return number


def as_boolean(value: Any) -> Any:
    if value is MISSING or value is None:
        return MISSING
    words = {"true": True, "yes": True, "false": False, "no": False}
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.lower() in words:
        return words[value.lower()]
    raise ValueError(value)


def as_string(value: Any) -> Any:
    if value is MISSING or value is None:
        return MISSING
    return value if isinstance(value, str) else json_text(value)
