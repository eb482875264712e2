"""Bounds of the calls that small operations make: see `benchmarks.calls`, which also lists the functions."""

from __future__ import annotations

import pytest

from benchmarks.calls import OPERATIONS, count

MOST = {
    "open": 600,
    "count_rows": 50,
    "count_rows with a filter": 1_300,
    "lookup by a BTREE": 1_800,
    "filter": 1_300,
    "take 10 rows": 530,
    "limit 10": 700,
    "a column": 1_400,
    "one row of 200 columns": 3_100,
    "lookup in DuckDB": 5_800,
    "lookup in DuckDB in a settled table": 3_200,
    "sum in DuckDB": 5_600,
    "changes of a version": 5_700,
    "changes of a version, opened anew": 6_300,
    "versions": 310,
    "history": 1_660,
    "search": 200,
    "poll of a cursor with nothing new": 1_400,
    "append 1 row": 3_600,
    "update 1 row": 7_800,
    "delete 1 row": 5_600,
    "merge 10 rows": 9_600,
    "tag": 500,
    "branch": 2_200,
    "compact nothing": 800,
    "cleanup of nothing": 2_300,
    "verify": 9_300,
}
"""A sixth above what was counted with Python 3.11; other releases count a little more or less."""


@pytest.mark.parametrize("name", OPERATIONS)
def test_an_operation_makes_no_more_calls(name: str) -> None:
    called = count(name)
    most = ", ".join(f"{number} of {function}" for function, number in called.most_common(5))
    assert called.total() <= MOST[name], f"{most}; see: python -m benchmarks.calls --functions 20 --only {name!r}"
