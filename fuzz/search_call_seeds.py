"""Valid calls of kernels of search, which mutations start from."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np
import numpy.typing as npt

from fuzz.inputs import Value, Values
from lance_sql import _kernels as kernels

_DIMENSION: Final = 8
_NUM_ROWS: Final = 70
_TEXTS: Final = ("quick fox", "", "the lazy dog, the fox", "größe\u00a0xyz", "a", "word " * 9)


def calls() -> Iterator[Values]:
    """Calls by argument, as `fuzz.search_calls` takes them."""
    yield from _distances()
    yield from _codes()
    yield from _rotated()
    yield from _postings()
    yield from _scores()
    yield from _clusters()
    yield from _words()


def _call(kernel: str, **arguments: Value) -> Values:
    return {"kernel": kernel, **{name.replace("__", "."): value for name, value in arguments.items()}}


def _numbers(values: npt.ArrayLike, dtype: str = "<i8") -> bytes:
    return np.asarray(values).astype(dtype).tobytes()


def _random(shape: tuple[int, ...], dtype: str = "<f4") -> bytes:
    values = np.random.default_rng(len(shape)).normal(size=shape) * (60 if dtype == "u1" else 1)
    return values.astype(np.int64).astype("u1").tobytes() if dtype == "u1" else values.astype(dtype).tobytes()


def _distances() -> Iterator[Values]:
    rows = _numbers(np.arange(_NUM_ROWS) * 3)
    validity = np.packbits(np.arange(_NUM_ROWS + 8) % 5 > 0, bitorder="little").tobytes()
    for bits, dtype in ((16, "<f2"), (32, "<f4"), (64, "<f8"), (8, "u1")):
        # queries of 16 bits are compared as those of 32
        asked = "<f4" if bits == 16 else dtype
        for metric in (3,) if bits == 8 else (0, 1, 2):
            for k in (0, 1, 9):
                yield _call(
                    "NearestRows.add_vectors",
                    make__num_queries=2,
                    make__k=k,
                    make__is_bounded=k == 1,
                    metric=metric,
                    value_bits=bits,
                    dimension=_DIMENSION,
                    queries=_random((2, _DIMENSION), asked),
                    values=_random((_NUM_ROWS, _DIMENSION), dtype),
                    validity=validity if k else None,
                    first_bit=3 if k else 0,
                    rows=rows,
                    num_rows=_NUM_ROWS,
                )
            yield _call(
                "NearestRows.add_multivectors",
                make__num_queries=1,
                make__k=5,
                make__is_bounded=False,
                metric=metric,
                value_bits=bits,
                dimension=_DIMENSION,
                num_vectors=3,
                queries=_random((3, _DIMENSION), asked),
                values=_random((_NUM_ROWS, _DIMENSION), dtype),
                offsets=_numbers([0, 3, 3, 20, _NUM_ROWS]),
                rows=rows[:32],
                num_rows=4,
            )
            yield _call(
                "vector_distances",
                metric=metric,
                value_bits=bits,
                dimension=_DIMENSION,
                query=_random((_DIMENSION,), asked),
                values=_random((_NUM_ROWS, _DIMENSION), dtype),
                num_rows=_NUM_ROWS,
                out=4 * _NUM_ROWS,
            )
    yield _call(
        "NearestRows.add_distances",
        make__num_queries=2,
        make__k=4,
        make__is_bounded=True,
        query=1,
        distances=_random((_NUM_ROWS,)),
        allowed=_numbers(np.arange(_NUM_ROWS) % 3 > 0, "u1"),
        rows=rows,
        num_rows=_NUM_ROWS,
    )


def _codes() -> Iterator[Values]:
    numbers = np.where(np.arange(_NUM_ROWS) % 7, np.arange(_NUM_ROWS), -1)
    for bits, parts in ((8, 4), (4, 4), (8, 1), (4, 8), (8, 8)):
        size = _DIMENSION // parts
        book = _random((parts, 1 << bits, size))
        for columns in (False, True):
            yield _call(
                "CodedPartitions.show",
                make__items=book,
                make__num_parts=parts,
                make__num_bits=bits,
                make__size=size,
                make__of_products=not columns,
                make__columns=columns,
                asked=_random((_DIMENSION,)),
                codes=_random((_NUM_ROWS, parts * bits // 8), "u1"),
                rows=_numbers(numbers),
                num_rows=_NUM_ROWS,
                query=0,
                allowed=_numbers(np.arange(_NUM_ROWS) % 3 > 0, "u1"),
            )
        yield _call(
            "product_codes",
            rows=_random((_NUM_ROWS, _DIMENSION)),
            num_rows=_NUM_ROWS,
            dimension=_DIMENSION,
            codebook=book,
            num_parts=parts,
            num_bits=bits,
            out=_NUM_ROWS * parts * bits // 8,
        )


def _rotated() -> Iterator[Values]:
    for dimension in (8, 24, 72):
        yield _call(
            "rotate",
            rows=_random((_NUM_ROWS, dimension)),
            num_rows=_NUM_ROWS,
            dimension=dimension,
            signs=_random((4, dimension // 8), "u1"),
            out=4 * _NUM_ROWS * dimension,
        )
        for bits in range(1, 10):
            extra = -(-dimension // 64) * 8 * (bits - 1) + 8 if bits > 1 else 0
            yield _call(
                "rotated_bits",
                rows=_random((_NUM_ROWS, dimension)),
                num_rows=_NUM_ROWS,
                dimension=dimension,
                numbers=_numbers(np.arange(_NUM_ROWS) % 3, "<u4"),
                centroids=_random((3, dimension)),
                num_centroids=3,
                num_bits=bits,
                of_products=bits % 2 == 0,
                out=_NUM_ROWS * (dimension // 8 + 12 + extra),
            )


def _postings() -> Iterator[Values]:
    """Lists as they are built here, of blocks of 128; those of 256 documents, and with tails of 32 bits, by hand."""
    for count in (5, 128, 300):
        lists = kernels.PostingLists(False, False)
        tokens = _numbers(np.zeros(count), "<u4")
        lists.add(tokens, _numbers(np.arange(1, count + 1)), count, _numbers([0], "<u4"), bytearray(count))
        (data, item_ends, _), *_ = lists.encode(_numbers([0], "<u4"))
        yield _list(bytes(data), bytes(item_ends), count, block_size=128, is_varint=True)
        documents, often = np.arange(0, 3 * count, 3), np.ones(count)
        whole = count // 128
        fixed = (
            _numbers([1.5], "<f4") + _numbers(documents[128 * whole :], "<u4") + _numbers(often[128 * whole :], "<u4")
        )
        if whole == 0:
            yield _list(fixed, _numbers([0, len(fixed)]), count, block_size=128, is_varint=False)
    # documents 0, 1, 2, ..., which differ by 1 bit, and frequencies of 2 bits, of which one has higher ones
    lane = b"\xff\xff\xff\xff"
    block = _numbers([0], "<u4") + b"\1" + lane * 8 + b"\2" + b"\1" + lane * 16 + b"\7" + b"\x85\x01"
    tail = bytes([1] * 44 + [2] * 44)
    tail = b"\xc4\x03" + tail[1:]
    yield _list(block + tail, _numbers([0, len(block), len(block) + len(tail)]), 300, block_size=256, is_varint=True)


def _list(blocks: bytes, offsets: bytes, count: int, *, block_size: int, is_varint: bool) -> Values:
    return _call(
        "decode_postings",
        blocks=blocks,
        offsets=offsets,
        num_documents=count,
        block_size=block_size,
        is_varint=is_varint,
        most_documents=1000,
        out_documents=4 * count,
        out_frequencies=4 * count,
    )


def _scores() -> Iterator[Values]:
    count = 1300
    windows = -(-count // 512)
    norms = np.linspace(0.3, 4, count)
    for step in (1, 7, 400):
        documents = np.arange(0, count, step)
        often = _numbers(1 + documents % 5, "<u4")
        sizes = (len(documents), windows + 1, windows)
        ratios, starts, greatest = (bytearray(4 * size) for size in sizes)
        given: Values = {
            "documents": _numbers(documents, "<u4"),
            "frequencies": often,
            "count": len(documents),
            "norms": _numbers(norms, "<f4"),
            "num_documents": count,
        }
        kernels.prepare_word_list(**given, ratios=ratios, starts=starts, greatest=greatest)  # type: ignore[arg-type]  # as the kernel says
        outputs = dict(zip(("out_ratios", "out_starts", "out_greatest"), (4 * size for size in sizes), strict=True))
        yield _call("prepare_word_list", **given, **outputs)
        for needed, k in ((1, 0), (1, 5), (2, 40)):
            yield _call(
                "QueriedWords.show",
                make__documents=_numbers(documents, "<u4"),
                make__ratios=bytes(ratios),
                make__starts=bytes(starts),
                make__greatest=bytes(greatest),
                make__times=1 + k % 2,
                rows=_numbers(np.where(np.arange(count) % 9, np.arange(count), -1)),
                num_documents=count,
                allowed=_numbers(np.arange(count) % 4 > 0, "u1"),
                needed=needed,
                k=k,
            )


def _clusters() -> Iterator[Values]:
    for num_centroids in (1, 5, 40):
        how: Values = {"rows": _random((_NUM_ROWS, _DIMENSION + 2)), "num_rows": _NUM_ROWS, "stride": _DIMENSION + 2}
        centroids = _random((num_centroids, _DIMENSION))
        for out_distances in (4 * _NUM_ROWS, None):
            yield _call(
                "nearest_centroids",
                **how,
                first=2,
                centroids=centroids,
                num_centroids=num_centroids,
                dimension=_DIMENSION,
                out_numbers=4 * _NUM_ROWS,
                out_distances=out_distances,
            )
        yield _call(
            "sum_by_centroid",
            **how,
            first=1,
            dimension=_DIMENSION,
            numbers=_numbers(np.arange(_NUM_ROWS) % num_centroids, "<u4"),
            num_centroids=num_centroids,
            out_sums=8 * num_centroids * _DIMENSION,
            out_counts=8 * num_centroids,
        )


def _words() -> Iterator[Values]:
    texts = [text.encode() for text in _TEXTS] + [b"cut \xc3", b"\xff\xfe no text"]
    offsets = _numbers(np.cumsum([0, *map(len, texts)]))
    letters = _numbers([ord("a"), ord("z"), ord("ß"), ord("ß"), ord("ö"), ord("ö")], "<u4")
    ngrams = ((3, 1, 4, False), (3, 2, 3, True))
    for splitting, least, most, prefix_only in (*((number, 3, 3, False) for number in range(3)), *ngrams):
        yield _call(
            "WordDictionary.add",
            make__splitting=splitting,
            make__least=least,
            make__most=most,
            make__prefix_only=prefix_only,
            make__word_characters=letters,
            text=b"".join(texts),
            offsets=offsets,
            num_texts=len(texts),
        )
    tokens = np.arange(300) * 7 % 11
    for has_positions, has_no_order in ((False, False), (True, False), (True, True)):
        yield _call(
            "PostingLists.add",
            make__has_positions=has_positions,
            make__has_no_order=has_no_order,
            tokens=_numbers(tokens, "<u4"),
            ends=_numbers(np.minimum(np.arange(3, 303), 300)),
            num_texts=300,
            words=_numbers([0, 1, 2, 2, 3, 4, 5, 0xFFFFFFFF, 6, 7, 8], "<u4"),
            out_is_document=300,
            order=_numbers([3, 1, 2, 0, 4, 5, 6, 7, 8], "<u4"),
        )
    for distinct in (
        sorted({f"{i * 37 % 101}-{i}".encode() for i in range(90)}),
        [b"", bytes(range(256)), b"a", b"ab", b"b\xff"],
    ):
        ends = _numbers(np.cumsum([0, *map(len, distinct)]))
        yield _call("token_set", words=b"".join(distinct), ends=ends, num_words=len(distinct))
