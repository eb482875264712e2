"""Pages that the kernels read by themselves: layouts, chunks, dictionaries, rows and flags that do not fit together.

A call has the arguments of one page and of the read; names with `chunks.` are those of its chunk table.
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

_CHUNKS = "chunks."
_MOST_ROWS = 1 << 20
_FLAT_LEVELS = 16
_FAR_APART_BYTES = 1 << 16
_NUMBER_BITS = (8, 16, 32, 64)
_COMPOSITES = ("lists", "fields", "packed", "strings")


def run(values: Values) -> None:
    """Reads the rows, all and those that pass, each way; raises what the kernels raise."""
    if "entries" in values and "composite" not in values:
        _read(values, *_full_zip(values))
    elif "stored" in values:
        _read(values, *_array(values))
    elif "constant" in values:
        _read(values, *_constant(values))
    elif "runs" in values:
        _read({**values, "variable": False, "format_bits": 64, "list_size": None}, *_numbers(values))
    elif "composite" in values:
        _read({**values, "variable": False, "format_bits": 64}, *_composites(values))
    elif "layers" in values:
        _read(values, *_nested(values))
    else:
        _read(values, *_mini_block(values)[:3])


def _full_zip(values: Values) -> tuple[kernels.PageReader, Any, int]:
    """The reader of a page of entries, its bytes, and the number of its rows."""
    num_rows = int(values["num_rows"])  # type: ignore[arg-type]  # never None
    if num_rows > _MOST_ROWS:
        raise ValueError("too many rows")
    reader = kernels.PageReader.full_zip(
        num_rows,
        bits_def=values["bits_def"],  # type: ignore[arg-type]  # arguments are wrong on purpose
        num_levels=values["num_levels"],  # type: ignore[arg-type]  # likewise
        value_bytes=values["value_bytes"],  # type: ignore[arg-type]  # likewise
        length_bytes=values["length_bytes"],  # type: ignore[arg-type]  # likewise
        row_starts=None if values["row_starts"] is None else _exact(values["row_starts"]),
        symbol_table=None if values["symbol_table"] is None else _exact(values["symbol_table"]),
        format=_format(values),
        list_size=values["list_size"],  # type: ignore[arg-type]  # likewise
        compression=values["compression"],  # type: ignore[arg-type]  # likewise
    )
    return reader, _exact(values["entries"]), num_rows


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


def _nested(values: Values) -> tuple[kernels.PageReader, Any, int]:
    """Arguments for values inside lists and structs, with levels in chunks or in memory."""
    num_rows = int(values["num_rows"])  # type: ignore[arg-type]  # never None
    layers = _layers(values)
    if num_rows > _MOST_ROWS:
        raise ValueError("too many rows")
    if values["in_memory"]:
        rep, definition = (None if values[name] is None else _exact(values[name]) for name in ("rep", "def"))
        constant = kernels.PageReader.constant(_MOST_ROWS, format=_format(values), value=bytes(8))
        reader = kernels.PageReader.nested_stored(
            constant,
            layers,
            num_rows=num_rows,
            repetition=rep,
            definition=definition,
            are_null=bool(values["are_null"]),
        )
        return reader, np.empty(0, np.uint8), num_rows
    flat, data, _, table = _mini_block(values)
    reader = kernels.PageReader.nested_chunks(
        flat,
        layers,
        num_rows=num_rows,
        table=table,
        repetition=(kernels.LevelCodec.FLAT16, _FLAT_LEVELS) if values["chunks.has_rep"] else None,
        definition=(kernels.LevelCodec.FLAT16, _FLAT_LEVELS) if values["chunks.has_def"] else None,
        starts_through=None if values["starts"] is None else _exact(values["starts"]),
        ends_through=None if values["ends"] is None else _exact(values["ends"]),
    )
    return reader, data, num_rows


def _layers(values: Values) -> list[tuple[int, int, bool, int]]:
    raw = values["layers"]
    assert isinstance(raw, bytes)
    list_size: Any = values.get("items_per_row", 1)
    num_layers = len(raw) // 3
    sizes = [1] * (num_layers - 1) + [list_size] * (num_layers > 0)
    return [(raw[3 * i], raw[3 * i + 1], bool(raw[3 * i + 2]), size) for i, size in enumerate(sizes)]


def _composites(values: Values) -> tuple[kernels.PageReader, Any, int, pa.DataType]:
    """Arguments for values that have parts, in chunks or in entries, and the type of their arrays."""
    num_rows = int(values["num_rows"])  # type: ignore[arg-type]  # never None
    if num_rows > _MOST_ROWS:
        raise ValueError("too many rows")
    # arguments are wrong on purpose
    numbers: Any = [values[name] for name in ("list_size", "dimension", "bits", "shape_bits")]
    kinds = _kinds(bool(values["has_validity"]), values, *numbers)
    number: Any = values["composite"]
    shape, encoding, type = kinds[_COMPOSITES[number % len(_COMPOSITES)]]
    if "entries" not in values:
        reader, data = _composites_in_chunks(values, shape, encoding, num_rows)
        # items of fixed-size lists are rows of their page
        return reader, data, num_rows // max(int(values.get("items_per_row") or 1), 1), _around(values, type)
    entry: Any = tuple(values[name] for name in ("bits_rep", "bits_def", "value_bytes", "length_bytes"))
    data = _exact(values["entries"])
    reader = kernels.PageReader.nested_zip(
        shape,
        encoding,
        _layers(values),
        num_rows=num_rows,
        entry=entry,
        num_bytes=len(data),
        row_starts=None if values["row_starts"] is None else _exact(values["row_starts"]),
    )
    return reader, data, num_rows, _around(values, type)


def _composites_in_chunks(values: Values, shape: Any, encoding: Any, num_rows: int) -> tuple[kernels.PageReader, Any]:
    page: dict[str, Any] = {name.removeprefix(_CHUNKS): values[name] for name in values if name.startswith(_CHUNKS)}
    data, metadata = (_exact(page.pop(name)) for name in ("data", "metadata"))
    table = kernels.ChunkTable(metadata, **page)
    compression: Any = values["compression"]
    composites = kernels.PageReader.chunk_composites(table, shape, encoding, compression=compression)
    definition = (kernels.LevelCodec.FLAT16, _FLAT_LEVELS) if page["has_def"] else None
    reader = kernels.PageReader.nested_chunks(
        composites,
        _layers(values),
        num_rows=num_rows,
        table=table,
        repetition=None,
        definition=definition,
        starts_through=None,
        ends_through=None,
    )
    return reader, data


def _around(values: Values, type: pa.DataType) -> pa.DataType:
    for bits, _, _, list_size in _layers(values)[1:]:
        if bits:
            type = pa.list_(type) if bits == 32 else pa.large_list(type)
        else:
            type = pa.struct({"x": type}) if list_size == 1 else pa.list_(type, min(list_size, 1 << 20))
    return type


def _kinds(
    has_validity: bool, values: Values, list_size: int, dimension: int, bits: int, shape_bits: int
) -> dict[str, tuple[Any, Any, pa.DataType]]:
    """The shape, the encoding and the type of the arrays of each kind."""
    if not 0 <= list_size <= 64 or shape_bits not in (1, 8, 16, 32, 64):
        raise ValueError("a type that no column has")
    item = pa.bool_() if shape_bits == 1 else pa.binary(shape_bits // 8)
    number = ("plain", False, shape_bits, False)
    lists = "lists", list_size, number
    encoded = "lists", dimension, has_validity, ("numbers", bits)
    words: Any = ("strings",)
    if values["symbol_table"] is not None:
        words = "symbols", _exact(values["symbol_table"])
    if values["compression"] is not None:
        words = "compressed", values["compression"], words
    vector_bytes = has_validity * -(-dimension // 8) - (-dimension * bits // 8)
    packed = "packed", ((bits, ("numbers", bits)), (32, words), (8 * vector_bytes, encoded))
    text = "plain", True, 32, False
    vectors = pa.list_(item, list_size)
    return {
        "lists": (lists, encoded, vectors),
        "fields": (("struct", (number, number)), ("fields", (bits, bits)), pa.struct({"a": item, "b": item})),
        "packed": (
            ("struct", (number, text, lists)),
            packed,
            pa.struct({"a": item, "b": pa.binary(), "c": vectors}),
        ),
        "strings": (text, words, pa.binary()),
    }


def _mini_block(values: Values) -> tuple[kernels.PageReader, Any, int, kernels.ChunkTable]:
    """Arguments for a page of chunks, and their table."""
    page: dict[str, Any] = {name.removeprefix(_CHUNKS): values[name] for name in values if name.startswith(_CHUNKS)}
    data, metadata = (_exact(page.pop(name)) for name in ("data", "metadata"))
    table = kernels.ChunkTable(metadata, **page)
    items = None
    if values["items"] is not None:
        offsets = None if values["item_offsets"] is None else _exact(values["item_offsets"])
        items = values["num_items"], values["item_bits"], offsets, _exact(values["items"])
    reader = kernels.PageReader.mini_block(
        table,
        codec=values["codec"],  # type: ignore[arg-type]  # arguments are wrong on purpose
        bits=values["bits"],  # type: ignore[arg-type]  # likewise
        # inside lists and structs, levels also describe the structure
        definition=(kernels.LevelCodec.FLAT16, _FLAT_LEVELS) if page["has_def"] and "layers" not in values else None,
        symbol_table=None if values["symbol_table"] is None else _exact(values["symbol_table"]),
        items=items,  # type: ignore[arg-type]  # likewise
        format=_format(values),
        list_size=values["list_size"],  # type: ignore[arg-type]  # likewise
        keeps_indices=bool(values["keeps_indices"]),
        compression=values["compression"],  # type: ignore[arg-type]  # likewise
    )
    return reader, data, table.num_items, table


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
        type = _around(values, type) if "layers" in values else type
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
