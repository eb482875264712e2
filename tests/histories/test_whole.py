"""Random histories of larger tables with indices: rows, lineage, answers from indices, the feed and the audit at once.

The other suites here draw tables of some dozen rows and look at one of these. Rows are found, moved and rewritten many
at a time, by several threads, from fragments that are not alike; so these tables have thousands, in several fragments.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import lance
import pytest

import lance_sql
from lance_sql.writes.statements import copying
from tests.changes.expected import RecordedHistory, Version
from tests.changes.test_histories import check_range

from .histories import History, Operation
from .writers import Ours, Writer

KINDS = ("zonemap", "btree", "bitmap", "bloomfilter")
INDEXED = ("k", "a", "s")


def _append_many(history: History, writer: Writer) -> None:
    rows = history.rows(history.random.randint(500, 3000))
    writer.append(history.path, rows)
    history.model.insert(rows.to_pylist(), history.version)


def _delete_every(history: History, writer: Writer) -> None:
    step, first = history.random.choice([3, 17, 400]), history.random.randrange(3)
    writer.delete(history.path, f"k % {step} = {first}")
    history.model.delete(lambda row: row["k"] % step == first)


def _update_every(history: History, writer: Writer) -> None:
    step, first = history.random.choice([2, 17, 400]), history.random.randrange(2)
    writer.update(history.path, {"a": "k - 7", "s": "'every'"}, f"k % {step} = {first}")
    history.model.update(
        lambda row: row["k"] % step == first, lambda row: {"a": row["k"] - 7, "s": "every"}, history.version
    )


def _merge_many(history: History, writer: Writer) -> None:
    keys = [row["k"] for row in history.model.rows]
    old = history.random.sample(keys, min(len(keys), history.random.randint(0, 800)))
    columns = dict(history.model.columns)
    rows = [history._values(key, columns) for key in old]
    rows += history.rows(history.random.randint(1, 400), columns).to_pylist()
    history.random.shuffle(rows)
    before = history.model.next_row_id
    writer.merge(history.path, history.table(rows, columns))
    history.model.merge(rows, history.version, keeps_equal=isinstance(writer, Ours))
    history.take_over_new_ids(before)


def _compact_some(history: History, writer: Writer) -> None:
    writer.compact(history.path, history.random.choice([1000, 4000, 100_000]))


def _optimize(history: History, writer: Writer) -> None:
    if isinstance(writer, Ours):
        lance_sql.open(history.path).indices.optimize(rebuild=history.random.random() < 0.2)
    else:
        lance.dataset(history.path).optimize.optimize_indices()


def _index(history: History, writer: Writer) -> None:
    column, kind = history.random.choice(INDEXED), history.random.choice(KINDS)
    if isinstance(writer, Ours):
        lance_sql.open(history.path).indices.create(column, kind, replace=True)
    else:
        name: Any = kind.upper()
        lance.dataset(history.path).create_scalar_index(column, name, replace=True)


_OFTEN: list[tuple[str, Operation]] = [
    *[("append", _append_many)] * 3,
    *[("delete", _delete_every)] * 2,
    *[("update", _update_every)] * 3,
    *[("merge", _merge_many)] * 4,
    *[("compact", _compact_some)] * 4,
    *[("optimize", _optimize)] * 2,
    ("index", _index),
]


class WholeHistory(RecordedHistory):
    """A history of which everything is looked at."""

    def __init__(self, path: str, seed: int) -> None:
        super().__init__(path, seed)
        for operation in (_append_many, _append_many, *[_index] * 3):
            self.log.append(f"start.{operation.__name__}")
            operation(self, self.random.choice(self.writers))
            self.check()

    def operations(self) -> list[tuple[str, Operation]]:
        # pylance refuses to cast a column that has an index
        drawn = [each for each in super().operations() if each[0] != "cast"]
        return [*drawn, *_OFTEN, *_OFTEN]

    def check(self) -> None:
        History.check(self)
        RecordedHistory.check(self)
        newest = lance_sql.open(self.path).snapshot
        if (transaction := newest.transaction()) is not None and transaction.rewrites_columns:
            # of rows whose values another writer put where they were, those that are equal are not told of
            self.versions[newest.version] = Version(self.model.copy(), "rewritten in place")
        self._check_filters()

    def _check_filters(self) -> None:
        """Checks that filters with and without indices find the same rows."""
        ours, without = lance_sql.open(self.path), lance_sql.open(self.path, use_indices=False)
        key = self.random.randrange(self.next_key)
        for condition in (f"k = {key}", f"k BETWEEN {key} AND {key + 50}", f"a = {key - 7}", "s = 'every' AND a > 9"):
            expected = without.scan(["k", "a", "s", "_rowid"], condition).to_table()
            assert ours.scan(["k", "a", "s", "_rowid"], condition).to_table() == expected, (condition, self.log)

    def check_end(self) -> None:
        """The feed of the whole and of a part, the audit, and every page."""
        newest = self.version
        first = self.random.randint(1, newest)
        for start, end in {(1, newest), (first, newest)}:
            check_range(self, start, end)
        audit = lance_sql.audit(self.path)
        assert audit.is_healthy, (audit, self.log)
        checked = lance_sql.verify(self.path, deep=True)
        assert checked.is_healthy, (checked, self.log)


@pytest.fixture(autouse=True)
def copied_pages(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """In every other history, compaction copies pages of any size."""
    if request.node.callspec.params["seed"] % 2:
        monkeypatch.setattr(copying, "LEAST_BYTES", 0)


def run(path: Path, seed: int, num_operations: int) -> None:
    history = WholeHistory(str(path), seed)
    history.run(num_operations)
    history.check_end()


@pytest.mark.parametrize("seed", range(3))
def test_everything_agrees(tmp_path: Path, seed: int) -> None:
    run(tmp_path / "t.lance", seed, 8)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2000, 2200))
def test_everything_agrees_in_many_more(tmp_path: Path, seed: int) -> None:
    run(tmp_path / "t.lance", seed, 16)
