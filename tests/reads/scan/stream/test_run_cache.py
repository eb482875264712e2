"""Runs that are kept for the next scan: the same rows, nothing of a file that is no longer there, and no file kept."""

from __future__ import annotations

import gc
import os
import shutil
import signal
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from weakref import ref

import lance
import numpy as np
import pyarrow as pa
import pytest

import lance_sql
from lance_sql.dataset import Dataset
from lance_sql.errors import CorruptFile
from lance_sql.reads.scan.scan import Scan
from lance_sql.reads.scan.stream import run_cache, runs
from lance_sql.reads.scan.stream.run_cache import RUN_CACHE, PreparedRun, RunCache
from lance_sql.store import LocalStore
from lance_sql.table.open_snapshot import close_unused

pytestmark = pytest.mark.usefixtures("maps_files")

NUM_ROWS = 150_000
FILTERS = (None, "k < 10", "s = 'word 3' AND k > 50", "n IS NULL", "x > 0.5 OR k = 7")


def rows(seed: int = 0) -> pa.Table:
    rng = np.random.default_rng(seed)
    return pa.table(
        {
            "k": rng.integers(0, 100, NUM_ROWS),
            "x": rng.random(NUM_ROWS),
            "s": [f"word {number}" for number in rng.integers(0, 20, NUM_ROWS)],
            "n": pa.array(rng.integers(0, 9, NUM_ROWS), mask=rng.random(NUM_ROWS) < 0.2),
        }
    )


def written(path: Path, seed: int = 0) -> str:
    lance.write_dataset(rows(seed), path, data_storage_version="2.2", max_rows_per_file=50_000)
    return str(path)


@pytest.fixture(autouse=True)
def nothing_kept() -> Iterator[None]:
    RUN_CACHE.after_fork()
    yield
    RUN_CACHE.after_fork()


@pytest.fixture
def prepared(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """The runs that were prepared, as long as nobody empties the list."""
    found: list[object] = []
    original = runs.prepared

    def counted(*arguments: Any) -> object:
        found.append(arguments)
        return original(*arguments)

    monkeypatch.setattr(runs, "prepared", counted)
    return found


def read(scan: Scan) -> pa.Table:
    return scan.to_reader().read_all()


@pytest.mark.parametrize("filter", FILTERS)
@pytest.mark.parametrize("has_deletions", [False, True])
def test_the_next_scan_prepares_nothing(
    filter: str | None, has_deletions: bool, tmp_path: Path, prepared: list[object]
) -> None:
    uri = written(tmp_path / "t.lance")
    if has_deletions:
        lance.dataset(uri).delete("k = 3 OR (k = 4 AND x < 0.5)")
    table = lance_sql.open(uri)
    expected = lance.dataset(uri).to_table(columns=["n", "s"], filter=filter)
    for _ in range(4):
        prepared.clear()
        assert read(table.scan(["n", "s"], filter)).equals(expected)
    assert not prepared
    # what another scan wants is none of that
    assert read(table.scan(["x"], filter)).equals(lance.dataset(uri).to_table(columns=["x"], filter=filter))
    assert prepared


def test_batches_are_cut_as_each_scan_wants_them(tmp_path: Path) -> None:
    table = lance_sql.open(written(tmp_path / "t.lance"))
    for _ in range(2):
        for size in (10_000, 25_000):
            found = list(table.scan(["k"], batch_size=size).to_reader())
            assert max(batch.num_rows for batch in found) == size
            assert pa.Table.from_batches(found).equals(rows().select(["k"]))


@pytest.mark.parametrize("in_place", [False, True])
def test_nothing_is_kept_of_a_file_that_another_took_the_place_of(
    in_place: bool, tmp_path: Path, prepared: list[object]
) -> None:
    table = lance_sql.open(written(tmp_path / "t.lance"))
    other = lance_sql.open(written(tmp_path / "other.lance", seed=1))
    for _ in range(2):
        assert read(table.scan(["x"])).equals(rows().select(["x"]))
    for file, new in zip(data_files(table), data_files(other), strict=True):
        content = new.read_bytes()
        status = file.stat()
        if not in_place:
            file.unlink()
        file.write_bytes(content)
        os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))
    prepared.clear()
    # the handle knows where pages begin, and random doubles take as many bytes in both
    assert len(content) == status.st_size
    assert read(table.scan(["x"])).equals(rows(1).select(["x"]))
    assert prepared


