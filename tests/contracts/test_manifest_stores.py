"""Every manifest store keeps the contract of manifest stores; DynamoDB's is in tests/object_stores."""

from __future__ import annotations

from pathlib import Path

import pytest

from lance_sql.store import ManifestStore, SqliteManifestStore
from lance_sql.testing.manifest_stores import ManifestStoreContract


class TestSqlite(ManifestStoreContract):
    @pytest.fixture
    def manifests(self, tmp_path: Path) -> ManifestStore:
        return SqliteManifestStore(str(tmp_path / "manifests.sqlite"))

    def test_files_that_are_not_databases_are_named(self, tmp_path: Path) -> None:
        (tmp_path / "x.sqlite").write_bytes(b"nothing of the kind" * 100)
        with pytest.raises(OSError, match=r"x\.sqlite"):
            SqliteManifestStore(str(tmp_path / "x.sqlite")).latest("t")
