"""Valid calls of the readers of pages, which mutations start from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from fuzz.inputs import Values
from lance_sql.format.encodings import general
from lance_sql.format.encodings.tree import (
    Compression,
    Constant,
    Encoding,
    FixedSizeList,
    Flat,
    Fsst,
    General,
    OutOfLineBitpacking,
    PackedField,
    PackedStruct,
    Variable,
    VariablePackedStruct,
)
from lance_sql.format.layouts.tree import (
    Blob,
    ConstantLayout,
    FullZip,
    Layer,
    Layers,
    MiniBlock,
    PageLayout,
    max_definition,
    max_repetition,
    max_visible,
)
from lance_sql.format.layouts.wire_v2_1 import layout_to_wire
from tests.kernels import oracles
from tests.kernels.pages import Chunk, Page, ValueCodec, build

_SIZES = (1024, 130)
_NUM_ROWS = sum(_SIZES)
_SYMBOLS = [b"abc", b"ab", b"c", b"longest!"]
_FLAT, _PACKED, _SPLIT, _RUNS, _TEXTS, _CODES = ValueCodec


def calls() -> Iterator[Values]:
    """A page of each codec, without and with NULLs, and dictionaries; long ones, of whose values bounds are learned."""
    yield from _full_zip_calls()
    yield from _constant_calls()
    yield from _stored_constants()
    yield from _number_calls()
    yield from _compressed_calls()
    yield from _nested_calls()
    yield from _composite_calls()
    yield from _array_calls()
    yield from _long()
    yield from _far_apart()
    rng = np.random.default_rng(3)
    numbers = rng.integers(0, 9, _NUM_ROWS)
    words = [b"abclongest!x"[: i % 12] for i in range(_NUM_ROWS)]
    for has_nulls in (False, True):
        for dtype in ("<u1", "<u4", "<u8"):
            values = numbers.astype(dtype)
            bits = 8 * values.itemsize
            yield _call(_page([[part.tobytes()] for part in _split(values)], has_nulls), _FLAT, bits, False, bits)
            packed = [[oracles.inline_group(part, 8 * part.itemsize)] for part in _split(values)]
            yield _call(_page(packed, has_nulls), _PACKED, bits, False, bits)
            runs = [[run.tobytes() for run in oracles.runs_of(part)] for part in _split(values)]
            yield _call(_page(runs, has_nulls), _RUNS, bits, False, bits)
        halves = [[np.ascontiguousarray(part.view(np.uint8).reshape(-1, 8).T).tobytes()] for part in _split(numbers)]
        yield _call(_page(halves, has_nulls), _SPLIT, 64, False, 64)
        flags = [[oracles.bitmap(part % 2)] for part in _split(numbers)]
        yield _call(_page(flags, has_nulls), _FLAT, 1, False, 1)
        yield _call(_page([[bytes(16 * size)] for size in _SIZES], has_nulls), _FLAT, 128, False, 64)
        for dimension in (2, 5):
            vectors = [[bytes(8 * dimension * size)] for size in _SIZES]
            yield _call(_page(vectors, has_nulls), _FLAT, 64 * dimension, False, 64 * dimension, list_size=dimension)
        for bits in (32, 64):
            strings = [[oracles.variable_chunk(part, bits)] for part in _parts(words)]
            yield _call(_page(strings, has_nulls), _TEXTS, bits, True, 32)
            codes = [oracles.fsst_encode(word, _SYMBOLS) for word in words]
            table = oracles.symbol_table(_SYMBOLS)
            encoded = _page([[oracles.variable_chunk(part, bits)] for part in _parts(codes)], has_nulls)
            yield _call(encoded, _CODES, bits, True, 64, symbol_table=table)
        for length in (5, 30):
            items = [b"x" * (i % length) for i in range(9)]
            offsets = np.cumsum([0, *map(len, items)]).astype("<i4").tobytes()
            indices = _page([[part.astype("<u4").tobytes()] for part in _split(numbers)], has_nulls)
            given = (9, 32, offsets, b"".join(items))
            yield _call(indices, _FLAT, 32, True, 32, items=given)
            for index_bits in (8, 16, 32, 64):
                yield _call(indices, _FLAT, 32, True, 32, items=given, index_bits=index_bits)
        fixed = (9, 64, None, bytes(72))
        packed = [[oracles.inline_group(part.astype("<u4"), 4)] for part in _split(numbers)]
        yield _call(_page(packed, has_nulls), _PACKED, 32, False, 64, items=fixed, test=2)


def _number_calls() -> Iterator[Values]:
    """Runs of numbers, few and many, equal ones and such that follow each other."""
    num_rows = 5000
    for starts in (np.array([0]), np.array([0, 3, 4, 1030, 4999]), np.arange(num_rows)):
        for step in (0, 1):
            yield {
                "runs": starts.astype(np.int64).tobytes(),
                "first": (starts * 3).astype(np.uint64).tobytes(),
                "step": step,
                "num_rows": num_rows,
                "rows": np.array([0, 7, 100, 1030, 1100, num_rows], np.int64).tobytes(),
                "flags": np.array([1, 0, 0, 1, 1, 1, 0], np.uint8).tobytes(),
                "test": 0,
                "order": 0,
                "key": bytes([200, 10] + [0] * 14),
            }


def _constant_calls() -> Iterator[Values]:
    """One value for all rows, with and without NULLs among them."""
    num_rows = 200
    given: Values = {
        "num_rows": num_rows,
        "list_size": None,
        "rows": np.array([0, 7, 10, 30, 31, num_rows], np.int64).tobytes(),
        "flags": np.array([1, 0, 0, 1, 1, 1, 0], np.uint8).tobytes(),
        "test": 2,
        "order": 0,
        "key": bytes(16),
    }
    bits = np.packbits(np.arange(num_rows) % 5 > 0, bitorder="little").tobytes()
    for variable, format_bits, content in (
        (False, 1, b"\1"),
        (False, 64, bytes(8)),
        (True, 32, b"word"),
        (True, 64, b""),
    ):
        for constant, validity in ((content, None), (content, bits), (None, None)):
            format: Values = {"variable": variable, "format_bits": format_bits}
            yield {**given, **format, "constant": constant, "validity": validity}


def _stored_constants() -> Iterator[Values]:
    """Constant pages: with and without a value, and levels, flat and nested."""
    num_rows = 60
    levels = (np.arange(num_rows) % 3).astype("<u2")
    rep = np.tile([1, 0, 0], num_rows).astype("<u2")
    packed = OutOfLineBitpacking(16, 2)
    for layers, outer in ((_ITEMS[:1], b""), (_STRUCTS, bytes([0, 1])), (_LISTS, bytes([32, 1]))):
        for value, format in (((7).to_bytes(4, "little"), (False, 32)), (b"word", (True, 32)), (None, (False, 32))):
            for encoding in (None, packed):
                is_list = layers is _LISTS
                levels_of = np.where(rep == 1, np.repeat(levels, 3), 0).astype("<u2") if is_list else levels
                if len(layers) == 1:
                    levels_of = levels_of % np.uint16(2)
                kinds = [rep if is_list else None, levels_of]
                head = [b"" if each is None else _levels(each, encoding) for each in kinds]
                counts = [0 if each is None or encoding is None else len(each) for each in kinds]
                layout = ConstantLayout(layers, value, encoding if is_list else None, encoding, *counts)
                for index_bits in (0, 8):
                    others: dict[str, Any] = {"outer": outer, "is_nested": int(bool(outer)), "index_bits": index_bits}
                    yield _page_call(layout, head, None, num_rows, format, **others)
    scalar = np.array([2, 8, 5, 0, 5], "<u4").tobytes() + b"hello"
    empty = ConstantLayout(_ITEMS[:1], None, None, None, 0, 0)
    yield _page_call(empty, [scalar], None, num_rows, (True, 32))
    for kind in range(6):
        yield _page_call(empty, [], None, num_rows, (False, 32), kind=kind, list_size=3)


def _levels(levels: np.ndarray[Any, Any], encoding: Encoding | None) -> bytes:
    return levels.tobytes() if encoding is None else oracles.pack_groups(levels, 2, raw_tail=False)


def _full_zip_calls() -> Iterator[Values]:
    """Entries of each kind, without and with NULLs, those of structs around them, and in lists."""
    num_rows = 40
    words = [b"abclongest!x"[: i % 12] * 3 for i in range(num_rows)]
    codes = [oracles.fsst_encode(word, _SYMBOLS) for word in words]
    vector = oracles.bitmap([1, 0, 1]) + bytes(6)
    packed = [b"12" + len(word).to_bytes(4, "little") + word + vector for word in words]
    fields = VariablePackedStruct(
        (
            PackedField(Flat(16), 16, None),
            PackedField(Variable(32), None, 32),
            PackedField(FixedSizeList(3, Flat(16), True), 56, None),
        )
    )
    symbols = Fsst(oracles.symbol_table(_SYMBOLS), Variable(32))
    kinds: list[tuple[Encoding, int, int, Sequence[bytes], tuple[bool, int], Values]] = [
        (FixedSizeList(3, Flat(64), False), 24, 0, [bytes(24)] * num_rows, (False, 64), {"kind": 1, "list_size": 3}),
        (Flat(64), 8, 0, [bytes(8)] * num_rows, (False, 64), {}),
        (FixedSizeList(3, Flat(16), True), 7, 0, [vector] * num_rows, (False, 16), {"kind": 1, "list_size": 3}),
        (fields, 0, 4, packed, (False, 16), {"kind": 3, "list_size": 3}),
        (symbols, 0, 4, codes, (True, 32), {}),
        (Constant(None), 0, 0, [b""] * num_rows, (False, 64), {"kind": 1, "list_size": 3}),
        *((Variable(8 * width), 0, width, words, (True, 8 * width), {}) for width in (4, 8)),
        *(
            (General(each, Variable(32)), 0, 4, _compressed(each, words), (True, 32), {})
            for each in (Compression.LZ4, Compression.ZSTD)
        ),
    ]
    for layers, outer in ((_ITEMS[1:], b""), (_ITEMS[:1], b""), (_STRUCTS, bytes([0, 1])), (_LISTS, bytes([32, 1]))):
        bits = (int(layers is _LISTS), max_definition(layers))
        levels = [
            (int(bits[0] > 0 and i % 3 == 0), i % 5 % (bits[1] + 1) if i % 5 == 4 else 0) for i in range(num_rows)
        ]
        for encoding, value_bytes, length_bytes, values, format, others in kinds:
            if not value_bytes and not length_bytes and not sum(bits):
                continue
            entries = [
                oracles.zip_entry(rep, level, bits, length_bytes, None if level and length_bytes else value)
                for (rep, level), value in zip(levels, values, strict=True)
            ]
            ends = np.cumsum([0, *map(len, entries)])
            starts = [ends[i] for i, (rep, _) in enumerate(levels) if rep or not bits[0]]
            index = np.array([*starts, ends[-1]], "<u4").tobytes()
            width, length = (None, 8 * length_bytes) if length_bytes else (8 * value_bytes, None)
            layout = FullZip(layers, encoding, bits[0], bits[1], width, length, num_rows, num_rows)
            head = [index] if length_bytes or bits[0] else []
            for is_nested in {False, bool(outer)}:
                nesting: Values = {"outer": outer, "is_nested": int(is_nested)}
                data = b"".join(entries)
                yield _page_call(layout, head, 0, len(starts), format, data=data, **nesting, **others)


def _compressed_calls() -> Iterator[Values]:
    """Chunks of numbers, strings and runs that are compressed."""
    numbers = np.random.default_rng(5).integers(0, 9, _NUM_ROWS).astype("<u4")
    words = [b"abclongest!x"[: i % 12] for i in range(_NUM_ROWS)]
    for compression in (Compression.LZ4, Compression.ZSTD):
        for has_nulls in (False, True):
            for codec, variable, encoded in (
                (_FLAT, False, [[part.tobytes()] for part in _split(numbers)]),
                (_PACKED, False, [[oracles.inline_group(part, 7)] for part in _split(numbers)]),
                (_RUNS, False, [[run.tobytes() for run in oracles.runs_of(part)] for part in _split(numbers)]),
                (_TEXTS, True, [[oracles.variable_chunk(part, 32)] for part in _parts(words)]),
            ):
                stored = [[*_compressed(compression, part[:1]), *part[1:]] for part in encoded]
                yield _call(_page(stored, has_nulls), codec, 32, variable, 32, compression=compression)


def _compressed(compression: Compression, values: Sequence[bytes]) -> list[bytes]:
    return [general.compress(compression, pa.py_buffer(value)) for value in values]


def _array_calls() -> Iterator[Values]:
    """Pages without levels: values and bitmaps, strings and ends, keys and items."""
    num_rows = 50
    words = [b"abclongest!x"[: i % 12] for i in range(num_rows)]
    ends = np.cumsum([len(word) for word in words]).astype("<u8")
    given: Values = {
        "num_rows": num_rows,
        "has_nulls": False,
        "null_adjustment": 0,
        "key_bits": 8,
        "num_items": 0,
        "item_offsets": None,
        "items": None,
        "list_size": None,
        "second": 0,
        "second_size": 0,
        "rows": np.array([0, 7, 10, 30, 31, num_rows], np.int64).tobytes(),
        "flags": np.array([1, 0, 0, 1, 1, 1, 0], np.uint8).tobytes(),
        "test": 2,
        "order": 0,
        "key": bytes(16),
    }

    def calls(first: bytes, second: bytes, variable: bool, format_bits: int, **others: Any) -> Iterator[Values]:
        """With a test for NULL, and one of the values."""
        places = {"first": 0, "first_size": len(first), "second": len(first), "second_size": len(second)}
        format = {"variable": variable, "format_bits": format_bits}
        found = {**given, **places, **format, "stored": first + second, **others}
        yield found
        num_items = 2 if format_bits == 1 else found["num_items"]
        if num_items:
            yield {**found, "test": 1, "key": bytes([0, 1] * (num_items // 2))}
        else:
            yield {**found, "test": 3 if variable else 0}

    bitmap = oracles.bitmap(np.arange(num_rows) % 5)
    for has_nulls in (False, True):
        for bits in (1, 32, 192):
            values = bytes((bits * num_rows + 7) // 8)
            yield from calls(values, bitmap, False, bits, has_nulls=has_nulls)
        yield from calls(bytes(24 * num_rows), bitmap, False, 192, has_nulls=has_nulls, list_size=3)
        total = int(ends[-1]) + 1
        stored = ends + np.where(np.arange(num_rows) % 12 == 0, total, 0) if has_nulls else ends
        for bits in (32, 64):
            data = b"".join(words)
            yield from calls(stored.astype("<u8").tobytes(), data, True, bits, null_adjustment=total)
        for bits in (8, 16, 32):
            keys = (np.arange(num_rows) % 4).astype(f"<u{bits // 8}").tobytes()
            offsets = np.array([0, 0, 2, 7, 9], "<u4").tobytes()
            items: Values = {"key_bits": bits, "num_items": 4, "item_offsets": offsets, "items": b"aabbbbbcc"}
            yield from calls(keys, b"", True, 32, has_nulls=has_nulls, **items)


_ENTRIES = 64
_ITEMS = (Layer.NULLABLE_ITEM, Layer.ALL_VALID_ITEM)
"""Of values that may be NULL, and of others."""
_STRUCTS = (Layer.NULLABLE_ITEM, Layer.NULLABLE_ITEM)
_LISTS = (Layer.NULLABLE_ITEM, Layer.NULL_AND_EMPTY_LIST)


def _nested_calls() -> Iterator[Values]:
    """Values inside lists and structs: levels of random rows, in chunks."""
    rng = np.random.default_rng(4)
    for layers, outer in (
        (_LISTS, bytes([32, 1])),
        (_STRUCTS, bytes([0, 1])),
        ((Layer.NULLABLE_ITEM, Layer.NULLABLE_ITEM, Layer.NULL_AND_EMPTY_LIST), bytes([0, 1, 64, 1])),
        (_LISTS + _LISTS, bytes([32, 1, 0, 1, 32, 1])),
    ):
        num_lists, num_levels, visible = max_repetition(layers), max_definition(layers), max_visible(layers)
        parts, index, num_rows = [], [], 0
        for number, _ in enumerate(_SIZES):
            rep = rng.integers(0, num_lists + 1, _ENTRIES).astype("<u2")
            rep[0] = num_lists
            # only an entry with an item is followed by another one of its list
            is_last = np.append(rep[1:], num_lists) == num_lists
            definition = np.where(is_last & (rep == num_lists), rng.integers(0, num_levels + 1, _ENTRIES), 0)
            # all chunks but the last have a power of two of items
            parts.append((rep, (definition * number).astype("<u2")))
            index.append((int((rep == num_lists).sum()), 0))
            num_rows += index[-1][0] if num_lists else _ENTRIES
        for variable in (False, True):
            chunks = []
            for rep, definition in parts:
                count = int((definition <= visible).sum())
                words = [b"word"[: i % 5] for i in range(count)]
                values = oracles.variable_chunk(words, 32) if variable else bytes(8 * count)
                chunks.append(
                    Chunk(count, [values], rep.tobytes() if num_lists else None, definition.tobytes(), _ENTRIES)
                )
            page = build(chunks, large=True)
            encoding: Encoding = Variable(32) if variable else Flat(64)
            layout = _mini_block(page, encoding, layers, depth=int(num_lists > 0))
            head = [page.metadata, *([np.array(index, "<u8").tobytes()] if num_lists else [])]
            others: Values = {"outer": outer, "is_nested": 1, "test": 2}
            yield _page_call(layout, head, 1, num_rows, (variable, 32 if variable else 64), data=page.data, **others)


def _composite_calls() -> Iterator[Values]:
    """Lists with NULL items, packed structs and descriptors of blobs, in chunks."""
    bitmap = oracles.bitmap(np.arange(3 * 1024) % 4 > 0)
    for has_nulls in (False, True):
        for bits in (1, 16):
            for has_validity in (False, True):
                parts = [[*([bitmap[: (3 * size + 7) // 8]] * has_validity), bytes(6 * size)] for size in _SIZES]
                page = _page(parts, has_nulls)
                layout = _mini_block(page, FixedSizeList(3, Flat(bits), has_validity), _layers(has_nulls))
                others: Values = {"kind": 1, "list_size": 3}
                yield _page_call(layout, [page.metadata], 1, _NUM_ROWS, (False, bits), data=page.data, **others)
        for compression in (None, Compression.LZ4, Compression.ZSTD):
            fields = [bytes(4 * size) for size in _SIZES]
            stored = [[part] for part in (_compressed(compression, fields) if compression else fields)]
            page = _page(stored, has_nulls)
            pair: Encoding = PackedStruct((16, 16), Flat(32))
            encoding = General(compression, pair) if compression else pair
            layout = _mini_block(page, encoding, _layers(has_nulls))
            for are_places in (0, 1):
                given = Blob(_ITEMS[:1], layout) if are_places else layout
                structs: Values = {"kind": 2, "are_places": are_places}
                yield _page_call(given, [page.metadata], 1, _NUM_ROWS, (False, 16), data=page.data, **structs)
    page = _page([[bytes(6 * size)] for size in (1024, 128)], False)
    layers = (Layer.ALL_VALID_ITEM, Layer.ALL_VALID_ITEM)
    layout = _mini_block(page, FixedSizeList(3, Flat(16), False), layers)
    items: Values = {"kind": 1, "list_size": 3, "outer": bytes([0, 2]), "is_nested": 1}
    items["rows"] = np.array([0, 7, 100, 576], np.int64).tobytes()
    yield _page_call(layout, [page.metadata], 1, 1152, (False, 16), data=page.data, **items)


def _long() -> Iterator[Values]:
    """Pages of more rows than a zone has, in order, as they are and packed."""
    num_chunks = 9
    numbers = np.arange(num_chunks * 1024, dtype="<u4") // 100
    parts = np.split(numbers, num_chunks)
    levels = (np.arange(1024) % 5 == 0).astype("<u2").tobytes()
    rows = np.array([0, len(numbers)], np.int64).tobytes()
    for codec in (_FLAT, _PACKED):
        for has_nulls in (False, True):
            marks = (levels, 1024) if has_nulls else (None, 0)
            encoded = [part.tobytes() if codec is _FLAT else oracles.inline_group(part, 7) for part in parts]
            page = build([Chunk(1024, [part], None, *marks) for part in encoded], large=True)
            yield _call(page, codec, 32, False, 32, rows=rows, key=bytes([40] + [0] * 15))


def _far_apart() -> Iterator[Values]:
    """Pages of more bytes than are read at once where only a few of their rows are needed."""
    num_chunks, chunk_rows = 20, 1024
    levels = (np.arange(chunk_rows) % 5 == 0).astype("<u2").tobytes()
    rows = np.array([5, 6, 9, 11, 10_000, 10_001, 15_355, 15_365, 20_000, 20_001], np.int64).tobytes()
    numbers = np.arange(chunk_rows, dtype="<u8")
    words = [b"abclongest!x"[: i % 12] for i in range(chunk_rows)]
    for has_nulls in (False, True):
        marks = (levels, chunk_rows) if has_nulls else (None, 0)

        def page(values: bytes, marks: tuple[bytes | None, int] = marks) -> Page:
            return build([Chunk(chunk_rows, [values], None, *marks)] * num_chunks, large=True)

        yield _call(page(numbers.tobytes()), _FLAT, 64, False, 64, rows=rows)
        yield _call(page(oracles.inline_group(numbers << np.uint64(40), 50)), _PACKED, 64, False, 64, rows=rows)
        yield _call(page(oracles.variable_chunk(words, 32)), _TEXTS, 32, True, 32, rows=rows)


def _split(values: np.ndarray[Any, Any]) -> list[np.ndarray[Any, Any]]:
    return np.split(values, np.cumsum(_SIZES)[:-1])


def _parts(words: list[bytes]) -> list[list[bytes]]:
    return [words[: _SIZES[0]], words[_SIZES[0] :]]


def _page(buffers: list[list[bytes]], has_nulls: bool) -> Page:
    chunks = []
    for size, values in zip(_SIZES, buffers, strict=True):
        levels = (np.arange(size) % 5 == 0).astype("<u2").tobytes() if has_nulls else None
        chunks.append(Chunk(size, values, None, levels, size if has_nulls else 0))
    return build(chunks, large=True)


def _call(
    page: Page,
    codec: ValueCodec,
    bits: int,
    variable: bool,
    format_bits: int,
    *,
    symbol_table: bytes | None = None,
    items: tuple[int, int, bytes | None, bytes] | None = None,
    compression: Compression | None = None,
    list_size: int | None = None,
    **others: Any,
) -> Values:
    """Values in chunks, not nested."""
    values = codec.tree(bits, symbol_table)
    if list_size is not None:
        values = FixedSizeList(list_size, Flat(bits // list_size), False)
        others |= {"kind": 1, "list_size": list_size}
        format_bits //= list_size
    encoding = General(compression, values) if compression else values
    head = [page.metadata]
    layout = _mini_block(page, encoding, _layers(page.has_def))
    if items is not None:
        count, item_bits, offsets, data = items
        if offsets is not None:
            data = np.array([item_bits, 8 + len(offsets)], "<u4").tobytes() + offsets + data
        head.append(data)
        dictionary: Encoding = Flat(item_bits) if offsets is None else Variable(item_bits)
        layout = replace(layout, dictionary=dictionary, num_dictionary_items=count)
        others = {"test": 1, "key": bytes([1, 0, 1, 1, 0, 1, 0, 0, 1]), **others}
    return _page_call(layout, head, 1, page.num_items, (variable, format_bits), data=page.data, **others)


def _layers(has_nulls: bool) -> Layers:
    return _ITEMS[:1] if has_nulls else _ITEMS[1:]


def _mini_block(page: Page, values: Encoding, layers: Layers, depth: int = 0) -> MiniBlock:
    levels = Flat(16)
    return MiniBlock(
        layers=layers,
        values=values,
        repetition=levels if page.has_rep else None,
        definition=levels if page.has_def else None,
        dictionary=None,
        num_dictionary_items=0,
        num_buffers=page.num_buffers,
        repetition_index_depth=depth,
        num_items=page.num_items,
        has_large_chunk=page.large,
    )


def _page_call(
    layout: PageLayout,
    head: Sequence[bytes],
    data_at: int | None,
    num_rows: int,
    format: tuple[bool, int],
    *,
    data: bytes = b"",
    **others: Any,
) -> Values:
    """data_at: the number of the buffer of values"""
    heads = [*head, None, None, None][:3]
    variable, bits = format
    return {
        "message": layout_to_wire(layout),
        "num_rows": num_rows,
        "head0": heads[0],
        "head1": heads[1],
        "head2": heads[2],
        "data": data,
        "data_at": data_at,
        "kind": 0,
        "variable": variable,
        "format_bits": bits,
        "list_size": None,
        "index_bits": 0,
        "makes_items": 0,
        "are_places": 0,
        "outer": b"",
        "is_nested": 0,
        "rows": np.array([0, min(7, num_rows // 3), num_rows // 2, num_rows], np.int64).tobytes(),
        "flags": np.array([1, 0, 0, 1, 1, 1, 0], np.uint8).tobytes(),
        "test": 3 if variable else 0,
        "order": 0,
        "key": bytes([5] + [0] * 15),
        **others,
    }
