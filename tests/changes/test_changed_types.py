"""The feed over an alteration of a column's type: values that fit have the later one, others name the version."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import lance
import pyarrow as pa
import pytest

import lance_sql
from lance_sql.errors import InvalidArgument, LanceError

pandas: Any = pytest.importorskip("pandas")

MAP = pa.map_(pa.string(), pa.int32())
ALTERED: dict[str, tuple[pa.Array, pa.DataType]] = {
    "vector": (pa.array([[1.0, 2.0], None], pa.list_(pa.float32(), 2)), pa.list_(pa.float16(), 2)),
    "list of vectors": (
        pa.array([[[1.0, 2.0]], None], pa.list_(pa.list_(pa.float32(), 2))),
        pa.list_(pa.list_(pa.float64(), 2)),
    ),
    "list to large list": (pa.array([[1], None], pa.list_(pa.int32())), pa.large_list(pa.int64())),
    "map": (pa.array([[("a", 1)], None], MAP), pa.map_(pa.string(), pa.int64())),
    "struct of a vector": (
        pa.array([{"v": [1.0]}, None], pa.struct([("v", pa.list_(pa.float32(), 1))])),
        pa.struct([("v", pa.list_(pa.float64(), 1))]),
    ),
    "nothing to a list": (pa.nulls(2), pa.list_(pa.int64())),
    "nothing to a struct": (pa.nulls(2), pa.struct([("a", pa.int64())])),
    "number": (pa.array([1, None], pa.int32()), pa.int64()),
    "decimal": (pa.array([Decimal("1.5"), None]), pa.decimal128(10, 3)),
    "text": (pa.array(["a", None]), pa.large_string()),
    "uuid": (pa.ExtensionArray.from_storage(pa.uuid(), pa.array([b"\xff" * 16, None], pa.binary(16))), pa.string()),
    "text to uuid": (pa.array([f"{1:032x}", None]), pa.uuid()),
}


@pytest.mark.parametrize("stable", [True, False], ids=["ids", "key"])
@pytest.mark.parametrize("kind", ALTERED)
def test_images_have_the_later_type(tmp_path: Path, kind: str, *, stable: bool) -> None:
    values, type = ALTERED[kind]
    rows = pa.table({"id": [1, 2], "x": values})
    lance.write_dataset(rows, tmp_path / "t.lance", enable_stable_row_ids=stable)
    table = lance_sql.open(tmp_path / "t.lance")
    cursor = table.cursors.open("job") if stable else None
    try:
        table = table.alter_column("x", type=type)
    except LanceError as error:
        pytest.skip(f"no such alteration: {error}")
    table = table.delete("id = 2")
    key: Any = {} if stable else {"key": "id"}
    for mode in ("all", "net"):
        feed = table.changes(mode=mode, **key)
        assert feed.schema.field("x").type == table.schema.field("x").type
        assert feed.scan(["id", "x"]).to_table().num_rows > 0
    assert table.changes(since=1, **key).scan().to_table().num_rows > 0
    if cursor is not None:
        assert table.row_history().scan().to_table().num_rows > 0
        with table.cursors.open("job").read() as changes:
            assert changes.scan().to_table().num_rows > 0


def test_values_that_do_not_fit_name_the_version(tmp_path: Path) -> None:
    table = lance_sql.write(pa.table({"x": [[1], [300]]}), tmp_path / "t.lance").delete("list_contains(x, 300)")
    table = table.alter_column("x", type=pa.list_(pa.int8()))
    with pytest.raises(InvalidArgument, match="end the changes at version 2"):
        table.changes().scan().to_table()


@pytest.mark.parametrize("bound", ["since", "start", "end"])
@pytest.mark.parametrize("nothing", [pandas.NaT, pandas.Series([], dtype="datetime64[ns]").max()])
def test_a_bound_that_is_no_time_is_refused(tmp_path: Path, bound: str, nothing: Any) -> None:
    table = lance_sql.write({"x": [1]}, tmp_path / "t.lance")
    with pytest.raises(InvalidArgument, match="NaT"):
        table.changes(**{bound: nothing}).count_rows()
    with pytest.raises(InvalidArgument, match="NaT"):
        lance_sql.open(tmp_path / "t.lance", as_of=nothing)
