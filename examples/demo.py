"""What changed in a Lance table, asked in SQL: `make demo` runs this.

    python examples/demo.py [TABLE [SINCE]]

SINCE is the version after which changes are shown; the default is version 5, or the one before the latest.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import lance_sql

ORDERS = Path(__file__).with_name("orders.lance")
NUM_ROWS = 5
NUM_COLUMNS = 4

COUNTS = """\
SELECT CASE WHEN _row_created_at_version > {since} THEN 'inserted' ELSE 'updated' END AS change,
       _row_last_updated_at_version AS in_version, count(*) AS num_rows
FROM lance_scan({table})
WHERE _row_last_updated_at_version > {since}
GROUP BY ALL ORDER BY ALL"""

INSERTED = """\
SELECT {columns}, _row_created_at_version
FROM lance_scan({table})
WHERE _row_created_at_version > {since}
LIMIT {limit}"""

UPDATED = """\
SELECT {columns}, _row_created_at_version, _row_last_updated_at_version
FROM lance_scan({table})
WHERE _row_last_updated_at_version > {since} AND _row_created_at_version <= {since}
LIMIT {limit}"""

NEXT = """\
What to do next:

  your own table    .venv/bin/python examples/demo.py path/to/your.lance
  from Python       lance_sql.connect().sql("SELECT * FROM lance_scan('path/to/your.lance')")
  more examples     README.md
  the tests         make test
"""


def main(table: str, since: int | None) -> None:
    dataset = lance_sql.open(table)
    if since is None:
        since = max(0, min(5, dataset.version - 1))
    plan = dataset.scan(filter=f"_row_created_at_version > {since}").explain()
    print(f"{table} is at version {dataset.version} and has {dataset.count_rows()} rows.\n")

    connection = lance_sql.connect()
    values = {
        "table": _quoted(table, "'"),
        "since": since,
        "columns": ", ".join(_quoted(name, '"') for name in dataset.schema.names[:NUM_COLUMNS]),
        "limit": NUM_ROWS,
    }
    _show(connection, f"What has changed since version {since}", COUNTS.format_map(values))
    _show(connection, f"Rows inserted since version {since}, the first {NUM_ROWS}", INSERTED.format_map(values))
    _show(connection, f"Rows updated since version {since}, the first {NUM_ROWS}", UPDATED.format_map(values))
    print(f"What the question for inserted rows reads of the table:\n\n{_indented(plan)}\n")
    print(NEXT)


def _show(connection: Any, title: str, query: str) -> None:
    result = connection.execute(query)
    names = [column[0] for column in result.description]
    rows = [[str(value) for value in row] for row in result.fetchall()]
    print(f"{title}:\n\n{_indented(query)}\n\n{_indented(_grid(names, rows))}\n")


def _grid(names: list[str], rows: list[list[str]]) -> str:
    """The rows under their names, in columns of one width each."""
    widths = [max(len(line[index]) for line in [names, *rows]) for index in range(len(names))]
    lines = [names, ["-" * width for width in widths], *rows]
    return "\n".join("  ".join(map(str.ljust, line, widths)).rstrip() for line in lines)


def _indented(text: str) -> str:
    return "\n".join("  " + line for line in text.splitlines())


def _quoted(text: str, mark: str) -> str:
    return text if mark == '"' and text.isidentifier() else mark + text.replace(mark, mark * 2) + mark


def _as_typed(path: Path) -> str:
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)


if __name__ == "__main__":
    arguments = sys.argv[1:]
    try:
        main(arguments[0] if arguments else _as_typed(ORDERS), int(arguments[1]) if len(arguments) > 1 else None)
    except lance_sql.LanceError as error:
        sys.exit(f"Error: {error}")
