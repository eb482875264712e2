"""Reads that compare checksums: the same bytes as without, and an error with the file and block for others."""

from __future__ import annotations

import pickle
import random
from pathlib import Path
from typing import Any

import lance
import numpy as np
import pyarrow as pa
import pytest

import lance_sql
from lance_sql.errors import CorruptFile, InvalidArgument
from lance_sql.store import ByteRange, LocalStore, MemoryStore, Store, checksums, compared
from lance_sql.store.checksums import BLOCK_BYTES
from lance_sql.store.compared import ComparedStore
from lance_sql.table import checksums as recorded
from lance_sql.testing.stores import FILES, StoreContract

SIZE = 3 * BLOCK_BYTES + 12_345


class TestWithoutChecksums(StoreContract):
    @pytest.fixture
    def store(self) -> Store:
        return ComparedStore(MemoryStore(dict(FILES)))


@pytest.fixture(autouse=True)
def nothing_compared_yet() -> None:
    for cache in (compared._compared, compared._recorded, compared._without):
        cache.clear()


@pytest.fixture
def content() -> bytes:
    return np.random.default_rng(0).bytes(SIZE)


@pytest.fixture(params=["local", "memory"])
def plain(request: pytest.FixtureRequest, content: bytes, tmp_path: Path) -> Store:
    store: Store = LocalStore(tmp_path) if request.param == "local" else MemoryStore({})
    store.put("data/a.lance", content, mode="overwrite")
    recorded.write(store, "_checksums/1.json", {"data/a.lance": checksums.of(content)})
    return store


def test_ranges_and_tails_are_those_of_the_file(plain: Store, content: bytes) -> None:
    random.seed(1)
    store = pickle.loads(pickle.dumps(ComparedStore(plain))) if isinstance(plain, LocalStore) else ComparedStore(plain)
    for _ in range(60):
        ranges = []
        for _ in range(random.randint(0, 4)):
            start = random.choice([random.randrange(SIZE), BLOCK_BYTES, 2 * BLOCK_BYTES - 1, SIZE])
            ranges.append(ByteRange(start, min(start + random.choice([0, 1, 100, BLOCK_BYTES, SIZE]), SIZE)))
        found = [buffer.to_pybytes() for buffer in store.get_ranges("data/a.lance", ranges)]
        assert found == [content[start:end] for start, end in ranges]
        length = random.choice([0, 1, 64_000, BLOCK_BYTES, SIZE, SIZE + 9])
        size, tail = store.tail("data/a.lance", length)
        assert (size, tail.to_pybytes()) == (SIZE, content[max(SIZE - length, 0) :] if length else b"")
        if random.random() < 0.2:
            compared._compared.clear()


