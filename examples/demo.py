"""The history of a Lance table in SQL: `make demo` runs this.

    python examples/demo.py               writes a table step by step, and shows what each step changed
    python examples/demo.py TABLE [SINCE]    shows the changes of your own table after version SINCE

The default of SINCE is the version before the newest one.
"""

from __future__ import annotations

import shutil
import sys
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa

import lance_sql

HERE = Path(__file__).parent
NUM_ROWS = 5
NUM_COLUMNS = 4

HISTORY = """\
SELECT version, operation, rows, inserted, updated, deleted FROM lance_versions({table})"""

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
ORDER BY _rowid LIMIT {limit}"""

UPDATED = """\
SELECT {columns}, _row_created_at_version, _row_last_updated_at_version
FROM lance_scan({table})
WHERE _row_last_updated_at_version > {since} AND _row_created_at_version <= {since}
ORDER BY _rowid LIMIT {limit}"""

DELETED = """\
SELECT {columns}, _commit_version
FROM lance_changes({table}, since := {since}, mode := 'net')
WHERE _change_type = 'delete'
ORDER BY _rowid LIMIT {limit}"""

NEXT = """\
Next steps:

  your own table    .venv/bin/python examples/demo.py path/to/your.lance
  from Python       lance_sql.connect().sql("SELECT * FROM lance_scan('path/to/your.lance')")
  on a terminal     .venv/bin/lance-sql history {table}
  more examples     README.md
  the tests         make test
"""


def main(table: str | None, since: int | None) -> None:
    connection = lance_sql.connect()
    if table is None:
        table = _as_typed(HERE / "demo.lance")
        _write_history(table, connection)
        since = 2
    _show_changes(table, since, connection)
    print(NEXT.format(table=table))


def orders(first: int, last: int) -> pa.Table:
    """Returns the orders with the ids first to last."""
    ids = range(first, last + 1)
    start = datetime(2026, 1, 1, 8)
    return pa.table(
        {
            "id": pa.array(ids, pa.int64()),
            "customer": [("Ada Ltd", "Borgo SpA", "Cerva SA", "Dorn GmbH")[i * 7 % 4] for i in ids],
            "status": [("open", "paid", "shipped", "cancelled", "paid")[i % 5] for i in ids],
            "amount": pa.array([Decimal(i * 7919 % 99_991) / 100 for i in ids], pa.decimal128(10, 2)),
            "created": pa.array([start + timedelta(minutes=97 * i) for i in ids], pa.timestamp("us")),
        }
    )


def _write_history(path: str, connection: Any) -> None:
    """Writes the table step by step, and shows its history."""
    shutil.rmtree(path, ignore_errors=True)
    print(f"Writing {path}:\n")

    def step(what: str, made: lance_sql.Dataset) -> lance_sql.Dataset:
        print(f"  version {made.version}  {what}")
        return made

    table = step("300 orders are written", lance_sql.write(orders(1, 300), path))
    table = step("100 orders are appended", lance_sql.write(orders(301, 400), path, mode="append"))
    table = step("cancelled orders are deleted", table.delete("status = 'cancelled'"))
    table = step("open orders become cheaper", table.update({"amount": "amount * 0.9"}, "status = 'open'"))
    table = step("short fragments are rewritten (one more version reserves their ids)", table.maintenance.compact())
    changes = orders(391, 410).set_column(2, "status", pa.array(["shipped"] * 20))
    table = step("20 orders are merged by id: known ones are updated, others inserted", table.merge(changes, on="id"))
    table.tags.create("audited", table.version)
    print("             ... and is tagged as 'audited'")
    table = step("a column is added", table.add_columns([pa.field("country", pa.string())]))
    table = step("4 orders are deleted by mistake", table.delete("id <= 5"))
    table = step("the version before is restored", table.restore(table.version - 1))

    print()
    _show(connection, "The history of the table", HISTORY.format(table=_quoted(path, "'")))


def _show_changes(table: str, since: int | None, connection: Any) -> None:
    dataset = lance_sql.open(table)
    if since is None:
        since = max(0, dataset.version - 1)
    plan = dataset.scan(filter=f"_row_created_at_version > {since}").explain()
    print(f"{table} is at version {dataset.version} and has {dataset.count_rows()} rows.\n")
    values = {
        "table": _quoted(table, "'"),
        "since": since,
        "columns": ", ".join(_quoted(name, '"') for name in dataset.schema.names[:NUM_COLUMNS]),
        "limit": NUM_ROWS,
    }
    _show(connection, f"Changes since version {since}", COUNTS.format_map(values))
    _show(connection, f"Rows inserted since version {since}, the first {NUM_ROWS}", INSERTED.format_map(values))
    _show(connection, f"Rows updated since version {since}, the first {NUM_ROWS}", UPDATED.format_map(values))
    if since > 0:
        _show(connection, f"Rows deleted since version {since}, the first {NUM_ROWS}", DELETED.format_map(values))
    print(f"What the query for inserted rows reads:\n\n{_indented(plan)}\n")


def _show(connection: Any, title: str, query: str) -> None:
    result = connection.execute(query)
    names = [column[0] for column in result.description]
    rows = [["NULL" if value is None else str(value) for value in row] for row in result.fetchall()]
    print(f"{title}:\n\n{_indented(query)}\n\n{_indented(_grid(names, rows))}\n")


def _grid(names: list[str], rows: list[list[str]]) -> str:
    """Formats rows below their column names."""
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
        main(arguments[0] if arguments else None, int(arguments[1]) if len(arguments) > 1 else None)
    except lance_sql.LanceError as error:
        sys.exit(f"Error: {error}")
