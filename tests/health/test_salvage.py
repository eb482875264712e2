"""Salvage recovers the readable rows of a damaged table, and reports the lost ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal

import lance
import numpy as np
import pyarrow as pa
import pytest
from click.testing import CliRunner, Result

import lance_sql
from lance_sql import InvalidArgument, TableExists
from lance_sql.cli.main import main
from tests.test_checksums import flip
from tests.writes.commit.test_early_releases import edit_manifest, newest_manifest

ROWS = 30_000
PER_FILE = 10_000


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, list(arguments))


def content() -> pa.Table:
    rng = np.random.default_rng(3)
    return pa.table(
        {
            "id": pa.array(range(ROWS), pa.int64()),
            "x": rng.random(ROWS),
            "s": [f"text {number % 977}" for number in range(ROWS)],
            "l": [[number, number + 1] for number in range(ROWS)],
        }
    )


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Three fragments of 10,000 rows; of the second one 100 rows are deleted."""
    root = tmp_path / "t.lance"
    dataset = lance_sql.write(content(), root, max_rows_per_file=PER_FILE).indices.create("id", "btree")
    dataset.delete("id >= 12000 AND id < 12100")
    return root


def data_file(table: Path, fragment: int, number: int = 0) -> Path:
    return table / "data" / lance_sql.open(table).snapshot.manifest.fragments[fragment].files[number].path


def ids(table: Any) -> list[int]:
    found: list[int] = lance_sql.open(table).scan(["id"]).to_table()["id"].to_pylist()
    return found


def live() -> list[int]:
    return [number for number in range(ROWS) if not 12000 <= number < 12100]


def in_fragment(number: int) -> range:
    return range(number * PER_FILE, (number + 1) * PER_FILE)


def page_of(table: Path, fragment: int, column: int, page: int) -> tuple[int, int]:
    """The longest buffer of a page, as bytes of its file."""
    snapshot = lance_sql.open(table).snapshot
    file = snapshot.open_fragments.files.open(snapshot.manifest.fragments[fragment].files[0])
    return max(file.column(column).pages[page].buffers, key=lambda buffer: buffer.end - buffer.start)


def test_all_of_a_healthy_table_is_written(table: Path, tmp_path: Path) -> None:
    found = lance_sql.salvage(table, tmp_path / "out.lance")
    assert (found.is_complete, found.num_rows, found.num_lost_rows) == (True, ROWS - 100, 0)
    assert "nothing is lost" in str(found)
    assert found.dataset.to_table().equals(lance_sql.open(table).to_table())
    made = found.dataset.snapshot.transaction()
    assert made is not None
    assert made.properties["salvaged_from"] == "t.lance version 3"


