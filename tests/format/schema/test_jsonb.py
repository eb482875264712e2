"""Stored JSON: the samples of the format, values of every kind, and damage."""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lance_sql
from lance_sql.errors import CorruptFile, LanceError, UnsupportedFeature
from lance_sql.format.schema import jsonb
from tests.json_documents import FIELD

NULL, STRING, NUMBER, FALSE, TRUE, NESTED = range(6)

values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(), inner, max_size=5),
    max_leaves=20,
)


def text_of(stored: bytes) -> str:
    (text,) = jsonb.to_text(pa.array([stored], pa.large_binary())).to_pylist()
    return str(text)


def encode(value: object) -> bytes:
    """A model of the writer."""
    if isinstance(value, list):
        return _pack(4, len(value), [_entry(item) for item in value])
    if isinstance(value, dict):
        keys = sorted(value, key=str.encode)
        return _pack(2, len(value), [_entry(key) for key in keys] + [_entry(value[key]) for key in keys])
    return _pack(1, 0, [_entry(value)])


def _pack(kind: int, count: int, entries: list[tuple[int, bytes]]) -> bytes:
    words = [kind << 29 | count] + [kind << 28 | len(payload) for kind, payload in entries]
    return struct.pack(f">{len(words)}I", *words) + b"".join(payload for _, payload in entries)


def _entry(value: object) -> tuple[int, bytes]:
    if value is None:
        return NULL, b""
    if isinstance(value, bool):
        return (TRUE if value else FALSE), b""
    if isinstance(value, str):
        return STRING, value.encode()
    if isinstance(value, int):
        return NUMBER, _integer(value)
    if isinstance(value, float) and math.isinf(value):
        return NUMBER, b"\x20" if value > 0 else b"\x30"
    if isinstance(value, float):
        return NUMBER, b"\x60" + struct.pack(">d", value)
    return NESTED, encode(value)


def _integer(value: int) -> bytes:
    if value == 0:
        return b"\x00"
    tag = b"\x50" if value > 0 else b"\x40"
    for width in (1, 2, 4, 8):
        try:
            return tag + value.to_bytes(width, "big", signed=value < 0)
        except OverflowError:
            continue
    raise AssertionError(value)


@pytest.mark.parametrize(
    ("stored", "text"),
    [
        ("20000000 00000000", "null"),
        ("20000000 20000002 500c", "12"),
        ("20000000 20000009 60 bff8000000000000", "-1.5"),
        ("80000000", "[]"),
        ("40000002 10000001 10000001 20000002 20000002 61 62 5002 5001", '{"a":2,"b":1}'),
        ("20000000 20000001 20", "null"),
        ("20000000 20000009 60 7ff0000000000000", "null"),
    ],
)
def test_samples_of_the_format(stored: str, text: str) -> None:
    assert text_of(bytes.fromhex(stored)) == text


@given(values)
def test_every_value_comes_back(value: object) -> None:
    assert json.loads(text_of(encode(value))) == value


@given(st.binary(max_size=60))
def test_random_bytes_are_an_error_or_json(data: bytes) -> None:
    try:
        text = jsonb.to_text(pa.array([data], pa.large_binary()))[0].as_py()
    except LanceError:
        return
    json.loads(text)


@given(values, st.data())
def test_cut_values_are_an_error_or_json(value: object, data: st.DataObject) -> None:
    stored = encode(value)
    cut = stored[: data.draw(st.integers(0, len(stored) - 1))]
    try:
        text = jsonb.to_text(pa.array([cut], pa.large_binary()))[0].as_py()
    except LanceError:
        return
    json.loads(text)


def test_nulls_stay_nulls() -> None:
    array = pa.array([None, encode({"k": [1, None]}), None], pa.large_binary())
    assert jsonb.to_text(array) == pa.array([None, '{"k":[1,null]}', None])


def test_other_kinds_of_numbers_are_refused() -> None:
    with pytest.raises(UnsupportedFeature, match="0x10"):
        text_of(bytes.fromhex("20000000 20000001 10"))


def test_depth_is_bounded() -> None:
    value = b"\x80\x00\x00\x00"
    for _ in range(5000):
        value = struct.pack(">II", 4 << 29 | 1, 5 << 28 | len(value)) + value
    with pytest.raises(LanceError, match="levels deep"):
        text_of(value)


def test_a_count_that_the_bytes_cannot_hold_is_refused() -> None:
    with pytest.raises(CorruptFile, match="cannot have 536870911 entries"):
        text_of(b"\x9f\xff\xff\xff" + b"\0" * 100)


def test_infinity_is_not_json() -> None:
    assert text_of(encode(math.inf)) == "null"


def test_slices_of_texts_with_nulls() -> None:
    texts = pa.array([None, "1", None, "[]", None, None, "2", None, "3", None, "4"])
    for start in range(len(texts) + 1):
        stored = jsonb.from_text(texts[start:])
        stored.validate(full=True)
        assert jsonb.to_text(stored).to_pylist() == texts[start:].to_pylist()


@given(values)
def test_text_becomes_what_the_model_stores(value: object) -> None:
    (stored,) = jsonb.from_text(pa.array([json.dumps(value)])).to_pylist()
    assert stored == encode(value)


