"""Preferences for the writer in the metadata of a field."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lance_sql.errors import InvalidArgument
from lance_sql.format.encodings.preferences import Preferences, from_metadata
from lance_sql.format.encodings.tree import Compression

KEYS = [
    "compression",
    "compression-level",
    "rle-threshold",
    "bss",
    "dict-divisor",
    "dict-size-ratio",
    "dict-values-compression",
    "dict-values-compression-level",
    "structural-encoding",
    "minichunk-size",
]


def read(**values: str) -> Preferences:
    return from_metadata({f"lance-encoding:{key.replace('_', '-')}": value.encode() for key, value in values.items()})


def test_every_key_is_a_preference() -> None:
    assert read() == Preferences()
    assert read(compression="ZSTD", compression_level="7") == Preferences(Compression.ZSTD, 7)
    assert read(compression="none").plain
    assert read(compression="fsst").symbols
    assert read(rle_threshold="0.5").rle_threshold == 0.5
    assert [read(bss=text).byte_stream_split for text in ("on", "off", "auto")] == [True, False, None]
    assert read(dict_divisor="4", dict_size_ratio="0.3") == Preferences(dictionary_divisor=4, dictionary_ratio=0.3)
    assert read(dict_values_compression="none").dictionary_compression is False
    assert read(dict_values_compression="lz4").dictionary_compression is Compression.LZ4
    assert [read(structural_encoding=text).full_zip for text in ("fullzip", "miniblock")] == [True, False]
    assert read(minichunk_size="4096").chunk_bytes == 4096


def test_keys_that_are_not_known_ask_for_nothing() -> None:
    assert from_metadata({"lance-encoding:future": b"?", "compression": b"?", "ARROW:x": b"\xff"}) == Preferences()


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("compression", "brotli"),
        ("compression", ""),
        ("compression-level", "high"),
        ("compression-level", "10000"),
        ("rle-threshold", "1.5"),
        ("rle-threshold", "nan"),
        ("bss", "maybe"),
        ("dict-divisor", "0"),
        ("dict-divisor", "-3"),
        ("dict-size-ratio", "0"),
        ("dict-size-ratio", "inf"),
        ("dict-values-compression", "fsst"),
        ("structural-encoding", "sparse"),
        ("minichunk-size", "0"),
        ("minichunk-size", "1e6"),
    ],
)
def test_values_that_mean_nothing_are_refused_with_their_key(key: str, value: str) -> None:
    with pytest.raises(InvalidArgument, match=f"lance-encoding:{key}="):
        from_metadata({f"lance-encoding:{key}": value.encode()})


@given(st.sampled_from(KEYS), st.binary(max_size=100))
def test_hostile_values_are_refused_by_name(key: str, value: bytes) -> None:
    refused = None
    try:
        from_metadata({f"lance-encoding:{key}": value})
    except InvalidArgument as error:
        refused = str(error)
    assert refused is None or (key in refused and len(refused) < 500)
