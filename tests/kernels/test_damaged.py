"""Random damage: kernels refuse with ValueError or decode something, and never write behind their output."""

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from lance_sql import _kernels as kernels
from lance_sql.format.encodings.tree import Flat, InlineBitpacking, Rle

from . import oracles
from .pages import Chunk, Output, Page, ValueCodec, build, decoded_block, random_values
from .test_fsst import SYMBOLS, texts

TABLE = oracles.symbol_table(SYMBOLS)
NUM_ITEMS = 64 + 64 + 30
ROUNDS = 150


def page_of(encode: Callable[[oracles.Array], list[bytes]], dtype: str = "<u4") -> Page:
    values = random_values(1, NUM_ITEMS, dtype, 5)
    parts = np.split(values, [64, 128])
    return build(
        [
            Chunk(len(v), encode(v), v.astype("<u2").tobytes(), oracles.run_block(v.astype("<u2")), len(v))
            for v in parts
        ],
        large=False,
    )


def words(values: oracles.Array) -> list[bytes]:
    return [b"abc" * int(value % 4) for value in values]


def codes(values: oracles.Array) -> list[bytes]:
    return [oracles.fsst_encode(text, SYMBOLS) for text in texts(7, len(values), escapes=True)]


PAGES: dict[str, Page] = {
    "plain": page_of(lambda v: [v.tobytes()]),
    "packed": page_of(lambda v: [oracles.inline_group(v, 5)]),
    "runs": page_of(lambda v: [part.tobytes() for part in oracles.runs_of(v)]),
    "variable": page_of(lambda v: [oracles.variable_chunk(words(v), 32)]),
    "fsst": page_of(lambda v: [oracles.variable_chunk(codes(v), 32)]),
}

READ: list[tuple[str, ValueCodec, int, tuple[bool, int]]] = [
    ("plain", ValueCodec.FLAT, 32, (False, 32)),
    ("plain", ValueCodec.BYTE_STREAM_SPLIT, 32, (False, 32)),
    ("packed", ValueCodec.INLINE_BITPACKING, 32, (False, 32)),
    ("runs", ValueCodec.RLE, 32, (False, 32)),
    ("variable", ValueCodec.VARIABLE, 32, (True, 32)),
    ("fsst", ValueCodec.FSST, 32, (True, 64)),
]


TYPES = {(False, 32): pa.uint32(), (True, 32): pa.binary(), (True, 64): pa.large_binary()}


def damage(rng: np.random.Generator, data: bytes) -> bytes:
    """Some bytes changed, mostly to extremes and mostly where headers and offsets are; sometimes cut."""
    changed = bytearray(data)
    for _ in range(rng.integers(1, 4)):
        near = 64 if rng.integers(2) else len(changed)
        position = int(rng.integers(0, min(near, len(changed))))
        changed[position] = int(rng.choice([0, 1, 0x7F, 0x80, 0xFE, 0xFF, int(rng.integers(256))]))
    return bytes(changed[: rng.integers(0, len(changed) + 1)] if rng.integers(8) == 0 else changed)


@pytest.mark.parametrize("index", range(len(READ)))
def test_damaged_pages_are_refused_or_decoded(index: int) -> None:
    name, codec, bits, format = READ[index]
    page = PAGES[name]
    rng = np.random.default_rng(index)
    num_refused = 0
    for _ in range(ROUNDS):
        bounds = np.sort(rng.integers(0, NUM_ITEMS + 1, 6)) if rng.integers(2) else page.all_items()
        metadata = damage(rng, page.metadata) if rng.integers(4) == 0 else page.metadata
        damaged = replace(page, metadata=metadata, data=damage(rng, page.data), large=bool(rng.integers(8) == 0))
        try:
            reader = damaged.reader(codec, bits, format, symbol_table=TABLE if name == "fsst" else None)
            damaged.read(
                reader, bounds, (pa.large_binary() if bits < format[1] else pa.binary()) if format[0] else pa.uint32()
            )
        except ValueError:
            num_refused += 1
    assert 0 < num_refused < ROUNDS


def test_damaged_blocks_are_refused_or_decoded() -> None:
    rng = np.random.default_rng(3)
    values = random_values(3, 1500, "<u2", 3)
    packed, runs = oracles.pack_groups(values, 3, raw_tail=False), oracles.run_block(values)
    table, stored = oracles.symbol_table(SYMBOLS), b"".join(codes(values[:50]))
    ends = np.arange(51, dtype="<u4") * 3
    for _ in range(ROUNDS):
        out, offsets = Output(3000), Output(4 * 51)
        damaged = damage(rng, runs), damage(rng, packed), damage(rng, table), damage(rng, ends.tobytes())
        for call in (
            lambda d=damaged: decoded_block(Rle(Flat(16), Flat(8)), d[0], 1500),
            lambda d=damaged, o=out: kernels.unpack(d[1], 16, 3, 1500, o.buffer),
            lambda d=damaged: decoded_block(InlineBitpacking(16), d[1], 700),
            lambda d=damaged, o=out, f=offsets: kernels.fsst_values(
                d[3], 32, 50, stored, d[2], 0, f.buffer, 32, o.buffer
            ),
        ):
            with suppress(ValueError):
                call()
            out.array()
            offsets.array()


@pytest.mark.parametrize("count", [-1, 2**48 + 1, 2**62, 2**63, 2**64, 2**200])
def test_impossible_counts_are_refused(count: int) -> None:
    out = bytearray(64)
    for call in (
        lambda: kernels.unpack(b"", 64, 1, count, out),
        lambda: kernels.gather_fixed(b"", 8, 1, b"", 1, count, out),
        lambda: kernels.gather_fixed(b"", 8, count, b"", 1, 8, out),
        lambda: kernels.narrow_decimal(b"", count, out),
        lambda: kernels.contains(b"", 32, count, b"", b"x", out),
        lambda: kernels.mask_to_ranges(b"", count, 1),
    ):
        with pytest.raises(ValueError, match=r"2\*\*48|needs"):
            call()


@pytest.mark.parametrize("count", [2**47, 2**48])
def test_large_counts_need_large_buffers(count: int) -> None:
    out = bytearray(64)
    for call in (
        lambda: kernels.unpack(b"", 64, 1, count, out),
        lambda: kernels.gather_fixed(b"", 8, count, b"", 1, count, out),
        lambda: kernels.gather_fixed(bytes(8), 8, 1, b"", count, count, out),
        lambda: kernels.narrow_decimal(b"", count, out),
        lambda: kernels.contains(b"", 32, count, b"", b"x", out),
    ):
        with pytest.raises(ValueError, match=r"needs|too many"):
            call()


def test_values_that_are_chosen_to_share_a_hash_are_given_up_on() -> None:
    # the hash of eight bytes, undone
    modulus, primes = 2**64, (0x9E3779B97F4A7C15, 0xD6E8FEB86659FD93)
    factors = [pow(prime, -1, modulus) for prime in primes]
    values = []
    for number in range(50_000):
        mixed = number << 24
        mixed ^= mixed >> 29 ^ mixed >> 58
        mixed = mixed * factors[0] % modulus
        mixed ^= mixed >> 32
        values.append((mixed ^ 8) * factors[1] % modulus ^ primes[0])
    data = np.array(values, np.uint64)
    indices, firsts = np.empty(len(data), np.uint32), np.empty(len(data), np.int64)
    started = time.process_time()
    assert kernels.number_fixed(data, 8, len(data), indices, firsts) == -1
    assert kernels.number_fixed(data[:1000], 8, 1000, indices, firsts) == 1000
    assert time.process_time() - started < 1
