"""Values in other forms of Arrow are equal, and columns of two types are compared by values."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import polars
import pyarrow as pa
import pytest

import lance_sql
from lance_sql.errors import InvalidArgument
from lance_sql.testing import assert_table_equal

CATEGORIES = polars.DataFrame({"id": [1, 2], "c": polars.Series(["a", None], dtype=polars.Categorical)})
TEXTS = {"id": [1, 2], "c": ["a", None]}


def test_categories_of_polars_are_text(tmp_path: Path) -> None:
    assert_table_equal(CATEGORIES, TEXTS)
    assert_table_equal(CATEGORIES, CATEGORIES, key="id")
    with pytest.raises(AssertionError):
        assert_table_equal(CATEGORIES, {"id": [1, 2], "c": ["a", "b"]})
    nested = CATEGORIES.select("id", polars.struct("c").alias("s"))
    assert_table_equal(nested, nested)
    table = lance_sql.write(TEXTS, tmp_path / "t.lance")
    table = lance_sql.write(CATEGORIES, table, mode="append")
    assert table.count_rows("c = 'a'") == 2
    assert lance_sql.apply_changes(tmp_path / "u.lance", CATEGORIES, "id", sequence_by="id").count_rows() == 2


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (pa.array(["a"]), pa.array(["a"], pa.string_view())),
        (pa.array([b"a"]), pa.array([b"a"], pa.binary_view())),
        (pa.array([[1]]), pa.array([[1]], pa.large_list(pa.int64()))),
        (pa.array([["a"]], pa.list_(pa.string(), 1)), pa.array([["a"]], pa.list_(pa.large_string(), 1))),
        (pa.array(["a"]), pa.array(["a"]).dictionary_encode()),
        (pa.array([Decimal("1.5")], pa.decimal128(5, 1)), pa.array([Decimal("1.5")], pa.decimal32(5, 1))),
    ],
    ids=lambda array: str(array.type),
)
def test_forms_of_one_value_are_equal(one: pa.Array, other: pa.Array) -> None:
    assert_table_equal(pa.table({"x": one}), pa.table({"x": other}))


PAIRS = {
    "two zones": (pa.array([5], pa.timestamp("us", "UTC")), pa.array([5], pa.timestamp("us", "Asia/Tokyo"))),
    "two units": (pa.array([5], pa.timestamp("s", "UTC")), pa.array([5 * 10**6], pa.timestamp("us", "UTC"))),
    "signs": (pa.array([2**63 - 1]), pa.array([2**63 - 1], pa.uint64())),
    "decimals": (pa.array([7]), pa.array([Decimal("7.00")])),
    "floats": (pa.array([7]), pa.array([7.0])),
    "text": (pa.array(["a"]), pa.array(["a"]).dictionary_encode()),
}


@pytest.mark.parametrize("as_key", [True, False])
@pytest.mark.parametrize("kind", PAIRS)
def test_tables_of_other_types_are_compared_by_values(tmp_path: Path, kind: str, *, as_key: bool) -> None:
    one, other = PAIRS[kind]
    first = lance_sql.write(pa.table({"id": [1], "x": one}), tmp_path / "a.lance")
    second = lance_sql.write(pa.table({"id": [1], "x": other}), tmp_path / "b.lance")
    difference = lance_sql.diff(first, second, "x" if as_key else "id")
    assert (difference.rows_inserted, difference.rows_deleted, difference.rows_updated) == (0, 0, 0)
    assert difference.not_compared == ()


def test_a_value_beyond_the_common_type_is_named(tmp_path: Path) -> None:
    first = lance_sql.write({"id": [1], "x": [2**53 + 1]}, tmp_path / "a.lance")
    second = lance_sql.write({"id": [1], "x": [0.5]}, tmp_path / "b.lance")
    with pytest.raises(InvalidArgument, match="Column 'x': a value of int64 does not fit double"):
        lance_sql.diff(first, second, "id")
