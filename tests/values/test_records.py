"""What results show: their known values in a repr, a table in a notebook, and no internals in completion."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import lance_sql


@pytest.fixture
def table(tmp_path: Path) -> lance_sql.Dataset:
    rows = {"id": [1, 2], "v": pa.array([[1.0, 2.0], [3.0, 4.0]], pa.list_(pa.float32(), 2))}
    made = lance_sql.write(rows, tmp_path / "t.lance").indices.create("id", "btree").rules.set("positive", "id > 0")
    made.tags.create("audited")
    made.branches.create("dev")
    made.cursors.open("warehouse")
    return made


def results(table: lance_sql.Dataset) -> dict[str, Any]:
    """Every result of the public interface."""
    return {
        "branches": table.branches.list(),
        "changes": table.changes(),
        "check": table.rules.check(),
        "cleanup": table.maintenance.cleanup(dry_run=True),
        "cursors": table.cursors.list(),
        "dataset": table,
        "diff": lance_sql.diff(table),
        "feed": table.changes().scan(),
        "history": table.history(),
        "history entry": table.history()[-1],
        "indices": table.indices.list(),
        "lag": table.cursors.open("warehouse").lag(),
        "last change": table.last_change,
        "layout": table.maintenance.layout(),
        "repair": lance_sql.repair(table.uri, dry_run=True),
        "row history": table.row_history(),
        "rules": table.rules.list(),
        "scan": table.scan(),
        "search": table.search([1.0, 2.0]),
        "search changes": table.search_changes([1.0, 2.0], since=1),
        "sql": lance_sql.sql(f"SELECT id FROM '{table.uri}'"),
        "statistics": table.maintenance.statistics(),
        "tags": table.tags.list(),
        "verify": lance_sql.verify(table.uri),
        "versions": table.versions(),
        "written": lance_sql.sql(f"DELETE FROM '{table.uri}' WHERE id = 77"),
    }


def test_every_result_has_a_table_for_notebooks_and_a_short_repr(table: lance_sql.Dataset) -> None:
    for name, result in results(table).items():
        page = result._repr_html_()
        assert page is not None, name
        assert "<table" in page or "<dl" in page or "<ul" in page, name
        assert len(repr(result)) < 500 * max(len(result) if isinstance(result, (tuple, dict)) else 1, 1), name


def test_records_show_what_they_know(table: lance_sql.Dataset) -> None:
    assert repr(table.tags.list()["audited"]).startswith("Ref(name='audited', version=3, created_at=")
    shown = repr(table.cursors.list()["warehouse"])
    assert "position=0" in shown
    assert "token" not in shown
    page = table.cursors.list()._repr_html_()  # type: ignore[attr-defined]  # of the class below dict
    assert "<th>position</th>" in page
    assert "<th>token</th>" not in page
    assert repr(table.maintenance.cleanup(dry_run=True)) == "CleanupPlan(no versions, files=0, num_bytes=0)"
    assert repr(lance_sql.begin_write(table.schema, table.uri, mode="append")).startswith("WriteJob('/")


def test_completion_lists_what_can_be_called(table: lance_sql.Dataset) -> None:
    listed = {name for name in dir(table) if not name.startswith("_")}
    assert {"scan", "changes", "to_table", "count_rows", "take", "search", "history"} <= listed
    assert not listed & {"filter", "join", "sort_by", "replace_schema", "snapshot", "compact_types", "search_rows"}
    assert "count_rows" in dir(table.changes())
