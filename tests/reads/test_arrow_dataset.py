"""A Dataset as an Arrow dataset: what engines call works, what would need Arrow's own dataset is refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import lance
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset
import pytest

import lance_sql
from lance_sql.errors import UnsupportedFeature


@pytest.fixture
def dataset(tmp_path: Path) -> lance_sql.Dataset:
    path = str(tmp_path / "data.lance")
    lance.write_dataset(pa.table({"id": range(100), "ratio": [float("nan")] * 100}), path, max_rows_per_file=30)
    return lance_sql.open(path)


def test_it_is_one(dataset: lance_sql.Dataset) -> None:
    assert isinstance(dataset, pyarrow.dataset.Dataset)


def test_a_scanner_has_columns_and_an_exact_filter(dataset: lance_sql.Dataset) -> None:
    scanner = dataset.scanner(columns=["id"], filter=pc.field("ratio") > 5)
    assert scanner.projected_schema.names == ["id"]
    assert scanner.to_table().num_rows == 100
    assert dataset.scanner().to_reader().schema == dataset.schema


def test_tables_heads_batches_and_counts(dataset: lance_sql.Dataset) -> None:
    few = pc.field("id") < 5
    assert dataset.to_table(columns=["id"], filter=few)["id"].to_pylist() == [0, 1, 2, 3, 4]
    assert dataset.head(3, columns=["id"])["id"].to_pylist() == [0, 1, 2]
    assert sum(batch.num_rows for batch in dataset.to_batches(columns=[], filter=few)) == 5
    assert dataset.count_rows(few) == 5


def test_fragments_are_all_rows_in_parts(dataset: lance_sql.Dataset) -> None:
    few = (pc.field("id") >= 25) & (pc.field("id") < 35)
    fragments = dataset.get_fragments(few)
    tables = [fragment.scanner(dataset.schema, columns=["id"], filter=few).to_table() for fragment in fragments]
    assert sorted(pa.concat_tables(tables)["id"].to_pylist()) == list(range(25, 35))


def test_methods_of_arrow_datasets_are_refused(dataset: lance_sql.Dataset) -> None:
    calls: dict[str, Callable[[], object]] = {
        "partition_expression": lambda: dataset.partition_expression,
        "filter": lambda: dataset.filter(pc.field("id") > 1),
        "join": lambda: dataset.join(dataset, "id"),
        "join_asof": lambda: dataset.join_asof(dataset, "id", "id", 1),
        "sort_by": lambda: dataset.sort_by("id"),
        "replace_schema": lambda: dataset.replace_schema(dataset.schema),
        "_get_fragments": lambda: dataset._get_fragments(None),
        "_scanner_options": lambda: dataset._scanner_options({}),
        "_scan_options": lambda: dataset._scan_options,
    }
    for name, call in calls.items():
        with pytest.raises(UnsupportedFeature, match=name):
            call()


def test_polars_style_scans_work(dataset: lance_sql.Dataset) -> None:
    table = dataset.scanner(columns=["id"], filter=None, batch_size=10, use_threads=True).to_table()
    assert table.num_rows == 100
