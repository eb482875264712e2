"""The same random histories in a Delta table with its change data feed: both feeds agree, except for the differences
that docs/change-feed.md lists.

Commits have other numbers there, so that both are renamed to the number of the operation that made them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa
import pytest

import lance_sql
from tests.histories.histories import Operation
from tests.histories.writers import Ours, Pylance, Writer

from .expected import RecordedHistory

deltalake = pytest.importorskip("deltalake", reason="deltalake is not installed: pip install deltalake")

# what Delta Lake without Spark has no operation for, or only one that rewrites the table
_MISSING = ("add_values", "drop", "rename", "cast")

Image: TypeAlias = tuple[int, str, tuple[Any, ...]]
"""Number of the operation, kind, values."""


class Twin:
    """Writes a Lance table by one writer, and the same to a Delta table."""

    def __init__(self, lance: Writer, history: DeltaHistory) -> None:
        self.lance = lance
        self.history = history

    @property
    def delta(self) -> Any:
        return deltalake.DeltaTable(self.history.delta_path)

    def _write(self, rows: pa.Table, **arguments: Any) -> None:
        deltalake.write_deltalake(self.history.delta_path, rows, **arguments)

    def create(self, path: str, rows: pa.Table, file_version: str) -> None:
        self.lance.create(path, rows, file_version)
        self._write(rows, configuration={"delta.enableChangeDataFeed": "true"})

    def append(self, path: str, rows: pa.Table) -> None:
        self.lance.append(path, rows)
        self._write(rows, mode="append")

    def overwrite(self, path: str, rows: pa.Table) -> None:
        self.lance.overwrite(path, rows)
        self._write(rows, mode="overwrite", schema_mode="overwrite")

    def delete(self, path: str, where: str) -> None:
        self.lance.delete(path, where)
        self.delta.delete(where)

    def update(self, path: str, values: dict[str, str], where: str) -> None:
        self.lance.update(path, values, where)
        self.delta.update(updates=values, predicate=where)

    def merge(self, path: str, rows: pa.Table) -> None:
        self.lance.merge(path, rows)
        values = {name: f"s.{name}" for name in rows.column_names}
        merge = self.delta.merge(rows, predicate="t.k = s.k", source_alias="s", target_alias="t")
        merge.when_matched_update(values).when_not_matched_insert(values).execute()

    def compact(self, path: str, target_rows: int) -> None:
        self.lance.compact(path, target_rows)
        self.delta.optimize.compact()

    def add_nulls(self, path: str, field: pa.Field) -> None:
        self.lance.add_nulls(path, field)
        kind = {"int32": "integer", "string": "string"}[str(field.type)]
        self.delta.alter.add_columns([deltalake.Field(field.name, kind)])

    def restore(self, path: str, version: int) -> None:
        self.lance.restore(path, version)
        wanted = self.history.delta_versions[version]
        # Delta refuses to restore its newest version
        if wanted < self.delta.version():
            self.delta.restore(wanted)

    def config(self, path: str, key: str, value: str) -> None:
        self.lance.config(path, key, value)
        self.delta.alter.set_table_properties({f"delta.user.{key}": value}, raise_if_not_exists=False)

    def read(self, path: str, columns: Sequence[str]) -> pa.Table:
        return self.lance.read(path, columns)

    def add_values(self, path: str, name: str, sql: str) -> None:
        raise NotImplementedError

    def drop(self, path: str, name: str) -> None:
        raise NotImplementedError

    def rename(self, path: str, old: str, new: str) -> None:
        raise NotImplementedError

    def cast(self, path: str, name: str, type: pa.DataType) -> None:
        raise NotImplementedError


class DeltaHistory(RecordedHistory):
    """A history of two tables.

    delta_versions: of the Delta table, by versions of this one
    ends: the versions of both tables after each operation
    """

    def __init__(self, path: str, delta_path: str, seed: int) -> None:
        self.delta_path = delta_path
        self.delta_versions: dict[int, int] = {}
        self.ends: list[tuple[int, int]] = []
        super().__init__(path, seed)

    def make_writers(self) -> tuple[Writer, ...]:
        return Twin(Ours(), self), Twin(Pylance(), self)

    def operations(self) -> list[tuple[str, Operation]]:
        return [each for each in super().operations() if each[0] not in _MISSING]

    def check(self) -> None:
        super().check()
        newest = deltalake.DeltaTable(self.delta_path).version()
        self.delta_versions[self.version] = newest
        self.ends.append((self.version, newest))

    def operation(self, version: int, side: int) -> int:
        """The number of the operation that made a version of one of the tables."""
        return next(number for number, ends in enumerate(self.ends) if version <= ends[side])


def images(history: DeltaHistory, table: pa.Table, side: int, columns: Sequence[str]) -> Counter[Image]:
    numbers = [history.operation(version, side) for version in table["_commit_version"].to_pylist()]
    values = zip(*(table[name].to_pylist() for name in columns), strict=True)
    return Counter(zip(numbers, table["_change_type"].to_pylist(), values, strict=True))


def without_unchanged(found: Counter[Image]) -> Counter[Image]:
    """Without updates that left every value as it was: Delta has those of its merges and not those of its updates."""
    kept = found.copy()
    for number, kind, values in found:
        other = (number, "update_postimage", values)
        if kind == "update_preimage" and other in found:
            assert found[number, kind, values] == found[other] == 1
            del kept[number, kind, values], kept[other]
    return kept


def folded(found: Counter[Image]) -> Counter[Image]:
    """Rows that came less those that went, by operation."""
    signs = {"insert": 1, "update_postimage": 1, "delete": -1, "update_preimage": -1}
    total: Counter[tuple[int, tuple[Any, ...]]] = Counter()
    for (number, kind, values), count in found.items():
        total[number, values] += signs[kind] * count
    return Counter(
        {(number, "insert" if n > 0 else "delete", values): abs(n) for (number, values), n in total.items() if n}
    )


def check_range(history: DeltaHistory, first: int, last: int) -> None:
    """The operations from `first` to `last`."""
    (start, delta_start), (end, delta_end) = history.ends[first - 1] if first else (0, -1), history.ends[last]
    where = (history.log, first, last)
    ours = lance_sql.open(history.path).changes(start + 1, end, drop_unchanged=True).scan().to_table()
    columns = list(history.versions[end].model.columns)
    assert ours.column_names[: len(columns)] == columns, where
    mine = images(history, ours, 0, columns)
    theirs: Counter[Image] = Counter()
    if delta_start < delta_end:
        delta = deltalake.DeltaTable(history.delta_path, version=delta_end)
        feed = pa.table(delta.load_cdf(starting_version=delta_start + 1, ending_version=delta_end))
        assert sorted(feed.column_names[: len(columns)]) == sorted(columns), where
        theirs = without_unchanged(images(history, feed, 1, columns))
    # such commits of delta-rs have no file of changes: rows that are in files before and after went and came
    changed = {number for number, _, _ in mine}
    by_files = {
        number
        for number in range(first, last + 1)
        if history.log[number].endswith(".restore")
        or (history.log[number].endswith(".update") and number not in changed)
    }

    def of(found: Counter[Image], numbers: Collection[int]) -> Counter[Image]:
        return Counter({image: count for image, count in found.items() if image[0] in numbers})

    others = set(range(first, last + 1)) - by_files
    assert of(mine, others) == of(theirs, others), where
    assert folded(of(mine, by_files)) == folded(of(theirs, by_files)), where


def check_history(folder: Path, seed: int, num_operations: int) -> Counter[str]:
    """returns: how many images of each kind both feeds have of the whole history"""
    history = DeltaHistory(str(folder / "t.lance"), str(folder / "delta"), seed)
    history.run(num_operations)
    last = len(history.ends) - 1
    for first, end in {(0, last), (last // 2, last), (last // 3, 2 * last // 3), (last, last)}:
        check_range(history, first, end)
    kinds = lance_sql.open(history.path).changes().scan(["_change_type"]).to_table()["_change_type"]
    return Counter(kinds.to_pylist())


@pytest.mark.parametrize("seed", range(3))
def test_the_feed_is_that_of_delta(tmp_path: Path, seed: int) -> None:
    kinds = check_history(tmp_path, seed, 15)
    assert kinds.keys() >= {"insert", "delete"}


@pytest.mark.slow
@pytest.mark.parametrize("piece", range(10))
def test_a_hundred_histories(tmp_path: Path, piece: int) -> None:
    for seed in range(100 + 10 * piece, 110 + 10 * piece):
        (tmp_path / str(seed)).mkdir()
        check_history(tmp_path / str(seed), seed, 30)
