"""Valid calls of each kernel, which mutations start from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from fuzz import encode_seeds
from fuzz.inputs import Value, Values
from lance_sql._kernels import LevelCodec
from lance_sql.format.encodings import general
from lance_sql.format.encodings.tree import Compression
from tests.kernels import oracles
from tests.kernels.pages import Chunk, build

_SIZES = (256, 512, 130)
_NUM_ITEMS = sum(_SIZES)
_SYMBOLS = [b"abc", b"ab", b"c", b"longest!"]
_PAGE_RANGES = ([0, _NUM_ITEMS], [3, 40, 250, 300, 800, 850], [897, 898], [0, 0, 256, 768])


def calls() -> Iterator[Values]:
    """Calls by argument, as `fuzz.calls` takes them."""
    yield from _on_pages()
    yield from _blocks()
    yield from _gathers()
    yield from _lists()
    yield from _zips()
    yield from encode_seeds.calls()


def _call(kernel: str, **arguments: Value) -> Values:
    return {"kernel": kernel, **arguments}


def _ints(values: npt.ArrayLike) -> bytes:
    return np.array(values, np.int64).tobytes()


def _words(count: int) -> list[bytes]:
    return [b"abclongest!x"[: i % 12] for i in range(count)]


def _levels(count: int, codec: LevelCodec) -> tuple[bytes, int]:
    levels = (np.arange(count) % 17 // 15).astype("<u2")
    return {
        LevelCodec.FLAT16: (levels.tobytes(), 0),
        LevelCodec.PACKED: (oracles.pack_groups(levels, 1, raw_tail=False), 1),
        LevelCodec.INLINE_PACKED: (oracles.inline_group(levels, 1), 0),
        LevelCodec.RLE: (oracles.run_block(levels), 0),
    }[codec]


def _page(encoded: Sequence[Sequence[bytes]], *, large: bool, codec: LevelCodec | None) -> Values:
    chunks = []
    for size, buffers in zip(_SIZES, encoded, strict=True):
        levels = None if codec is None else _levels(size, codec)[0]
        chunks.append(Chunk(size, buffers, levels, levels, 0 if codec is None else size))
    page = build(chunks, large=large)
    return {
        "chunks.metadata": page.metadata,
        "chunks.num_items": page.num_items,
        "chunks.large": large,
        "chunks.num_bytes": len(page.data),
        "chunks.has_rep": page.has_rep,
        "chunks.has_def": page.has_def,
        "chunks.num_buffers": page.num_buffers,
        "chunks.data": page.data,
        "chunks.data_start": 0,
    }


def _on_pages() -> Iterator[Values]:
    for large in (False, True):
        for pairs in _PAGE_RANGES:
            yield from _of_fixed_width(pairs, large)
            yield from _of_variable_width(pairs, large)
            for codec in LevelCodec:
                page = _page([[bytes(size)] for size in _SIZES], large=large, codec=codec)
                _, num_bits = _levels(4, codec)
                how: Values = {"codec": int(codec), "num_bits": num_bits}
                yield _call("validity", **page, ranges=_ints(pairs), **how, threshold=0, out=(_NUM_ITEMS + 7) // 8)
                yield _call("levels", **page, first_chunk=0, end_chunk=3, kind=1, **how, out=2 * _NUM_ITEMS)
                yield _call("levels", **page, first_chunk=1, end_chunk=3, kind=0, **how, out=2 * _NUM_ITEMS)
                yield _call("num_levels", **page, first_chunk=0, end_chunk=3)


def _of_fixed_width(pairs: Sequence[int], large: bool) -> Iterator[Values]:
    num_items = int(np.diff(np.reshape(pairs, (-1, 2)), axis=1).sum())
    ranges = _ints(pairs)
    for dtype in ("<u1", "<u2", "<u4", "<u8"):
        width = np.dtype(dtype).itemsize
        values = (np.arange(_NUM_ITEMS) // 9 % 29).astype(dtype)
        parts = np.split(values, np.cumsum(_SIZES)[:-1])
        plain = _page([[part.tobytes()] for part in parts], large=large, codec=None)
        out = num_items * width
        yield _call("flat", **plain, ranges=ranges, buffer_index=0, bits_per_value=8 * width, out=out)
        yield _call("flat", **plain, ranges=ranges, buffer_index=0, bits_per_value=3, out=(num_items * 3 + 7) // 8)
        yield _call("byte_stream_split", **plain, ranges=ranges, num_bytes=width, out=out)
        packed = _page([[oracles.inline_group(part, 5)] for part in parts], large=large, codec=None)
        yield _call("inline_bitpacking", **packed, ranges=ranges, word_bits=8 * width, out=out)
        runs = _page([[p.tobytes() for p in oracles.runs_of(part)] for part in parts], large=large, codec=None)
        yield _call("rle", **runs, ranges=ranges, value_bits=8 * width, out=out)
    numbers = np.split(np.arange(_NUM_ITEMS, dtype="<u4"), np.cumsum(_SIZES)[:-1])
    for number, compression in enumerate((Compression.LZ4, Compression.ZSTD)):
        stored = [[general.compress(compression, pa.py_buffer(part))] for part in numbers]
        page = _page(stored, large=large, codec=None)
        yield _call("decompressed", **page, compression=number, ranges=ranges, out=4 * num_items)


def _of_variable_width(pairs: Sequence[int], large: bool) -> Iterator[Values]:
    num_items = int(np.diff(np.reshape(pairs, (-1, 2)), axis=1).sum())
    ranges = _ints(pairs)
    values = _words(_NUM_ITEMS)
    for bits, out_bits in ((32, 32), (32, 64), (64, 32), (64, 64)):
        texts, codes = [], []
        for end, size in zip(np.cumsum(_SIZES), _SIZES, strict=True):
            part = values[end - size : end]
            texts.append([oracles.variable_chunk(part, bits)])
            codes.append([oracles.variable_chunk([oracles.fsst_encode(text, _SYMBOLS) for text in part], bits)])
        page = _page(texts, large=large, codec=None)
        yield _call(
            "variable_offsets",
            **page,
            ranges=ranges,
            offset_bits=bits,
            out_offsets=(num_items + 1) * out_bits // 8,
            out_offset_bits=out_bits,
        )
        yield _call("variable_bytes", **page, ranges=ranges, offset_bits=bits, out=12 * num_items)
        page = _page(codes, large=large, codec=None)
        yield _call("fsst_bound", **page, ranges=ranges, offset_bits=bits)
        for in_use in (True, False):
            yield _call(
                "fsst",
                **page,
                ranges=ranges,
                offset_bits=bits,
                symbol_table=oracles.symbol_table(_SYMBOLS, in_use=in_use),
                start_row=0,
                out_offsets=(num_items + 1) * out_bits // 8,
                out_offset_bits=out_bits,
                out=8 * 24 * num_items + 8,
            )


def _blocks() -> Iterator[Values]:
    for dtype in ("<u1", "<u2", "<u4", "<u8"):
        width = np.dtype(dtype).itemsize
        for count in (1024, 1500, 2500):
            values = (np.arange(count) // 9 % 29).astype(dtype)
            for raw_tail in (False, True):
                packed = oracles.pack_groups(values, 5, raw_tail=raw_tail)
                yield _call(
                    "unpack", packed=packed, word_bits=8 * width, num_bits=5, num_values=count, out=count * width
                )
            block = oracles.run_block(values)
            yield _call("rle_block", block=block, value_bits=8 * width, num_values=count, out=count * width)
        block = oracles.inline_group(values[:700], 5)
        yield _call("unpack_block", packed=block, word_bits=8 * width, num_values=700, out=700 * width)
    for text in (b"abcabc" * 90, bytes(range(256)) * 2, b""):
        yield _call("lz4_size", block=pa.Codec("lz4_raw").compress(text, asbytes=True))
    mask = oracles.bitmap(np.arange(700) % 13 < 9)
    yield _call("mask_to_ranges", bitmap=mask, bit_offset=3, num_bits=690)
    yield _call("mask_to_ranges", bitmap=bytes(90), bit_offset=0, num_bits=720)
    strings = [b"the quick fox", b"jumps over", b"a fo", b"x and a dog", b""] * 40
    for bits in (32, 64):
        offsets = np.cumsum([0, *map(len, strings)]).astype(f"<i{bits // 8}").tobytes()
        yield _call(
            "contains", offsets=offsets, offset_bits=bits, num_strings=200, data=b"".join(strings), text=b"fox", out=25
        )
    yield _call("narrow_decimal", values=np.array([5, 0, -3, -1] * 20, "<i8").tobytes(), num_values=40, out=320)


def _gathers() -> Iterator[Values]:
    for index_bits in (8, 16, 32, 64):
        indices = (np.arange(300) * 7 % 50).astype(f"<u{index_bits // 8}").tobytes()
        head: Values = {"indices": indices, "index_bits": index_bits, "num_indices": 300}
        yield _call("check_indices", **head, num_items=50)
        for width in (1, 2, 3, 4, 8, 16, 30):
            items = bytes(range(50)) * width
            yield _call("gather_fixed", **head, items=items, num_items=50, width_bytes=width, out=300 * width)
        for bits in (32, 64):
            texts = _words(50)
            offsets = np.cumsum([0, *map(len, texts)]).astype(f"<u{bits // 8}").tobytes()
            of_items: Values = {"item_offsets": offsets, "item_offset_bits": bits, "num_items": 50}
            for out_bits in (32, 64):
                yield _call(
                    "gather_variable_offsets",
                    **head,
                    **of_items,
                    out_offsets=301 * out_bits // 8,
                    out_offset_bits=out_bits,
                )
            yield _call("gather_variable_bytes", **head, **of_items, items_data=b"".join(texts), out=300 * 12)
    yield _call(
        "gather_ranges", data=bytes(range(200)), starts=_ints([3, 0, 150, 9]), lengths=_ints([4, 9, 50, 0]), out=63
    )
    for bits in (32, 64):
        codes = [oracles.fsst_encode(text, _SYMBOLS) for text in _words(200)]
        offsets = np.cumsum([0, *map(len, codes)]).astype(f"<u{bits // 8}").tobytes()
        for in_use in (True, False):
            yield _call(
                "fsst_values",
                offsets=offsets,
                offset_bits=bits,
                num_values=200,
                data=b"".join(codes),
                symbol_table=oracles.symbol_table(_SYMBOLS, in_use=in_use),
                start_row=0,
                out_offsets=201 * 4,
                out_offset_bits=32,
                out=8 * sum(map(len, codes)) + 8,
            )


def _lists() -> Iterator[Values]:
    count = 400
    rep = np.where(np.arange(count) % 5 == 0, 1 + (np.arange(count) % 3 == 0), 0).astype("<u2")
    rep[0] = 2
    level = np.where((rep > 0) & (np.arange(count) % 4 == 0) & (np.roll(rep, -1) > 0), 3, 0).astype("<u2")
    bitmap = (count + 7) // 8
    for bits in (32, 64):
        sizes: Values = {"out_offsets": (count + 1) * bits // 8, "out_offset_bits": bits}
        for validity in (None, bitmap):
            yield _call(
                "list_layer",
                rep=rep.tobytes(),
                def_=level.tobytes(),
                num_entries=count,
                base=1,
                empty_level=3,
                max_slot_level=4,
                **sizes,
                out_validity=validity,
                out_rep=2 * count,
                out_def=2 * count,
            )
            yield _call(
                "list_layer",
                rep=rep.tobytes(),
                def_=None,
                num_entries=count,
                base=0,
                empty_level=0,
                max_slot_level=0,
                **sizes,
                out_validity=validity,
                out_rep=2 * count,
                out_def=None,
            )
    yield _call("item_layer", def_=level.tobytes(), num_entries=count, max_slot_level=2, base=0, out=bitmap)
    for levels in (level.tobytes(), None):
        where: Values = {"rep": rep.tobytes(), "def_": levels, "num_entries": count}
        yield _call("select_rows", **where, max_rep=2, max_visible=2, skip_rows=2, num_rows=9)
        yield _call("select_rows", **where, max_rep=2, max_visible=2, skip_rows=0, num_rows=0)


def _zips() -> Iterator[Values]:
    texts = _words(120)
    for bits in ((0, 0), (0, 1), (1, 2), (5, 6), (9, 11)):
        for length_bytes in (4, 8, 0):
            values = texts if length_bytes else [b"12345"] * len(texts)
            entries = []
            for i, value in enumerate(values):
                missing = bits[1] and i % 6 == 0 and length_bytes
                rep = int(bits[0] > 0 and i % 3 == 0)
                entries.append(
                    oracles.zip_entry(rep, 1 if missing else 0, bits, length_bytes, None if missing else value)
                )
            data = b"".join(entries)
            shape: Values = {
                "data": data,
                "start": 0,
                "end": len(data),
                "bits_rep": bits[0],
                "bits_def": bits[1],
                "max_visible": 1,
                "value_bytes": 0 if length_bytes else 5,
                "length_bytes": length_bytes,
            }
            yield _call("unzip_scan", **shape)
            for wanted in (True, False):
                yield _call(
                    "unzip",
                    **shape,
                    out_rep=240 if wanted else None,
                    out_def=240 if wanted else None,
                    out_offsets=4 * 121 if wanted and length_bytes else None,
                    out_offset_bits=32,
                    out_values=sum(map(len, values)),
                )
            if bits[0] == 0:
                yield from _zips_without_lists(data, entries, bits[1], length_bytes)


def _zips_without_lists(data: bytes, entries: list[bytes], bits_def: int, length_bytes: int) -> Iterator[Values]:
    out_def = 240 if bits_def else None
    if not length_bytes:
        yield _call(
            "unzip_fixed",
            data=data,
            data_start=0,
            ranges=_ints([0, 30, 40, 120]),
            num_rows=120,
            bits_def=bits_def,
            value_bytes=5,
            out_values=110 * 5,
            out_def=out_def,
        )
        return
    starts = _ints(np.cumsum([0, *map(len, entries)])[:-1])
    rows: Values = {"data": data, "row_starts": starts, "num_rows": 120, "bits_def": bits_def}
    rows["length_bytes"] = length_bytes
    yield _call("unzip_row_offsets", **rows, out_def=out_def, out_offsets=4 * 121, out_offset_bits=32)
    yield _call("unzip_row_bytes", **rows, out=120 * 12)
