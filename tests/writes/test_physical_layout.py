"""Why a compaction would rewrite a fragment."""

from __future__ import annotations

from pathlib import Path

import pytest

import lance_sql


@pytest.mark.parametrize(
    ("deleted", "reasons"),
    [(1, ("fewer than 1,048,576 rows",)), (2, ("fewer than 1,048,576 rows", "20% deleted"))],
)
def test_a_share_of_deleted_rows_is_a_reason_above_the_most(
    tmp_path: Path, deleted: int, reasons: tuple[str, ...]
) -> None:
    table = lance_sql.write({"id": list(range(20))}, tmp_path / "t.lance", max_rows_per_file=10)
    first, _ = table.delete(f"id < {deleted}").maintenance.layout().fragments
    assert first.reasons == reasons
