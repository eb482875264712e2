"""Pairs of columns are compared as plain Python compares them, in SQL's order; what does not fit is refused."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from decimal import Decimal
from typing import Any, NoReturn

import numpy as np
import pyarrow as pa
import pytest

from lance_sql import _kernels as kernels
from lance_sql._kernels import Outcome
from tests.kernels.test_array_pages import (
    BEHIND,
    CHOSEN,
    NUM_ROWS,
    ROWS,
    WORDS,
    Made,
    column_of,
    stored_strings,
    strings_page,
    values_page,
)

LESS, EQUAL, GREATER = list(Outcome)
OUTCOMES = {
    operator.lt: LESS,
    operator.eq: EQUAL,
    operator.le: LESS | EQUAL,
    operator.gt: GREATER,
    operator.ne: LESS | GREATER,
    operator.ge: EQUAL | GREATER,
}
UNSIGNED, SIGNED, FLOAT = list(kernels.ValueOrder)
NAN, INFINITY = math.nan, math.inf
WIDE = [Decimal(-(2**100)), Decimal(2**100), Decimal(-1), Decimal(0), Decimal(1), Decimal(2**64)]


def refuse(in_test: bool, column: int, page: int | None, message: str, is_unsupported: bool) -> NoReturn:
    raise ValueError(f"{in_test} {column} {page} {message}")


def stored(array: pa.Array) -> Made:
    """The array as a page."""
    if pa.types.is_binary(array.type):
        return strings_page(array.to_pylist())
    validity, content = array.buffers()
    size = (len(array) * array.type.bit_width + 7) // 8
    data = content.to_pybytes()[:size]
    bits = validity.to_pybytes() if validity is not None else b""
    page = kernels.PageReader.array_values(
        len(array),
        size=len(data) + len(bits),
        values=(0, len(data)),
        validity=(len(data), len(bits)) if bits else None,
        format=(False, array.type.bit_width),
    )
    return page, data + bits


def comparing(left: Made, right: Made, order: kernels.ValueOrder | None, outcomes: int, divisor: int = 0) -> list[int]:
    """The numbers of the rows that compare, of two columns of a page."""
    numbers = stored(pa.array(range(NUM_ROWS), pa.int64()))
    one, another, rows = [(column_of(*page), [(0, page[1], 0)]) for page in (left, right, numbers)]
    fragment = kernels.FragmentRows(
        [],
        [kernels.ComparedColumns(*one, *another, order, outcomes, divisor)],
        [0],
        [kernels.DeliveredColumn(*rows, True, [], [], False)],
        [0],
        ROWS,
        np.array([700, len(CHOSEN)], np.int64),
        refuse,
        0,
    )
    schema = pa.schema([("row", pa.int64())])
    found: list[int] = []
    for batch in kernels.BatchStream(iter([fragment]), schema, most_ahead=1, eager=True):
        found += pa.RecordBatch._import_from_c(batch.address, schema)["row"].to_pylist()
    return found


def _key(value: Any) -> Any:
    """In SQL's order."""
    return (value != value, 0.0 if value != value else value) if isinstance(value, float) else value


