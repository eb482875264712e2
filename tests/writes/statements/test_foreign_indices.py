"""Indices that another writer has built on types of which none is built here: they answer or stay as they are."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import lance
import pyarrow as pa
import pytest

import lance_sql
from lance_sql.errors import UnsupportedFeature

NOT_BUILT: dict[str, Callable[[list[int]], Any]] = {
    "uuid": lambda numbers: pa.ExtensionArray.from_storage(
        pa.uuid(), pa.array([uuid.UUID(int=number).bytes for number in numbers], pa.binary(16))
    ),
    "fixed_size_binary": lambda numbers: pa.array([bytes([number, 1]) for number in numbers], pa.binary(2)),
    "dictionary": lambda numbers: pa.array([f"v{number}" for number in numbers]).dictionary_encode(),
}


@pytest.mark.parametrize("stable", [True, False], ids=["ids", "addresses"])
@pytest.mark.parametrize("kind", ["BTREE", "BITMAP", "ZONEMAP"])
@pytest.mark.parametrize("column", NOT_BUILT)
def test_an_index_that_is_not_built_here_stays_as_it_is(
    tmp_path: Path, column: str, kind: Any, *, stable: bool
) -> None:
    path, make = tmp_path / "t.lance", NOT_BUILT[column]
    lance.write_dataset(pa.table({"id": [1, 2], "x": make([1, 2]), "n": [1, 2]}), path, enable_stable_row_ids=stable)
    try:
        lance.dataset(path).create_scalar_index("x", kind)
    except (OSError, TypeError, ValueError) as error:
        pytest.skip(f"pylance does not build it: {error}")
    lance.dataset(path).create_scalar_index("n", "BTREE")
    rows = pa.table({"id": [3], "x": make([3]), "n": [3]})
    lance_sql.write(rows, path, mode="append")

    table = lance_sql.open(path).delete("id = 1").maintenance.compact().indices.optimize()

    by_name = {index.name: index for index in table.indices.list()}
    assert set(by_name) == {"x_idx", "n_idx"}
    assert by_name["n_idx"].num_uncovered == 0
    assert sorted(table.to_table(["id"]).column("id").to_pylist()) == [2, 3]
    assert table.count_rows("n = 3") == 1
    with pytest.raises(UnsupportedFeature, match="x_idx"):
        table.indices.optimize(["x_idx"])


@pytest.mark.parametrize("file_version", ["2.0", "2.1", "2.2"])
@pytest.mark.parametrize("kind", ["BLOOMFILTER", "BTREE", "BITMAP", "ZONEMAP"])
@pytest.mark.parametrize("inside", [False, True], ids=["column", "member"])
def test_an_index_of_the_binary_form_of_json_loses_no_row(
    tmp_path: Path, kind: Any, file_version: Any, *, inside: bool
) -> None:
    path = tmp_path / "t.lance"
    texts = pa.array([f'{{"k":{number % 50}}}' for number in range(200)])
    values = pa.ExtensionArray.from_storage(pa.json_(pa.string()), texts)
    column = pa.StructArray.from_arrays([values], fields=[pa.field("j", values.type)]) if inside else values
    lance.write_dataset(pa.table({"id": range(200), "x": column}), path, data_storage_version=file_version)
    name = "x.j" if inside else "x"
    lance.dataset(path).create_scalar_index(name, kind)
    table = lance_sql.open(path)
    for condition in (f"{name} = '{{\"k\":3}}'", f"{name} IN ('{{\"k\":3}}', 'x')", f"{name} IS NULL"):
        expected = lance_sql.open(path, use_indices=False).count_rows(condition)
        assert table.count_rows(condition) == expected
    assert table.delete(f"{name} = '{{\"k\":3}}'").count_rows() == 196


@pytest.mark.parametrize("kind", ["bloomfilter", "btree", "bitmap", "zonemap"])
def test_no_index_of_documents_is_built(tmp_path: Path, kind: Any) -> None:
    values = pa.ExtensionArray.from_storage(pa.json_(pa.string()), pa.array(['{"k":1}']))
    table = lance_sql.write(pa.table({"j": values}), tmp_path / "t.lance")
    with pytest.raises(UnsupportedFeature, match=f"a {kind} index on the documents of the JSON column 'j'"):
        table.indices.create("j", kind)


@pytest.mark.parametrize("kind", ["BTREE", "BITMAP"])
def test_an_index_of_documents_stays_as_pylance_built_it(tmp_path: Path, kind: Any) -> None:
    path = str(tmp_path / "t.lance")
    values = pa.ExtensionArray.from_storage(pa.json_(pa.string()), pa.array(['{"k":1}', None]))
    lance.write_dataset(pa.table({"id": [1, 2], "j": values}), path).create_scalar_index("j", kind)
    table = lance_sql.open(path).merge({"id": [3], "j": ['{"k":3}']}, "id").maintenance.compact().indices.optimize()
    assert table.count_rows("j IS NULL") == 1
    assert table.count_rows("j = '{\"k\":3}'") == 1
    assert lance.dataset(path).count_rows("j IS NULL") == 1
