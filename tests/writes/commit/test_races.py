"""Writers that commit at the same time: threads, processes, and pylance beside ours. No version is lost."""

from __future__ import annotations

import multiprocessing
import threading
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import fsspec
import lance
import pytest

from lance_sql.errors import RetryableConflict, TableExists
from lance_sql.format.schema.from_arrow import from_arrow
from lance_sql.table.fragment import Fragment
from lance_sql.table.open_snapshot import open_snapshot
from lance_sql.writes.commit.committer import commit, create
from lance_sql.writes.commit.operations import Append, Overwrite
from tests.writes.commit.tables import created, deletion, fragments, history, keys, latest, table

WRITERS = 4
COMMITS = 6


@pytest.fixture
def root(tmp_path: Path) -> str:
    return str(tmp_path / "t.lance")


def append(root: str, writer: int, count: int) -> None:
    """Appends one row at a time, from a handle that is never refreshed."""
    snapshot = latest(root)
    for i in range(count):
        commit(snapshot, Append(fragments(root, table([1000 * (writer + 1) + i]))))


def append_with_pylance(root: str, writer: int, count: int) -> None:
    for i in range(count):
        lance.write_dataset(table([1000 * (writer + 1) + i]), root, mode="append")


def check(root: str, writers: int) -> None:
    expected = [*range(6), *(1000 * (writer + 1) + i for writer in range(writers) for i in range(COMMITS))]
    assert keys(root) == expected
    found = history(root)
    assert sorted(row_id for row_id, _, _ in found.values()) == list(range(len(expected)))
    versions = sorted(created_at for _, created_at, _ in found.values())
    assert versions == [*[1] * 6, *range(2, 2 + writers * COMMITS)]
    assert latest(root).version == 1 + writers * COMMITS


def test_threads_append(root: str) -> None:
    created(root)
    with ThreadPoolExecutor(WRITERS) as pool:
        list(pool.map(lambda writer: append(root, writer, COMMITS), range(WRITERS)))
    check(root, WRITERS)


def test_ours_and_pylance_append(root: str) -> None:
    created(root)
    writers: list[Callable[[str, int, int], None]] = [append, append_with_pylance]
    with ThreadPoolExecutor(WRITERS) as pool:
        list(pool.map(lambda writer: writers[writer % 2](root, writer, COMMITS), range(WRITERS)))
    check(root, WRITERS)


@pytest.mark.slow
def test_processes_append(root: str) -> None:
    created(root)
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(WRITERS, mp_context=context) as pool:
        for future in [pool.submit(append, root, writer, COMMITS) for writer in range(WRITERS)]:
            future.result()
    check(root, WRITERS)


def test_threads_delete_different_rows(root: str) -> None:
    snapshot = created(root, range(WRITERS * COMMITS), rows=100)

    def delete(writer: int) -> None:
        for i in range(COMMITS):
            operation, affected = deletion(snapshot, {0: [writer * COMMITS + i]})
            commit(snapshot, operation, affected_rows=affected)

    with ThreadPoolExecutor(WRITERS) as pool:
        list(pool.map(delete, range(WRITERS)))
    assert keys(root) == []
    assert latest(root).manifest.fragments.ids == ()
    assert latest(root).version == 1 + WRITERS * COMMITS


def test_one_of_many_threads_deletes_the_row(root: str) -> None:
    snapshot = created(root, range(100), rows=100)
    start = threading.Barrier(WRITERS)

    def delete(_: int) -> bool:
        operation, affected = deletion(snapshot, {0: [7]})
        start.wait()
        try:
            commit(snapshot, operation, affected_rows=affected)
        except RetryableConflict:
            return False
        return True

    with ThreadPoolExecutor(WRITERS) as pool:
        assert sum(pool.map(delete, range(WRITERS))) == 1
    assert len(keys(root)) == 99


def test_one_of_many_threads_creates_the_table(root: str) -> None:
    new = fragments(root, table(range(3)))
    start = threading.Barrier(WRITERS)

    def make(_: int) -> bool:
        start.wait()
        try:
            create(root, Overwrite(new, from_arrow(table([]).schema)))
        except TableExists:
            return False
        return True

    with ThreadPoolExecutor(WRITERS) as pool:
        assert sum(pool.map(make, range(WRITERS))) == 1
    assert keys(root) == [0, 1, 2]


def test_threads_append_to_memory(tmp_path: Path) -> None:
    """The files of a table in memory are copied there, for pylance cannot write them."""
    files = fsspec.filesystem("memory")
    uri = f"memory://{tmp_path.name}/t.lance"

    def moved(rows: Any) -> tuple[Fragment, ...]:
        new = fragments(tmp_path / "t.lance", rows)
        for fragment in new:
            for file in fragment.files:
                content = (tmp_path / "t.lance" / "data" / file.path).read_bytes()
                files.pipe_file(f"/{tmp_path.name}/t.lance/data/{file.path}", content)
        return new

    snapshot = create(uri, Overwrite(moved(table(range(6))), from_arrow(table([]).schema)))

    def append_one(number: int) -> int:
        return commit(snapshot, Append(moved(table([number])))).version

    with ThreadPoolExecutor(WRITERS) as pool:
        assert sorted(pool.map(append_one, range(10, 30))) == list(range(2, 22))
    assert len(open_snapshot(uri).manifest.fragments) == 21
