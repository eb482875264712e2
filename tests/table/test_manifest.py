"""Manifests: the file around the message, and invalid messages."""

from __future__ import annotations

import dataclasses
import struct
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lance_sql.errors import CorruptFile, InvalidArgument, UnsupportedFeature
from lance_sql.format.proto import table_pb2 as pb
from lance_sql.format.schema import build
from lance_sql.store import MemoryStore
from lance_sql.table import features, fragment_wire, manifest, manifest_file
from lance_sql.table.fragment import DataFile, DeletionFile, DeletionFileType, ExternalSequence, Fragment, HiddenColumn
from lance_sql.table.fragments import Fragments
from lance_sql.table.manifest import Manifest
from lance_sql.table.open_snapshot import open_snapshot
from lance_sql.table.paths import NamingScheme, manifest_path, parse_manifest_name
from tests.conftest import Case

PATH = "_versions/1.manifest"


def framed(message: bytes, before: bytes = b"") -> bytes:
    footer = struct.pack("<qHH4s", len(before), 0, 2, b"LANC")
    return before + struct.pack("<I", len(message)) + message + footer


def message(**fields: Any) -> pb.Manifest:
    return pb.Manifest(**{"version": 1, "writer_version": {"version": "14.0.2"}, **fields})


def read(content: bytes) -> Manifest:
    return manifest.read(MemoryStore({PATH: content}), PATH, "t.lance")


def of(**fields: Any) -> Manifest:
    return read(framed(message(**fields).SerializeToString()))


def test_the_message_is_found_behind_any_sections() -> None:
    assert read(framed(message().SerializeToString(), before=b"x" * 1000)).version == 1
    assert read(framed(message().SerializeToString(), before=b"x" * 200_000)).version == 1
    long = of(config={f"k{i}": "v" * 1000 for i in range(200)})
    assert len(long.config) == 200


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"LANC",
        framed(b"")[:-1],
        framed(b"")[:-4] + b"LACN",
        framed(b"\xff\xff\xff"),
        struct.pack("<IqHH4s", 2**32 - 1, 0, 0, 2, b"LANC"),
        struct.pack("<IqHH4s", 0, 2**62, 0, 2, b"LANC"),
        struct.pack("<IqHH4s", 0, -1, 0, 2, b"LANC"),
        struct.pack("<IqHH4s", 0, 4, 0, 2, b"LANC"),
        framed(b"") + framed(b"")[4:],
    ],
)
def test_damaged_files_are_refused_by_name(content: bytes) -> None:
    with pytest.raises(CorruptFile, match=PATH):
        read(content)


def test_a_missing_file_is_named() -> None:
    with pytest.raises(CorruptFile, match=f"{PATH}: the file is missing"):
        manifest.read(MemoryStore({}), PATH, "t.lance")


@pytest.mark.parametrize("bit", [6, 9, 12, 13, 14, 15, 16, 40, 63])
def test_unknown_reader_flags_are_named_by_value(bit: int) -> None:
    with pytest.raises(UnsupportedFeature, match=rf"^t\.lance needs reader feature flag {1 << bit}, which"):
        of(reader_feature_flags=1 << bit | 3)


@pytest.mark.parametrize("bit", [0, 1, 2, 3, 4, 5, 7, 8, 10, 11])
def test_known_reader_flags_are_read(bit: int) -> None:
    assert of(reader_feature_flags=1 << bit).has_stable_row_ids == (bit == 1)


def test_writer_flags_do_not_concern_a_reader() -> None:
    assert of(writer_feature_flags=2**64 - 1).writer_flags == 2**64 - 1


def test_optional_fields_tell_zero_from_absent() -> None:
    absent = of()
    assert (absent.max_fragment_id, absent.index_section, absent.transaction_section, absent.branch) == (None,) * 4
    zero = of(max_fragment_id=0, index_section=0, transaction_section=0, branch="")
    assert (zero.max_fragment_id, zero.index_section, zero.transaction_section, zero.branch) == (0, 0, 0, "")
    assert of(transaction_section_old=7).transaction_section == 7
    assert of(fragments=[{"id": 4}]).max_fragment_id == 4