@pytest.mark.parametrize(
    ("text", "hexadecimal"),
    [
        ("null", "2000000000000000"),
        (" 12 ", "2000000020000002500c"),
        ("-1.5", "200000002000000960bff8000000000000"),
        ("[]", "80000000"),
        ('{"b":1,"a":2}', "400000021000000110000001200000022000000261625002" + "5001"),
        ("-0", "200000002000000100"),
        ("18446744073709551616", "20000000200000096043f0000000000000"),
        ("-129", "200000002000000340ff7f"),
        ("1" + "0" * 400 + "e-400", "2000000020000009603ff0000000000000"),
        ('"\\ud83d\\ude00\\u00e9\\n"', "2000000010000007f09f9880c3a90a"),
    ],
)
def test_samples_of_text(text: str, hexadecimal: str) -> None:
    (stored,) = jsonb.from_text(pa.array(["7", text])[1:]).to_pylist()
    assert stored.hex() == hexadecimal


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "NaN",
        "[Infinity]",
        "1 2",
        '{"a":1,"a":2}',
        '"\\ud800"',
        "'a'",
        "[" * 300 + "]" * 300,
        "[" * 100_000,
        pytest.param('{"a":' * 300 + "1" + "}" * 300, id="300 objects"),
        pytest.param('[{"a":' * 150 + "1" + "}]" * 150, id="300 lists and objects"),
        '"\\ud800\\u0041"',
        '"\\udc00"',
        '"\\u12"',
        '"a\nb"',
        '"\\x"',
        "01",
        "1.",
        "-",
        "+1",
        ".5",
        "1e",
        "tru",
        '{"a"}',
        '{"a":}',
        "{1:2}",
        "[1,]",
        "1e400",
        "[-1e400]",
        "1e-400",
        "-" + "9" * 400,
        "0.0000000000000000000000000000000001e5000",
        '{"id": 18446744073709551617}',
        "-9223372036854775809",
        "9007199254740993.0",
        "0.1234567890123456789",
        "2.2250738585072011e-308",
        pytest.param("1." + "1" * 800, id="800 digits"),
    ],
)
def test_text_that_is_no_json_is_refused_with_its_position(text: str) -> None:
    with pytest.raises(jsonb.InvalidJson, match="text 2 is not JSON") as caught:
        jsonb.from_text(pa.array(["1", None, text], pa.string_view()))
    assert caught.value.index == 2


@given(st.floats(allow_nan=False, allow_infinity=False), st.integers(1, 30))
def test_numbers_keep_their_values(value: float, digits: int) -> None:
    """Any number of digits of a double, as programs print them, is the double; other digits are refused."""
    for text in (repr(value), f"{value:.17g}", f"{value:.30e}"):
        (stored,) = jsonb.to_text(jsonb.from_text(pa.array([text]))).to_pylist()
        assert float(stored) == value
    other = f"{value:.{digits}e}"
    try:
        (stored,) = jsonb.to_text(jsonb.from_text(pa.array([other]))).to_pylist()
    except jsonb.InvalidJson:
        assert f"{float(other):.{digits}e}" != other or math.isinf(float(other)) or not float(other)
    else:
        assert f"{float(stored):.{digits}e}" == other


@pytest.mark.parametrize("verb", ["write", "append", "update", "merge", "insert"])
def test_no_door_changes_a_number(tmp_path: Path, verb: str) -> None:
    path = str(tmp_path / "t.lance")
    schema = pa.schema([("id", pa.int64()), FIELD.with_name("j")])
    rows = pa.table({"id": [1], "j": ["[1e400]"]}, schema=schema)
    if verb != "write":
        lance_sql.write(pa.table({"id": [1], "j": ["[1]"]}, schema=schema), path)
    doors: dict[str, Callable[[], object]] = {
        "write": lambda: lance_sql.write(rows, path),
        "append": lambda: lance_sql.write(rows, path, mode="append"),
        "update": lambda: lance_sql.open(path).update({"j": "'[1e400]'"}, "true"),
        "merge": lambda: lance_sql.open(path).merge(rows, on="id"),
        "insert": lambda: lance_sql.sql(f"INSERT INTO '{path}' VALUES (2, '[1e400]')"),
    }
    with pytest.raises(LanceError, match="a number beyond the range of doubles"):
        doors[verb]()


def test_text_that_is_no_utf8_is_refused() -> None:
    for damaged in (b'"\xff"', b'"\xc0\x80"', b'"\xed\xa0\x80"', b'"\xf5\x80\x80\x80"', b'"\xe2\x82"'):
        buffers = [None, pa.py_buffer(np.array([0, len(damaged)], np.int32)), pa.py_buffer(damaged)]
        with pytest.raises(jsonb.InvalidJson, match="UTF-8"):
            jsonb.from_text(pa.Array.from_buffers(pa.string(), 1, buffers))


@given(st.text(st.sampled_from(list('{}[]",:\\ue0123456789.+-truefalsn \n')), max_size=12))
def test_the_same_texts_are_json_as_for_python(text: str) -> None:
    def unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
        assert len(dict(pairs)) == len(pairs)
        return dict(pairs)

    def none(name: str) -> None:
        raise ValueError(name)

    def exact(text: str) -> float:
        value = float(text)
        if math.isinf(value) or (not value and text.lower().partition("e")[0].strip("-0.")):
            raise ValueError(text)
        return value

    try:
        expected = encode(json.loads(text, object_pairs_hook=unique, parse_constant=none, parse_float=exact))
    except (AssertionError, ValueError, OverflowError, struct.error):
        with pytest.raises(jsonb.InvalidJson):
            jsonb.from_text(pa.array([text]))
    else:
        assert jsonb.from_text(pa.array([text])).to_pylist() == [expected]
