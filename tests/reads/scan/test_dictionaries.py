"""Dictionaries of every type of index, flat and nested: as streams, of a few rows, and remote."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import lance_sql
from benchmarks.object_store_server import BUCKET, StoreServer

NUM_ROWS = 1100
INDICES = (pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64())
ITEMS = {"words": [f"a word {number}" for number in range(120)], "numbers": list(range(1000, 1120))}


def columns(items: str, num_rows: int = NUM_ROWS) -> pa.Table:
    """Dictionaries, and lists and structs of them, with NULLs in each place."""
    rng = np.random.default_rng(3)
    made = {}
    for index_type in INDICES:
        numbers = pa.array(rng.integers(0, 120, 2 * num_rows), mask=rng.random(2 * num_rows) < 0.2).cast(index_type)
        values = pa.DictionaryArray.from_arrays(numbers, pa.array(ITEMS[items]))
        some = pa.array(rng.random(num_rows) < 0.2)
        made[f"flat {index_type}"] = values[:num_rows]
        made[f"struct {index_type}"] = pa.StructArray.from_arrays([values[:num_rows]], ["d"], mask=some)
        offsets = pa.array(np.r_[0, np.sort(rng.integers(0, 2 * num_rows, num_rows))], pa.int32())
        made[f"list {index_type}"] = pa.ListArray.from_arrays(offsets, values, mask=some)
        inner = pa.StructArray.from_arrays([values], ["d"])
        made[f"large list of structs {index_type}"] = pa.LargeListArray.from_arrays(offsets.cast(pa.int64()), inner)
    return pa.table(made)


@pytest.mark.parametrize(("version", "items"), [("2.1", "numbers"), ("2.2", "words")])
def test_dictionaries_come_back(tmp_path: Path, version: str, items: str) -> None:
    rows = columns(items)
    lance_sql.write(rows, tmp_path / "t.lance", file_version=version)
    wanted = [0, 5, 6, NUM_ROWS // 2, NUM_ROWS - 1]
    with StoreServer(tmp_path, seconds=0.0, bytes_per_second=1e12) as server:
        for uri, options in ((str(tmp_path / "t.lance"), None), (f"s3://{BUCKET}/t.lance", server.options)):
            table = lance_sql.open(uri, storage_options=options)
            assert "Python" not in table.scan().explain()
            for found, expected in (
                (table.to_table(), rows),
                (table.scan(batch_size=700).to_table(), rows),
                (table.take(wanted), rows.take(wanted)),
                (table.scan(filter="`flat int8` IS NULL").to_table(), rows.filter(rows["flat int8"].is_null())),
            ):
                found.validate(full=True)
                assert found.schema.types == rows.schema.types
                assert found.to_pylist() == expected.to_pylist()
