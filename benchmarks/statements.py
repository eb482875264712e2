"""The cost of SQL that writes, on a million rows: each statement in a fresh copy of the table, the best of five runs.

python -m benchmarks.statements
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
import time
from pathlib import Path
from typing import Final

import lance_sql

TABLE: Final = """
    SELECT i AS id, (i % 97)::INTEGER AS g, 'name ' || (i % 1000) AS s, i / 7.0::DOUBLE AS f,
        (i / 100)::DECIMAL(12, 2) AS d, TIMESTAMPTZ '2024-01-01 00:00:00+00' + to_seconds(i) AS t
    FROM range({rows}) AS r(i)
"""
VALUES: Final = ", ".join(f"({i}, 2, 'x', 4.35, 1.00, TIMESTAMPTZ '2024-01-01 00:00:00+00')" for i in range(1000))
SOURCE: Final = "(SELECT id + 900000 AS id, s FROM '{source}' WHERE id < 200000) AS h"
INSERTS: Final = "WHEN NOT MATCHED THEN INSERT (id, s) VALUES (h.id, h.s)"
STATEMENTS: Final = {
    "update one row": "UPDATE '{path}' SET f = 4.35 WHERE id = 77",
    "update 100,000 rows": "UPDATE '{path}' SET f = f * 2 WHERE id < 100000",
    "update all rows": "UPDATE '{path}' SET f = f * 2, s = upper(s) WHERE true",
    "delete one row": "DELETE FROM '{path}' WHERE id = 77",
    "delete 100,000 rows": "DELETE FROM '{path}' WHERE id < 100000",
    "delete by id % 10": "DELETE FROM '{path}' WHERE id % 10 = 3",
    "delete by LIKE": "DELETE FROM '{path}' WHERE s LIKE '%99'",
    "insert a query": "INSERT INTO '{path}' FROM '{source}'",
    "insert 1,000 VALUES": f"INSERT INTO '{{path}}' VALUES {VALUES}",
    "merge": f"MERGE INTO '{{path}}' AS t USING {SOURCE} ON t.id = h.id WHEN MATCHED THEN UPDATE SET s = h.s {INSERTS}",
    "merge, with a function": f"MERGE INTO '{{path}}' AS t USING {SOURCE} ON t.id = h.id"
    f" WHEN MATCHED AND lower(h.s) <> 'q' THEN UPDATE SET s = h.s {INSERTS}",
}


def main() -> None:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--rows", type=int, default=1_000_000)
    rows = arguments.parse_args().rows
    connection = lance_sql.connect()
    with tempfile.TemporaryDirectory() as folder:
        source, path = Path(folder, "source.lance"), Path(folder, "t.lance")
        lance_sql.write(connection.sql(TABLE.format(rows=rows)), source)
        for name, text in STATEMENTS.items():
            best = float("inf")
            for _ in range(5):
                shutil.rmtree(path, ignore_errors=True)
                shutil.copytree(source, path)
                started = time.process_time()
                lance_sql.sql(text.format(path=path, source=source), connection=connection)
                best = min(best, time.process_time() - started)
            print(f"{name:<24}{best * 1000:6.0f} ms of CPU")


if __name__ == "__main__":
    main()
