"""The way in which each column is read, as `explain` reports it: the table of docs/architecture.md."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import lance_sql
from benchmarks.object_store_server import BUCKET, StoreServer
from lance_sql.dataset import Dataset
from lance_sql.format.file.kernel_column import KernelColumn
from lance_sql.format.old_files.path_column import PathColumn
from lance_sql.reads.scan.stream import runs

pytestmark = pytest.mark.usefixtures("maps_files")

DOCUMENT = Path(__file__).parents[3] / "docs" / "architecture.md"
VERSIONS = ("2.0", "2.1", "2.2")
NUM_ROWS = 4_000

FULL_ZIP = {"lance-encoding:structural-encoding": "fullzip"}
PACKED = {"lance-encoding:packed": "true"}
LONG = [f"{number} {'long ' * 50}" if number % 3 else None for number in range(NUM_ROWS)]
POINT = pa.struct([("x", pa.int64()), ("y", pa.float32())])
VECTOR = pa.list_(pa.float32(), 4)


def vectors(item: object) -> list[object]:
    return [[1, 2, item, 4], None, [5, 6, 7, 8]]


COLUMNS: dict[str, tuple[pa.DataType, list[Any], dict[str, str]]] = {
    "numbers, times, decimals": (pa.int64(), [5, None, 7], {}),
    "`bool`": (pa.bool_(), [True, None, False], {}),
    "`string`, `binary`": (pa.string(), ["a", None, "some words"], {}),
    "`large_string`": (pa.large_string(), ["a", None, "some words"], {}),
    "long strings": (pa.string(), LONG, {}),
    "one value": (pa.int32(), [7, 7, 7], {}),
    "one value or NULL": (pa.string(), ["same", None, "same"], {}),
    "NULL only": (pa.int32(), [None, None, None], {}),
    "`null`": (pa.null(), [None, None, None], {}),
    "JSON": (pa.json_(pa.string()), ['{"a":1}', None, "[2]"], {}),
    "UUIDs": (pa.uuid(), [b"0123456789abcdef", None, b"abcdef0123456789"], {}),
    "dictionary of 32-bit indices": (pa.dictionary(pa.int32(), pa.string()), ["a", None, "b"], {}),
    "dictionary of other indices": (pa.dictionary(pa.int8(), pa.string()), ["a", None, "b"], {}),
    "vectors": (VECTOR, vectors(3), {}),
    "vectors with NULL items": (VECTOR, vectors(None), {}),
    "vectors of `bool`": (pa.list_(pa.bool_(), 4), [[True, False, True, True], None, [False] * 4], {}),
    "long vectors": (pa.list_(pa.float32(), 256), [[1.5] * 256, None, [2.5] * 256], {}),
    "lists of numbers": (pa.list_(pa.int64()), [[1, 2], None, [], [3, None]], {}),
    "lists of strings": (pa.list_(pa.string()), [["a", "b"], None, [], ["c", None]], {}),
    "lists of `large_string`": (pa.list_(pa.large_string()), [["a", "b"], None, [], ["c", None]], {}),
    "lists of long strings": (pa.list_(pa.string()), [[text] if text else None for text in LONG], {}),
    "lists of strings in full-zip pages": (
        pa.list_(pa.field("item", pa.string(), metadata=FULL_ZIP)),
        [[text] if text else None for text in LONG],
        {},
    ),
    "lists of lists": (pa.list_(pa.list_(pa.int32())), [[[1], None, []], None, []], {}),
    "lists of vectors": (pa.list_(VECTOR), [[[1, 2, 3, 4], None], None, []], {}),
    "lists of dictionaries": (pa.list_(pa.dictionary(pa.int32(), pa.string())), [["a", "b"], None, []], {}),
    "lists of structs": (pa.list_(POINT), [[{"x": 1, "y": 2}, None], None, []], {}),
    "maps": (pa.map_(pa.string(), pa.int64()), [[("a", 1)], None, []], {}),
    "structs": (POINT, [{"x": 1, "y": 2.5}, None, {"x": None, "y": 3}], {}),
    "structs of vectors": (pa.struct([("v", VECTOR)]), [{"v": [1, 2, 3, 4]}, None, {"v": None}], {}),
    "structs without members": (pa.struct([]), [{}, {}, {}], {}),
    "fixed-size lists of structs": (pa.list_(POINT, 2), [[{"x": 1, "y": 2}] * 2, [None] * 2], {}),
    "blobs": (pa.large_binary(), [b"abc", None, b""], {"lance-encoding:blob": "true"}),
    "packed structs": (POINT, [{"x": 1, "y": 2.5}, {"x": 2, "y": 3}], PACKED),
    "packed structs with strings": (
        pa.struct([("x", pa.int64()), ("s", pa.string())]),
        [{"x": 1, "s": "a"}, {"x": 2, "s": "bc"}],
        PACKED,
    ),
}
"""Type, values, and metadata of the field of each kind of column."""

FIRST_VERSIONS = {
    "lists of structs": "2.1",
    "structs": "2.1",
    "structs of vectors": "2.1",
    "maps": "2.2",
    "fixed-size lists of structs": "2.2",
    "packed structs with strings": "2.2",
}
"""Versions that hold columns, NULL among them, if not all do."""

USES = ("output", "filter", "take")
LETTERS = {"read by the kernels, as a stream": "S", "read by the kernels, as arrays": "A", "read by Python": "P"}


def column(kind: str) -> tuple[pa.Array, pa.Field]:
    type, values, metadata = COLUMNS[kind]
    storage = type.storage_type if isinstance(type, pa.BaseExtensionType) else type
    if pa.types.is_dictionary(type):
        array = pa.array(values).dictionary_encode().cast(type)
    else:
        array = pa.array(values, storage)
    if isinstance(type, pa.BaseExtensionType):
        array = pa.ExtensionArray.from_storage(type, array)
    array = pa.concat_arrays([array] * (NUM_ROWS // len(array) + 1)).slice(0, NUM_ROWS)
    return array, pa.field(f"c{list(COLUMNS).index(kind)}", type, metadata=metadata)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table of each file version, with the columns that it holds."""
    folder = tmp_path_factory.mktemp("ways")
    for version in VERSIONS:
        made = [(pa.array(range(NUM_ROWS)), pa.field("id", pa.int64()))]
        made += [column(kind) for kind in COLUMNS if version >= FIRST_VERSIONS.get(kind, "2.0")]
        arrays, fields = zip(*made, strict=True)
        table = pa.Table.from_arrays(arrays, schema=pa.schema(fields))
        lance_sql.write(table, folder / f"{version}.lance", file_version=version)
    return folder


