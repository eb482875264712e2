"""Rows that were acknowledged into a write-ahead log are noticed, and read, as pylance's merged scanner reads them."""

from __future__ import annotations

import logging
import pickle
from pathlib import Path
from typing import Any

import lance
import pyarrow as pa
import pytest

import lance_sql
from lance_sql.errors import CorruptFile, InvalidArgument, LanceError, UnsupportedFeature
from tests.seeds import seeds

from .logs import SCHEMA, Log, by_id, rows


def fresh(path: str, *columns: str, where: str | None = None) -> list[dict[str, Any]]:
    return by_id(lance_sql.open(path).scan(list(columns) or None, where, fresh=True).to_table())


@seeds(range(14), range(14, 50))
def test_sequences_are_read_as_by_pylance(tmp_path: Path, seed: int) -> None:
    log = Log(tmp_path / "t", seed)
    for _ in range(14):
        log.step()
        if log.random.random() < 0.4:
            # with entries that are in no SSTable yet, and the same when they are in one
            before = fresh(log.path)
            assert before == by_id(log.expected()), log.log
            assert fresh(log.path) == before, log.log
    before = fresh(log.path)
    assert before == by_id(log.expected()), log.log
    opened = lance_sql.open(log.path)
    assert opened.scan(fresh=True).count_rows() == len(before)
    for where in ("id % 3 = 1", "v LIKE 'put%' AND n > 3", "p.x < 20 OR v IS NULL"):
        table = pa.Table.from_pylist(before, SCHEMA)
        ids = {row["id"] for row in fresh(log.path, "id", where=where)}
        ids_expected = {
            row["id"]
            for row in lance_sql.write(table, tmp_path / "copy", mode="overwrite")
            .scan(["id"], where)
            .to_table()
            .to_pylist()
        }
        assert ids == ids_expected, (where, log.log)
    assert lance_sql.verify(log.path).num_rows_in_log == opened.maintenance.num_rows_in_log
    log.close()


@pytest.fixture
def path(tmp_path: Path) -> str:
    """Ten rows in a version; one more, one changed and one deleted in an SSTable; one changed again in an entry."""
    log = Log(tmp_path / "t", 1, num_shards=1)
    (shard,) = log.shards
    writer = log.writer(shard)
    writer.put(rows([3, 100], "put"))
    writer.delete(pa.table({"id": pa.array([4], pa.int64())}))
    log.flush(shard)
    log.writer(shard).put(rows([3], "again"))
    # the process goes on, and closes nothing
    log.writers.clear()
    return log.path


def test_rows_of_the_log_are_reported(path: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "lance_sql"):
        opened = lance_sql.open(path)
    assert "4 rows of the write-ahead log, which fresh=True reads" in caplog.text
    assert opened.maintenance.num_rows_in_log == 4
    assert opened.count_rows() == 30
    assert "in no version: 4 rows of the write-ahead log" in opened.scan().explain()
    assert "4 rows of the write-ahead log are in no version" in str(lance_sql.verify(path))
    assert opened.indices.list() == ()
    found = {row["id"]: row["v"] for row in fresh(path)}
    assert found[3] == "again 3"
    assert 100 in found
    assert 4 not in found
    assert len(found) == 30
    text = opened.scan(fresh=True).explain()
    assert "hidden by newer ones: 2 rows of the version" in text
    assert "of the write-ahead log: 2 rows" in text


def test_sql_reads_what_no_version_has(path: str) -> None:
    connection = lance_sql.connect()
    query = f"SELECT count(*), max(id), max(v) FILTER (id = 3) FROM lance_scan('{path}', fresh := true)"
    assert connection.execute(query).fetchall() == [(30, 100, "again 3")]
    assert connection.execute(f"SELECT count(*) FROM lance_scan('{path}')").fetchall() == [(30,)]
    names = [name for name, *_ in connection.execute(f"DESCRIBE FROM lance_scan('{path}', fresh := true)").fetchall()]
    assert names == ["id", "v", "n", "p"]
    narrow = f"SELECT id FROM lance_table('{path}', fresh := true, filter := 'id > 28') WHERE n IS NOT NULL ORDER BY id"
    assert connection.execute(narrow).fetchall() == [(29,), (100,)]
    assert connection.execute(f"SELECT p.x FROM lance_table('{path}', fresh := true) WHERE id = 100").fetchall() == [
        (100,)
    ]


@pytest.mark.parametrize("engine", ["duckdb", "datafusion"])
def test_one_sql_reads_it_in_every_engine(path: str, engine: Any) -> None:
    query = f"SELECT count(*) AS n, max(id) AS m FROM lance_scan('{path}', fresh := true) WHERE id <> 5"
    assert lance_sql.sql(query, engine=engine).fetchall() == [(29, 100)]


