"""Tables with an index of each kind, which mutations start from."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import lance
import numpy as np
import pyarrow as pa
from lance.indices import IndexConfig

from fuzz.inputs import Values
from tests.damaged.tables import files_below

_NUM_ROWS: Final = 240
_PARAMETERS: Final[dict[str, dict[str, Any]]] = {
    "zonemap": {"rows_per_zone": 20},
    "btree": {"zone_size": 16},
    "bitmap": {},
    "bloomfilter": {"number_of_items": 20, "probability": 0.01},
}
_OTHERS: Final = {"LABEL_LIST": "l", "NGRAM": "s"}
_COLUMNS: Final = {
    "i": pa.int64(),
    "f": pa.float64(),
    "s": pa.string(),
    "t": pa.timestamp("us"),
    "l": pa.list_(pa.string()),
}


def seeds(root: Path) -> Iterator[Values]:
    """A table for each kind of index and type that it takes, and for some versions of files."""
    setups: list[tuple[Any, str]] = [
        (IndexConfig(index_type=kind, parameters=parameters), column)
        for kind, parameters in _PARAMETERS.items()
        for column in "ifst"
    ]
    setups += _OTHERS.items()
    for number, (config, column) in enumerate(setups):
        path = root / str(number)
        version: Any = ("2.2", "2.1", "2.0")[number % 3]
        lance.write_dataset(
            _rows(column),
            str(path),
            max_rows_per_file=100,
            data_storage_version=version,
            enable_stable_row_ids=number % 2 == 0,
        )
        lance.dataset(str(path)).create_scalar_index(column, config)
        lance.dataset(str(path)).delete("k % 11 = 4")
        yield {**files_below(path), "column": column}


def _rows(column: str) -> pa.Table:
    numbers = np.arange(_NUM_ROWS)
    items: list[Any] = (numbers // 2 * 7 % 90).tolist()
    match column:
        case "f":
            items = [float("nan") if i % 30 == 9 else (i - 20) * 0.75 for i in items]
        case "s":
            items = [f"text {i % 7}" for i in items]
        case "t":
            items = [i * 1_000_000 for i in items]
        case "l":
            items = [[["a", "new", None, ""][j % 4] for j in range(i % 4)] for i in items]
    items = [None if i % 13 == 5 else item for i, item in enumerate(items)]
    type = _COLUMNS[column]
    values = pa.array(items, pa.int64()).cast(type) if column == "t" else pa.array(items, type)
    return pa.table({column: values, "k": numbers})
