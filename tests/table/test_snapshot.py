"""Opening tables: versions, tags, branches and times, and the messages."""

from __future__ import annotations

import json
import os
import pickle
import struct
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from lance_sql.errors import CorruptFile, InvalidArgument, TableNotFound, VersionNotFound
from lance_sql.format.proto import table_pb2 as pb
from lance_sql.table.fragment import DataFile
from lance_sql.table.open_snapshot import open_snapshot
from lance_sql.table.snapshot import Snapshot

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)


def write_manifest(root: Path, version: int, name: str | None = None, **fields: Any) -> Path:
    """A table version without data; version n was committed n hours after noon."""
    seconds = int(NOON.timestamp()) + 3600 * version
    content = {
        "version": version,
        "fields": [{"name": "id", "id": 0, "parent_id": -1, "logical_type": "int64"}],
        "timestamp": {"seconds": seconds},
        "writer_version": {"library": "lance", "version": "14.0.2"},
        **fields,
    }
    message = pb.Manifest(**content).SerializeToString()
    path = root / "_versions" / (name or f"{2**64 - 1 - version:020}.manifest")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(struct.pack("<I", len(message)) + message + struct.pack("<qHH4s", 0, 0, 2, b"LANC"))
    return path


@pytest.fixture
def table(tmp_path: Path) -> Path:
    root = tmp_path / "events.lance"
    for version in (3, 4, 5):
        write_manifest(root, version)
    return root


def add_ref(root: Path, kind: str, name: str, content: object) -> None:
    folder = root / "_refs" / kind
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.json").write_text(content if isinstance(content, str) else json.dumps(content))


def test_the_latest_version_is_the_default(table: Path) -> None:
    snapshot = open_snapshot(table)
    assert (snapshot.version, snapshot.branch, snapshot.name) == (5, None, "events.lance")
    assert snapshot.label == "events.lance version 5"
    assert snapshot.manifest.schema.names == ("id",)


def test_a_new_version_is_seen_by_the_next_opening(table: Path) -> None:
    before = open_snapshot(table)
    write_manifest(table, 6)
    assert (before.version, open_snapshot(table).version) == (5, 6)
    assert [info.version for info in before.versions()] == [3, 4, 5, 6]


def test_both_naming_schemes_are_read_but_not_mixed(tmp_path: Path) -> None:
    root = tmp_path / "old.lance"
    for version in (1, 9, 10):
        write_manifest(root, version, f"{version}.manifest")
    assert open_snapshot(root).version == 10
    assert open_snapshot(root, version=9).manifest_path == "_versions/9.manifest"
    write_manifest(root, 11)
    with pytest.raises(CorruptFile, match="both naming schemes"):
        open_snapshot(root)


def test_everything_else_in_the_folder_is_ignored(table: Path) -> None:
    for name in ("latest_version_hint.json", ".tmp_7.manifest-x", "d9223372036854775809.manifest", "x.manifest"):
        (table / "_versions" / name).write_text('{"version": 1}')
    (table / "_versions" / f"{2**64 - 1 - 9:020}.manifest").mkdir()
    assert open_snapshot(table).version == 5


def test_detached_versions_are_opened_by_number_only(table: Path) -> None:
    detached = 2**63 + 17
    write_manifest(table, detached, f"d{detached}.manifest", timestamp={"seconds": 0})
    assert open_snapshot(table, version=detached).version == detached
    assert open_snapshot(table).version == 5


def test_a_manifest_of_another_version_is_refused(table: Path) -> None:
    write_manifest(table, 5, f"{2**64 - 1 - 6:020}.manifest")
    with pytest.raises(CorruptFile, match="contains version 5, not 6"):
        open_snapshot(table)


def test_a_damaged_latest_version_is_never_replaced_silently(table: Path) -> None:
    latest = write_manifest(table, 6)
    latest.write_bytes(latest.read_bytes()[:-7])
    with pytest.raises(CorruptFile, match=r"LANC\. The newest version whose manifest can be read is 5$"):
        open_snapshot(table)
    assert open_snapshot(table, version=5).version == 5


@pytest.mark.parametrize(
    ("versions", "asked", "message"),
    [
        ((3, 4, 5), 99, "Version 99 does not exist in t.lance: versions 3 to 5 are available (1-2 were cleaned up)"),
        ((2, 3), 1, "Version 1 does not exist in t.lance: versions 2 to 3 are available (1 was cleaned up)"),
        ((1,), 0, "Version 0 does not exist in t.lance: only version 1 is available"),
        ((1, 2, 5, 7), 3, "Version 3 does not exist in t.lance: versions 1-2, 5, 7 are available"),
        ((1,), -4, "Version -4 does not exist in t.lance: only version 1 is available"),
        ((1,), 2**70, f"Version {2**70} does not exist in t.lance: only version 1 is available"),
    ],
)
def test_a_missing_version_names_the_ones_that_exist(
    tmp_path: Path, versions: tuple[int, ...], asked: int, message: str
) -> None:
    for version in versions:
        write_manifest(tmp_path / "t.lance", version)
    with pytest.raises(VersionNotFound) as raised:
        open_snapshot(tmp_path / "t.lance", version=asked)
    assert str(raised.value) == message


