"""A release of pylance as a process of its own: a line of input is a command as JSON, a line of output its answer.

    {"call": "delete", "path": "t.lance", "where": "k = 1"}   -->   {"answer": null} or {"error": "..."}

Runs in the environment of an old release: nothing but what that has is imported.
"""

from __future__ import annotations

import json
import sys
import traceback
from typing import Any

import lance
import pyarrow as pa

TYPES = {"k": pa.int64(), "a": pa.int32(), "s": pa.string(), "f": pa.float64()}


def table(rows: dict[str, list[Any]]) -> pa.Table:
    fields = [(name, TYPES[name]) for name in rows]
    return pa.table({name: pa.array(rows[name], type) for name, type in fields})


def create(path: str, rows: dict[str, list[Any]], version: Any, stable: bool) -> None:
    lance.write_dataset(table(rows), path, data_storage_version=version, enable_stable_row_ids=stable)


def append(path: str, rows: dict[str, list[Any]]) -> None:
    lance.write_dataset(table(rows), path, mode="append")


def delete(path: str, where: str) -> None:
    lance.dataset(path).delete(where)


def update(path: str, values: dict[str, Any], where: str) -> None:
    lance.dataset(path).update(values, where=where)


def merge(path: str, rows: dict[str, list[Any]]) -> None:
    builder: Any = lance.dataset(path).merge_insert("k").when_matched_update_all().when_not_matched_insert_all()
    builder.execute(table(rows))


def compact(path: str, target: int) -> None:
    lance.dataset(path).optimize.compact_files(target_rows_per_fragment=target)


def index(path: str, column: str, kind: Any) -> None:
    lance.dataset(path).create_scalar_index(column, kind.upper(), replace=True)


def optimize(path: str) -> None:
    lance.dataset(path).optimize.optimize_indices()


def restore(path: str, version: int) -> None:
    dataset: Any = lance.dataset(path, version=version)
    dataset.restore()


def read(path: str, columns: list[str]) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = lance.dataset(path).scanner(columns=columns).to_table().to_pydict()
    return found


def keys(path: str, conditions: list[str]) -> list[list[int]]:
    dataset = lance.dataset(path)
    return [sorted(dataset.to_table(columns=["k"], filter=where)["k"].to_pylist()) for where in conditions]


def main() -> None:
    print(json.dumps({"answer": lance.__version__}), flush=True)
    for line in sys.stdin:
        command = json.loads(line)
        call = globals()[command.pop("call")]
        try:
            answer = {"answer": call(**command)}
        except BaseException:
            answer = {"error": traceback.format_exc()}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
