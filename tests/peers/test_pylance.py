"""Calls of pylance, and those that stand for them here: the same results, or a row of a page that says why not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import lance
import pytest

import lance_sql

from .calls import CALLS, Call
from .pylance import run

_NONE = {
    *("commit_batch", "create_index_uncommitted", "commit_existing_index_segments", "from_pydantic_model", "session"),
    *("io_stats_incremental", "io_stats_snapshot", "initial_storage_options", "latest_storage_options", "centroids"),
    *("merge_existing_index_segments", "merge_index_metadata", "get_ivf_model", "new_file_session"),
    *("initialize_mem_wal", "mem_wal_index_details", "mem_wal_writer", "max_field_id"),
    *("add_bases", "base_paths", "all_files", "prewarm_index", "migrate_manifest_paths_v2"),
    *("read_blob_ranges", "remap_row_addrs", "storage_options_accessor", "version_refs"),
}
"""Attributes of pylance's datasets for which there is no name here."""


@pytest.mark.parametrize("call", CALLS, ids=lambda call: call.theirs.replace("\n", "; "))
def test_calls(call: Call, tmp_path: Path) -> None:
    outcome = run(call, tmp_path)
    assert outcome.kind == ("documented" if call.ours is None else "equal"), outcome.detail


def test_outcomes_are_told_apart(tmp_path: Path) -> None:
    def kind(theirs: str, ours: str | None, *, row: str = "", fails: bool = False) -> str:
        folder = tmp_path / str(len(list(tmp_path.iterdir())))
        folder.mkdir()
        return run(Call(theirs, ours, row=row, fails=fails), folder).kind

    assert kind("ds.count_rows()", "t.count_rows()") == "equal"
    assert kind("ds.count_rows()", "t.count_rows() + 1") == "different"
    assert kind("ds.to_table(['id'])", "t.to_table(['a'])") == "different"
    assert kind("ds.count_rows('nothing')", "t.count_rows('nothing')") == "different"
    assert kind("ds.count_rows('nothing')", "t.count_rows('nothing')", fails=True) == "equal"
    assert kind("ds.count_rows('nothing')", "1 / 0", fails=True) == "different"
    assert kind("ds.schema", None, row="`lance.json_to_schema`") == "documented"
    assert kind("ds.schema", None, row="a row that no page has") == "different"


def test_most_calls_have_a_counterpart() -> None:
    assert len(CALLS) >= 350
    assert sum(call.ours is None for call in CALLS) <= 12
    assert all(replace(call, table="") not in CALLS for call in CALLS)
    assert len({(call.theirs, call.ours) for call in CALLS}) == len(CALLS)


def test_names_of_datasets_are_answered(tmp_path: Path) -> None:
    table = lance_sql.write({"id": [1]}, tmp_path / "t.lance")
    unanswered = set()
    for name in dir(lance.LanceDataset):
        if not name.startswith("_") and name not in dir(lance_sql.Dataset):
            with pytest.raises(AttributeError) as error:
                getattr(table, name)
            unanswered |= set() if ": use " in str(error.value) else {name}
    assert unanswered <= _NONE
