"""Small files that a scan reads for the first time are read at once; later scans open their columns. Both give the same
rows, and batches stay small where many rows share a long value."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import lance
import numpy as np
import pyarrow as pa
import pytest

import lance_sql
from lance_sql.format.file import small_files
from lance_sql.reads.scan import batches
from lance_sql.runtime.cache_usage import clear_caches
from tests.table.test_small_fragments import TYPES, VERSIONS, Version

NUM_FRAGMENTS, NUM_ROWS = 5, 1500
CONDITIONS = ["int64 > 50", "text IS NOT NULL AND double < 30", "bool", "text LIKE '%9%'", "nested.x > 40 OR int8 = 3"]


def _part(seed: int) -> pa.Table:
    random = np.random.default_rng(seed)
    columns: dict[str, pa.Array] = {}
    for name, type in TYPES.items():
        numbers = random.integers(0, 100, NUM_ROWS)
        made: list[Any] = numbers.tolist()
        if pa.types.is_boolean(type):
            made = (numbers < 50).tolist()
        elif pa.types.is_struct(type):
            made = [{"x": number} for number in made]
        elif pa.types.is_list(type):
            made = [[number] * (number % 4) for number in made]
        elif name in ("text", "large_text", "bytes"):
            made = [f"{number} of {seed}" * (number % 3) for number in made]
        elif pa.types.is_decimal(type) or pa.types.is_temporal(type):
            array = pa.array(made, pa.int32())
            columns[name] = array.cast(pa.int64()).cast(type) if pa.types.is_timestamp(type) else array.cast(type)
            continue
        missing = random.random(NUM_ROWS) < (0.2 if seed % 2 else 0.0)
        columns[name] = (
            pa.array([None if gone else value for value, gone in zip(made, missing, strict=True)], pa.string()).cast(
                type
            )
            if name == "bytes"
            else pa.array([None if gone else value for value, gone in zip(made, missing, strict=True)], type)
        )
    return pa.table(columns)


@pytest.fixture(scope="module", params=VERSIONS)
def path(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> str:
    path = str(tmp_path_factory.mktemp("first") / "t.lance")
    for seed in range(NUM_FRAGMENTS):
        lance.write_dataset(_part(seed), path, mode="append" if seed else "create", data_storage_version=request.param)
    lance.dataset(path).delete("int8 < 10")
    return path


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The number of files of each call that were read at once."""
    calls: list[int] = []
    read = small_files.read
    clear_caches()

    def counting(files: Any) -> Any:
        done, columns = read(files)
        calls.append(sum(done))
        return done, columns

    monkeypatch.setattr(small_files, "read", counting)
    return calls


@pytest.mark.parametrize(
    "columns", [[name] for name in TYPES] + [["text", "int64", "_rowid"], ["bytes", "bool"]], ids=str
)
def test_columns_are_alike_the_first_and_the_second_time(path: str, columns: list[str], at_once: list[int]) -> None:
    expected = lance.dataset(path).to_table(
        [name for name in columns if name[0] != "_"], with_row_id="_rowid" in columns
    )
    table = lance_sql.open(path)
    first = table.scan(columns).to_table()
    num_at_once = sum(at_once)
    second = table.scan(columns).to_table()
    assert first.equals(expected.cast(first.schema))
    assert second.equals(first)
    assert num_at_once == (0 if columns[0] in ("nested", "list") else NUM_FRAGMENTS)
    assert sum(at_once) == num_at_once


@pytest.mark.parametrize("condition", CONDITIONS)
def test_conditions_pass_the_same_rows_the_first_time(path: str, condition: str, at_once: list[int]) -> None:
    expected = lance.dataset(path).to_table(["text", "int64"], filter=condition)
    table = lance_sql.open(path)
    assert table.scan(["text", "int64"], condition).to_table().equals(expected)
    assert bool(sum(at_once)) == ("nested" not in condition)
    assert table.scan(["text", "int64"], condition).to_table().equals(expected)
    assert lance_sql.open(path).count_rows(condition) == len(expected)


@pytest.mark.parametrize(("batch_size", "is_at_once"), [(1600, True), (700, False)])
def test_batches_of_a_size(path: str, batch_size: int, is_at_once: bool, at_once: list[int]) -> None:
    read = list(lance_sql.open(path).scan(["text", "int64"], batch_size=batch_size).to_batches())
    assert max(batch.num_rows for batch in read) <= batch_size
    assert pa.Table.from_batches(read).equals(lance.dataset(path).to_table(["text", "int64"]))
    assert sum(at_once) == (NUM_FRAGMENTS if is_at_once else 0)


@pytest.mark.parametrize("limit", [0, 1, 1400, 1501, 3000])
def test_limits_end_the_first_scan(path: str, limit: int) -> None:
    assert (
        lance_sql.open(path)
        .scan(["int64", "text"], limit=limit)
        .to_table()
        .equals(
            lance.dataset(path).to_table(["int64", "text"], limit=limit)
            if limit
            else lance_sql.open(path).schema.empty_table().select(["int64", "text"])
        )
    )


@pytest.mark.parametrize("version", VERSIONS)
def test_rows_that_share_long_values_stay_in_small_batches(
    tmp_path: Path, version: Version, at_once: list[int]
) -> None:
    # a file of a few hundred kilobytes, whose rows are 160 MB
    documents = ["".join(np.random.default_rng(n).choice(list("abcdefgh"), 20_000)) for n in range(8)]
    table = pa.table({"k": np.arange(8000), "s": [documents[n % 8] for n in range(8000)]})
    path = str(tmp_path / "t.lance")
    schema = table.schema.set(1, table.schema.field(1).with_metadata({b"lance-encoding:dict-divisor": b"2"}))
    lance.write_dataset(table.cast(schema), path, data_storage_version=version)
    (file,) = (tmp_path / "t.lance" / "data").iterdir()
    assert file.stat().st_size < small_files.MAX_BYTES
    read = list(lance_sql.open(path).scan().to_batches())
    assert sum(at_once) == 0
    assert max(batch.nbytes for batch in read) <= 2 * batches.MAX_BATCH_BYTES
    assert pa.Table.from_batches(read).equals(table.cast(read[0].schema))


def test_damage_is_named(path: str, tmp_path: Path) -> None:
    copy = tmp_path / "t.lance"
    shutil.copytree(path, copy)
    file = min((copy / "data").iterdir())
    content = bytearray(file.read_bytes())
    content[0:2000] = b"\xff" * 2000
    file.write_bytes(content)
    with pytest.raises(lance_sql.CorruptFile, match=file.name):
        lance_sql.open(str(copy)).to_table()
