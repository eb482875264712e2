"""Positions of columns in an unenforced key."""

from __future__ import annotations

import pytest

from lance_sql.format.schema.primary_key import position


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (b"1", 1),
        (b"4294967295", 2**32 - 1),
        (b"4294967296", 0),
        (b"0", 0),
        (b"-1", 0),
        (b"first", 0),
        (None, 0),
    ],
)
def test_a_position_is_a_number_of_32_bits(value: bytes | None, expected: int) -> None:
    assert position(value) == expected
