"""Details of indices of members, as pylance writes them."""

from __future__ import annotations

import pytest

from lance_sql.table import json_index
from lance_sql.table.index_kinds import BITMAP, BTREE, IndexKind

BYTES = {
    b"\n\x01n\x12 \n\x1e/lance.table.BTreeIndexDetails": ("n", BTREE),
    b"\n\x03$.f\x12 \n\x1e/lance.table.BTreeIndexDetails": ("$.f", BTREE),
    b"\n\x01n\x12!\n\x1f/lance.table.BitmapIndexDetails": ("n", BITMAP),
}


@pytest.mark.parametrize("details", BYTES)
def test_details_are_those_of_pylance(details: bytes) -> None:
    path, kind = BYTES[details]
    assert json_index.serialize(path, kind, b"") == details
    assert json_index.parse(details) == (path, kind)
    assert json_index.kind_of(json_index.DETAILS, details) is kind


@pytest.mark.parametrize(
    ("index_type", "details", "kind"),
    [
        (json_index.DETAILS, b"\xff", None),
        (json_index.DETAILS, b"", None),
        (json_index.DETAILS, b"\n\x01n\x12\x02\n\xff", None),
        # which ranks rows of documents
        (json_index.DETAILS, b"\n\x01n\x12#\n!/lance.table.InvertedIndexDetails", None),
        (json_index.DETAILS, b"\n\x01n\x12\x08\n\x06/a.New", None),
        ("BTreeIndexDetails", b"\xff", BTREE),
        ("NewIndexDetails", b"", None),
    ],
)
def test_kinds_of_indices(index_type: str, details: bytes, kind: IndexKind | None) -> None:
    assert json_index.kind_of(index_type, details) is kind
