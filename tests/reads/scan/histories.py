"""Random histories of tables, written by pylance."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import lance
import numpy as np
import pyarrow as pa

SCHEMA = pa.schema([("key", pa.int64()), ("value", pa.int64()), ("text", pa.string())])


class History:
    """A table that random operations change; `log` tells them for messages."""

    def __init__(self, root: Path, seed: int, *, file_version: str, stable: bool, spill: bool = False) -> None:
        self.root = str(root)
        self._rng = np.random.default_rng(seed)
        self._next_key = 0
        self.log: list[str] = []
        self._options: dict[str, Any] = {"data_storage_version": file_version, "max_rows_per_file": 40}
        lance.write_dataset(self._rows(60), self.root, enable_stable_row_ids=stable, **self._options)
        if spill:
            self._open().update_config({"lance.row_lineage.spill": "true", "lance.row_lineage.inline_max_bytes": "0"})

    def run(self, steps: int) -> None:
        operations = [self._append, self._update, self._delete, self._merge, self._compact]
        for _ in range(steps):
            operation = operations[int(self._rng.choice(5, p=[0.2, 0.25, 0.2, 0.2, 0.15]))]
            self.log.append(operation.__name__)
            operation()

    def _open(self) -> lance.LanceDataset:
        return lance.dataset(self.root)

    def _rows(self, count: int) -> pa.Table:
        keys = np.arange(self._next_key, self._next_key + count)
        self._next_key += count
        return self._table(keys)

    def _table(self, keys: np.ndarray[Any, Any]) -> pa.Table:
        texts = [None if value % 7 == 0 else f"text {value}" for value in keys.tolist()]
        return pa.table({"key": keys, "value": self._rng.integers(0, 100, len(keys)), "text": texts}, schema=SCHEMA)

    def _append(self) -> None:
        lance.write_dataset(self._rows(int(self._rng.integers(1, 60))), self.root, mode="append", **self._options)

    def _some_keys(self) -> np.ndarray[Any, Any]:
        count = int(self._rng.integers(1, 30))
        return np.unique(self._rng.integers(0, self._next_key + 5, count))

    def _condition(self) -> str:
        if self._rng.random() < 0.5:
            start = int(self._rng.integers(0, self._next_key))
            return f"key >= {start} AND key < {start + int(self._rng.integers(1, 25))}"
        return f"key IN ({', '.join(map(str, self._some_keys().tolist()))})"

    def _update(self) -> None:
        self._open().update({"value": "value + 1000"}, where=self._condition())

    def _delete(self) -> None:
        self._open().delete(self._condition())

    def _merge(self) -> None:
        merge = self._open().merge_insert("key").when_matched_update_all().when_not_matched_insert_all()
        merge.execute(self._table(self._some_keys()))

    def _compact(self) -> None:
        self._open().optimize.compact_files(
            target_rows_per_fragment=int(self._rng.choice([30, 100, 1000])),
            materialize_deletions_threshold=float(self._rng.choice([0.0, 0.1, 0.9])),
        )
