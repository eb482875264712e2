"""Rows by their keys, held and through partitions on disk."""

from __future__ import annotations

from collections import Counter
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lance_sql.errors import InvalidArgument
from lance_sql.health.differences.pairing import LeftOnly, Paired, RightOnly, UniqueKey, pair


def reader(table: pa.Table) -> pa.RecordBatchReader:
    return table.to_reader(max_chunksize=7)


def met(before: pa.Table, after: pa.Table, key: list[str], memory_bytes: int) -> Counter[str]:
    found: Counter[str] = Counter()
    for each in pair(reader(before), reader(after), UniqueKey(key), memory_bytes=memory_bytes):
        match each:
            case Paired(old, new):
                found.update(repr(rows) for rows in zip(old.to_pylist(), new.to_pylist(), strict=True))
            case LeftOnly(rows):
                found.update(repr((row, None)) for row in rows.to_pylist())
            case RightOnly(rows):
                found.update(repr((None, row)) for row in rows.to_pylist())
    return found


def expected(before: pa.Table, after: pa.Table, key: list[str]) -> Counter[str]:
    sides: list[dict[Any, Any]] = [
        {repr([row[name] for name in key]): row for row in table.to_pylist()} for table in (before, after)
    ]
    keys = sides[0].keys() | sides[1].keys()
    return Counter(repr((sides[0].get(each), sides[1].get(each))) for each in keys)


TEXTS = st.dictionaries(
    st.tuples(st.one_of(st.none(), st.text(max_size=2)), st.integers(-3, 3)), st.integers(0, 9), max_size=60
)


@settings(max_examples=40)
@given(TEXTS, TEXTS, st.sampled_from([0, 200, 1 << 20]))
def test_every_row_is_met_once(a: Any, b: Any, memory_bytes: int) -> None:
    schema = pa.schema([("k", pa.large_string()), ("n", pa.int64()), ("v", pa.int64())])
    before, after = (
        pa.Table.from_pylist([{"k": k, "n": n, "v": v} for (k, n), v in rows.items()], schema) for rows in (a, b)
    )
    assert met(before, after, ["k", "n"], memory_bytes) == expected(before, after, ["k", "n"])


@pytest.mark.parametrize(
    "keys",
    [
        pa.array([None, 1.5, -2.0, 3.25, 1e300], pa.float64()),
        pa.array([0, 1, 86_400_000_000_001, None], pa.timestamp("ns", "UTC")),
        pa.array([0, 1, 20_000, None], pa.date32()),
        pa.array([0, 1, 2**40, None], pa.duration("us")),
        pa.array([Decimal("1.50"), Decimal("-2.25"), None]),
        pa.array([b"a", b"\x00", b"", None], pa.large_binary()),
        pa.array([True, False, None]),
        pa.array([0, 2**64 - 1, None], pa.uint64()),
    ],
    ids=lambda keys: str(keys.type),
)
@pytest.mark.parametrize("memory_bytes", [0, 1 << 20])
def test_keys_of_every_type_meet(keys: pa.Array, memory_bytes: int) -> None:
    before = pa.table({"k": keys, "v": range(len(keys))})
    after = before.slice(1).take(list(reversed(range(len(keys) - 1))))
    found = list(pair(reader(before), reader(after), UniqueKey(["k"]), memory_bytes=memory_bytes))
    pairs = [each for each in found if isinstance(each, Paired)]
    assert all(each.before.equals(each.after) for each in pairs)
    assert sum(each.after.num_rows for each in pairs) == len(keys) - 1
    assert [each.rows.num_rows for each in found if isinstance(each, LeftOnly)] == [1]


def test_nan_is_equal_to_itself() -> None:
    table = pa.table({"k": [float("nan"), 1.0]})
    for memory_bytes in (0, 1 << 20):
        (pairs, *others) = pair(reader(table), reader(table), UniqueKey(["k"]), memory_bytes=1 << 20)
        assert isinstance(pairs, Paired)
        assert not others
        assert (
            sum(
                each.after.num_rows
                for each in pair(reader(table), reader(table), UniqueKey(["k"]), memory_bytes=memory_bytes)
                if isinstance(each, Paired)
            )
            == 2
        )


@pytest.mark.parametrize("memory_bytes", [0, 1 << 20])
def test_a_key_that_is_there_twice_is_refused(memory_bytes: int) -> None:
    once, twice = pa.table({"k": ["a", "b"]}), pa.table({"k": ["b", "a", "b"]})
    with pytest.raises(InvalidArgument, match="Two rows of the second table have the key k='b'"):
        list(pair(reader(once), reader(twice), UniqueKey(["k"]), memory_bytes=memory_bytes))
