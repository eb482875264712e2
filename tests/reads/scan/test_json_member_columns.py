"""Members of JSON as columns of scans: `v.a.b`."""

from __future__ import annotations

import json
import pickle
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import lance_sql
from lance_sql import Dataset
from lance_sql.errors import ColumnNotFound, InvalidArgument
from tests.json_documents import (
    FIELD,
    MISSING,
    as_boolean,
    as_integer,
    as_number,
    as_string,
    document,
    json_text,
    member,
    rows_of,
)

MEMBERS = ("v.a", "v.b.a", "v.k y", "v.é", "v.0", "v.a.b.c", "v.none")
NUM_ROWS = 500


def write(path: Path, file_version: Any, max_rows_per_file: int = 1000) -> tuple[Dataset, list[Any]]:
    draw = random.Random(5)
    values = [MISSING if draw.random() < 0.1 else document(draw) for _ in range(NUM_ROWS)]
    table = lance_sql.write(rows_of(values), str(path), file_version=file_version, max_rows_per_file=max_rows_per_file)
    return table, values


def expected(values: list[Any], name: str) -> list[str | None]:
    found = [MISSING if value is MISSING else member(value, [*name.split(".")[1:]]) for value in values]
    return [None if (text := as_string(each)) is MISSING else text for each in found]


@pytest.mark.parametrize("file_version", ["2.0", "2.1", "2.2"])
@pytest.mark.parametrize("max_rows_per_file", [70, 1000])
def test_members_are_columns(tmp_path: Path, file_version: Any, max_rows_per_file: int) -> None:
    table, values = write(tmp_path / "t.lance", file_version, max_rows_per_file)
    scan = table.scan([*MEMBERS[:3], "id", "v", *MEMBERS[3:]])
    assert scan.schema.field("v.a").type == pa.string()
    rows = scan.to_table()
    for name in MEMBERS:
        assert rows[name].to_pylist() == expected(values, name), name
        assert table.scan([name]).to_table()[name].to_pylist() == expected(values, name), name
    assert rows["v"].equals(table.scan(["v"]).to_table()["v"])
    places = [3, 3, 499, 0]
    assert table.take(places, ["v.a", "id"])["v.a"].to_pylist() == [expected(values, "v.a")[at] for at in places]
    parts = [pickle.loads(pickle.dumps(task)).to_reader().read_all() for task in table.scan(["v.a"]).tasks(3)]
    assert pa.concat_tables(parts)["v.a"].to_pylist() == expected(values, "v.a")
    batches = table.scan(["v.a"], batch_size=64).to_reader()
    sizes = [batch.num_rows for batch in batches]
    assert (max(sizes), sum(sizes)) == (64, NUM_ROWS)


@pytest.mark.parametrize("file_version", ["2.0", "2.1", "2.2"])
@pytest.mark.parametrize(
    "condition", ["id % 3 = 0", "v->>'a' IS NOT NULL", "v LIKE '%7%'", "v->>'a' = '7' OR v LIKE '[%'"]
)
def test_members_of_rows_that_pass(tmp_path: Path, file_version: Any, condition: str) -> None:
    table, values = write(tmp_path / "t.lance", file_version)
    ids = table.scan(["id"], condition).to_table()["id"].to_pylist()
    assert 0 < len(ids) < NUM_ROWS
    wanted = [expected(values, "v.a")[at] for at in ids]
    assert table.scan(["v.a"], condition).to_table()["v.a"].to_pylist() == wanted
    some = table.scan(["v.a", "v"], condition, limit=5).to_table()
    assert some["v.a"].to_pylist() == wanted[:5]
    assert [json.loads(each) if each else MISSING for each in some["v"].to_pylist()] == [values[at] for at in ids[:5]]


