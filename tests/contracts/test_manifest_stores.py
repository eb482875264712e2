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

    def test_what_is_no_database_is_an_error_that_names_it(self, tmp_path: Path) -> None:
        (tmp_path / "x.sqlite").write_bytes(b"nothing of the kind" * 100)
        with pytest.raises(OSError, match=r"x\.sqlite"):
            SqliteManifestStore(str(tmp_path / "x.sqlite")).latest("t")
