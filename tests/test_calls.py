"""Bounds of the calls that small operations make: see `benchmarks.calls`, which also lists the functions."""

from __future__ import annotations

import pytest

from benchmarks.calls import OPERATIONS, count

MOST = {
    "open": 550,
    "count_rows": 40,
    "count_rows with a filter": 900,
    "lookup by a BTREE": 1_050,
    "filter": 760,
    "take 10 rows": 380,
    "limit 10": 420,
    "a column": 580,
    "one row of 200 columns": 1_500,
    "lookup in DuckDB": 4_600,
    "lookup in DuckDB in a settled table": 2_500,
    "sum in DuckDB": 5_600,
    "changes of a version": 3_200,
    "changes of a version, opened anew": 3_750,
    "versions": 250,
    "history": 1_500,
    "search": 190,
    "poll of a cursor with nothing new": 1_200,
    "append 1 row": 3_600,
    "update 1 row": 6_500,
    "delete 1 row": 4_450,
    "merge 10 rows": 8_100,
    "tag": 460,
    "branch": 2_050,
    "compact nothing": 690,
    "cleanup of nothing": 2_250,
    "verify": 8_300,
}
"""An eighth above what was counted with Python 3.11; other releases count a little more or less."""


@pytest.mark.parametrize("name", OPERATIONS)
def test_an_operation_makes_no_more_calls(name: str) -> None:
    called = count(name)
    most = ", ".join(f"{number} of {function}" for function, number in called.most_common(5))
    assert called.total() <= MOST[name], f"{most}; see: python -m benchmarks.calls --functions 20 --only {name!r}"
