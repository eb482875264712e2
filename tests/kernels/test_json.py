"""Stored JSON: the kernels write the text that the oracle writes, and find the members that Python finds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lance_sql import _kernels as kernels
from lance_sql._kernels import JsonFaultKind, JsonResult, JsonStepKind
from tests.format.schema.test_jsonb import encode, values
from tests.kernels import json_oracle

MISSING = object()
WORDS = ("a", "b", "é", "", "0", "1", "k.y")
documents = st.recursive(
    values,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(WORDS), inner, max_size=5),
    max_leaves=12,
)
steps = st.one_of(
    st.sampled_from(WORDS).map(lambda key: (JsonStepKind.KEY, key, 0)),
    st.integers(0, 4).map(lambda index: (JsonStepKind.INDEX, "", index)),
    st.just((JsonStepKind.LAST, "", 0)),
)


def texts(documents: Sequence[bytes | None]) -> pa.Array | tuple[int, int, str]:
    made, fault = kernels.json_texts(pa.array(documents, pa.large_binary()))
    if made is None:
        assert fault is not None
        return fault
    array = pa.Array._import_from_c(made.address, pa.string())
    array.validate(full=True)
    return array


def expected_texts(documents: Sequence[bytes | None]) -> list[str | None] | int:
    found: list[str | None] = []
    for row, document in enumerate(documents):
        try:
            found.append(None if document is None else json_oracle.text_of(document))
        except json_oracle.RefusedError:
            return row
    return found


def check(documents: Sequence[bytes | None]) -> None:
    expected, found = expected_texts(documents), texts(documents)
    if isinstance(expected, int):
        assert isinstance(found, tuple)
        assert found[1] == expected
    else:
        assert isinstance(found, pa.Array), found
        assert found.to_pylist() == expected


@given(st.lists(st.none() | documents, max_size=6))
def test_texts_are_those_of_the_oracle(values: list[Any]) -> None:
    check([None if value is None else encode(value) for value in values])


@given(st.floats(width=64))
@example(1e16)
@example(9999999999999998.0)
@example(1e-4)
@example(9.999999999999999e-05)
@example(-0.0)
@example(5e-324)
@example(1.7976931348623157e308)
def test_numbers_are_written_as_in_python(number: float) -> None:
    check([encode([number])])


@given(documents, st.data())
def test_damaged_documents_are_refused_like_by_the_oracle(value: object, data: st.DataObject) -> None:
    stored = bytearray(encode(value))
    for _ in range(data.draw(st.integers(1, 3))):
        stored[data.draw(st.integers(0, len(stored) - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(stored)))
    check([encode(1), None, bytes(stored), bytes(stored[:cut]), encode("behind")])


@given(st.binary(max_size=40))
def test_strings_of_any_bytes(payload: bytes) -> None:
    word = (1 << 28 | len(payload)).to_bytes(4, "big")
    check([b"\x20\x00\x00\x00" + word + payload])


def test_slices_have_their_own_documents() -> None:
    stored = pa.array([encode(row) if row % 3 else None for row in range(20)], pa.large_binary())
    for start in range(20):
        made, _ = kernels.json_texts(stored[start:])
        assert made is not None
        found = pa.Array._import_from_c(made.address, pa.string()).to_pylist()
        assert found == [str(row) if row % 3 else None for row in range(start, 20)]


def found(
    stored: Sequence[bytes | None], path: Sequence[kernels.JsonStep], result: JsonResult, wanted: str = ""
) -> Any:
    type = {
        JsonResult.DOCUMENT: pa.large_binary(),
        JsonResult.INTEGER: pa.int64(),
        JsonResult.LENGTH: pa.int64(),
        JsonResult.FLOAT: pa.float64(),
        JsonResult.BOOLEAN: pa.bool_(),
        JsonResult.EXISTS: pa.bool_(),
        JsonResult.CONTAINS: pa.bool_(),
    }.get(result, pa.large_string())
    made, fault = kernels.json_members(pa.array(stored, pa.large_binary()), path, result, wanted)
    if made is None:
        assert fault is not None
        return fault
    array = pa.Array._import_from_c(made.address, type)
    array.validate(full=True)
    return array.to_pylist()


def member(value: Any, path: Sequence[kernels.JsonStep]) -> Any:
    for kind, key, index in path:
        if kind is JsonStepKind.KEY:
            value = value.get(key, MISSING) if isinstance(value, dict) else MISSING
        elif isinstance(value, list) and value:
            index = len(value) - 1 if kind is JsonStepKind.LAST else index
            value = value[index] if index < len(value) else MISSING
        else:
            return MISSING
        if value is MISSING:
            return MISSING
    return value


def text_of(value: Any) -> str:
    return json_oracle.text_of(encode(value))


@given(documents, st.lists(steps, max_size=3))
def test_members_are_those_of_python(value: Any, path: list[kernels.JsonStep]) -> None:
    stored = [encode(value), None, encode({})]
    expected = member(value, path)
    is_missing = expected is MISSING
    of_empty = {} if not path else MISSING

    def both(first: Any, other: Any) -> list[Any]:
        return [first, None, other]

    text = None if is_missing else text_of(expected)
    string = None if is_missing or expected is None else expected if isinstance(expected, str) else text
    length = None if is_missing else len(expected) if isinstance(expected, list) else 0
    assert found(stored, path, JsonResult.TEXT) == both(text, None if path else "{}")
    assert found(stored, path, JsonResult.STRING) == both(string, None if path else "{}")
    assert found(stored, path, JsonResult.EXISTS) == both(not is_missing, of_empty is not MISSING)
    assert found(stored, path, JsonResult.LENGTH) == both(length, None if path else 0)
    assert found(stored, path, JsonResult.DOCUMENT)[0] == (None if is_missing else encode(expected))
    items = expected if isinstance(expected, list) else []
    for wanted in ("1", "true", "a", "[]"):
        contains = any(item == wanted or text_of(item) == wanted for item in items)
        assert found(stored, path, JsonResult.CONTAINS, wanted) == both(contains, False)


@pytest.mark.parametrize(
    ("value", "integer", "floating", "boolean", "scalar"),
    [
        (None, None, None, None, None),
        (True, 1, 1.0, True, "true"),
        (False, 0, 0.0, False, "false"),
        (7, 7, 7.0, MISSING, "7"),
        (-7.5, -8, -7.5, MISSING, "-7.5"),
        (8.5, 9, 8.5, MISSING, "8.5"),
        (0.49999999999999994, 0, 0.49999999999999994, MISSING, "0.49999999999999994"),
        (2**63, MISSING, 2.0**63, MISSING, str(2**63)),
        (-(2**63), -(2**63), -(2.0**63), MISSING, str(-(2**63))),
        (1e300, MISSING, 1e300, MISSING, "1e+300"),
        ("7", 7, 7.0, MISSING, "7"),
        ("+7", 7, 7.0, MISSING, "+7"),
        ("+-7", MISSING, MISSING, MISSING, "+-7"),
        ("", MISSING, MISSING, MISSING, ""),
        ("+", MISSING, MISSING, MISSING, "+"),
        (" 7", MISSING, MISSING, MISSING, " 7"),
        ("7.5", 8, 7.5, MISSING, "7.5"),
        ("1e3", 1000, 1000.0, MISSING, "1e3"),
        (".5", 1, 0.5, MISSING, ".5"),
        ("inf", MISSING, math.inf, MISSING, "inf"),
        ("nan(1)", MISSING, MISSING, MISSING, "nan(1)"),
        ("1e400", MISSING, math.inf, MISSING, "1e400"),
        ("-1e-400", 0, -0.0, MISSING, "-1e-400"),
        ("1e99999", MISSING, math.inf, MISSING, "1e99999"),
        ("1e-99999", 0, 0.0, MISSING, "1e-99999"),
        ("9223372036854775808", MISSING, 2.0**63, MISSING, "9223372036854775808"),
        ("0x10", MISSING, MISSING, MISSING, "0x10"),
        ("tRue", MISSING, MISSING, True, "tRue"),
        ("no", MISSING, MISSING, False, "no"),
        ("x" * 100, MISSING, MISSING, MISSING, "x" * 100),
        ([1], MISSING, MISSING, MISSING, MISSING),
        ({}, MISSING, MISSING, MISSING, MISSING),
    ],
)
def test_conversions_of_members(value: Any, integer: Any, floating: Any, boolean: Any, scalar: Any) -> None:
    stored = [encode({"a": 1}), encode({"é": value})]
    path = [(JsonStepKind.EITHER, "é", 0)]
    for result, expected in (
        (JsonResult.INTEGER, integer),
        (JsonResult.FLOAT, floating),
        (JsonResult.BOOLEAN, boolean),
        (JsonResult.SCALAR, scalar),
    ):
        answer = found(stored, path, result)
        if expected is MISSING:
            kind, row, message = answer
            assert (kind, row) == (JsonFaultKind.MISMATCH, 1)
            assert text_of(value)[:50] in message
        else:
            assert answer == [None, expected]


def test_a_step_that_may_be_either() -> None:
    stored = [encode(["x", "y"]), encode({"1": "z"}), encode({"a": 1}), encode("1")]
    assert found(stored, [(JsonStepKind.EITHER, "1", 1)], JsonResult.STRING) == ["y", "z", None, None]


def test_paths_into_damage_are_refused() -> None:
    stored = encode({"a": [1, 2]})
    for cut in range(len(stored)):
        kind, row, _ = found([b"\x80\0\0\0", stored[:cut]], [(JsonStepKind.KEY, "a", 0)], JsonResult.TEXT)
        assert (kind, row) == (JsonFaultKind.DAMAGED, 1)


def test_a_path_of_an_unknown_step_is_refused() -> None:
    with pytest.raises(ValueError, match="JsonStepKind"):
        kernels.json_members(pa.array([], pa.large_binary()), [(9, "", 0)], JsonResult.TEXT, "")  # type: ignore[list-item]  # wrong on purpose
