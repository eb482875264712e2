"""Valid calls of the readers of pages, which mutations start from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from fuzz.inputs import Values
from lance_sql.format.encodings import general
from lance_sql.format.encodings.tree import Compression
from tests.kernels import oracles
from tests.kernels.pages import Chunk, Page, build

_SIZES = (1024, 130)
_NUM_ROWS = sum(_SIZES)
_SYMBOLS = [b"abc", b"ab", b"c", b"longest!"]


def calls() -> Iterator[Values]:
    """A page of each codec, without and with NULLs, and dictionaries; long ones, of whose values bounds are learned."""
    yield from _full_zip_calls()
    yield from _constant_calls()
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
            yield _call(_page([[part.tobytes()] for part in _split(values)], has_nulls), 0, bits, False, bits)
            packed = [[oracles.inline_group(part, 8 * part.itemsize)] for part in _split(values)]
            yield _call(_page(packed, has_nulls), 1, bits, False, bits)
            runs = [[run.tobytes() for run in oracles.runs_of(part)] for part in _split(values)]
            yield _call(_page(runs, has_nulls), 3, bits, False, bits)
        halves = [[np.ascontiguousarray(part.view(np.uint8).reshape(-1, 8).T).tobytes()] for part in _split(numbers)]
        yield _call(_page(halves, has_nulls), 2, 64, False, 64)
        flags = [[oracles.bitmap(part % 2)] for part in _split(numbers)]
        yield _call(_page(flags, has_nulls), 0, 1, False, 1)
        yield _call(_page([[bytes(16 * size)] for size in _SIZES], has_nulls), 0, 128, False, 64)
        for dimension in (2, 5):
            vectors = [[bytes(8 * dimension * size)] for size in _SIZES]
            yield _call(_page(vectors, has_nulls), 0, 64 * dimension, False, 64 * dimension, list_size=dimension)
        for bits in (32, 64):
            strings = [[oracles.variable_chunk(part, bits)] for part in _parts(words)]
            yield _call(_page(strings, has_nulls), 4, bits, True, 32)
            codes = [oracles.fsst_encode(word, _SYMBOLS) for word in words]
            table = oracles.symbol_table(_SYMBOLS)
            encoded = _page([[oracles.variable_chunk(part, bits)] for part in _parts(codes)], has_nulls)
            yield _call(encoded, 5, bits, True, 64, symbol_table=table)
        for length in (5, 30):
            items = [b"x" * (i % length) for i in range(9)]
            offsets = np.cumsum([0, *map(len, items)]).astype("<i4").tobytes()
            indices = _page([[part.astype("<u4").tobytes()] for part in _split(numbers)], has_nulls)
            given: Values = {"num_items": 9, "item_bits": 32, "item_offsets": offsets, "items": b"".join(items)}
            yield _call(indices, 0, 32, True, 32, **given, test=1)
            for format_bits in (8, 16, 32, 64):
                yield _call(indices, 0, 32, False, format_bits, **given, keeps_indices=True)
        fixed: Values = {"num_items": 9, "item_bits": 64, "item_offsets": None, "items": bytes(72)}
        packed = [[oracles.inline_group(part.astype("<u4"), 4)] for part in _split(numbers)]
        yield _call(_page(packed, has_nulls), 1, 32, False, 64, **fixed, test=2)


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


def _full_zip_calls() -> Iterator[Values]:
    """Entries of each kind, without and with NULLs, and with those of structs around them."""
    num_rows = 40
    words = [b"abclongest!x"[: i % 12] * 3 for i in range(num_rows)]
    codes = [oracles.fsst_encode(word, _SYMBOLS) for word in words]
    for num_levels in (0, 1, 2):
        levels = [0 if i % 5 or not num_levels else 1 + i % num_levels for i in range(num_rows)]
        controls = [bytes([level]) if num_levels else b"" for level in levels]
        given: Values = {
            "num_rows": num_rows,
            "bits_def": num_levels,
            "num_levels": num_levels,
            "value_bytes": 0,
            "length_bytes": 0,
            "row_starts": None,
            "symbol_table": None,
            "compression": None,
            "list_size": None,
            "rows": np.array([0, 7, 10, 30, 31, num_rows], np.int64).tobytes(),
            "flags": np.array([1, 0, 0, 1, 1, 1, 0], np.uint8).tobytes(),
            "test": 2,
            "order": 0,
            "key": bytes(16),
        }
        for list_size in (None, 3):
            entries = b"".join(control + bytes(24) for control in controls)
            format: Values = {"variable": False, "format_bits": 192, "value_bytes": 24, "list_size": list_size}
            yield {**given, **format, "entries": entries}
        for symbols, strings in ((None, words), (oracles.symbol_table(_SYMBOLS), codes)):
            for width in (4, 8):
                parts = [
                    control + (b"" if level else len(string).to_bytes(width, "little") + string)
                    for control, level, string in zip(controls, levels, strings, strict=True)
                ]
                starts = np.cumsum([0, *map(len, parts)]).astype("<i8").tobytes()
                format = {"variable": True, "format_bits": 8 * width, "length_bytes": width, "symbol_table": symbols}
                yield {**given, **format, "row_starts": starts, "entries": b"".join(parts)}
        for number, compression in enumerate((Compression.LZ4, Compression.ZSTD)):
            parts = [
                control + (b"" if level else len(value).to_bytes(4, "little") + value)
                for control, level, value in zip(controls, levels, _compressed(compression, words), strict=True)
            ]
            starts = np.cumsum([0, *map(len, parts)]).astype("<i8").tobytes()
            format = {"variable": True, "format_bits": 32, "length_bytes": 4, "compression": number}
            yield {**given, **format, "row_starts": starts, "entries": b"".join(parts)}


def _compressed_calls() -> Iterator[Values]:
    """Chunks of numbers, strings and runs that are compressed."""
    numbers = np.random.default_rng(5).integers(0, 9, _NUM_ROWS).astype("<u4")
    words = [b"abclongest!x"[: i % 12] for i in range(_NUM_ROWS)]
    for number, compression in enumerate((Compression.LZ4, Compression.ZSTD)):
        for has_nulls in (False, True):
            for codec, variable, encoded in (
                (0, False, [[part.tobytes()] for part in _split(numbers)]),
                (1, False, [[oracles.inline_group(part, 7)] for part in _split(numbers)]),
                (3, False, [[run.tobytes() for run in oracles.runs_of(part)] for part in _split(numbers)]),
                (4, True, [[oracles.variable_chunk(part, 32)] for part in _parts(words)]),
            ):
                stored = [[*_compressed(compression, part[:1]), *part[1:]] for part in encoded]
                yield _call(_page(stored, has_nulls), codec, 32, variable, 32, compression=number)


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
_LISTS = bytes([0, 1, 0, 32, 2, 1])
_NULL_STRUCTS = bytes([0, 1, 0, 0, 1, 0])
_LISTS_OF_STRUCTS = bytes([0, 1, 0, 0, 1, 0, 64, 2, 1])
_LISTS_OF_LISTS = bytes([0, 1, 0, 32, 2, 1, 0, 1, 0, 32, 2, 1])


def _nested_calls() -> Iterator[Values]:
    """Values inside lists and structs: levels of random rows, in chunks and in memory."""
    rng = np.random.default_rng(4)
    for layers in (_LISTS, _NULL_STRUCTS, _LISTS_OF_STRUCTS, _LISTS_OF_LISTS):
        num_lists = sum(width > 0 for width in layers[::3])
        num_levels = sum(layers[1::3])
        first_list = next((i for i in range(0, len(layers), 3) if layers[i]), len(layers))
        visible = sum(layers[1:first_list:3])
        parts = []
        for number, _ in enumerate(_SIZES):
            rep = rng.integers(0, num_lists + 1, _ENTRIES).astype("<u2")
            rep[0] = num_lists
            # only an entry with an item is followed by another one of its list
            is_last = np.append(rep[1:], num_lists) == num_lists
            definition = np.where(is_last & (rep == num_lists), rng.integers(0, num_levels + 1, _ENTRIES), 0)
            # all chunks but the last have a power of two of items
            parts.append((rep, (definition * number).astype("<u2")))
        given: Values = {
            "layers": layers,
            "in_memory": False,
            "are_null": False,
            "rep": None,
            "def": None,
            "rows": np.array([0, 3, 7, 9, 11, 20], np.int64).tobytes(),
        }
        starts = np.cumsum([int((rep == num_lists).sum()) if num_lists else _ENTRIES for rep, _ in parts]).astype("<i8")
        given |= {"num_rows": int(starts[-1]), "starts": starts.tobytes(), "ends": starts.tobytes()}
        if not num_lists:
            given |= {"starts": None, "ends": None}
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
            bits = 32 if variable else 64
            yield _call(page, 4 if variable else 0, bits, variable, bits, **given, test=2)
        levels = [np.concatenate(kind).tobytes() for kind in zip(*parts, strict=True)]
        for are_null in (False, True):
            in_memory: Values = {"in_memory": True, "are_null": are_null, "def": levels[1]}
            in_memory["rep"] = levels[0] if num_lists else None
            yield _call(page, 0, 64, False, 64, **(given | in_memory), test=2)


def _composite_calls() -> Iterator[Values]:
    """Lists with NULL items, packed structs and lists of strings, in chunks and between levels."""
    given: Values = {
        "layers": bytes([0, 1, 0]),
        "has_validity": False,
        "list_size": 3,
        "dimension": 3,
        "bits": 16,
        "shape_bits": 16,
        "compression": None,
        "symbol_table": None,
        "rows": np.array([0, 7, 10, 30, 31, 40], np.int64).tobytes(),
        "flags": np.array([1, 0, 0, 1, 1, 1, 0], np.uint8).tobytes(),
        "test": 2,
        "order": 0,
        "key": bytes(16),
    }
    bitmap = oracles.bitmap(np.arange(3 * 1024) % 4 > 0)
    for has_nulls in (False, True):
        for bits in (1, 16):
            for has_validity in (False, True):
                parts = [[*([bitmap[: (3 * size + 7) // 8]] * has_validity), bytes(6 * size)] for size in _SIZES]
                format: Values = {"bits": bits, "shape_bits": bits, "has_validity": has_validity}
                yield {**_call(_page(parts, has_nulls), 0, bits, False, 64), **given, **format} | {
                    "composite": 0,
                    "num_rows": _NUM_ROWS,
                }
        for number, compression in enumerate((None, Compression.LZ4, Compression.ZSTD)):
            fields = [bytes(4 * size) for size in _SIZES]
            stored = [[part] for part in (_compressed(compression, fields) if compression else fields)]
            scheme: Values = {"compression": number - 1 if number else None}
            yield {**_call(_page(stored, has_nulls), 0, 16, False, 64), **given, **scheme} | {
                "composite": 1,
                "num_rows": _NUM_ROWS,
            }
    page = _call(_page([[bytes(6 * size)] for size in (1024, 128)], False), 0, 16, False, 64)
    yield {**page, **given, "layers": bytes([0, 0, 0, 0, 0, 0]), "items_per_row": 2, "composite": 0} | {
        "chunks.num_items": 1152,
        "num_rows": 1152,
    }
    yield from _composites_in_entries(given)


def _composites_in_entries(given: Values) -> Iterator[Values]:
    words = [b"abclongest!x"[: i % 12] for i in range(40)]
    for bits, layers in (((0, 1), bytes([0, 1, 0])), ((1, 2), _LISTS)):
        levels = [(int(bits[0] > 0 and i % 3 == 0), int(i % 5 == 4)) for i in range(40)]
        vector = oracles.bitmap([1, 0, 1]) + bytes(6)
        packed = [b"12" + len(word).to_bytes(4, "little") + word + vector for word in words]
        codes = [oracles.fsst_encode(word, _SYMBOLS) for word in words]
        for kind, length_bytes, values, others in (
            ("lists", 0, [vector] * 40, {}),
            ("packed", 4, packed, {}),
            ("strings", 8, words, {}),
            ("strings", 4, codes, {"symbol_table": oracles.symbol_table(_SYMBOLS)}),
            ("strings", 4, _compressed(Compression.ZSTD, words), {"compression": 1}),
        ):
            entries = [
                oracles.zip_entry(rep, level, bits, length_bytes, None if level and length_bytes else value)
                for (rep, level), value in zip(levels, values, strict=True)
            ]
            ends = np.cumsum([0, *map(len, entries)])
            starts = [ends[i] for i, (rep, _) in enumerate(levels) if rep or not bits[0]]
            shape: Values = {"bits_rep": bits[0], "bits_def": bits[1], "length_bytes": length_bytes}
            yield {**given, **shape, **others} | {
                "composite": ("lists", "fields", "packed", "strings").index(kind),
                "layers": layers,
                "has_validity": True,
                "value_bytes": 0 if length_bytes else 7,
                "entries": b"".join(entries),
                "row_starts": np.array([*starts, ends[-1]], "<i8").tobytes(),
                "num_rows": len(starts),
                "rows": np.array([0, 3, 5, 9, 11, len(starts)], np.int64).tobytes(),
            }


def _long() -> Iterator[Values]:
    """Pages of more rows than a zone has, in order, as they are and packed."""
    num_chunks = 9
    numbers = np.arange(num_chunks * 1024, dtype="<u4") // 100
    parts = np.split(numbers, num_chunks)
    levels = (np.arange(1024) % 5 == 0).astype("<u2").tobytes()
    rows = np.array([0, len(numbers)], np.int64).tobytes()
    for codec in (0, 1):
        for has_nulls in (False, True):
            marks = (levels, 1024) if has_nulls else (None, 0)
            encoded = [part.tobytes() if codec == 0 else oracles.inline_group(part, 7) for part in parts]
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

        yield _call(page(numbers.tobytes()), 0, 64, False, 64, rows=rows)
        yield _call(page(oracles.inline_group(numbers << np.uint64(40), 50)), 1, 64, False, 64, rows=rows)
        yield _call(page(oracles.variable_chunk(words, 32)), 4, 32, True, 32, rows=rows)


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


def _call(page: Page, codec: int, bits: int, variable: bool, format_bits: int, **others: Any) -> Values:
    return {
        "chunks.metadata": page.metadata,
        "chunks.num_items": page.num_items,
        "chunks.large": True,
        "chunks.num_bytes": len(page.data),
        "chunks.has_rep": page.has_rep,
        "chunks.has_def": page.has_def,
        "chunks.num_buffers": page.num_buffers,
        "chunks.data": page.data,
        "codec": codec,
        "bits": bits,
        "variable": variable,
        "format_bits": format_bits,
        "list_size": None,
        "symbol_table": None,
        "num_items": None,
        "item_bits": None,
        "item_offsets": None,
        "items": None,
        "keeps_indices": False,
        "compression": None,
        "rows": np.array([0, 7, 100, 1030, 1100, _NUM_ROWS], np.int64).tobytes(),
        "flags": np.array([1, 0, 0, 1, 1, 1, 0], np.uint8).tobytes(),
        "test": 3 if variable and "num_items" not in others else 0,
        "order": 0,
        "key": bytes([5] + [0] * 15) if "num_items" not in others else bytes([1, 0, 1, 1, 0, 1, 0, 0, 1]),
        **others,
    }
