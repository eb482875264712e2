"""The kernels that walk over metadata, against protobuf's own reading of the same bytes."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lance_sql import _kernels
from lance_sql._kernels import SequenceForm
from lance_sql.format.proto import file2_pb2, file_pb2, row_ids_pb2, table_pb2
from lance_sql.table.fragment_table import FragmentTable

U64 = st.integers(0, 2**64 - 1)
SMALL = st.integers(0, 2**40)


@st.composite
def segments(draw: st.DrawFn) -> dict[str, Any]:
    """A segment of row ids."""
    start, length = draw(SMALL), draw(st.integers(1, 1000))
    values = draw(st.lists(st.integers(0, 2**16 - 1), min_size=1, max_size=20))
    form = draw(st.sampled_from(["range", "range_with_holes", "range_with_bitmap", "array", "sorted_array"]))
    if form == "range_with_bitmap":
        return {form: {"start": start, "end": start + length, "bitmap": bytes((length + 7) // 8)}}
    if form.startswith("range"):
        return {form: {"start": start, "end": start + length}}
    width = draw(st.sampled_from(["u16", "u32", "u64"]))
    if width == "u64":
        return {form: {"u64_array": {"values": np.array(values, "<u8").tobytes()}}}
    offsets = np.array(values, "<u2" if width == "u16" else "<u4").tobytes()
    return {form: {f"{width}_array": {"base": start, "offsets": offsets}}}


def bounds(segment: row_ids_pb2.U64Segment) -> tuple[int, int]:
    form = segment.WhichOneof("segment")
    assert form is not None
    value = getattr(segment, form)
    if form.startswith("range"):
        return value.start, value.end - 1
    kind = value.WhichOneof("array")
    array = getattr(value, kind)
    if kind == "u64_array":
        values = np.frombuffer(array.values, "<u8")
        return int(values.min()), int(values.max())
    values = np.frombuffer(array.offsets, "<u2" if kind == "u16_array" else "<u4").astype(object) + array.base
    return int(values.min()), int(values.max())


FRAGMENTS = st.lists(
    st.fixed_dictionaries(
        {
            "id": U64,
            "physical_rows": U64,
            "rows": st.lists(segments(), max_size=3),
            "versions": st.lists(U64, max_size=3),
        },
        optional={"deleted": SMALL, "sizes": st.lists(st.integers(0, 2**40), max_size=3)},
    ),
    max_size=5,
)


@given(made=FRAGMENTS, version=U64)
def test_fragments_match_their_messages(made: list[dict[str, Any]], version: int) -> None:
    manifest = table_pb2.Manifest(version=version, tag="t")
    for each in made:
        fragment = manifest.fragments.add(id=each["id"], physical_rows=each["physical_rows"])
        for size in each.get("sizes", ()):
            fragment.files.add(path="a", fields=[1], column_indices=[0], file_size_bytes=size)
        if "deleted" in each:
            fragment.deletion_file.num_deleted_rows = each["deleted"]
        if each["rows"]:
            sequence = row_ids_pb2.RowIdSequence(segments=[row_ids_pb2.U64Segment(**part) for part in each["rows"]])
            fragment.inline_row_ids = sequence.SerializeToString()
        if each["versions"]:
            runs = row_ids_pb2.RowDatasetVersionSequence()
            for number in each["versions"]:
                runs.runs.add(version=number)
            fragment.inline_created_at_versions = runs.SerializeToString()
    content, rest = _kernels.split_manifest(manifest.SerializeToString())
    assert list(table_pb2.Manifest.FromString(content).fragments) == list(manifest.fragments)
    assert table_pb2.Manifest.FromString(rest) == table_pb2.Manifest(version=version, tag="t")
    table = FragmentTable(content)
    assert len(table) == len(made)
    for i, (fragment, each) in enumerate(zip(manifest.fragments, made, strict=True)):
        assert content[table.starts[i] : table.ends[i]] == fragment.SerializeToString()
        assert (table.ids[i], table.physical_rows[i]) == (fragment.id, fragment.physical_rows)
        assert (bool(table.have_deletions[i]), int(table.num_deleted_rows[i])) == (
            "deleted" in each,
            each.get("deleted", 0),
        )
        sizes = [file.file_size_bytes for file in fragment.files]
        assert (table.num_files[i], table.size_bytes[i]) == (len(sizes), sum(sizes) if all(sizes) else 0)
        ids, created = table.row_ids, table.created_at
        if each["rows"]:
            found = [bounds(row_ids_pb2.U64Segment(**part)) for part in each["rows"]]
            assert ids.forms[i] == SequenceForm.INLINE
            assert (ids.least[i], ids.greatest[i]) == (min(low for low, _ in found), max(high for _, high in found))
        if each["versions"]:
            assert (created.least[i], created.greatest[i]) == (min(each["versions"]), max(each["versions"]))
        assert table.last_updated_at.forms[i] == SequenceForm.NONE


BASE_IDS = st.sampled_from([{}, {"base_id": 0}, {"base_id": 2**32 - 1}])
NAMES = st.sampled_from(["a.lance", "b/c.lance", "", "\u00e9.lance"])
PATHS = st.fixed_dictionaries({"path": NAMES})
NAMING = st.lists(
    st.fixed_dictionaries(
        {"id": st.sampled_from([0, 7, 2**32 - 1, 2**32])},
        optional={
            "files": st.lists(
                st.builds(lambda name, base: {"path": name, "file_size_bytes": 9} | base, NAMES, BASE_IDS), max_size=2
            ),
            "deletion_file": st.builds(
                lambda kind, version, base: {"file_type": kind, "read_version": version, "id": 3} | base,
                st.integers(0, 1),
                U64,
                BASE_IDS,
            ),
            "external_row_ids": PATHS,
            "external_created_at_versions": PATHS,
            "external_last_updated_at_versions": PATHS,
            "overlays": st.sampled_from([[{"committed_version": 1}]]),
        },
    ),
    max_size=4,
)


@given(first=NAMING, second=NAMING)
def test_files_are_named_as_messages_name_them(first: list[dict[str, Any]], second: list[dict[str, Any]]) -> None:
    known = _kernels.FragmentNames()
    seen: list[bytes] = []
    for made in (first, second):
        manifest = table_pb2.Manifest(fragments=made)
        files, left = known.add(manifest.SerializeToString())
        expected = []
        strange = []
        for place, fragment in enumerate(manifest.fragments):
            stored = fragment.SerializeToString()
            if stored in seen:
                continue
            paths = [(0, file) for file in fragment.files]
            sequences = ("external_row_ids", "external_last_updated_at_versions", "external_created_at_versions")
            paths += [(2, getattr(fragment, name)) for name in sequences if fragment.HasField(name)]
            if fragment.overlays or fragment.id >= 2**32 or not all(each.path.isascii() for _, each in paths):
                strange.append(place)
                continue
            seen.append(stored)
            for kind, each in paths:
                has_base = kind == 0 and each.HasField("base_id")
                expected.append((kind, each.base_id if has_base else None, each.path))
            if fragment.HasField("deletion_file"):
                gone = fragment.deletion_file
                name = f"{fragment.id}-{gone.read_version}-3.{('arrow', 'bin')[gone.file_type]}"
                expected.append((1, gone.base_id if gone.HasField("base_id") else None, name))
        assert (sorted(files, key=repr), left) == (sorted(expected, key=repr), strange)


def test_repeated_messages_are_left_to_the_caller() -> None:
    twice = table_pb2.DataFragment(deletion_file={"id": 1}).SerializeToString() * 2
    cases = [
        twice,
        table_pb2.DataFragment(external_row_ids={"path": "a"}, inline_created_at_versions=b"").SerializeToString()
        + table_pb2.DataFragment(inline_row_ids=b"").SerializeToString(),
        # a type of deletion files, and a field, that a later release may add
        table_pb2.DataFragment(deletion_file={}).SerializeToString()[:-1] + b"\x02\x08\x02",
        b"\xf8\x01\x01",
        # damage
        b"\x12\x05\x0a",
    ]
    content = b"".join(b"\x12" + bytes([len(case)]) + case for case in cases)
    assert _kernels.FragmentNames().add(content) == ([], list(range(len(cases))))


I32 = st.integers(-(2**31), 2**31 - 1)


@given(
    fields=st.lists(
        st.fixed_dictionaries(
            {},
            optional={
                "name": st.text(max_size=5),
                "id": I32,
                "parent_id": I32,
                "logical_type": st.sampled_from(["int64", "string", "dict:string:int8:false", "\u00e9"]),
                "nullable": st.booleans(),
                "encoding": st.integers(0, 3),
                "unenforced_primary_key": st.booleans(),
                "unenforced_clustering_key_position": st.integers(0, 3),
                "extension_name": st.sampled_from(["", "lance.json"]),
                "metadata": st.dictionaries(st.text(max_size=2), st.binary(max_size=2), max_size=2),
                "dictionary": st.sampled_from([{"offset": 1, "length": 2}]),
            },
        ),
        max_size=5,
    )
)
def test_fields_match_their_messages(fields: list[dict[str, Any]]) -> None:
    manifest = table_pb2.Manifest(version=3, fields=fields, schema_metadata={"a": b"b"})
    *columns, with_more = _kernels.schema_fields(manifest.SerializeToString())
    for column, name in zip(columns, ("name", "id", "parent_id", "logical_type", "nullable"), strict=True):
        assert column == [getattr(field, name) for field in manifest.fields]
    assert with_more == [
        place
        for place, field in enumerate(manifest.fields)
        if field.metadata or field.extension_name or field.HasField("dictionary")
    ]


@given(data=st.binary(max_size=60))
def test_bytes_that_are_no_message_are_refused_or_read(data: bytes) -> None:
    for call in (
        _kernels.split_manifest,
        _kernels.num_rows_of_file,
        _kernels.schema_fields,
        _kernels.schema_part,
        lambda data: _kernels.fragment_table(data, False),
        lambda data: _kernels.fragment_table(data, True),
    ):
        with suppress(ValueError):
            call(data)
    with suppress(ValueError):
        _kernels.parse_column(data, 1000)
    with suppress(ValueError):
        _kernels.FragmentNames().add(data)


def test_repeated_messages_have_no_bounds() -> None:
    once = row_ids_pb2.U64Segment(array={"u16_array": {"base": 100}}).SerializeToString()
    again = row_ids_pb2.U64Segment(array={"u16_array": {"offsets": b"\0\0"}}).SerializeToString()
    sequence = row_ids_pb2.RowIdSequence.FromString(b"\x0a" + bytes([len(once + again)]) + once + again)
    assert sequence.segments[0].array.u16_array.base == 100
    raw = b"\x0a" + bytes([len(once + again)]) + once + again
    content = table_pb2.Manifest(fragments=[{"id": 1, "inline_row_ids": raw}]).SerializeToString()
    ids = FragmentTable(content).row_ids
    assert not ids.are_known[0]


@given(
    pages=st.lists(
        st.tuples(
            st.integers(0, 2**48),
            st.lists(st.tuples(st.integers(0, 500), st.integers(0, 500)), max_size=4),
            st.none() | st.binary(max_size=20),
        ),
        max_size=4,
    ),
    encoding=st.binary(max_size=20),
)
def test_columns_match_their_messages(
    pages: list[tuple[int, list[tuple[int, int]], bytes | None]], encoding: bytes
) -> None:
    message = file2_pb2.ColumnMetadata(encoding={"direct": {"encoding": encoding}})
    for num_rows, buffers, described in pages:
        page = message.pages.add(
            length=num_rows,
            buffer_offsets=[start for start, _ in buffers],
            buffer_sizes=[size for _, size in buffers],
        )
        if described is None:
            page.encoding.indirect.buffer_location = 5
        else:
            page.encoding.direct.encoding = described
    found_encoding, found = _kernels.parse_column(message.SerializeToString(), 1000)
    assert found_encoding == encoding
    assert found == [
        (num_rows, [(start, start + size) for start, size in buffers], described)
        for num_rows, buffers, described in pages
    ]


BUFFERS = st.lists(st.tuples(st.integers(0, 2**40), st.integers(0, 2**30)), max_size=4)


@given(
    pages=st.lists(
        st.tuples(st.integers(0, 2**40), BUFFERS, st.binary(max_size=300), st.integers(0, 2**48)), max_size=4
    ),
    encoding=st.binary(max_size=20),
)
def test_columns_are_serialized_as_protobuf_does(
    pages: list[tuple[int, list[tuple[int, int]], bytes, int]], encoding: bytes
) -> None:
    message = file2_pb2.ColumnMetadata(encoding={"direct": {"encoding": encoding}})
    written = []
    for num_rows, buffers, described, priority in pages:
        message.pages.add(
            length=num_rows,
            buffer_offsets=[start for start, _ in buffers],
            buffer_sizes=[size for _, size in buffers],
            encoding={"direct": {"encoding": described}},
            priority=priority,
        )
        written.append((num_rows, tuple((start, start + size) for start, size in buffers), described, priority))
    assert _kernels.serialize_column(encoding, written) == message.SerializeToString()


def test_columns_that_cannot_be_are_not_serialized() -> None:
    for page in ((-1, (), b"", 0), (1, ((4, 3),), b"", 0), (1, ((-4, 3),), b"", 0), (1, (), b"", 2**50)):
        with pytest.raises(_kernels.InvalidDataError):
            _kernels.serialize_column(b"", [page])
    for wrong in ((1, (), b""), (1, (), "text", 0), (1, ((1, 2, 3),), b"", 0), (1.5, (), b"", 0), 7):
        with pytest.raises((TypeError, RuntimeError)):
            _kernels.serialize_column(b"", [wrong])  # type: ignore[list-item]  # what is refused


def test_numbers_out_of_bounds_are_refused() -> None:
    page = file2_pb2.ColumnMetadata.Page(buffer_offsets=[990], buffer_sizes=[20], length=1)
    with pytest.raises(ValueError, match="20 bytes at byte 990 of a file of 1000 bytes"):
        _kernels.parse_column(file2_pb2.ColumnMetadata(pages=[page]).SerializeToString(), 1000)
    with pytest.raises(ValueError, match="is not possible"):
        _kernels.num_rows_of_file(file_pb2.FileDescriptor(length=2**60).SerializeToString())
    assert _kernels.num_rows_of_file(file_pb2.FileDescriptor(length=77).SerializeToString()) == 77