def ways(table: Dataset, name: str, use: str) -> str:
    """The letter of the way in which a column is read."""
    scan = scan_of(table, name, use)
    lines = [line.strip() for line in scan.explain().splitlines()]
    found = [line for line in lines if re.search(rf"^read .*: .*\b{name}\b", line)]
    assert len(found) <= 1, found
    # pages that answer IS NULL are not read
    return LETTERS[re.sub(r"( \(.*\))?: .*", "", found[0])] if found else "-"


def scan_of(table: Dataset, name: str, use: str) -> Any:
    if use == "output":
        return table.scan([name])
    if use == "filter":
        return table.scan(["id"], f"{name} IS NULL AND id >= 0")
    return table.scan([name], f"_rowid IN (3, {NUM_ROWS - 2000})")


def cell(table: Dataset, kind: str) -> str:
    name = column(kind)[1].name
    if name not in table.schema.names:
        return ""
    return "".join(ways(table, name, use) for use in USES)


def rows_of_the_document() -> dict[str, list[str]]:
    text = DOCUMENT.read_text().split("| Column |")[1].split("\n\n")[0]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines()[2:]]
    return {row[0]: row[1:] for row in rows}


def found_in(tables: list[Dataset], is_far: int) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """The cells of the tables, and those of the document."""
    found = {kind: [cell(table, kind) for table in tables] for kind in COLUMNS}
    return found, {kind: cells[is_far::2] for kind, cells in rows_of_the_document().items()}


def test_the_document_has_the_way_of_each_column(folder: Path) -> None:
    found, expected = found_in([lance_sql.open(folder / f"{version}.lance") for version in VERSIONS], 0)
    assert found == expected, found


def test_the_document_has_the_way_of_each_column_of_remote_files(folder: Path) -> None:
    with StoreServer(folder, seconds=0.0, bytes_per_second=1e12) as server:
        tables = [
            lance_sql.open(f"s3://{BUCKET}/{version}.lance", storage_options=server.options) for version in VERSIONS
        ]
        found, expected = found_in(tables, 1)
    assert found == expected, found


@pytest.mark.slow
@pytest.mark.parametrize("version", VERSIONS)
def test_columns_are_read_in_the_way_that_explain_reports(
    folder: Path, version: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Counts what decodes: Python, or streams."""
    used = set()

    def counted(owner: Any, name: str, letter: str) -> None:
        original = getattr(owner, name)

        def call(*arguments: Any) -> object:
            result = original(*arguments)
            if result is not None:
                used.add(letter)
            return result

        monkeypatch.setattr(owner, name, call)

    counted(KernelColumn, "decode", "P")
    counted(PathColumn, "decode", "P")
    counted(runs, "prepared", "S")
    table = lance_sql.open(folder / f"{version}.lance")
    for field in table.schema:
        for use in USES if field.name != "id" else ():
            expected = {ways(table, field.name, use)} - {"A", "-"}
            used.clear()
            scan_of(table, field.name, use).to_table()
            assert used - ({"S"} if expected == set() and use == "filter" else set()) == expected, (field, use)


@pytest.mark.parametrize("analyze", [False, True])
def test_explain_reports_the_reason(tmp_path: Path, analyze: bool) -> None:
    rows = pa.table({"id": range(NUM_ROWS), "empty": pa.array([{}] * NUM_ROWS, pa.struct([]))})
    for part in (rows, rows.slice(0, 500)):
        lance_sql.write(part, tmp_path / "t.lance", mode="append")
    table = lance_sql.open(tmp_path / "t.lance")
    lines = [line.strip() for line in table.scan().explain(analyze=analyze).splitlines()]
    for reason in ("with empty, which has no stream", "a short fragment"):
        assert f"read by the kernels, as arrays ({reason}): id, empty (in 1 of 2 fragments)" in lines
    assert "read by the kernels, as a stream: id (in 1 of 2 fragments)" in table.scan(["id"]).explain(analyze=analyze)
    text = table.scan(["id"], batch_size=300).explain(analyze=analyze)
    assert "read by the kernels, as arrays (a short file): id (in 1 of 2 fragments)" in text


@pytest.mark.parametrize("analyze", [False, True])
def test_explain_reports_why_python_decodes(tmp_path: Path, analyze: bool) -> None:
    rows = pa.table(
        {"lists": [[1], None] * (NUM_ROWS // 2), "bits": pa.array([[True]] * NUM_ROWS, pa.list_(pa.bool_(), 1))}
    )
    lance_sql.write(rows, tmp_path / "t.lance", file_version="2.0")
    text = lance_sql.open(tmp_path / "t.lance").scan().explain(analyze=analyze)
    assert "read by Python (lists without levels): lists" in text
    assert "read by Python (fixed size list of stored of flat): bits" in text
