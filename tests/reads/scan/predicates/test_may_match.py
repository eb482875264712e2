"""Predicates on statistics: no page with a match is pruned; pages without one are pruned if the bounds allow."""

from __future__ import annotations

import itertools
import operator

import numpy as np
import pyarrow as pa
import pytest

from lance_sql.format.file.statistics import PageStatistics
from lance_sql.reads.scan.predicates import Path, from_sql, may_match, must_match

SCHEMA = pa.schema(
    [
        ("i", pa.int32()),
        ("f", pa.float64()),
        ("s", pa.string()),
        ("b", pa.bool_()),
        ("x", pa.int32()),
        ("g", pa.float64()),
    ]
)

# pages: 0..9, 10..19, unknown, always 20; of 5 values each
STATISTICS: dict[Path, PageStatistics] = {
    ("i",): PageStatistics(
        pa.array([5] * 4),
        pa.array([0, 4, None, 2]),
        pa.array([0, 10, None, 20], pa.int32()),
        pa.array([9, 19, None, 20], pa.int32()),
    ),
    ("f",): PageStatistics(
        pa.array([5] * 4), pa.array([0] * 4), pa.array([-0.0, 10.0, None, 20.0]), pa.array([0.0, 19.0, None, 20.0])
    ),
    ("s",): PageStatistics(
        pa.array([5] * 4),
        pa.array([None] * 4, pa.int64()),
        pa.array(["a", "k", None, "x"]),
        pa.array(["j", None, "w", "x"]),
    ),
    # no number but NaN in the second page, no NaN in the first one
    ("g",): PageStatistics(
        pa.array([5] * 4),
        pa.array([0, 1, None, 5]),
        pa.array([0.0, None, None, None]),
        pa.array([9.0, None, None, None]),
        pa.array([0, 4, None, 0]),
    ),
    ("b",): PageStatistics(
        pa.array([5] * 4), pa.array([0] * 4), pa.array([False, True, None, False]), pa.array([False, True, None, True])
    ),
}


@pytest.mark.parametrize(
    ("condition", "pages"),
    [
        ("i = 5", [0, 2]),
        ("i <> 20", [0, 1, 2]),
        ("i < 10", [0, 2]),
        ("i <= 10", [0, 1, 2]),
        ("i > 19", [2, 3]),
        ("i >= 19", [1, 2, 3]),
        ("NOT i >= 10", [0, 2]),
        ("NOT i = 20", [0, 1, 2]),
        ("i IN (3, 20)", [0, 2, 3]),
        ("i NOT IN (20)", [0, 1, 2]),
        ("i NOT IN (20, 21)", [0, 1, 2, 3]),
        ("i IN (3, NULL)", [0, 2]),
        ("i BETWEEN 9 AND 10", [0, 1, 2]),
        ("i < 10 AND i > 9", [2]),
        ("i < 10 OR i > 19", [0, 2, 3]),
        ("NOT (i < 10 OR i > 19)", [1, 2]),
        ("NOT (i >= 0 AND i < 10)", [1, 2, 3]),
        ("i IS NULL", [1, 2, 3]),
        ("i IS NOT NULL", [0, 1, 2, 3]),
        ("i < 10 AND s > 'j'", [2]),
        ("i < 10 AND x = 3", [0, 2]),
        ("x = 3", [0, 1, 2, 3]),
        ("i + 1 = 3", [0, 1, 2, 3]),
        ("i = x", [0, 1, 2, 3]),
        ("(i = 5) IS NULL", [0, 1, 2, 3]),
        ("f < 10", [0, 2]),
        ("f = 0", [0, 2]),
        ("f = -0.0", [0, 2]),
        ("f > 30", [0, 1, 2, 3]),
        ("NOT f < 10", [0, 1, 2, 3]),
        ("NOT f > 9", [0, 2]),
        ("f <> 20", [0, 1, 2, 3]),
        ("f = 'nan'::DOUBLE", [0, 1, 2, 3]),
        ("f IN (1, 'nan'::DOUBLE)", [0, 1, 2, 3]),
        ("f <= 'nan'::DOUBLE", [0, 1, 2, 3]),
        ("isnan(f)", [0, 1, 2, 3]),
        ("g > 9", [1, 2]),
        ("g < 10", [0, 2]),
        ("g = 5", [0, 2]),
        ("g <> 5", [0, 1, 2]),
        ("g = 'nan'::DOUBLE", [1, 2]),
        ("g < 'nan'::DOUBLE", [0, 2]),
        ("g > 'nan'::DOUBLE", []),
        ("g <= 'nan'::DOUBLE", [0, 1, 2]),
        ("g IN (20, 'nan'::DOUBLE)", [1, 2]),
        ("isnan(g)", [1, 2]),
        ("NOT isnan(g)", [0, 2]),
        ("g IS NULL", [1, 2, 3]),
        ("g IS NOT NULL", [0, 1, 2]),
        ("s = 'm'", [1, 2]),
        ("s > 'x'", [1]),
        ("s < 'a'", [2]),
        ("starts_with(s, 'k')", [1, 2]),
        ("s LIKE 'x%'", [1, 3]),
        ("NOT starts_with(s, 'k')", [0, 1, 2, 3]),
        ("s LIKE '%k'", [0, 1, 2, 3]),
        ("b", [1, 2, 3]),
        ("NOT b", [0, 2, 3]),
        ("true", [0, 1, 2, 3]),
        ("NULL", []),
    ],
)
def test_a_page_is_ruled_out_when_its_bounds_tell(condition: str, pages: list[int]) -> None:
    answers = may_match(from_sql(condition, SCHEMA), STATISTICS, 4)
    assert np.flatnonzero(answers).tolist() == pages


