"""The newest version of a table in a folder, found by the names in it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import lance_sql
from lance_sql.errors import CorruptFile
from lance_sql.store import LocalStore
from lance_sql.store.contract import ObjectInfo
from lance_sql.table import versions
from lance_sql.table.paths import VERSIONS, NamingScheme, manifest_path


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