@pytest.mark.parametrize("damage", ["missing", "cut", "empty", "zeros"])
def test_fragments_whose_file_is_gone_are_left_out(table: Path, tmp_path: Path, damage: str) -> None:
    file = data_file(table, 1)
    if damage == "missing":
        file.unlink()
    else:
        size = file.stat().st_size
        file.write_bytes({"cut": file.read_bytes()[: size // 2], "empty": b"", "zeros": bytes(size)}[damage])
    found = lance_sql.salvage(table, tmp_path / "out.lance")
    assert ids(tmp_path / "out.lance") == [number for number in live() if number not in in_fragment(1)]
    assert (found.num_rows, found.num_lost_rows) == (2 * PER_FILE, PER_FILE - 100)
    assert {loss.fragment for loss in found.losses} == {1}
    assert {loss.column for loss in found.losses} == {"id", "x", "s", "l"}
    assert all(loss.rows == ((0, PER_FILE),) for loss in found.losses)
    assert all(f"data/{file.name}" in loss.reason for loss in found.losses)


def test_columns_in_other_files_may_be_kept(table: Path, tmp_path: Path) -> None:
    lance_sql.open(table).add_columns({"y": "id * 2"})
    file = data_file(table, 2, 1)
    file.unlink()
    strict = lance_sql.salvage(table, tmp_path / "strict.lance")
    assert strict.num_rows == 2 * PER_FILE - 100
    fewer = lance_sql.salvage(table, tmp_path / "fewer.lance", columns=["id", "s"])
    assert (fewer.num_rows, fewer.is_complete) == (ROWS - 100, True)
    nulls = lance_sql.salvage(table, tmp_path / "nulls.lance", null_cells=True)
    assert (nulls.num_rows, nulls.num_lost_rows, nulls.num_lost_cells) == (ROWS - 100, 0, PER_FILE)
    rows = nulls.dataset.to_table()
    assert rows["id"].to_pylist() == live()
    assert rows["y"].null_count == PER_FILE
    assert rows["y"].to_pylist()[: 2 * PER_FILE - 100] == [2 * number for number in live()[: 2 * PER_FILE - 100]]


@pytest.mark.parametrize("null_cells", [False, True])
def test_pages_that_cannot_be_decoded_are_lost_alone(tmp_path: Path, null_cells: bool) -> None:
    """Pylance cuts pages where it likes; here a page of the column `s` is overwritten by bytes that are no page."""
    root = tmp_path / "t.lance"
    rng = np.random.default_rng(5)
    rows = pa.table({"id": range(60_000), "s": [rng.bytes(200) for _ in range(60_000)]})
    lance_sql.write(rows, root)
    snapshot = lance_sql.open(root).snapshot
    file = snapshot.open_fragments.files.open(snapshot.manifest.fragments[0].files[0])
    pages = file.column(1).pages
    assert len(pages) > 1
    start, end = page_of(root, 0, 1, 0)
    path = data_file(root, 0)
    damaged = bytearray(path.read_bytes())
    damaged[start:end] = b"\xff" * (end - start)
    path.write_bytes(damaged)
    with pytest.raises(lance_sql.CorruptFile):
        lance_sql.open(root).to_table()
    found = lance_sql.salvage(root, tmp_path / "out.lance", null_cells=null_cells)
    lost = pages[0].num_rows
    assert {(loss.column, loss.rows) for loss in found.losses} == {("s", ((0, lost),))}
    made = found.dataset.to_table()
    if null_cells:
        assert made["id"].to_pylist() == list(range(60_000))
        assert made["s"].slice(0, lost).null_count == lost
        assert (found.num_lost_rows, found.num_lost_cells) == (0, lost)
        assert made["s"].slice(lost).equals(rows["s"].slice(lost))
    else:
        assert made.equals(rows.slice(lost).cast(made.schema))
        assert (found.num_lost_rows, found.num_lost_cells) == (lost, 0)


def test_values_that_are_not_what_was_written_are_doubtful(table: Path, tmp_path: Path) -> None:
    start, end = page_of(table, 0, 0, 0)
    flip(data_file(table, 0), (start + end) // 2)
    found = lance_sql.salvage(table, tmp_path / "out.lance")
    assert (found.num_rows, found.is_complete) == (ROWS - 100, False)
    assert "id" in {loss.column for loss in found.doubtful}
    assert not found.losses
    # a file of less than a block: all of its pages are beside the damaged one
    intact = lance_sql.salvage(table, tmp_path / "intact.lance", intact_only=True)
    assert intact.num_rows == ROWS - 100 - PER_FILE
    assert not intact.doubtful


def test_deleted_rows_come_back_without_their_deletion_file(table: Path, tmp_path: Path) -> None:
    (file,) = (table / "_deletions").iterdir()
    file.unlink()
    found = lance_sql.salvage(table, tmp_path / "out.lance")
    assert ids(tmp_path / "out.lance") == list(range(ROWS))
    assert dict(found.num_deleted) == {1: 100}
    assert "100 deleted rows of it are there again" in str(found)


def test_damaged_indices_and_row_ids_are_not_looked_at(table: Path, tmp_path: Path) -> None:
    def edit(manifest: Any) -> None:
        manifest.index_section = 2**40
        manifest.fragments[0].inline_row_ids = b"\xff" * 9

    edit_manifest(newest_manifest(table), edit)
    found = lance_sql.salvage(table, tmp_path / "out.lance")
    assert (found.is_complete, found.num_rows) == (True, ROWS - 100)


def test_claims_of_a_manifest_take_no_time(table: Path, tmp_path: Path) -> None:
    def edit(manifest: Any) -> None:
        manifest.fragments[0].physical_rows = 2**32 - 1
        del manifest.fragments[2].files[:]
        manifest.fragments[2].physical_rows = 2**32 - 1

    edit_manifest(newest_manifest(table), edit)
    for null_cells in (False, True):
        found = lance_sql.salvage(table, tmp_path / f"{null_cells}.lance", null_cells=null_cells)
        assert found.num_rows == PER_FILE - 100
        assert {loss.fragment for loss in found.losses} == {0, 2}


def test_tables_of_pylance_of_all_versions(tmp_path: Path) -> None:
    rows = content().slice(0, 3000)
    versions: tuple[Literal["0.1", "2.0", "2.1", "2.2"], ...] = ("0.1", "2.0", "2.1", "2.2")
    for version in versions:
        root = tmp_path / f"{version}.lance"
        lance.write_dataset(rows, root, data_storage_version=version, max_rows_per_file=1000)
        data_file(root, 1).unlink()
        found = lance_sql.salvage(root, tmp_path / f"out-{version}.lance")
        expected = pa.concat_tables([rows.slice(0, 1000), rows.slice(2000)])
        assert found.dataset.to_table().equals(expected.cast(found.dataset.schema))


def test_types_of_all_kinds_may_be_null(tmp_path: Path) -> None:
    """NULL stands for lost values of every type, in columns that are never NULL too."""
    root = tmp_path / "t.lance"
    rows = pa.table(
        {
            "n": pa.array([1, 2], pa.int32()),
            "st": pa.array([{"a": 1}, {"a": 2}]),
            "l": pa.array([[1], [2]], pa.list_(pa.int64())),
            "f": pa.array([[1.0, 2.0], [3.0, 4.0]], pa.list_(pa.float32(), 2)),
            "d": pa.array(["a", "b"]).dictionary_encode(),
            "t": pa.array([1, 2], pa.timestamp("us", "UTC")),
            "b": pa.array([b"1", b"2"], pa.large_binary()),
            "dec": pa.array([1, 2], pa.decimal128(38, 2)),
        },
        schema=None,
    )
    never = pa.schema([pa.field(each.name, each.type, nullable=False) for each in rows.schema])
    dataset = lance_sql.write(rows.cast(never), root).add_columns({"k": "n"})
    (root / "data" / dataset.snapshot.manifest.fragments[0].files[0].path).unlink()
    found = lance_sql.salvage(root, tmp_path / "out.lance", null_cells=True)
    made = found.dataset.to_table()
    assert made["k"].to_pylist() == [1, 2]
    assert all(made[name].null_count == 2 for name in rows.column_names)


def test_columns_keep_their_types(tmp_path: Path) -> None:
    key = {"lance-schema:unenforced-primary-key": "true", "comment": "the key"}
    member = pa.field("j", pa.json_(pa.string()))
    fields = [
        pa.field("id", pa.int64(), nullable=False, metadata=key),
        pa.field("j", pa.json_(pa.string())),
        pa.field("u", pa.uuid()),
        pa.field("b", pa.large_binary(), metadata={"lance-encoding:blob": "true"}),
        pa.field("s", pa.struct([member])),
    ]
    texts = pa.ExtensionArray.from_storage(pa.json_(pa.string()), pa.array(['{"k":1}']))
    arrays = [
        pa.array([1]),
        texts,
        pa.ExtensionArray.from_storage(pa.uuid(), pa.array([b"0123456789abcdef"], pa.binary(16))),
        pa.array([b"long"], pa.large_binary()),
        pa.StructArray.from_arrays([texts], fields=[member]),
    ]
    for version in ("2.1", "2.2"):
        root = tmp_path / f"{version}.lance"
        dataset = lance_sql.write(pa.Table.from_arrays(arrays, schema=pa.schema(fields)), root, file_version=version)
        found = lance_sql.salvage(root, tmp_path / f"{version}-out.lance")
        assert found.dataset.snapshot.manifest.schema == dataset.snapshot.manifest.schema
        assert found.dataset.to_table() == dataset.to_table()


def test_the_command_line_reports_lost_rows(table: Path, tmp_path: Path) -> None:
    out = str(tmp_path / "out.lance")
    assert run("salvage", str(table), out).exit_code == 0
    data_file(table, 1).unlink()
    result = run("salvage", str(table), str(tmp_path / "second.lance"), "--columns", "id,x", "-o", "json")
    assert result.exit_code == 1
    said = json.loads(result.stdout)
    assert (said["rows"], said["lost_rows"]) == (2 * PER_FILE, PER_FILE - 100)
    assert [loss["rows"] for loss in said["losses"]] == [[[0, PER_FILE]]] * 2
    assert run("salvage", str(table), out).exit_code == 3
    result = run("salvage", str(table), str(tmp_path / "third.lance"))
    assert "fragment 1, column 'id', rows 0 to 9999: data/" in result.stdout
    with pytest.raises(InvalidArgument):
        lance_sql.salvage(table, table)
    with pytest.raises(TableExists):
        lance_sql.salvage(table, out)
