"""Statements on indices, in the syntax of Postgres, MySQL, DuckDB and lance-spark.

CREATE INDEX [name] ON t [USING btree] (column) [WITH (..)]    Dataset.indices.create
DROP INDEX name ON t                                           Dataset.indices.drop
REINDEX t, REINDEX name ON t, ALTER INDEX name ON t OPTIMIZE   Dataset.indices.optimize

The readers are like those of `upkeep`.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Final

from lance_sql.dataset import Dataset
from lance_sql.errors import InvalidArgument, UnsupportedFeature
from lance_sql.handles.indices import Indices
from lance_sql.one_sql.engines import Engine
from lance_sql.one_sql.token_reader import TokenReader
from lance_sql.one_sql.upkeep import Upkeep, flag, renamed
from lance_sql.one_sql.writing_statements import Change
from lance_sql.table import address

_OFFICIAL: Final = {
    "metric_type": "metric",
    "distancetype": "metric",
    "numpartitions": "num_partitions",
    "numsubvectors": "num_sub_vectors",
    "numbits": "num_bits",
}
"""Options that have other names in DuckDB's Lance extension and in lance-spark."""

_OF_OPTIMIZE_INDEX: Final = {"retrain": "rebuild"}
"""Options of OPTIMIZE INDEX by their names in SQL and in Python."""


def create_index(read: TokenReader) -> Change | None:
    if_not_exists = read.accept("IF", "NOT", "EXISTS")
    name = None if read.next_words(1) == ("ON",) else read.name("the name of an index")
    read.expect("ON")
    read.accept("TABLE")
    path = read.table().path
    if path is None:
        return None
    return _index(read, address.of_newest(path), name, if_not_exists, replace="REPLACE" in read.spelling)


def create_index_of(read: TokenReader, path: str, *, replace: bool) -> Change:
    """Parses the rest of ALTER TABLE path CREATE INDEX, of lance-spark."""
    if_not_exists = read.accept("IF", "NOT", "EXISTS")
    name = None if read.next_words(1) in (("USING",), ("(",)) else read.name("the name of an index")
    return _index(read, path, name, if_not_exists, replace=replace)


def _index(read: TokenReader, path: str, name: str | None, if_not_exists: bool, *, replace: bool) -> Change:
    kind = _using(read)
    read.expect("(")
    column = read.name("a column")
    if read.next_words(1) in (("ASC",), ("DESC",), (",",)):
        raise UnsupportedFeature("CREATE INDEX supports one column, without an order")
    read.expect(")")
    kind = kind or _using(read) or "btree"
    options = read.options() if read.accept("WITH") else {}
    read.end()
    train = flag(options, "train", True)
    if (segments := options.pop("num_segments", 1)) != 1:
        raise UnsupportedFeature(f"CREATE INDEX .. WITH (num_segments = {segments}): an index is built as one segment")
    for option in options:
        if option in inspect.signature(Indices.create).parameters:
            raise InvalidArgument(f"CREATE INDEX .. WITH has no option {option!r}")
    chosen = {_OFFICIAL.get(option, option): value for option, value in options.items()}
    index_name = name or f"{column}_idx"

    def work(dataset: Dataset, engine: Engine) -> Dataset | None:
        if if_not_exists and index_name in dataset.indices:
            return None
        return dataset.indices.create(column, kind, name=name, replace=replace, train=train, **chosen)

    def counts(before: Dataset, after: Dataset) -> Mapping[str, int]:
        return {"fragments_indexed": after.indices[index_name].num_fragments}

    return Upkeep(path, work, counts=counts)


def _using(read: TokenReader) -> str | None:
    return read.name("a kind of index").lower() if read.accept("USING") else None


def drop_index(read: TokenReader) -> Change | None:
    if_exists = read.accept("IF", "EXISTS")
    name = read.name("the name of an index")
    if read.is_at_end:
        # DuckDB's own has no table
        return None
    read.expect("ON")
    path = read.own_table("DROP INDEX .. ON")
    read.end()
    return _without_index(address.of_newest(path), name, if_exists)


def drop_index_of(read: TokenReader, path: str) -> Change:
    """Parses the rest of ALTER TABLE path DROP INDEX, of lance-spark."""
    if_exists = read.accept("IF", "EXISTS")
    return _without_index(path, read.name("the name of an index"), if_exists)


def _without_index(path: str, name: str, if_exists: bool) -> Change:
    def work(dataset: Dataset, engine: Engine) -> Dataset | None:
        if if_exists and name not in dataset.indices:
            return None
        return dataset.indices.drop(name)

    return Upkeep(path, work, f"drop the index {name}")


def reindex(read: TokenReader) -> Change | None:
    """Parses REINDEX [TABLE] path, and REINDEX name ON path [RETRAIN]."""
    read.accept("TABLE")
    name = None
    if read.next_words(2)[1:] == ("ON",):
        name = read.name("the name of an index")
        read.expect("ON")
    path = None if read.is_at_end else read.table().path
    if path is None:
        return None
    rebuild = name is not None and read.accept("RETRAIN")
    read.end()
    return Upkeep(address.of_newest(path), lambda dataset, engine: dataset.indices.optimize(name, rebuild=rebuild))


def optimize_index_of(read: TokenReader, path: str) -> Change:
    """Parses the rest of ALTER TABLE path OPTIMIZE INDEX, of lance-spark."""
    name = read.name("the name of an index")
    options = renamed(read.options(), _OF_OPTIMIZE_INDEX, "OPTIMIZE INDEX") if read.accept("WITH") else {}
    return Upkeep(path, lambda dataset, engine: dataset.indices.optimize(name, **options))


def alter_index(read: TokenReader) -> Change | None:
    """Parses ALTER INDEX name ON path OPTIMIZE."""
    name = read.name("the name of an index")
    if not read.accept("ON"):
        # of an engine, where an index is named without its table
        return None
    path = read.own_table("ALTER INDEX .. ON")
    read.expect("OPTIMIZE")
    read.end()
    return Upkeep(address.of_newest(path), lambda dataset, engine: dataset.indices.optimize(name))
