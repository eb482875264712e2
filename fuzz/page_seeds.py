"""Valid calls of the readers of pages, which mutations start from: chunks, entries, constants, runs, and arrays."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from fuzz import chunk_seeds
from fuzz.inputs import Values
from fuzz.page_parts import ITEMS, LISTS, STRUCTS, SYMBOLS, compressed, page_call
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
    Variable,
    VariablePackedStruct,
)
from lance_sql.format.layouts.tree import (
    ConstantLayout,
    FullZip,
    max_definition,
)
from tests.kernels import oracles


def calls() -> Iterator[Values]:
    """Pages of each kind."""
    yield from chunk_seeds.calls()
    yield from _full_zip_calls()
    yield from _constant_calls()
    yield from _stored_constants()
    yield from _number_calls()
    yield from _array_calls()


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
    for layers, outer in ((ITEMS[:1], b""), (STRUCTS, bytes([0, 1])), (LISTS, bytes([32, 1]))):
        for value, format in (((7).to_bytes(4, "little"), (False, 32)), (b"word", (True, 32)), (None, (False, 32))):
            for encoding in (None, packed):
                is_list = layers is LISTS
                levels_of = np.where(rep == 1, np.repeat(levels, 3), 0).astype("<u2") if is_list else levels
                if len(layers) == 1:
                    levels_of = levels_of % np.uint16(2)
                kinds = [rep if is_list else None, levels_of]
                head = [b"" if each is None else _levels(each, encoding) for each in kinds]
                counts = [0 if each is None or encoding is None else len(each) for each in kinds]
                layout = ConstantLayout(layers, value, encoding if is_list else None, encoding, *counts)
                for index_bits in (0, 8):
                    others: dict[str, Any] = {"outer": outer, "is_nested": int(bool(outer)), "index_bits": index_bits}
                    yield page_call(layout, head, None, num_rows, format, **others)
    scalar = np.array([2, 8, 5, 0, 5], "<u4").tobytes() + b"hello"
    empty = ConstantLayout(ITEMS[:1], None, None, None, 0, 0)
    yield page_call(empty, [scalar], None, num_rows, (True, 32))
    for kind in range(6):
        yield page_call(empty, [], None, num_rows, (False, 32), kind=kind, list_size=3)


def _levels(levels: np.ndarray[Any, Any], encoding: Encoding | None) -> bytes:
    return levels.tobytes() if encoding is None else oracles.pack_groups(levels, 2, raw_tail=False)


def _full_zip_calls() -> Iterator[Values]:
    """Entries of each kind, without and with NULLs, those of structs around them, and in lists."""
    num_rows = 40
    words = [b"abclongest!x"[: i % 12] * 3 for i in range(num_rows)]
    codes = [oracles.fsst_encode(word, SYMBOLS) for word in words]
    vector = oracles.bitmap([1, 0, 1]) + bytes(6)
    packed = [b"12" + len(word).to_bytes(4, "little") + word + vector for word in words]
    fields = VariablePackedStruct(
        (
            PackedField(Flat(16), 16, None),
            PackedField(Variable(32), None, 32),
            PackedField(FixedSizeList(3, Flat(16), True), 56, None),
        )
    )
    symbols = Fsst(oracles.symbol_table(SYMBOLS), Variable(32))
    kinds: list[tuple[Encoding, int, int, Sequence[bytes], tuple[bool, int], Values]] = [
        (FixedSizeList(3, Flat(64), False), 24, 0, [bytes(24)] * num_rows, (False, 64), {"kind": 1, "list_size": 3}),
        (Flat(64), 8, 0, [bytes(8)] * num_rows, (False, 64), {}),
        (FixedSizeList(3, Flat(16), True), 7, 0, [vector] * num_rows, (False, 16), {"kind": 1, "list_size": 3}),
        (fields, 0, 4, packed, (False, 16), {"kind": 3, "list_size": 3}),
        (symbols, 0, 4, codes, (True, 32), {}),
        (Constant(None), 0, 0, [b""] * num_rows, (False, 64), {"kind": 1, "list_size": 3}),
        *((Variable(8 * width), 0, width, words, (True, 8 * width), {}) for width in (4, 8)),
        *(
            (General(each, Variable(32)), 0, 4, compressed(each, words), (True, 32), {})
            for each in (Compression.LZ4, Compression.ZSTD)
        ),
    ]
    for layers, outer in ((ITEMS[1:], b""), (ITEMS[:1], b""), (STRUCTS, bytes([0, 1])), (LISTS, bytes([32, 1]))):
        bits = (int(layers is LISTS), max_definition(layers))
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
                yield page_call(layout, head, 0, len(starts), format, data=data, **nesting, **others)


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
