"""A Dataset as an Arrow dataset: what engines call works, what would need Arrow's own dataset is refused."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import lance
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset
import pytest
from pyarrow import acero

import lance_sql
from lance_sql.errors import UnsupportedFeature
from lance_sql.providers.arrow import EngineDataset
from lance_sql.reads.arrow_dataset import ArrowDataset


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
    }
    for name, call in calls.items():
        with pytest.raises(UnsupportedFeature, match=name):
            call()


def test_polars_style_scans_work(dataset: lance_sql.Dataset) -> None:
    table = dataset.scanner(columns=["id"], filter=None, batch_size=10, use_threads=True).to_table()
    assert table.num_rows == 100


def _into_acero(dataset: ArrowDataset) -> object:
    return acero.Declaration("scan", acero.ScanNodeOptions(dataset)).to_table()


def _into_pylance(verb: str) -> Callable[[Any, Path], object]:
    def run(dataset: Any, folder: Path) -> object:
        target = lance.write_dataset(pa.table({"id": [1], "s": ["q"]}), folder / "theirs.lance")
        if verb == "write":
            return lance.write_dataset(dataset, folder / "copy.lance")
        if verb == "insert":
            return target.insert(dataset)
        if verb == "merge":
            return target.merge(dataset, "id")
        return target.merge_insert("id").when_matched_update_all().execute(dataset)

    return run


SCANS_OF_ARROW: dict[str, Callable[[Any, Path], object]] = {
    "Scanner": lambda dataset, _: pyarrow.dataset.Scanner.from_dataset(dataset).to_table(),
    "Scanner with columns": lambda dataset, _: pyarrow.dataset.Scanner.from_dataset(dataset, columns=["id"]).to_table(),
    "Scanner with a filter": lambda dataset, _: pyarrow.dataset.Scanner.from_dataset(
        dataset, filter=pc.field("id") > 1
    ).count_rows(),
    "UnionDataset": lambda dataset, _: pyarrow.dataset.UnionDataset(dataset.schema, [dataset]).to_table(),
    "UnionDataset without columns": lambda dataset, _: pyarrow.dataset.UnionDataset(
        pa.schema([]), [dataset]
    ).to_table(),
    "dataset": lambda dataset, _: pyarrow.dataset.dataset([dataset, dataset]).to_table(),
    "join of a table": lambda dataset, _: pa.table({"id": [1]}).join(dataset, "id"),
    "join of a dataset": lambda dataset, _: pyarrow.dataset.dataset(pa.table({"id": [1]})).join(dataset, "id"),
    "join_asof": lambda dataset, _: pa.table({"id": [1]}).join_asof(dataset, "id", [], 1),
    "acero": lambda dataset, _: _into_acero(dataset),
    **{f"pylance {verb}": _into_pylance(verb) for verb in ("write", "insert", "merge", "merge_insert")},
}


@pytest.mark.parametrize("kind", ["table", "feed", "engine"])
@pytest.mark.parametrize("how", SCANS_OF_ARROW)
def test_scans_of_arrow_itself_raise(tmp_path: Path, how: str, kind: str) -> None:
    """Without a dataset of Arrow behind the class, each of these ended the process."""
    table = lance_sql.write({"id": [1, 2], "s": ["a", "b"]}, tmp_path / "t.lance")
    kinds: dict[str, Callable[[], ArrowDataset]] = {
        "table": lambda: table,
        "feed": lambda: table.changes(1),
        "engine": lambda: EngineDataset(table, lambda type: type, with_system_columns=True),
    }
    dataset = kinds[kind]()
    with pytest.raises((lance_sql.LanceError, pa.ArrowException, OSError)) as raised:
        SCANS_OF_ARROW[how](dataset, tmp_path)
    # a union of other columns is refused for these
    assert "to_reader()" in str(raised.value) or how == "UnionDataset"
    assert not (tmp_path / "copy.lance" / "_versions").exists()
    assert pickle.loads(pickle.dumps(table)).to_table().num_rows == 2
