"""Verbs of a table, as this library and pylance spell them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import lance
import numpy as np
import pyarrow as pa

import lance_sql

from .operation_tables import rows, vectors

NEW = 10**10
"""The first of ids that no table has."""


def everything(path: Path, _: Any) -> pa.Table:
    """The rows that a verb has left."""
    return lance.dataset(path).to_table()


def row_ids(path: Path, _: Any) -> pa.Table:
    """The ids and the rows that a verb has left."""
    return lance.dataset(path).to_table(columns=["id", "amount"], with_row_id=True)


def result(_: Path, returned: Any) -> Any:
    """Result of a verb."""
    return returned


def count(path: Path, _: Any) -> int:
    """Number of rows after a verb."""
    return int(lance.dataset(path).count_rows())


def names(path: Path, _: Any) -> list[str]:
    """The columns that a verb has left."""
    return list(lance.dataset(path).schema.names)


@dataclass(frozen=True)
class Verb:
    """table: a name in `TABLES`
    ours, pylance: with an open handle
    answer: the value to compare on both sides, from the table's path and the result of the verb
    changes: whether it makes a version
    """

    name: str
    table: str
    ours: Callable[[Any], Any]
    pylance: Callable[[Any], Any]
    answer: Callable[[Path, Any], Any] = everything
    changes: bool = True


def _append(source: pa.Table) -> dict[str, Callable[[Any], Any]]:
    return {
        "ours": lambda table: lance_sql.write(source, table.uri, mode="append"),
        "pylance": lambda table: lance.write_dataset(source, table, mode="append"),
    }


def _write(source: pa.Table) -> dict[str, Callable[[Any], Any]]:
    return {
        "ours": lambda table: lance_sql.write(source, table.uri, mode="overwrite"),
        "pylance": lambda table: lance.write_dataset(source, table.uri, mode="overwrite"),
    }


def _update(values: dict[str, str], where: str | None) -> dict[str, Callable[[Any], Any]]:
    return {
        "ours": lambda table: table.update(values, where),
        "pylance": lambda table: table.update(values, where),
    }


def _delete(where: str) -> dict[str, Callable[[Any], Any]]:
    return {"ours": lambda table: table.delete(where), "pylance": lambda table: table.delete(where)}


def _upsert(source: Callable[[Any], pa.Table]) -> dict[str, Callable[[Any], Any]]:
    def theirs(table: Any) -> None:
        given = source(table)
        table.merge_insert("id").when_matched_update_all().when_not_matched_insert_all().execute(given)

    return {"ours": lambda table: table.merge(source(table), on="id"), "pylance": theirs}


def _half_matched(number: int) -> Callable[[Any], pa.Table]:
    """Rows of which one half is in the table, all over it, and the other half is new."""
    made: dict[int, pa.Table] = {}

    def source(table: Any) -> pa.Table:
        total = table.count_rows()
        if total not in made:
            old = np.random.default_rng(5).choice(total, -(-number // 2), replace=False)
            ids = np.concatenate((old, np.arange(NEW, NEW + number // 2)))
            made[total] = rows(NEW, len(ids)).set_column(0, "id", pa.array(ids))
        return made[total]

    return source


def _merge_part(table: Any) -> pa.Table:
    return _half_matched(100_000)(table).select(["id", "g", "amount"])


def _theirs_part(table: Any) -> None:
    table.merge_insert("id").when_matched_update_all().execute(_merge_part(table))


def _theirs_unmatched(table: Any) -> None:
    builder = table.merge_insert("id").when_matched_update_all().when_not_matched_insert_all()
    builder.when_not_matched_by_source_delete("g < 10").execute(_half_matched(1000)(table))


def _index(column: str, ours: str, theirs: str) -> dict[str, Any]:
    return {
        "ours": lambda table: table.indices.create(column, ours),
        "pylance": lambda table: table.create_scalar_index(column, theirs),
        "answer": count,
    }


def _read(columns: list[str] | None, filter: str) -> dict[str, Any]:
    return {
        "ours": lambda table: table.scan(columns, filter).to_table(),
        "pylance": lambda table: table.to_table(columns, filter=filter),
        "answer": result,
        "changes": False,
    }


def _take(number: int, columns: list[str] | None = None) -> dict[str, Any]:
    known: dict[str, pa.ChunkedArray] = {}

    def wanted(table: Any) -> pa.Array:
        # without stable row ids these are addresses
        path = str(table.uri).rpartition("/")[0]
        if path not in known:
            known[path] = lance.dataset(table.uri).to_table(columns=[], with_row_id=True)["_rowid"]
        chosen = np.random.default_rng(number).choice(len(known[path]), number, replace=False)
        return known[path].take(pa.array(chosen)).combine_chunks()

    return {
        "ours": lambda table: table.take(wanted(table), columns),
        "pylance": lambda table: table._take_rows(wanted(table), columns),
        "answer": result,
        "changes": False,
    }


def _cleanup_theirs(table: Any) -> None:
    table.cleanup_old_versions(timedelta(0), delete_unverified=False)


def _versions(path: Path, _: Any) -> list[int]:
    return [each["version"] for each in lance.dataset(path).versions()]


VERBS: tuple[Verb, ...] = (
    Verb("append 10 rows", "rows", **_append(rows(NEW, 10))),
    Verb("append 100,000 rows", "rows", **_append(rows(NEW, 100_000))),
    Verb("append 10,000 rows with vectors", "vectors", **_append(vectors(NEW, 10_000))),
    Verb("write 1,000,000 rows", "rows", **_write(rows(0, 1_000_000))),
    Verb("write 200,000 rows with vectors", "vectors", **_write(vectors(0, 200_000))),
    Verb("update 0.01 %", "rows", **_update({"amount": "amount + 1"}, "amount < 0.1"), answer=row_ids),
    Verb("update 1 %", "rows", **_update({"amount": "amount + 1"}, "g < 10"), answer=row_ids),
    Verb("update 1 % by an expression", "rows", **_update({"amount": "amount + 1"}, "id % 101 = 5"), answer=row_ids),
    Verb("update 50 %", "rows", **_update({"amount": "amount + 1"}, "g < 500"), answer=row_ids),
    Verb("update 1 % with vectors", "vectors", **_update({"g": "g + 1"}, "g < 10")),
    Verb("delete 1 row", "rows", **_delete("id = 1234567"), answer=row_ids),
    Verb("delete 1 %", "rows", **_delete("g < 10"), answer=row_ids),
    Verb("delete 1 % by an expression", "rows", **_delete("id % 101 = 5"), answer=row_ids),
    Verb("delete 10 %", "rows", **_delete("g < 100"), answer=row_ids),
    Verb("delete 90 %", "rows", **_delete("g >= 100"), answer=row_ids),
    Verb("merge 1 row", "rows", **_upsert(_half_matched(1))),
    Verb("merge 1,000 rows", "rows", **_upsert(_half_matched(1000))),
    Verb("merge 100,000 rows", "rows", **_upsert(_half_matched(100_000))),
    Verb("merge 1,000,000 rows", "rows", **_upsert(_half_matched(1_000_000))),
    Verb(
        "merge 100,000 rows, half of the columns",
        "rows",
        lambda table: table.merge(_merge_part(table), on="id", when_not_matched="ignore"),
        _theirs_part,
    ),
    Verb(
        "merge 1,000 rows, delete by source",
        "rows",
        lambda table: table.merge(_half_matched(1000)(table), on="id", delete_unmatched="g < 10"),
        _theirs_unmatched,
    ),
    Verb("merge 1,000 rows, BTREE", "indexed", **_upsert(_half_matched(1000))),
    Verb(
        "compact 100 fragments",
        "fragments",
        lambda table: table.maintenance.compact(),
        lambda table: table.optimize.compact_files(),
    ),
    Verb(
        "compact deleted rows",
        "deleted",
        lambda table: table.maintenance.compact(),
        lambda table: table.optimize.compact_files(),
    ),
    Verb(
        "compact with indices",
        "indexed",
        lambda table: table.maintenance.compact(),
        lambda table: table.optimize.compact_files(),
    ),
    Verb(
        "add a column by expression",
        "rows",
        lambda table: table.add_columns({"x": "amount * 2 + g"}),
        lambda table: table.add_columns({"x": "amount * 2 + g"}),
    ),
    Verb(
        "change the type of a column",
        "rows",
        lambda table: table.alter_column("g", type=pa.int64()),
        lambda table: table.alter_columns({"path": "g", "data_type": pa.int64()}),
    ),
    Verb(
        "drop a column", "rows", lambda table: table.drop_columns("g"), lambda table: table.drop_columns(["g"]), names
    ),
    Verb(
        "rename a column",
        "rows",
        lambda table: table.rename_columns({"g": "group"}),
        lambda table: table.alter_columns({"path": "g", "name": "group"}),
        names,
    ),
    Verb("index BTREE", "rows", **_index("id", "btree", "BTREE")),
    Verb("index BTREE of text", "rows", **_index("name", "btree", "BTREE")),
    Verb("index BITMAP", "rows", **_index("status", "bitmap", "BITMAP")),
    Verb("index ZONEMAP", "rows", **_index("ts", "zonemap", "ZONEMAP")),
    Verb("index BLOOMFILTER", "rows", **_index("id", "bloomfilter", "BLOOMFILTER")),
    Verb(
        "cleanup of 40 versions",
        "versions",
        lambda table: table.maintenance.cleanup(older_than=timedelta(0)),
        _cleanup_theirs,
        _versions,
    ),
    Verb(
        "restore",
        "versions",
        lambda table: lance_sql.open(table.uri, version=table.version - 1).restore(),
        lambda table: lance.dataset(table.uri, version=table.version - 1).restore(),
        count,
    ),
    Verb(
        "tag",
        "versions",
        lambda table: table.tags.create("audited"),
        lambda table: table.tags.create("audited", table.version),
        count,
    ),
    Verb(
        "versions",
        "versions",
        lambda table: [each.version for each in table.versions()],
        lambda table: [each["version"] for each in table.versions()],
        result,
        changes=False,
    ),
    Verb("filter", "rows", **_read(["id", "amount", "status", "name"], "amount < 20")),
    Verb("filter after 40 updates", "updated", **_read(["id", "amount", "status", "name"], "amount < 20")),
    Verb("one row of large binaries", "binaries", **_read(None, "id = 77")),
    *(Verb(f"take {number:,} rows", "rows", **_take(number)) for number in (10, 1000, 100_000)),
)
