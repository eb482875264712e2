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
OF_EARLIER_RELEASES: Final = {
    "create_tag": "tags.create(name, version)",
    "move_tag": "tags.move(name, version)",
    "delete_tag": "tags.delete(name)",
    "create_branch": "branches.create(name)",
    "delete_branch": "branches.delete(name)",
    "staged": "branches.staged(name)",
    "plan_publish": "branches.plan(name)",
    "publish": "branches.publish(name)",
    "shallow_clone": "branches.shallow_clone(uri)",
    "create_index": "indices.create(column, kind)",
    "drop_index": "indices.drop(name)",
    "optimize_indices": "indices.optimize()",
    "set_rule": "rules.set(name, rule)",
    "drop_rule": "rules.drop(name)",
    "check": "rules.check()",
    "cursor": "cursors.open(name)",
    "update_config": "config.update(values)",
    "update_field_metadata": "config.update_field_metadata(column, values)",
    "compact": "maintenance.compact()",
    "plan_compaction": "maintenance.plan_compaction()",
    "cleanup": "maintenance.cleanup()",
    "maintain": "maintenance.maintain()",
    "analyze": "maintenance.analyze(columns)",
    "statistics": "maintenance.statistics(columns)",
    "layout": "maintenance.layout()",
    "enable_stable_row_ids": "maintenance.enable_stable_row_ids()",
    "num_rows_in_log": "maintenance.num_rows_in_log",
    "fresh_rows": "scan(fresh=True)",
    "search_rows": "search(..)",
}
"""Names of earlier releases."""
OF_DATASET: Final = {
    "add": "append(rows)",
    "add_check": "rules.set(name, rule)",
    "add_constraint": "rules.set(name, rule)",
    "add_rule": "rules.set(name, rule)",
    "alter_columns": "alter_column(..) or rename_columns(..)",
    "as_of": "at(time)",
    "at_version": "at(version)",
    "checkout": "at(version)",
    "checkout_latest": "latest()",
    "checkout_version": "at(version)",
    "cleanup_old_versions": "maintenance.cleanup(older_than=..)",
    "commit": "lance_sql.begin_write(schema, dataset)",
    "commits": "history()",
    "count_fragments": "maintenance.layout()",
    "create_scalar_index": "indices.create(column, 'btree')",
    "create_fts_index": "indices.create(column, 'inverted')",
    "data_storage_version": "lance_sql.sql(..) with the table function lance_files",
    "deep_clone": "lance_sql.write(dataset, path)",
    "delete_config_keys": "config.update({key: None})",
    "delta": "changes(since=..)",
    "describe_indices": "indices.list()",
    "describe": "schema, count_rows() and history(); lance-sql describe prints them",
    "diff": "lance_sql.diff(dataset, other)",
    "drop": "lance_sql.sql(\"DROP TABLE '..'\")",
    "expire_snapshots": "maintenance.cleanup(older_than=..)",
    "explain_cleanup_old_versions": "maintenance.cleanup(older_than=.., dry_run=True)",
    "fragment_ids": "maintenance.layout().fragments",
    "fragments": "maintenance.layout()",
    "get_fragment": 'scan(filter="_rowaddr >> 32 = 2") for fragment 2',
    "get_transactions": "history()",
    "get_version": "versions()",
    "has_index": "indices.list()",
    "has_stable_row_ids": "system_columns",
    "index_statistics": "indices.list()",
    "info": "schema, count_rows() and history()",
    "insert": "append(rows)",
    "lance_schema": "schema",
    "latest_version": "latest().version",
    "list_indices": "indices.list()",
    "list_indexes": "indices.list()",
    "list_versions": "versions()",
    "log": "history()",
    "merge_insert": "merge(rows, on=..)",
    "optimize": "maintenance.compact() and indices.optimize(), or maintenance.maintain()",
    "metadata": "lance_sql.sql(..) with the table function lance_table_metadata",
    "path": "uri",
    "read_blobs": "take(row_ids, [column])",
    "read_transaction": "history()",
    "refresh": "latest()",
    "reload": "latest()",
    "replace_field_metadata": "config.update_field_metadata(column, values)",
    "replace_schema_metadata": "config.update_schema_metadata(values)",
    "rename": "lance_sql.sql(\"ALTER TABLE '..' RENAME TO '..'\")",
    "rollback": "restore(version)",
    "revert": "restore(version)",
    "schema_metadata": "schema.metadata",
    "slice": "lance_sql.sql(\"FROM '..' LIMIT 10 OFFSET 20\")",
    "snapshots": "versions()",
    "stats": "maintenance.statistics() or maintenance.layout()",
    "tag": "tags.create(name)",
    "take_blobs": "take(row_ids, [column])",
    "to_reader": "scan().to_reader()",
    "time_travel": "at(time)",
    "tracked_files": "lance_sql.sql(..) with the table function lance_files",
    "truncate": "delete('true')",
    "truncate_table": "delete('true')",
    "undo": "restore(version)",
    "update_metadata": "config.update_table_metadata(values)",
    "update_schema_metadata": "config.update_schema_metadata(values)",
    "upsert": "merge(rows, on=..)",
    "vacuum": "maintenance.cleanup() for old versions, maintenance.compact() for deleted rows",
    "validate": "lance_sql.verify(dataset.uri) for damage, rules.check() for rules",
    "verify": "lance_sql.verify(dataset.uri)",
    "write": "lance_sql.write(rows, dataset, mode=..)",
} | (_OF_ROWS | OF_EARLIER_RELEASES)
OF_HANDLES: Final = {
    "add": "create(..), or set(..) for a rule",
    "compact_files": "compact()",
    "create_index": "create(column, kind)",
    "create_scalar_index": "create(column, 'btree')",
    "describe": "list()",
    "expire_snapshots": "cleanup(older_than=..)",
    "items": "list()",
    "keys": "list()",
    "list_indices": "list()",
    "merge": "publish(name)",
    "optimize_indices": "indices.optimize()",
    "remove": "delete(name), or drop(name) for an index or a rule",
    "replace": "move(name, version)",
    "run": "maintain()",
    "stage": "staged(name)",
    "unset": "update({key: None})",
    "vacuum": "cleanup() for old versions, compact() for deleted rows",
    "values": "list()",
    "verify": "lance_sql.verify(dataset.uri)",
}
OF_ROWS: Final = _OF_ROWS
OF_CATALOG: Final = {
    "create": "create_table(name, rows)",
    "create_database": "create_namespace(name)",
    "create_schema": "create_namespace(name)",
    "databases": "namespaces()",
    "drop": "drop_table(name), or drop_view(name)",
    "drop_database": "drop_namespace(name)",
    "drop_schema": "drop_namespace(name)",
    "exists": "name in tables()",
    "get": "open(name)",
    "get_table": "open(name)",
    "list": "tables()",
    "list_databases": "namespaces()",
    "list_namespaces": "namespaces()",
    "list_tables": "tables()",
    "load_table": "open(name)",
    "open_table": "open(name)",
    "register_table": "declare(name), and write the rows to the path of the result",
    "rename": "rename_table(name, new_name)",
    "schemas": "namespaces()",
    "table": "open(name)",
    "table_names": "tables()",
}
OF_VIEW: Final = {
    "delete": "lance_sql.sql(\"DROP MATERIALIZED VIEW '..'\")",
    "drop": "lance_sql.sql(\"DROP MATERIALIZED VIEW '..'\")",
    "rebuild": "refresh(full=True)",
    "sql": "query",
    "text": "query",
    "to_pandas": "dataset.to_pandas()",
    "to_table": "dataset.to_table()",
    "update": "refresh()",
    "verify": "refresh(verify=True)",
}
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
    "vacuum": "lance_sql.open(path).maintenance.cleanup()",
    "optimize": "lance_sql.open(path).maintenance.compact()",
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

    _guessed_names: ClassVar[Mapping[str, str]]

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
            raise unknown_name(f"{kind.__name__!r} object", name, dir(kind), kind._guessed_names)


class RowsGuessed(NamesGuessed):
    """Base of classes whose rows are counted on demand: they have no length, and are true without rows, too."""

    if not TYPE_CHECKING:

        def __len__(self) -> int:
            raise TypeError(f"{type(self).__name__} has no len(): count_rows() counts the rows")

    def __bool__(self) -> bool:
        return True
