"""Everything that may be done with a table: every verb of a handle, of the package, and of the command line."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

import lance_sql
from lance_sql.dataset import Dataset
from lance_sql.reads.search import text_query
from lance_sql.reads.search.search_rows import search_rows

Verb = Callable[[str], object]


def _rows(reader: Any) -> int:
    """Takes the batches one after the other, as a consumer does that keeps none."""
    return sum(batch.num_rows for batch in reader)


def _on(change: Callable[[Dataset], object]) -> Verb:
    return lambda path: change(lance_sql.open(path))


def _attributes(dataset: Dataset) -> list[object]:
    names = ("schema", "system_columns", "compact_types", "last_change", "version", "branch", "uri")
    return [repr(dataset), *(getattr(dataset, name) for name in names)]


def _distributed(path: str) -> object:
    job = lance_sql.begin_write(lance_sql.open(path).schema, path, mode="append")
    made = job.write_fragments(_new_rows())
    try:
        return job.commit(made)
    finally:
        job.abort()


def _cursor(dataset: Dataset) -> object:
    cursor = dataset.cursors.open("hostile", start="snapshot")
    with cursor.read() as changes:
        found = changes.count_rows()
    lag = cursor.seek("earliest").lag()
    cursor.drop()
    return found, lag


def _published(dataset: Dataset) -> object:
    with dataset.branches.staged("hostile") as branch:
        branch.delete("id = 3")
    return dataset.branches.plan("hostile"), dataset.branches.publish("hostile")


def _searched(dataset: Dataset) -> object:
    query = text_query(dataset.snapshot, "new row", "s", k=5)
    return _rows(search_rows(dataset.snapshot, query, "id > 5").scan().to_reader())


def _materialized(path: str) -> object:
    view = lance_sql.materialize(f"SELECT id, s FROM '{path}' WHERE id > 5", f"{path}.view")
    lance_sql.write(_new_rows(), path, mode="append")
    return view.refresh(verify=True)


def _new_rows() -> dict[str, list[Any]]:
    return {"id": [1000], "s": ["new"], "l": [[1]], "x": [0.5]}


def _engine(sql: str) -> Verb:
    return lambda path: lance_sql.connect().execute(sql.format(path)).fetchall()


DATASET: Final[dict[str, Verb]] = {
    "attributes": _on(_attributes),
    "latest": _on(lambda dataset: dataset.latest()),
    "at": _on(lambda dataset: _rows(dataset.at(1).scan().to_reader())),
    "versions": _on(lambda dataset: dataset.versions()),
    "history": _on(lambda dataset: dataset.history()),
    "layout": _on(lambda dataset: str(dataset.maintenance.layout())),
    "tags": _on(lambda dataset: dataset.tags.list()),
    "branches": _on(lambda dataset: dataset.branches.list()),
    "count": _on(lambda dataset: dataset.count_rows()),
    "count filter": _on(lambda dataset: dataset.count_rows("id > 5 AND x < 0.4")),
    "scan": _on(lambda dataset: _rows(dataset.scan().to_reader())),
    "scan stream": _on(lambda dataset: dataset.scan(["id"]).__arrow_c_stream__()),
    "scan filter": _on(lambda dataset: _rows(dataset.scan(["id"], "s = 'text 3'").to_reader())),
    "scan index": _on(lambda dataset: _rows(dataset.scan(["s"], "id = 42").to_reader())),
    "scan system": _on(
        lambda dataset: _rows(
            dataset.scan(["_rowid", "_rowaddr", "_row_created_at_version", "_row_last_updated_at_version"]).to_reader()
        )
    ),
    "scan lineage": _on(lambda dataset: _rows(dataset.scan(["id"], "_row_created_at_version > 1").to_reader())),
    "scan limit": _on(lambda dataset: dataset.scan(limit=3).to_table()),
    "explain": _on(lambda dataset: dataset.scan(["id"], "id = 42").explain(analyze=True)),
    "head": _on(lambda dataset: dataset.head(3)),
    "take": _on(lambda dataset: dataset.take([0, 5, 250], ["id"])),
    "changes": _on(lambda dataset: _rows(dataset.changes(since=1).to_reader())),
    "changes all": _on(lambda dataset: _rows(dataset.changes().to_reader())),
    "changes net": _on(lambda dataset: _rows(dataset.changes(since=1, mode="net").to_reader())),
    "search": _on(lambda dataset: _rows(dataset.search(text="new", text_column="s", k=5).to_reader())),
    "search rows": _on(_searched),
    "search changes": _on(
        lambda dataset: _rows(dataset.search_changes(text="new", since=1, text_column="s").to_reader())
    ),
    "follow": _on(lambda dataset: [each.changes.count_rows() for each in dataset.changes(since=1).follow(timeout=0)]),
    "debezium": _on(lambda dataset: sum(1 for _ in dataset.changes(since=1).to_debezium())),
    "cursor": _on(_cursor),
    "cursors": _on(lambda dataset: dataset.cursors.list()),
    "rules": _on(lambda dataset: dataset.rules.list()),
    "check": _on(lambda dataset: dataset.rules.set("x", "x < 0.4").rules.set("ids", "unique(id)").rules.check(since=2)),
    "publish": _on(_published),
    "apply changes": _on(lambda dataset: lance_sql.apply_changes(dataset, _new_rows(), "id")),
    "apply history": _on(lambda dataset: lance_sql.apply_changes(f"{dataset.uri}.scd", dataset.changes(), "id", scd=2)),
    "changes key": _on(lambda dataset: _rows(dataset.changes(since=3, key="id").to_reader())),
    "row history": _on(lambda dataset: _rows(dataset.row_history().to_reader())),
    "statistics": _on(lambda dataset: dataset.maintenance.statistics()),
    "analyze": _on(lambda dataset: dataset.maintenance.analyze()),
    "indices": _on(lambda dataset: dataset.indices.list()),
    "append": _on(lambda dataset: dataset.append(_new_rows())),
    "delete": _on(lambda dataset: dataset.delete("id = 3")),
    "update": _on(lambda dataset: dataset.update({"s": "'z'"}, "id = 3")),
    "merge": _on(lambda dataset: dataset.merge(_new_rows() | {"id": [3]}, on="id")),
    "add columns": _on(lambda dataset: dataset.add_columns({"y": "id + 1"})),
    "drop columns": _on(lambda dataset: dataset.drop_columns(["x"])),
    "rename columns": _on(lambda dataset: dataset.rename_columns({"x": "z"})),
    "alter column": _on(lambda dataset: dataset.alter_column("id", type=pa.int32())),
    "create index": _on(lambda dataset: dataset.indices.create("id", "bitmap", name="other")),
    "drop index": _on(lambda dataset: dataset.indices.drop("id_idx")),
    "optimize indices": _on(lambda dataset: dataset.indices.optimize()),
    "rebuild indices": _on(lambda dataset: dataset.indices.optimize(rebuild=True)),
    "plan compaction": _on(lambda dataset: dataset.maintenance.plan_compaction()),
    "maintain": _on(lambda dataset: dataset.maintenance.maintain(retain_versions=1)),
    "compact": _on(lambda dataset: dataset.maintenance.compact()),
    "restore": _on(lambda dataset: dataset.restore(2)),
    "restore of an old one": lambda path: lance_sql.open(path, version=2).restore(),
    "drop rule": _on(lambda dataset: dataset.rules.set("ids", "unique(id)").rules.drop("ids")),
    "column metadata": _on(lambda dataset: dataset.config.update_field_metadata("id", {"comment": "a key"})),
    "config": _on(lambda dataset: dataset.config.update({"a": "b"})),
    "table metadata": _on(lambda dataset: dataset.config.update_table_metadata({"a": "b"})),
    "schema metadata": _on(lambda dataset: dataset.config.update_schema_metadata({"a": "b"})),
    "stable row ids": _on(lambda dataset: dataset.maintenance.enable_stable_row_ids()),
    "create tag": _on(lambda dataset: dataset.tags.create("new")),
    "move tag": _on(lambda dataset: dataset.tags.move("good")),
    "delete tag": _on(lambda dataset: dataset.tags.delete("good")),
    "create branch": _on(lambda dataset: dataset.branches.create("other")),
    "delete branch": _on(lambda dataset: dataset.branches.delete("side")),
    "clone": lambda path: lance_sql.open(path).branches.shallow_clone(f"{path}.clone").count_rows(),
    "cleanup": _on(lambda dataset: dataset.maintenance.cleanup(retain_versions=1)),
    "pandas": _on(lambda dataset: dataset.to_pandas(["id"])),
    "polars": _on(lambda dataset: dataset.to_polars(["id"])),
    "fresh rows": _on(lambda dataset: dataset.scan(fresh=True)),
}
"""Verbs of a handle on the newest version."""

PACKAGE: Final[dict[str, Verb]] = {
    "verify": lambda path: str(lance_sql.verify(path)),
    "verify deep": lambda path: str(lance_sql.verify(path, deep=True)),
    "verify checksums": lambda path: str(lance_sql.verify(path, checksums=True)),
    "audit": lambda path: str(lance_sql.audit(path)),
    "repair": lambda path: str(lance_sql.repair(path, deep=True)),
    "salvage": lambda path: str(lance_sql.salvage(path, f"{path}.saved")),
    "salvage cells": lambda path: str(lance_sql.salvage(path, f"{path}.saved", null_cells=True)),
    "diff": lambda path: str(lance_sql.diff(f"{path}@2", path)),
    "append": lambda path: lance_sql.write(_new_rows(), path, mode="append"),
    "overwrite": lambda path: lance_sql.write(_new_rows(), path, mode="overwrite"),
    "two steps": _distributed,
    "open as of": lambda path: lance_sql.open(path, as_of="2030-01-01"),
    "open tag": lambda path: lance_sql.open(path, tag="good").count_rows(),
    "open branch": lambda path: lance_sql.open(path, branch="side").count_rows(),
    "open old": lambda path: _rows(lance_sql.open(path, version=-1).scan().to_reader()),
    "materialize": _materialized,
    "query": _engine("SELECT count(*), max(id) FROM '{}'"),
    "query changes": _engine("SELECT count(*) FROM lance_changes('{}', since := 2)"),
}
"""Functions of the package."""

_COMMANDS: Final = (
    "describe {}",
    "head {}",
    "schema {}",
    "versions {}",
    "history {}",
    "changes {} --since 2",
    "diff {} 2 3",
    "row-history {} --where id=3",
    "files {}",
    "layout {}",
    "index list {}",
    "explain {} --where id=42",
    "analyze {}",
    "verify {}",
    "changes {} --follow --timeout 0",
    "cursors {}",
    "search {} new --text-column s",
    "recall {} --queries 3",
    "refresh {}",
    "rules {}",
    "check {}",
    "verify {} --deep",
    "verify {} --checksums",
    "audit {}",
    "queries growth {}",
    "update {} s='z' --where id=3 --yes",
    "delete {} --where id=3 --yes",
    "compact {}",
    "cleanup {} --older-than 1d --yes",
    "maintain {} --yes",
    "restore {} 2 --yes",
    "repair {} --yes",
    "salvage {} {}.saved",
    "apply {} {} --keys id --yes",
    "stage {} load",
    "publish {} load --yes",
    "tag {}",
    "tag {} other",
    "branch {}",
    "enable-stable-row-ids {} --yes",
)


def _command(text: str) -> Verb:
    def run(path: str) -> object:
        from lance_sql.cli import main

        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                main.main([part.format(path, path) for part in text.split()], prog_name="lance-sql")
                code: object = 0
            except SystemExit as ended:
                code = ended.code
        check_command(code, out.getvalue(), err.getvalue())
        return code

    return run


def _is_control(character: str) -> bool:
    return (ord(character) < 32 and character != "\t") or character in "\x7f\u202e"


def check_command(code: object, out: str, err: str) -> None:
    """Makes sure of what a command leaves on the terminal: an exit code that is documented, no control characters, and
    one line for an error."""
    assert code in (0, 1, 2, 3, 4), f"exit code {code!r}: {err[-500:]}"
    shown = [line for line in (out + err).splitlines() if any(map(_is_control, line))]
    assert not shown, f"control characters: {shown[0]!r}"
    errors = [line for line in err.splitlines() if line.startswith("Error:")]
    assert len(errors) <= 1, err
    assert (len(errors) == 1) == (code in (2, 3)), f"exit code {code}, stderr: {err[-500:]}"


COMMANDS: Final[dict[str, Verb]] = {
    f"lance-sql {text.replace(' {}.saved', '').replace(' {}', '')}": _command(text) for text in _COMMANDS
}
"""Verbs of the command line."""

VERBS: Final[dict[str, Verb]] = {**DATASET, **PACKAGE, **COMMANDS}


def each(root: Path) -> Iterator[tuple[str, Verb]]:
    yield from VERBS.items()
