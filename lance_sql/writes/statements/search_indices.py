"""Segments of vector and full-text indices, built over fragments.

    a sample --> centroids and codes, once for an index --> all rows in threads --> files

A segment added to an index reuses the trained model of the index.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_sql.errors import CorruptFile, InvalidArgument, MissingDependency, UnsupportedFeature
from lance_sql.format.file.writer import WrittenFile
from lance_sql.format.index_files import write_full_text, write_vector
from lance_sql.format.index_files.clustering import num_threads
from lance_sql.format.index_files.full_text import FullTextIndex
from lance_sql.format.index_files.vector_index import VectorIndex
from lance_sql.format.index_files.vector_model import VectorModel, model_of, new_model
from lance_sql.format.index_files.write_full_text import FullTextBuilder, parameters_of
from lance_sql.format.index_files.write_vector import VectorBuilder
from lance_sql.format.schema import Field, arrow_field
from lance_sql.reads.scan.projection import resolve
from lance_sql.reads.scan.take import parts, take_at
from lance_sql.runtime import threads
from lance_sql.runtime.progress import Work
from lance_sql.table.fragment import Fragment
from lance_sql.table.indices import IndexSegment
from lance_sql.table.snapshot import Snapshot
from lance_sql.values import row_ranges
from lance_sql.values.arrays import U64

Rows = Iterator[tuple[pa.Array, U64]]

VECTOR_KINDS: Final[Mapping[str, str]] = {"ivf_flat": "FLAT", "ivf_pq": "PQ", "ivf_rq": "RQ", "ivf_sq": "SQ"}
TEXT_KIND: Final = "inverted"
KINDS: Final = (*VECTOR_KINDS, TEXT_KIND)

Recipe = VectorModel | Mapping[str, Any]
"""Parameters of an index: a model for vectors, the text analysis for words."""

_SEED: Final = 1


def recipe(kind: str, field: Field, num_rows: int, options: Mapping[str, Any]) -> Recipe:
    """Returns the recipe of a new index.

    raises: InvalidArgument for options; UnsupportedFeature for types that the kind does not support
    """
    type = arrow_field(field).type
    if kind == TEXT_KIND:
        write_full_text.check(type)
        return parameters_of(options)
    return new_model(VECTOR_KINDS[kind], type, num_rows, dict(options))


def recipe_of(snapshot: Snapshot, segments: Sequence[IndexSegment], type: pa.DataType) -> Recipe:
    """Returns the recipe of an existing index.

    type: of its column
    raises: UnsupportedFeature for indices that cannot be built; CorruptFile
    """
    opened = snapshot.open_indices.open(segments[0])
    if isinstance(opened, FullTextIndex):
        if any(each.index_version != write_full_text.FORMAT for each in segments):
            raise UnsupportedFeature(
                f"adding to full-text indices of format {segments[0].index_version} is not supported: build the index"
                " again"
            )
        write_full_text.check(type)
        return parameters_of({name: opened.parameters[name] for name in _given(opened.parameters)})
    assert isinstance(opened, VectorIndex)
    if not pa.types.is_fixed_size_list(type):
        raise UnsupportedFeature("building vector indices of several vectors per row is not supported")
    return model_of(opened, type.value_type)


def _given(parameters: Mapping[str, Any]) -> list[str]:
    """Returns the names of parameters that can be chosen. The others must have their defaults.

    raises: UnsupportedFeature
    """
    for name in write_full_text.FIXED:
        default = write_full_text.DEFAULTS[name]
        if parameters.get(name, default) != default:
            raise UnsupportedFeature(
                f"building full-text indices with {name}={str(parameters[name])[:40]!r} is not supported"
            )
    return [name for name in parameters if name in write_full_text.DEFAULTS and name not in write_full_text.FIXED]


def is_known(snapshot: Snapshot, segments: Sequence[IndexSegment], type: pa.DataType) -> bool:
    """Whether segments can be added to an index."""
    try:
        recipe_of(snapshot, segments, type)
    except (UnsupportedFeature, CorruptFile, InvalidArgument, MissingDependency):
        return False
    return True


def version(how: Recipe) -> int:
    """Returns the format version of an index."""
    return write_vector.version(how) if isinstance(how, VectorModel) else write_full_text.FORMAT


def details(how: Recipe) -> bytes:
    """Returns the index details for the manifest."""
    return write_vector.details(how) if isinstance(how, VectorModel) else write_full_text.details(how)


def write(
    snapshot: Snapshot,
    column: str,
    how: Recipe,
    fragments: Sequence[Fragment],
    rows: Callable[[], Rows],
    folder: str,
    file_version: str,
) -> tuple[WrittenFile, ...]:
    """Writes the files of a segment.

    rows: the values of live rows of the fragments, and their row ids
    raises: errors of the store; as reading
    """
    if not isinstance(how, VectorModel):
        texts = FullTextBuilder(how, snapshot.store, folder, file_version=file_version)
        for values, row_ids in rows():
            texts.add(values, row_ids)
        return texts.write()
    model = how if how.centroids is not None else _trained(snapshot, column, how, fragments)
    with VectorBuilder(model) as vectors:
        for partitions, row_ids, codes in _in_threads(model, rows()):
            vectors.add(partitions, row_ids, codes)
        return vectors.write(snapshot.store, folder, file_version=file_version)


def _in_threads(model: VectorModel, rows: Rows) -> Iterator[tuple[Any, U64, Any]]:
    def work(values: pa.Array, row_ids: U64) -> tuple[Any, U64, Any]:
        valid, prepared = model.prepared(values)
        partitions, codes = model.coded(prepared)
        return partitions, row_ids if valid.all() else row_ids[valid], codes

    most = num_threads() + 1
    with ThreadPoolExecutor(num_threads()) as pool:
        waiting: deque[Future[tuple[Any, U64, Any]]] = deque()
        for values, row_ids in rows:
            waiting.append(threads.submit(pool, partial(work, values, row_ids)))
            if len(waiting) > most:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def _trained(snapshot: Snapshot, column: str, model: VectorModel, fragments: Sequence[Fragment]) -> VectorModel:
    rng = np.random.default_rng(_SEED)
    sample = _sample(snapshot, column, model, fragments, rng)
    if not len(sample):
        shape = (1, model.dimension)
        sample = np.zeros(shape, np.uint8 if model.metric == "hamming" else np.float32)
    work = Work(model.num_rounds)
    return model.trained(sample, rng, lambda: work.advance(1))


def _sample(
    snapshot: Snapshot, column: str, model: VectorModel, fragments: Sequence[Fragment], rng: np.random.Generator
) -> npt.NDArray[Any]:
    """Returns some vectors of the live rows, in random order."""
    live = [(each.id, snapshot.open(each).live_rows()) for each in fragments]
    counts = np.array([row_ranges.count(rows) for _, rows in live], np.int64)
    total = int(counts.sum())
    count = min(total, model.num_samples)
    row_numbers = np.arange(total) if count == total else np.unique(rng.integers(0, total, count + count // 8))
    ends = np.cumsum(counts)
    addresses = []
    for (number, rows), end, size in zip(live, ends.tolist(), counts.tolist(), strict=True):
        inside = row_numbers[(row_numbers >= end - size) & (row_numbers < end)] - (end - size)
        offsets = row_ranges.expand(rows)[inside] if len(inside) else np.empty(0, np.int64)
        addresses.append(offsets.astype(np.uint64) | np.uint64(number) << np.uint64(32))
    chosen = np.concatenate([np.empty(0, np.uint64), *addresses])
    (resolved,) = resolve(snapshot, [column])
    vectors = [
        model.prepared(chunk)[1]
        for part in parts(snapshot, (resolved,), chosen, by_address=True)
        for chunk in take_at(snapshot, (resolved,), chosen[part]).column(0).chunks
    ]
    every = np.concatenate(vectors) if vectors else np.empty((0, model.dimension))
    return every[rng.permutation(len(every))]