@pytest.mark.parametrize("compare", OUTCOMES, ids=lambda each: each.__name__)
@pytest.mark.parametrize(
    ("type", "values", "order"),
    [
        (pa.int8(), [-128, 127, 0, -1, 1, None], SIGNED),
        (pa.uint16(), [0, 65535, 1, None, 256], UNSIGNED),
        (pa.int64(), [-(2**63), 2**63 - 1, 0, None], SIGNED),
        (pa.uint64(), [0, 2**64 - 1, 2**63, None], UNSIGNED),
        (pa.float32(), [0.0, -0.0, NAN, None, INFINITY, -INFINITY, 1.5, -1.5], FLOAT),
        (pa.float64(), [0.0, -0.0, -NAN, None, INFINITY, -INFINITY, 5e-324, -5e-324], FLOAT),
        (pa.decimal128(38, 0), [*WIDE, None], SIGNED),
        (pa.bool_(), [True, False, None], UNSIGNED),
        (pa.binary(), [b"", b"a", b"ab", b"\xff", b"\x00", None, b"a" * 50, b"a" * 50 + b"b"], None),
    ],
    ids=str,
)
def test_pairs_compare_in_the_order_of_sql(
    compare: Callable[[Any, Any], bool], type: pa.DataType, values: list[Any], order: kernels.ValueOrder | None
) -> None:
    left = [values[row % len(values)] for row in range(NUM_ROWS)]
    right = [values[row // len(values) % len(values)] for row in range(NUM_ROWS)]
    found = comparing(stored(pa.array(left, type)), stored(pa.array(right, type)), order, OUTCOMES[compare])
    assert found == [
        row
        for row in CHOSEN.tolist()
        if left[row] is not None and right[row] is not None and compare(_key(left[row]), _key(right[row]))
    ]


@pytest.mark.parametrize("divisor", [1, 2, 3, 7, 101, 128, 2**31 - 1, 2**31, 2**33 + 1, 2**47, 2**48 - 1, 2**48])
@pytest.mark.parametrize("kind", ["i1", "u2", "i4", "i8", "u8"])
def test_rests_are_those_of_python(kind: str, divisor: int) -> None:
    bounds = np.iinfo(kind)
    low, high = int(bounds.min), int(bounds.max)
    near = [low, low + 1, high, high - 1, 0, 1, 2, 100, 101]
    near += [factor * divisor + more for factor in (-(2**14) + 1, -1, 1, 2**15 - 1) for more in (-1, 0, 1)]
    drawn = np.random.default_rng(divisor).integers(low, high, NUM_ROWS, kind, endpoint=True).tolist()
    left: list[int | None] = [None, *(value for value in near if low <= value <= high), *drawn][:NUM_ROWS]
    rests = [None if value is None else int(math.copysign(1, value)) * (abs(value) % divisor) for value in left]
    right = [next(rest for rest in rests if rest)] * NUM_ROWS if any(rests) else [0] * NUM_ROWS
    type = pa.from_numpy_dtype(np.dtype(kind))
    for compare in (operator.eq, operator.lt, operator.ge):
        order = SIGNED if low else UNSIGNED
        found = comparing(
            stored(pa.array(left, type)), stored(pa.array(right, type)), order, OUTCOMES[compare], divisor
        )
        assert found == [row for row in CHOSEN.tolist() if rests[row] is not None and compare(rests[row], right[row])]


def test_pairs_that_do_not_fit_are_refused() -> None:
    numbers = stored(pa.array(range(NUM_ROWS), pa.int64()))
    narrow = stored(pa.array([1] * NUM_ROWS, pa.int8()))
    wide = values_page(bytes(24 * NUM_ROWS), 192, has_nulls=False)
    for left, right, order, message in (
        (numbers, narrow, SIGNED, "different formats"),
        (narrow, narrow, FLOAT, "floats of 8 bits"),
        (numbers, numbers, None, "no order"),
        (strings_page(WORDS), strings_page(WORDS), UNSIGNED, "no order"),
        (wide, wide, SIGNED, "192 bits"),
    ):
        with pytest.raises(ValueError, match=message):
            comparing(left, right, order, LESS)
    for page, order in ((stored(pa.array([1.5] * NUM_ROWS)), FLOAT), (strings_page(WORDS), None)):
        with pytest.raises(ValueError, match="rests of what are no integers"):
            comparing(page, page, order, LESS, 7)
    with pytest.raises(ValueError, match="outcomes 8 are not 0 to 7"):
        comparing(numbers, numbers, SIGNED, 8)


def test_damage_names_the_side_of_a_pair() -> None:
    damaged = stored_strings(BEHIND, b"ab", 100)
    with pytest.raises(ValueError, match=r"True 0 0 row .* ends at 9 of 2 bytes"):
        comparing(damaged, strings_page(WORDS), None, LESS)
    with pytest.raises(ValueError, match=r"True 1 0 row .* ends at 9 of 2 bytes"):
        comparing(strings_page(WORDS), damaged, None, LESS)
