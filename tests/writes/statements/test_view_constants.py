"""Constants of views and of categories, of which Arrow takes nothing, are values like others."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import lance_sql
from lance_sql.errors import UnsupportedFeature


@pytest.mark.parametrize(
    "values",
    [
        pa.array(["a", None, "b" * 40], pa.string_view()),
        pa.array([b"a", None, b"b" * 40], pa.binary_view()),
        pa.array([["a"], None, ["b", None]], pa.list_(pa.string_view())),
        pa.array(["a", None, "b"]).dictionary_encode(),
        pa.DictionaryArray.from_arrays(pa.array([0, None, 1], pa.int8()), pa.array(["a", "b"], pa.string_view())),
    ],
    ids=lambda values: str(values.type),
)
def test_constants(tmp_path: Path, values: pa.Array) -> None:
    table = lance_sql.write(pa.table({"id": [0, 1, 2], "v": values}), tmp_path / "t.lance")
    for value in values:
        table = table.update({"v": value}, "id = 0")
        assert table.to_table(filter="id = 0")["v"].to_pylist() == [value.as_py()]
        added = table.add_columns({"w": value})
        assert added.to_table()["w"].to_pylist() == [value.as_py()] * 3
        table = added.drop_columns(["w"])


def test_decimals_that_duckdb_does_not_hold_are_named(tmp_path: Path) -> None:
    rows = pa.table({"v": pa.array([3], pa.int64()).cast(pa.decimal256(76, 38))})
    table = lance_sql.write(rows, tmp_path / "t.lance")
    with pytest.raises(UnsupportedFeature, match="column 'v': a value does not fit the engine's type decimal128"):
        table.update({"v": "v"}, "true")


@pytest.mark.parametrize("is_nested", [False, True])
def test_nanoseconds_of_durations_are_not_cut_by_sql(tmp_path: Path, is_nested: bool) -> None:
    for number, (nanoseconds, is_held) in enumerate((([0, 1000, -5000], True), ([0, 1, -5], False))):
        values = pa.array(nanoseconds, pa.duration("ns"))
        if is_nested:
            values = pa.ListArray.from_arrays([0, 1, 2, 3], values)
        table = lance_sql.write(pa.table({"id": [0, 1, 2], "v": values}), tmp_path / f"{number}.lance")
        texts = [
            f"UPDATE '{table.uri}' SET v = v WHERE true",
            f"INSERT INTO '{table.uri}' SELECT id + 10, v FROM '{table.uri}' WHERE id < 3",
        ]
        for text in texts:
            if is_held:
                lance_sql.sql(text)
            else:
                with pytest.raises(UnsupportedFeature, match="would lose data"):
                    lance_sql.sql(text)
        rows = table.latest().to_table()["v"]
        assert rows.equals(pa.chunked_array([values] * (2 if is_held else 1)))
