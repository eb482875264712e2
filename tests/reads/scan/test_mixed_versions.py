"""Tables whose data files are of several versions, and files whose version the manifest gets wrong."""

from __future__ import annotations

import struct
from pathlib import Path

import pyarrow as pa
import pytest

import lance_sql
from lance_sql.errors import CorruptFile
from lance_sql.format.proto import table_pb2
from tests.damaged.messages import with_manifest
from tests.damaged.tables import data_file, in_memory, manifest_file, write
from tests.golden.compare import assert_same

FILE_VERSIONS = ("0.1", "2.0", "2.1", "2.2")


def part(number: int) -> pa.Table:
    texts = pa.array([f"part {number}", None, "", "x"][1:] if number == 0 else [f"part {number}", None, "long " * 50])
    numbers = pa.array([number, number + 1, number + 2], pa.int32())
    return pa.table(
        {
            "i": numbers,
            "s": texts,
            "l": pa.array([[number, 7], [], [8]], pa.list_(pa.int64())),
            "p": pa.StructArray.from_arrays([numbers, texts], ["a", "b"]),
        }
    )


def manifest_of(data: bytes) -> table_pb2.Manifest:
    found: list[table_pb2.Manifest] = []
    with_manifest(data, found.append)
    return found[0]


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """One table of a fragment for each file version, in the frame of the one that was written in 2.2."""
    tables = {
        version: write(tmp_path_factory.mktemp(version) / "t", part(number), version)
        for number, version in enumerate(FILE_VERSIONS)
    }
    files = dict(tables["2.2"])
    fragments = []
    for number, table in enumerate(tables.values()):
        files[data_file(table)] = table[data_file(table)]
        fragment = manifest_of(table[manifest_file(table)]).fragments[0]
        fragment.id = number
        fragments.append(fragment)

    def join(manifest: table_pb2.Manifest) -> None:
        del manifest.fragments[:]
        manifest.fragments.extend(fragments)
        manifest.max_fragment_id = len(fragments)

    path = manifest_file(files)
    files[path] = with_manifest(files[path], join)
    return files


def expected(tmp_path: Path) -> pa.Table:
    """The parts one after the other, each as its own version reads it."""
    tables = []
    for number, version in enumerate(FILE_VERSIONS):
        write(tmp_path / version, part(number), version)
        tables.append(lance_sql.open(tmp_path / version).to_table())
    return pa.concat_tables(tables)


def test_a_table_of_all_versions_is_one_table(mixed: dict[str, bytes], tmp_path: Path) -> None:
    dataset = in_memory(mixed)
    rows = expected(tmp_path)
    assert_same(dataset.to_table(), rows, rows.column_names, "mixed")
    assert dataset.count_rows() == 12
    assert_same(dataset.to_table(["l", "p"]), rows.select(["l", "p"]), ["l", "p"], "mixed")


def test_filters_and_rows_by_id_reach_every_version(mixed: dict[str, bytes], tmp_path: Path) -> None:
    dataset = in_memory(mixed)
    rows = expected(tmp_path)
    assert dataset.count_rows("i = 2") == rows["i"].to_pylist().count(2)
    assert dataset.count_rows("s IS NULL") == rows["s"].null_count
    ids = dataset.to_table(["_rowid"])["_rowid"].to_numpy()
    some = [11, 0, 4, 7, 5]
    assert_same(dataset.take(ids[some]), rows.take(pa.array(some)), rows.column_names, "mixed")


def test_only_the_pages_with_statistics_are_ruled_out(mixed: dict[str, bytes]) -> None:
    plan = in_memory(mixed).scan(["i"], "i > 1000").plan
    assert plan.candidates.fragment_indices.tolist() == [1, 2, 3]


@pytest.mark.parametrize("spelled", [(0, 3), (2, 1), (2, 2), (9, 9)])
def test_the_footer_decides_which_version_a_file_is(tmp_path: Path, spelled: tuple[int, int]) -> None:
    files = write(tmp_path / "t", part(1), "2.0")

    def rename(manifest: table_pb2.Manifest) -> None:
        file = manifest.fragments[0].files[0]
        file.file_major_version, file.file_minor_version = spelled

    path = manifest_file(files)
    renamed = {**files, path: with_manifest(files[path], rename)}
    assert in_memory(renamed).to_table().equals(in_memory(files).to_table())


@pytest.mark.parametrize("version", [(0, 3), (2, 0)])
def test_both_spellings_of_2_0_are_the_same(tmp_path: Path, version: tuple[int, int]) -> None:
    files = write(tmp_path / "t", part(1), "2.0")
    path = data_file(files)
    spelled = {**files, path: files[path][:-8] + struct.pack("<HH4s", *version, b"LANC")}
    assert in_memory(spelled).to_table().equals(in_memory(files).to_table())


def test_a_file_without_listed_columns_is_refused(tmp_path: Path) -> None:
    files = write(tmp_path / "t", part(1), "2.0")

    def forget(manifest: table_pb2.Manifest) -> None:
        file = manifest.fragments[0].files[0]
        del file.column_indices[:]
        file.file_major_version, file.file_minor_version = 0, 2

    path = manifest_file(files)
    with pytest.raises(CorruptFile, match="does not record the columns"):
        in_memory({**files, path: with_manifest(files[path], forget)}).to_table()


def test_items_without_their_lists_are_refused(tmp_path: Path) -> None:
    files = write(tmp_path / "t", part(1), "2.0")

    def forget(manifest: table_pb2.Manifest) -> None:
        lists = next(field for field in manifest.fields if field.name == "l")
        file = manifest.fragments[0].files[0]
        kept = [(f, c) for f, c in zip(file.fields, file.column_indices, strict=True) if f != lists.id]
        del file.fields[:], file.column_indices[:]
        file.fields.extend(f for f, _ in kept)
        file.column_indices.extend(c for _, c in kept)

    path = manifest_file(files)
    with pytest.raises(CorruptFile, match="the items of 'l', but not the lists"):
        in_memory({**files, path: with_manifest(files[path], forget)}).to_table()
