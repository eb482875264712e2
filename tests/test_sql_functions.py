"""docs/sql-functions.md lists the columns of each function."""

from __future__ import annotations

import re

import lance_sql
from lance_sql.catalogs import metadata_tables
from lance_sql.providers.table_functions import METADATA
from tests.documents import ROOT

ROW = re.compile(r"^\| `(lance_\w+)`[^|]* \| (.*) \|$", re.MULTILINE)


def test_the_columns_of_every_function_are_documented() -> None:
    table = lance_sql.open(ROOT / "examples" / "orders.lance")
    text = (ROOT / "docs" / "sql-functions.md").read_text().partition("## Columns\n")[2].partition("\n## ")[0]
    said = {name: re.findall(r"`(\w+)`", columns) for name, columns in ROW.findall(text)}
    expected = {f"lance_{name}": metadata_tables.TABLES[name](table).schema.names for name in metadata_tables.TABLES}
    for name, relation in (("lance_changes", table.changes(5, 6)), ("lance_row_history", table.row_history())):
        expected[name] = [column for column in relation.schema.names if column not in table.schema.names]
    assert said == expected


def test_every_metadata_table_is_a_function() -> None:
    assert list(metadata_tables.TABLES) == list(METADATA)
