"""How DuckDB 2.0 asks sources for rows; whether this DuckDB does.

The protocol is private to DuckDB. `ArrowScanSource` is the class that DuckDB's own adapters for pyarrow derive from,
and an object that is one already is used as it is:

    rows()                    while a query is bound: the estimate that the optimizer begins with
    accepts(condition)        while it is optimized: a condition that is accepted leaves the plan
    stream(columns, filters)  when it runs: one scan

Where DuckDB has no such class, or another one, `has_sources` is false, and tables are Arrow datasets, as in 1.5. Both
ways give the same rows.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
from typing import Final

_METHODS: Final = {
    "rows": ["self"],
    "accepts": ["self", "predicate"],
    "stream": ["self", "columns", "filters"],
}
_NODES: Final = {
    "Binary": ["op", "left", "right"],
    "Col": ["parts"],
    "In": ["operand", "values"],
    "Lit": ["value", "type"],
    "Postfix": ["op", "operand"],
    "Unary": ["op", "operand"],
}


@functools.cache
def has_sources() -> bool:
    """Whether DuckDB has the protocol, and it is the one that `source` was written for."""
    try:
        from duckdb._sources import ArrowScanSource, nodes

        methods = {name: list(inspect.signature(getattr(ArrowScanSource, name)).parameters) for name in _METHODS}
        fields = {name: [field.name for field in dataclasses.fields(getattr(nodes, name))] for name in _NODES}
    except (ImportError, AttributeError, TypeError):
        return False
    return methods == _METHODS and fields == _NODES
