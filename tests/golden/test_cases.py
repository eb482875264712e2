"""Every version of every table of the corpus, through the public interface only."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import lance_sql
from tests.conftest import Case, corpus_params
from tests.golden.compare import assert_same

CREATED = "_row_created_at_version"
UPDATED = "_row_last_updated_at_version"


@dataclass(frozen=True)
class Version:
    """An opened version of a table, with its description."""

    dataset: lance_sql.Dataset
    num_rows: int
    expected: pa.Table | None
    columns: list[str]
    where: str

    @property
    def user_columns(self) -> list[str]:
        return [name for name in self.columns if name not in self.dataset.system_columns]


def versions(case: Case) -> Iterator[Version]:
    """Every version that can be read, those of the branches included."""
    for branch, entry in case.versions():
        expected = case.expected(entry)
        unchecked = entry.get("unchecked_columns", ())
        yield Version(
            lance_sql.open(case.table, version=entry["version"], branch=branch),
            entry["rows"],
            expected,
            [] if expected is None else [name for name in expected.column_names if name not in unchecked],
            f"branch {branch}, version {entry['version']}",
        )


every_case = pytest.mark.parametrize("case", corpus_params("cases", ""))


@every_case
def test_every_version_has_its_rows_and_system_columns(case: Case) -> None:
    for version in versions(case):
        if version.expected is None:
            assert version.dataset.scan().to_table().num_rows == version.num_rows, version.where
        else:
            found = version.dataset.scan(version.columns).to_table()
            assert_same(found, version.expected, version.columns, version.where)


@every_case
def test_every_version_counts_its_rows(case: Case) -> None:
    for version in versions(case):
        assert version.dataset.count_rows() == version.num_rows, version.where
        batches = version.dataset.scan([]).to_reader()
        assert sum(batch.num_rows for batch in batches) == version.num_rows, version.where


@every_case
def test_all_user_columns_come_in_schema_order(case: Case) -> None:
    for version in versions(case):
        scan = version.dataset.scan()
        assert scan.schema == version.dataset.schema
        if version.expected is not None:
            system = version.dataset.system_columns
            assert scan.schema.names == [n for n in version.expected.column_names if n not in system]


@every_case
def test_columns_come_in_the_order_asked_for(case: Case) -> None:
    version = list(versions(case))[-1]
    if version.expected is None:
        pytest.skip("only the number of rows is known")
    backwards = version.columns[::-1]
    found = version.dataset.scan(backwards, batch_size=7 if version.num_rows < 1_000 else 97).to_table()
    assert_same(found, version.expected, backwards, version.where)


@every_case
def test_row_lineage_selects_the_rows_it_names(case: Case) -> None:
    for version in versions(case):
        if version.expected is None or CREATED not in version.columns or UPDATED not in version.columns:
            continue
        since = version.dataset.version // 2
        for column in (CREATED, UPDATED):
            wanted = version.expected.filter(pc.greater(version.expected[column], since))
            scan = version.dataset.scan(version.columns, f"{column} > {since}")
            assert_same(scan.to_table(), wanted, version.columns, f"{version.where}, {column}")
            assert scan.count_rows() == wanted.num_rows


@every_case
def test_rows_are_taken_by_their_ids_in_any_order(case: Case) -> None:
    for version in list(versions(case))[::-2]:
        if version.expected is None or "_rowid" not in version.columns or not version.num_rows:
            continue
        random = np.random.default_rng(version.num_rows)
        rows = random.integers(0, version.num_rows, 20)
        wanted = version.expected.select(version.columns).take(pa.array(rows))
        found = version.dataset.take(wanted["_rowid"].combine_chunks(), version.columns)
        assert_same(found, wanted, version.columns, version.where)


@every_case
def test_scattered_rows_are_selected_by_their_ids(case: Case) -> None:
    version = list(versions(case))[-1]
    if version.expected is None or "_rowid" not in version.columns or not version.num_rows:
        pytest.skip("there are no row ids to select")
    random = np.random.default_rng(1)
    wanted = version.expected.filter(pa.array(random.random(version.num_rows) < 0.05))
    ids = ", ".join(map(str, wanted["_rowid"].to_pylist())) or "NULL"
    found = version.dataset.scan(version.columns, f"_rowid IN ({ids})").to_table()
    assert_same(found, wanted, version.columns, version.where)


@every_case
def test_versions_tags_and_branches_are_listed(case: Case) -> None:
    dataset = lance_sql.open(case.table)
    assert [info.version for info in dataset.versions()] == [entry["version"] for entry in case.info["versions"]]
    branches = case.info.get("branches") or {}
    assert set(dataset.branches.list()) == set(branches)
    for branch, entries in branches.items():
        on_branch = lance_sql.open(case.table, branch=branch)
        assert [info.version for info in on_branch.versions()] == [entry["version"] for entry in entries]
    tags = {name: (tag.get("branch"), tag["version"]) for name, tag in (case.info.get("tags") or {}).items()}
    assert {name: (ref.branch, ref.version) for name, ref in dataset.tags.list().items()} == tags


@every_case
def test_a_tag_opens_its_version(case: Case) -> None:
    rows = {(branch, entry["version"]): entry["rows"] for branch, entry in case.versions()}
    for name, tag in (case.info.get("tags") or {}).items():
        tagged = lance_sql.open(case.table, tag=name)
        assert (tagged.branch, tagged.version) == (tag.get("branch"), tag["version"])
        assert tagged.scan().to_table().num_rows == tagged.count_rows() == rows[tag.get("branch"), tag["version"]]
