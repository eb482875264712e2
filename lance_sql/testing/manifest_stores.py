"""The contract of a manifest store, as tests for its authors.

class TestMyManifests(ManifestStoreContract):
    @pytest.fixture
    def manifests(self, tmp_path):
        return MyManifests(...)
"""

from __future__ import annotations

import pickle
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from lance_sql.store import ManifestEntry, ManifestStore


class ManifestStoreContract:
    """Contract of every manifest store; a subclass provides an empty one as the fixture `manifests`."""

    @pytest.fixture
    def manifests(self, tmp_path: Path) -> ManifestStore:
        raise NotImplementedError

    def test_there_is_nothing_at_first(self, manifests: ManifestStore) -> None:
        assert manifests.get("t", 1) is None
        assert manifests.latest("t") is None
        manifests.delete("t", 1)
        manifests.replace("t", ManifestEntry(1, "t/x", None))
        assert manifests.latest("t") is None

    def test_a_version_is_entered_once(self, manifests: ManifestStore) -> None:
        entry = ManifestEntry(1, "t/_versions/1.manifest-a", 10)
        assert manifests.put_if_absent("t", entry)
        assert not manifests.put_if_absent("t", entry)
        assert not manifests.put_if_absent("t", entry._replace(path="t/_versions/1.manifest-b"))
        assert manifests.get("t", 1) == entry
        assert manifests.put_if_absent("other", entry._replace(path="other/x", size=None))
        assert manifests.get("other", 1) == ManifestEntry(1, "other/x", None)

    def test_the_latest_is_the_largest_number(self, manifests: ManifestStore) -> None:
        for version in (2, 10, 9):
            assert manifests.put_if_absent("t", ManifestEntry(version, f"t/{version}", None))
        manifests.put_if_absent("u", ManifestEntry(11, "u/11", None))
        assert manifests.latest("t") == ManifestEntry(10, "t/10", None)
        manifests.delete("t", 10)
        assert manifests.latest("t") == ManifestEntry(9, "t/9", None)

    def test_an_entry_is_replaced(self, manifests: ManifestStore) -> None:
        manifests.put_if_absent("t", ManifestEntry(1, "t/staged", None))
        manifests.replace("t", ManifestEntry(1, "t/final", 12))
        assert manifests.get("t", 1) == ManifestEntry(1, "t/final", 12)

    def test_of_many_that_enter_a_version_one_succeeds(self, manifests: ManifestStore) -> None:
        start = threading.Barrier(8)

        def attempt(number: int) -> bool:
            start.wait()
            return manifests.put_if_absent("t", ManifestEntry(1, f"t/{number}", number))

        with ThreadPoolExecutor(8) as pool:
            won = list(pool.map(attempt, range(8)))
        assert sum(won) == 1
        assert manifests.get("t", 1) == ManifestEntry(1, f"t/{won.index(True)}", won.index(True))

    def test_a_pickled_store_has_the_same_entries(self, manifests: ManifestStore) -> None:
        manifests.put_if_absent("t", ManifestEntry(1, "t/x", 3))
        assert pickle.loads(pickle.dumps(manifests)).get("t", 1) == ManifestEntry(1, "t/x", 3)