def test_a_block_is_compared_once(plain: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[ByteRange] = []
    reads = type(plain).get_ranges

    def noted(self: Any, path: str, ranges: Any) -> list[pa.Buffer]:
        asked.extend(ranges)
        found: list[pa.Buffer] = reads(self, path, ranges)
        return found

    monkeypatch.setattr(type(plain), "get_ranges", noted)
    store = ComparedStore(plain)
    wanted = ByteRange(BLOCK_BYTES + 5, BLOCK_BYTES + 10)
    for _ in range(2):
        store.get_ranges("data/a.lance", [wanted])
    assert asked == [ByteRange(BLOCK_BYTES, 2 * BLOCK_BYTES), wanted]


@pytest.mark.parametrize("block", range(4))
def test_a_changed_block_is_named_when_it_is_read(plain: Store, content: bytes, block: int) -> None:
    changed = bytearray(content)
    changed[block * BLOCK_BYTES + 77] ^= 1
    plain.put("data/a.lance", bytes(changed), mode="overwrite")
    store = ComparedStore(plain)
    for other in range(4):
        wanted = [ByteRange(other * BLOCK_BYTES, other * BLOCK_BYTES + 9)]
        if other != block:
            assert store.get_ranges("data/a.lance", wanted)[0].size == 9
            continue
        for _ in range(2):
            with pytest.raises(CorruptFile, match=rf"data/a.lance: checksum mismatch in block {block}, bytes") as error:
                store.get_ranges("data/a.lance", wanted)
            assert "\n" not in str(error.value)


def test_a_cut_file_is_refused(plain: Store, content: bytes) -> None:
    plain.put("data/a.lance", content[:-1], mode="overwrite")
    with pytest.raises(CorruptFile, match=f"the file has {SIZE - 1} bytes, {SIZE} were written"):
        ComparedStore(plain).tail("data/a.lance", 100)


@pytest.fixture
def table(tmp_path: Path) -> lance_sql.Dataset:
    made = lance_sql.write({"id": range(300_000), "x": [0.5] * 300_000}, tmp_path / "t.lance").indices.create(
        "id", "btree"
    )
    made = made.delete("id = 7")
    return lance_sql.write({"id": [-1], "x": [0.0]}, made.uri, mode="append")


def damage(table: lance_sql.Dataset) -> None:
    """Changes values of the first column in the largest file, none of which the format notices."""
    file = max(Path(table.uri, "data").iterdir(), key=lambda each: each.stat().st_size)
    content = bytearray(file.read_bytes())
    content[100_000:100_100] = bytes(100)
    file.write_bytes(content)


DOORS: dict[str, Any] = {
    "open": lambda path: lance_sql.open(path, checksums=True).to_table().num_rows,
    "storage options": lambda path: lance_sql.open(path, storage_options={"checksums": "true"}).to_table().num_rows,
    "connect": lambda path: len(lance_sql.connect(checksums=True).sql(f"SELECT id, x FROM '{path}'").fetchall()),
    "changes": lambda path: lance_sql.open(path, checksums=True).changes().scan().to_table().num_rows - 1,
    "pickled": lambda path: sum(
        pickle.loads(pickle.dumps(task)).to_reader().read_all().num_rows
        for task in lance_sql.open(path, checksums=True).scan().tasks(3)
    ),
}


@pytest.mark.parametrize("door", DOORS)
def test_every_door_finds_other_values(table: lance_sql.Dataset, door: str) -> None:
    assert DOORS[door](table.uri) in (300_000, 300_001)
    damage(table)
    with pytest.raises(Exception, match="checksum mismatch in block 0, bytes 0 to"):
        DOORS[door](table.uri)


def test_it_is_off_by_default_and_can_be_set_by_the_environment(
    table: lance_sql.Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    damage(table)
    assert lance_sql.open(table.uri).to_table().num_rows == 300_000
    monkeypatch.setenv("LANCE_SQL_CHECKSUMS", "1")
    with pytest.raises(CorruptFile, match="checksum mismatch"):
        lance_sql.open(table.uri).to_table()
    assert lance_sql.open(table.uri, checksums=False).to_table().num_rows == 300_000
    # what looks for damage, or gets rows out of it, goes on
    assert [each.affects for each in lance_sql.verify(table.uri, deep=True).problems] == ["rows"]
    assert lance_sql.salvage(table.uri, table.uri + ".saved").num_rows == 300_000
    monkeypatch.setenv("LANCE_SQL_CHECKSUMS", "sometimes")
    with pytest.raises(InvalidArgument, match="checksums='sometimes' is neither true nor false"):
        lance_sql.open(table.uri)


def test_files_of_other_writers_are_read_like_others(tmp_path: Path) -> None:
    path = str(tmp_path / "t.lance")
    lance.write_dataset(pa.table({"id": range(10)}), path)
    mixed = lance_sql.write({"id": [10]}, path, mode="append")
    opened = lance_sql.open(path, checksums=True)
    assert opened.to_table()["id"].to_pylist() == list(range(11))
    assert opened == mixed
    assert opened.delete("id = 3").count_rows() == 10


def test_a_handle_that_compares_can_change_its_table(table: lance_sql.Dataset) -> None:
    opened = lance_sql.open(table.uri, checksums=True)
    changed = opened.update({"x": "1.0"}, "id = 5").merge({"id": [5], "x": [2.0]}, on="id").maintenance.compact()
    assert changed.indices.optimize().scan(["x"], "id = 5").to_table()["x"].to_pylist() == [2.0]
    changed.branches.create("b").delete("id = 6")
    assert lance_sql.open(table.uri, branch="b", checksums=True).count_rows() == 299_999
    assert changed.maintenance.maintain(retain_versions=1).steps[2].outcome == "done"
    assert lance_sql.verify(table.uri, deep=True).is_healthy
