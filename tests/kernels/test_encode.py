"""Kernels that write, compared with the format in plain NumPy."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from lance_sql import _kernels as kernels

from . import oracles
from .oracles import Array, Ints
from .pages import Chunk, Output, build, random_values, seeds, split

WORDS = [8, 16, 32, 64]


def uint(bits: int) -> np.dtype[np.unsignedinteger]:
    return np.dtype(f"<u{bits // 8}")


def starts_of(sizes: list[int]) -> Ints:
    return np.cumsum([0, *sizes])


groups = st.lists(st.integers(1, 1024), min_size=1, max_size=4)


@given(groups, st.sampled_from(WORDS), st.lists(st.integers(0, 64), min_size=4, max_size=4), seeds)
def test_groups_are_packed_as_wide_as_their_widest_value(
    sizes: list[int], word_bits: int, bits: list[int], seed: int
) -> None:
    parts = [
        random_values(seed + i, size, uint(word_bits), min(width, word_bits))
        for i, (size, width) in enumerate(zip(sizes, bits, strict=False))
    ]
    values, starts = np.concatenate(parts), starts_of(sizes)
    widths = Output(len(sizes))
    kernels.group_widths(values, word_bits, len(values), starts, widths.buffer)
    expected = [int(part.max()).bit_length() for part in parts]
    assert widths.array().tolist() == expected
    packed = b"".join(oracles.inline_group(part, width) for part, width in zip(parts, expected, strict=True))
    out = Output(len(packed))
    kernels.pack_inline(values, word_bits, len(values), starts, widths.array(), out.buffer)
    assert out.array().tobytes() == packed


@given(st.lists(st.integers(0, 3000), min_size=1, max_size=3), st.sampled_from(WORDS), st.integers(1, 16), seeds)
def test_blocks_are_packed_with_one_width(sizes: list[int], word_bits: int, num_bits: int, seed: int) -> None:
    num_bits = min(num_bits, word_bits)
    # a last group that is as long packed as plain is a plain one
    assume(all(size % 1024 * word_bits != 1024 * num_bits for size in sizes))
    parts = [random_values(seed + i, size, uint(word_bits), num_bits) for i, size in enumerate(sizes)]
    for raw_tail in (False, True):
        blocks = [oracles.pack_groups(part, num_bits, raw_tail=raw_tail) for part in parts]
        out_starts = starts_of([len(block) for block in blocks])
        out = Output(int(out_starts[-1]))
        kernels.pack(np.concatenate(parts), word_bits, num_bits, sum(sizes), starts_of(sizes), out_starts, out.buffer)
        assert out.array().tobytes() == b"".join(blocks)


runs = st.lists(st.tuples(st.integers(0, 3), st.integers(1, 700)), min_size=1, max_size=8)


@given(runs, st.sampled_from(WORDS), st.integers(1, 900))
def test_runs_end_with_their_chunk_and_at_255(pairs: list[tuple[int, int]], bits: int, chunk: int) -> None:
    values = np.repeat(*(np.array(part) for part in zip(*pairs, strict=True))).astype(uint(bits))
    sizes = [len(part) for part in np.split(values, range(chunk, len(values), chunk))]
    parts = split(values, sizes)
    starts = starts_of(sizes)
    counts = Output(8 * len(sizes))
    kernels.count_runs(values, bits, len(values), starts, counts.buffer)
    expected = [oracles.runs_of(part) for part in parts]
    num_runs = counts.array(np.int64)
    assert num_runs.tolist() == [len(lengths) for _, lengths in expected]
    assert kernels.count_changes(values, bits, len(values)) == np.count_nonzero(np.diff(values.astype(np.int64)))
    total = int(num_runs.sum())
    run_values, lengths = Output(total * bits // 8), Output(total)
    kernels.encode_runs(values, bits, len(values), starts, run_values.buffer, lengths.buffer)
    assert run_values.array().tobytes() == b"".join(v.tobytes() for v, _ in expected)
    assert lengths.array().tobytes() == b"".join(n.tobytes() for _, n in expected)
    blocks = b"".join(oracles.run_block(part) for part in parts)
    out = Output(len(blocks))
    kernels.encode_run_blocks(values, bits, len(values), starts, num_runs, out.buffer)
    assert out.array().tobytes() == blocks


@given(groups, st.sampled_from([2, 4, 8, 16]), seeds)
def test_bytes_are_transposed_chunk_by_chunk(sizes: list[int], width: int, seed: int) -> None:
    table = random_values(seed, sum(sizes) * width, np.uint8).reshape(-1, width)
    out = Output(table.size)
    kernels.split_bytes(table, width, len(table), starts_of(sizes), out.buffer)
    assert out.array().tobytes() == b"".join(part.T.tobytes() for part in split(table, sizes))


strings = st.lists(st.binary(max_size=12), min_size=1, max_size=60)


def arrow(values: list[bytes], bits: int) -> tuple[Array, bytes]:
    """Offsets that do not begin at 0, and bytes."""
    return np.cumsum([3, *map(len, values)]).astype(f"<i{bits // 8}"), b"..." + b"".join(values)


@given(strings, st.sampled_from([32, 64]), st.integers(1, 20))
def test_strings_become_chunks(values: list[bytes], bits: int, chunk: int) -> None:
    parts = [values[i : i + chunk] for i in range(0, len(values), chunk)]
    expected = [oracles.variable_chunk(part, bits) for part in parts]
    offsets, data = arrow(values, bits)
    out_starts = starts_of([len(part) for part in expected])
    out = Output(int(out_starts[-1]))
    starts = starts_of([len(part) for part in parts])
    kernels.variable_chunks(offsets, bits, len(values), data, starts, out_starts, out.buffer)
    written = out.array()
    for part, first, end, plain in zip(parts, out_starts, out_starts[1:], expected, strict=False):
        used = (len(part) + 1) * bits // 8 + sum(map(len, part))
        assert written[first:end].tobytes() == plain[:used] + bytes(len(plain) - used)
    assert kernels.longest_string(offsets, bits, len(values)) == max(map(len, values))


@given(st.data(), st.booleans(), st.booleans(), st.booleans(), st.integers(1, 3), seeds)
def test_chunks_are_put_together(
    data: st.DataObject, large: bool, has_rep: bool, has_def: bool, num_buffers: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    count = data.draw(st.integers(1, 5))
    chunks = [
        Chunk(
            2 if i + 1 < count else 5,
            [rng.bytes(int(rng.integers(40))) for _ in range(num_buffers)],
            rng.bytes(int(rng.integers(20))) if has_rep else None,
            rng.bytes(int(rng.integers(20))) if has_def else None,
            int(rng.integers(100)),
        )
        for i in range(count)
    ]

    def parts(pieces: list[bytes]) -> tuple[bytes, Ints]:
        return b"".join(pieces), starts_of([len(piece) for piece in pieces])

    page = build(chunks, large=large)
    out = Output(len(page.data))
    kernels.assemble_chunks(
        np.array(page.byte_offsets),
        np.array([chunk.num_levels for chunk in chunks], "<u2"),
        parts([chunk.rep or b"" for chunk in chunks]) if has_rep else None,
        parts([chunk.def_ or b"" for chunk in chunks]) if has_def else None,
        [parts([chunk.buffers[i] for chunk in chunks]) for i in range(num_buffers)],
        large,
        out.buffer,
    )
    # what chunks are filled up with is free
    written = pa.py_buffer(out.array().tobytes())
    is_used = np.frombuffer(build(chunks, large=large, filler=1).data, np.uint8) == np.frombuffer(page.data, np.uint8)
    assert (np.frombuffer(written, np.uint8)[is_used] == np.frombuffer(page.data, np.uint8)[is_used]).all()


@given(strings, st.sampled_from([32, 64]))
def test_distinct_strings_are_numbered_as_they_appear(values: list[bytes], bits: int) -> None:
    offsets, data = arrow(values, bits)
    firsts = list(dict.fromkeys(values))
    indices, places = Output(4 * len(values)), Output(8 * len(firsts))
    found = kernels.number_strings(offsets, bits, len(values), data, indices.buffer, places.buffer)
    assert found == len(firsts)
    assert indices.array("<u4").tolist() == [firsts.index(value) for value in values]
    assert [values[i] for i in places.array(np.int64)] == firsts
    fewer = np.empty(len(firsts) - 1, np.int64)
    assert kernels.number_strings(offsets, bits, len(values), data, indices.buffer, fewer) == -1
    assert kernels.sample_strings(offsets, bits, len(values), data, 1, len(values)) == len(firsts)


@given(st.lists(st.integers(0, 9), min_size=1, max_size=3000), st.sampled_from([8, 16]), st.integers(1, 2**60))
def test_distinct_numbers_are_numbered_as_they_appear(values: list[int], width: int, factor: int) -> None:
    table = np.zeros((len(values), width // 8), np.uint64)
    table[:, -1] = np.array(values, np.uint64) * np.uint64(factor)
    firsts = list(dict.fromkeys(values))
    indices, places = Output(4 * len(values)), Output(8 * len(firsts))
    assert kernels.number_fixed(table, width, len(values), indices.buffer, places.buffer) == len(firsts)
    assert indices.array("<u4").tolist() == [firsts.index(value) for value in values]
    assert kernels.sample_fixed(table, width, len(values), 1, len(values)) == len(firsts)


def test_many_distinct_values_are_told_apart() -> None:
    values = np.random.default_rng(0).permutation(200_000).astype(np.uint64) << np.uint64(30)
    indices, places = np.empty(len(values), np.uint32), np.empty(len(values), np.int64)
    assert kernels.number_fixed(values, 8, len(values), indices, places) == len(values)
    assert (indices == np.arange(len(values))).all()


words = st.sampled_from(
    [b"", b"a", b"http://www.", b"example", b"\xff\xff\xff\xff\xff\xff\xff\xff\xff", b"\x00\x00\x00"]
)


@given(st.lists(st.one_of(words, st.binary(max_size=30)), min_size=1, max_size=80), st.sampled_from([32, 64]))
def test_symbols_are_undone_by_the_decoder(values: list[bytes], bits: int) -> None:
    offsets, data = arrow(values, bits)
    table = Output(2312)
    kernels.fsst_train(offsets, bits, len(values), data, 1 << 14, table.buffer)
    symbols = table.array().tobytes()
    size = sum(map(len, values))
    codes, code_offsets = Output(2 * size), Output(offsets.nbytes)
    num_bytes = kernels.fsst_encode(offsets, bits, len(values), data, symbols, code_offsets.buffer, codes.buffer)
    encoded = code_offsets.array(offsets.dtype)
    assert encoded[0] == 0
    assert encoded[-1] == num_bytes
    back, back_offsets = bytearray(8 * num_bytes + 8), bytearray(offsets.nbytes)
    kernels.fsst_values(encoded, bits, len(values), codes.array(), symbols, 0, back_offsets, bits, back)
    bounds = np.frombuffer(back_offsets, offsets.dtype)
    assert [bytes(back[a:b]) for a, b in pairwise(bounds)] == values


def test_symbols_make_text_shorter() -> None:
    values = [f"https://www.example.com/item/{i}?from=home".encode() for i in range(2000)]
    offsets, data = arrow(values, 32)
    table = np.empty(2312, np.uint8)
    kernels.fsst_train(offsets, 32, len(values), data, 1 << 15, table)
    size = len(data)
    codes = bytearray(2 * size)
    num_bytes = kernels.fsst_encode(offsets, 32, len(values), data, table, bytearray(offsets.nbytes), codes)
    assert num_bytes < 0.25 * size


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3)), min_size=1, max_size=40), st.booleans(), seeds)
def test_entries_are_zipped(levels: list[tuple[int, int]], is_variable: bool, seed: int) -> None:
    rng = np.random.default_rng(seed)
    max_visible, bits = 1, (2, 2)
    expected, items, starts = b"", [], []
    for rep, level in levels:
        if rep == 2:
            starts.append(len(expected))
        value = None
        if level <= max_visible:
            items.append(rng.bytes(int(rng.integers(9)) if is_variable else 4))
            value = items[-1] if level == 0 or not is_variable else None
        expected += oracles.zip_entry(rep, level, bits, 4 if is_variable else 0, value)
    starts.append(len(expected))
    reps, defs = (np.array(part, "<u2") for part in zip(*levels, strict=True))
    out, rows = Output(len(expected)), Output(8 * len(starts))
    offsets, data = arrow(items, 32)
    size = kernels.zip(
        reps, defs, len(levels), *bits, 2, max_visible, 0 if is_variable else 4, 4 if is_variable else 0,
        offsets if is_variable else None, 32, data if is_variable else b"".join(items), out.buffer, rows.buffer,
    )  # fmt: skip
    assert size == len(expected)
    assert out.array().tobytes() == expected
    assert rows.array(np.int64).tolist() == starts


@given(st.lists(st.tuples(st.integers(0, 20), st.integers(0, 9)), max_size=8))
def test_ranges_are_scattered(ranges: list[tuple[int, int]]) -> None:
    data = bytes(range(30))
    starts, lengths = (np.array([r[i] for r in ranges], np.int64) for i in (0, 1))
    ends = np.cumsum(lengths)
    out = Output(int(lengths.sum()))
    kernels.scatter_ranges(data, starts, lengths, ends - lengths, out.buffer)
    assert out.array().tobytes() == b"".join(data[a : a + n] for a, n in ranges)


ONE = np.array([0, 1])


@pytest.mark.parametrize(
    "call",
    [
        lambda: kernels.group_widths(bytes(8), 64, 2, np.array([0, 2]), bytearray(1)),
        lambda: kernels.group_widths(bytes(8 * 1025), 64, 1025, np.array([0, 1025]), bytearray(1)),
        lambda: kernels.group_widths(bytes(8), 64, 1, np.array([0, 2]), bytearray(1)),
        lambda: kernels.group_widths(bytes(8), 64, 1, np.array([0, 1, 0, 1]), bytearray(8)),
        lambda: kernels.group_widths(bytes(8), 7, 1, ONE, bytearray(8)),
        lambda: kernels.pack_inline(bytes(8), 64, 1, ONE, b"\x08", bytearray(100)),
        lambda: kernels.pack_inline(bytes(8), 64, 1, ONE, b"\x41", bytearray(100_000)),
        lambda: kernels.pack(bytes(8), 64, 3, 1, ONE, np.array([0, 9]), bytearray(9)),
        lambda: kernels.pack(bytes(8), 64, 65, 1, ONE, np.array([0, 8]), bytearray(8)),
        lambda: kernels.pack(bytes(8), 64, 3, 1, ONE, np.array([0, 4, 8]), bytearray(8)),
        lambda: kernels.count_changes(bytes(7), 64, 1),
        lambda: kernels.count_changes(bytes(7), 3, 1),
        lambda: kernels.count_runs(bytes(8), 64, 1, ONE, bytearray(7)),
        lambda: kernels.encode_runs(bytes(8), 64, 1, ONE, bytearray(7), bytearray(1)),
        lambda: kernels.encode_runs(bytes(8), 0, 1, ONE, bytearray(7), bytearray(1)),
        lambda: kernels.encode_run_blocks(bytes(8), 64, 1, ONE, np.array([2]), bytearray(100)),
        lambda: kernels.encode_run_blocks(bytes(8), 64, 1, ONE, np.array([1]), bytearray(16)),
        lambda: kernels.split_bytes(bytes(8), 3, 1, ONE, bytearray(8)),
        lambda: kernels.split_bytes(bytes(7), 8, 1, ONE, bytearray(8)),
        lambda: kernels.split_bytes(bytes(8), 8, 1, ONE, bytearray(7)),
        lambda: kernels.variable_chunks(np.array([0, 5], "<i4"), 32, 1, bytes(4), ONE, 16 * ONE, bytearray(16)),
        lambda: kernels.variable_chunks(np.array([4, 0], "<i4"), 32, 1, bytes(4), ONE, np.array([0, 8]), bytearray(8)),
        lambda: kernels.variable_chunks(np.array([0, 4], "<i4"), 32, 1, bytes(4), ONE, np.array([0, 8]), bytearray(8)),
        lambda: kernels.longest_string(np.array([4, 0], "<i4"), 32, 1),
        lambda: kernels.longest_string(np.array([4], "<i4"), 32, 1),
        lambda: kernels.number_strings(np.array([0, 5], "<i4"), 32, 1, bytes(4), bytearray(4), bytearray(8)),
        lambda: kernels.number_strings(np.array([0, 4], "<i4"), 32, 1, bytes(4), bytearray(3), bytearray(8)),
        lambda: kernels.number_fixed(bytes(4), 4, 1, bytearray(4), bytearray(8)),
        lambda: kernels.sample_fixed(bytes(16), 8, 2, 2, 2),
        lambda: kernels.fsst_train(np.array([0, 5], "<i4"), 32, 1, bytes(4), 100, bytearray(2312)),
        lambda: kernels.fsst_train(np.array([0, 4], "<i4"), 32, 1, bytes(4), 100, bytearray(2311)),
        lambda: kernels.fsst_encode(
            np.array([0, 4], "<i4"), 32, 1, bytes(4), oracles.symbol_table([b"a"]), bytearray(8), bytearray(7)
        ),
        lambda: kernels.fsst_encode(
            np.array([0, 4], "<i4"), 32, 1, bytes(4), oracles.symbol_table([b""]), bytearray(8), bytearray(8)
        ),
        lambda: kernels.zip(None, None, 2, 0, 0, 0, 0, 4, 0, None, 32, bytes(4), bytearray(8), None),
        lambda: kernels.zip(None, None, 1, 0, 0, 0, 0, 4, 0, None, 32, bytes(4), bytearray(3), None),
        lambda: kernels.zip(bytes(1), None, 1, 1, 0, 1, 0, 4, 0, None, 32, bytes(4), bytearray(8), None),
        lambda: kernels.zip(b"\2\0", None, 1, 1, 0, 1, 0, 4, 0, None, 32, bytes(4), bytearray(8), None),
        lambda: kernels.zip(None, None, 1, 0, 0, 0, 0, 0, 4, None, 32, bytes(4), bytearray(8), None),
        lambda: kernels.scatter_ranges(bytes(4), np.array([1]), np.array([4]), np.array([0]), bytearray(8)),
        lambda: kernels.scatter_ranges(bytes(4), np.array([0]), np.array([4]), np.array([-1]), bytearray(8)),
        lambda: kernels.assemble_chunks(np.array([0, 8]), b"", None, None, [], True, bytearray(8)),
        lambda: kernels.assemble_chunks(np.array([0, 8]), bytes(2), None, None, [(b"x", ONE)], True, bytearray(8)),
        lambda: kernels.assemble_chunks(np.array([0, 8]), bytes(2), None, None, [(b"", ONE)], True, bytearray(16)),
    ],
)  # fmt: skip
def test_sizes_that_do_not_fit_are_refused(call) -> None:  # type: ignore[no-untyped-def]  # parameters of pytest
    with pytest.raises(ValueError, match=r"."):
        call()


@given(st.integers(1, 3000), st.sampled_from(WORDS), st.integers(0, 64), seeds)
def test_facts_of_numbers_are_those_of_numpy(count: int, word_bits: int, bits: int, seed: int) -> None:
    pages = [random_values(seed + i, count, uint(word_bits), min(bits, word_bits)) for i in range(2)]
    facts = kernels.number_facts(pages, word_bits, count)
    for values, (num_changes, packed_bytes) in zip(pages, facts.tolist(), strict=True):
        assert num_changes == np.count_nonzero(np.diff(values))
        groups = [int(values[at : at + 1024].max()).bit_length() for at in range(0, count, 1024)]
        assert packed_bytes == sum(word_bits // 8 + 128 * width for width in groups)
    if word_bits == 64:
        for num_tried in (1, count // 2, count):
            counts = kernels.distinct_numbers(pages, 8, count, num_tried)
            assert counts.tolist() == [len(set(values[:num_tried].tolist())) for values in pages]


def test_pages_of_numbers_that_cannot_be_are_refused() -> None:
    values = bytes(80)
    for bits, count in ((64, 11), (8, 81), (0, 10), (0, 2**48), (24, 3), (64, 0), (64, 2**48)):
        with pytest.raises(kernels.InvalidDataError):
            kernels.number_facts([values], bits, count)
        with pytest.raises(kernels.InvalidDataError):
            kernels.number_pages([values], bits, count, 10, True, True)
    for width, count, num_tried in ((8, 10, 11), (8, 11, 1), (4, 10, 1), (0, 2**48, 1)):
        with pytest.raises(kernels.InvalidDataError):
            kernels.distinct_numbers([values], width, count, num_tried)
    for log2_items in (0, 16, 48):
        with pytest.raises(kernels.InvalidDataError):
            kernels.number_pages([values], 64, 10, log2_items, False, True)
    for count, log2_items, is_packed in ((3000, 11, True), (5000, 12, False)):
        with pytest.raises(kernels.InvalidDataError):
            kernels.number_pages([bytes(8 * count)], 64, count, log2_items, is_packed, False)