@pytest.mark.parametrize("parent", [-1, 0])
def test_the_fields_of_wide_tables_are_those_of_narrow_ones(parent: int) -> None:
    first = {"name": "p", "id": 0, "parent_id": -1, "logical_type": "struct" if parent == 0 else "int8"}
    special = [
        {"name": "m", "id": 1, "parent_id": -1, "logical_type": "string", "metadata": {"a": b"b"}},
        {"name": "e", "id": 2, "parent_id": -1, "logical_type": "json", "extension_name": "arrow.json"},
        {"name": "t", "id": 3, "parent_id": -1, "logical_type": "timestamp:us:-", "nullable": True},
    ]
    plain: list[dict[str, Any]] = [
        {"name": f"c{i}", "id": i, "parent_id": parent, "logical_type": "double", "nullable": i % 2 == 0}
        for i in range(4, 400)
    ]
    fields = [first, *special, *plain]
    assert of(fields=fields).schema == build(message(fields=fields).fields)
    for wrong, text in (
        ({"id": 9}, "share the id 9"),
        ({"name": "c9"}, "called 'c9'"),
        ({"parent_id": 5}, "no children"),
    ):
        with pytest.raises(CorruptFile, match=text):
            of(fields=[first, *plain[:-1], plain[-1] | wrong])


def test_times_are_utc() -> None:
    read_back = of(timestamp={"seconds": 1_795_227_531, "nanos": 338_867_704})
    assert read_back.timestamp == datetime(2026, 11, 21, 2, 18, 51, 338867, tzinfo=UTC)
    with pytest.raises(CorruptFile):
        of(timestamp={"seconds": 2**60})


@pytest.mark.parametrize(
    ("file_version", "flags", "expected"),
    [
        ((0, 0), 0, "0.1"),
        ((0, 2), 0, "0.1"),
        ((0, 3), 0, "2.0"),
        ((2, 1), 0, "2.1"),
        (None, 4, "2.0"),
        (None, 0, "0.1"),
    ],
)
def test_a_missing_data_format_is_inferred(file_version: tuple[int, int] | None, flags: int, expected: str) -> None:
    files = []
    if file_version is not None:
        major, minor = file_version
        files = [{"path": "a", "file_major_version": major, "file_minor_version": minor}]
    assert of(fragments=[{"files": files}], writer_feature_flags=flags).data_format == expected


def test_data_files_of_another_kind_are_not_known() -> None:
    with pytest.raises(UnsupportedFeature, match="'parquet'"):
        of(data_format={"file_format": "parquet", "version": "2.2"})


def test_row_counts_of_the_oldest_writers_are_not_trusted() -> None:
    assert of(fragments=[{"physical_rows": 90}]).fragments[0].physical_rows == 90
    oldest = pb.Manifest(version=1, fragments=[{"physical_rows": 90}])
    assert read(framed(oldest.SerializeToString())).fragments[0].physical_rows == 0


def test_a_fragment_has_its_parts() -> None:
    files = [
        {"path": "a.lance", "fields": [0, -2, 1], "column_indices": [0, 1, -1], "file_major_version": 2, "base_id": 0},
        {"path": "b.lance", "fields": [1, -4], "column_indices": [0, 3], "file_major_version": 2},
    ]
    fragment = of(
        fragments=[
            {
                "id": 7,
                "files": files,
                "physical_rows": 10,
                "deletion_file": {"read_version": 3, "id": 99},
                "inline_row_ids": b"abc",
                "column_created_at_versions": {},
                "external_last_updated_at_versions": {"path": "x", "offset": 5, "size": 6},
            }
        ]
    ).fragments[0]
    first, second = fragment.files
    assert (first.base_id, second.base_id) == (0, None)
    assert first.columns() == {0: 0}
    assert first.column_of(1) is None
    assert fragment.file_of(1) is first
    assert fragment.file_of(5) is None
    assert fragment.deletion_file is not None
    assert fragment.deletion_file.name(7) == "7-3-99.arrow"
    assert fragment.deletion_file.file_type is DeletionFileType.ARROW
    assert fragment.row_ids == b"abc"
    assert fragment.created_at == HiddenColumn(second, 3)
    assert fragment.last_updated_at == ExternalSequence("x", 5, 6)


@pytest.mark.parametrize(
    ("fragment", "message"),
    [
        ({"id": 2**32}, "does not fit 32 bits"),
        (
            {"files": [{"path": "a", "fields": [0, 1], "column_indices": [0], "file_major_version": 2}]},
            "2 fields but 1",
        ),
        ({"files": [{"path": "a", "fields": [0, 1], "file_major_version": 2}]}, "2 fields but 0"),
        ({"files": [{"path": "a", "fields": [0], "column_indices": [-7], "file_major_version": 2}]}, "index -7"),
        ({"column_row_ids": {}}, "hidden column of field -3"),
    ],
)
def test_damaged_fragments_are_refused(fragment: dict[str, Any], message: str) -> None:
    with pytest.raises(CorruptFile, match=message):
        list(of(fragments=[fragment]).fragments)


