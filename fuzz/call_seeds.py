"""Valid calls of each kernel, which mutations start from."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from fuzz import encode_seeds
from fuzz.inputs import Value, Values
from tests.kernels import oracles

_SIZES = (256, 512, 130)
_NUM_ITEMS = sum(_SIZES)
_SYMBOLS = [b"abc", b"ab", b"c", b"longest!"]
_PAGE_RANGES = ([0, _NUM_ITEMS], [3, 40, 250, 300, 800, 850], [897, 898], [0, 0, 256, 768])


def calls() -> Iterator[Values]:
    """Calls by argument, as `fuzz.calls` takes them."""
    yield from _blocks()
    yield from _gathers()
    yield from encode_seeds.calls()


def _call(kernel: str, **arguments: Value) -> Values:
    return {"kernel": kernel, **arguments}


def _ints(values: npt.ArrayLike) -> bytes:
    return np.array(values, np.int64).tobytes()


def _words(count: int) -> list[bytes]:
    return [b"abclongest!x"[: i % 12] for i in range(count)]


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