@pytest.mark.parametrize(
    ("when", "version"),
    [
        (NOON + timedelta(hours=4), 4),
        (NOON + timedelta(hours=5, microseconds=-1), 4),
        (NOON + timedelta(days=400), 5),
        ("2026-05-01T15:30:00Z", 3),
        ("2026-05-01 16:00", 4),
        ("2026-05-01T18:00:00+02:00", 4),
        (datetime(2026, 5, 1, 16), 4),
        (datetime(2026, 5, 1, 18, tzinfo=timezone(timedelta(hours=2))), 4),
        (date(2026, 5, 2), 5),
        ("2026-05-02", 5),
    ],
)
def test_as_of_is_the_newest_version_not_later(table: Path, when: datetime | date | str, version: int) -> None:
    assert open_snapshot(table, as_of=when).version == version


def test_the_listed_time_of_a_version_finds_it_again(tmp_path: Path) -> None:
    for version in (1, 2):
        write_manifest(tmp_path / "t.lance", version, timestamp={"seconds": version, "nanos": 123_456_789})
    for info in open_snapshot(tmp_path / "t.lance").versions():
        assert open_snapshot(tmp_path / "t.lance", as_of=info.timestamp).version == info.version


def test_before_the_first_version_names_its_time(table: Path) -> None:
    with pytest.raises(
        VersionNotFound,
        match=r"version 3 was committed later, at 2026-05-01T15:00:00\+00:00. Name a later time, or version 3$",
    ):
        open_snapshot(table, as_of="2026-05-01T14:59:59Z")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"version": 3, "tag": "a"}, "Pass one of version, tag and as_of, not version and tag"),
        ({"tag": "a", "as_of": "2026-01-01"}, "not tag and as_of"),
        ({"tag": "a", "branch": "b"}, "either tag or branch"),
        ({"version": True}, "not a whole number"),
        ({"as_of": "gestern"}, "'gestern' is not a time"),
        ({"branch": "../../other"}, "cannot be the name of a branch"),
    ],
)
def test_arguments_that_make_no_sense_are_the_callers_mistake(
    table: Path, arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises(InvalidArgument, match=message):
        open_snapshot(table, **arguments)


def test_tags_name_versions(table: Path) -> None:
    add_ref(table, "tags", "good", {"version": 4, "createdAt": "2026-11-21T01:47:28.897023121Z"})
    add_ref(table, "tags", "old", {"branch": None, "version": 3, "manifestSize": 684})
    add_ref(table, "tags", "lost", {"version": 1})
    assert open_snapshot(table, tag="good").version == 4
    tags = open_snapshot(table).tags()
    assert list(tags) == ["good", "lost", "old"]
    assert tags["good"].created_at == datetime(2026, 11, 21, 1, 47, 28, 897023, tzinfo=UTC)
    with pytest.raises(VersionNotFound, match=r"No tag 'goood' in events\.lance\. Did you mean 'good'\?"):
        open_snapshot(table, tag="goood")
    with pytest.raises(VersionNotFound, match=r"Version 1 \(tag 'lost'\) does not exist"):
        open_snapshot(table, tag="lost")


@pytest.mark.parametrize(
    "content", ["", "{", "[1]", '{"version": "3"}', '{"version": -1}', '{"version": true}', "[" * 9999]
)
def test_a_damaged_tag_is_named(table: Path, content: str) -> None:
    add_ref(table, "tags", "bad", content)
    with pytest.raises(CorruptFile, match=r"_refs/tags/bad\.json"):
        open_snapshot(table, tag="bad")


def test_branches_are_tables_of_their_own(table: Path) -> None:
    add_ref(table, "branches", "feature%2Fx", {"parentBranch": None, "parentVersion": 4, "createAt": 1795225648})
    add_ref(table, "tags", "there", {"branch": "feature/x", "version": 4})
    for version in (4, 5, 6):
        write_manifest(table / "tree" / "feature" / "x", version, branch="feature/x")
    latest = open_snapshot(table, branch="feature/x")
    assert (latest.version, latest.branch) == (6, "feature/x")
    assert latest.label == "events.lance branch 'feature/x' version 6"
    assert open_snapshot(table, branch="feature/x", version=5).version == 5
    assert open_snapshot(table, branch="feature/x", as_of=NOON + timedelta(hours=4)).version == 4
    assert open_snapshot(table, branch="main").version == 5
    tagged = open_snapshot(table, tag="there")
    assert (tagged.version, tagged.branch) == (4, "feature/x")
    assert list(tagged.tags()) == ["there"]
    assert latest.branches()["feature/x"].version == 4
    with pytest.raises(
        VersionNotFound, match=r"No tag 'feature/x' in events\.lance, but a branch of that name: pass branch="
    ):
        open_snapshot(table, tag="feature/x")
    with pytest.raises(VersionNotFound, match=r"No branch 'y' in events\.lance\. Branches: feature/x"):
        open_snapshot(table, branch="y")
    with pytest.raises(VersionNotFound, match=r"in events\.lance, branch 'feature/x': versions 4 to 6 are available$"):
        open_snapshot(table, branch="feature/x", version=3)


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda root: None, "no such folder"),
        (lambda root: root.mkdir(), "no _versions directory"),
        (lambda root: (root / "_versions").mkdir(parents=True), "no manifest in _versions"),
        (lambda root: root.write_text("x"), "it is a file"),
    ],
)
@pytest.mark.parametrize("arguments", [{}, {"version": 1}, {"tag": "x"}, {"branch": "x"}, {"as_of": "2026-01-01"}])
def test_no_table_names_its_neighbour(
    table: Path,
    make: Callable[[Path], object],
    reason: str,
    arguments: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    make(table.parent / "event.lance")
    monkeypatch.chdir(table.parent.parent)
    uri = os.path.join(table.parent.name, "event.lance")
    with pytest.raises(TableNotFound) as raised:
        open_snapshot(uri, **arguments)
    neighbour = os.path.join(table.parent.name, "events.lance")
    assert str(raised.value) == f"No Lance table at {uri!r} ({reason}). Did you mean {neighbour!r}?"
    assert isinstance(raised.value, FileNotFoundError)


def test_a_table_whose_versions_are_lost_is_not_taken_for_its_neighbour(table: Path) -> None:
    lost = table.parent / "event.lance"
    (lost / "data").mkdir(parents=True)
    with pytest.raises(TableNotFound, match="Did you mean"):
        open_snapshot(str(lost))
    (lost / "data" / "x.lance").write_text("x")
    with pytest.raises(
        TableNotFound, match=r"\(no _versions directory\)\. It has data files, but no version"
    ) as raised:
        open_snapshot(str(lost))
    assert "Did you mean" not in str(raised.value)


def test_a_pickled_snapshot_reads_the_same_version_when_it_is_used(table: Path) -> None:
    snapshot = open_snapshot(table, version=4)
    again = pickle.loads(pickle.dumps(snapshot))
    write_manifest(table, 9)
    assert again._manifest is None
    assert isinstance(again, Snapshot)
    assert again.manifest.version == 4
    assert (again.uri, again.label) == (snapshot.uri, snapshot.label)


def file_at(path: str, base_id: int | None = None) -> DataFile:
    return DataFile(path, (0,), (0,), (2, 2), 0, base_id)


def test_data_files_are_below_the_table_or_a_base_path(table: Path, tmp_path: Path) -> None:
    bases = [
        {"id": 0, "path": str(tmp_path / "root"), "is_dataset_root": True},
        {"id": 7, "path": f"file://{tmp_path}/flat"},
        {"id": 8, "path": "relative"},
    ]
    write_manifest(table, 6, base_paths=bases)
    for place, content in (("events.lance/data", b"own"), ("root/data", b"root"), ("flat", b"flat")):
        (tmp_path / place).mkdir(parents=True)
        (tmp_path / place / "a.lance").write_bytes(content)
    snapshot = open_snapshot(table)
    for base_id, content in ((None, b"own"), (0, b"root"), (7, b"flat")):
        store, path = snapshot.open_fragments.files.resolve(file_at("a.lance", base_id))
        assert store.tail(path, 99)[1].to_pybytes() == content
    with pytest.raises(CorruptFile, match="no base path 77"):
        snapshot.open_fragments.files.resolve(file_at("a.lance", 77))
    with pytest.raises(CorruptFile, match="base path 8 is neither"):
        snapshot.open_fragments.files.resolve(file_at("a.lance", 8))


@pytest.mark.parametrize("path", ["", "/etc/passwd", "../../x.lance", "a/../../x.lance", "a\0.lance", "a" * 70_000])
def test_paths_that_lead_out_of_the_table_are_refused(table: Path, path: str) -> None:
    with pytest.raises(CorruptFile, match=r"_versions/.*\.manifest: "):
        open_snapshot(table).open_fragments.files.resolve(file_at(path))


def test_row_history_needs_stable_row_ids(table: Path) -> None:
    write_manifest(table, 6, fragments=[{"id": 2, "physical_rows": 3, "inline_row_ids": b"ignored"}])
    snapshot = open_snapshot(table)
    fragment = snapshot.manifest.fragments[0]
    ids = snapshot.open(fragment).row_id_sequence
    assert ids.expand().tolist() == [2 << 32, (2 << 32) + 1, (2 << 32) + 2]
    for name in ("created_at_sequence", "last_updated_at_sequence"):
        with pytest.raises(InvalidArgument, match=r"^events\.lance version 6 was created without stable row ids"):
            getattr(snapshot.open(fragment), name)


def test_a_fragment_of_a_stable_table_has_row_ids(table: Path) -> None:
    write_manifest(table, 6, reader_feature_flags=2, fragments=[{"id": 2, "physical_rows": 3}])
    snapshot = open_snapshot(table)
    with pytest.raises(CorruptFile, match="fragment 2 has no row ids"):
        _ = snapshot.open(snapshot.manifest.fragments[0]).row_id_sequence
    versions = snapshot.open(snapshot.manifest.fragments[0]).created_at_sequence
    assert versions.expand().tolist() == [1, 1, 1]
