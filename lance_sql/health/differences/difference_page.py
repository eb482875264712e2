"""Page of a difference."""

from __future__ import annotations

from itertools import islice
from typing import Any, Final

import pyarrow as pa

from lance_sql.health.differences.difference import Difference
from lance_sql.values.value_text import values

_MAX_FILES: Final = 200
_ROWS_IN_A_PART: Final = 10
_MAX_COMMITS: Final = 20


def page_values(difference: Difference, *, is_part: bool) -> dict[str, Any]:
    """Returns the values for the templates; for a notebook the first rows."""
    if is_part:
        difference = difference.head(_ROWS_IN_A_PART)
    files = [("added", "ins", file) for file in difference.files_added]
    files += [("removed", "del", file) for file in difference.files_removed]
    return {
        "difference": difference,
        "after": _shorter(difference.before.name, difference.after.name),
        "links": not is_part,
        "records": [
            ("inserted", "Inserted rows", difference.rows_inserted, _rows(difference.inserted)),
            ("deleted", "Deleted rows", difference.rows_deleted, _rows(difference.deleted)),
        ],
        "files": list(islice(files, _MAX_FILES)),
        "max_files": _MAX_FILES,
        "max_commits": _MAX_COMMITS,
    }


def _shorter(before: str, after: str) -> str:
    """Returns the second name, without the table if the first name already has it."""
    table, version, _ = before.rpartition(" version ")
    return after.removeprefix(f"{table} ") if version else after


def _rows(rows: pa.Table) -> tuple[list[str], list[tuple[Any, ...]]]:
    return rows.column_names, list(zip(*(values(column) for column in rows.columns), strict=True))
