"""Blobs of file version 2.2, of every kind."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pytest

from lance_sql.errors import CorruptFile, LanceError, UnsupportedFeature
from lance_sql.format.file.blob_v2 import DESCRIPTOR, BlobSource
from lance_sql.store import ByteRange, MemoryStore, Store

DATA = b"..inline bytes.."
FILES = {
    "data/abc.lance": DATA,
    "data/abc/10000000000000000000000000000000.blob": b"packed one, packed two",
    "data/abc/01000000000000000000000000000000.blob": b"dedicated",
}
BASES: dict[int, dict[str, bytes]] = {4: {"videos/a.bin": b"a whole object", "empty": b""}}


def base(number: int) -> Store:
    if number not in BASES:
        raise CorruptFile(f"the manifest has no base path {number}")
    return MemoryStore(BASES[number])


def resolve(*rows: Any) -> list[bytes | None]:
    """The bytes of descriptors (kind, position, size, blob_id, blob_uri); None for a NULL."""
    names = [field.name for field in DESCRIPTOR]
    descriptors = pa.array([row and dict(zip(names, row, strict=True)) for row in rows], DESCRIPTOR)
    store = MemoryStore(FILES)

    def fetch(ranges: Sequence[ByteRange]) -> list[pa.Buffer]:
        return store.get_ranges("data/abc.lance", ranges)

    array = BlobSource(fetch, store, "data/abc.lance", base).resolve(descriptors)
    array.validate(full=True)
    assert array.type == pa.large_binary()
    return list(array.to_pylist())


def test_bytes_of_every_kind() -> None:
    assert resolve(
        (0, 2, 6, 0, ""),
        (1, 12, 10, 1, ""),
        None,
        (2, 0, 9, 2, ""),
        (3, 2, 5, 4, "videos/a.bin"),
        (1, 0, 10, 1, ""),
        (3, 0, 0, 4, "videos/a.bin"),
        (3, 8, 0, 4, "videos/a.bin"),
        (0, 9, 5, 0, ""),
    ) == [
        b"inline",
        b"packed two",
        None,
        b"dedicated",
        b"whole",
        b"packed one",
        b"a whole object",
        b"object",
        b"bytes",
    ]


def test_empty_and_missing_blobs() -> None:
    assert resolve((0, 10**12, 0, 0, ""), None, (3, 0, 0, 4, "empty")) == [b"", None, b""]
    assert resolve((None, None, None, None, None), (0, 2, 1, 0, "")) == [None, b"i"]
    assert resolve() == []


@pytest.mark.parametrize(
    ("row", "error", "text"),
    [
        ((0, 10, 100, 0, ""), CorruptFile, r"data/abc\.lance: bytes 10 to 110"),
        ((1, 0, 100, 1, ""), CorruptFile, r"data/abc/10+\.blob: bytes 0 to 100"),
        ((2, 0, 5, 77, ""), CorruptFile, r"data/abc/1011001+0*\.blob: the file is missing"),
        ((3, 0, 0, 4, "none"), CorruptFile, "none: the file is missing"),
        ((3, 0, 0, 4, "../up"), CorruptFile, r"\.\./up"),
        ((3, 0, 0, 4, None), CorruptFile, "an empty path"),
        ((3, 20, 0, 4, "videos/a.bin"), CorruptFile, "bytes 20 to 14"),
        ((3, 0, 5, 9, "x"), CorruptFile, "no base path 9"),
        ((3, 0, 5, 0, "s3://elsewhere/x"), UnsupportedFeature, "s3://elsewhere/x"),
        ((4, 0, 5, 1, "x"), UnsupportedFeature, "blobs of kind 4"),
        ((9, 0, 5, 1, "x"), UnsupportedFeature, "blobs of kind 9"),
        ((0, 2**63, 2**63, 0, ""), CorruptFile, "data/abc"),
    ],
)
def test_blobs_that_are_not_there_are_refused(row: Any, error: type[LanceError], text: str) -> None:
    with pytest.raises(error, match=text):
        resolve((0, 2, 6, 0, ""), row)
