"""A numbered write is made once: after a restore, a cleanup, on a branch, and not for another query."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import lance
import pytest

import lance_sql
from lance_sql import InvalidArgument
from lance_sql.writes.statements.once import Turn


def write(path: Path, number: int, *new: int, mode: Any = "append", app: str = "daily") -> lance_sql.Dataset:
    return lance_sql.write({"id": list(new)}, path, mode=mode, txn_app_id=app, txn_version=number)


def ids(path: Path) -> list[int]:
    found: list[int] = sorted(lance_sql.open(path).to_table()["id"].to_pylist())
    return found


@pytest.mark.parametrize("by", ["ours", "pylance"])
@pytest.mark.parametrize("mode", ["append", "overwrite"])
def test_a_write_that_was_taken_back_is_made_again(tmp_path: Path, mode: str, by: str) -> None:
    path = tmp_path / "t.lance"
    lance_sql.write({"id": [0]}, path)
    write(path, 1, 1, 2, 999, mode=mode)
    if by == "ours":
        lance_sql.open(path).restore(1)
    else:
        lance.dataset(path, version=1).restore()  # type: ignore[no-untyped-call]  # pylance has no types here
    write(path, 1, 1, 2, 3, mode=mode)
    expected = [0, 1, 2, 3] if mode == "append" else [1, 2, 3]
    assert ids(path) == expected
    write(path, 1, 1, 2, 3, mode=mode)
    assert ids(path) == expected


@pytest.mark.parametrize("by", ["ours", "pylance"])
def test_a_write_is_known_after_a_cleanup(tmp_path: Path, by: str) -> None:
    path = tmp_path / "t.lance"
    lance_sql.write({"id": [0]}, path)
    write(path, 1, 1)
    lance_sql.open(path).delete("id = 0")
    if by == "ours":
        lance_sql.open(path).maintenance.compact().maintenance.cleanup(retain_versions=1)
    else:
        lance.dataset(path).optimize.compact_files()
        lance.write_dataset(lance_sql.open(path).scan(limit=0).to_table(), path, mode="append")
        lance.dataset(path).cleanup_old_versions(retain_versions=1)
    done = write(path, 1, 1)
    assert ids(path) == [1]
    assert done.count_rows() == 1


def test_a_write_returns_the_version_that_has_it(tmp_path: Path) -> None:
    path = tmp_path / "t.lance"
    write(path, 1, 1, mode="create")
    made = write(path, 2, 2).version
    lance_sql.open(path).delete("id = 1")
    assert write(path, 2, 2).version == made
    assert write(path, 1, 1).version == made


def test_writers_of_one_number_at_the_same_time(tmp_path: Path) -> None:
    path = tmp_path / "t.lance"
    lance_sql.write({"id": [0]}, path)
    for number in range(1, 6):
        threads = [threading.Thread(target=write, args=(path, number, number)) for _ in range(4)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
    assert ids(path) == [0, 1, 2, 3, 4, 5]


def test_batches_of_another_query_are_not_dropped(tmp_path: Path) -> None:
    path = tmp_path / "t.lance"
    lance_sql.write({"id": [0]}, path)

    def batch(number: int, query: str, *new: int) -> None:
        job = lance_sql.begin_write(lance_sql.open(path).schema, path, mode="append")
        job = type(job)(job.target, job.limits, job.properties, turn=Turn("copy", number, query))
        job.write({"id": list(new)})

    for number in range(3):
        batch(number, "first", number + 1)
        batch(number, "first", number + 1)
    with pytest.raises(InvalidArgument, match="has batch 2 of 'copy' from another query, but this query is at batch 0"):
        batch(0, "second", 4)
    assert ids(path) == [0, 1, 2, 3]
    batch(3, "first", 4)
    assert ids(path) == [0, 1, 2, 3, 4]
