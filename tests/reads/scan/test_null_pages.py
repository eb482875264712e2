"""IS NULL and IS NOT NULL where the layouts of pages answer them: the rows of a full read, and nothing decoded."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import lance
import pyarrow as pa
import pytest

import lance_sql
from lance_sql.reads.scan.stream import evaluation
from lance_sql.table.open_fragment import OpenFragment

VERSIONS = ["2.0", "2.1", "2.2"]
ROWS = 40

TYPES: dict[str, tuple[pa.DataType, Callable[[int], Any]]] = {
    "i": (pa.int64(), lambda n: n),
    "b": (pa.bool_(), lambda n: n % 3 == 0),
    "s": (pa.string(), lambda n: f"text {n % 3}"),
    "y": (pa.binary(), lambda n: b"" if n % 2 else b"x" * 300),
    "d": (pa.dictionary(pa.int16(), pa.string()), lambda n: f"k{n % 3}"),
    "c": (pa.int32(), lambda n: 7),
    "v": (pa.list_(pa.float32(), 2), lambda n: [n, 1.0]),
    "l": (pa.list_(pa.int32()), lambda n: [None] * (n % 3)),
    "t": (
        pa.struct([("x", pa.int32()), ("u", pa.struct([("z", pa.string())])), ("l", pa.list_(pa.int8()))]),
        lambda n: {"x": None if n % 5 == 0 else n, "u": {"z": str(n)}, "l": []},
    ),
}
PATHS = [*TYPES, "t.x", "t.u", "t.u.z", "t.l", "m", "m.x"]


NO_MEMBERS = {"x": None, "u": {"z": None}, "l": None}


def rows(first: int, is_null: Callable[[int], bool], *, with_null_structs: bool) -> pa.Table:
    columns = {"id": pa.array(range(first, first + ROWS), pa.int64())}
    for name, (type, value) in TYPES.items():
        absent = NO_MEMBERS if name == "t" and not with_null_structs else None
        values = [absent if is_null(n) else value(n) for n in range(ROWS)]
        columns[name] = (
            pa.array(values, pa.string()).dictionary_encode().cast(type) if name == "d" else pa.array(values, type)
        )
    if with_null_structs:
        # members that are there where the struct is not
        absent = pa.array([is_null(n) for n in range(ROWS)])
        columns["m"] = pa.StructArray.from_arrays([pa.array(range(ROWS))], ["x"], mask=absent)
    return pa.table(columns)


@pytest.fixture(scope="module", params=VERSIONS)
def dataset(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> lance_sql.Dataset:
    """Fragments without NULL, with some, with NULL only, and with some that are all deleted."""
    path = str(tmp_path_factory.mktemp("nulls") / "data.lance")
    patterns: list[Callable[[int], bool]] = [
        lambda n: False,
        lambda n: n % 4 == 1,
        lambda n: True,
        lambda n: n % 2 == 0,
        lambda n: False,
    ]
    for number, is_null in enumerate(patterns):
        mode = "append" if number else "create"
        table = rows(number * ROWS, is_null, with_null_structs=request.param != "2.0")
        if number == 4 and request.param != "2.0":
            # no file has the other columns
            table = table.select(["id", "i"])
        lance.write_dataset(table, path, mode=mode, data_storage_version=request.param)
    lance.dataset(path).delete(f"id >= {3 * ROWS} AND id < {4 * ROWS} AND id % 2 = 0")
    return lance_sql.open(path)


def values(dataset: lance_sql.Dataset, path: str) -> dict[int, Any]:
    """What a full read finds at a path, by the row's id; a member is NULL where a struct around it is."""
    top, *below = path.split(".")
    found = {}
    for row in dataset.scan(["id", top]).to_table().to_pylist():
        value = row[top]
        for name in below:
            value = None if value is None else value[name]
        found[row["id"]] = value
    return found


def ids(dataset: lance_sql.Dataset, condition: str) -> list[int]:
    found: list[int] = dataset.scan(["id"], condition).to_table()["id"].to_pylist()
    return found


@pytest.mark.parametrize("path", PATHS)
def test_tests_for_null_find_the_rows_of_a_full_read(dataset: lance_sql.Dataset, path: str) -> None:
    if path.split(".")[0] not in dataset.schema.names:
        pytest.skip("structs are never NULL in this file version")
    found = values(dataset, path)
    absent = [key for key, value in found.items() if value is None]
    present = [key for key, value in found.items() if value is not None]
    assert ids(dataset, f"{path} IS NULL") == absent
    assert ids(dataset, f"{path} IS NOT NULL") == present
    assert dataset.count_rows(f"{path} IS NULL") == len(absent)
    assert dataset.count_rows(f"{path} IS NOT NULL") == len(present)
    large = {key for key, value in values(dataset, "i").items() if value is not None and value > 5}
    assert ids(dataset, f"NOT ({path} IS NULL) AND i > 5") == [key for key in present if key in large]


def test_tests_for_null_inside_of_other_conditions(dataset: lance_sql.Dataset) -> None:
    i, s = values(dataset, "i"), values(dataset, "s")
    either = [key for key in i if s[key] is None or (i[key] is not None and i[key] < 3)]
    assert ids(dataset, "s IS NULL OR i < 3") == either
    # i < 3 is unknown where i is NULL
    neither = [key for key in i if s[key] is not None and i[key] is not None and i[key] >= 3]
    assert ids(dataset, "NOT (s IS NULL OR i < 3)") == neither
    unknown = [key for key in i if (i[key] is None) and s[key] is not None]
    assert ids(dataset, "(s IS NOT NULL AND i < 3) IS NULL") == unknown


@pytest.mark.parametrize("version", VERSIONS)
def test_nothing_is_read_where_pages_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: Any) -> None:
    member = pa.array([n if n % 2 else None for n in range(20_000)])
    columns = {"i": pa.array(range(20_000), pa.int64()), "n": pa.nulls(20_000, pa.float64())}
    table = pa.table({**columns, "m": pa.StructArray.from_arrays([member], ["x"])})
    lance.write_dataset(table, tmp_path / "t", data_storage_version=version)
    dataset = lance_sql.open(tmp_path / "t")

    def read(*_: object) -> None:
        raise AssertionError("a column was read")

    monkeypatch.setattr(OpenFragment, "read", read)
    assert dataset.count_rows("i IS NOT NULL") == 20_000
    assert dataset.count_rows("i IS NULL") == 0
    assert dataset.count_rows("n IS NULL AND (i IS NOT NULL OR i > 5)") == 20_000
    assert dataset.count_rows("n IS NOT NULL") == 0
    assert dataset.count_rows("m IS NOT NULL") == 20_000
    assert dataset.count_rows("m.x IS NOT NULL") == 10_000
    monkeypatch.setattr(evaluation, "evaluate_in_order", read)
    with pytest.raises(AssertionError):
        dataset.count_rows("i IS NOT NULL AND abs(i) * 2 = 4")
