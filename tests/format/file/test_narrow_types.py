"""Columns that few think of: binaries of no byte, and columns without a name."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import lance
import pyarrow as pa
import pytest

import lance_sql
from lance_sql import InvalidArgument, UnsupportedFeature

NO_BYTES = pa.binary(0)
ARRAYS = {
    "plain": pa.array([b"", None, b""], NO_BYTES),
    "many": pa.array([b"", None, b""] * 3000, NO_BYTES),
    "list": pa.array([[b"", None], [], None, [b""]] * 1500, pa.list_(NO_BYTES)),
    "struct": pa.array([{"x": b""}, {"x": None}], pa.struct([("x", NO_BYTES)])),
}


@pytest.mark.parametrize("array", ARRAYS.values(), ids=ARRAYS)
@pytest.mark.parametrize("version", ["2.0", "2.1", "2.2"])
def test_binaries_of_no_byte_are_read(tmp_path: Path, version: Any, array: pa.Array) -> None:
    rows = pa.table({"f": array, "id": range(len(array))})
    lance.write_dataset(rows, tmp_path / "t", data_storage_version=version)
    opened = lance_sql.open(tmp_path / "t")
    assert opened.to_table().equals(rows)
    assert opened.take([1], ["f"]).column("f").to_pylist() == array.slice(1, 1).to_pylist()
    assert lance_sql.verify(tmp_path / "t", deep=True).is_healthy


def test_binaries_of_no_byte_are_read_from_files_0_1(tmp_path: Path) -> None:
    rows = pa.table({"f": pa.array([b"", b"", b""], NO_BYTES), "id": [1, 2, 3]})
    lance.write_dataset(rows, tmp_path / "t", data_storage_version="legacy")
    assert lance_sql.open(tmp_path / "t").to_table().equals(rows)


@pytest.mark.parametrize("array", ARRAYS.values(), ids=ARRAYS)
def test_binaries_of_no_byte_are_written_where_others_read_them(tmp_path: Path, array: pa.Array) -> None:
    rows = pa.table({"f": array})
    made = lance_sql.write(rows, tmp_path / "t")
    assert made.to_table().equals(rows)
    assert lance.dataset(tmp_path / "t").to_table().equals(rows)


@pytest.mark.parametrize("version", ["2.0", "2.1"])
def test_binaries_of_no_byte_are_refused_elsewhere(tmp_path: Path, version: str) -> None:
    with pytest.raises(UnsupportedFeature, match=r"'f'.*of no byte.*2\.2 can"):
        lance_sql.write(pa.table({"f": ARRAYS["plain"]}), tmp_path / "t", file_version=version)


@pytest.mark.parametrize("type", [pa.list_(NO_BYTES, 2), pa.dictionary(pa.int32(), NO_BYTES)])
def test_binaries_of_no_byte_are_refused_within_other_leaves(tmp_path: Path, type: pa.DataType) -> None:
    with pytest.raises(UnsupportedFeature, match=r"'f'.*(of no byte|has no logical type)"):
        lance_sql.write(pa.table({"f": pa.nulls(2, type)}), tmp_path / "t")
    assert not (tmp_path / "t").exists()


@pytest.mark.parametrize("version", ["legacy", "2.0", "2.1", "2.2"])
def test_a_column_without_a_name_is_read(tmp_path: Path, version: Literal["legacy", "2.0", "2.1", "2.2"]) -> None:
    rows = pa.table({"a": [1, 2], "": [3, 4], "s": [{"": 5}, {"": 6}]})
    lance.write_dataset(rows, tmp_path / "t", data_storage_version=version)
    opened = lance_sql.open(tmp_path / "t")
    assert opened.to_table().equals(rows)
    assert opened.scan([""]).to_table().column("").to_pylist() == [3, 4]
    if version != "legacy":
        more = pa.table({"a": [9], "": [8], "s": [{"": 0}]})
        changed = opened.update({"a": 7}, "a = 1").merge(more, on="a").delete("a = 2")
        assert changed.to_table().column("").to_pylist() == [3, 8]


def test_a_column_without_a_name_is_not_written(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgument, match="A column has no name"):
        lance_sql.write(pa.table({"": [1]}), tmp_path / "t")
