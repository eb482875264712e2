"""The newest version of a table in a folder, found by the names in it."""

from __future__ import annotations

import dataclasses
import os
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest

import lance_sql
from lance_sql.errors import CorruptFile
from lance_sql.format.proto import table_pb2
from lance_sql.store import LocalStore
from lance_sql.store.contract import ObjectInfo
from lance_sql.table import manifest, manifest_file, transactions, versions
from lance_sql.table.commit_summary import from_properties
from lance_sql.table.fragments import Fragments
from lance_sql.table.paths import VERSIONS, NamingScheme, manifest_path
from lance_sql.table.snapshot import Snapshot
from lance_sql.table.version_infos import VersionInfo
from tests.conftest import Case


class Unlisted(LocalStore):
    """A folder whose files may not be taken one by one."""

    def files(self, prefix: str) -> Iterator[ObjectInfo]:
        raise AssertionError(prefix)


def put(folder: Path, path: str) -> None:
    (folder / path).parent.mkdir(exist_ok=True)
    (folder / path).touch()


def test_names_are_enough(tmp_path: Path) -> None:
    for version in range(1, 13):
        put(tmp_path, manifest_path(version, NamingScheme.V2))
    put(tmp_path, manifest_path(2**63 + 5, NamingScheme.V2))
    put(tmp_path, f"{VERSIONS}/latest_version_hint.json")
    put(tmp_path, f"{VERSIONS}/.tmp_{manifest_path(13, NamingScheme.V2).rpartition('/')[2]}_ab")
    (tmp_path / manifest_path(14, NamingScheme.V2)).mkdir()
    store = Unlisted(tmp_path)
    assert versions.newest(store) == versions.VersionFile(12, manifest_path(12, NamingScheme.V2))
    assert versions.list_newer(store, 10) == versions.list_versions(LocalStore(tmp_path))[9:]
    assert [file.version for file in versions.list_newer(store, 99)] == [12]
    (tmp_path / manifest_path(11, NamingScheme.V2)).unlink()
    assert [file.version for file in versions.list_newer(store, 10)] == [10, 12]
    assert versions.newest(Unlisted(tmp_path / "nothing")) is None


def test_both_naming_schemes_in_one_folder_are_refused(tmp_path: Path) -> None:
    """Version 9 of the other scheme comes last by name, and is the newest all the same."""
    put(tmp_path, manifest_path(8, NamingScheme.V2))
    put(tmp_path, manifest_path(9, NamingScheme.V1))
    with pytest.raises(CorruptFile, match="both naming schemes"):
        versions.newest(LocalStore(tmp_path))
    (tmp_path / manifest_path(8, NamingScheme.V2)).unlink()
    assert versions.newest(LocalStore(tmp_path)) == versions.VersionFile(9, manifest_path(9, NamingScheme.V1))


def test_versions_share_a_schema_that_stays_the_same(tmp_path: Path) -> None:
    path = tmp_path / "t.lance"
    first = lance_sql.write({"a": [1]}, path)
    second = first.delete("a = 1")
    third = second.rename_columns({"a": "b"})
    schemas = [lance_sql.open(path, version=each.version).snapshot.manifest.schema for each in (first, second, third)]
    assert schemas[0] is schemas[1]
    assert [schema.names for schema in schemas] == [("a",), ("a",), ("b",)]


def expected_info(snapshot: Snapshot) -> VersionInfo:
    """What a list shows of a version, from its manifest and its transaction."""
    read, transaction = snapshot.manifest, snapshot.transaction()
    return VersionInfo(
        version=read.version,
        timestamp=read.timestamp,
        num_fragments=len(read.fragments),
        data_format=read.data_format,
        writer_version=read.writer_version,
        operation=transaction.operation if transaction is not None else None,
        summary=from_properties(transaction.properties) if transaction is not None else None,
    )


def test_lists_match_manifests_and_transactions(corpus_case: Case) -> None:
    snapshot = lance_sql.open(corpus_case.table).snapshot
    for _ in range(2):
        assert snapshot.versions() == tuple(expected_info(each) for each in snapshot.siblings())


@pytest.mark.parametrize("num_fragments", [1, 700])
def test_sections_are_read_wherever_they_are(tmp_path: Path, num_fragments: int) -> None:
    """The manifest of many fragments, and what stands in front of it, does not come with one request."""
    path = tmp_path / "t.lance"
    table = lance_sql.write({"a": [1]}, path)
    snapshot = table.snapshot
    fragment = snapshot.manifest.fragments[0]
    many = Fragments.of([dataclasses.replace(fragment, id=number) for number in range(num_fragments)])
    transaction = transactions.read_bytes(snapshot.store, snapshot.manifest_path, snapshot.manifest)
    assert transaction is not None
    changed = dataclasses.replace(snapshot.manifest, fragments=many)
    content = manifest.serialize(changed, index_section=b"\x12\x01a" * 30_000, transaction=transaction)
    (path / snapshot.manifest_path).write_bytes(content)
    (found,) = table.versions()
    assert (found.num_fragments, found.operation) == (num_fragments, "overwrite")
    assert found.summary is not None
    assert found.summary.rows_inserted == 1


def test_a_transaction_in_a_file_may_go_while_its_version_is_listed(tmp_path: Path) -> None:
    path = tmp_path / "t.lance"
    snapshot = lance_sql.write({"a": [1]}, path).snapshot
    message = table_pb2.Manifest.FromString(manifest_file.read_message(snapshot.store, snapshot.manifest_path)[0])
    message.ClearField("transaction_section")
    body = message.SerializeToString()
    footer = struct.pack("<qHH4s", 0, 0, 2, b"LANC")
    (path / snapshot.manifest_path).write_bytes(struct.pack("<I", len(body)) + body + footer)
    os.utime(path / snapshot.manifest_path, (0, 0))
    table = lance_sql.open(path)
    for _ in range(2):
        assert [info.operation for info in table.versions()] == ["overwrite"]
    (path / "_transactions" / message.transaction_file).unlink()
    assert [(info.operation, info.summary) for info in table.versions()] == [(None, None)]


def test_a_damaged_version_is_listed_with_its_damage(tmp_path: Path) -> None:
    path = tmp_path / "t.lance"
    lance_sql.write({"a": [1]}, path)
    lance_sql.write({"a": [2]}, path, mode="append")
    table = lance_sql.write({"a": [3]}, path, mode="append")
    first, second, _ = table.snapshot.siblings()
    content = (path / first.manifest_path).read_bytes()
    (path / first.manifest_path).write_bytes(content[:-4] + b"XXXX")
    damaged = bytearray((path / second.manifest_path).read_bytes())
    position = second.manifest.transaction_section
    assert position is not None
    damaged[position + 4 : position + 24] = b"\xff" * 20
    (path / second.manifest_path).write_bytes(damaged)
    found = table.versions()
    assert [info.version for info in found] == [1, 2, 3]
    assert [info.damage is not None for info in found] == [True, True, False]
    assert [info.operation for info in found] == [None, None, "append"]
