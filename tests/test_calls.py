"""Bounds of the calls that small operations make: see `benchmarks.calls`, which also lists the functions."""

from __future__ import annotations

import pytest

from benchmarks.calls import OPERATIONS, count

MOST = {
    "open": 540,
    "count_rows": 40,
    "count_rows with a filter": 880,
    "lookup by a BTREE": 890,
    "filter": 740,
    "take 10 rows": 330,
    "limit 10": 370,
    "a column": 550,
    "one row of 200 columns": 970,
    "lookup in DuckDB": 2_000,
    "sum in DuckDB": 1_400,
    "changes of a version": 2_800,
    "changes of a version, opened anew": 3_350,
    "versions": 250,
    "history": 1_450,
    "search": 190,
    "poll of a cursor with nothing new": 1_150,
    "append 1 row": 3_150,
    "update 1 row": 5_700,
    "delete 1 row": 3_750,
    "merge 10 rows": 7_200,
    "tag": 460,
    "branch": 2_000,
    "compact nothing": 680,
    "cleanup of nothing": 2_250,
    "verify": 8_100,
}
"""An eighth above what was counted with Python 3.11; other releases count a little more or less."""


@pytest.mark.parametrize("name", OPERATIONS)
def test_an_operation_makes_no_more_calls(name: str) -> None:
    called = count(name)
    most = ", ".join(f"{number} of {function}" for function, number in called.most_common(5))
    assert called.total() <= MOST[name], f"{most}; see: python -m benchmarks.calls --functions 20 --only {name!r}"
