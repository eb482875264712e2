"""Writes examples/orders.lance: a small table with a history, made by pylance.

    python examples/make_orders.py [PATH]

    version 1   create          300 orders
    version 2   append          100 orders
    version 3   add column      `country`; the writer marks every row as updated
    version 4   update          open orders of the first week are paid
    version 5   delete          cancelled orders of version 1               tag audited
    version 6   merge insert    12 orders are shipped, 12 are new
    version 7   compaction      reserves the ids of fragments
    version 8   compaction      the fragments become one, no row changes
    version 9   append          8 orders                                    tag published

Rows are the same in each run; file names and commit times are not.
"""

from __future__ import annotations

import shutil
import sys
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path
from time import sleep

import lance
import pyarrow as pa

SCHEMA = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False),
        pa.field("customer", pa.string(), nullable=False),
        pa.field("status", pa.string(), nullable=False),
        pa.field("amount", pa.decimal128(10, 2)),
        pa.field("created", pa.timestamp("us"), nullable=False),
        pa.field("tags", pa.list_(pa.string())),
    ]
)

_CUSTOMERS = ("Ada Ltd", "Borgo SpA", "Cerva SA", "Dorn GmbH", "Elm Inc")
_COUNTRIES = ("GB", "IT", "BE", "DE", "US")
_STATUSES = ("open", "paid", "shipped", "open", "cancelled", "paid")
_TAGS = ("gift", "express", "fragile", "repeat")
_START = datetime(2026, 1, 1, 8)
_FIRST_WEEK = "2026-01-08 00:00:00"


def orders(first: int, last: int) -> pa.Table:
    """The orders with the ids first to last, as they come in."""
    ids = range(first, last + 1)
    columns = {
        "id": ids,
        "customer": [_CUSTOMERS[(i * 7 + i // 11) % len(_CUSTOMERS)] for i in ids],
        "status": [_STATUSES[i % len(_STATUSES)] for i in ids],
        "amount": [None if i % 29 == 0 else Decimal(i * 7919 % 99_991) / 100 for i in ids],
        "created": [_START + timedelta(minutes=97 * i) for i in ids],
        "tags": [None if i % 10 == 9 else [t for bit, t in enumerate(_TAGS) if i * 5 >> bit & 1] for i in ids],
    }
    return pa.table({name: pa.array(values, SCHEMA.field(name).type) for name, values in columns.items()}, SCHEMA)


def shipped(table: pa.Table) -> pa.Table:
    """The same orders, shipped."""
    return table.set_column(2, SCHEMA.field("status"), pa.array(["shipped"] * table.num_rows))


def with_country(table: pa.Table) -> pa.Table:
    """The orders with the column that version 3 adds."""
    country = dict(zip(_CUSTOMERS, _COUNTRIES, strict=True))
    return table.append_column("country", pa.array([country[name.as_py()] for name in table["customer"]]))


def make(path: Path) -> None:
    """Writes the table, in place of what is there."""
    shutil.rmtree(path, ignore_errors=True)
    table = lance.write_dataset(orders(1, 300), path, enable_stable_row_ids=True)
    _pause()
    table = lance.write_dataset(orders(301, 400), path, mode="append")
    _pause()
    table.add_columns(with_country(table.to_table()).select(["country"]).to_reader())
    _pause()
    table.update({"status": "'paid'"}, where=f"status = 'open' AND created < TIMESTAMP '{_FIRST_WEEK}'")
    _pause()
    table.delete("status = 'cancelled' AND id <= 300")
    table.tags.create("audited", table.version)
    _pause()
    merged = with_country(pa.concat_tables([shipped(orders(361, 372)), orders(401, 412)]))
    table.merge_insert("id").when_matched_update_all().when_not_matched_insert_all().execute(merged)
    _pause()
    table.optimize.compact_files()
    _pause()
    table = lance.write_dataset(with_country(orders(413, 420)), path, mode="append")
    table.tags.create("published", table.version)


def _pause() -> None:
    """Commits in different seconds can be told apart by a time written by hand."""
    sleep(1.5)


if __name__ == "__main__":
    make(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).with_name("orders.lance"))
