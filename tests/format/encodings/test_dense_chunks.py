"""Strings that are compressed by Zstandard lie in longer chunks, as far as the file version has them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import lance
import numpy as np
import pyarrow as pa
import pytest

import lance_sql


def _sentences(count: int) -> pa.Array:
    random = np.random.default_rng(3)
    words = np.array(
        [
            "the",
            "of",
            "some",
            "packages",
            "orders",
            "slowly",
            "among",
            "final",
            "deposits",
            "requests",
            "carefully",
            "above",
        ]
    )
    return pa.array([" ".join(random.choice(words, length)) for length in random.integers(2, 9, count)])


def _bytes(path: Path) -> int:
    return sum(file.stat().st_size for file in (path / "data").iterdir())


@pytest.mark.parametrize(("file_version", "share"), [("2.1", 0.97), ("2.2", 0.9)])
def test_sentences_take_less_than_in_short_chunks(tmp_path: Path, file_version: Any, share: float) -> None:
    sizes = {}
    texts = _sentences(60_000)
    for name, wanted in (("long", {}), ("short", {"lance-encoding:minichunk-size": "8192"})):
        field = pa.field("text", pa.string(), metadata={"lance-encoding:compression": "zstd", **wanted})
        table = pa.table([texts], pa.schema([field]))
        lance_sql.write(table, tmp_path / name, file_version=file_version)
        assert lance.dataset(tmp_path / name).to_table()["text"].combine_chunks().equals(texts)
        assert lance_sql.open(tmp_path / name).to_table()["text"].combine_chunks().equals(texts)
        chosen = [3, 59_999, 17, 30_000]
        taken = lance_sql.open(tmp_path / name).take(chosen).column("text").to_pylist()
        assert taken == texts.take(chosen).to_pylist()
        sizes[name] = _bytes(tmp_path / name)
    assert sizes["long"] < share * sizes["short"]


@pytest.mark.parametrize("file_version", ["2.1", "2.2"])
def test_strings_of_all_lengths_have_room(tmp_path: Path, file_version: Any) -> None:
    """Bytes that nothing makes smaller, of lengths around those of chunks."""
    random = np.random.default_rng(1)
    lengths = [0, 1, 15_000, 16_383, 16_384, 16_385, 32_767, 32_768, 32_769, 3, 0, 70_000] + [200] * 500
    values = pa.array([random.bytes(length) for length in lengths], pa.binary())
    field = pa.field("v", pa.binary(), metadata={"lance-encoding:compression": "zstd"})
    path = tmp_path / "t"
    lance_sql.write(pa.table([values], pa.schema([field])), path, file_version=file_version)
    assert lance.dataset(path).to_table()["v"].combine_chunks().equals(values)
    assert lance_sql.open(path).to_table()["v"].combine_chunks().equals(values)
