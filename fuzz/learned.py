"""Learned statistics in a folder: if damaged under a valid checksum, they are rejected or loaded as some statistics."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa

from fuzz.inputs import Values
from fuzz.parts import data_of
from lance_sql.format.file.statistics import PageStatistics
from lance_sql.format.file.statistics_folder import (
    StatisticsFolder,
    StoredStatistics,
    serialize,
    with_checksum,
)
from lance_sql.format.file.zone_statistics import (
    ROWS_PER_ZONE,
    key_kind,
    new_bounds,
    observe_array,
    statistics,
)
from lance_sql.reads.scan.predicates import from_sql, may_match

_IDENTITY = "data/1.lance"
_TYPES = {"i": pa.int64(), "f": pa.float64(), "s": pa.string(), "d": pa.decimal128(38, 2), "t": pa.timestamp("us")}


def seeds() -> Iterator[Values]:
    """Learned statistics of some columns, without the checksum."""
    num_rows = 2 * ROWS_PER_ZONE + 100
    columns = {}
    for number, type in enumerate(_TYPES.values()):
        kind = key_kind(type)
        assert kind is not None
        bounds = new_bounds(kind, num_rows)
        observe_array(bounds, kind, 0, pa.array(np.arange(num_rows)).cast(type))
        columns[number, kind] = StoredStatistics(num_rows, bounds.numbers())
        yield {"data": serialize(columns, _IDENTITY.encode())}


def read(values: Values) -> None:
    """Loads the columns, and prunes with the statistics of each."""
    with tempfile.TemporaryDirectory() as path:
        folder = StatisticsFolder(path)
        folder.save(_IDENTITY, {})
        (place,) = Path(path).iterdir()
        place.write_bytes(with_checksum(data_of(values)))
        found = folder.load(_IDENTITY)
    schema = pa.schema(list(_TYPES.items()))
    for (_, kind), stored in found.items():
        bounds = stored.to_bounds(kind)
        if bounds is None:
            continue
        total = stored.num_rows
        rows = np.diff(np.append(np.arange(0, total, ROWS_PER_ZONE), total))
        for name, type in _TYPES.items():
            if key_kind(type) == kind:
                known: dict[tuple[str, ...], PageStatistics] = {(name,): statistics(bounds.numbers(), rows, kind, type)}
                constant = "'5'" if name == "s" else "'1970-01-01'" if name == "t" else "5"
                may_match(from_sql(f"NOT ({name} < {constant}) OR {name} IS NULL", schema), known, len(rows))
