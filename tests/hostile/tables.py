"""Tables with false claims or damage: one function for each kind, over a copy of a small table."""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
from google.protobuf.any_pb2 import Any as AnyMessage
from pyroaring import BitMap

import lance_sql
from lance_sql.format.proto import file2_pb2, row_ids_pb2, table_pb2, transaction_pb2
from tests.damaged.messages import with_columns, with_manifest

ESCAPES: Final = "a\n\x1b]0;title\x07\u202e.lance"
"""A name that a terminal must not get to see as it is."""

HUGE: Final = 2**32 - 1

Damage = Callable[[Path], object]
KINDS: Final[dict[str, Damage]] = {}


def make(root: Path) -> None:
    """Three fragments of 100 rows, deletions of both forms, two indices, a tag and a branch, seven versions."""
    rows = {
        "id": pa.array(range(300), pa.int64()),
        "s": [f"text {number % 7}" for number in range(300)],
        "l": pa.array([[number] * (number % 3) for number in range(300)], pa.list_(pa.int32())),
        "x": np.random.default_rng(1).random(300),
    }
    dataset = lance_sql.write(rows, root, max_rows_per_file=100)
    dataset = dataset.indices.create("id", "btree").indices.create("x", "zonemap")
    dataset = dataset.delete("id = 7").update({"x": "0.5"}, "id = 150")
    dataset.tags.create("good")
    dataset.branches.create("side")
    lance_sql.write({"id": [300], "s": ["last"], "l": [[1]], "x": [1.0]}, root, mode="append")


def kind(function: Damage) -> Damage:
    KINDS[function.__name__.removeprefix("_").replace("_", "-")] = function
    return function


def manifest(root: Path) -> Path:
    """Of the newest version."""
    return min((root / "_versions").glob("*.manifest"))


def _set(owner: Any, name: str, value: object) -> Any:
    setattr(owner, name, value)
    return owner


def edit(root: Path, change: Callable[[Any], object]) -> None:
    """Changes the newest manifest."""
    path = manifest(root)
    path.write_bytes(with_manifest(path.read_bytes(), lambda message: (change(message), None)[1]))


def first_data(root: Path) -> Path:
    return root / "data" / lance_sql.open(root).snapshot.manifest.fragments[0].files[0].path


