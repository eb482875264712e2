"""Pages that the kernels read by themselves: messages, heads, types, rows and flags that do not fit together.

A call has the arguments of one page and of the read.
"""

from __future__ import annotations

from contextlib import suppress
from tempfile import NamedTemporaryFile
from typing import Any, NoReturn

import numpy as np
import pyarrow as pa

from fuzz import calls
from fuzz.inputs import Values
from lance_sql import _kernels as kernels

mutate, some_cuts = calls.mutate, calls.some_cuts

_MOST_ROWS = 1 << 20
_FAR_APART_BYTES = 1 << 16
_NUMBER_BITS = (8, 16, 32, 64)
_MOST_LIST_ITEMS = 64
_HEADS = ("head0", "head1", "head2")


def run(values: Values) -> None:
    """Reads the rows, all and those that pass, each way; raises what the kernels raise."""
    if "message" in values:
        _read_page(values)
    elif "stored" in values:
        _read(values, *_array(values))
    elif "constant" in values:
        _read(values, *_constant(values))
    else:
        _read({**values, "variable": False, "format_bits": 64, "list_size": None}, *_numbers(values))


def _read_page(values: Values) -> None:
    """Opens a page of a file 2.1 or 2.2, and reads its rows."""
    num_rows, data = int(values["num_rows"]), _exact(values["data"])  # type: ignore[arg-type]  # never None
    if num_rows > _MOST_ROWS:
        raise ValueError("too many rows")
    head = [_exact(values[name]) for name in _HEADS if values[name] is not None]
    # values come first, and heads behind them
    buffers, end = [], len(data)
    for each in head:
        buffers.append((end, end + len(each)))
        end += len(each)
    at: Any = values["data_at"]
    if at is not None:
        buffers.insert(max(0, min(at, len(buffers))), (0, len(data)))
    leaf, shape = _leaf(values)
    outer = _outer(values)
    index_bits = int(values["index_bits"])  # type: ignore[arg-type]  # never None
    is_nested = bool(values["is_nested"])
    wanted = kernels.ColumnType(
        shape,
        index_bits=index_bits,
        most_items=1 << 30,
        makes_items=bool(values["makes_items"]),
        outer=outer,
        is_nested=is_nested,
        are_places=bool(values["are_places"]),
        leaf_name="leaf",
        name="type",
    )
    message = _exact(values["message"])
    kernels.page_head(message, len(buffers))
    reader = kernels.PageReader.stored(message, num_rows, buffers, list(map(pa.py_buffer, head)), wanted)
    if reader.place is None:
        return
    type = leaf
    if reader.form == kernels.PageForm.INDICES:
        type = {8: pa.uint8(), 16: pa.uint16(), 32: pa.uint32(), 64: pa.uint64()}[index_bits]
    for bits, list_size in outer if is_nested else ():
        if bits:
            type = pa.list_(type) if bits == 32 else pa.large_list(type)
        else:
            type = pa.struct({"x": type}) if list_size == 1 else pa.list_(type, min(list_size, 1 << 20))
            num_rows //= max(list_size, 1)
    if reader.form == kernels.PageForm.NONE:
        _test_rows(values, reader, data, num_rows)
    else:
        _read(values, reader, data, num_rows, type)


