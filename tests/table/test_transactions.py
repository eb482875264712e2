"""The operation of a version's commit, and the indices that the version lists."""

from __future__ import annotations

import struct
from pathlib import Path

import lance
import pyarrow as pa
import pytest

from lance_sql.errors import CorruptFile
from lance_sql.format.proto import table_pb2, transaction_pb2
from lance_sql.store import MemoryStore
from lance_sql.table import indices, manifest, transactions
from lance_sql.table.open_snapshot import open_snapshot


@pytest.fixture
def table(tmp_path: Path) -> str:
    path = str(tmp_path / "t.lance")
    lance.write_dataset(pa.table({"a": range(300)}), path)
    lance.write_dataset(pa.table({"a": range(5)}), path, mode="append")
    dataset = lance.dataset(path)
    dataset.delete("a = 1")
    dataset.create_scalar_index("a", "BTREE", name="by_a")
    return path


def test_versions_report_their_commits(table: str) -> None:
    operations = [info.operation for info in open_snapshot(table).versions()]
    assert operations == ["overwrite", "append", "delete", "create_index"]
    transaction = open_snapshot(table, version=2).transaction()
    assert transaction is not None
    assert (transaction.operation, transaction.read_version) == ("append", 1)


def parsed(message: table_pb2.Manifest) -> manifest.Manifest:
    return manifest.parse(message, message.SerializeToString(), b"", "m")


def test_a_transaction_file_serves_where_the_manifest_has_none_inside() -> None:
    message = table_pb2.Manifest(version=2, transaction_file="1-abc.txn")
    content = transaction_pb2.Transaction(read_version=1, uuid="abc", append=transaction_pb2.Transaction.Append())
    read = parsed(message)
    store = MemoryStore({"_transactions/1-abc.txn": content.SerializeToString()})
    assert transactions.read(store, "m", read) == transactions.RecordedTransaction(1, "abc", "append")
    assert transactions.read(MemoryStore({}), "m", read) is None


def test_a_transaction_file_outside_of_the_table_is_refused() -> None:
    read = parsed(table_pb2.Manifest(version=2, transaction_file="../../x"))
    with pytest.raises(CorruptFile, match="segment"):
        transactions.read(MemoryStore({}), "m", read)


def test_a_section_outside_of_the_manifest_is_refused() -> None:
    footer = struct.pack("<IqHH4s", 0, 8, 0, 2, b"LANC")
    store = MemoryStore({"m": b"\0\0\0\0\xff\xff\xff\xff" + footer, "cut": bytes(28)})
    read = parsed(table_pb2.Manifest(version=2, transaction_section=90, index_section=4))
    with pytest.raises(CorruptFile, match="at byte 90, and the manifest message at 8"):
        transactions.read(store, "m", read)
    with pytest.raises(CorruptFile, match="section of 4294967295 bytes"):
        indices.read(store, "m", read)
    with pytest.raises(CorruptFile, match="an empty section at byte 0"):
        indices.read(store, "m", parsed(table_pb2.Manifest(version=2, index_section=0)))
    with pytest.raises(CorruptFile, match="does not end in LANC"):
        indices.read(store, "cut", read)


def test_indices_are_listed(table: str) -> None:
    (segment,) = open_snapshot(table).indices()
    assert (segment.name, segment.field_ids, segment.index_type) == ("by_a", (0,), "BTreeIndexDetails")
    assert open_snapshot(table, version=1).indices() == ()
