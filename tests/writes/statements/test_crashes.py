"""Every statement, with a store that fails at each of its calls, and in a process that is killed there.

Whatever happens, the table opens at the version before or after the statement, complete, and the next writer succeeds.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypedDict

import pyarrow as pa
import pytest

import lance_sql
from lance_sql import Dataset, LanceError
from lance_sql.jobs.write_job import WriteJob
from lance_sql.store import LocalStore, durable
from lance_sql.table import files, location
from lance_sql.writes.commit import committer
from lance_sql.writes.statements import fragments, insert
from tests.writes.commit.failing_store import Broken, FailingStore

# A file whose opening was reported as failed is closed by nobody.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")

HIDDEN = ["_rowid", "_row_created_at_version", "_row_last_updated_at_version"]


class Kind(TypedDict):
    """How a store fails; see `FailingStore`."""

    after: bool
    once: bool


def rows(*keys: int) -> pa.Table:
    return pa.table(
        {
            "k": pa.array(keys, pa.int64()),
            "v": pa.array([key * 10 for key in keys], pa.int64()),
            "s": [f"text {key}" for key in keys],
        }
    )


def append(path: str) -> None:
    lance_sql.write(rows(100, 101), path, mode="append", max_rows_per_file=1)


def overwrite(path: str) -> None:
    lance_sql.write(rows(200), path, mode="overwrite")


def delete(path: str) -> None:
    lance_sql.open(path).delete("k IN (1, 4)")


def delete_fragment(path: str) -> None:
    lance_sql.open(path).delete("k <= 3")


def update(path: str) -> None:
    lance_sql.open(path).update({"v": -1}, "k IN (2, 5)")


def merge(path: str) -> None:
    lance_sql.open(path).merge(rows(2, 50), on="k", delete_unmatched="k = 5")


def add_values(path: str) -> None:
    lance_sql.open(path).add_columns({"extra": 7})


def add_nulls(path: str) -> None:
    lance_sql.open(path).add_columns([pa.field("extra", pa.string())])


def drop(path: str) -> None:
    lance_sql.open(path).drop_columns("s")


def rename(path: str) -> None:
    lance_sql.open(path).rename_columns({"s": "text"})


def cast(path: str) -> None:
    lance_sql.open(path).alter_column("v", type=pa.int32())


def compact(path: str) -> None:
    lance_sql.open(path).maintenance.compact()


def restore(path: str) -> None:
    lance_sql.open(path, version=1).restore()


def config(path: str) -> None:
    lance_sql.open(path).config.update({"owner": "somebody"})


def two_steps(path: str) -> None:
    begun = lance_sql.begin_write(rows().schema, path, mode="append")
    begun.commit([*begun.write_fragments(rows(300)), *begun.write_fragments(rows(301))])


STATEMENTS: list[Callable[[str], None]] = [
    append,
    overwrite,
    delete,
    delete_fragment,
    update,
    merge,
    add_values,
    add_nulls,
    drop,
    rename,
    cast,
    compact,
    restore,
    config,
    two_steps,
]


def create(path: str) -> None:
    lance_sql.write(rows(1, 2), path)


@pytest.fixture(scope="module")
def before(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table of two fragments, one of them with a deleted row."""
    path = tmp_path_factory.mktemp("before") / "t.lance"
    lance_sql.write(rows(1, 2, 3), path)
    lance_sql.write(rows(4, 5, 6), path, mode="append").delete("k = 6")
    return path


@contextmanager
def failing(at: int | None, *, after: bool = False, once: bool = False) -> Iterator[list[FailingStore]]:
    """Every store that is opened in the block is one, which fails at the call number `at`."""
    made: list[FailingStore] = []

    def open_store(uri: str, access: object = None) -> FailingStore:
        if not made:
            made.append(FailingStore(LocalStore(uri), at, after=after, once=once))
        return made[0]

    with pytest.MonkeyPatch.context() as patch:
        for module in (location, files, committer, insert):
            patch.setattr(module, "open_store", open_store)
        yield made


def content(path: str) -> list[object]:
    """The schema and the rows with their lineage; nothing of a table that does not exist."""
    try:
        table = lance_sql.open(path)
    except lance_sql.TableNotFound:
        return []
    return [table.schema, *table.scan([*table.schema.names, *HIDDEN]).to_table().sort_by("_rowid").to_pylist()]


def check(path: str, allowed: list[list[object]], where: str) -> None:
    """The table is one of those that are allowed, and can be written."""
    found = content(path)
    assert found in allowed, where
    if found:
        assert lance_sql.verify(path, version=lance_sql.open(path).version, deep=True).is_healthy, where
        names = lance_sql.open(path).schema.names
        new = pa.table({name: pa.array([999], lance_sql.open(path).schema.field(name).type) for name in names[:1]})
        lance_sql.write(new, path, mode="append")
        assert len(content(path)) == len(found) + 1, where
    else:
        create(path)
        assert len(content(path)) == 3, where


def points(statement: Callable[[str], None], before: Path | None, folder: Path) -> tuple[int, list[list[object]]]:
    """How many calls the statement makes, and the table before and after it."""
    path = fresh(before, folder)
    old = content(path)
    with failing(None) as made:
        statement(path)
    return made[0].calls, [old, content(path)]


