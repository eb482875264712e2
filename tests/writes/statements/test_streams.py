"""Streams of rows in layouts that Lance does not have, without types, and streams that break off."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import lance_sql
from lance_sql.errors import InvalidArgument
from tests.json_documents import FIELD

VIEWS = pa.array([[1], None, [2, 3]], pa.list_view(pa.int64()))
RUNS = pa.RunEndEncodedArray.from_arrays(pa.array([2, 3], pa.int32()), pa.array(["a", None]))
LAYOUTS = {
    "list view": (VIEWS, pa.list_(pa.int64())),
    "large list view": (pa.array(VIEWS.to_pylist(), pa.large_list_view(pa.int64())), pa.large_list(pa.int64())),
    "run ends": (RUNS, pa.string()),
    "struct": (
        pa.StructArray.from_arrays([VIEWS, RUNS], ["a", "b"], mask=pa.array([False, True, False])),
        pa.struct([("a", pa.list_(pa.int64())), ("b", pa.string())]),
    ),
    "list of views": (
        pa.array([[[1]], None, [[2, 3], None]], pa.list_(pa.list_view(pa.int64()))),
        pa.list_(pa.list_(pa.int64())),
    ),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts_become_plain(tmp_path: Path, layout: str) -> None:
    values, type = LAYOUTS[layout]
    rows = pa.table({"id": [0, 1, 2], "x": values})
    path = tmp_path / "t.lance"
    lance_sql.write(rows, path)
    lance_sql.write(rows.slice(1), path, mode="append")
    table = lance_sql.open(path).merge(rows.slice(2), on="id")
    expected = rows["x"].to_pylist()
    assert table.scan().to_table().sort_by("id")["x"].to_pylist() == [
        *expected[:1],
        *expected[1:2] * 2,
        *expected[2:] * 2,
    ]
    assert table.schema.field("x").type == type


class Broken:
    """A stream that fails after its first batch."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        def batches() -> Iterator[pa.RecordBatch]:
            yield pa.record_batch({"a": [1]})
            raise KeyError("gone")

        return pa.RecordBatchReader.from_batches(pa.schema([("a", pa.int64())]), batches()).__arrow_c_stream__()


@pytest.mark.parametrize("verb", ["append", "overwrite", "merge", "apply"])
def test_a_stream_that_breaks_off_is_an_error_of_one_line(tmp_path: Path, verb: str) -> None:
    table = lance_sql.write({"a": [1]}, tmp_path / "t.lance")
    verbs: dict[str, Callable[[], Any]] = {
        "append": lambda: lance_sql.write(Broken(), table.uri, mode="append"),
        "overwrite": lambda: lance_sql.write(Broken(), table.uri, mode="overwrite"),
        "merge": lambda: table.merge(Broken(), on="a"),
        "apply": lambda: lance_sql.apply_changes(table, Broken(), "a"),
    }
    with pytest.raises(InvalidArgument, match=r"^The stream of rows broke off: .*gone") as raised:
        verbs[verb]()
    assert "\n" not in str(raised.value)
    assert lance_sql.open(table.uri).version == 1


SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        ("s", pa.string()),
        ("l", pa.list_(pa.int32())),
        ("v", pa.list_(pa.float32(), 2)),
        pa.field("st", pa.struct([("a", pa.date32())])),
        pa.field("k", pa.int64(), nullable=False),
        FIELD.with_name("j"),
    ]
)
ROWS = {"id": [1], "s": ["a"], "l": [[1]], "v": [[1.0, 2.0]], "st": [{"a": None}], "k": [1], "j": ["{}"]}


def without_rows(how: str) -> Any:
    if how == "dict":
        return {name: [] for name in SCHEMA.names}
    module = pytest.importorskip(how)
    return module.DataFrame({name: [] for name in SCHEMA.names}, **({"dtype": object} if how == "pandas" else {}))


@pytest.mark.parametrize("how", ["dict", "pandas", "polars"])
def test_columns_without_types_take_those_of_the_overwritten_table(tmp_path: Path, how: str) -> None:
    path = tmp_path / "t.lance"
    types = lance_sql.write(ROWS, path, schema=SCHEMA).schema.types
    assert lance_sql.write(without_rows(how), path, mode="overwrite").schema.types == types
    assert lance_sql.write(ROWS, path, mode="append").count_rows() == 1


def test_members_without_types_take_those_of_the_overwritten_table(tmp_path: Path) -> None:
    path = tmp_path / "t.lance"
    lance_sql.write(ROWS, path, schema=SCHEMA)
    rows = pa.table(
        {"l": pa.array([[], None], pa.list_(pa.null())), "st": pa.array([{"a": None}, None]), "n": pa.nulls(2)}
    )
    table = lance_sql.write(rows, path, mode="overwrite")
    assert table.schema.types == [SCHEMA.field("l").type, SCHEMA.field("st").type, pa.null()]
    assert table.to_table().to_pylist() == rows.to_pylist()


@pytest.mark.parametrize("mode", ["create", "overwrite"])
@pytest.mark.parametrize("how", ["dict", "pandas", "polars", "arrow"])
def test_rows_without_columns_are_refused(tmp_path: Path, how: str, mode: Any) -> None:
    path = tmp_path / "t.lance"
    if mode == "overwrite":
        lance_sql.write({"id": [1]}, path)
    data = {"dict": dict, "arrow": lambda: pa.table({})}.get(how) or pytest.importorskip(how).DataFrame
    with pytest.raises(InvalidArgument, match="no columns"):
        lance_sql.write(data(), path, mode=mode)
    assert path.exists() == (mode == "overwrite")


@pytest.mark.parametrize("scd", [1, 2])
def test_changes_of_types_that_do_not_fit_leave_no_version(tmp_path: Path, scd: Any) -> None:
    path = str(tmp_path / "t.lance")
    lance_sql.apply_changes(path, {"id": [1], "v": [1], "at": [1]}, "id", sequence_by="at", scd=scd)
    version = lance_sql.open(path).version
    with pytest.raises(InvalidArgument, match="Column 'v', row 0: 'a' does not fit int64"):
        lance_sql.apply_changes(path, {"id": [1], "v": ["a"], "new": [5], "at": [2]}, "id", sequence_by="at", scd=scd)
    assert lance_sql.open(path).version == version
