"""Rows are compared as a model in Python compares them, in memory and through partitions on disk."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pytest

import lance_sql
from lance_sql.errors import InvalidArgument
from lance_sql.health.differences import pairing
from lance_sql.testing import TableDifferenceError, assert_table_equal

VALUES: Final[dict[str, pa.Array]] = {
    "floats": pa.array([0.0, -0.0, math.nan, 1.5, math.inf, None]),
    "half floats": pa.array([0.0, -0.0, math.nan, 1.5, None], pa.float16()),
    "text": pa.array(["", "a", "A", "a ", None]),
    "categories": pa.array(["", "a", None]).dictionary_encode(),
    "booleans": pa.array([True, False, None]),
    "intervals": pa.array([(1, 2, 3), (0, 0, 1), None], pa.month_day_nano_interval()),
    "moments": pa.array([1, 2, None], pa.timestamp("ns", "Asia/Tokyo")),
    "nothing": pa.nulls(2),
    "lists": pa.array([[], [1.0], [-0.0, math.nan], [0.0, math.nan], [None], None], pa.list_(pa.float32())),
    "lists of lists": pa.array([[[1], []], [[1]], [[], [1]], [None], None], pa.list_(pa.list_(pa.int8()))),
    "vectors": pa.array([[1.0, 2.0], [2.0, 1.0], [-0.0, 1.0], [0.0, 1.0], None], pa.list_(pa.float64(), 2)),
    "structs": pa.array(
        [{"x": 1, "y": "a"}, {"x": None, "y": "a"}, {"x": 1, "y": None}, None],
        pa.struct([("x", pa.int64()), ("y", pa.string())]),
    ),
    "maps": pa.array([[("a", 1)], [("b", 1)], [("a", 1), ("b", None)], [], None], pa.map_(pa.string(), pa.int64())),
}


@pytest.fixture(params=[1 << 26, 0], ids=["in memory", "on disk"])
def memory(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(pairing.pair, "__kwdefaults__", {"memory_bytes": request.param})
    return int(request.param)


def plain(value: Any) -> Any:
    """A value as SQL tells it from others."""
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else value + 0.0
    if isinstance(value, list | tuple):
        return tuple(map(plain, value))
    return tuple((name, plain(each)) for name, each in value.items()) if isinstance(value, dict) else value


def counted(table: pa.Table) -> Counter[Any]:
    """How often each row is there; times are compared as the numbers that Arrow stores."""
    columns = [
        column.cast(pa.int64()) if pa.types.is_timestamp(column.type) else column
        for column in (table[name] for name in table.column_names)
    ]
    return Counter(plain(row) for row in zip(*(column.to_pylist() for column in columns), strict=True))


def differences(actual: Any, expected: Any, **options: Any) -> Counter[str]:
    """The number of rows of each kind that an assertion names."""
    try:
        assert_table_equal(actual, expected, **options)
    except TableDifferenceError as error:
        rows = {(row["what"], row["actual_row"], row["expected_row"]) for row in error.to_table().to_pylist()}
        return Counter(what for what, *_ in rows)
    return Counter()


@pytest.mark.parametrize("name", VALUES)
@pytest.mark.usefixtures("memory")
def test_rows_without_a_key_are_counted(name: str) -> None:
    rng = np.random.default_rng(7)
    for size in (1, 5, 40):
        tables = [
            pa.table(
                {
                    "v": VALUES[name].take(pa.array(rng.integers(0, len(VALUES[name]), size))),
                    "n": pa.array(rng.integers(0, 3, size)),
                }
            )
            for _ in range(2)
        ]
        one, other = map(counted, tables)
        wanted = {"unexpected": (one - other).total(), "missing": (other - one).total()}
        assert differences(*tables) == Counter({what: count for what, count in wanted.items() if count})
        assert not differences(tables[0], tables[0].take(pa.array(rng.permutation(size))))


def test_values_of_rows_by_position_are_compared() -> None:
    for values in VALUES.values():
        rows = pa.table({"v": values})
        shifted = rows.take(pa.array([*range(1, len(values)), 0]))
        wanted = sum(counted(rows.slice(row, 1)) != counted(shifted.slice(row, 1)) for row in range(rows.num_rows))
        assert differences(rows, shifted, check_row_order=True)["changed"] == wanted
        assert differences(rows, rows.slice(1), check_row_order=True)["unexpected"] == 1
        assert differences(rows.slice(1), rows, check_row_order=True)["missing"] == 1


@pytest.mark.usefixtures("memory")
@pytest.mark.parametrize("columns", [["v"], ["v", "w"], ["v", "l"], ["l"]], ids=str)
@pytest.mark.parametrize("seed", range(4))
def test_close_rows_are_found_in_any_order(columns: list[str], seed: int) -> None:
    rng = np.random.default_rng(seed)
    v, w = rng.integers(0, 30, 60) / 10, rng.integers(0, 3, 60) * 10.0
    v[0], v[1] = math.nan, math.inf
    nudge = rng.uniform(-0.04, 0.04, 60)
    expected = pa.table({"v": v, "w": w, "l": [[each] for each in v]}).select(columns)
    moved = pa.table({"v": v + nudge, "w": w, "l": [[each] for each in v + nudge]}).select(columns)
    actual = moved.take(pa.array(rng.permutation(60)))
    assert_table_equal(actual, expected, atol=0.05)
    # of 60 rows, one has no other one within the tolerance
    far = pa.concat_tables(
        [actual.slice(0, 30), pa.table({"v": [99.0], "w": [0.0], "l": [[99.0]]}).select(columns), actual.slice(30)]
    )
    assert differences(far, expected, atol=0.05) == Counter(unexpected=1)
    assert differences(actual, pa.concat_tables([expected, far.slice(30, 1)]), atol=0.05) == Counter(missing=1)


def test_a_tolerance_does_not_hide_a_row_that_another_one_takes() -> None:
    expected = {"v": [1.0, 1.1], "k": [5.0, 3.0]}
    assert_table_equal({"v": [1.0, 1.1], "k": [3.0, 5.0]}, expected, atol={"v": 0.2})
    assert differences({"v": [1.0, 1.5], "k": [3.0, 5.0]}, expected, atol={"v": 0.2}) == Counter(
        missing=1, unexpected=1
    )
    assert differences({"v": [1.0, None], "k": [5.0, 3.0]}, expected, atol={"v": 9.0}) == Counter(
        missing=1, unexpected=1
    )


@pytest.mark.usefixtures("memory")
def test_the_first_rows_by_position_are_shown() -> None:
    ids = list(range(2000))
    with pytest.raises(TableDifferenceError) as caught:
        assert_table_equal({"id": ids, "v": [1] * 2000}, {"id": ids[::-1], "v": [0] * 2000}, key="id", max_errors=2)
    assert str(caught.value).splitlines()[2::2] == ["    id=1999", "    id=1998", "    ... 1998 more (max_errors=2)"]
    assert caught.value.to_table()["expected_row"].to_pylist() == ids


@pytest.mark.parametrize("key", [None, "s"])
def test_case_and_spaces_are_ignored_but_shown(key: str | None) -> None:
    ours, wanted = {"s": ["  A  b", "c"], "v": [1, 2]}, {"s": ["a b", "C "], "v": [1, 3]}
    options: dict[str, Any] = {"key": key, "ignore_case": "s", "ignore_spaces": True}
    assert_table_equal({**ours, "v": [1, 3]}, wanted, **options)
    with pytest.raises(AssertionError, match=r"'C '"):
        assert_table_equal(ours, wanted, **options)
    with pytest.raises(AssertionError):
        assert_table_equal({**ours, "v": [1, 3]}, wanted, key=key, ignore_case=True)
    with pytest.raises(InvalidArgument, match="'v' is not a text column; text columns: s"):
        assert_table_equal(ours, wanted, ignore_case="v")


def test_the_primary_key_names_rows_unless_it_is_repeated(tmp_path: Path) -> None:
    primary = {"lance-schema:unenforced-primary-key": "true"}
    schema = pa.schema([pa.field("id", pa.int64(), nullable=False, metadata=primary), pa.field("v", pa.int64())])
    table = lance_sql.write(pa.table({"id": [1, 2], "v": [1, 2]}, schema=schema), tmp_path / "t.lance")
    assert differences(table, {"id": [1, 2], "v": [1, 3]}) == Counter(changed=1)
    assert differences({"id": [1, 2], "v": [1, 3]}, table) == Counter(changed=1)
    assert differences(table, {"id": [1, 1], "v": [1, 3]}) == Counter(missing=1, unexpected=1)
