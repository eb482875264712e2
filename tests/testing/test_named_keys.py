"""Keys that a test names: each is the key of a row, or of none."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np
import pyarrow as pa
import pytest

import lance_sql
from lance_sql.errors import InvalidArgument
from lance_sql.testing import assert_changes

DAYS = [dt.date(2026, 1, 1), dt.date(2026, 1, 2)]
MOMENTS = [dt.datetime(2026, 1, 1), dt.datetime(2026, 1, 2)]
KEYS: dict[str, tuple[pa.Array, list[Any], list[Any]]] = {
    "integers": (pa.array([0, 1]), [0, 1], [0.9, 1.9]),
    "integers as booleans": (pa.array([0, 1]), [0.0, Decimal(1)], [False, True]),
    "decimals": (pa.array([Decimal("1.0"), Decimal("2.0")], pa.decimal128(5, 1)), [1, 2], [Decimal("1.04"), 2]),
    "days": (pa.array(DAYS), DAYS, [dt.datetime(2026, 1, 1, 5), dt.datetime(2026, 1, 2)]),
    "seconds": (pa.array(MOMENTS, pa.timestamp("s")), MOMENTS, [MOMENTS[0].replace(microsecond=1000), MOMENTS[1]]),
    "booleans": (pa.array([False, True]), [False, True], [0, 1]),
    "text": (pa.array(["0", "1"]), ["0", "1"], [0, 1]),
    "UUIDs": (pa.array([UUID(int=0), UUID(int=1)], pa.uuid()), [str(UUID(int=0)), UUID(int=1)], ["0", "1"]),
    "bytes": (pa.array([b"a", b"b"], pa.binary(1)), [b"a", b"b"], [b"aa", b"b"]),
}


@pytest.mark.parametrize("kind", KEYS)
def test_a_key_that_the_column_cannot_hold_is_that_of_no_row(tmp_path: Path, kind: str) -> None:
    values, right, wrong = KEYS[kind]
    table = lance_sql.write(pa.table({"k": values}), tmp_path / "t.lance").delete("true")
    assert_changes(table, since=1, deleted=right, key="k")
    with pytest.raises(AssertionError, match="not deleted"):
        assert_changes(table, since=1, deleted=wrong, key="k")
    with pytest.raises(AssertionError, match="not deleted"):
        assert_changes(lance_sql.open(tmp_path / "t.lance"), since=1, deleted=[*right, wrong[0]], key="k")


@pytest.mark.parametrize(
    "keys",
    [np.array([0, 1]), pa.array([0, 1]), (0, 1), {0, 1}, np.int64(2), 2, range(2)],
    ids=lambda keys: type(keys).__name__,
)
def test_keys_in_any_collection(tmp_path: Path, keys: Any) -> None:
    table = lance_sql.write({"k": [0, 1]}, tmp_path / "t.lance").delete("true")
    assert_changes(table, since=1, deleted=keys, key="k")


@pytest.mark.parametrize("keys", ["ab", 1.5, True, {"k": [1]}, [(1, 2)]], ids=repr)
def test_invalid_keys_are_refused(tmp_path: Path, keys: Any) -> None:
    table = lance_sql.write({"k": [0, 1], "l": [0, 1]}, tmp_path / "t.lance").delete("true")
    with pytest.raises((InvalidArgument, AssertionError)):
        assert_changes(table, since=1, deleted=keys, key=["k"])
    with pytest.raises(InvalidArgument, match="The key has 2 columns"):
        assert_changes(table, since=1, deleted=[1, 2], key=["k", "l"])
