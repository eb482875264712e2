"""Valid calls of the kernels that write, which mutations start from."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from fuzz.inputs import Value, Values
from lance_sql import _kernels as kernels
from tests.kernels import oracles

_SIZES = (1024, 512, 130)
_COUNT = sum(_SIZES)
_WORDS = [b"abclongest!x"[: i % 12] * (i % 5) for i in range(200)]
_TABLE_BYTES = 2312
JSON_TEXTS = (
    b'{"b": [1, -2.5e3, 18446744073709551615], "a": {"c": null, "": true}}', b'"\\ud83d\\ude00 \xc3\xa9\\n"', b"-0",
    b" [ ] ", b"1e300", b"-9223372036854775808", b"[[[[{}]]]]", b"0.1e-40",
)  # fmt: skip
"""JSON of all kinds."""
_REFUSED_TEXTS = (b"1e400", b"123456789012345678901234567890", b"0.1e-400", b"")


def calls() -> Iterator[Values]:
    """Calls by argument, as `fuzz.calls` takes them."""
    yield from _of_fixed_width()
    yield from _of_strings()
    yield from _of_entries()
    yield from _of_pages()
    yield from _of_texts()
    yield from _zipped()


def _call(kernel: str, **arguments: Value) -> Values:
    return {"kernel": kernel, **arguments}


def _ints(values: npt.ArrayLike) -> bytes:
    return np.array(values, np.int64).tobytes()


def _starts(sizes: npt.ArrayLike) -> bytes:
    return _ints(np.cumsum([0, *np.asarray(sizes)]))


def _of_fixed_width() -> Iterator[Values]:
    starts = _starts(_SIZES)
    for bits in (8, 16, 32, 64):
        numbers = (np.arange(_COUNT) % 100 // 7).astype(f"<u{bits // 8}")
        values = numbers.tobytes()
        page: Values = {"values": values, "word_bits": bits, "num_values": _COUNT, "item_starts": starts}
        yield _call("group_widths", **page, out=3)
        yield _call("pack_inline", **page, widths=bytes([4, 4, 4]), out=3 * (bits // 8 + 512))
        blocks = [len(oracles.pack_groups(part, 4, raw_tail=True)) for part in np.split(numbers, [1024, 1536])]
        packed = {"values": values, "word_bits": bits, "num_bits": 4, "num_values": _COUNT, "item_starts": starts}
        yield _call("pack", **packed, out_starts=_starts(blocks), out=sum(blocks))
        page = {"values": values, "word_bits": bits, "num_values": _COUNT}
        yield _call("number_facts", **page)
        for log2_items, is_packed, large in ((10, True, True), (9, True, False), (11, False, True), (9, False, False)):
            yield _call("number_pages", **page, log2_items=log2_items, is_packed=is_packed, large=large)
        page = {"values": values, "value_bits": bits, "num_values": _COUNT}
        yield _call("count_changes", **page)
        yield _call("count_runs", **page, item_starts=starts, out=24)
        runs = [len(oracles.runs_of(part)[1]) for part in np.split(numbers, [1024, 1536])]
        room = {"out_values": sum(runs) * bits // 8, "out_lengths": sum(runs)}
        yield _call("encode_runs", **page, item_starts=starts, **room)
        size = sum(8 + count * (bits // 8 + 1) for count in runs)
        yield _call("encode_run_blocks", **page, item_starts=starts, run_counts=_ints(runs), out=size)
    for width in (2, 4, 8, 16):
        values = bytes(range(256)) * 7 * width
        yield _call(
            "split_bytes", values=values, width=width, num_values=_COUNT, item_starts=starts, out=_COUNT * width
        )
    for width in (8, 16):
        values = (np.arange(_COUNT * width // 8) % 50).astype("<u8").tobytes()
        yield _call(
            "number_fixed", values=values, width=width, num_values=_COUNT, out_indices=4 * _COUNT, out_firsts=800
        )
        yield _call("sample_fixed", values=values, width=width, num_values=_COUNT, num_blocks=8, block_items=16)
        yield _call("distinct_numbers", values=values, width=width, num_values=_COUNT, num_tried=64)
    for bits in (1, 3):
        sizes = [(size * bits + 7) // 8 for size in (5, 700, 3)]
        page = {"bits": bytes(range(256)) * 2, "bits_per_value": bits, "num_values": 708}
        yield _call("align_bits", **page, item_starts=_starts([5, 700, 3]), out_starts=_starts(sizes), out=sum(sizes))


def _of_strings() -> Iterator[Values]:
    for bits in (32, 64):
        offsets = np.cumsum([5, *map(len, _WORDS)]).astype(f"<i{bits // 8}")
        data, count = bytes(5) + b"".join(_WORDS), len(_WORDS)
        strings: Values = {"offsets": offsets.tobytes(), "offset_bits": bits, "num_values": count}
        yield _call("longest_string", **strings)
        yield _call("check_offsets", **strings, num_items=int(offsets[-1]))
        strings["data"] = data
        sizes = [len(oracles.variable_chunk(_WORDS[i : i + 64], bits)) for i in range(0, count, 64)]
        places = {"item_starts": _starts([64, 64, 64, 8]), "out_starts": _starts(sizes)}
        yield _call("variable_chunks", **strings, **places, out=sum(sizes))
        yield _call("number_strings", **strings, out_indices=4 * count, out_firsts=8 * count)
        yield _call("sample_strings", **strings, num_blocks=8, block_items=16)
        yield _call("fsst_train", **strings, sample_bytes=1000, out=_TABLE_BYTES)
        table = bytearray(_TABLE_BYTES)
        kernels.fsst_train(offsets, bits, count, data, 1000, table)
        room = {"out_offsets": offsets.nbytes, "out": 2 * len(data)}
        yield _call("fsst_encode", **strings, symbol_table=bytes(table), **room)


def _of_entries() -> Iterator[Values]:
    rep, defs = (np.array(part, "<u2").tobytes() for part in ([2, 0, 1, 2, 2] * 20, [0, 1, 2, 3, 0] * 20))
    levels: Values = {"rep": rep, "def_": defs, "num_entries": 100, "bits_rep": 2, "bits_def": 2}
    levels |= {"max_rep": 2, "max_visible": 1}
    offsets = np.cumsum([0, *map(len, _WORDS)]).astype("<i4").tobytes()
    fixed: Values = {"value_bytes": 4, "length_bytes": 0, "offsets": None, "offset_bits": 32, "values": bytes(240)}
    strings: Values = {"value_bytes": 0, "length_bytes": 4, "offsets": offsets, "offset_bits": 32}
    yield _call("zip", **levels, **fixed, out=340, out_row_starts=488)
    yield _call("zip", **levels, **strings, values=b"".join(_WORDS), out=8000, out_row_starts=488)
    bounds = _starts([3, 0, 5])
    places = {"starts": bounds, "lengths": _ints([1, 2, 3, 4]), "out_starts": _ints([6, 4, 1, 0])}
    yield _call("scatter_ranges", data=bytes(range(20)), **places, out=10)


def _of_pages() -> Iterator[Values]:
    """The chunks of a page from two or three parts of each."""
    sizes = [[20, 0, 33], [100, 7, 8], [1, 2, 3]]
    for large in (False, True):
        for names in (("values.0", "values.1"), ("rep", "def", "values.0")):
            parts: Values = {"rep.data": None, "rep.offsets": None, "def.data": None, "def.offsets": None}
            head = 2 + sum(4 if large and name.startswith("values") else 2 for name in names)
            chunks = np.full(3, (head + 7) // 8 * 8)
            for name, lengths in zip(names, sizes, strict=False):
                parts[f"{name}.data"] = bytes(range(sum(lengths)))
                parts[f"{name}.offsets"] = _starts(lengths)
                chunks += (np.array(lengths) + 7) // 8 * 8
            head_of_call: Values = {"chunk_starts": _starts(chunks), "num_levels": bytes([5, 0, 0, 0, 9, 0])}
            yield _call("assemble_chunks", **head_of_call, **parts, large=large, out=int(chunks.sum()))


def _of_texts() -> Iterator[Values]:
    """JSON of all kinds, the last one skipped."""
    all_texts = (*JSON_TEXTS, *_REFUSED_TEXTS)
    num_bytes = sum(map(len, all_texts))
    for texts in (all_texts, *((text, b"") for text in all_texts[:-1])):
        valid = bytes([1] * (len(texts) - 1) + [0])
        room = {"out_offsets": 8 * (len(texts) + 1), "out": 4 * num_bytes + 24 * len(texts)}
        offsets = _starts([len(text) for text in texts])
        yield _call("jsonb_from_text", offsets=offsets, data=b"".join(texts), valid=valid, **room)


def _zipped() -> Iterator[Values]:
    """Entries with control words of every width."""
    rep = (np.arange(120) % 3 == 0).astype("<u2")
    missing = (np.arange(120) % 6 == 1).astype("<u2")
    texts = _WORDS[:120]
    for bits_rep, bits_def in ((0, 0), (0, 1), (1, 2), (5, 6), (9, 11)):
        for length_bytes in (4, 8, 0):
            values = texts if length_bytes else [b"12345"] * len(texts)
            width = length_bytes or 4
            yield _call(
                "zip",
                rep=rep.tobytes() if bits_rep else None,
                def_=missing.tobytes() if bits_def else None,
                num_entries=120,
                bits_rep=bits_rep,
                bits_def=bits_def,
                max_rep=int(bits_rep > 0),
                max_visible=1,
                value_bytes=0 if length_bytes else 5,
                length_bytes=length_bytes,
                offsets=np.cumsum([0, *map(len, values)]).astype(f"<u{width}").tobytes() if length_bytes else None,
                offset_bits=8 * width,
                values=b"".join(values),
                out=sum(map(len, values)) + 120 * (4 + length_bytes),
                out_row_starts=8 * ((int(rep.sum()) if bits_rep else 120) + 1),
            )
