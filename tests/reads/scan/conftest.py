"""Fixtures of scans."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from lance_sql.store.access import CHECKSUMS


@pytest.fixture(scope="module")
def maps_files() -> Iterator[None]:
    """Leaves files to the kernels, which map them. Files that are compared with checksums are read in another way: no
    runs of the kernels, which are cached and learn statistics, and no index file that the test itself replaces."""
    with pytest.MonkeyPatch.context() as patched:
        patched.delenv(CHECKSUMS, raising=False)
        yield
