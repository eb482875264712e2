"""Every index of the corpus: a filter finds the same rows with and without it."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import lance_sql
from tests.conftest import Case, corpus_params

USED = {
    "hist_0200_old_btree_bitmap_indices": {"btree", "bitmap"},
    "ops0200_20_index": {"btree", "bitmap"},
    "ops4_20s_index": {"btree", "bitmap", "zonemap", "bloomfilter"},
    "ops14_21_index": {"btree", "bitmap", "zonemap", "bloomfilter"},
    "ops14_22s_index": {"btree", "bitmap", "zonemap", "bloomfilter"},
    "ops14_21_traps": {"zonemap"},
    "ops14_22s_traps": {"zonemap"},
    "cdf4_21s_s109": {"btree"},
    "cdf14_22s_s102": {"btree"},
}
"""The kinds that some filter on some version of a case is answered with."""


def filters(name: str, column: pa.Array) -> Iterator[pc.Expression]:
    """Conditions on a column, some of which find something."""
    field = pc.field(*name.split("."))
    yield field.is_null()
    yield ~field.is_null()
    values = column.drop_null().unique()
    chosen = values.take(pa.array(range(0, len(values), max(1, len(values) // 3))))
    for value in chosen:
        yield field == value
        yield field < value
        yield field >= value
    if len(chosen):
        yield field.isin(chosen)


def indexed_columns(dataset: lance_sql.Dataset) -> set[str]:
    """The columns with an index that a filter can have."""
    ids = {number for segment in dataset.snapshot.indices() for number in segment.field_ids}
    found = set()
    for field in dataset.snapshot.manifest.schema.fields:
        members = [(field.name, field)]
        if field.logical_type == "struct":
            members = [(f"{field.name}.{child.name}", child) for child in field.children]
        found |= {name for name, each in members if each.id in ids and not each.children}
    return found


@pytest.mark.parametrize("case", [each for name in USED for each in corpus_params("cases", name)])
def test_indices_change_no_answer(case: Case) -> None:
    used = set()
    # the newest, and every third one before it
    for branch, version in case.versions()[::-3]:
        place = {"version": version["version"], "branch": branch}
        with_indices = lance_sql.open(case.table, **place)
        without = lance_sql.open(case.table, **place, use_indices=False)
        for name in sorted(indexed_columns(with_indices)):
            for condition in filters(name, without.scan([name]).to_table().column(0).combine_chunks()):
                columns = ["_rowaddr", name.partition(".")[0]]
                scan = with_indices.scan(columns, condition)
                expected = without.scan(columns, condition).to_table()
                assert repr(scan.to_table().to_pydict()) == repr(expected.to_pydict()), f"{place}: {condition}"
                notes = [note for evidence in scan.plan.evidence for note in evidence.notes if "covers" in note]
                used |= {note.partition("(")[2].partition(")")[0] for note in notes}
    assert used >= USED[case.name]