def test_new_kinds_of_parts_are_not_known() -> None:
    with pytest.raises(UnsupportedFeature, match="overlay"):
        list(of(fragments=[{"overlays": [{}]}]).fragments)
    with pytest.raises(UnsupportedFeature, match="type 9"):
        list(of(fragments=[{"deletion_file": {"file_type": 9}}]).fragments)


def test_ids_of_base_paths_are_unique() -> None:
    with pytest.raises(CorruptFile, match="two base paths have the id 1"):
        of(base_paths=[{"id": 1, "path": "/a"}, {"id": 1, "path": "/b"}])


def test_ids_of_fragments_that_occur_twice_are_known() -> None:
    fragments = of(fragments=[{"id": 4}, {"id": 5}, {"id": 4}, {"id": 1}, {"id": 1}]).fragments
    assert len(list(fragments)) == 5
    assert fragments.repeated_ids() == (1, 4)
    assert of(fragments=[{"id": 4}, {"id": 5}]).fragments.repeated_ids() == ()


def test_fragments_are_made_when_they_are_asked_for() -> None:
    files = [{"path": "a.lance", "fields": [0], "column_indices": [0], "file_major_version": 2}]
    stored = [{"id": i, "files": files, "physical_rows": 10} for i in range(2000)]
    fragments = of(fragments=stored, data_format={"file_format": "lance", "version": "2.0"}).fragments
    assert len(fragments) == 2000
    assert fragments.ids[-1] == 1999
    assert fragments._made.count(None) == 2000
    assert fragments[-1] is fragments[1999]
    assert [fragment.id for fragment in fragments[3:5]] == [3, 4]
    assert fragments._made.count(None) == 1997


@pytest.mark.parametrize(
    ("name", "parsed"),
    [
        ("18446744073709551614.manifest", (1, NamingScheme.V2)),
        ("1.manifest", (1, NamingScheme.V1)),
        ("123.manifest", (123, NamingScheme.V1)),
        ("d9223372036854775809.manifest", None),
        ("latest_version_hint.json", None),
        (".tmp_1.manifest-abc", None),
        ("1.manifest-6f2a", None),
        ("-1.manifest", None),
        (".manifest", None),
        ("\u0661.manifest", None),
        ("00000000000000000000.manifest", None),
        ("99999999999999999999.manifest", None),
    ],
)
def test_names_of_manifests(name: str, parsed: tuple[int, NamingScheme] | None) -> None:
    assert parse_manifest_name(name) == parsed
    if parsed is not None:
        assert manifest_path(*parsed) == f"_versions/{name}"


def test_detached_versions_have_a_name_of_their_own() -> None:
    for scheme in NamingScheme:
        assert manifest_path(2**63 + 1, scheme) == "_versions/d9223372036854775809.manifest"


def written(manifest_: Manifest, index_section: bytes | None = None) -> bytes:
    return manifest.serialize(manifest_, index_section=index_section, transaction=b"what was done")


# Field 99 as a varint, which no release knows.
UNKNOWN = b"\x98\x06\x2a"


def test_unchanged_parts_are_written_verbatim() -> None:
    before = message(
        fields=[{"name": "a", "id": 3, "parent_id": -1, "logical_type": "int32", "unenforced_primary_key": True}],
        fragments=[{"id": 4, "physical_rows": 3, "inline_row_ids": b"x"}],
        config={"k": "v"},
        base_paths=[{"id": 0, "path": "/x"}],
        branch="dev",
        version_aux_data=7,
        tag="t",
        transaction_section_old=9,
        max_fragment_id=11,
    )
    content = written(read(framed(before.SerializeToString() + UNKNOWN)))
    after = read(content)
    assert after.origin is not None
    stored = after.origin.message
    assert UNKNOWN in stored.SerializeToString()
    assert stored.writer_version.library == "lance-sql"
    assert list(after.fragments) == list(read(framed(before.SerializeToString())).fragments)
    for name in ("fields", "config", "base_paths", "branch", "version_aux_data", "tag", "max_fragment_id"):
        assert getattr(stored, name) == getattr(before, name)
    assert not stored.HasField("transaction_section_old")
    assert after.transaction_section == 0
    assert manifest_file.read_section(MemoryStore({PATH: content}), PATH, 0) == b"what was done"