def sparse(path: Path, size: int, begin: bytes = b"") -> None:
    """A file of any length that takes no room on the disk."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        file.write(begin)
        file.truncate(size)


def _deletion(root: Path, file_type: int, name_end: str, content: bytes, *, rows: int, deleted: int) -> None:
    def change(message: Any) -> None:
        message.fragments[0].physical_rows = rows
        file = message.fragments[0].deletion_file
        file.Clear()
        file.file_type, file.read_version, file.id, file.num_deleted_rows = file_type, 1, 5, deleted

    edit(root, change)
    number = lance_sql.open(root).snapshot.manifest.fragments[0].id
    (root / "_deletions" / f"{number}-1-5.{name_end}").write_bytes(content)


# what manifests say of rows


@kind
def _rows_2_32(root: Path) -> None:
    edit(root, lambda message: setattr(message.fragments[0], "physical_rows", HUGE))


@kind
def _rows_2_32_in_all_fragments(root: Path) -> None:
    edit(root, lambda message: [_set(each, "physical_rows", HUGE) for each in message.fragments])


@kind
def _rows_2_64(root: Path) -> None:
    edit(root, lambda message: setattr(message.fragments[0], "physical_rows", 2**64 - 1))


@kind
def _rows_without_files(root: Path) -> None:
    def change(message: Any) -> None:
        del message.fragments[0].files[:]
        message.fragments[0].physical_rows = HUGE

    edit(root, change)


@kind
def _rows_one_too_many(root: Path) -> None:
    edit(root, lambda message: setattr(message.fragments[0], "physical_rows", 101))


@kind
def _rows_none(root: Path) -> None:
    edit(root, lambda message: setattr(message.fragments[0], "physical_rows", 0))


@kind
def _fragment_twice(root: Path) -> None:
    edit(root, lambda message: message.fragments.add().CopyFrom(message.fragments[0]))


@kind
def _fragment_id_huge(root: Path) -> None:
    edit(root, lambda message: setattr(message.fragments[0], "id", 2**63))


@kind
def _fragments_without_end(root: Path) -> None:
    """Fragments of 2^32 rows that nothing stands for."""

    def change(message: Any) -> None:
        for number in range(10_000):
            message.fragments.add(id=1000 + number, physical_rows=HUGE)

    edit(root, change)


@kind
def _max_fragment_id_huge(root: Path) -> None:
    edit(root, lambda message: setattr(message, "max_fragment_id", HUGE))


@kind
def _next_row_id_huge(root: Path) -> None:
    edit(root, lambda message: setattr(message, "next_row_id", 2**64 - 1))


@kind
def _version_of_another(root: Path) -> None:
    edit(root, lambda message: setattr(message, "version", 2**63 + 5))


@kind
def _timestamp_far_off(root: Path) -> None:
    edit(root, lambda message: setattr(message.timestamp, "seconds", 2**62))


@kind
def _flags_unknown(root: Path) -> None:
    def change(message: Any) -> None:
        message.reader_feature_flags |= 1 << 40
        message.writer_feature_flags |= 1 << 40

    edit(root, change)


@kind
def _data_format_unknown(root: Path) -> None:
    edit(root, lambda message: setattr(message.data_format, "version", f"9.{ESCAPES}"))


# deletion files


@kind
def _deletions_2_32_bitmap(root: Path) -> None:
    bitmap = BitMap()
    bitmap.add_range(0, HUGE - 1)
    bitmap.run_optimize()
    _deletion(root, 1, "bin", bytes(bitmap.serialize()), rows=HUGE, deleted=HUGE - 1)


@kind
def _deletions_2_30_of_100_rows(root: Path) -> None:
    bitmap = BitMap()
    bitmap.add_range(0, 2**30)
    bitmap.run_optimize()
    _deletion(root, 1, "bin", bytes(bitmap.serialize()), rows=100, deleted=50)


@kind
def _deletions_arrow_zeros(root: Path) -> None:
    """10^9 zeros, which zstd makes some kilobytes of."""
    count = 10**9
    chunk = pa.Codec("zstd").compress(bytes(1 << 26))
    schema = pa.schema([pa.field("row_id", pa.uint32(), nullable=False)])
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    with pa.ipc.new_file(sink, schema, options=options) as writer:
        writer.write_batch(pa.record_batch([pa.array(np.zeros(64, np.uint32))], schema=schema))
    content = bytearray(sink.getvalue().to_pybytes())
    # the number of rows wherever it stands, and the length in front of the compressed bytes
    small = struct.pack("<q", 64)
    place = content.find(small)
    while place >= 0:
        content[place : place + 8] = struct.pack("<q", count)
        place = content.find(small, place + 8)
    length = content.find(struct.pack("<q", 256))
    if length >= 0:
        content[length : length + 8] = struct.pack("<q", 4 * count)
    _deletion(root, 0, "arrow", bytes(content) + chunk.to_pybytes()[:100], rows=HUGE, deleted=count)


@kind
def _deletions_of_terabytes(root: Path) -> None:
    _deletion(root, 1, "bin", b"", rows=100, deleted=50)
    (file,) = (root / "_deletions").glob("*-1-5.bin")
    sparse(file, 2**41)


@kind
def _deletions_missing(root: Path) -> None:
    for file in (root / "_deletions").iterdir():
        file.unlink()


@kind
def _deletions_of_another_kind(root: Path) -> None:
    _deletion(root, 1, "bin", os.urandom(999), rows=100, deleted=50)


@kind
def _deletions_beyond_the_end(root: Path) -> None:
    _deletion(root, 1, "bin", bytes(BitMap([3, 100]).serialize()), rows=100, deleted=2)


@kind
def _deletions_miscounted(root: Path) -> None:
    edit(root, lambda message: [_set(each.deletion_file, "num_deleted_rows", HUGE) for each in message.fragments])


@kind
def _deletions_of_type_7(root: Path) -> None:
    """An unknown value of the enumeration."""

    def change(message: Any) -> None:
        file = message.fragments[0].deletion_file
        file.MergeFromString(b"\x08\x07")

    edit(root, change)


# transactions


@kind
def _transaction_of_terabytes(root: Path) -> None:
    edit(root, lambda message: message.ClearField("transaction_section"))
    sparse(root / "_transactions" / _transaction_file(root), 2**41)


@kind
def _transactions_all_of_terabytes(root: Path) -> None:
    for path in (root / "_versions").glob("*.manifest"):
        path.write_bytes(with_manifest(path.read_bytes(), lambda message: message.ClearField("transaction_section")))
    for file in list((root / "_transactions").iterdir()):
        sparse(file, 2**41)


@kind
def _transaction_of_garbage(root: Path) -> None:
    edit(root, lambda message: message.ClearField("transaction_section"))
    (root / "_transactions" / _transaction_file(root)).write_bytes(b"\xff" * 4000)


@kind
def _transaction_section_of_gigabytes(root: Path) -> None:
    edit(root, lambda message: setattr(message, "transaction_section", 0))
    path = manifest(root)
    content = bytearray(path.read_bytes())
    content[0:4] = struct.pack("<I", HUGE)
    path.write_bytes(content)


@kind
def _transaction_leads_out(root: Path) -> None:
    def change(message: Any) -> None:
        message.ClearField("transaction_section")
        message.transaction_file = f"../../{ESCAPES}"

    edit(root, change)


@kind
def _transaction_gives_ids_without_end(root: Path) -> None:
    """Its rows claim 2^62 row ids."""
    sequence = row_ids_pb2.RowIdSequence()
    sequence.segments.add().range.end = 2**62
    message = transaction_pb2.Transaction(read_version=6, uuid="x")
    made = message.update.new_fragments.add(id=0, physical_rows=HUGE)
    made.inline_row_ids = sequence.SerializeToString()
    made.files.add(path="y.lance", fields=[0], column_indices=[0])
    edit(root, lambda manifest: manifest.ClearField("transaction_section"))
    (root / "_transactions" / _transaction_file(root)).write_bytes(message.SerializeToString())


def _transaction_file(root: Path) -> str:
    return lance_sql.open(root).snapshot.manifest.transaction_file


# manifests as files


@kind
def _manifest_empty(root: Path) -> None:
    manifest(root).write_bytes(b"")


@kind
def _manifest_cut(root: Path) -> None:
    path = manifest(root)
    path.write_bytes(path.read_bytes()[:-30])


@kind
def _manifest_of_terabytes(root: Path) -> None:
    path = manifest(root)
    size = 2**41
    sparse(path, size)
    with path.open("r+b") as file:
        file.seek(size - 16)
        file.write(struct.pack("<qHH4s", 0, 0, 2, b"LANC"))


@kind
def _manifest_of_gigabytes(root: Path) -> None:
    """A message of 4 GiB that ends where it should."""
    path = manifest(root)
    size = 4 + HUGE + 16
    sparse(path, size, struct.pack("<I", HUGE))
    with path.open("r+b") as file:
        file.seek(size - 16)
        file.write(struct.pack("<qHH4s", 0, 0, 2, b"LANC"))


@kind
def _manifest_position_negative(root: Path) -> None:
    path = manifest(root)
    content = path.read_bytes()
    path.write_bytes(content[:-16] + struct.pack("<q", -5) + content[-8:])


@kind
def _manifest_is_a_folder(root: Path) -> None:
    path = manifest(root)
    path.unlink()
    path.mkdir()


@kind
def _manifest_name_of_a_great_version(root: Path) -> None:
    (root / "_versions" / f"{2**64 - 1 - (2**62):020}.manifest").write_bytes(manifest(root).read_bytes())


# row ids and row versions


def _row_ids(root: Path, fill: Callable[[Any], object]) -> None:
    sequence = row_ids_pb2.RowIdSequence()
    fill(sequence)
    content = sequence.SerializeToString()
    edit(root, lambda message: setattr(message.fragments[0], "inline_row_ids", content))


@kind
def _row_ids_2_62(root: Path) -> None:
    _row_ids(root, lambda sequence: setattr(sequence.segments.add().range, "end", 2**62))


@kind
def _row_ids_reversed(root: Path) -> None:
    def fill(sequence: Any) -> None:
        segment = sequence.segments.add().range
        segment.start, segment.end = 2**63, 5

    _row_ids(root, fill)


@kind
def _row_ids_of_another_fragment(root: Path) -> None:
    edit(
        root,
        lambda message: setattr(message.fragments[0], "inline_row_ids", message.fragments[1].inline_row_ids),
    )


@kind
def _row_ids_garbage(root: Path) -> None:
    edit(root, lambda message: setattr(message.fragments[0], "inline_row_ids", b"\xff" * 40))


@kind
def _row_ids_bitmap_short(root: Path) -> None:
    def fill(sequence: Any) -> None:
        segment = sequence.segments.add().range_with_bitmap
        segment.start, segment.end, segment.bitmap = 0, 2**60, b"\xff"

    _row_ids(root, fill)


@kind
def _row_ids_in_a_file_of_terabytes(root: Path) -> None:
    def change(message: Any) -> None:
        file = message.fragments[0].external_row_ids
        file.path, file.offset, file.size = "ids.bin", 0, 2**41

    edit(root, change)
    sparse(root / "ids.bin", 2**41)


@kind
def _row_versions_without_end(root: Path) -> None:
    sequence = row_ids_pb2.RowDatasetVersionSequence()
    for _ in range(3):
        run = sequence.runs.add(version=2**63)
        run.span.range.end = 2**62
    content = sequence.SerializeToString()
    edit(root, lambda message: setattr(message.fragments[0], "inline_created_at_versions", content))


# indices


@kind
def _index_section_elsewhere(root: Path) -> None:
    edit(root, lambda message: setattr(message, "index_section", 2**40))


@kind
def _index_files_missing(root: Path) -> None:
    for file in (root / "_indices").glob("*/*"):
        file.unlink()


@kind
def _index_files_of_terabytes(root: Path) -> None:
    for file in (root / "_indices").glob("*/*"):
        content = file.read_bytes()
        sparse(file, 2**41)
        with file.open("r+b") as opened:
            opened.seek(2**41 - len(content))
            opened.write(content)


@kind
def _index_files_zeros(root: Path) -> None:
    for file in (root / "_indices").glob("*/*"):
        file.write_bytes(bytes(file.stat().st_size))


def _edit_indices(root: Path, change: Callable[[Any], object]) -> None:
    path = manifest(root)
    content = path.read_bytes()
    (position,) = struct.unpack_from("<q", content, len(content) - 16)
    (length,) = struct.unpack_from("<I", content, position)
    message = table_pb2.Manifest.FromString(content[position + 4 :][:length])
    (size,) = struct.unpack_from("<I", content, message.index_section)
    section = table_pb2.IndexSection.FromString(content[message.index_section + 4 :][:size])
    change(section)
    made = section.SerializeToString()
    message.index_section = position
    serialized = message.SerializeToString()
    parts = content[:position], struct.pack("<I", len(made)), made, struct.pack("<I", len(serialized)), serialized
    path.write_bytes(b"".join(parts) + struct.pack("<q", position + 4 + len(made)) + content[-8:])


@kind
def _index_names_with_escapes(root: Path) -> None:
    _edit_indices(root, lambda section: [_set(each, "name", f"{ESCAPES}{n}") for n, each in enumerate(section.indices)])


@kind
def _index_covers_without_end(root: Path) -> None:
    bitmap = BitMap()
    bitmap.add_range(0, HUGE)
    bitmap.run_optimize()
    content = bytes(bitmap.serialize())
    _edit_indices(root, lambda section: [_set(each, "fragment_bitmap", content) for each in section.indices])


@kind
def _index_on_no_column(root: Path) -> None:
    _edit_indices(root, lambda section: [each.fields.append(2**31 - 1) for each in section.indices])


# data files


@kind
def _data_missing(root: Path) -> None:
    first_data(root).unlink()


@kind
def _data_cut(root: Path) -> None:
    path = first_data(root)
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


@kind
def _data_of_terabytes(root: Path) -> None:
    path = first_data(root)
    content = path.read_bytes()
    sparse(path, 2**41)
    with path.open("r+b") as file:
        file.seek(2**41 - 40)
        file.write(content[-40:])


@kind
def _data_pages_overwritten(root: Path) -> None:
    path = first_data(root)
    content = bytearray(path.read_bytes())
    content[: len(content) // 2] = os.urandom(len(content) // 2)
    path.write_bytes(content)


def _edit_columns(root: Path, change: Callable[[Any], object]) -> None:
    path = first_data(root)

    def changed(columns: list[bytes]) -> list[bytes]:
        made = []
        for column in columns:
            message = file2_pb2.ColumnMetadata.FromString(column)
            change(message)
            made.append(message.SerializeToString())
        return made

    path.write_bytes(with_columns(path.read_bytes(), changed))
    edit(root, lambda message: [_set(file, "file_size_bytes", 0) for each in message.fragments for file in each.files])


@kind
def _pages_of_2_62_rows(root: Path) -> None:
    _edit_columns(root, lambda column: [_set(page, "length", 2**62) for page in column.pages])


@kind
def _pages_of_2_32_rows_as_the_manifest(root: Path) -> None:
    """Manifest, file and pages agree; only the bytes are not there."""
    _edit_columns(root, lambda column: [_set(page, "length", HUGE) for page in column.pages])
    path = first_data(root)
    content = path.read_bytes()
    path.write_bytes(_with_num_rows(content, HUGE))
    edit(root, lambda message: setattr(message.fragments[0], "physical_rows", HUGE))


def _with_num_rows(content: bytes, rows: int) -> bytes:
    """A data file whose descriptor claims this many rows."""
    _, columns, buffers, num_buffers, num_columns, *_ = struct.unpack_from("<QQQIIHH4s", content, len(content) - 40)
    entries = list(struct.iter_unpack("<QQ", content[buffers : buffers + 16 * num_buffers]))
    start, size = entries[0]
    described = file2_pb2_descriptor(content[start : start + size], rows)
    table = struct.pack("<QQ", buffers, len(described)) + b"".join(struct.pack("<QQ", *each) for each in entries[1:])
    head = content[:buffers] + described
    (first,) = struct.unpack_from("<Q", content, len(content) - 40)
    return head + table + struct.pack("<QQQII", first, columns, len(head), num_buffers, num_columns) + content[-8:]


def file2_pb2_descriptor(content: bytes, rows: int) -> bytes:
    from lance_sql.format.proto import file_pb2

    message = file_pb2.FileDescriptor.FromString(content)
    message.length = rows
    return bytes(message.SerializeToString())


@kind
def _page_buffers_beyond_the_end(root: Path) -> None:
    def change(column: Any) -> None:
        for page in column.pages:
            for number in range(len(page.buffer_offsets)):
                page.buffer_offsets[number] = 2**62
                page.buffer_sizes[number] = 2**62

    _edit_columns(root, change)


@kind
def _page_layout_unknown(root: Path) -> None:
    def change(column: Any) -> None:
        for page in column.pages:
            page.encoding.direct.encoding = AnyMessage(type_url=f"/x.{ESCAPES}", value=b"").SerializeToString()

    _edit_columns(root, change)


@kind
def _columns_swapped(root: Path) -> None:
    path = first_data(root)
    path.write_bytes(with_columns(path.read_bytes(), lambda columns: columns[::-1]))


# names, paths, schemas


@kind
def _file_name_with_escapes(root: Path) -> None:
    edit(root, lambda message: setattr(message.fragments[0].files[0], "path", ESCAPES))


@kind
def _file_name_leads_out(root: Path) -> None:
    edit(root, lambda message: setattr(message.fragments[0].files[0], "path", "../../../etc/passwd"))


@kind
def _file_name_of_a_megabyte(root: Path) -> None:
    edit(root, lambda message: setattr(message.fragments[0].files[0], "path", "x" * 2**20))


@kind
def _column_name_with_escapes(root: Path) -> None:
    edit(root, lambda message: setattr(message.fields[1], "name", ESCAPES))


@kind
def _column_type_with_escapes(root: Path) -> None:
    edit(root, lambda message: setattr(message.fields[1], "logical_type", f"decimal:128:{ESCAPES}"))


@kind
def _column_type_huge(root: Path) -> None:
    edit(root, lambda message: setattr(message.fields[0], "logical_type", "fixed_size_binary:2147483647"))


@kind
def _column_names_equal(root: Path) -> None:
    edit(root, lambda message: setattr(message.fields[1], "name", "id"))


@kind
def _column_is_its_own_parent(root: Path) -> None:
    edit(root, lambda message: setattr(message.fields[0], "parent_id", message.fields[0].id))


@kind
def _columns_10_000_deep(root: Path) -> None:
    def change(message: Any) -> None:
        above = -1
        for number in range(10_000):
            field = message.fields.add(id=100 + number, parent_id=above, name="d", logical_type="struct", nullable=True)
            above = field.id

    edit(root, change)


def _base(root: Path, path: str) -> None:
    def change(message: Any) -> None:
        message.base_paths.add(id=9, path=path, is_dataset_root=True)
        message.fragments[0].files[0].base_id = 9
        message.reader_feature_flags |= 16
        message.writer_feature_flags |= 16

    edit(root, change)


@kind
def _base_path_of_another_host(root: Path) -> None:
    _base(root, "http://127.0.0.1:9/t.lance")


@kind
def _base_path_of_a_bucket(root: Path) -> None:
    _base(root, "s3://somebody/t.lance")


@kind
def _base_path_of_no_scheme(root: Path) -> None:
    _base(root, f"nothing://{ESCAPES}")


@kind
def _base_path_relative(root: Path) -> None:
    _base(root, "../other")


@kind
def _base_path_missing(root: Path) -> None:
    edit(root, lambda message: setattr(message.fragments[0].files[0], "base_id", 77))


# tags, branches, and what lies beside


@kind
def _tag_of_terabytes(root: Path) -> None:
    sparse(root / "_refs" / "tags" / "good.json", 2**41)


@kind
def _tag_names_with_escapes(root: Path) -> None:
    content = (root / "_refs" / "tags" / "good.json").read_text()
    (root / "_refs" / "tags" / "%1B%5D0%3Btitle%07.json").write_text(content)


@kind
def _tag_of_no_version(root: Path) -> None:
    path = root / "_refs" / "tags" / "good.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"version": 2**63}))


@kind
def _branch_is_its_own_parent(root: Path) -> None:
    path = root / "_refs" / "branches" / "side.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"parentBranch": "side"}))


@kind
def _checksums_of_terabytes(root: Path) -> None:
    for file in list((root / "_checksums").iterdir()):
        sparse(file, 2**41)


@kind
def _checksums_that_nest(root: Path) -> None:
    for file in list((root / "_checksums").iterdir()):
        file.write_bytes(b"[" * 2**20)


@kind
def _folders_instead_of_files(root: Path) -> None:
    path = first_data(root)
    path.unlink()
    path.mkdir()
    for file in (root / "_deletions").iterdir():
        file.unlink()
        file.mkdir()
