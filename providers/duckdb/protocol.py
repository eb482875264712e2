"""The source protocol of DuckDB 2.0, and detection of it.

The protocol is private to DuckDB. `ArrowScanSource` is the base class of DuckDB's own adapters for pyarrow, and DuckDB
uses an instance of it directly:

    rows()                    while a query is bound: the estimate that the optimizer starts with
    accepts(condition)        while it is optimized: an accepted condition leaves the plan
    stream(columns, filters)  when it runs: one scan

If DuckDB lacks this class, or has a different one, `has_sources` is false, and tables are Arrow datasets, as in 1.5.
Both paths return the same rows.
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
    """Whether DuckDB has the protocol in the form that `source` implements."""
    try:
        from duckdb._sources import ArrowScanSource, nodes

        methods = {name: list(inspect.signature(getattr(ArrowScanSource, name)).parameters) for name in _METHODS}
        fields = {name: [field.name for field in dataclasses.fields(getattr(nodes, name))] for name in _NODES}
    except (ImportError, AttributeError, TypeError):
        return False
    return methods == _METHODS and fields == _NODES