def test_manifests_of_the_corpus_are_made_again_from_their_values(corpus_case: Case) -> None:
    for branch, version in corpus_case.versions():
        before = open_snapshot(corpus_case.table, version=version["version"], branch=branch).manifest
        assert before.origin is not None
        remade = dataclasses.replace(
            before,
            schema=dataclasses.replace(before.schema),
            fragments=Fragments.of(before.fragments, file=PATH),
        )
        after = read(written(remade)).origin
        assert after is not None
        stored = before.origin.message
        if before.fragments.trust_rows:
            assert _messages(remade.fragments) == _messages(before.fragments)
        for mine, other in zip(after.message.fields, stored.fields, strict=True):
            # It only exists as metadata in what is made from it.
            mine.metadata.pop("ARROW:extension:name", None)
            other.metadata.pop("ARROW:extension:name", None)
            assert mine == other
        assert after.message.schema_metadata == stored.schema_metadata


def _messages(made: Fragments) -> list[pb.DataFragment]:
    return list(pb.Manifest.FromString(made.content).fragments)


def test_sections_precede_the_message() -> None:
    content = written(of(), b"indices")
    after = read(content)
    store = MemoryStore({PATH: content})
    assert after.index_section is not None
    assert after.transaction_section is not None
    assert manifest_file.read_section(store, PATH, after.index_section) == b"indices"
    assert manifest_file.read_section(store, PATH, after.transaction_section) == b"what was done"
    assert read(written(after)).index_section is None


def test_unknown_parts_of_columns_stay_unless_the_column_changes() -> None:
    column = b"\x12\x01a\x20\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x2a\x05int32" + UNKNOWN
    before = read(framed(message().SerializeToString() + b"\x0a" + bytes([len(column)]) + column))
    renamed = before.schema.fields[0]._replace(name="b")
    other = before.schema.fields[0]._replace(name="c", id=5)
    same = dataclasses.replace(
        before, schema=dataclasses.replace(before.schema, fields=(before.schema.fields[0], other))
    )
    assert UNKNOWN in written(same)
    with pytest.raises(UnsupportedFeature, match="'a' has Field field 99"):
        written(dataclasses.replace(before, schema=dataclasses.replace(before.schema, fields=(renamed,))))


def test_unknown_parts_of_fragments_stay_unless_the_fragment_changes() -> None:
    inner = pb.DataFragment(id=1, physical_rows=3).SerializeToString() + UNKNOWN
    known = pb.DataFragment(id=2, physical_rows=3).SerializeToString()
    body = b"".join(b"\x12" + bytes([len(each)]) + each for each in (inner, known))
    before = read(framed(message().SerializeToString() + body))
    changed = [dataclasses.replace(fragment, physical_rows=4) for fragment in before.fragments]
    kept = dataclasses.replace(before, fragments=before.fragments.edited(replaced=changed[1:]))
    assert UNKNOWN in written(kept)
    assert [fragment.physical_rows for fragment in read(written(kept)).fragments] == [3, 4]
    with pytest.raises(UnsupportedFeature, match="fragment 1 has DataFragment field 99"):
        before.fragments.edited(replaced=changed[:1])


def test_fragments_are_edited_by_id_and_sorted() -> None:
    before = of(fragments=[{"id": 5}, {"id": 2}, {"id": 9}]).fragments
    after = before.edited(removed={2}, replaced=[Fragment(5, (), None, 7)], added=[Fragment(1, (), None, 3)])
    assert after.ids == (1, 5, 9)
    assert [fragment.physical_rows for fragment in after] == [3, 7, 0]
    assert after.by_id({9, 1, 4}).keys() == {1, 9}
    with pytest.raises(InvalidArgument, match="two fragments would have the id 9"):
        before.edited(added=[Fragment(9, (), None, 1)])


