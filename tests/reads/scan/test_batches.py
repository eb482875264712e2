"""Information of the manifest about a fragment before its files are opened."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import lance_sql
from lance_sql.reads.scan.batches import is_short


def test_a_fragment_of_unknown_size_is_not_known_to_be_short(tmp_path: Path) -> None:
    (fragment,) = lance_sql.write({"id": [1, 2]}, tmp_path / "t.lance").snapshot.manifest.fragments
    assert is_short(fragment)
    assert not is_short(replace(fragment, files=tuple(replace(file, size_bytes=0) for file in fragment.files)))
    assert not is_short(replace(fragment, physical_rows=0))
