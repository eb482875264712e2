"""Expected tables as text files next to the tests, readable in reviews.

    {"id": "int64", "name": "string"}
    {"id": 1, "name": "a"}

The first line contains the columns and their types; every other line is a row as JSON.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable, Sequence
from decimal import Decimal
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa

from lance_sql.testing import settings
from lance_sql.testing.tables import TableLike, check_ignored, names_of, rows
from lance_sql.values.keywords import suggests_keywords

_MAX_LINES = 40


@suggests_keywords
def assert_matches_snapshot(
    table: TableLike,
    file: str | Path,
    *,
    key: str | Sequence[str] | None = None,
    ignore_columns: str | Iterable[str] = (),
) -> None:
    """Fails unless a table equals its text file. `pytest --lance-update` writes the file again.

    file: the text file
    key: columns that the rows are sorted by; all columns by default
    raises: AssertionError with the lines that differ, and when there is no such file; InvalidArgument for a column in
        `ignore_columns` that the table does not have
    """
    __tracebackhide__ = True
    path = Path(file)
    ignored = names_of(ignore_columns)
    actual = rows(table, "actual", ignored)
    check_ignored(ignored, actual)
    text = serialize(actual.documents_as_returned(), names_of(key))
    if settings.updates_snapshots:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return
    if not path.exists():
        raise AssertionError(f"No snapshot {path}: write it with pytest --lance-update")
    expected = path.read_text(encoding="utf-8")
    if text != expected:
        lines = difflib.unified_diff(
            expected.splitlines(), text.splitlines(), f"{path} (expected)", "actual", n=1, lineterm=""
        )
        shown = list(islice(lines, _MAX_LINES))
        if next(lines, None) is not None:
            shown.append("... and more")
        if text.partition("\n")[0] != expected.partition("\n")[0]:
            # then every row differs, which hides the cause in the first line
            shown.insert(0, "Its columns differ, by name, order or type.")
        raise AssertionError("\n".join(["The table differs from its snapshot (--lance-update accepts it):", *shown]))


def serialize(table: pa.Table, key: Sequence[str]) -> str:
    """Returns the text of a table."""
    header = json.dumps({field.name: str(field.type) for field in table.schema}, ensure_ascii=False)
    rows = [
        ([_sort_key(row.get(name)) for name in key], json.dumps(row, ensure_ascii=False, default=_text))
        for row in table.to_pylist()
    ]
    return "\n".join([header, *(line for _, line in sorted(rows))]) + "\n"


def _sort_key(value: Any) -> tuple[int, Any]:
    """Returns the sort key of a value: NULLs first, then numbers, then others as text."""
    if value is None:
        return 0, 0
    if isinstance(value, int | float | Decimal) and value == value:
        return 1, value
    return 2, str(value)


def _text(value: Any) -> str:
    return value.hex() if isinstance(value, bytes) else str(value)
