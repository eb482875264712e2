"""The recorded history of each commit, compared with the requested change."""

from __future__ import annotations

from pathlib import Path

import lance
import pyarrow as pa
import pytest

import lance_sql
from lance_sql.errors import InvalidArgument

ROWS = pa.table({"id": range(100), "s": ["a"] * 100})


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Changes by this library and by pylance in turn."""
    path = str(tmp_path_factory.mktemp("history") / "t.lance")
    ours = lance_sql.write(ROWS, path)
    ours = ours.delete("id < 5", properties={"why": "late"})
    ours = ours.update({"s": "'b'"}, "id < 10")
    ours.merge({"id": [200, 6], "s": ["x", "y"]}, on="id")
    theirs = lance.dataset(path)
    theirs.delete("id = 50")
    theirs.update({"s": "'q'"}, where="id < 20")
    new = pa.table({"id": [7, 900, 901], "s": ["k", "l", "m"]})
    theirs.merge_insert("id").when_matched_update_all().when_not_matched_insert_all().execute(new)
    theirs = lance.write_dataset(ROWS.slice(0, 7), path, mode="append")
    theirs.add_columns({"z": "id + 1"})
    lance.write_dataset(ROWS.slice(0, 3), path, mode="overwrite")
    lance_sql.open(path).tags.create("kept", version=2)
    return path


def test_it_shows_the_query(path: str) -> None:
    entries = lance_sql.open(path).history()
    found = [
        (entry.operation, entry.rows_inserted, entry.rows_updated, entry.rows_deleted, entry.rows) for entry in entries
    ]
    assert found == [
        ("create", 100, 0, 0, 100),
        ("delete", 0, 0, 5, 95),
        ("update", 0, 5, 0, 95),
        ("merge", 1, 1, 0, 96),
        ("delete", 0, 0, 1, 95),
        ("update", 0, 15, 0, 95),
        ("merge", 2, 1, 0, 97),
        ("insert", 7, 0, 0, 104),
        ("add_columns", 0, None, 0, 104),
        ("overwrite", 3, 0, 104, 3),
    ]
    assert [entry.version for entry in entries] == list(range(1, 11))
    assert all(entry.timestamp is not None for entry in entries)


def test_it_shows_the_writers(path: str) -> None:
    entries = lance_sql.open(path).history()
    assert [(entry.writer or "").split()[0] for entry in entries] == ["lance-sql"] * 4 + ["lance"] * 6
    assert entries[1].tags == ("kept",)
    assert entries[1].properties == (("why", "late"),)
    assert [entry.files_written for entry in entries] == [1, 0, 1, 1, 0, 1, 1, 1, entries[7].fragments, 1]
    for entry in entries:
        assert (entry.bytes_written or 0) > 0 or entry.files_written == 0


def test_the_newest_versions_are_listed_like_all(path: str) -> None:
    dataset = lance_sql.open(path)
    assert dataset.history(3) == dataset.history()[-3:]
    assert dataset.history(0) == ()
    assert dataset.history(1000) == dataset.history()
    with pytest.raises(InvalidArgument, match="limit"):
        dataset.history(-1)


def test_a_damaged_version_is_listed(tmp_path: Path) -> None:
    path = tmp_path / "t.lance"
    lance_sql.write(ROWS, path).delete("id < 5").delete("id < 10")
    (manifest,) = (path / "_versions").glob(f"{2**64 - 1 - 2}.manifest")
    manifest.write_bytes(b"damaged")
    first, second, third = lance_sql.open(path).history()
    assert (first.operation, second.operation, third.operation) == ("create", None, "delete")
    assert second.damage is not None
    assert "manifest" in second.damage


def test_without_row_versions_what_is_not_known_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "t.lance"
    lance.write_dataset(ROWS, path, enable_stable_row_ids=False)
    lance.dataset(path).update({"s": "'q'"}, where="id < 20")
    *_, entry = lance_sql.open(path).history()
    assert (entry.operation, entry.rows_inserted, entry.rows_updated, entry.rows) == ("update", None, None, 100)
