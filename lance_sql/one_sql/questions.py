"""Statements that return metadata of a table, or list tables.

DESCRIBE HISTORY t [LIMIT 5]         lance_versions, the newest first
DESCRIBE DETAIL t                    one row: path, version, rows, files, bytes, config
SHOW INDEXES FROM t                  lance_indices
SHOW COLUMNS IN t                    lance_columns
SHOW TBLPROPERTIES t                 the config of a table
SHOW CREATE TABLE t                  the statement that would create it, without rows
SHOW TABLES IN 'folder'              the tables of a folder, or of an attached catalog
DESCRIBE t, SUMMARIZE t              the engine's own, if it has them
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import pyarrow as pa

from lance_sql.catalogs import catalog, metadata_tables
from lance_sql.dataset import Dataset
from lance_sql.errors import UnsupportedFeature
from lance_sql.format.schema import primary_key
from lance_sql.one_sql.engines import Engine
from lance_sql.one_sql.tasks import Answer, Task
from lance_sql.one_sql.token_reader import TokenReader
from lance_sql.providers.snapshots import open_version
from lance_sql.providers.sources import Source
from lance_sql.values.sql_text import identifier, literal


def history(read: TokenReader) -> Task:
    """Reads DESCRIBE HISTORY."""
    path = read.own_table("DESCRIBE HISTORY")
    limit = None
    if read.accept("LIMIT"):
        limit = int(read.value("a number")) if read.next_words(1)[0].isdecimal() else None
        if limit is None:
            raise read.surprised("a number")
    read.end()
    return Answer(lambda engine: _newest_first(metadata_tables.versions(open_version(path), limit)))


def detail(read: TokenReader) -> Task:
    """Reads DESCRIBE DETAIL."""
    path = read.own_table("DESCRIBE DETAIL")
    read.end()
    return Answer(lambda engine: _detail(open_version(path)))


def describe(read: TokenReader, *, describes: bool = False) -> Task | None:
    """Reads DESCRIBE of a table; returns None for a table of the engine, and for a query.

    describes: the engine has DESCRIBE for every table
    """
    is_plain = True
    while read.accept_one("EXTENDED", "FORMATTED"):
        is_plain = False
    if is_plain and describes:
        return None
    if read.is_at_end or read.next_words(1)[0] in ("SELECT", "FROM", "WITH", "("):
        return None
    path = read.table().path
    if path is None or not read.is_at_end:
        return None
    return Answer(lambda engine: metadata_tables.columns(open_version(path)))


def show_create_table(read: TokenReader) -> Task | None:
    """Reads SHOW CREATE TABLE."""
    table = read.table().path
    read.end()
    return None if table is None else Answer(lambda engine: _statement(open_version(table), table, engine))


def show(read: TokenReader) -> Task | None:
    """Reads SHOW of a kind of metadata."""
    word = read.spelling[1]
    has_preposition = read.accept_one("FROM", "IN", "ON", "FOR") is not None
    if not has_preposition and word not in ("TBLPROPERTIES", "HISTORY"):
        return None
    path = read.own_table(f"SHOW {word}")
    read.end()
    answer = _SHOWN[word]
    return Answer(lambda engine: answer(open_version(path)))


def show_tables(read: TokenReader) -> Task | None:
    """Reads SHOW TABLES IN; returns None for a schema of the engine."""
    start = read.next_words(1)
    folder = read.value("a folder in quotes")
    return Answer(lambda engine: _listed(folder)) if start == ("",) and read.is_at_end else None


def _listed(folder: str) -> pa.Table:
    tables = catalog(folder)
    entries = [tables.describe(name) for name in tables.walk()]
    names, paths = [".".join(entry.name) for entry in entries], [entry.path for entry in entries]
    return pa.table({"name": pa.array(names, pa.string()), "path": pa.array(paths, pa.string())})


def _newest_first(versions: pa.Table) -> pa.Table:
    return versions.sort_by([("version", "descending")])


def _config(dataset: Dataset) -> pa.Table:
    config = dict(sorted(dataset.snapshot.manifest.config.items()))
    return pa.table({"key": pa.array(list(config), pa.string()), "value": pa.array(list(config.values()), pa.string())})


def _detail(dataset: Dataset) -> pa.Table:
    files = metadata_tables.files(dataset)
    sizes = [size for size in files["bytes"].to_pylist() if size is not None]
    row = {
        "format": "lance",
        "path": dataset.uri,
        "version": dataset.version,
        "branch": dataset.branch,
        "rows": dataset.count_rows(),
        "fragments": len(dataset.snapshot.manifest.fragments),
        "files": files.num_rows,
        "bytes": sum(sizes),
        "primary_key": list(primary_key.primary_key(dataset.snapshot.manifest.schema)),
        "comment": dataset.snapshot.manifest.comment,
    }
    return pa.Table.from_pylist([row], schema=_DETAIL)


def _statement(dataset: Dataset, path: str, engine: Engine) -> pa.Table:
    types = engine.column_types(Source(dataset))
    if not types:
        raise UnsupportedFeature(
            f"{engine.title} does not support SHOW CREATE TABLE of a Lance table: use DESCRIBE '{path}'"
        )
    lines = [
        f"  {identifier(field.name)} {types[field.name]}" + ("" if field.nullable else " NOT NULL")
        for field in dataset.schema
    ]
    key = primary_key.primary_key(dataset.snapshot.manifest.schema)
    if key:
        lines.append(f"  PRIMARY KEY ({', '.join(key)})")
    return pa.table({"statement": [f"CREATE TABLE {literal(path)} (\n" + ",\n".join(lines) + "\n)"]})


_DETAIL: Final = pa.schema(
    {
        "format": pa.string(),
        "path": pa.string(),
        "version": pa.uint64(),
        "branch": pa.string(),
        "rows": pa.int64(),
        "fragments": pa.int64(),
        "files": pa.int64(),
        "bytes": pa.int64(),
        "primary_key": pa.list_(pa.string()),
        "comment": pa.string(),
    }
)
_SHOWN: Final[dict[str, Callable[[Dataset], pa.Table]]] = {
    "INDEXES": metadata_tables.indices,
    "INDEX": metadata_tables.indices,
    "KEYS": metadata_tables.indices,
    "COLUMNS": metadata_tables.columns,
    "TBLPROPERTIES": _config,
    "HISTORY": lambda dataset: _newest_first(metadata_tables.versions(dataset)),
    "TAG": metadata_tables.tags,
    "TAGS": metadata_tables.tags,
    "BRANCH": metadata_tables.branches,
    "BRANCHES": metadata_tables.branches,
}
