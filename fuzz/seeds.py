"""Undamaged inputs: small tables from pylance and their parts, and stored JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any

import lance
import numpy as np
import pyarrow as pa
from pyroaring import BitMap

import lance_sql
from fuzz import index_seeds, learned, page_seeds, search_call_seeds, search_seeds
from fuzz.call_seeds import calls
from fuzz.encode_seeds import JSON_TEXTS
from fuzz.inputs import Values
from fuzz.tables import dataset_of
from lance_sql.format.proto import table_pb2
from lance_sql.table import indices
from tests.damaged import messages
from tests.damaged.columns import COLUMNS, columns_of, table_of
from tests.damaged.tables import files_below, manifest_file, write

_NUM_ROWS = 1000
_NOT_IN_2_0 = ("structs of lists", "few structs", "maps", "packed texts", "vectors of structs")
_IN_0_1 = (
    "flat", "booleans", "texts", "dictionary type", "lists", "lists of texts", "long texts", "vectors", "decimals",
    "blobs",
)  # fmt: skip
_TYPES = (
    "fixed_size_list:float:8", "fixed_size_list:fixed_size_list:float:2:3", "dict:string:int16:false",
    "timestamp:us:+05:30", "decimal:128:38:10", "fixed_size_binary:16", "int32", "date32:day", "json",
    "fixed_size_list:lance.bfloat16:4",
)  # fmt: skip
_JSON = (
    "20000000 00000000", "20000000 20000002 500c", "20000000 20000009 60bff8000000000000", "80000000",
    "40000002 10000001 10000001 20000002 20000002 6162 5002 5001",
    "80000003 10000003 5000000a 40000000 616263 80000001 20000002 500c",
    "20000000 1000000b 22c3a95c0a1f09f09f9880", "40000001 10000001 5000000c 61 80000002 30000000 40000000",
    "80000004 20000003 20000005 20000009 20000001 40ff7f 5080000000 60bfb999999999999a 30",
)  # fmt: skip


def write_seeds(folder: Path) -> dict[str, list[Values]]:
    """Inputs by target. Tables are written below `folder`."""
    tables = list(_tables(folder / "columns"))
    versions = list(_histories(folder / "histories"))
    others = list(races(folder / "races"))
    indexed = list(index_seeds.seeds(folder / "indexed"))
    searched = list(search_seeds.seeds(folder / "searched"))
    manifests = [content for values in (*tables, *versions) for content in [_manifest(values)]]
    return {
        "manifests": [*versions, *tables[::5]],
        "sections": versions,
        "deletions": [*_deletions(), *_stored_deletions(versions)],
        "transactions": list(_stored_transactions([*versions, *others])),
        "row ids": list(_sequences(versions, "inline_row_ids")),
        "row versions": list(_sequences(versions, "inline_created_at_versions")),
        "schemas": [{"data": _schema_of(content)} for content in manifests],
        "logical types": [{"logical_type": kind} for kind in _TYPES],
        "stored json": [{"data": bytes.fromhex(text)} for text in _JSON],
        "file metadata": [*tables, *versions],
        "opened columns": [*tables, *versions],
        "pages": [*tables, *versions],
        "json text": [{"data": text} for text in (*JSON_TEXTS, b'{"a": "b", "c": [1.5, {}, []]}')],
        "indices": [*_index_sections(versions), *_index_sections(others)],
        "index files": indexed,
        "whole index files": indexed,
        "search files": searched,
        "search segments": list(search_seeds.segments(searched)),
        "search builders": list(search_seeds.built(folder / "built")),
        "learned statistics": list(learned.seeds()),
        "references": list(_stored_refs(versions)),
        "changes": [{**values, "change": "append"} for values in (*versions, *map(_of_one_version, others))],
        # nothing but going back goes together with everything
        "races": [{**values, "change": "restore"} for values in others],
        "kernel pages": list(page_seeds.calls()),
        "kernels": list(calls()),
        "search kernels": list(search_call_seeds.calls()),
    }


def _tables(root: Path) -> Iterator[Values]:
    """A table for each way to lay values out, in each file version."""
    for file_version in ("2.0", "2.1", "2.2"):
        names = columns_of(file_version) if file_version != "2.0" else [n for n in COLUMNS if n not in _NOT_IN_2_0]
        for number, name in enumerate(names):
            table = table_of(name)
            files = write(root / f"{file_version}-{number}", table, file_version, enable_stable_row_ids=True)
            yield {**files, "num_rows": table.num_rows}
    for number, name in enumerate(_IN_0_1):
        table = table_of(name)
        yield {**write(root / f"0.1-{number}", table, "0.1"), "num_rows": table.num_rows}
    for number, size in enumerate((10, 80_000)):
        # inline, and in a separate file next to the data file
        blobs = pa.table({"c": lance.blob_array([b"x" * size, None, b"", b"y" * (size + 1)])})
        files = write(root / f"blobs-{number}", blobs.cast(pa.schema([lance.blob_field("c")])), "2.2")
        yield {**files, "num_rows": 4}


def _histories(root: Path) -> Iterator[Values]:
    """Tables after appends, deletions, updates, an index and a tag, with and without stable row ids."""
    for number, stable in enumerate((True, False)):
        path = root / str(number)
        rows = pa.table({"a": pa.array(range(60), pa.int64()), "b": [f"text {i % 7}" for i in range(60)]})
        write(path, rows, "2.2", enable_stable_row_ids=stable, max_rows_per_file=25)
        table = lance.dataset(str(path))
        table.delete("a % 7 = 3")
        table.delete("a between 26 and 48")
        table.update({"b": "'other'"}, "a % 5 = 0")
        table.create_scalar_index("a", "BTREE")
        table.tags.create("first", 1)
        table.insert(rows.slice(0, 5))
        yield {**_only_read(files_below(path)), "num_rows": table.count_rows()}


def races(root: Path, names: Collection[str] | None = None) -> Iterator[Values]:
    """A table and the version after it, which made one change: with pylance, and with this library.

    The changes concern only rows with `a` of 20 or more.

    names: of the changes; all by default
    """
    for number, (name, change) in enumerate([*_PYLANCE.items(), *_OWN.items()]):
        if names is not None and name not in names:
            continue
        path = root / f"{number} {name}"
        rows = pa.table({"a": pa.array(range(40), pa.int64()), "b": [f"text {i % 7}" for i in range(40)]})
        table = lance_sql.write(rows, path, max_rows_per_file=15, stable_row_ids=bool(number % 5))
        table.delete("a IN (17, 29)").tags.create("first")
        table.add_columns([pa.field("c", pa.int32())]).config.update({"mine": "1"})
        if number % 3 == 0:
            lance.dataset(str(path)).create_scalar_index("a", "BTREE")
        change(str(path))
        files = {name: content for name, content in files_below(path).items() if not name.startswith("_indices/")}
        yield {**files, "race": lance_sql.open(path).version}


_PYLANCE: dict[str, Callable[[str], Any]] = {
    "append": lambda path: lance.dataset(path).insert(pa.table({"a": [50, 51], "b": ["x", None]})),
    "delete": lambda path: lance.dataset(path).delete("a > 31"),
    "delete a fragment": lambda path: lance.dataset(path).delete("a >= 30"),
    "update": lambda path: lance.dataset(path).update({"b": "'theirs'"}, "a > 24 and a < 35"),
    "merge": lambda path: (
        lance.dataset(path)
        .merge_insert("a")
        .when_matched_update_all()
        .when_not_matched_insert_all()
        .execute(pa.table({"a": [22, 33, 60], "b": ["m", "m", "m"], "c": pa.array([1, 2, 3], pa.int32())}))
    ),
    "merge columns": lambda path: (
        lance.dataset(path)
        .merge_insert("a")
        .when_matched_update_all()
        .execute(pa.table({"a": [22, 33], "c": pa.array([1, 2], pa.int32())}))
    ),
    "compact": lambda path: lance.dataset(path).optimize.compact_files(),
    "add": lambda path: lance.dataset(path).add_columns({"d": "a * 2"}),
    "drop": lambda path: lance.dataset(path).drop_columns(["c"]),
    "index": lambda path: lance.dataset(path).create_scalar_index("b", "BITMAP"),
    "config": lambda path: lance.dataset(path).update_config({"theirs": "1"}),
    "restore": lambda path: lance.dataset(path, version=2).restore(),  # type: ignore[no-untyped-call]  # pylance's
    "overwrite": lambda path: lance.write_dataset(pa.table({"a": [70, 71], "b": ["o", "p"]}), path, mode="overwrite"),
}
_OWN: dict[str, Callable[[str], Any]] = {
    "append": lambda path: lance_sql.write({"a": [50, 51], "b": ["x", None]}, path, mode="append"),
    "delete": lambda path: lance_sql.open(path).delete("a > 31"),
    "delete a fragment": lambda path: lance_sql.open(path).delete("a >= 30"),
    "update": lambda path: lance_sql.open(path).update({"b": "'theirs'"}, "a > 24 and a < 35"),
    "merge": lambda path: lance_sql.open(path).merge({"a": [22, 33, 60], "b": ["m", "m", "m"]}, on="a"),
    "compact": lambda path: lance_sql.open(path).maintenance.compact(max_deleted_share=0.0),
    "add": lambda path: lance_sql.open(path).add_columns({"d": "a * 2"}),
    "drop": lambda path: lance_sql.open(path).drop_columns("c"),
    "rename": lambda path: lance_sql.open(path).rename_columns({"c": "e"}),
    "forbid": lambda path: lance_sql.open(path).alter_column("a", nullable=False),
    "config": lambda path: lance_sql.open(path).config.update({"theirs": "1"}),
    "restore": lambda path: lance_sql.open(path).restore(2),
    "overwrite": lambda path: lance_sql.write({"a": [70, 71], "b": ["o", "p"]}, path, mode="overwrite"),
}


def _of_one_version(values: Values) -> Values:
    files = {name: content for name, content in values.items() if isinstance(content, bytes)}
    # any number of rows will do
    return {**_only_read(files), "num_rows": None}


def _only_read(files: dict[str, bytes]) -> dict[str, bytes]:
    """The files that a reader of rows looks at."""
    latest = manifest_file(files)
    return {
        path: content
        for path, content in files.items()
        if not path.startswith(("_indices/", "_versions/")) or path == latest
    }


def _deletions() -> Iterator[Values]:
    offsets = np.random.default_rng(1).choice(_NUM_ROWS, 90, replace=False).astype(np.uint32)
    for values in (offsets, np.arange(100, 700, dtype=np.uint32), offsets[:0]):
        bitmap = BitMap(values.tolist())
        yield {"data": bitmap.serialize(), "file_type": "bin", "num_rows": _NUM_ROWS}
        bitmap.run_optimize()
        yield {"data": bitmap.serialize(), "file_type": "bin", "num_rows": _NUM_ROWS}
        for compression in (None, "zstd", "lz4"):
            sink = pa.BufferOutputStream()
            batch = pa.record_batch({"row_id": pa.array(values)})
            options = pa.ipc.IpcWriteOptions(compression=compression)
            with pa.ipc.new_file(sink, batch.schema, options=options) as writer:
                writer.write_batch(batch)
            content = sink.getvalue().to_pybytes()
            yield {"data": content, "file_type": "arrow", "num_rows": _NUM_ROWS}


def _stored_deletions(versions: list[Values]) -> Iterator[Values]:
    for values in versions:
        for path, content in values.items():
            if path.startswith("_deletions/"):
                yield {"data": content, "file_type": path.rpartition(".")[2], "num_rows": _NUM_ROWS}


def _stored_transactions(versions: list[Values]) -> Iterator[Values]:
    for values in versions:
        for path, content in values.items():
            if path.startswith("_transactions/"):
                yield {"data": content}


def _index_sections(versions: list[Values]) -> Iterator[Values]:
    for values in versions:
        snapshot = dataset_of(values).snapshot
        section = indices.read_bytes(snapshot.store, snapshot.manifest_path, snapshot.manifest)
        if section is not None:
            yield {"data": section}


def _stored_refs(versions: list[Values]) -> Iterator[Values]:
    for values in versions:
        yield from ({"data": content} for path, content in values.items() if path.startswith("_refs/"))
    identifier = {"version_mapping": [[1, "0" * 32], [3, "1" * 32]]}
    branch = {"parentBranch": "x", "parentVersion": 3, "createAt": 1795225648, "identifier": identifier}
    yield {"data": json.dumps(branch).encode()}


def _sequences(versions: list[Values], name: str) -> Iterator[Values]:
    for values in versions:
        for fragment in _message(_manifest(values)).fragments:
            if fragment.HasField(name):
                yield {"data": getattr(fragment, name), "num_rows": fragment.physical_rows}


def _schema_of(manifest: bytes) -> bytes:
    message = _message(manifest)
    schema = table_pb2.Manifest(fields=message.fields, schema_metadata=message.schema_metadata)
    return bytes(schema.SerializeToString())


def _message(manifest: bytes) -> table_pb2.Manifest:
    read: list[table_pb2.Manifest] = []
    messages.with_manifest(manifest, read.append)
    return read[0]


def _manifest(values: Values) -> bytes:
    files = {name: content for name, content in values.items() if isinstance(content, bytes)}
    return files[manifest_file(files)]
