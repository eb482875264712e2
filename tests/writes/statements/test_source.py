"""Frames of pandas as rows: an index is never lost."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import lance_sql
from lance_sql.errors import InvalidArgument
from lance_sql.writes.statements.source import to_reader

pandas = pytest.importorskip("pandas")


def frame(**index: Any) -> Any:
    return pandas.DataFrame({"v": [10, 20]}, **index)


def written(tmp_path: Path, data: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = lance_sql.write(data, tmp_path / "t.lance").to_table().to_pylist()
    return found


def test_an_index_with_a_name_becomes_a_column(tmp_path: Path) -> None:
    data = frame(index=pandas.Index(["a", "b"], name="key"))
    assert written(tmp_path, data) == [{"v": 10, "key": "a"}, {"v": 20, "key": "b"}]
    merged = lance_sql.open(tmp_path / "t.lance").merge(data.assign(v=[1, 2]), on="key")
    assert merged.scan(["v"]).to_table()["v"].to_pylist() == [1, 2]


def test_an_index_of_numbers_with_a_name_becomes_a_column(tmp_path: Path) -> None:
    assert written(tmp_path, frame().rename_axis("id")) == [{"v": 10, "id": 0}, {"v": 20, "id": 1}]


def test_every_level_of_an_index_becomes_a_column(tmp_path: Path) -> None:
    levels = pandas.MultiIndex.from_tuples([("a", 1), ("b", 2)], names=["key", "n"])
    assert written(tmp_path, frame(index=levels)) == [{"v": 10, "key": "a", "n": 1}, {"v": 20, "key": "b", "n": 2}]


@pytest.mark.parametrize("data", [frame(), frame(index=[7, 3]), frame().iloc[::-1]])
def test_numbers_of_rows_are_no_column(tmp_path: Path, data: Any) -> None:
    assert list(written(tmp_path, data)[0]) == ["v"]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (frame(index=["a", "b"]), "has no name, and would be lost"),
        (frame(index=pandas.MultiIndex.from_tuples([("a", 1), ("b", 2)])), "has no name, and would be lost"),
        (frame(index=pandas.MultiIndex.from_tuples([("a", 1), ("b", 2)], names=["k", None])), "levels without names"),
        (frame(index=pandas.Index([1, 2], name="v")), "has the name 'v', as a column has"),
        (pandas.DataFrame({"v": [object()]}), "Cannot build a table"),
    ],
)
def test_lossy_frames_are_refused(tmp_path: Path, data: Any, message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        lance_sql.write(data, tmp_path / "t.lance")
    assert not (tmp_path / "t.lance").exists()


def test_columns_take_time_for_each_and_not_for_each_pair(tmp_path: Path) -> None:
    def seconds(num_columns: int) -> float:
        names = [f"c{number}" for number in range(num_columns)]
        schema = pa.schema([(name, pa.int64()) for name in names])
        times = []
        for _ in range(3):
            start = time.process_time()
            for data in ({name: [1] for name in names}, [dict.fromkeys(names, 1)]):
                assert to_reader(data, table=schema).schema == schema
            times.append(time.process_time() - start)
        return min(times)

    # eight times as many: 64 times as long if each were looked for among all
    assert seconds(16_000) < 24 * seconds(2_000)


@pytest.mark.parametrize("label", [None, float("nan")])
def test_a_column_without_a_name_is_refused(tmp_path: Path, label: object) -> None:
    with pytest.raises(InvalidArgument, match="Column 1 of the frame has no name"):
        lance_sql.write(pandas.DataFrame([[1, 2]], columns=["a", label]), tmp_path / "t.lance")
    assert not (tmp_path / "t.lance").exists()
