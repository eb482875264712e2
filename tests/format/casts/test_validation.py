"""Arrow arrays whose offsets, keys or lengths are lies."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lance_sql
from lance_sql.errors import InvalidArgument
from lance_sql.format.casts.validation import Validation

FAR = 2**30


def buffer(values: list[int], dtype: str) -> pa.Buffer:
    return pa.py_buffer(np.array(values, dtype))


def strings(offsets: list[int], type: pa.DataType | None = None, data: bytes = b"abcdefgh") -> pa.Array:
    type = type or pa.string()
    dtype = "<i8" if pa.types.is_large_string(type) or pa.types.is_large_binary(type) else "<i4"
    return pa.Array.from_buffers(type, len(offsets) - 1, [None, buffer(offsets, dtype), pa.py_buffer(data)])


def lists(offsets: list[int], items: pa.Array, type: pa.DataType | None = None) -> pa.Array:
    type = type or pa.list_(items.type)
    dtype = "<i8" if pa.types.is_large_list(type) else "<i4"
    return pa.Array.from_buffers(type, len(offsets) - 1, [None, buffer(offsets, dtype)], children=[items])


def entries(count: int) -> pa.Array:
    parts = [pa.array(["k"] * count), pa.array(range(count), pa.int32())]
    return pa.StructArray.from_arrays(
        parts, fields=[pa.field("key", pa.string(), False), pa.field("value", pa.int32())]
    )


def views(index: int, offset: int) -> pa.Array:
    """One view of 20 bytes into a buffer of 30."""
    view = np.zeros(1, "<i4,S4,<i4,<i4")
    view[0] = (20, b"0123", index, offset)
    whole = pa.array(["0123456789" * 3], pa.string_view())
    return pa.Array.from_buffers(pa.string_view(), 1, [None, pa.py_buffer(view), *whole.buffers()[2:]])


def batch_of(array: pa.Array) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([array], ["c"])


def patched(array: pa.Array, offsets: list[int], lies: list[int]) -> pa.RecordBatch:
    """The rows from a stream in which other offsets, of four bytes, were put; they are not checked on the way."""
    sink = pa.BufferOutputStream()
    batch = batch_of(array)
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    content = sink.getvalue().to_pybytes()
    old, new = (np.array(numbers, "<i4").tobytes() for numbers in (offsets, lies))
    assert content.count(old) == 1
    with pa.ipc.open_stream(content.replace(old, new)) as reader:
        return reader.read_next_batch()


ITEMS = pa.array(range(8), pa.int32())
LIES: dict[str, Callable[[], pa.Array | pa.RecordBatch]] = {
    "strings out of order": lambda: strings([0, 7, 2, 8]),
    "strings far out of order": lambda: strings([0, FAR, 2, 8]),
    "strings before the start": lambda: strings([0, -FAR, 2, 8]),
    "strings behind the end": lambda: patched(strings([0, 3, 5, 8]), [0, 3, 5, 8], [0, 3, 5, FAR]),
    "large strings out of order": lambda: strings([0, 2**40, 2, 8], pa.large_string()),
    "large strings of negative length": lambda: strings([0, -(2**60), 5, 8], pa.large_binary()),
    "strings from behind the end": lambda: patched(strings([0, 3, 5, 8]), [0, 3, 5, 8], [FAR, FAR, FAR, FAR]),
    "lists out of order": lambda: lists([0, 7, 2, 8], ITEMS),
    "lists far out of order": lambda: lists([0, FAR, 2, 8], ITEMS),
    "lists behind the end": lambda: patched(lists([0, 3, 5, 8], ITEMS), [0, 3, 5, 8], [0, 3, 5, FAR]),
    "large lists out of order": lambda: lists([0, 2**40, 2, 8], ITEMS, pa.large_list(pa.int32())),
    "maps out of order": lambda: lists([0, FAR, 2, 8], entries(8), pa.map_(pa.string(), pa.int32())),
    "strings in lists": lambda: lists([0, 1, 3], strings([0, FAR, 2, 8])),
    "strings in structs": lambda: pa.StructArray.from_arrays([strings([0, FAR, 2, 8])], ["a"]),
    "strings in fixed lists": lambda: pa.FixedSizeListArray.from_arrays(
        pa.StructArray.from_arrays([strings([0, FAR, 2, 8, 8])], ["a"]), 2
    ),
    "keys behind the items": lambda: dictionary([0, 1, 99]),
    "keys far behind the items": lambda: dictionary([0, 2**31 - 1, 1]),
    "negative keys": lambda: dictionary([0, -1, 1]),
    "items out of order": lambda: pa.DictionaryArray.from_arrays(
        pa.array([0, 1, 2], pa.int32()), strings([0, FAR, 2, 8]), safe=False
    ),
    "views of another buffer": lambda: views(5, 0),
    "views behind the end": lambda: views(0, FAR),
}


ONLY_2_2 = ("maps out of order", "strings in fixed lists")


def dictionary(keys: list[int]) -> pa.Array:
    return pa.DictionaryArray.from_arrays(pa.array(keys, pa.int32()), pa.array(["a", "b"]), safe=False)


@pytest.mark.parametrize("file_version", ["2.0", "2.2"])
@pytest.mark.parametrize("lie", LIES)
def test_contradictions_are_refused_by_column(tmp_path: Path, lie: str, file_version: str) -> None:
    if file_version == "2.0" and lie in ONLY_2_2:
        pytest.skip("not a type of 2.0")
    made = LIES[lie]()
    batch = made if isinstance(made, pa.RecordBatch) else batch_of(made)
    with pytest.raises(InvalidArgument, match=r"not valid Arrow data"):
        lance_sql.write(batch, tmp_path / "t", file_version=file_version)
    assert not list(tmp_path.rglob("*.lance"))
    table = lance_sql.write(batch.slice(0, 0), tmp_path / "t", file_version=file_version)
    with pytest.raises(InvalidArgument, match=r"not valid Arrow data"):
        lance_sql.write(batch, tmp_path / "t", mode="append")
    assert table.snapshot.latest().version == 1


def test_a_merge_refuses_them_as_well(tmp_path: Path) -> None:
    table = lance_sql.write({"k": ["x"]}, tmp_path / "t")
    with pytest.raises(InvalidArgument, match=r"Column 'k'"):
        table.merge(pa.RecordBatch.from_arrays([strings([0, FAR, 2, 8])], ["k"]), on="k")


def lie(type: str, numbers: list[int]) -> pa.Array:
    match type:
        case "strings":
            return strings([0, *numbers, 8])
        case "lists":
            return lists([0, *numbers, 8], ITEMS)
        case "lists of strings":
            return lists([0, 1, 3], strings([0, *numbers[:2], 8, 8, 8]))
        case _:
            return dictionary([*numbers, 0])


# Hypothesis would print an array, and Arrow would read what it says
@given(
    st.sampled_from(["strings", "lists", "lists of strings", "dictionaries"]),
    st.lists(st.integers(0, 8) | st.just(FAR), max_size=4),
    st.integers(0, 2),
)
def test_accepted_data_is_valid_to_arrow(type: str, numbers: list[int], start: int) -> None:
    batch = batch_of(lie(type, numbers)).slice(start)
    array = batch.column(0)
    valid = True
    try:
        array.validate(full=True)
    except pa.ArrowInvalid:
        valid = False
    passed = True
    try:
        Validation(batch.schema).check(batch)
    except InvalidArgument:
        passed = False
    # Arrow also looks at what a slice has cut off
    assert valid <= passed
    if passed:
        assert len(array.to_pylist()) == len(array)


@pytest.mark.parametrize(
    "array",
    [
        pa.array([], pa.string()),
        pa.nulls(3, pa.string()),
        pa.nulls(3, pa.list_(pa.string())),
        pa.array(["a", None, "b" * 20] * 3, pa.string_view()).slice(2),
        pa.array([[1], None, []], pa.large_list(pa.int8())),
        pa.array(["a", None, "b"]).dictionary_encode(),
        pa.DictionaryArray.from_arrays(pa.array([None, None], pa.int8()), pa.array([], pa.string())),
        pa.array([[["x", None]], None], pa.list_(pa.list_(pa.string(), 2))),
        pa.array([{"a": "x"}, None]).slice(1),
        pa.array([[("k", 1)], None], pa.map_(pa.string(), pa.int8())),
    ],
)
def test_honest_arrays_pass(array: pa.Array) -> None:
    batch = batch_of(array)
    validation = Validation(batch.schema)
    validation.check(batch)
    validation.check(batch.slice(1))


CATEGORIES = pa.dictionary(pa.int8(), pa.string())


def nested_categories(*, nullable: bool) -> dict[str, tuple[pa.DataType, list[object]]]:
    """Types with a dictionary, and rows whose NULLs leave it without items."""
    struct = pa.struct([pa.field("kind", CATEGORIES, nullable)])
    return {
        "struct": (struct, [None, None]),
        "list": (pa.list_(struct), [[None], None, []]),
        "struct in struct": (pa.struct([pa.field("s", struct)]), [None, {"s": None}]),
        "fixed-size list": (pa.list_(struct, 2), [None, [None, None]]),
        "map": (pa.map_(pa.string(), struct), [[("a", None)], None]),
    }


@pytest.mark.parametrize("nullable", [True, False])
@pytest.mark.parametrize("kind", nested_categories(nullable=True))
@pytest.mark.parametrize("file_version", ["2.1", "2.2"])
def test_keys_below_null_have_no_items(tmp_path: Path, kind: str, file_version: str, nullable: bool) -> None:
    if kind in ("fixed-size list", "map") and file_version == "2.1":
        pytest.skip("files of 2.1 have no such type")
    type, rows = nested_categories(nullable=nullable)[kind]
    batch = pa.table({"x": pa.array(rows, type)})
    path = str(tmp_path / "t.lance")
    lance_sql.write(batch, path, file_version=file_version)
    lance_sql.write(batch.slice(1), path, mode="append")
    table = lance_sql.open(path)
    assert table.scan().to_table()["x"].to_pylist() == [*rows, *rows[1:]]
    assert table.schema.field("x").type.equals(type)


def test_a_key_outside_of_its_dictionary_beside_null_structs() -> None:
    keys = pa.DictionaryArray.from_arrays(pa.array([9, 9], pa.int8()), ["a"], safe=False)
    struct = pa.StructArray.from_arrays([keys], ["kind"], mask=pa.array([True, False]))
    with pytest.raises(InvalidArgument, match="Column 'c' is not valid Arrow data"):
        Validation(pa.schema([("c", struct.type)])).check(batch_of(struct))
    repaired = Validation(pa.schema([("c", struct.type)])).check(batch_of(struct.slice(0, 1)))
    assert repaired.column(0).to_pylist() == [None]
