"""A process that changes a table and may be killed meanwhile: `killed.py TABLE VERB`.

Says "begun" when it begins, after all modules are imported and the table is open, and "done" at its end.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Final

import numpy as np
import pyarrow as pa

import lance_sql
from lance_sql import Dataset

NUM_ROWS: Final = 300_000


def source() -> pa.Table:
    """Half of the rows are in the table, half are new."""
    keys = np.arange(0, 2 * NUM_ROWS, 3)
    return pa.table({"k": keys, "v": keys + 1, "s": pa.array(keys % 1000).cast(pa.string())})


VERBS: Final[dict[str, Callable[[Dataset], Dataset]]] = {
    "compact": lambda table: table.maintenance.compact(),
    "merge": lambda table: table.merge(source(), on="k"),
    "add a column": lambda table: table.add_columns({"w": "v * 2 + k"}),
}


def main(path: str, verb: str) -> None:
    table = lance_sql.open(path)
    # whatever is imported late is imported now
    table.scan(filter="k = 1 AND v * 2 > 0").to_table()
    print("begun", flush=True)
    VERBS[verb](table)
    print("done", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
