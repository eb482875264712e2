"""The caches of the process, as a table.

cache               caches  entries  bytes     most_entries  most_bytes
pages                    1      120  1048576                  100663296
open data files          2        9                    256
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator
from typing import Any, Final

import pyarrow as pa

from lance_sql.runtime.caches import Usage, all_counted, total

_MEMOIZED: Final = "memoized functions"
_SCHEMA: Final = pa.schema(
    [
        pa.field("cache", pa.string(), nullable=False),
        pa.field("caches", pa.int64(), nullable=False),
        pa.field("entries", pa.int64()),
        pa.field("bytes", pa.int64()),
        pa.field("most_entries", pa.int64()),
        pa.field("most_bytes", pa.int64()),
    ]
)


def cache_usage() -> pa.Table:
    """Returns the caches of this process with their sizes, the largest first.

    Each open version has its own caches besides those of the process, which are freed with it. The most recently opened
    local versions stay open for a while. Bytes are estimates. Batches that the caller holds are not counted.

    cache: the kind of entries
    caches: the number of caches of the kind; for memoized functions, those that have entries
    entries, bytes: their contents; NULL if not counted
    most_entries, most_bytes: the limit for all of them; NULL if unlimited

    >>> orders = lance_sql.open("examples/orders.lance")
    >>> orders.count_rows("amount > 10") > 0
    True
    >>> usage = lance_sql.cache_usage()
    >>> usage.column_names
    ['cache', 'caches', 'entries', 'bytes', 'most_entries', 'most_bytes']
    >>> "manifests" in usage["cache"].to_pylist()
    True
    """
    by_name: dict[str, list[Usage]] = {}
    for counted in all_counted():
        by_name.setdefault(counted.name, []).append(counted.usage())
    by_name[_MEMOIZED] = [_usage(function) for function in _memoized() if function.cache_info().currsize]
    rows = []
    for name, usages in by_name.items():
        held = total(usages)
        rows.append((name, len(usages), held.entries, held.num_bytes, held.most_entries, held.most_bytes))
    rows.sort(key=lambda row: (-(row[3] or 0), row[0]))
    columns = zip(*rows, strict=True)
    return pa.table([pa.array(column, field.type) for column, field in zip(columns, _SCHEMA, strict=True)], _SCHEMA)


def clear_caches() -> None:
    """Frees all cache contents that can be read again. Running queries continue, and read some of them again."""
    for counted in all_counted():
        counted.clear()
    for function in _memoized():
        function.cache_clear()


def _memoized() -> Iterator[Any]:
    """Yields the memoized functions of the imported modules: all of them are names of their modules."""
    kind: type[Callable[..., Any]] = functools._lru_cache_wrapper
    for name, module in sys.modules.copy().items():
        if name.partition(".")[0] == "lance_sql":
            for value in vars(module).copy().values():
                if isinstance(value, kind) and value.__module__ == name:
                    yield value


def _usage(function: Any) -> Usage:
    info = function.cache_info()
    return Usage(info.currsize, None, info.maxsize, None)
