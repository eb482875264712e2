"""Tables with search indices, which mutations start from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

import lance
import numpy as np
import pyarrow as pa

import lance_sql
from fuzz.inputs import Values
from fuzz.search_files import DIMENSION
from fuzz.search_segments import PARAMETERS, SET
from lance_sql.format.index_files.full_text import METADATA
from lance_sql.format.index_files.index_file import IndexFile
from lance_sql.store import MemoryStore
from tests.damaged.tables import files_below

_NUM_ROWS: Final = 400
_VECTORS: Final[tuple[tuple[str, str, dict[str, Any]], ...]] = (
    ("IVF_FLAT", "l2", {}),
    ("IVF_PQ", "cosine", {"num_sub_vectors": 4}),
    ("IVF_PQ", "dot", {"num_sub_vectors": 4, "num_bits": 4}),
    ("IVF_SQ", "l2", {}),
    ("IVF_RQ", "l2", {"num_bits": 5}),
    ("IVF_RQ", "dot", {"num_bits": 1}),
    ("IVF_HNSW_SQ", "l2", {}),
)
# Stems need a library that the environment with sanitized kernels does not have.
_TEXTS: Final[tuple[dict[str, Any], ...]] = (
    {"stem": False, "remove_stop_words": False},
    {"with_position": True, "stem": False},
    {"block_size": 256, "stem": False},
    {"base_tokenizer": "ngram", "stem": False, "remove_stop_words": False},
)
_BUILT: Final[tuple[tuple[str, dict[str, Any]], ...]] = (
    ("ivf_flat", {"metric": "cosine"}),
    ("ivf_pq", {"metric": "l2", "num_sub_vectors": 4}),
    ("ivf_pq", {"metric": "dot", "num_sub_vectors": 4, "num_bits": 4}),
    ("ivf_sq", {"metric": "l2"}),
    ("ivf_rq", {"metric": "dot", "num_bits": 1}),
    ("ivf_rq", {"metric": "cosine", "num_bits": 4}),
    ("inverted", {"with_position": True, "stem": False}),
    ("inverted", {"stem": False, "base_tokenizer": "whitespace"}),
)


def seeds(root: Path) -> Iterator[Values]:
    """A table for each kind of index, and for some versions of files."""
    table = _table()
    setups: list[tuple[str, str, dict[str, Any]]] = [*_VECTORS, *(("INVERTED", "", options) for options in _TEXTS)]
    for number, (kind, metric, options) in enumerate(setups):
        path = str(root / str(number))
        version: Any = ("2.1", "2.0")[number % 2]
        stable = number % 3 == 0
        dataset = lance.write_dataset(
            table, path, max_rows_per_file=250, data_storage_version=version, enable_stable_row_ids=stable
        )
        if kind == "INVERTED":
            dataset.create_scalar_index("s", "INVERTED", **options)
        else:
            dataset.create_index("v", kind, metric=metric, num_partitions=3, **options)
        lance.dataset(path).delete("k % 11 = 4")
        is_ngram = {"is_ngram": 1} if options.get("base_tokenizer") == "ngram" else {}
        yield {**files_below(Path(path)), "column": "s" if kind == "INVERTED" else "v", **is_ngram}
    yield from built(root / "built", appended=False)


def built(root: Path, *, appended: bool = True) -> Iterator[Values]:
    """A table for each kind of index that is built here.

    appended: rows came afterwards, which no segment covers
    """
    for number, (kind, options) in enumerate(_BUILT):
        path = root / str(number)
        partitions: dict[str, Any] = {} if kind == "inverted" else {"num_partitions": 3}
        column = "s" if kind == "inverted" else "v"
        dataset = lance_sql.write(_table(), path, max_rows_per_file=250, stable_row_ids=number % 2 == 0)
        dataset = dataset.indices.create(column, kind, **partitions, **options)
        if appended:
            new = _table().slice(0, 60)
            dataset = lance_sql.write(new.set_column(0, "k", pa.array(np.arange(1000, 1060))), dataset, mode="append")
        dataset.delete("k % 11 = 4")
        yield {**files_below(path), "column": column}


def segments(tables: Iterable[Values]) -> Iterator[Values]:
    """The segments of the indices of these tables, and the sets of words inside."""
    for values in tables:
        files = {path: data for path, data in values.items() if path.startswith("_indices/")}
        yield files
        store = MemoryStore({path: data for path, data in files.items() if isinstance(data, bytes)})
        for path in files:
            if path.endswith("_tokens.lance") and (file := IndexFile(store, path)).has("_token_fst_bytes"):
                yield {SET: file.read(["_token_fst_bytes"])[0][0].as_py()}
            if path.endswith(METADATA) and "stem" in (said := IndexFile(store, path).note("params") or ""):
                yield {PARAMETERS: said.replace('"stem":true', '"stem":false')}


def _table() -> pa.Table:
    numbers = np.arange(_NUM_ROWS)
    values = np.random.default_rng(1).integers(0, 9, _NUM_ROWS * DIMENSION).astype(np.float32)
    vectors = pa.FixedSizeListArray.from_arrays(pa.array(values), DIMENSION)
    texts = [f"some text {i % 7} number three {'word ' * (i % 5)}" for i in range(_NUM_ROWS)]
    return pa.table({"k": numbers, "v": vectors, "s": texts})
