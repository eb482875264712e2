"""Rules over columns of every type: what can never hold is refused when it is set, good rows keep the others."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import lance_sql
from lance_sql.errors import ContractBroken, InvalidArgument, LanceError
from lance_sql.testing import assert_invariants

COLUMNS: dict[str, pa.Array] = {
    "f": pa.array([0.5, 1.5]),
    "h": pa.array([0.5, 1.5], pa.float16()),
    "s": pa.array([{"a": 1}, {"a": 2}]),
    "l": pa.array([[1], [2]]),
    "v": pa.array([[1.0], [2.0]], pa.list_(pa.float32(), 1)),
    "n": pa.array([1, 2]),
    "t": pa.array(["a", "b"]),
    "c": pa.array(["a", "b"]).dictionary_encode(),
    "at": pa.array([2**60, 0], pa.timestamp("us")),
}


def written(path: Path) -> lance_sql.Dataset:
    return lance_sql.write(pa.table(COLUMNS), path / "t.lance")


@pytest.mark.parametrize(
    "rule",
    [
        "unique(s)",
        "unique(l)",
        "unique(v)",
        "unique(n, l)",
        "freshness(n, '1d')",
        "freshness(t, '1d')",
        "freshness(v, '1d')",
        "accepted_values(n, 'x')",
        "accepted_values(t, 1)",
        "accepted_values(l, 1)",
        "foreign_key(n, 'nowhere.lance', id)",
        "foreign_key(n, 'other.lance', nothing)",
        "foreign_key(n, 'other.lance', name)",
        "foreign_key(l, 'other.lance', id)",
        "foreign_key(t, 'other.lance', id)",
    ],
)
def test_a_rule_that_can_never_hold_is_refused(tmp_path: Path, rule: str) -> None:
    lance_sql.write({"id": [1, 2], "name": ["a", "b"]}, tmp_path / "other.lance")
    table = written(tmp_path)
    for enforce in (True, False):
        with pytest.raises(LanceError):
            table.rules.set("r", rule, enforce=enforce)
    assert lance_sql.open(table.uri).version == 1


@pytest.mark.parametrize(
    "rule",
    ["unique(f)", "unique(h)", "unique(s.a)", "unique(c)", "unique(n, f)", "freshness(at, '1d')", "n > 0 -- positive"],
)
def test_a_rule_holds_for_good_rows_in_every_way_of_checking(tmp_path: Path, rule: str) -> None:
    table = written(tmp_path).rules.set("r", rule, enforce=True)
    assert table.rules.check().is_kept
    more = pa.table({name: array.take(pa.array([0])) for name, array in COLUMNS.items()})
    more = more.set_column(5, "n", pa.array([3])).set_column(0, "f", pa.array([9.5]))
    more = more.set_column(1, "h", pa.array([9.5], pa.float16())).set_column(2, "s", pa.array([{"a": 9}]))
    more = more.set_column(7, "c", pa.array(["z"]).dictionary_encode()).select(table.schema.names)
    table = lance_sql.write(more, table, mode="append")
    assert table.rules.check().is_kept
    assert table.rules.check(since=1).is_kept
    if rule.startswith("unique"):
        with pytest.raises(ContractBroken):
            lance_sql.write(more, table, mode="append")


MOMENT = pa.array([1_700_000_000_500], pa.timestamp("ms"))
REFERENCES: dict[str, tuple[pa.Array, pa.Array, bool]] = {
    "dictionary on the right": (pa.array(["a"]), pa.array(["a", "b"]).dictionary_encode(), True),
    "two dictionaries": (pa.array(["a"]).dictionary_encode(), pa.array(["b", "a"]).dictionary_encode(), True),
    "not in a dictionary": (pa.array(["z"]), pa.array(["a", "b"]).dictionary_encode(), False),
    "beyond int32": (pa.array([2**40]), pa.array([1], pa.int32()), False),
    "below unsigned": (pa.array([-1]), pa.array([1], pa.uint64()), False),
    "a fraction": (pa.array([1.5]), pa.array([1]), False),
    "a whole float": (pa.array([1.0]), pa.array([1]), True),
    "a decimal": (pa.array([1]), pa.array([Decimal("1.00")]), True),
    "a time of day": (MOMENT, MOMENT.cast(pa.date32(), safe=False), False),
    "nanoseconds": (pa.array([1], pa.timestamp("ns")), pa.array([0], pa.timestamp("us")), False),
    "two zones": (
        pa.array([5], pa.timestamp("us", "UTC")),
        pa.array([5], pa.timestamp("us", "Asia/Tokyo")),
        True,
    ),
    "bytes": (pa.array([b"ab"]), pa.array([b"ab"], pa.binary(2)), True),
}


@pytest.mark.parametrize("kind", REFERENCES)
def test_references_between_types(tmp_path: Path, kind: str) -> None:
    values, referenced, is_kept = REFERENCES[kind]
    other = lance_sql.write(pa.table({"id": referenced}), tmp_path / "other.lance")
    table = lance_sql.write(pa.table({"x": values}), tmp_path / "t.lance")
    table = table.rules.set("r", "foreign_key(x, 'other.lance', id)")
    assert table.rules.check().is_kept == is_kept
    arguments: dict[str, Any] = {"foreign_keys": {"x": (other, "id")}}
    if is_kept:
        assert_invariants(table, **arguments)
    else:
        with pytest.raises(AssertionError, match="not in id"):
            assert_invariants(table, **arguments)


def test_types_without_a_value_in_common(tmp_path: Path) -> None:
    other = lance_sql.write({"id": [1]}, tmp_path / "other.lance")
    table = lance_sql.write({"x": ["a"]}, tmp_path / "t.lance")
    with pytest.raises(InvalidArgument, match="compare columns of one type"):
        assert_invariants(table, foreign_keys={"x": (other, "id")})