numbers = st.integers(0, 2**32 - 1)
data_files = st.builds(
    lambda path, columns, version, size, base: DataFile(
        path, tuple(field for field, _ in columns), tuple(column for _, column in columns), version, size, base
    ),
    st.text(max_size=20),
    st.lists(st.tuples(st.integers(-2, 2**31 - 1), st.integers(-1, 2**31 - 1)), max_size=5),
    st.sampled_from([(2, 0), (2, 1), (2, 2), (0, 3)]),
    st.integers(0, 2**63),
    st.none() | numbers,
)
deletion_files = st.builds(
    DeletionFile, st.sampled_from(DeletionFileType), numbers, st.integers(0, 2**64 - 1), numbers, st.none() | numbers
)
sources = st.none() | st.binary(max_size=10) | st.builds(ExternalSequence, st.text(max_size=5), numbers, numbers)


@given(
    st.builds(
        Fragment,
        id=numbers,
        files=st.lists(data_files, max_size=3).map(tuple),
        deletion_file=st.none()
        | st.builds(
            DeletionFile,
            st.sampled_from(DeletionFileType),
            numbers,
            st.integers(0, 2**64 - 1),
            numbers,
            st.none() | numbers,
        ),
        physical_rows=numbers,
        row_ids=sources,
        created_at=sources,
        last_updated_at=sources,
    )
)
def test_a_fragment_that_is_written_is_read_again(fragment: Fragment) -> None:
    assert fragment_wire.parse(fragment_wire.serialize(fragment)) == fragment
    assert list(Fragments.of([fragment])) == [fragment]


def test_hidden_columns_are_written_as_such() -> None:
    file = DataFile("a.lance", (0, -3), (0, 1), (2, 2), 5)
    fragment = Fragment(1, (file,), None, 3, row_ids=HiddenColumn(file, 1))
    assert fragment_wire.parse(fragment_wire.serialize(fragment)) == fragment
    assert Fragments.of([fragment]).have_hidden_columns()
    assert not Fragments.of([dataclasses.replace(fragment, row_ids=b"")]).have_hidden_columns()


@pytest.mark.parametrize("bit", [0, 1, 2, 3, 4, 5, 7, 8, 10, 11])
def test_tables_with_known_flags_are_written(bit: int) -> None:
    features.check_writable(1 << bit, 1 << bit, "t.lance")


@pytest.mark.parametrize("bit", [8, 10])
def test_a_flag_of_readers_and_writers_that_one_of_both_lacks_is_damage(bit: int) -> None:
    for flags in ((1 << bit | 1, 1), (1, 1 << bit | 1)):
        with pytest.raises(
            CorruptFile, match=rf"^t\.lance has feature flag {1 << bit} for readers or for writers only"
        ):
            features.check_writable(*flags, "t.lance")


@pytest.mark.parametrize("bit", [6, 9, 12, 13, 14, 15, 16, 40, 63])
def test_tables_with_other_flags_are_not_written(bit: int) -> None:
    with pytest.raises(
        UnsupportedFeature,
        match=rf"^t\.lance has feature flag {1 << bit}, which this release cannot write. Nothing was",
    ):
        features.check_writable(3, 1 << bit | 3, "t.lance")


@pytest.mark.parametrize(
    ("fragment", "options", "flags"),
    [
        ({}, {}, (0, 0)),
        ({"deletion_file": {}}, {}, (1, 1)),
        ({}, {"stable_row_ids": True}, (2, 2)),
        ({}, {"has_config": True}, (0, 8)),
        ({}, {"has_base_paths": True}, (16, 16)),
        ({"column_row_ids": {}}, {}, (2048, 2048)),
        ({}, {"has_covering_indices": True}, (128, 128)),
        ({}, {"before": 256 | 1024 | 2048 | 128 | 16}, (1280, 1280)),
        ({"deletion_file": {}}, {"stable_row_ids": True, "has_config": True, "has_base_paths": True}, (19, 27)),
    ],
)
def test_flags_match_the_features_of_a_version(
    fragment: dict[str, Any], options: dict[str, Any], flags: tuple[int, int]
) -> None:
    names = ("stable_row_ids", "has_config", "has_base_paths", "has_covering_indices")
    given: dict[str, Any] = {**dict.fromkeys(names, False), "before": 0, **options}
    assert features.describe(of(fragments=[fragment]).fragments, **given) == flags


def test_more_rows_than_can_be_counted_are_refused() -> None:
    fragments = [pb.DataFragment(id=i, physical_rows=2**62) for i in range(3)]
    content = pb.Manifest(fragments=fragments)
    found = Fragments(content.SerializeToString(), trust_rows=True, file="m")
    with pytest.raises(CorruptFile, match="more rows than can be counted"):
        _ = found.num_recorded_live_rows
