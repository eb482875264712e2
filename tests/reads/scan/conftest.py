"""Fixtures of scans."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from lance_sql.store.access import CHECKSUMS
from lance_sql.table import open_fragment


@pytest.fixture(scope="module")
def maps_files() -> Iterator[None]:
    """Leaves files to the kernels, which map them, from the first scan on. Files that are compared with checksums are
    read in another way: no runs of the kernels, which are cached and learn statistics, and no index file that the test
    itself replaces. Neither has the first scan of a small file, which reads it at once."""
    with pytest.MonkeyPatch.context() as patched:
        patched.delenv(CHECKSUMS, raising=False)
        patched.setattr(open_fragment, "MAX_BYTES", 0)
        yield
