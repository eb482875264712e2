"""Write sessions: one snapshot, one listing at the commit, and a summary of the change."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import lance
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lance_sql
from lance_sql import Dataset, InvalidArgument
from lance_sql.store import LocalStore
from lance_sql.table.commit_summary import CommitSummary, from_properties

ROWS = {"k": [1, 2, 3, 4], "v": [10, 20, 30, 40]}


@pytest.fixture
def table(tmp_path: Path) -> Dataset:
    return lance_sql.write(ROWS, tmp_path / "t.lance", max_rows_per_file=2)


def summary(table: Dataset, version: int | None = None) -> CommitSummary:
    found = lance_sql.open(table.uri, version=version).versions()[(version or 0) - 1].summary
    assert found is not None
    return found


def counts(found: CommitSummary) -> tuple[int | None, ...]:
    return found.rows_inserted, found.rows_updated, found.rows_deleted, found.files_written


CHANGES: list[tuple[str, Callable[[Dataset], Dataset], str, tuple[int | None, ...]]] = [
    ("insert", lambda t: lance_sql.write({"k": [5], "v": [1]}, t.uri, mode="append"), "append", (1, 0, 0, 1)),
    ("overwrite", lambda t: lance_sql.write({"k": [5]}, t.uri, mode="overwrite"), "overwrite", (1, 0, 4, 1)),
    ("delete", lambda t: t.delete("k > 1"), "delete", (0, 0, 3, 0)),
    ("update", lambda t: t.update({"v": 0}, "k > 2"), "update", (0, 2, 0, 1)),
    (
        "merge",
        lambda t: t.merge({"k": [4, 5, 6], "v": [1, 1, 1]}, on="k", delete_unmatched="k = 1"),
        "update",
        (2, 1, 1, 1),
    ),
    ("add_columns", lambda t: t.add_columns({"w": 1}), "merge", (0, 4, 0, 2)),
    ("add_columns", lambda t: t.add_columns([pa.field("w", pa.int8())]), "merge", (0, 0, 0, 0)),
    ("alter_column", lambda t: t.alter_column("v", type=pa.int32()), "merge", (0, 4, 0, 2)),
    ("alter_column", lambda t: t.alter_column("v", nullable=False), "project", (0, 0, 0, 0)),
    ("drop_columns", lambda t: t.drop_columns("v"), "project", (0, 0, 0, 0)),
    ("rename_columns", lambda t: t.rename_columns({"v": "w"}), "project", (0, 0, 0, 0)),
    ("compact", lambda t: t.maintenance.compact(target_rows=10), "rewrite", (0, 0, 0, 1)),
    ("restore", lambda t: t.restore(1), "restore", (None, None, None, 0)),
    ("update_config", lambda t: t.config.update({"a": "b"}), "update_config", (0, 0, 0, 0)),
]


@pytest.mark.parametrize(
    ("operation", "change", "transaction", "expected"),
    CHANGES,
    ids=[f"{i}-{case[0]}" for i, case in enumerate(CHANGES)],
)
def test_commits_record_their_operation(
    table: Dataset,
    operation: str,
    change: Callable[[Dataset], Dataset],
    transaction: str,
    expected: tuple[int | None, ...],
) -> None:
    made = change(table)
    info = made.versions()[-1]
    assert (info.version, info.operation) == (made.version, transaction)
    assert info.summary is not None
    assert info.summary.operation == operation
    assert counts(info.summary) == expected
    assert bool(info.summary.bytes_written) == bool(expected[3])
    assert info.summary.duration_ms is not None
    assert info.summary.writer is not None
    assert info.summary.writer.startswith("lance-sql ")
    # pylance reads the transaction, and goes on from here
    theirs: Any = lance.dataset(table.uri)
    properties = theirs.read_transaction(made.version).transaction_properties
    assert properties["lance_sql.operation"] == operation
    assert from_properties(properties) == info.summary
    theirs.delete("k = 4")
    assert lance_sql.open(table.uri).versions()[-1].summary is None


def test_new_tables_are_reported(table: Dataset) -> None:
    found = summary(table)
    assert (found.operation, counts(found)) == ("create", (4, 0, 0, 2))
    files = (Path(table.uri) / "data").iterdir()
    assert found.bytes_written == sum(file.stat().st_size for file in files)


def test_the_callers_properties_are_kept(table: Dataset) -> None:
    properties = {"job": "nightly", "run": "7"}
    made = table.delete("k = 1", properties=properties)
    assert summary(table, made.version).properties == properties
    appended = lance_sql.write(ROWS, table.uri, mode="append", properties=properties)
    assert summary(table, appended.version).properties == properties
    for wrong in ({"lance_sql.operation": "x"}, {"a": 1}, {1: "a"}, ["a"]):
        with pytest.raises(InvalidArgument, match=r"[Pp]ropert"):
            table.delete("k = 2", properties=wrong)  # type: ignore[arg-type]  # wrong on purpose
        with pytest.raises(InvalidArgument, match=r"[Pp]ropert"):
            lance_sql.write(ROWS, table.uri, mode="append", properties=wrong)  # type: ignore[arg-type]  # wrong on purpose
    assert table.snapshot.latest().version == appended.version


def test_versions_of_branches_and_clones_record_their_origin(table: Dataset, tmp_path: Path) -> None:
    branch = table.branches.create("dev").versions()[-1].summary
    clone = table.branches.shallow_clone(tmp_path / "c.lance").versions()[-1].summary
    assert branch is not None
    assert clone is not None
    assert (branch.operation, clone.operation) == ("create_branch", "shallow_clone")


@given(
    st.builds(
        CommitSummary,
        st.text(min_size=1),
        *[st.none() | st.integers(0, 2**62) for _ in range(6)],
        writer=st.text(min_size=1),
        job=st.none() | st.text(),
        properties=st.dictionaries(st.text().filter(lambda key: not key.startswith("lance_sql.")), st.text()),
    )
)
def test_summaries_survive_as_properties(made: CommitSummary) -> None:
    assert from_properties(made.to_properties()) == made


def test_damaged_properties_are_left_out() -> None:
    found = from_properties({"lance_sql.operation": "x", "lance_sql.rows_deleted": "-1", "lance_sql.duration_ms": "٣"})
    assert found == CommitSummary("x")
    assert from_properties({"a": "b"}) is None


def listed(patch: pytest.MonkeyPatch, change: Callable[[], object]) -> list[str]:
    """The folders that are listed during a change."""
    found: list[str] = []

    def counting(method: Callable[..., Any]) -> Callable[..., Any]:
        def counted(self: LocalStore, folder: str, *args: Any, **options: Any) -> Any:
            found.append(folder)
            return method(self, folder, *args, **options)

        return counted

    with patch.context() as inner:
        for name in ("files", "names"):
            inner.setattr(LocalStore, name, counting(getattr(LocalStore, name)))
        change()
    return found


@pytest.mark.parametrize(
    "change",
    [
        lambda table: lance_sql.write(ROWS, table.uri, mode="append"),
        lambda table: lance_sql.write(ROWS, table.uri, mode="overwrite"),
        lambda table: table.delete("k = 1"),
        lambda table: table.update({"v": 0}, "k = 1"),
        lambda table: table.merge({"k": [1], "v": [-1]}, on="k"),
        lambda table: table.add_columns({"w": 1}),
        lambda table: table.config.update({"a": "b"}),
    ],
    ids=["append", "overwrite", "delete", "update", "merge", "add_columns", "update_config"],
)
def test_versions_are_listed_at_the_beginning_and_at_the_commit(
    table: Dataset, monkeypatch: pytest.MonkeyPatch, change: Callable[[Dataset], Dataset]
) -> None:
    assert listed(monkeypatch, lambda: change(table)) == ["_versions", "_versions"]


def test_a_job_is_committed_once_whatever_came_between(table: Dataset) -> None:
    job = pickle.loads(pickle.dumps(lance_sql.begin_write(table.schema, table.uri, mode="append")))
    fragments = job.write_fragments({"k": [5], "v": [50]})
    job.commit(fragments)
    table.delete("k = 1")
    with pytest.raises(InvalidArgument, match=r"committed to t\.lance already, as version 2"):
        job.commit(fragments)
    job.abort()
    assert lance_sql.open(table.uri).count_rows() == 4
    assert summary(table, 2).job == job.id


def test_a_job_that_created_a_table_is_committed_once(table: Dataset, tmp_path: Path) -> None:
    job = lance_sql.begin_write(table.schema, tmp_path / "new.lance")
    fragments = job.write_fragments(ROWS)
    job.commit(fragments)
    with pytest.raises(InvalidArgument, match=r"committed to new\.lance already"):
        job.commit(fragments)
    assert lance_sql.open(tmp_path / "new.lance").count_rows() == 4
