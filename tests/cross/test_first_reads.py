"""The first scan of a small file, which reads it at once, and later ones, which open its columns, give the same rows:
types x file versions x doors, against a model."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import lance
import numpy as np
import pyarrow as pa
import pytest

import lance_sql
from lance_sql.dataset import Dataset
from lance_sql.format.file.open_pages import LONG_FILE_ROWS
from tests.cross.types import TYPES
from tests.golden.compare import difference

NUM_FRAGMENTS, NUM_ROWS = 3, LONG_FILE_ROWS + 300
DOORS: dict[str, Callable[[Dataset, list[str], str | None], pa.Table]] = {
    "scan": lambda table, columns, filter: table.scan(columns, filter).to_table(),
    "limit": lambda table, columns, filter: table.scan(columns, filter, limit=10**6).to_table(),
    "batches": lambda table, columns, filter: table.scan(columns, filter, batch_size=NUM_ROWS).to_table(),
    "tasks": lambda table, columns, filter: pa.concat_tables(
        [task.to_table() for task in table.scan(columns, filter).tasks(2)]
    ),
}
CASES = [(name, version) for name, kind in TYPES.items() for version in kind.versions]


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize(("name", "version"), CASES, ids=map("-".join, CASES))
def test_the_first_scan_gives_what_the_second_gives(tmp_path: Path, name: str, version: str, door: str) -> None:
    draw = np.random.default_rng(5)
    parts = []
    for number in range(NUM_FRAGMENTS):
        numbers = [int(each) if each % 7 else None for each in draw.integers(0, 9 if number else 100, NUM_ROWS)]
        ids = pa.array(range(number * NUM_ROWS, (number + 1) * NUM_ROWS), pa.int64())
        parts.append(pa.table({"id": ids, "v": TYPES[name].array(numbers)}))
        lance_sql.write(parts[-1], tmp_path / "t.lance", mode="append" if number else "create", file_version=version)
    lance.dataset(tmp_path / "t.lance").delete("id % 10 = 3")
    kept = [id for id in range(NUM_FRAGMENTS * NUM_ROWS) if id % 10 != 3]
    model = pa.concat_tables(parts).take(kept)
    for filter, expected in ((None, model), ("id >= 1000 AND id < 2500", model.filter(_between(model["id"])))):
        lance_sql.clear_caches()
        table = lance_sql.open(tmp_path / "t.lance")
        found = [DOORS[door](table, ["v", "id", "_rowid"], filter) for _ in range(3)]
        assert found[0].equals(found[1])
        assert found[1].equals(found[2])
        for column in ("id", "v"):
            assert difference(found[0][column], expected[column].cast(found[0][column].type)) is None
        # stable row ids count the rows
        assert found[0]["_rowid"].to_pylist() == expected["id"].to_pylist()


def _between(ids: pa.ChunkedArray) -> pa.Array:
    values = ids.to_numpy()
    return pa.array((values >= 1000) & (values < 2500))
