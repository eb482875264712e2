"""Names of other libraries that users guess, and the names here."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Final

from lance_sql.values.keywords import methods_suggest_keywords

_READS: Final = {
    "arrow": "to_table()",
    "collect": "to_table()",
    "df": "to_pandas()",
    "fetchall": "to_table().to_pylist()",
    "fetchone": "head(1).to_pylist()",
    "pl": "to_polars()",
    "polars": "to_polars()",
    "to_arrow": "to_table()",
    "to_df": "to_pandas()",
    "to_dicts": "to_table().to_pylist()",
    "to_list": "to_table().to_pylist()",
    "to_pylist": "to_table().to_pylist()",
    "to_pydict": "to_table().to_pydict()",
    "to_numpy": "to_pandas().to_numpy()",
    "toPandas": "to_pandas()",
    "fetch_arrow_table": "to_table()",
}
_OF_ROWS: Final = {
    "count": "count_rows()",
    "num_rows": "count_rows()",
    "nrows": "count_rows()",
    "size": "count_rows()",
    "shape": "count_rows() and schema.names",
    "columns": "schema.names",
    "names": "schema.names",
    "column_names": "schema.names",
    "dtypes": "schema",
    "show": "head(10), or lance_sql.sql(\"FROM '..'\").show()",
    "tail": "lance_sql.sql(\"FROM '..' ORDER BY _rowid DESC LIMIT 10\")",
    "limit": "scan(limit=..)",
    "select": "scan([..])",
    "where": "scan(filter=..)",
    "query": "lance_sql.sql(\"SELECT .. FROM '..'\")",
    "sql": "lance_sql.sql(\"SELECT .. FROM '..'\")",
    "group_by": "lance_sql.sql(\"SELECT .. FROM '..' GROUP BY ..\")",
    "groupby": "lance_sql.sql(\"SELECT .. FROM '..' GROUP BY ..\")",
    "order_by": "lance_sql.sql(\"FROM '..' ORDER BY ..\")",
    "sample": "lance_sql.sql(\"FROM '..' USING SAMPLE 10\")",
    "unique": "lance_sql.sql(\"SELECT DISTINCT .. FROM '..'\")",
    "iter_batches": "to_batches()",
} | _READS
OF_DATASET: Final = {
    "add": 'lance_sql.write(rows, dataset, mode="append")',
    "alter_columns": "alter_column(..) or rename_columns(..)",
    "append": 'lance_sql.write(rows, dataset, mode="append")',
    "as_of": "lance_sql.open(dataset.uri, as_of=..)",
    "at": "lance_sql.open(dataset.uri, version=..)",
    "at_version": "lance_sql.open(dataset.uri, version=..)",
    "checkout": "lance_sql.open(dataset.uri, version=..)",
    "checkout_latest": "latest()",
    "checkout_version": "lance_sql.open(dataset.uri, version=..)",
    "cleanup_old_versions": "cleanup(older_than=..)",
    "commits": "history()",
    "create_scalar_index": "create_index(column, 'btree')",
    "create_fts_index": "create_index(column, 'inverted')",
    "delta": "changes(since=..)",
    "describe": "schema, count_rows() and history(); lance-sql describe prints them",
    "diff": "lance_sql.diff(dataset, other)",
    "drop": "lance_sql.sql(\"DROP TABLE '..'\")",
    "expire_snapshots": "cleanup(older_than=..)",
    "fragments": "layout()",
    "info": "schema, count_rows() and history()",
    "insert": 'lance_sql.write(rows, dataset, mode="append")',
    "list_indices": "indices()",
    "list_indexes": "indices()",
    "list_versions": "versions()",
    "log": "history()",
    "merge_insert": "merge(rows, on=..)",
    "optimize": "compact() and optimize_indices(), or maintain()",
    "path": "uri",
    "refresh": "latest()",
    "reload": "latest()",
    "rename": "lance_sql.sql(\"ALTER TABLE '..' RENAME TO '..'\")",
    "rollback": "restore(version)",
    "revert": "restore(version)",
    "snapshots": "versions()",
    "stats": "statistics() or layout()",
    "tag": "create_tag(name)",
    "to_reader": "scan().to_reader()",
    "time_travel": "lance_sql.open(dataset.uri, as_of=..)",
    "truncate": "delete('true')",
    "undo": "restore(version)",
    "upsert": "merge(rows, on=..)",
    "vacuum": "cleanup() for old versions, compact() for deleted rows",
    "validate": "lance_sql.verify(dataset.uri) for damage, check() for rules",
    "verify": "lance_sql.verify(dataset.uri)",
    "write": "lance_sql.write(rows, dataset, mode=..)",
} | _OF_ROWS
OF_ROWS: Final = _OF_ROWS
OF_MODULE: Final = {
    "LanceDataset": "lance_sql.Dataset",
    "Table": "lance_sql.Dataset",
    "append": 'lance_sql.write(rows, path, mode="append")',
    "create_table": "lance_sql.write(rows, path)",
    "dataset": "lance_sql.open(path)",
    "delete": "lance_sql.open(path).delete(where)",
    "execute": "lance_sql.sql(text)",
    "history": "lance_sql.open(path).history()",
    "load": "lance_sql.open(path)",
    "merge": "lance_sql.open(path).merge(rows, on=..)",
    "open_table": "lance_sql.open(path)",
    "query": "lance_sql.sql(text)",
    "read": "lance_sql.open(path)",
    "read_lance": "lance_sql.open(path)",
    "read_table": "lance_sql.open(path).to_table()",
    "scan": "lance_sql.open(path).scan()",
    "search": "lance_sql.open(path).search(..)",
    "tables": "lance_sql.catalog(folder).tables()",
    "update": "lance_sql.open(path).update(values, where)",
    "vacuum": "lance_sql.open(path).cleanup()",
    "optimize": "lance_sql.open(path).compact()",
    "write_dataset": "lance_sql.write(rows, path)",
    "write_table": "lance_sql.write(rows, path)",
}


def unknown_name(owner: str, name: str, known: Iterable[str], guesses: Mapping[str, str]) -> AttributeError:
    """Returns the error for a name that an object or module does not have."""
    message = f"{owner} has no attribute {name!r}"
    if name in guesses:
        return AttributeError(f"{message}: use {guesses[name]}")
    public = [each for each in known if not each.startswith("_")]
    close = [] if name.startswith("_") else difflib.get_close_matches(name, public, n=1)
    return AttributeError(f"{message}. Did you mean {close[0]!r}?" if close else message)


class NamesGuessed:
    """Base of classes whose missing attributes, and keywords of their methods, are answered with the names here."""

    guessed_names: ClassVar[Mapping[str, str]]

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        methods_suggest_keywords(cls)

    if not TYPE_CHECKING:
        # type checkers find missing names

        def __getattr__(self, name: str) -> Any:
            if hasattr(type(self), name):
                # a property failed with an AttributeError: raise that
                return object.__getattribute__(self, name)
            kind = type(self)
            raise unknown_name(f"{kind.__name__!r} object", name, dir(kind), kind.guessed_names)


class RowsGuessed(NamesGuessed):
    """Base of classes whose rows are counted on demand: they have no length, and are true without rows, too."""

    if not TYPE_CHECKING:

        def __len__(self) -> int:
            raise TypeError(f"{type(self).__name__} has no len(): count_rows() counts the rows")

    def __bool__(self) -> bool:
        return True
