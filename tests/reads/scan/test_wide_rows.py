"""Rows that are wide make batches short, so that neither memory nor Arrow's 32-bit offsets run out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import lance
import numpy as np
import pyarrow as pa
import pytest

import lance_sql
from lance_sql.reads.scan import batches
from lance_sql.reads.scan.pieces import cut
from lance_sql.values import row_ranges


@pytest.fixture
def wide(tmp_path: Path) -> Path:
    path = tmp_path / "t.lance"
    lance.write_dataset(pa.table({"id": range(50), "s": [f"{n:06d}" * 1000 for n in range(50)]}), path)
    return path


def test_batches_of_wide_rows_are_short(wide: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "MAX_BATCH_BYTES", 2000)
    monkeypatch.setattr(batches, "LARGEST_BATCH_BYTES", 4000)
    dataset = lance_sql.open(wide)
    expected = lance.dataset(wide).to_table()
    read = list(dataset.scan().to_reader())
    assert len(read) > 20
    assert pa.Table.from_batches(read).equals(expected)
    assert len(list(dataset.scan(batch_size=50).to_reader())) > 5
    assert dataset.take([7, 3, 40]).equals(expected.take([7, 3, 40]))


@pytest.mark.parametrize("file_version", ["2.1", "2.2"])
def test_batches_of_long_texts_from_a_dictionary_are_short(file_version: Any, tmp_path: Path) -> None:
    """A row is one bit on disk, and 20,000 bytes of Arrow."""
    characters = np.random.default_rng(2).integers(32, 127, (2, 20_000)).astype(np.uint8)
    texts = [row.tobytes().decode() for row in characters]
    table = pa.table({"s": [texts[i % 2] for i in range(4000)]})
    lance.write_dataset(table, tmp_path / "t.lance", data_storage_version=file_version)
    read = list(lance_sql.open(tmp_path / "t.lance").scan().to_reader())
    assert max(batch.nbytes for batch in read) <= 1.2 * batches.MAX_BATCH_BYTES
    assert pa.Table.from_batches(read).equals(table)


@pytest.mark.parametrize("most", [1, 3, 7, 100])
def test_cutting_keeps_every_row_once(most: int) -> None:
    rows = row_ranges.from_sorted(row_ranges.expand(row_ranges.single(0, 40))[[0, 1, 2, 5, 9, 10, 11, 12, 30, 39]])
    parts = list(cut(rows, most))
    assert all(row_ranges.count(piece) <= most for piece in parts)
    assert [row for piece in parts for row in row_ranges.expand(piece).tolist()] == row_ranges.expand(rows).tolist()
