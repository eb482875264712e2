"""Random damage: kernels refuse with ValueError or decode something, and never write behind their output."""

import time
from collections.abc import Callable
from contextlib import suppress

import numpy as np
import pytest

from lance_sql import _kernels as kernels

from . import oracles
from .pages import Chunk, Output, Page, build, random_values
from .test_fsst import SYMBOLS, texts

FLAT16, *_, RLE = kernels.LevelCodec
REPETITION, DEFINITION = kernels.LevelKind

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

Run = Callable[[kernels.Chunks, oracles.Ints, memoryview, memoryview], object]
RUNS: list[tuple[str, Run]] = [
    ("plain", lambda c, r, out, _: kernels.flat(c, r, 0, 32, out)),
    ("plain", lambda c, r, out, _: kernels.flat(c, r, 0, 3, out)),
    ("plain", lambda c, r, out, _: kernels.byte_stream_split(c, r, 4, out)),
    ("packed", lambda c, r, out, _: kernels.inline_bitpacking(c, r, 32, out)),
    ("runs", lambda c, r, out, _: kernels.rle(c, r, 32, out)),
    ("variable", lambda c, r, out, offsets: kernels.variable_offsets(c, r, 32, offsets, 32)),
    ("variable", lambda c, r, out, _: kernels.variable_bytes(c, r, 32, out)),
    ("fsst", lambda c, r, out, offsets: kernels.fsst(c, r, 32, TABLE, 0, offsets, 32, out)),
    ("plain", lambda c, r, out, _: kernels.validity(c, r, RLE, 0, 1, out)),
    ("plain", lambda c, r, out, _: kernels.levels(c, 0, 3, REPETITION, FLAT16, 0, out)),
    ("plain", lambda c, r, out, _: kernels.levels(c, 0, 3, DEFINITION, RLE, 0, out)),
]


def damage(rng: np.random.Generator, data: bytes) -> bytes:
    """Some bytes changed, mostly to extremes and mostly where headers and offsets are; sometimes cut."""
    changed = bytearray(data)
    for _ in range(rng.integers(1, 4)):
        near = 64 if rng.integers(2) else len(changed)
        position = int(rng.integers(0, min(near, len(changed))))
        changed[position] = int(rng.choice([0, 1, 0x7F, 0x80, 0xFE, 0xFF, int(rng.integers(256))]))
    return bytes(changed[: rng.integers(0, len(changed) + 1)] if rng.integers(8) == 0 else changed)


@pytest.mark.parametrize("index", range(len(RUNS)))
def test_damaged_pages_are_refused_or_decoded(index: int) -> None:
    name, run = RUNS[index]
    page = PAGES[name]
    rng = np.random.default_rng(index)
    num_refused = 0
    for _ in range(ROUNDS):
        bounds = np.sort(rng.integers(0, NUM_ITEMS + 1, 6)) if rng.integers(2) else page.all_items()
        out, offsets = Output(int(rng.choice([0, 100, 1000, 40_000]))), Output(4 * (NUM_ITEMS + 1))
        try:
            table = kernels.ChunkTable(
                damage(rng, page.metadata) if rng.integers(4) == 0 else page.metadata,
                NUM_ITEMS,
                large=bool(rng.integers(8) == 0),
                num_bytes=len(page.data),
                has_rep=True,
                has_def=True,
                num_buffers=page.num_buffers,
            )
            run(kernels.Chunks(table, damage(rng, page.data)), bounds, out.buffer, offsets.buffer)
        except ValueError:
            num_refused += 1
        out.array()
        offsets.array()
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
            lambda d=damaged, o=out: kernels.rle_block(d[0], 16, 1500, o.buffer),
            lambda d=damaged, o=out: kernels.unpack(d[1], 16, 3, 1500, o.buffer),
            lambda d=damaged, o=out: kernels.unpack_block(d[1], 16, 700, o.buffer),
            lambda d=damaged, o=out, f=offsets: kernels.fsst_values(
                d[3], 32, 50, stored, d[2], 0, f.buffer, 32, o.buffer
            ),
            lambda d=damaged, o=out: kernels.unzip(
                d[0], 0, len(d[0]), 3, 4, 2, 0, 4, o.buffer, None, None, 32, o.buffer
            ),
            lambda d=damaged, o=out: kernels.unzip(
                d[1], 0, len(d[1]), 7, 4, 2, 3, 0, None, o.buffer, None, 32, o.buffer
            ),
            lambda d=damaged, o=out, f=offsets: kernels.list_layer(
                d[1], d[0], 50, 2, 3, 5, f.buffer, 32, o.buffer, bytearray(100), bytearray(100)
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
        lambda: kernels.rle_block(bytes(20), 64, count, out),
        lambda: kernels.gather_fixed(b"", 8, 1, b"", 1, count, out),
        lambda: kernels.gather_fixed(b"", 8, count, b"", 1, 8, out),
        lambda: kernels.narrow_decimal(b"", count, out),
        lambda: kernels.contains(b"", 32, count, b"", b"x", out),
        lambda: kernels.mask_to_ranges(b"", count, 1),
        lambda: kernels.unzip_fixed(b"", 0, np.array([0, 1]), 1, 0, count, out, None),
        lambda: kernels.unzip_scan(b"", count, 0, 0, 0, 0, 1, 0),
        lambda: kernels.item_layer(b"", count, 0, 0, out),
        lambda: kernels.select_rows(b"", None, count, 0, 0, 0, 1),
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
        lambda: kernels.unzip_fixed(b"", 0, np.array([0, count]), count, 0, count, out, None),
        lambda: kernels.narrow_decimal(b"", count, out),
        lambda: kernels.contains(b"", 32, count, b"", b"x", out),
        lambda: kernels.select_rows(b"", None, count, 0, 0, 0, 1),
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