def test_columns_limits_and_copies_are_those_of_other_scans(path: str) -> None:
    scan = lance_sql.open(path).scan(["p.x", "id"], "id >= 3", limit=5, batch_size=2, fresh=True)
    assert scan.to_table().num_rows == 5
    assert max(batch.num_rows for batch in scan.to_reader()) <= 2
    # of the version this condition leaves a row that the log hides
    assert [batch.num_rows for batch in lance_sql.open(path).scan(["id"], "id = 4", fresh=True).to_reader()] == []
    assert scan.schema.names == ["p.x", "id"]
    again = pickle.loads(pickle.dumps(lance_sql.open(path).scan(["id"], fresh=True)))
    assert again.to_table().num_rows == 30
    with pytest.raises(InvalidArgument, match="_rowid"):
        lance_sql.open(path).scan(["_rowid"], fresh=True)
    with pytest.raises(InvalidArgument, match="_rowid"):
        lance_sql.open(path).scan(["id"], "_rowid = 3", fresh=True)
    with pytest.raises(InvalidArgument, match="not the newest version"):
        lance_sql.open(path, version=1).scan(fresh=True)


def test_columns_are_found_by_their_ids(path: str) -> None:
    opened = lance_sql.open(path).rename_columns({"v": "w"}).drop_columns(["n"])
    opened.add_columns([pa.field("late", pa.int32())])
    found = {row["id"]: row for row in fresh(path)}
    assert found[3] == {"id": 3, "w": "again 3", "p": {"x": 3, "y": []}, "late": None}


def test_verbs_refuse_what_pylance_refuses(path: str) -> None:
    opened = lance_sql.open(path)
    with pytest.raises(UnsupportedFeature, match="write-ahead log"):
        opened.add_columns({"c": "id * 2"})
    with pytest.raises(UnsupportedFeature, match="write-ahead log"):
        opened.alter_column("n", type=pa.float32())
    opened.delete("id = 5").update({"v": "'x'"}, "id = 6").maintenance.compact()
    lance_sql.write(rows([200], "appended"), path, mode="append")
    lance_sql.open(path).indices.create("n", "btree").merge(rows([7, 201], "merged"), on="id")
    assert lance_sql.open(path).maintenance.num_rows_in_log == 4
    assert len(fresh(path)) == 31
    assert lance.dataset(path).count_rows() == 31


def test_a_table_without_a_log_has_no_more_than_its_version(tmp_path: Path) -> None:
    table = lance_sql.write({"id": [1, 2]}, tmp_path / "t")
    assert table.scan(fresh=True).to_table() == table.to_table()
    assert table.maintenance.num_rows_in_log == 0
    assert table.scan(["id"], "id = 2", fresh=True).count_rows() == 1


def test_rows_without_a_key_all_count(tmp_path: Path) -> None:
    plain = pa.table({"a": [1, 2]})
    lance.write_dataset(plain, str(tmp_path / "t"))
    dataset: Any = lance.dataset(str(tmp_path / "t"))
    dataset.initialize_mem_wal()
    for _ in range(2):
        with dataset.mem_wal_writer("00000000-0000-0000-0000-000000000001") as writer:
            writer.put(plain)
    found = lance_sql.open(tmp_path / "t").scan(fresh=True)
    assert sorted(found.to_table()["a"].to_pylist()) == [1, 1, 1, 2, 2, 2]
    assert found.count_rows() == 6


def test_a_key_in_two_shards_is_refused(tmp_path: Path) -> None:
    log = Log(tmp_path / "t", 1)
    for shard in log.shards:
        log.writer(shard).put(rows([7], "put"))
        log.flush(shard)
    with pytest.raises(UnsupportedFeature, match=r"two shards of the write-ahead log have the key \{'id': 7\}"):
        lance_sql.open(log.path).scan(fresh=True).to_table()


@pytest.mark.parametrize("part", ["manifest/*.binpb", "wal/*.arrow", "*_gen_*/_versions/*.manifest", "*_gen_*/data/*"])
@pytest.mark.parametrize("damage", ["cut", "gone", "zeros", "text"])
def test_damage_of_the_log_is_one_line(path: str, part: str, damage: str) -> None:
    for file in Path(path).glob(f"_mem_wal/*/{part}"):
        content = file.read_bytes()
        file.unlink()
        if damage != "gone":
            file.write_bytes(
                {"cut": content[: len(content) // 2], "zeros": bytes(len(content)), "text": b"x" * 50}[damage]
            )
    message = ""
    try:
        lance_sql.open(path).scan(fresh=True).to_table()
    except LanceError as error:
        message = str(error)
    assert "\n" not in message
    assert lance_sql.open(path).count_rows() == 30
    str(lance_sql.verify(path))


def test_a_shard_that_leads_out_of_the_table_is_damage(path: str) -> None:
    from lance_sql.format.proto import mem_wal_pb2

    for file in Path(path).glob("_mem_wal/*/manifest/*.binpb"):
        message = mem_wal_pb2.ShardManifest.FromString(file.read_bytes())
        for sstable in message.sstables:
            sstable.path = "../../../elsewhere"
        file.write_bytes(message.SerializeToString())
    with pytest.raises(CorruptFile, match="segment"):
        lance_sql.open(path).scan(fresh=True).to_table()
