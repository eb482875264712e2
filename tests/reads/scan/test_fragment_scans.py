"""Plans of many fragments: splits, pickles and counts, compared with lists of fragments one by one."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest

import lance_sql
from lance_sql.reads.scan.fragment_scans import FragmentScans
from lance_sql.table.fragments import Fragments
from lance_sql.values import row_ranges
from tests.seeds import seeds


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> lance_sql.Dataset:
    rows = {"id": np.arange(500), "n": np.arange(500) % 7}
    path = tmp_path_factory.mktemp("plans") / "many.lance"
    many = lance_sql.write(rows, path, max_rows_per_file=20).indices.create("n", "btree")
    return many.delete("id BETWEEN 40 AND 79 OR id % 50 = 3")


FILTERS = [None, "id < 130", "id >= 33 AND id < 412", "n = 3", "n IN (1, 2) AND id > 100", "id < 0"]


def listed(scans: FragmentScans) -> list[tuple[int, list[list[int]], list[list[int]] | None]]:
    return [
        (each.fragment.id, each.rows.tolist(), None if each.passing is None else each.passing.tolist())
        for each in scans
    ]


def rows_of(scans: FragmentScans) -> list[tuple[int, int]]:
    return [(each.fragment.id, row) for each in scans for start, end in each.rows.tolist() for row in range(start, end)]


@pytest.mark.parametrize("filter", FILTERS)
@pytest.mark.parametrize("count", [1, 2, 3, 7, 25, 1000])
def test_parts_have_each_row_once(table: lance_sql.Dataset, filter: str | None, count: int) -> None:
    table.maintenance.analyze(["id", "n"])
    whole = table.scan(filter=filter).plan.fragments()
    parts = whole.split(count)
    assert [row for part in parts for row in rows_of(part)] == rows_of(whole)
    assert sum(part.num_rows for part in parts) == whole.num_rows == len(rows_of(whole))
    sizes = [part.num_rows for part in parts]
    assert not sizes or (len(parts) <= count and max(sizes) - min(sizes) <= 1)
    for part in parts:
        for again in part.split(3):
            assert set(rows_of(again)) <= set(rows_of(part))


@pytest.mark.parametrize("filter", FILTERS)
def test_a_part_is_pickled_with_its_fragments_alone(table: lance_sql.Dataset, filter: str | None) -> None:
    table.maintenance.analyze(["id", "n"])
    for part in table.scan(filter=filter).plan.fragments().split(4):
        moved = pickle.loads(pickle.dumps(part))
        assert listed(moved) == listed(part)
        assert len(moved.fragments) == len(part) < len(table.snapshot.manifest.fragments)
        assert [listed(each) for each in moved.split(2)] == [listed(each) for each in part.split(2)]


@pytest.mark.parametrize("filter", [None, "_rowid < 250", "_row_last_updated_at_version = 1"])
@pytest.mark.parametrize("count", [1, 3, 30])
def test_live_rows_are_counted_without_values(table: lance_sql.Dataset, filter: str | None, count: int) -> None:
    scan = table.scan([], filter)
    wanted = len(table.scan(["id"], filter).to_table())
    assert sum(batch.num_rows for task in scan.tasks(count) for batch in task.to_reader()) == wanted
    assert sum(batch.num_rows for batch in scan.to_reader()) == wanted
    assert table.scan([], filter, limit=30).to_table().num_rows == min(30, wanted)


@seeds(range(10), range(10, 500))
def test_random_cuts(table: lance_sql.Dataset, seed: int) -> None:
    random = np.random.default_rng(seed)
    whole = table.scan().plan.fragments()
    parts = {
        int(index): row_ranges.from_sorted(np.flatnonzero(random.random(20) < 0.5))
        for index in random.choice(len(whole), 5, replace=False)
    }
    counts = whole.counts.copy()
    for position, index in enumerate(whole.indices.tolist()):
        if index in parts:
            counts[position] = row_ranges.count(parts[index])
    some = FragmentScans("t", whole.fragments, whole.indices, counts, parts, (), 0, 0)
    for part in some.split(int(random.integers(2, 40))):
        assert part.num_rows == len(rows_of(part))
        assert rows_of(pickle.loads(pickle.dumps(part))) == rows_of(part)


def test_planning_parses_no_fragment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "t.lance"
    lance_sql.write({"id": np.arange(100)}, path, max_rows_per_file=10).delete("id = 3")
    other = lance_sql.open(path).latest()

    def parsed(*_: object) -> None:
        raise AssertionError("a fragment was parsed")

    monkeypatch.setattr(Fragments, "__getitem__", parsed)
    tasks = other.scan([]).tasks(5)
    pickle.dumps(tasks)
    assert other.count_rows() == sum(task.num_candidates for task in tasks) - 1 == 99
    with pytest.raises(AssertionError, match="parsed"):
        list(tasks[0].fragments)
