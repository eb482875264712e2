"""A view whose tables were changed, and a query that never fitted: the message names view, column and cure."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

import lance_sql
from lance_sql.cli import main
from lance_sql.errors import LanceError

SUM = "SELECT id, sum(amount) AS total FROM '{}' GROUP BY id"
ROWS = "SELECT g.id, g.amount FROM '{}' AS g WHERE g.amount > 3"
ALL = "SELECT * FROM '{}'"

Change = Callable[[lance_sql.Dataset], object]
CHANGES: dict[str, tuple[Change, dict[str, str]]] = {
    "renamed": (
        lambda table: table.rename_columns({"amount": "amt"}),
        dict.fromkeys((SUM, ROWS), "The view v.lance reads the column 'amount' of g.lance, which was renamed to 'amt'"),
    ),
    "dropped": (
        lambda table: table.drop_columns("amount"),
        dict.fromkeys((SUM, ROWS), "The view v.lance reads the column 'amount' of g.lance, which was dropped: add it"),
    ),
    "another type": (
        lambda table: table.alter_column("amount", type="string"),
        {
            SUM: "The view v.lance no longer fits g.lance since its last refresh: 'amount' of g.lance, whose type was"
            " int64 and is string",
            ALL: "cannot hold the column amount, which is int64 in the view and string in the query now",
        },
    ),
    "one more": (
        lambda table: table.add_columns({"n": "1"}),
        {ALL: "has the columns id, amount, but its query has id, amount, n now"},
    ),
    "gone": (
        lambda table: shutil.rmtree(table.uri),
        dict.fromkeys((SUM, ALL), "The view v.lance reads a table that is gone: No Lance table at"),
    ),
}
CURES = ("materialize the corrected query with replace=True (--replace)", "drop the view (DROP MATERIALIZED VIEW)")


@pytest.mark.parametrize(
    ("change", "query", "message"),
    [(change, query, message) for change, (_, said) in CHANGES.items() for query, message in said.items()],
)
def test_a_changed_table_is_named_with_the_cure(tmp_path: Path, change: str, query: str, message: str) -> None:
    table = lance_sql.write({"id": [1, 2], "amount": [5, 6]}, tmp_path / "g.lance")
    lance_sql.materialize(query.format(table.uri), tmp_path / "v.lance")
    CHANGES[change][0](table)
    with pytest.raises(LanceError) as raised:
        lance_sql.View.open(tmp_path / "v.lance").refresh()
    result = CliRunner().invoke(main, ["refresh", str(tmp_path / "v.lance")])
    for said in (str(raised.value), result.stderr):
        assert message in said
        assert any(cure in said for cure in CURES)
        assert "Text has single quotes" not in said


def test_the_cure_works(tmp_path: Path) -> None:
    table = lance_sql.write({"id": [1, 2], "amount": [5, 6]}, tmp_path / "g.lance")
    lance_sql.materialize(SUM.format(table.uri), tmp_path / "v.lance")
    table.rename_columns({"amount": "amt"})
    query = SUM.format(table.uri).replace("amount", "amt")
    view = lance_sql.materialize(query, tmp_path / "v.lance", replace=True)
    assert view.refresh().mode == "unchanged"


@pytest.mark.parametrize(
    ("query", "message"),
    [
        (
            SUM.replace("amount", "amont"),
            "reads the column 'amont', which g.lance does not have. Did you mean 'amount'?",
        ),
        (ROWS.replace("g.amount", "g.amont"), "Did you mean 'amount'?"),
        ("SELECT zzz FROM '{}'", "reads the column 'zzz', which g.lance does not have. Columns: id, amount"),
        ("SELECT id, sum(amount) AS n FROM '{}'", "must appear in the GROUP BY clause"),
    ],
)
def test_a_query_that_does_not_fit_makes_no_view(tmp_path: Path, query: str, message: str) -> None:
    table = lance_sql.write({"id": [1, 2], "amount": [5, 6]}, tmp_path / "g.lance")
    with pytest.raises(LanceError) as raised:
        lance_sql.materialize(query.format(table.uri), tmp_path / "v.lance")
    assert message in str(raised.value)
    assert not (tmp_path / "v.lance").exists()
