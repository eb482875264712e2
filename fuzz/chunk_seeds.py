"""Valid calls of the readers of pages in chunks, which mutations start from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from fuzz.inputs import Values
from fuzz.page_parts import ITEMS, LISTS, STRUCTS, SYMBOLS, compressed, page_call
from lance_sql.format.encodings.tree import (
    Compression,
    Encoding,
    FixedSizeList,
    Flat,
    General,
    PackedStruct,
    Variable,
)
from lance_sql.format.layouts.tree import (
    Blob,
    Layer,
    Layers,
    MiniBlock,
    max_definition,
    max_repetition,
    max_visible,
)
from tests.kernels import oracles
from tests.kernels.pages import Chunk, Page, ValueCodec, build

_SIZES = (1024, 130)
_NUM_ROWS = sum(_SIZES)
_ENTRIES = 64
_FLAT, _PACKED, _SPLIT, _RUNS, _TEXTS, _CODES = ValueCodec


def calls() -> Iterator[Values]:
    """A page of each codec, without and with NULLs, and dictionaries; long ones, of whose values bounds are learned."""
    yield from _compressed_calls()
    yield from _nested_calls()
    yield from _composite_calls()
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
            codes = [oracles.fsst_encode(word, SYMBOLS) for word in words]
            table = oracles.symbol_table(SYMBOLS)
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
                stored = [[*compressed(compression, part[:1]), *part[1:]] for part in encoded]
                yield _call(_page(stored, has_nulls), codec, 32, variable, 32, compression=compression)


def _nested_calls() -> Iterator[Values]:
    """Values inside lists and structs: levels of random rows, in chunks."""
    rng = np.random.default_rng(4)
    for layers, outer in (
        (LISTS, bytes([32, 1])),
        (STRUCTS, bytes([0, 1])),
        ((Layer.NULLABLE_ITEM, Layer.NULLABLE_ITEM, Layer.NULL_AND_EMPTY_LIST), bytes([0, 1, 64, 1])),
        (LISTS + LISTS, bytes([32, 1, 0, 1, 32, 1])),
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
            yield page_call(layout, head, 1, num_rows, (variable, 32 if variable else 64), data=page.data, **others)


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
                yield page_call(layout, [page.metadata], 1, _NUM_ROWS, (False, bits), data=page.data, **others)
        for compression in (None, Compression.LZ4, Compression.ZSTD):
            fields = [bytes(4 * size) for size in _SIZES]
            stored = [[part] for part in (compressed(compression, fields) if compression else fields)]
            page = _page(stored, has_nulls)
            pair: Encoding = PackedStruct((16, 16), Flat(32))
            encoding = General(compression, pair) if compression else pair
            layout = _mini_block(page, encoding, _layers(has_nulls))
            for are_places in (0, 1):
                given = Blob(ITEMS[:1], layout) if are_places else layout
                structs: Values = {"kind": 2, "are_places": are_places}
                yield page_call(given, [page.metadata], 1, _NUM_ROWS, (False, 16), data=page.data, **structs)
    page = _page([[bytes(6 * size)] for size in (1024, 128)], False)
    layers = (Layer.ALL_VALID_ITEM, Layer.ALL_VALID_ITEM)
    layout = _mini_block(page, FixedSizeList(3, Flat(16), False), layers)
    items: Values = {"kind": 1, "list_size": 3, "outer": bytes([0, 2]), "is_nested": 1}
    items["rows"] = np.array([0, 7, 100, 576], np.int64).tobytes()
    yield page_call(layout, [page.metadata], 1, 1152, (False, 16), data=page.data, **items)


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
    return page_call(layout, head, 1, page.num_items, (variable, format_bits), data=page.data, **others)


def _layers(has_nulls: bool) -> Layers:
    return ITEMS[:1] if has_nulls else ITEMS[1:]


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
