"""The conformance corpus, as far as manifests, deletions and inline sequences go."""

from __future__ import annotations

import contextlib
import shutil
from pathlib import Path
from typing import Any

import lance
import numpy as np
import pyarrow as pa
import pytest

import lance_sql
from lance_sql.errors import CorruptFile, LanceError, at
from lance_sql.format.schema import Field
from lance_sql.table.open_snapshot import open_snapshot
from lance_sql.table.snapshot import Snapshot
from tests.conftest import Case, corpus_params

CREATED = "_row_created_at_version"
UPDATED = "_row_last_updated_at_version"


def type_text(data_type: pa.DataType) -> str:
    """A type as the corpus writes it."""
    if pa.types.is_map(data_type):
        return f"map<{type_text(data_type.key_type)},{type_text(data_type.item_type)}>"
    if pa.types.is_struct(data_type):
        members = [f"{member.name}:{type_text(member.type)}" for member in data_type]
        return f"struct<{','.join(members)}>"
    if pa.types.is_fixed_size_list(data_type):
        return f"fsl<{type_text(data_type.value_type)},{data_type.list_size}>"
    if pa.types.is_list(data_type) or pa.types.is_large_list(data_type):
        kind = "large_list" if pa.types.is_large_list(data_type) else "list"
        return f"{kind}<{type_text(data_type.value_type)}>"
    if pa.types.is_dictionary(data_type):
        return f"dict<{data_type.index_type},{type_text(data_type.value_type)}>"
    return str(data_type)


def schema_line(field: Field, shown: pa.Field) -> str:
    extension = {"lance.json": "arrow.json"}.get(field.extension_name or "", field.extension_name)
    null = "" if shown.nullable else " not null"
    named = f" [{extension}]" if extension and not field.is_blob_v2 else ""
    return f"{shown.name}: {type_text(shown.type)}{null}{named}"


def open_version(case: Case, branch: str | None, version: dict[str, Any]) -> Snapshot:
    return open_snapshot(case.table, version=version["version"], branch=branch)


def test_versions_schemas_and_references(corpus_case: Case) -> None:
    latest = open_snapshot(corpus_case.table)
    assert [info.version for info in latest.versions()] == [v["version"] for v in corpus_case.info["versions"]]
    for branch, versions in (corpus_case.info.get("branches") or {}).items():
        on_branch = open_snapshot(corpus_case.table, branch=branch)
        assert [info.version for info in on_branch.versions()] == [v["version"] for v in versions]
    tags = {
        name: {"version": ref.version, **({"branch": ref.branch} if ref.branch else {})}
        for name, ref in latest.tags().items()
    }
    if "tags" in corpus_case.info:
        wanted = {
            name: {key: tag[key] for key in ("version", "branch") if tag.get(key)}
            for name, tag in corpus_case.info["tags"].items()
        }
        assert tags == wanted
    for branch, version in corpus_case.versions():
        schema = open_version(corpus_case, branch, version).manifest.schema
        lines = [schema_line(field, shown) for field, shown in zip(schema.fields, schema.arrow, strict=True)]
        if version.get("schema") is not None:
            assert "\n".join(lines) == version["schema"]


def test_live_rows_row_ids_and_row_versions(corpus_case: Case) -> None:
    for branch, version in corpus_case.versions():
        snapshot = open_version(corpus_case, branch, version)
        fragments = list(snapshot.manifest.fragments)
        if any(fragment.physical_rows == 0 for fragment in fragments):
            continue  # the data files know
        found: dict[str, list[np.ndarray[Any, Any]]] = {"_rowid": [], "_rowaddr": [], CREATED: [], UPDATED: []}
        num_rows = 0
        for fragment in fragments:
            rows = fragment.physical_rows
            live = np.delete(np.arange(rows), snapshot.open(fragment).deletions)
            num_rows += len(live)
            found["_rowaddr"].append(np.uint64(fragment.id << 32) + live.astype(np.uint64))
            sources = {"_rowid": snapshot.open(fragment).row_id_sequence}
            if snapshot.manifest.has_stable_row_ids:
                sources[CREATED] = snapshot.open(fragment).created_at_sequence  # type: ignore[assignment]  # of another class
                sources[UPDATED] = snapshot.open(fragment).last_updated_at_sequence  # type: ignore[assignment]  # of another class
            for name, sequence in sources.items():
                if name in found:
                    assert np.array_equal(sequence.take(live), sequence.expand()[live])
                    found[name].append(sequence.take(live))
        assert num_rows == version["rows"]
        expected = corpus_case.expected(version)
        for name in set(expected.column_names) & set(found) if expected is not None else ():
            assert expected is not None
            if found[name] and name not in version.get("unchecked_columns", ()):
                assert np.array_equal(np.concatenate(found[name]), expected.column(name).to_numpy()), name


def read_everything(case: Case) -> None:
    snapshot = open_snapshot(case.table, version=case.info.get("read_version"))
    _ = snapshot.manifest.schema.arrow
    for fragment in snapshot.manifest.fragments:
        for file in fragment.files:
            store, place = snapshot.open_fragments.files.resolve(file)
            with at(file=place):
                store.tail(place, 64)
        opened = snapshot.open(fragment)
        _ = opened.deletions, opened.row_id_sequence
        if snapshot.manifest.has_stable_row_ids:
            _ = opened.created_at_sequence, opened.last_updated_at_sequence


# Seen only when the data files are opened, which is for the floors above.
NEEDS_DATA_FILES = ("manifest_colindex", "manifest_physrows_more")


@pytest.mark.parametrize("case", corpus_params("negative", "manifest_", "rowid_", "deletion_"))
def test_damaged_tables_end_in_an_error(case: Case) -> None:
    if case.info["expect"] == "error" and case.name not in NEEDS_DATA_FILES:
        with pytest.raises(LanceError, match=r"^.{10,400}$"):
            read_everything(case)
    else:
        with contextlib.suppress(LanceError):
            read_everything(case)


@pytest.mark.parametrize("case", corpus_params("negative", "rowid_"))
def test_damaged_sequences_name_their_fragment(case: Case) -> None:
    with pytest.raises(CorruptFile, match=r"fragment \d"):
        read_everything(case)


@pytest.mark.parametrize("case", corpus_params("cases", "hist_0105_corrupt_schema"))
@pytest.mark.parametrize("operation", ["append", "delete", "add_columns"])
def test_columns_with_one_id_have_their_own_values_once_a_later_release_mends_it(
    case: Case, operation: str, tmp_path: Path
) -> None:
    path = str(tmp_path / "t.lance")
    shutil.copytree(case.table, path)
    before = open_snapshot(path).version
    theirs: Any = lance.dataset(path)
    match operation:
        case "append":
            lance.write_dataset(pa.table({"x": [4], "y": [8], "b": [16], "c": [20]}), path, mode="append")
        case "delete":
            theirs.delete("x = 1")
        case _:
            theirs.add_columns({"d": "x * 6"})
    rows = lance_sql.open(path).to_table().sort_by("x")
    numbers = {"append": [0, 1, 2, 3, 4], "delete": [0, 2, 3]}.get(operation, [0, 1, 2, 3])
    assert rows["x"].to_pylist() == numbers
    for name, factor in {"y": 2, "b": 4, "c": 5, "d": 6}.items():
        if name in rows.column_names:
            assert rows[name].to_pylist() == [factor * x for x in numbers], name
    assert lance_sql.verify(path, deep=True).is_healthy
    assert lance_sql.open(path, version=before).count_rows() == 4