def test_members_after_changes(tmp_path: Path) -> None:
    table, _ = write(tmp_path / "t.lance", "2.1")
    table = table.update({"v": """'{"a": "new"}'"""}, "id < 3").delete("id = 1").add_columns([FIELD.with_name("w")])
    rows = table.scan(["id", "v.a", "w.a"], "id < 3").to_table().sort_by("id")
    assert rows.to_pylist() == [{"id": at, "v.a": "new", "w.a": None} for at in (0, 2)]
    assert table.scan(["v.a"], "id = 0", fresh=True).to_table()["v.a"].to_pylist() == ["new"]
    renamed = table.rename_columns({"v": "u"})
    assert renamed.scan(["u.a"], "id = 0").to_table()["u.a"].to_pylist() == ["new"]


CONVERSIONS: dict[str, Callable[[Any], Any]] = {
    "VARCHAR": as_string,
    "BIGINT": as_integer,
    "DOUBLE": lambda value: number if (number := as_number(value)) is MISSING else float(number),
    "BOOLEAN": as_boolean,
    "JSON": lambda value: value if value is MISSING else json_text(value),
}


@pytest.mark.parametrize("type", CONVERSIONS)
@pytest.mark.parametrize("file_version", ["2.0", "2.1", "2.2"])
def test_members_have_types(tmp_path: Path, file_version: Any, type: str) -> None:
    draw, convert = random.Random(6), CONVERSIONS[type]
    found = [document(draw) for _ in range(NUM_ROWS)]
    fitting, others = [], []
    for value in found:
        try:
            convert(value)
        except ValueError:
            others.append(value)
        else:
            fitting.append(value)
    documents = [{"a": value, "b": [value]} for value in fitting] + [{}, MISSING, 5]
    table = lance_sql.write(rows_of(documents), str(tmp_path / "t.lance"), file_version=file_version)
    wanted = [None if (value := convert(member(each, ["a"]))) is MISSING else value for each in documents]
    column = table.scan([f"v.a::{type}", "v.b", "id"], "id >= 0").to_table()["v.a"]
    assert column.to_pylist() == wanted
    assert column.type == {"BIGINT": pa.int64(), "DOUBLE": pa.float64(), "BOOLEAN": pa.bool_()}.get(type, pa.string())
    assert table.scan([f"v.a::{type.lower()}"], limit=3).to_table()["v.a"].to_pylist() == wanted[:3]
    assert table.take([2, 0], [f"v.a::{type}"])["v.a"].to_pylist() == [wanted[2], wanted[0]]
    # each of them fails, and alone
    for value in others[:4]:
        other = lance_sql.write(rows_of([{"a": None}, {"a": value}]), f"memory://{type}.lance", mode="overwrite")
        with pytest.raises(InvalidArgument, match=r"column 'v\.a': The member"):
            other.scan([f"v.a::{type}"]).to_table()
        assert other.scan([f"v.a::{type}"], "id = 0").to_table().num_rows == 1


@pytest.mark.parametrize(
    ("name", "error", "message"),
    [
        ("v.", InvalidArgument, "empty"),
        ("v..a", InvalidArgument, "empty"),
        ("v.a.", InvalidArgument, "empty"),
        ("v.a::INT", InvalidArgument, "use VARCHAR, BIGINT, DOUBLE, BOOLEAN, JSON"),
        ("v::JSON", ColumnNotFound, "'v::JSON'"),
        ("id.a", ColumnNotFound, "no part is named 'a'"),
        ("w.a", ColumnNotFound, "'w.a'"),
    ],
)
def test_other_names_are_refused(tmp_path: Path, name: str, error: type[Exception], message: str) -> None:
    table, _ = write(tmp_path / "t.lance", "2.1")
    with pytest.raises(error, match=message):
        table.scan([name])
    with pytest.raises(InvalidArgument, match="selected twice"):
        table.scan(["v.a", "v.a"])
    with pytest.raises(InvalidArgument, match=r"'v\.a' is selected twice"):
        table.scan(["v.a", "v.a::BIGINT"])