def fresh(before: Path | None, folder: Path) -> str:
    """A copy of the table, or the place for a new one."""
    path = folder / "t.lance"
    shutil.rmtree(path, ignore_errors=True)
    if before is not None:
        shutil.copytree(before, path)
    return str(path)


def run(statement: Callable[[str], None], before: Path | None, folder: Path, kinds: Sequence[Kind]) -> None:
    """The statement with a failure at each call."""
    calls, allowed = points(statement, before, folder)
    assert calls > 3
    for at in range(calls):
        for kind in kinds:
            path = fresh(before, folder)
            with failing(at, **kind), suppress(Broken, LanceError):
                statement(path)
            check(path, allowed, f"call {at} of {calls}, {kind}")


# The store is gone for good; one answer gets lost, and then it works again.
GONE: Kind = {"after": False, "once": False}
ANSWER_LOST: Kind = {"after": True, "once": True}


@pytest.mark.parametrize("statement", [*STATEMENTS, create], ids=lambda statement: statement.__name__)
def test_a_store_that_fails_at_any_call(statement: Callable[[str], None], before: Path, tmp_path: Path) -> None:
    run(statement, None if statement is create else before, tmp_path, [GONE, ANSWER_LOST])


@pytest.mark.slow
@pytest.mark.parametrize("statement", [*STATEMENTS, create], ids=lambda statement: statement.__name__)
def test_other_failures_at_any_call(statement: Callable[[str], None], before: Path, tmp_path: Path) -> None:
    kinds: list[Kind] = [{"after": False, "once": True}, {"after": True, "once": False}]
    run(statement, None if statement is create else before, tmp_path, kinds)


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="kills copies of this process")
@pytest.mark.parametrize("statement", [*STATEMENTS, create], ids=lambda statement: statement.__name__)
def test_a_process_that_is_killed_at_any_call(
    statement: Callable[[str], None], before: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = None if statement is create else before
    calls, allowed = points(statement, start, tmp_path)
    for at in range(calls):
        for after in (False, True):
            path = fresh(start, tmp_path)
            child = os.fork()
            if child == 0:
                # no handler runs, no buffer is written
                monkeypatch.setattr(Broken, "__init__", lambda *_: os._exit(9))
                with failing(at, after=after):
                    statement(path)
                os._exit(0)
            _, status = os.waitpid(child, 0)
            assert os.waitstatus_to_exitcode(status) == 9
            check(path, allowed, f"killed at call {at} of {calls}, after={after}")


def test_the_number_of_points(before: Path, tmp_path: Path) -> None:
    """Statements reach the store through calls that this file knows of."""
    total = sum(points(statement, before, tmp_path)[0] for statement in STATEMENTS)
    assert total > 150
    print(f"{total} calls, {4 * total} failures, {2 * total} kills")


def test_dataset_is_what_statements_return(before: Path, tmp_path: Path) -> None:
    path = fresh(before, tmp_path)
    assert isinstance(lance_sql.open(path).delete("k = 1"), Dataset)


@pytest.mark.parametrize("place", ["flush", "list"])
def test_an_interrupt_behind_the_last_byte_of_a_file_leaves_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    table = lance_sql.write({"id": [1]}, tmp_path / "t.lance")
    before = sorted(tmp_path.glob("t.lance/data/*"))

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    # its bytes are written; its name is not durable yet, or it is not yet among those of the write
    module, name = {"flush": (durable, "_flush_folder"), "list": (fragments, "data_file")}[place]
    monkeypatch.setattr(module, name, interrupt)
    writes: list[Callable[[], object]] = [
        lambda: lance_sql.write({"id": [2]}, table.uri, mode="append"),
        lambda: table.update({"id": "3"}, "true"),
    ]
    for write in writes:
        with pytest.raises(KeyboardInterrupt):
            write()
        assert sorted(tmp_path.glob("t.lance/data/*")) == before


def test_a_job_whose_files_are_gone_is_not_committed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cleanup takes the files of a job that lasts longer than a week for leftovers."""
    path = str(tmp_path / "t.lance")
    lance_sql.write(rows(1, 2), path)
    job = lance_sql.begin_write(rows().schema, path, mode="append")
    made = job.write_fragments(rows(3))
    before = lance_sql.open(path).to_table()
    old = time.time() + 8 * 86400
    with monkeypatch.context() as patch:
        patch.setattr(time, "time", lambda: old)
        for file in made[0].files:
            (tmp_path / "t.lance" / "data" / file.path).unlink()
        with pytest.raises(lance_sql.CommitConflict, match=r"files of this job are missing.*8\.0 days ago"):
            job.commit(made)
    assert lance_sql.open(path).version == 1
    assert lance_sql.open(path).to_table().equals(before)
    # files that go during the commit are found out afterwards
    made = job.write_fragments(rows(3))
    missing = WriteJob._missing

    def remove_later(job: WriteJob, paths: Sequence[str]) -> list[str]:
        found = missing(job, paths)
        (tmp_path / "t.lance" / paths[0]).unlink()
        return found

    monkeypatch.setattr(WriteJob, "_missing", remove_later)
    with pytest.raises(lance_sql.CorruptFile, match=r"new files were removed.*lance-sql repair"):
        job.commit(made)
    assert lance_sql.repair(path).version == 1
    assert lance_sql.open(path).to_table().equals(before)
