"""Tables with search indices, which mutations start from."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import lance
import numpy as np
import pyarrow as pa

from fuzz.inputs import Values
from fuzz.search_files import DIMENSION
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
_TEXTS: Final[tuple[dict[str, Any], ...]] = (
    {},
    {"with_position": True},
    {"block_size": 256},
)


def seeds(root: Path) -> Iterator[Values]:
    """A table for each kind of index, and for some versions of files."""
    numbers = np.arange(_NUM_ROWS)
    values = np.random.default_rng(1).integers(0, 9, _NUM_ROWS * DIMENSION).astype(np.float32)
    vectors = pa.FixedSizeListArray.from_arrays(pa.array(values), DIMENSION)
    texts = [f"some text {i % 7} number three {'word ' * (i % 5)}" for i in range(_NUM_ROWS)]
    table = pa.table({"k": numbers, "v": vectors, "s": texts})
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
        yield {**files_below(Path(path)), "column": "s" if kind == "INVERTED" else "v"}
