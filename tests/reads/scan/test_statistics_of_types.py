"""Statistics of columns of every type that a zone map or an analysis knows."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any

import lance
import pyarrow as pa
import pytest

import lance_sql

VALUES: dict[str, tuple[pa.Array, Any, Any]] = {
    "half floats": (pa.array([2.5, None, -1.5], pa.float16()), -1.5, 2.5),
    "floats": (pa.array([2.5, None, -1.5], pa.float32()), -1.5, 2.5),
    "unsigned": (pa.array([2**64 - 1, None, 1], pa.uint64()), 1, 2**64 - 1),
    "booleans": (pa.array([True, None, False]), False, True),
    "decimals": (pa.array([Decimal("1.5"), None, Decimal("-2.5")]), Decimal("-2.5"), Decimal("1.5")),
    "wide decimals": (pa.array([Decimal(10**50), None, Decimal(-1)]), Decimal(-1), Decimal(10**50)),
    "far times": (pa.array([2**60, None, 0], pa.timestamp("us")), dt.datetime(1970, 1, 1), None),
    "nanoseconds": (pa.array([1, None, 0], pa.timestamp("ns")), None, None),
    "text": (pa.array(["b", None, "a"]), "a", "b"),
    "bytes": (pa.array([b"b", None, b"a"]), b"a", b"b"),
    **{
        f"durations in {unit}": (pa.array([2, None, 1], pa.duration(unit)), None, None)
        for unit in ("s", "ms", "us", "ns")
    },
}


@pytest.mark.parametrize("how", ["ours", "pylance", "analyze"])
@pytest.mark.parametrize("kind", VALUES)
def test_statistics_of_a_type(tmp_path: Path, kind: str, how: str) -> None:
    values, smallest, largest = VALUES[kind]
    rows = pa.table({"id": range(3), "x": values, "d": pa.array([3, 1, 2], pa.duration("s"))})
    table = lance_sql.write(rows, tmp_path / "t.lance")
    if how == "ours":
        table = table.indices.create("x", "zonemap")
    elif how == "pylance":
        try:
            lance.dataset(table.uri).create_scalar_index("x", "ZONEMAP")
        except (OSError, TypeError, ValueError) as error:
            pytest.skip(f"pylance does not build it: {error}")
        table = lance_sql.open(table.uri)
    found = {each.column: each for each in table.maintenance.statistics(analyze=how == "analyze")}
    if how == "ours":
        assert found["x"].num_nulls == 1
        assert smallest is None or found["x"].smallest == smallest
        assert largest is None or found["x"].largest == largest
    shown = lance_sql.connect().execute(f"FROM lance_statistics('{table.uri}')").fetchall()
    assert len(shown) == 3
