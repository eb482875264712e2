"""Zones of an early release, which did not count deleted rows when it placed them, are found."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

import lance_sql
from lance_sql.format.index_files import writing
from lance_sql.health.lineage_audit.faults import Kind
from lance_sql.writes.commit import committer
from lance_sql.writes.commit.operations import CreateIndex


def with_zones(path: Path, places: list[tuple[int, int, int]]) -> None:
    """Puts these zones (fragment, start, rows), without bounds, in the place of those of the table's zone map."""
    dataset = lance_sql.open(path)
    (segment,) = dataset.snapshot.indices()
    file = f"_indices/{segment.uuid}/zonemap.lance"
    (path / file).unlink()
    fragments, starts, rows = (list(column) for column in zip(*places, strict=True))
    batch = pa.RecordBatch.from_pydict(
        {
            "min": pa.array([0] * len(places), pa.int64()),
            "max": pa.array([10**9] * len(places), pa.int64()),
            "null_count": pa.array([0] * len(places), pa.uint32()),
            "nan_count": pa.array([0] * len(places), pa.uint32()),
            "fragment_id": pa.array(fragments, pa.uint64()),
            "zone_start": pa.array(starts, pa.uint64()),
            "zone_length": pa.array(rows, pa.uint64()),
        }
    )
    written = writing.write(dataset.snapshot.store, file, batch.schema, [batch], file_version="2.2", notes={})
    made = replace(segment, file_sizes={"zonemap.lance": written.size_bytes}, checksums={})
    committer.commit(dataset.snapshot, CreateIndex((made,), (segment,)))


@pytest.fixture(params=[True, False], ids=["stable", "plain"])
def path(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    table = tmp_path / "t"
    lance_sql.write({"i": list(range(100))}, table, stable_row_ids=request.param)
    lance_sql.write({"i": list(range(100, 200))}, table, mode="append")
    lance_sql.open(table).delete("i < 20 OR i >= 190").indices.create("i", "zonemap")
    return table


def test_rows_behind_the_last_zone_are_found_once(path: Path) -> None:
    with_zones(path, [(0, 0, 40), (0, 40, 40), (1, 0, 40), (1, 40, 50)])
    lance_sql.write({"i": [1000]}, path, mode="append")
    report = lance_sql.audit(path, checksums=False)
    assert [(fault.version, fault.fragment, fault.kind) for fault in report.faults] == [(4, 0, Kind.SHORT_ZONES)]
    assert "fragment 0: 20 rows are behind the last zone of the index 'i_idx'" in str(report)
    assert "pylance: filters on the column" in report.affected_queries
    assert lance_sql.open(path).count_rows("i = 95") == 1


def test_deleted_rows_need_no_zone(path: Path) -> None:
    assert lance_sql.audit(path, checksums=False).is_healthy
    with_zones(path, [(0, 20, 80), (1, 0, 90)])
    assert lance_sql.audit(path, checksums=False).is_healthy
