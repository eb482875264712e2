"""Tables of every writer get stable row ids: pylance goes on with them, and changes are known from there on."""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import lance
import pyarrow as pa
import pytest

import lance_sql
from tests.conftest import Case, corpus_params


def content(table: Any) -> Counter[str]:
    """The rows, whatever their order; by how they are shown, since not all values can be hashed."""
    return Counter(repr(row) for row in table.to_pylist())


# two columns have one id, and pylance gives them other ones with its next commit, so that their values are others
MENDED = "hist_0105_corrupt_schema"


@pytest.mark.parametrize("case", corpus_params("cases", "ops", "hist", "small"))
def test_a_table_of_any_writer_goes_on_with_row_ids(case: Case, tmp_path: Path) -> None:
    path = str(tmp_path / "t.lance")
    shutil.copytree(case.table, path, symlinks=True)
    try:
        before = lance_sql.open(path)
        rows = before.to_table()
        assert lance.dataset(path).count_rows() == rows.num_rows
    except Exception:
        pytest.skip("not readable by both")
    if case.name == MENDED or before.snapshot.manifest.has_stable_row_ids or rows.num_rows < 3:
        pytest.skip("has row ids, no rows, or a schema that is wrong")
    made = before.maintenance.enable_stable_row_ids()
    assert made.version == before.version + 1
    known = made.scan(["_rowid", "_rowaddr"]).to_table()
    assert known["_rowid"] == known["_rowaddr"]
    assert lance_sql.audit(path).is_healthy
    assert lance_sql.verify(path, deep=True).is_healthy

    theirs: Any = lance.dataset(path)
    # blobs are places for pylance, and bytes for this library
    alike = [field.name for field in rows.schema if field.type != pa.large_binary()]
    assert content(theirs.to_table(alike)) == content(rows.select(alike))
    addresses = known["_rowid"].to_pylist()
    gone, moved = addresses[0], addresses[1]
    theirs.delete(f"_rowid = {gone}")
    column = next(
        (field.name for field in made.schema if str(field.type) in ("string", "int64", "int32", "double")), None
    )
    expected = Counter({("delete", gone): 1})
    if column is not None and made.snapshot.manifest.data_format in ("2.0", "2.1", "2.2"):
        lance.dataset(path).update({column: f"`{column}`"}, where=f"_rowid = {moved}")
        expected += Counter({("update_preimage", moved): 1, ("update_postimage", moved): 1})
    changes = lance_sql.open(path).changes(since=made.version)
    told = changes.scan(["_change_type", "_rowid"]).to_table().to_pylist()
    assert Counter((row["_change_type"], row["_rowid"]) for row in told) == expected
    images = changes.scan(made.schema.names, "_change_type = 'delete'").to_table()
    assert content(images) == content(made.scan(made.schema.names, f"_rowid = {gone}").to_table())
    after = lance_sql.open(path)
    assert after.count_rows() == lance.dataset(path).count_rows() == rows.num_rows - 1
    assert set(after.scan(["_rowid"]).to_table()["_rowid"].to_pylist()) == set(addresses[1:])
    report = lance_sql.audit(path)
    assert report.is_healthy, str(report)
