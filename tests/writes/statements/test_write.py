"""Writing tables: sources, modes, limits, and errors before and during the write."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import duckdb
import lance
import pyarrow as pa
import pytest

import lance_sql
from lance_sql import InvalidArgument, RetryableConflict, TableExists, TableNotFound, UnsupportedFeature
from lance_sql.jobs.writing import Mode

ROWS = pa.table({"k": [1, 2, 3], "s": ["a", None, "c"]})


def files(path: Path) -> list[str]:
    return sorted(str(file.relative_to(path)) for file in path.rglob("*") if file.is_file())


def content(path: Path) -> list[dict[str, Any]]:
    ours = lance_sql.open(path).to_table()
    assert ours.equals(lance.dataset(str(path)).to_table())
    rows: list[dict[str, Any]] = ours.to_pylist()
    return rows


@pytest.mark.parametrize(
    "source",
    [
        ROWS,
        ROWS.to_batches()[0],
        ROWS.to_reader(),
        ROWS.to_batches(),
        ROWS.to_pydict(),
        iter(ROWS.to_batches()),
    ],
    ids=["table", "batch", "reader", "batches", "dict", "iterator"],
)
def test_rows_come_from_whatever_holds_them(tmp_path: Path, source: object) -> None:
    lance_sql.write(source, tmp_path / "t")
    assert content(tmp_path / "t") == ROWS.to_pylist()


def test_a_duckdb_relation_is_a_source(tmp_path: Path) -> None:
    lance_sql.write(duckdb.sql("SELECT range AS k FROM range(5)"), tmp_path / "t")
    assert lance_sql.open(tmp_path / "t").count_rows() == 5


def test_a_dataset_is_a_source(tmp_path: Path) -> None:
    first = lance_sql.write(ROWS, tmp_path / "a")
    lance_sql.write(first, tmp_path / "b")
    assert content(tmp_path / "b") == ROWS.to_pylist()


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames_are_sources(tmp_path: Path, library: str) -> None:
    frames = pytest.importorskip(library)
    lance_sql.write(frames.DataFrame({"k": [1, 2], "s": ["a", None]}), tmp_path / "t")
    assert content(tmp_path / "t") == [{"k": 1, "s": "a"}, {"k": 2, "s": None}]


@pytest.mark.parametrize("source", [1, "text", [1, 2], None])
def test_anything_else_is_refused(tmp_path: Path, source: object) -> None:
    with pytest.raises(InvalidArgument):
        lance_sql.write(source, tmp_path / "t")
    assert not (tmp_path / "t").exists()


def test_modes(tmp_path: Path) -> None:
    path = tmp_path / "t"
    with pytest.raises(TableNotFound):
        lance_sql.write(ROWS, path, mode="append", create=False)
    assert lance_sql.write(ROWS, path, mode="overwrite").version == 1
    with pytest.raises(TableExists, match="append"):
        lance_sql.write(ROWS, path)
    assert lance_sql.write(ROWS, path, mode="append").count_rows() == 6
    replaced = lance_sql.write({"x": [1.5]}, path, mode="overwrite")
    assert (replaced.version, content(path)) == (3, [{"x": 1.5}])
    assert lance_sql.open(path, version=2).count_rows() == 6
    with pytest.raises(InvalidArgument, match="replace"):
        lance_sql.write(ROWS, path, mode="replace")  # type: ignore[arg-type]  # wrong on purpose


def test_stable_row_ids_are_on_unless_they_are_off(tmp_path: Path) -> None:
    assert lance_sql.write(ROWS, tmp_path / "on").snapshot.manifest.has_stable_row_ids
    off = lance_sql.write(ROWS, tmp_path / "off", stable_row_ids=False)
    assert not off.snapshot.manifest.has_stable_row_ids
    with pytest.raises(InvalidArgument, match="fixed when a table is created"):
        lance_sql.write(ROWS, tmp_path / "off", mode="append", stable_row_ids=True)
    after = lance_sql.write(ROWS, tmp_path / "off", mode="append").delete("k = 2").update({"s": "'x'"}, "k = 3")
    assert after.count_rows("s = 'x'") == 2
    assert lance.dataset(str(tmp_path / "off")).count_rows("s = 'x'") == 2


@pytest.mark.parametrize("file_version", ["2.0", "2.1", "2.2"])
def test_a_table_keeps_the_version_of_its_files(tmp_path: Path, file_version: str) -> None:
    path = tmp_path / "t"
    lance_sql.write(ROWS, path, file_version=file_version)
    lance_sql.write(ROWS, path, mode="append")
    with pytest.raises(InvalidArgument, match="file_version"):
        lance_sql.write(ROWS, path, mode="append", file_version="2.0" if file_version != "2.0" else "2.1")
    versions = {
        file.file_version for fragment in lance_sql.open(path).snapshot.manifest.fragments for file in fragment.files
    }
    assert versions == {tuple(map(int, file_version.split(".")))} or versions == {(0, 3)}
    assert content(path) == ROWS.to_pylist() * 2


def test_unknown_file_versions_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedFeature, match=r"2\.3"):
        lance_sql.write(ROWS, tmp_path / "t", file_version="2.3")


def test_legacy_tables_are_read_only_until_overwritten(tmp_path: Path) -> None:
    path = str(tmp_path / "t")
    lance.write_dataset(ROWS, path, data_storage_version="legacy")
    with pytest.raises(UnsupportedFeature, match=r"0\.1"):
        lance_sql.write(ROWS, path, mode="append")
    with pytest.raises(UnsupportedFeature, match=r"0\.1"):
        lance_sql.open(path).update({"s": "'x'"}, "true")
    assert lance_sql.open(path).delete("k = 1").count_rows() == 2


def test_files_have_limits(tmp_path: Path) -> None:
    table = pa.table({"k": range(10)})
    written = lance_sql.write(table, tmp_path / "t", max_rows_per_file=4)
    assert [fragment.physical_rows for fragment in written.snapshot.manifest.fragments] == [4, 4, 2]
    assert content(tmp_path / "t") == table.to_pylist()


def test_a_table_without_rows(tmp_path: Path) -> None:
    lance_sql.write(ROWS.slice(0, 0), tmp_path / "t")
    assert content(tmp_path / "t") == []
    lance_sql.write(ROWS, tmp_path / "t", mode="append")
    assert len(content(tmp_path / "t")) == 3


def test_appended_columns_are_found_by_name_and_widened(tmp_path: Path) -> None:
    schema = pa.schema([("k", pa.int64()), ("s", pa.string()), ("d", pa.dictionary(pa.int8(), pa.string()))])
    lance_sql.write(schema.empty_table(), tmp_path / "t")
    source = pa.table({"s": pa.array(["x"], pa.large_string()), "k": pa.array([7], pa.int16())})
    lance_sql.write(source, tmp_path / "t", mode="append")
    assert content(tmp_path / "t") == [{"k": 7, "s": "x", "d": None}]


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (pa.table({"k": [1], "s": ["a"], "t": [1]}), "t: no such column"),
        (pa.table({"k": ["1"], "s": ["a"]}), "k: string where int64 is expected. Cast them, or use INSERT INTO"),
        (pa.table({"k": [1.5], "s": ["a"]}), "k: double where int64 is expected"),
        (pa.table({"s": ["a"]}), "k: missing, and it may not be NULL"),
        (pa.table([[1], [2]], names=["k", "k"]), "Two columns have the same name 'k'"),
        (pa.table({"K": [1], "s": ["a"]}), "did you mean 'k'"),
    ],
)
def test_rows_that_do_not_fit_are_refused(tmp_path: Path, source: pa.Table, message: str) -> None:
    schema = pa.schema([pa.field("k", pa.int64(), nullable=False), ("s", pa.string())])
    lance_sql.write({"k": [1], "s": ["a"]}, tmp_path / "t", schema=schema)
    before = files(tmp_path)
    with pytest.raises(InvalidArgument, match=message):
        lance_sql.write(source, tmp_path / "t", mode="append")
    assert files(tmp_path) == before


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        (pa.schema([("a", pa.int64()), ("A", pa.int64())]), "differ only in case"),
        (pa.schema([("_rowid", pa.int64())]), "reserved"),
        (pa.schema([("a.b", pa.int64())]), "dot"),
        (pa.schema([("", pa.int64())]), "no name"),
        (pa.schema([("i", pa.month_day_nano_interval())]), "interval"),
    ],
)
def test_schemas_that_no_table_can_have_are_refused(tmp_path: Path, schema: pa.Schema, message: str) -> None:
    with pytest.raises((InvalidArgument, UnsupportedFeature), match=message):
        lance_sql.write(schema.empty_table(), tmp_path / "t")
    assert not (tmp_path / "t").exists()


def test_types_that_a_file_version_cannot_hold_are_refused(tmp_path: Path) -> None:
    table = pa.table({"m": pa.array([[("a", 1)]], pa.map_(pa.string(), pa.int64()))})
    with pytest.raises(UnsupportedFeature, match="'m'"):
        lance_sql.write(table, tmp_path / "t", file_version="2.0")
    assert not (tmp_path / "t").exists()


def test_null_in_a_column_that_has_none(tmp_path: Path) -> None:
    schema = pa.schema([pa.field("k", pa.int64(), nullable=False)])
    lance_sql.write({"k": [1]}, tmp_path / "t", schema=schema)
    before = files(tmp_path)
    with pytest.raises(InvalidArgument, match="'k'"):
        lance_sql.write({"k": [1, None]}, tmp_path / "t", mode="append")
    with pytest.raises(InvalidArgument, match="'k'"):
        lance_sql.open(tmp_path / "t").update({"k": None}, "true")
    assert files(tmp_path) == before


@pytest.mark.parametrize(
    ("field", "message"),
    [
        (pa.field("k", pa.int64()), "may be NULL"),
        (pa.field("k", pa.list_(pa.int64()), nullable=False), "is nested"),
        (pa.field("k", pa.struct([("a", pa.int64())]), nullable=False), "is nested"),
    ],
)
def test_primary_keys_have_rules(tmp_path: Path, field: pa.Field, message: str) -> None:
    marked = field.with_metadata({"lance-schema:unenforced-primary-key": "true"})
    with pytest.raises(InvalidArgument, match=message):
        lance_sql.write(pa.schema([marked]).empty_table(), tmp_path / "t")


def test_a_primary_key_stays_one(tmp_path: Path) -> None:
    marks = {"lance-schema:unenforced-primary-key": "true"}
    key = pa.field("k", pa.int64(), nullable=False, metadata=marks)
    table = lance_sql.write({"k": [1], "v": [1]}, tmp_path / "t", schema=pa.schema([key, ("v", pa.int64())]))
    with pytest.raises(InvalidArgument, match="'k' may be NULL"):
        table.alter_column("k", nullable=True)
    with pytest.raises(InvalidArgument, match="'k' may be NULL"):
        table.alter_column("k", type=pa.int32(), nullable=True)
    with pytest.raises(InvalidArgument, match="'other' may be NULL"):
        table.add_columns([pa.field("other", pa.int64(), metadata=marks)])
    assert table.snapshot.latest().version == 1
    assert content(tmp_path / "t") == [{"k": 1, "v": 1}]


def test_rows_are_merged_on_the_primary_key(tmp_path: Path) -> None:
    key = pa.field("k", pa.int64(), nullable=False, metadata={"lance-schema:unenforced-primary-key": "true"})
    table = lance_sql.write({"k": [1, 2], "v": [0, 0]}, tmp_path / "t", schema=pa.schema([key, ("v", pa.int64())]))
    assert table.merge({"k": [2, 3], "v": [9, 9]}).count_rows("v = 9") == 2
    assert lance.dataset(str(tmp_path / "t")).count_rows("v = 9") == 2


def test_a_stream_that_fails_leaves_nothing(tmp_path: Path) -> None:
    lance_sql.write(ROWS, tmp_path / "t")
    before = files(tmp_path)

    def broken() -> Iterator[pa.RecordBatch]:
        yield from ROWS.to_batches()
        raise RuntimeError("the source is gone")

    for mode in ("append", "overwrite"):
        with pytest.raises(RuntimeError, match="the source is gone"):
            lance_sql.write(broken(), tmp_path / "t", mode=mode, max_rows_per_file=1)
        assert files(tmp_path) == before
    with pytest.raises(RuntimeError, match="the source is gone"):
        lance_sql.write(pa.RecordBatchReader.from_batches(ROWS.schema, broken()), tmp_path / "new")
    assert files(tmp_path) == before


def test_two_steps(tmp_path: Path) -> None:
    path = tmp_path / "t"
    job = lance_sql.begin_write(ROWS.schema, path)
    with ThreadPoolExecutor(4) as pool:
        written = list(pool.map(pickle.loads(pickle.dumps(job)).write_fragments, [ROWS] * 4))
    job.write_fragments(ROWS)  # a task whose result got lost
    assert not (path / "_versions").exists()
    made = job.commit(fragment for part in pickle.loads(pickle.dumps(written)) for fragment in part)
    assert made.count_rows() == 12
    assert len(list((path / "data").iterdir())) == 4
    assert sorted(made.scan(["_rowid"]).to_table()["_rowid"].to_pylist()) == list(range(12))


def test_an_aborted_job_leaves_nothing(tmp_path: Path) -> None:
    lance_sql.write(ROWS, tmp_path / "t")
    before = files(tmp_path)
    job = lance_sql.begin_write(ROWS.schema, tmp_path / "t", mode="append")
    job.write_fragments(ROWS)
    assert files(tmp_path) != before
    job.abort()
    assert files(tmp_path) == before


def test_fragments_of_another_job_are_refused(tmp_path: Path) -> None:
    job, other = (lance_sql.begin_write(ROWS.schema, tmp_path / "t") for _ in range(2))
    with pytest.raises(InvalidArgument, match="not written by this job"):
        job.commit(other.write_fragments(ROWS))


def test_jobs_rebase_over_other_appends(tmp_path: Path) -> None:
    lance_sql.write(ROWS, tmp_path / "t")
    job = lance_sql.begin_write(ROWS.schema, tmp_path / "t", mode="append")
    fragments = job.write_fragments(ROWS)
    lance.write_dataset(ROWS, str(tmp_path / "t"), mode="append")
    assert job.commit(fragments).count_rows() == 9
    assert len(content(tmp_path / "t")) == 9


@pytest.mark.parametrize("mode", ["create", "append", "overwrite"])
def test_a_job_is_committed_once(tmp_path: Path, mode: Mode) -> None:
    if mode != "create":
        lance_sql.write(ROWS, tmp_path / "t")
    job = lance_sql.begin_write(ROWS.schema, tmp_path / "t", mode=mode)
    fragments = job.write_fragments(ROWS)
    with pytest.raises(InvalidArgument, match="committed twice"):
        job.commit(fragments * 2)
    before = content(Path(job.commit(fragments).uri))
    for again in ((), fragments):
        with pytest.raises(InvalidArgument, match="committed to t already"):
            job.commit(again)
    assert content(tmp_path / "t") == before


@pytest.mark.parametrize("mode", ["create", "append"])
def test_aborting_a_job_takes_nothing_from_a_version(tmp_path: Path, mode: Mode) -> None:
    """Spark aborts a job whose commit failed, which may have succeeded all the same."""
    if mode == "append":
        lance_sql.write(ROWS, tmp_path / "t")
    job = lance_sql.begin_write(ROWS.schema, tmp_path / "t", mode=mode)
    made = job.commit(job.write_fragments(ROWS))
    job.write_fragments(ROWS)
    job.abort()
    assert len(content(tmp_path / "t")) == made.count_rows()
    assert len(files(tmp_path / "t" / "data")) == made.version


def test_rows_do_not_go_beside_a_column_of_another_type(tmp_path: Path) -> None:
    """A column that changes its type is another field: the values of the new rows would be lost."""
    lance_sql.write(ROWS, tmp_path / "t")
    job = lance_sql.begin_write(ROWS.schema, tmp_path / "t", mode="append")
    fragments = job.write_fragments(ROWS)
    lance_sql.open(tmp_path / "t").alter_column("k", type=pa.int32())
    with pytest.raises(RetryableConflict, match="Append conflicts with Merge"):
        job.commit(fragments)


@pytest.mark.parametrize("name", ["max_rows_per_file", "max_bytes_per_file"])
@pytest.mark.parametrize("limit", [0, -1])
def test_files_have_room_for_a_row(tmp_path: Path, name: str, limit: int) -> None:
    with pytest.raises(InvalidArgument, match=f"{name}={limit}"):
        lance_sql.write(ROWS, tmp_path / "t", **{name: limit})  # type: ignore[arg-type]  # passed on as given
    assert not (tmp_path / "t").exists()


@pytest.mark.parametrize(
    ("before", "wanted", "after"), [("legacy", None, "2.2"), ("2.0", None, "2.0"), ("2.2", "2.1", "2.1")]
)
def test_overwriting_without_rows_sets_the_file_version(
    tmp_path: Path, before: str, wanted: str | None, after: str
) -> None:
    lance.write_dataset(ROWS, tmp_path / "t", data_storage_version=before)  # type: ignore[arg-type]  # one of the texts
    made = lance_sql.write(ROWS.slice(0, 0), tmp_path / "t", mode="overwrite", file_version=wanted)
    assert made.snapshot.manifest.data_format == after
    lance_sql.write(ROWS, tmp_path / "t", mode="append")
    assert len(content(tmp_path / "t")) == 3