def data_files(table: Dataset) -> list[Path]:
    root = Path(table.uri)
    return [
        root / "data" / file.path.rpartition("/")[2]
        for each in table.snapshot.manifest.fragments
        for file in each.files
    ]


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="no list of mapped files on this system")
def test_nobody_but_a_handle_keeps_a_file_open(tmp_path: Path) -> None:
    uri = written(tmp_path / "t.lance")
    table = lance_sql.open(uri)
    for filter in FILTERS:
        read(table.scan(["n", "s"], filter))
        read(table.scan(["n", "s"], filter))
    assert RUN_CACHE.num_bytes > 0
    assert mapped_files(uri)
    del table
    close_unused()
    gc.collect()
    assert not mapped_files(uri)
    assert RUN_CACHE.num_bytes == 0


def mapped_files(uri: str) -> list[str]:
    maps = Path("/proc/self/maps").read_text().splitlines()
    return [line for line in maps if f"{os.path.realpath(uri)}/" in line]


class AFile:
    """Stands for a mapped file."""

    identity = "a file"
    content = pa.py_buffer(b"")
    local_path = "/a file"

    def touch(self, ranges: Sequence[tuple[int, int]]) -> None:
        raise AssertionError


def run(learned: Any = None, columns: Mapping[Any, int] | None = None) -> PreparedRun:
    """One that nobody reads."""
    nothing: Any = None
    bounds = [] if learned is None else [learned]
    return PreparedRun(nothing, [], columns or {}, bounds, 1, None)


def test_learning_runs_stay_cached_until_complete(tmp_path: Path, prepared: list[object]) -> None:
    file, kept = AFile(), RunCache()
    bounds = SimpleNamespace(all_known=False)
    runs = [run(bounds)]
    kept.put("key", file, runs)
    assert kept.get("key") == (ref(file), runs)
    bounds.all_known = True
    assert kept.get("key") is None
    table = lance_sql.open(written(tmp_path / "t.lance"))
    for _ in range(3):
        prepared.clear()
        read(table.scan(["x"], "k < 10"))
    assert not prepared


class Key:
    """Counts how often it is looked for."""

    def __init__(self) -> None:
        self.num_hashed = 0

    def __hash__(self) -> int:
        self.num_hashed += 1
        return id(self)


def test_cached_runs_end_with_their_file() -> None:
    kept, one, other = RunCache(), AFile(), AFile()
    keys = [Key() for _ in range(100)]
    for key in keys:
        kept.put(key, other, [run()])
    kept.put("one", one, [run()])
    before = kept.num_bytes, [key.num_hashed for key in keys]
    del one
    gc.collect()
    assert kept.get("one") is None
    assert [key.num_hashed for key in keys] == before[1]
    assert kept.num_bytes == before[0] * 100 // 101
    # the collector may come while the lock is held
    with kept._lock:
        del other
        gc.collect()
        assert kept.num_bytes > 0
    assert kept.get("one") is None
    assert kept.num_bytes == 0


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timers on this system")
def test_a_signal_leaves_nothing_locked() -> None:
    """One that raises, such as Ctrl-C, may come anywhere."""

    class StopError(Exception):
        pass

    def stop(*_: object) -> None:
        raise StopError

    kept = RunCache(200_000)
    before = signal.signal(signal.SIGALRM, stop)
    try:
        for delay in np.random.default_rng(0).uniform(1e-5, 2e-4, 500).tolist():
            files = [AFile() for _ in range(5)]
            with suppress(StopError):
                signal.setitimer(signal.ITIMER_REAL, delay)
                for number in range(10_000):
                    kept.put(number % 50, files[number % 5], [run(columns={number % 7: 20_000})])
                    kept.get(number % 40)
            signal.setitimer(signal.ITIMER_REAL, 0)
            assert not kept._lock.locked()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    del files
    gc.collect()
    assert kept.get("nothing") is None
    assert kept.num_bytes == 0