COMPARISONS = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


@pytest.mark.quick
def test_every_comparison_with_every_bound() -> None:
    """Pages of the values 0..2, 1..1 and 2..4, as plain Python decides about them."""
    pages = [[0, 1, 2], [1, 1, 1], [2, 3, 4]]
    least, most = (pa.array([each(page) for page in pages], pa.int32()) for each in (min, max))
    known: dict[Path, PageStatistics] = {("i",): PageStatistics(pa.array([3] * 3), pa.array([0] * 3), least, most)}
    for (text, holds), value, is_negated in itertools.product(COMPARISONS.items(), range(-1, 6), (False, True)):
        predicate = from_sql(f"NOT (i {text} {value})" if is_negated else f"i {text} {value}", SCHEMA)
        found = [[holds(each, value) is not is_negated for each in range(page[0], page[-1] + 1)] for page in pages]
        assert may_match(predicate, known, 3).tolist() == [any(each) for each in found], (text, value, is_negated)
        assert must_match(predicate, known, 3).tolist() == [all(each) for each in found], (text, value, is_negated)


def test_long_lists_are_decided_by_their_ends() -> None:
    listed = ", ".join(f"'{letter}{i}'" for letter in "ln" for i in range(50))
    assert np.flatnonzero(may_match(from_sql(f"s IN ({listed})", SCHEMA), STATISTICS, 4)).tolist() == [1, 2]
    assert np.flatnonzero(may_match(from_sql(f"s IN ('z', {listed})", SCHEMA), STATISTICS, 4)).tolist() == [1, 2, 3]


def test_every_integer_of_a_list_is_checked() -> None:
    listed = ", ".join(map(str, range(100, 200)))
    assert np.flatnonzero(may_match(from_sql(f"i IN ({listed})", SCHEMA), STATISTICS, 4)).tolist() == [2]
    assert np.flatnonzero(may_match(from_sql(f"i IN (15, {listed})", SCHEMA), STATISTICS, 4)).tolist() == [1, 2]


@pytest.mark.parametrize(
    ("condition", "pages"),
    [
        ("i < 10", [0]),
        ("i >= 0", [0]),
        ("i >= 5", []),
        ("NOT i >= 10", [0]),
        ("i NOT IN (20, 21)", [0]),
        ("i < 10 OR NULL", [0]),
        ("NOT (i >= 10 OR NULL)", []),
        ("i < 10 AND f <= 0.0", []),
        ("f > 5.0", [1, 3]),
        ("NOT f < 5.0", [1, 3]),
        ("s >= 'a'", []),
    ],
)
def test_pages_match_whole_where_every_value_does_and_none_is_null(condition: str, pages: list[int]) -> None:
    predicate = from_sql(condition, SCHEMA)
    whole = must_match(predicate, STATISTICS, 4)
    assert np.flatnonzero(whole).tolist() == pages
    assert not (whole & ~may_match(predicate, STATISTICS, 4)).any()
