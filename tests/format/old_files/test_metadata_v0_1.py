"""A file of version 0.1 made by hand, and what becomes of one that contradicts itself."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from lance_sql.errors import CorruptFile
from lance_sql.format import file_versions
from lance_sql.format.file.column_rows import read_columns
from lance_sql.format.file.leaves import Leaf, leaves
from lance_sql.format.file.opening import Listed, open_column
from lance_sql.format.file.page_cache import PageCache
from lance_sql.format.file.reader import FileReader
from lance_sql.format.layouts.nest import Chain
from lance_sql.format.proto import file_pb2, table_pb2
from lance_sql.format.schema import Field
from lance_sql.store import MemoryStore
from lance_sql.values import row_ranges

TEXT = Field("c", 4, -1, "string")
NUMBER = Field("n", 6, -1, "int32")
ITEM = Field("item", 8, 7, "int16")
LIST = Field("l", 7, -1, "list", children=(ITEM,))
EVERY = (TEXT, NUMBER, LIST)


def frame(message: Any) -> bytes:
    data: bytes = message.SerializeToString()
    return struct.pack("<I", len(data)) + data


def file_of(
    batches: Sequence[tuple[Sequence[str], Sequence[int], Sequence[Sequence[int]]]],
    *,
    offsets: Sequence[int] | None = None,
    table: bytes | None = None,
    base: int = 4,
    minor: int = 2,
    manifest: bool = True,
) -> bytes:
    """A file with the columns of EVERY.

    batches: texts, numbers and lists of each
    offsets, table: instead of the batch offsets, the page table
    base: the field id that the page table begins with
    """
    data = b""
    entries = np.zeros((9 - base, len(batches), 2), np.int64)
    for batch, (texts, numbers, lists) in enumerate(batches):
        start = len(data)
        ends = np.cumsum([0, *(len(text.encode()) for text in texts)]) + start
        data += "".join(texts).encode()
        entries[4 - base, batch] = len(data), len(texts)
        data += ends.astype("<i8").tobytes()
        entries[6 - base, batch] = len(data), len(numbers)
        data += np.array(numbers, "<i4").tobytes()
        entries[7 - base, batch] = len(data), len(lists) + 1
        data += np.cumsum([0, *map(len, lists)]).astype("<i4").tobytes()
        items = [item for items in lists for item in items]
        entries[8 - base, batch] = len(data), len(items)
        data += np.array(items, "<i2").tobytes()
    table_position = len(data)
    data += entries.tobytes() if table is None else table
    manifest_position = len(data)
    fields = [
        file_pb2.Field(name=f.name, id=f.id, parent_id=f.parent_id, logical_type=f.logical_type, nullable=True)
        for f in (*EVERY, ITEM)
    ]
    data += frame(table_pb2.Manifest(fields=fields))
    metadata_position = len(data)
    if offsets is None:
        offsets = np.cumsum([0, *(len(texts) for texts, _, _ in batches)]).tolist()
    data += frame(
        file_pb2.Metadata(
            manifest_position=manifest_position if manifest else 0,
            batch_offsets=offsets,
            page_table_position=table_position,
        )
    )
    return data + struct.pack("<QHH4s", metadata_position, 0, minor, b"LANC")


BATCHES = [
    (["ab", "", "xyz"], [1, 2, 3], [[1, 2], [], [3]]),
    (["", "é"], [4, 5], [[], [4, 5, 6]]),
]
EXPECTED: dict[str, list[Any]] = {
    "c": ["ab", None, "xyz", None, "é"],
    "n": [1, 2, 3, 4, 5],
    "l": [[1, 2], [], [3], [], [4, 5, 6]],
}


def opened(data: bytes) -> FileReader:
    return FileReader(MemoryStore({"data/x.lance": data}), "data/x.lance", PageCache())


def read(data: bytes, field: Field, rows: row_ranges.RowRanges | None = None) -> list[object]:
    file = opened(data)
    (leaf,) = leaves(field)
    listed = Listed(frozenset([4, 6, 7, 8]), {})
    column = open_column(file, listed, leaf, Chain(leaf.type, leaf.outer), field.name)
    assert column is not None
    (array,) = read_columns([column], row_ranges.single(0, file.num_rows) if rows is None else rows)
    array.validate(full=True)
    values: list[object] = array.to_pylist()
    return values


@pytest.mark.parametrize("field", EVERY, ids=lambda field: field.logical_type)
def test_columns_are_found_by_the_ids_of_their_fields(field: Field) -> None:
    data = file_of(BATCHES)
    assert read(data, field) == EXPECTED[field.name]
    for start in range(5):
        for end in range(start + 1, 6):
            assert read(data, field, row_ranges.single(start, end)) == EXPECTED[field.name][start:end]
    assert read(data, field, np.array([[0, 1], [2, 3], [4, 5]])) == EXPECTED[field.name][::2]


def test_files_describe_themselves() -> None:
    file = opened(file_of(BATCHES))
    assert (file.file_version, file.num_rows, file.num_columns) == (file_versions.V0_1, 5, 4)


@pytest.mark.parametrize("minor", [0, 1, 2])
def test_the_versions_before_2_0_are_one(minor: int) -> None:
    assert read(file_of(BATCHES, minor=minor), NUMBER) == EXPECTED["n"]


def test_tables_of_early_releases_begin_with_field_0() -> None:
    assert read(file_of(BATCHES, base=0, minor=1), TEXT) == EXPECTED["c"]
    assert read(file_of(BATCHES, base=0, minor=0), LIST) == EXPECTED["l"]


def test_empty_strings_of_a_field_without_null_stay_empty() -> None:
    required = Field("c", 4, -1, "string", nullable=False)
    assert read(file_of(BATCHES), required) == ["ab", "", "xyz", "", "é"]


def test_a_field_that_is_not_listed_has_no_column() -> None:
    other = Leaf(Field("z", 5, -1, "int32"), pa.int32())
    assert open_column(opened(file_of(BATCHES)), Listed(frozenset([4]), {}), other, Chain(pa.int32()), "z") is None


def test_fields_with_new_ids_in_the_table_are_those_at_their_places() -> None:
    renamed = {4: 10, 6: -1, 7: 11, 8: 12}
    item = ITEM._replace(id=12, parent_id=11)
    for field in (TEXT._replace(id=10), LIST._replace(id=11, children=(item,))):
        (leaf,) = leaves(field)
        listed = Listed(frozenset(renamed.values()), {}, tuple(renamed.values()))
        file = opened(file_of(BATCHES))
        column = open_column(file, listed, leaf, Chain(leaf.type, leaf.outer), field.name)
        assert column is not None
        assert read_columns([column], row_ranges.single(0, 5))[0].to_pylist() == EXPECTED[field.name]


def test_new_ids_of_more_fields_than_the_file_has_are_damage() -> None:
    leaf = Leaf(TEXT._replace(id=10), pa.string())
    listed = Listed(frozenset([10, 11, 12, 13, 14]), {}, (10, 11, 12, 13, 14))
    with pytest.raises(CorruptFile, match="no entries for field 10"):
        open_column(opened(file_of(BATCHES)), listed, leaf, Chain(pa.string()), "c")


@pytest.mark.parametrize("offsets", [[1, 3, 5], [0, 3, 2], [0, 3, 6], [0, 3], [0, -1, 5]])
def test_batches_that_contradict_the_pages_are_refused(offsets: list[int]) -> None:
    with pytest.raises(CorruptFile, match=r"data/x\.lance"):
        read(file_of(BATCHES, offsets=offsets), NUMBER)


def page_table(**entries: tuple[int, int]) -> bytes:
    """The page table of one batch, with the entries of some fields."""
    table = np.zeros((5, 1, 2), np.int64)
    for name, entry in entries.items():
        table[int(name.removeprefix("id")) - 4, 0] = entry
    return table.tobytes()


@pytest.mark.parametrize("entry", [(2**62, 3), (-1, 3), (0, 2**62), (0, -3), (0, 2), (0, 4), (10**6, 3)])
@pytest.mark.parametrize("field", EVERY, ids=lambda field: field.logical_type)
def test_entries_that_the_file_cannot_have_are_refused(field: Field, entry: tuple[int, int]) -> None:
    table = page_table(**{f"id{field.id}": entry, "id8": (0, 1)})
    if field is LIST and entry == (0, 4):
        return
    with pytest.raises(CorruptFile, match=r"data/x\.lance"):
        read(file_of(BATCHES[:1], table=table), field)


@pytest.mark.parametrize("table", [b"", bytes(16), bytes(7)])
def test_a_short_page_table_is_refused(table: bytes) -> None:
    data = file_of(BATCHES, table=table)
    # what follows the table is read as entries, and is none
    with pytest.raises(CorruptFile):
        read(data, LIST)


def test_string_offsets_stay_in_the_file() -> None:
    data = bytearray(file_of(BATCHES))
    for value in (-1, len(data) + 1, 2**62):
        damaged = bytes(data[:5]) + struct.pack("<q", value) + bytes(data[13:])
        with pytest.raises(CorruptFile):
            read(damaged, TEXT)


def test_a_file_without_a_schema_is_refused() -> None:
    with pytest.raises(CorruptFile, match="without a schema"):
        read(file_of(BATCHES, manifest=False), NUMBER)


@pytest.mark.parametrize("length", [0, 7, 15, 16, 30])
def test_a_file_too_short_for_its_metadata_is_refused(length: int) -> None:
    data = file_of(BATCHES)
    with pytest.raises(CorruptFile):
        opened(data[len(data) - length :])


@pytest.mark.parametrize("position", [2**64 - 1, 2**63, 2**40])
def test_metadata_outside_of_the_file_is_refused(position: int) -> None:
    data = file_of(BATCHES)
    with pytest.raises(CorruptFile, match="a message at byte"):
        opened(data[:-16] + struct.pack("<QHH4s", position, 0, 2, b"LANC"))


def test_a_file_without_rows_can_be_opened() -> None:
    assert opened(file_of([], offsets=[])).num_rows == 0