def _outer(values: Values) -> list[tuple[int, int]]:
    raw = values["outer"]
    assert isinstance(raw, bytes)
    return [(raw[2 * i], raw[2 * i + 1]) for i in range(len(raw) // 2)]


def _leaf(values: Values) -> tuple[pa.DataType, Any]:
    """The type of a value, and its shape."""
    bits, list_size = int(values["format_bits"]), int(values["list_size"] or 0)  # type: ignore[arg-type]  # never None
    if not 0 <= list_size <= _MOST_LIST_ITEMS or not (bits == 1 or (0 < bits <= 1 << 12 and bits % 8 == 0)):
        raise ValueError("a type that no column has")
    variable = bool(values["variable"])
    if variable and bits not in (32, 64):
        raise ValueError("offsets that no column has")
    item = _type((variable, bits), None)
    plain = "plain", variable, bits, bits == 64 and not variable
    text = "plain", True, 32, False
    lists = pa.list_(item, list_size), ("lists", list_size, plain)
    kinds: list[tuple[pa.DataType, Any]] = [
        (item, plain),
        lists,
        (pa.struct({"a": item, "b": item}), ("struct", (plain, plain))),
        (pa.struct({"a": item, "b": pa.binary(), "c": lists[0]}), ("struct", (plain, text, lists[1]))),
        (pa.null(), ("null",)),
        (pa.struct([]), ("struct", ())),
        (item, ("other",)),
    ]
    number = int(values["kind"])  # type: ignore[arg-type]  # never None
    return kinds[number % len(kinds)]


def _test_rows(values: Values, reader: kernels.PageReader, data: Any, num_rows: int) -> None:
    """Tests rows for NULL that have no values."""
    rows = np.frombuffer(_exact(values["rows"]), np.int64).reshape(-1, 2)
    count = int((rows[:, 1] - rows[:, 0]).clip(0).sum())
    if count > _MOST_ROWS:
        return
    column, test = kernels.ColumnReader(np.array([0, max(num_rows, 1)])), kernels.ColumnTest(1)
    column.open(0, reader, 0, len(data))
    test.set(0, kernels.PageTest.validity(bool(values["order"])))
    kernels.read_rows([(column, rows, [(0, data, 0)], test)], [], np.ones(count, np.uint8))


def _array(values: Values) -> tuple[kernels.PageReader, Any, int]:
    """Arguments for a page without levels."""
    num_rows = int(values["num_rows"])  # type: ignore[arg-type]  # never None
    if num_rows > _MOST_ROWS:
        raise ValueError("too many rows")
    data = _exact(values["stored"])
    # arguments are wrong on purpose
    first: Any = (values["first"], values["first_size"])
    second: Any = (values["second"], values["second_size"])
    if values["item_offsets"] is not None:
        reader = kernels.PageReader.array_keys(
            num_rows,
            size=len(data),
            keys=first,
            key_bits=int(values["key_bits"]),  # type: ignore[arg-type]  # never None
            num_items=int(values["num_items"]),  # type: ignore[arg-type]  # never None
            offset_bits=32,
            offsets=_exact(values["item_offsets"]),
            data=_exact(values["items"]),
            first_is_null=bool(values["has_nulls"]),
            format=_format(values),
        )
    elif values["variable"]:
        adjustment = int(values["null_adjustment"])  # type: ignore[arg-type]  # never None
        reader = kernels.PageReader.array_strings(
            num_rows, size=len(data), ends=first, bytes=second, null_adjustment=adjustment, format=_format(values)
        )
    else:
        reader = kernels.PageReader.array_values(
            num_rows,
            size=len(data),
            values=first,
            validity=second if values["has_nulls"] else None,
            format=_format(values),
            list_size=values["list_size"],  # type: ignore[arg-type]  # wrong on purpose
        )
    return reader, data, num_rows


def _constant(values: Values) -> tuple[kernels.PageReader, Any, int]:
    """Arguments for a page with one value or NULL in all rows."""
    num_rows = int(values["num_rows"])  # type: ignore[arg-type]  # never None
    if num_rows > _MOST_ROWS:
        raise ValueError("too many rows")
    content, validity = (None if values[name] is None else _exact(values[name]) for name in ("constant", "validity"))
    list_size: Any = values["list_size"]
    reader = kernels.PageReader.constant(
        num_rows, format=_format(values), list_size=list_size, value=content, validity=validity
    )
    return reader, np.empty(0, np.uint8), num_rows


def _numbers(values: Values) -> tuple[kernels.PageReader, Any, int]:
    """Arguments for numbers that are in no file."""
    num_rows = int(values["num_rows"])  # type: ignore[arg-type]  # never None
    if num_rows > _MOST_ROWS:
        raise ValueError("too many rows")
    starts, first = _exact(values["runs"]), _exact(values["first"])
    reader = kernels.PageReader.number_runs(num_rows, starts=starts, values=first, step=int(values["step"]))  # type: ignore[arg-type]  # never None
    return reader, np.empty(0, np.uint8), num_rows


def _format(values: Values) -> tuple[bool, int]:
    return bool(values["variable"]), int(values["format_bits"])  # type: ignore[arg-type]  # never None


def _read(
    values: Values, reader: kernels.PageReader, data: Any, num_rows: int, whole: pa.DataType | None = None
) -> None:
    """whole: the type of the arrays, if it is not that of the format inside the layers"""
    format = _format(values)
    rows = np.frombuffer(_exact(values["rows"]), np.int64).reshape(-1, 2)
    count = int((rows[:, 1] - rows[:, 0]).clip(0).sum())
    if count > _MOST_ROWS or format[1] > 1 << 12:
        return
    flags = np.resize(_exact(values["flags"]) & 1, count)
    column = kernels.ColumnReader(np.array([0, max(num_rows, 1)]))
    column.open(0, reader, 0, len(data))
    given: tuple[kernels.ColumnReader, Any, Any] = (column, rows, [(0, data, 0)])
    type = whole
    if type is None:
        type = _type(format, values["list_size"])
    _import(kernels.read_rows([], [given, given], None), type)
    _import(kernels.read_rows([], [given], flags.copy()), type)
    _import(kernels.read_rows([(*given, _test(values))], [given], flags), type)
    if len(data) >= _FAR_APART_BYTES:
        _read_scattered(column, rows, data, type)
    zones = kernels.ZoneBounds(kernels.ValueOrder.UNSIGNED, 64, max(num_rows, 1), 8192)
    column.observe(rows, given[2], zones)
    _stream(values, given, type, max(num_rows, 1))
    # rows of a batch that begins before them, and of one that ends before they do
    _import(kernels.read_rows([], [(*given, 1)], np.resize(flags, count + 1)), type)
    with suppress(kernels.InvalidDataError):
        kernels.read_rows([], [(*given, 1)], np.resize(flags, count))


def _read_scattered(column: kernels.ColumnReader, rows: Any, data: Any, type: pa.DataType) -> None:
    """Reads the rows from a file without the bytes between them; also rows with missing bytes."""
    with NamedTemporaryFile() as file:
        file.write(data)
        file.flush()
        found, _ = kernels.read_scattered(file.name, [(column, rows), (column, rows[:1])])
    for parts in found or ():
        if parts is not None:
            _import(kernels.read_rows([], [(column, rows, parts)], None), type)


def _stream(values: Values, given: tuple[kernels.ColumnReader, Any, Any], type: pa.DataType, num_rows: int) -> None:
    """Reads the rows that pass, and are not above themselves, as a stream, which learns bounds of them on its way."""
    column, rows, parts = given
    bits = next((bits for bits in _NUMBER_BITS if bits == values.get("bits")), 64)
    order: Any = values["order"]
    zones = kernels.ZoneBounds(kernels.ValueOrder(int(order == 1)), bits, num_rows, 8192)
    count = int((rows[:, 1] - rows[:, 0]).sum())
    divisor = 3 if not values["variable"] and order < 2 and values["format_bits"] in _NUMBER_BITS else 0
    fragment = kernels.FragmentRows(
        [kernels.TestedColumn(column, parts, _test(values), zones)],
        [kernels.ComparedColumns(column, parts, column, parts, None if values["variable"] else order, 3, divisor)],
        [0, 1],
        [kernels.DeliveredColumn(column, parts, True, [], [], False)],
        [0],
        rows,
        np.unique(np.linspace(0, count, 5, dtype=np.int64)[1:]),
        _fail,
        count // 2,
    )
    schema = pa.schema([("c", type)])
    with suppress(_Refused):
        for batch in kernels.BatchStream(iter([fragment]), schema, most_ahead=1, eager=False):
            pa.RecordBatch._import_from_c(batch.address, schema).validate(full=True)
    assert zones.num_known <= -(-num_rows // 8192)


def _fail(in_test: bool, column: int, page: int | None, message: str, is_unsupported: bool) -> NoReturn:
    raise _Refused(message)


class _Refused(Exception):  # noqa: N818 - one of the two outcomes that are allowed
    """Raised for a page that the kernels do not read."""


def _test(values: Values) -> kernels.ColumnTest:
    kind, key = int(values["test"]), values["key"]  # type: ignore[arg-type]  # never None
    assert isinstance(key, bytes)
    test = kernels.ColumnTest(1)
    if kind == 0:
        order: Any = values["order"]
        test.set(0, kernels.PageTest.range(order, bytes(16), _exact(key), True))
    elif kind == 1:
        test.set(0, kernels.PageTest.items(_exact(key) & 1))
    elif kind == 3:
        end = _exact(key[8:]) if len(key) > 8 else None
        test.set(0, kernels.PageTest.strings(_exact(key[:8]), end, not values["order"]))
    else:
        test.set(0, kernels.PageTest.validity(kind == 2))
    return test


def _import(found: tuple[int, list[kernels.NativeArray], Any], type: pa.DataType) -> None:
    _, arrays, failure = found
    if failure is not None:
        assert not arrays
        return
    for array in arrays:
        pa.Array._import_from_c(array.address, type).validate(full=True)


def _type(format: tuple[bool, int], list_size: Any) -> pa.DataType:
    has_offsets, bits = format
    if has_offsets:
        return pa.binary() if bits == 32 else pa.large_binary()
    if list_size is not None:
        return pa.list_(pa.binary(bits // 8 // list_size), list_size)
    return pa.binary(bits // 8) if bits % 8 == 0 else pa.bool_()


def _exact(value: object) -> np.ndarray[Any, np.dtype[np.uint8]]:
    """A copy in its own memory, so that reads past its end are detected."""
    assert isinstance(value, bytes)
    return np.frombuffer(value, np.uint8).copy()
