"""Columns that pandas or Polars do not hold are refused by name, and every other table is converted."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest

import lance_sql
from lance_sql.errors import UnsupportedFeature

_UUIDS = pa.ExtensionArray.from_storage(pa.uuid(), pa.array([bytes(16)], pa.binary(16)))


@pytest.mark.parametrize(
    ("values", "library"),
    [
        (pa.array([Decimal(1)], pa.decimal256(50, 2)), "polars"),
        (pa.array([1], pa.timestamp("us", "+05:30")), "polars"),
        (pa.array([1], pa.time64("ns")), "pandas"),
        (pa.ListArray.from_arrays([0, 1], _UUIDS), "pandas"),
    ],
    ids=str,
)
def test_columns_that_a_library_does_not_hold(tmp_path: Path, values: pa.Array, library: str) -> None:
    table = lance_sql.write(pa.table({"id": [1], "v": values}), tmp_path / "t.lance")
    with pytest.raises(UnsupportedFeature, match=r"Column 'v' of type .* does not fit") as raised:
        getattr(table, f"to_{library}")()
    assert "\n" not in str(raised.value)
    assert len(getattr(table.scan(["id"]), f"to_{library}")()) == 1