def test_columns_that_several_runs_read_are_counted_once() -> None:
    file, kept = AFile(), RunCache(10**6)
    kept.put(0, file, [run(), run()])
    of_two = kept.num_bytes
    kept.put(1, file, [run(columns={"a": 1000, "b": 2000}), run(columns={"b": 2000})])
    kept.put(2, file, [run(columns={"a": 1000}), run()])
    assert kept.num_bytes == 3 * of_two + 3000
    kept.put(1, file, [run(), run()])
    assert kept.num_bytes == 3 * of_two + 1000
    for number in range(3, 1000):
        kept.put(number, file, [run(columns={number: 10_000})])
        assert kept.num_bytes <= 10**6
    assert kept.get(1) is None
    assert kept.get(999) is not None
    kept.put("large", file, [run(columns={"c": 600_000})])
    assert kept.get("large") is None


def test_a_file_that_is_cut_off_between_runs_is_damaged(tmp_path: Path) -> None:
    uri = tmp_path / "t.lance"
    num_rows = 4_000_000
    lance.write_dataset(
        pa.table({"x": np.random.default_rng(0).random(num_rows)}),
        uri,
        data_storage_version="2.2",
        max_rows_per_file=num_rows,
    )
    table = lance_sql.open(uri)
    for _ in range(2):
        assert sum(batch.num_rows for batch in table.scan(["x"]).to_reader()) == num_rows
    stream = iter(table.scan(["x"]).to_reader())
    next(stream)
    (file,) = data_files(table)
    with file.open("r+b") as opened:
        # as much as no batch reads that is being decoded
        opened.truncate(file.stat().st_size * 3 // 4)
    with pytest.raises(CorruptFile, match="were requested, but the file has"):
        for _ in stream:
            pass


def test_errors_are_the_same_again(tmp_path: Path) -> None:
    uri = written(tmp_path / "t.lance")
    table = lance_sql.open(uri)
    read(table.scan(["s"], "k = 3"))
    file = data_files(table)[1]
    content = bytearray(file.read_bytes())
    content[len(content) // 8 : len(content) // 2] = b"\xff" * (len(content) // 2 - len(content) // 8)
    file.write_bytes(content)
    messages = set()
    for _ in range(3):
        with pytest.raises(CorruptFile) as raised:
            read(lance_sql.open(uri).scan(["k", "x", "s", "n"]))
        messages.add(str(raised.value))
    for _ in range(3):
        with pytest.raises(CorruptFile) as raised:
            read(table.scan(["k", "x", "s", "n"]))
        messages.add(str(raised.value))
    assert len(messages) == 1
    assert file.name in messages.pop()


def test_reread_files_count_as_touched(tmp_path: Path) -> None:
    table = lance_sql.open(written(tmp_path / "t.lance"))
    store = table.snapshot.store
    assert isinstance(store, LocalStore)
    read(table.scan(["x"]))
    before = dict(store._touched._touched)
    for path in before:
        store._touched.forget(path)
    assert not store._touched._touched
    read(table.scan(["x"]))
    assert {path: before[path] for path in store._touched._touched} == store._touched._touched != {}


def test_long_filters_and_few_rows_are_not_kept(tmp_path: Path, prepared: list[object]) -> None:
    table = lance_sql.open(written(tmp_path / "t.lance"))
    long = f"k IN ({', '.join(map(str, range(1, 99)))})"
    for _ in range(3):
        prepared.clear()
        read(table.scan(["x"], long))
    assert prepared
    read(table.scan(["x"], f"s = '{'a long text' * 1000}'"))
    assert RUN_CACHE.num_bytes == 0
    few = lance_sql.open(
        lance.write_dataset(rows().slice(0, 500), tmp_path / "few.lance", data_storage_version="2.2").uri
    )
    read(few.scan(["x"]))
    assert RUN_CACHE.num_bytes == 0


@pytest.mark.parametrize("filter", FILTERS)
def test_runs_of_short_files_are_kept_without_mapping_them(
    filter: str | None, tmp_path: Path, prepared: list[object]
) -> None:
    lance.write_dataset(rows().slice(0, 6000), tmp_path / "t.lance", data_storage_version="2.2", max_rows_per_file=2000)
    table = lance_sql.open(tmp_path / "t.lance")
    expected = lance.dataset(tmp_path / "t.lance").to_table(columns=["n", "s"], filter=filter)
    for _ in range(3):
        prepared.clear()
        assert read(table.scan(["n", "s"], filter)).equals(expected)
    assert not prepared
    assert RUN_CACHE.num_bytes > 0
    assert isinstance(table.snapshot.store, LocalStore)
    assert not table.snapshot.store._mappings
    # they end with the handle
    del table
    close_unused()
    gc.collect()
    assert RUN_CACHE.num_bytes == 0


def test_the_budget_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = lance_sql.open(written(tmp_path / "t.lance"))
    read(table.scan(["x"], "k = 1"))
    of_one = RUN_CACHE.num_bytes
    read(table.scan(["x"], "k = 2"))
    of_next = RUN_CACHE.num_bytes - of_one
    kept = RunCache(of_one + 4 * of_next)
    monkeypatch.setattr(run_cache, "RUN_CACHE", kept)
    expected = rows()
    for number in (*range(20), *range(20)):
        found = read(table.scan(["x"], f"k = {number}"))
        assert found["x"].to_pylist() == expected["x"].filter(np.asarray(expected["k"]) == number).to_pylist()
        assert 0 < kept.num_bytes <= of_one + 4 * of_next
    small = RunCache(of_one // 4)
    monkeypatch.setattr(run_cache, "RUN_CACHE", small)
    read(table.scan(["x"], "k = 1"))
    assert small.num_bytes == 0


def test_many_threads_read_what_one_has_prepared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = lance_sql.open(written(tmp_path / "t.lance"))
    read(table.scan(["x"], "k = 1"))
    monkeypatch.setattr(run_cache, "RUN_CACHE", RunCache(RUN_CACHE.num_bytes * 2))
    expected = {number: read(table.scan(["x", "s"], f"k = {number}")) for number in range(6)}
    wrong: list[int] = []

    def work(seed: int) -> None:
        numbers = np.random.default_rng(seed).integers(0, 6, 60).tolist()
        wrong.extend(n for n in numbers if not read(table.scan(["x", "s"], f"k = {n}")).equals(expected[n]))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore:.*fork.*")
def test_a_forked_process_keeps_its_own(tmp_path: Path) -> None:
    table = lance_sql.open(written(tmp_path / "t.lance"))
    expected = read(table.scan(["x"], "k = 1"))
    with RUN_CACHE._lock:
        child = os.fork()
        if child == 0:
            same = RUN_CACHE.num_bytes == 0 and read(table.scan(["x"], "k = 1")).equals(expected)
            os._exit(0 if same else 1)
        assert os.waitpid(child, 0)[1] == 0
    assert RUN_CACHE.num_bytes > 0


def test_a_table_that_was_dropped_is_not_there(tmp_path: Path) -> None:
    table = lance_sql.open(written(tmp_path / "t.lance"))
    read(table.scan(["x"]))
    shutil.rmtree(table.uri)
    with pytest.raises(CorruptFile, match="the file is missing"):
        read(table.scan(["x"]))
