"""The kernels that build and score indices, against NumPy and plain Python."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from lance_sql import _kernels
from lance_sql.format.index_files.clustering import cluster, greatest_products, moved_by_products, nearest
from lance_sql.format.index_files.token_fst import TokenFst
from lance_sql.values.arrays import F32


@pytest.mark.parametrize("dimension", [1, 3, 8, 33, 128])
@pytest.mark.parametrize("count", [1, 2, 31, 32, 33, 200])
def test_nearest_centroids(dimension: int, count: int) -> None:
    rng = np.random.default_rng([dimension, count])
    rows = rng.normal(size=(301, dimension + 5)).astype(np.float32)
    centroids = rng.normal(size=(count, dimension)).astype(np.float32)
    numbers, far = np.empty(len(rows), np.uint32), np.empty(len(rows), np.float32)
    _kernels.nearest_centroids(rows, len(rows), rows.shape[1], 3, centroids, count, dimension, numbers, far)
    every = np.square(rows[:, None, 3 : 3 + dimension].astype(np.float64) - centroids[None]).sum(axis=2)
    np.testing.assert_allclose(far, every.min(axis=1), rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(every[np.arange(len(rows)), numbers], every.min(axis=1), rtol=1e-3, atol=1e-3)
    sums, counts = np.zeros((count, dimension)), np.zeros(count, np.int64)
    _kernels.sum_by_centroid(rows, len(rows), rows.shape[1], 3, dimension, numbers, count, sums, counts)
    for number in range(count):
        chosen = rows[numbers == number, 3 : 3 + dimension]
        assert counts[number] == len(chosen)
        np.testing.assert_allclose(sums[number], chosen.sum(axis=0, dtype=np.float64), rtol=1e-9, atol=1e-9)


def test_centroids_by_products() -> None:
    rng = np.random.default_rng(6)
    centers = rng.normal(size=(40, 16)) * 2
    rows = (centers[rng.integers(0, 40, 4000)] + rng.normal(size=(4000, 16))).astype(np.float32)
    centroids = (rng.normal(size=(33, 16)) * rng.uniform(0, 3, 33)[:, None]).astype(np.float32)
    chosen, products = greatest_products(rows, centroids), rows @ centroids.T
    np.testing.assert_allclose(products[np.arange(4000), chosen], products.max(axis=1), rtol=1e-4, atol=1e-4)
    first = cluster(rows, 12, rng)
    moved = moved_by_products(rows, first)
    # of the rows with the greatest products, more are in the partitions that are searched first
    queries = (centers[rng.integers(0, 40, 300)] + rng.normal(size=(300, 16))).astype(np.float32)
    best = np.argpartition(-(queries @ rows.T), 10, axis=1)[:, :10]

    def found(centroids: F32, partitions: npt.NDArray[np.uint32]) -> float:
        searched = np.argpartition(-(queries @ centroids.T), 2, axis=1)[:, :2]
        return float(
            np.mean([np.isin(partitions[rows], some).mean() for rows, some in zip(best, searched, strict=True)])
        )

    assert found(moved, greatest_products(rows, moved)) > found(first, nearest(rows, first)) + 0.01


@pytest.mark.parametrize("bits", [4, 8])
def test_product_codes_and_their_distances(bits: int) -> None:
    rng = np.random.default_rng(bits)
    parts, size = 6, 4
    book = rng.normal(size=(parts, 1 << bits, size)).astype(np.float32)
    rows = rng.normal(size=(700, parts * size)).astype(np.float32)
    codes = np.empty((len(rows), parts * bits // 8), np.uint8)
    _kernels.product_codes(rows, len(rows), parts * size, book, parts, bits, codes)
    split = rows.reshape(len(rows), parts, 1, size)
    wanted = np.square(split - book[None]).sum(axis=3).argmin(axis=2)
    halves = np.stack((codes & 15, codes >> 4), axis=2).reshape(len(rows), -1) if bits == 4 else codes
    assert (halves == wanted).mean() > 0.999
    query = rng.normal(size=parts * size).astype(np.float32)
    items = np.take_along_axis(book[None], halves[:, :, None, None].astype(np.int64), axis=2)[:, :, 0]
    far = np.square(items - query.reshape(parts, size)).sum(axis=(1, 2))
    numbers = rng.permutation(len(rows)).astype(np.int64)
    numbers[::7] = -1
    allowed = (rng.random(len(rows)) < 0.5).astype(np.uint8)
    for columns in (False, True):
        nearest = _kernels.NearestRows(1, 20, float("-inf"), float("inf"))
        partitions = _kernels.CodedPartitions(book, parts, bits, size, False, columns)
        for start in range(0, len(rows), 250):
            part = codes[start : start + 250]
            given = np.ascontiguousarray(part.T) if columns else part
            partitions.add(query, given, numbers[start : start + 250], len(part))
        shown = partitions.show(nearest, 0, allowed)
        takes_part = (numbers >= 0) & (allowed[numbers] == 1)
        assert shown == takes_part.sum()
        found, distances = np.empty(20, np.uint64), np.empty(20, np.float32)
        nearest.result(0, found, distances)
        order = np.argsort(np.where(takes_part, far, np.inf))[:20]
        assert set(found.tolist()) == set(numbers[order].tolist())
        np.testing.assert_allclose(distances, np.sort(far[takes_part])[:20], rtol=1e-5)


def test_partitions_that_threads_share() -> None:
    """Many codes, which several threads compare: the rows and distances of one partition after the other."""
    rng = np.random.default_rng(3)
    book = rng.normal(size=(8, 256, 2)).astype(np.float32)
    every = []
    together = _kernels.CodedPartitions(book, 8, 8, 2, True, True)
    for number in range(40):
        asked = rng.normal(size=16).astype(np.float32)
        codes = rng.integers(0, 256, (8, 2_000), np.uint8)
        rows = np.arange(2_000 * number, 2_000 * (number + 1))
        together.add(asked, codes, rows, 2_000)
        every.append((asked, codes, rows))
    allowed = (rng.random(80_000) < 0.9).astype(np.uint8)
    answers = []
    for is_together in (True, False):
        nearest = _kernels.NearestRows(1, 3_000, float("-inf"), float("inf"))
        if is_together:
            shown = together.show(nearest, 0, allowed)
        else:
            shown = 0
            for asked, codes, rows in every:
                alone = _kernels.CodedPartitions(book, 8, 8, 2, True, True)
                alone.add(asked, codes, rows, 2_000)
                shown += alone.show(nearest, 0, allowed)
        found, distances = np.empty(3_000, np.uint64), np.empty(3_000, np.float32)
        nearest.result(0, found, distances)
        answers.append((shown, found.tolist(), distances.tolist()))
    assert answers[0] == answers[1]
    together.add(every[0][0], every[0][1][:, :100].copy(), every[0][2], 2_000)
    with pytest.raises(_kernels.InvalidDataError, match="codes"):
        together.show(_kernels.NearestRows(1, 10, float("-inf"), float("inf")), 0, allowed)


@pytest.mark.parametrize("needed", [1, 2, 4])
@pytest.mark.parametrize("k", [0, 1, 10, 300])
def test_best_documents(needed: int, k: int) -> None:
    rng = np.random.default_rng([needed, k])
    for _ in range(40):
        count = int(rng.integers(1, 6000))
        norms = rng.uniform(0.3, 4, count).astype(np.float32)
        rows = rng.permutation(2 * count)[:count].astype(np.int64)
        rows[rng.random(count) < 0.1] = -1
        allowed = (rng.random(2 * count) < rng.choice([0.01, 0.5, 1])).astype(np.uint8)
        words = _kernels.QueriedWords()
        scores, having = np.zeros(count, np.float32), np.zeros(count, np.int64)
        for _ in range(4):
            documents = np.flatnonzero(rng.random(count) < rng.choice([0.003, 0.1, 0.9])).astype(np.uint32)
            often = rng.zipf(2, len(documents)).astype(np.uint32)
            windows = -(-count // 512)
            ratios, starts = np.empty(len(documents), np.float32), np.empty(windows + 1, np.uint32)
            greatest = np.empty(windows, np.float32)
            _kernels.prepare_word_list(documents, often, len(documents), norms, count, ratios, starts, greatest)
            frequency = often.astype(np.float32)
            wanted = np.float32(2.2) * frequency / (frequency + norms[documents])
            np.testing.assert_allclose(ratios, wanted, rtol=1e-6)
            factor, times = float(np.float32(rng.uniform(0.1, 8))), int(rng.integers(1, 3))
            words.add(documents, ratios, starts, greatest, factor, times)
            for _ in range(times):
                scores[documents] += np.float32(factor) * ratios
            having[documents] += 1
        nearest = _kernels.NearestRows(1, k, float("-inf"), float("inf"))
        words.show(nearest, rows, count, allowed, needed, k)
        takes_part = (having >= needed) & (rows >= 0) & (allowed[rows] == 1)
        best = np.lexsort((rows, -scores))
        best = best[takes_part[best]][: k or None]
        found, far = np.empty(nearest.count(0), np.uint64), np.empty(nearest.count(0), np.float32)
        nearest.result(0, found, far)
        assert found.tolist() == rows[best].tolist()
        assert (-far).tolist() == scores[best].tolist()


def test_sets_of_words() -> None:
    rng = np.random.default_rng(3)
    for alphabet in (b"ab", bytes(range(256)), b"abcdefghijklmnopqrstuvwxyz0123456789"):
        letters = np.frombuffer(alphabet, np.uint8)
        for count in (0, 1, 2, 50, 3000):
            words = sorted({rng.choice(letters, int(rng.integers(0, 9))).tobytes() for _ in range(count)})
            ends = np.concatenate(([0], np.cumsum([len(word) for word in words], dtype=np.int64))).astype(np.int64)
            found = TokenFst(_kernels.token_set(b"".join(words), ends, len(words)))
            assert list(found.words()) == [(word, number) for number, word in enumerate(words)]
            assert all(found.find(word) == number for number, word in enumerate(words))
            assert found.find(b"not there, for sure") is None
    with pytest.raises(ValueError, match="order"):
        _kernels.token_set(b"ba", np.array([0, 1, 1], np.int64), 2)
    with pytest.raises(ValueError, match="order"):
        _kernels.token_set(b"abaa", np.array([0, 2, 4], np.int64), 2)


def test_scores_that_are_no_numbers() -> None:
    """NaN scores of damaged lists: they are not found, and sorting is defined."""
    count = 600
    documents, starts = np.arange(count, dtype=np.uint32), np.array([0, 512, count], np.uint32)
    nan = np.full(count, np.nan, np.float32)
    words = _kernels.QueriedWords()
    for number in range(40):
        ratios, greatest = (nan, nan[:2]) if number % 3 else (np.ones(count, np.float32), np.ones(2, np.float32))
        words.add(documents, ratios, starts, greatest, 1.0, 1)
    nearest = _kernels.NearestRows(1, 5, float("-inf"), float("inf"))
    words.show(nearest, np.arange(count), count, np.ones(count, np.uint8), 1, 5)
    assert nearest.count(0) == 0


def test_words_that_do_not_fit() -> None:
    words = _kernels.WordDictionary(_kernels.Splitting.WORDS, 3, 3, False, np.array([97, 122], np.uint32))
    tokens, ends = words.add(b"ab cd\xffab", np.array([0, 8], np.int64), 1)
    assert np.frombuffer(tokens, np.uint32).tolist() == [0, 1, 0]
    assert np.frombuffer(ends, np.int64).tolist() == [3]
    assert words.words(0) == [b"ab", b"cd"]
    for offsets in ([0, 9], [-1, 3], [4, 2]):
        with pytest.raises(ValueError, match="text 0 at bytes"):
            words.add(b"ab cd\xffab", np.array(offsets, np.int64), 1)
    whole = _kernels.WordDictionary(_kernels.Splitting.WHOLE, 3, 3, False, b"")
    assert whole.add(b"", np.zeros(3, np.int64), 2)[0] == bytes(8)
    assert whole.words(0) == [b""]
    lists = _kernels.PostingLists(True, False)
    with pytest.raises(ValueError, match="word 7 of 2"):
        lists.add(np.array([7], np.uint32), np.array([1], np.int64), 1, np.array([0, 1], np.uint32), bytearray(1))
    with pytest.raises(ValueError, match="word 3 of 0"):
        lists.encode(np.array([3], np.uint32))
    with pytest.raises(ValueError, match="word 4000000000 as one of 2"):
        lists.add(np.array([0], np.uint32), np.array([1]), 1, np.array([4_000_000_000, 1], np.uint32), bytearray(1))
