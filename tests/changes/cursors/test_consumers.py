"""A job that keeps a copy in step, over random histories of two writers, deaths at every step, and rivals."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import lance
import pyarrow as pa
import pytest

import lance_sql
from lance_sql.errors import CommitConflict
from lance_sql.store.local import LocalStore
from tests.forked import Forks

from . import consumer

# files that a dead process was writing are closed by nobody
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


class Killed(BaseException):
    """The process is gone."""


class _DeadSink:
    """A file that is being written by a process that may die."""

    def __init__(self, sink: Any, check: Callable[[], None]) -> None:
        self._sink = sink
        self._check = check

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._sink, name)
        if not callable(found):
            return found

        def call(*arguments: Any) -> Any:
            self._check()
            return found(*arguments)

        return call


@contextmanager
def dying_at(step: int, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """From one change of the store on nothing is changed any more, by cleaning up neither."""
    count = 0

    def check() -> None:
        if count * 2 >= step:
            raise Killed

    def dying(call: Callable[..., Any]) -> Callable[..., Any]:
        def called(*arguments: Any, **options: Any) -> Any:
            nonlocal count
            count += 1
            check()
            made = call(*arguments, **options)
            if count * 2 + 1 >= step:
                count += step
                raise Killed
            return _DeadSink(made, check) if hasattr(made, "abort") else made

        return called

    with monkeypatch.context() as patches:
        for name in ("put", "create", "delete"):
            patches.setattr(LocalStore, name, dying(getattr(LocalStore, name)))
        yield


class Story:
    """A table that two writers change, and a copy of it."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.choice = random.Random(seed)
        self.path, self.copy = str(folder / "t.lance"), str(folder / "copy.lance")
        self.next_id = 10
        rows = {"id": list(range(10)), "v": [str(number) for number in range(10)]}
        lance_sql.write(rows, self.path, max_rows_per_file=4)
        lance_sql.open(self.path).cursors.open("copy", start=self.choice.choice(["earliest", "snapshot"]))

    def new_rows(self) -> pa.Table:
        ids = [self.next_id + number for number in range(self.choice.randint(1, 3))]
        self.next_id += len(ids)
        return pa.table({"id": ids, "v": ["new"] * len(ids)})

    def change(self) -> None:
        """One commit of either writer."""
        choice, table = self.choice, lance_sql.open(self.path)
        some = f"id % 5 = {choice.randint(0, 4)}"
        match choice.randint(0, 10):
            case 0 | 1:
                lance_sql.write(self.new_rows(), self.path, mode="append")
            case 2:
                lance.write_dataset(self.new_rows(), self.path, mode="append")
            case 3 | 4:
                table.update({"v": f"'{choice.randint(0, 99)}'"}, some)
            case 5:
                lance.dataset(self.path).update({"v": f"'{choice.randint(0, 99)}'"}, where=some)
            case 6:
                table.delete(some)
            case 7:
                lance.dataset(self.path).delete(some)
            case 8:
                versions = [info.version for info in table.versions()]
                table.restore(choice.choice(versions))
            case 9:
                table.maintenance.compact() if choice.random() < 0.5 else table.maintenance.cleanup(retain_versions=1)
            case 10 if choice.random() < 0.3:
                lance_sql.write(self.new_rows(), self.path, mode="overwrite")
            case _:
                table.config.update({"k": "v"})

    def check(self) -> None:
        """The copy is the table."""
        consumer.run(self.path, self.copy)
        table, copy = (
            sorted(map(repr, lance_sql.open(path).scan(["id", "v"]).to_table().to_pylist()))
            for path in (self.path, self.copy)
        )
        assert copy == table
        assert lance_sql.open(self.path).cursors.open("copy").lag().versions == 0


def follow(folder: Path, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    story = Story(folder, seed)
    choice = story.choice
    for _ in range(choice.randint(2, 6)):
        for _ in range(choice.randint(1, 4)):
            story.change()
        for _ in range(choice.randint(0, 3)):
            with dying_at(choice.randint(1, 40), monkeypatch):
                try:
                    consumer.run(story.path, story.copy)
                except Killed:
                    continue
        if choice.random() < 0.3:
            race(story)
        if choice.random() < 0.5:
            story.check()
    story.check()


def race(story: Story) -> None:
    """Two runs at once: one of them takes what there is."""
    failures: list[BaseException] = []

    def run() -> None:
        try:
            consumer.run(story.path, story.copy)
        except CommitConflict:
            return
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=run) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


@pytest.mark.parametrize("piece", range(4))
def test_a_copy_stays_in_step(tmp_path: Path, piece: int, monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in range(5):
        folder = tmp_path / str(seed)
        folder.mkdir()
        follow(folder, 100 * piece + seed, monkeypatch)


@pytest.mark.slow
@pytest.mark.parametrize("piece", range(20))
def test_three_hundred_histories(tmp_path: Path, piece: int, monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in range(15):
        folder = tmp_path / str(seed)
        folder.mkdir()
        follow(folder, 10_000 + 100 * piece + seed, monkeypatch)


def test_processes_that_are_killed_at_each_step(tmp_path: Path, forks: Forks) -> None:
    story = Story(tmp_path, 7)
    died = 0
    # a run that has nothing to take ends before most steps
    for step in (*range(1, 34, 3), *range(2, 34, 3), *range(3, 34, 3)):
        story.change()
        done = forks.run(["-m", "tests.changes.cursors.consumer", story.path, story.copy, str(step)])
        assert done.returncode in (0, consumer.KILLED), done.stderr
        died += done.returncode == consumer.KILLED
        if died > 5:
            break
    assert died > 5
    story.check()
