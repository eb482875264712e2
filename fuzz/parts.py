"""Targets that are one buffer each: deletion files, row ids, row versions, schemas, stored JSON."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from google.protobuf.message import Message

from fuzz.inputs import Values
from fuzz.mutations import damage
from lance_sql.commit import conflicts, transactions
from lance_sql.commit.operations import Append, Delete, UpdateConfig, UpdateMap
from lance_sql.errors import at
from lance_sql.proto import row_ids_pb2, table_pb2, transaction_pb2
from lance_sql.schema import Field, build, jsonb, types
from lance_sql.store import MemoryStore
from lance_sql.table import deletions, row_ids, row_versions
from lance_sql.table.fragments import DeletionFileType
from tests.damaged.messages import damage_message

_WORDS = (
    "fixed_size_list", "dict", "timestamp", "decimal", "fixed_size_binary", "time32", "duration", "list", "struct",
    "float", "int8", "uint64", "string", "lance.bfloat16", "false", "true", "us", "-", "+05:30", "UTC", "128", "256",
    "0", "1", "3", "-1", "38", "99999999999", "2147483647", "", "\0", "\u0663", "blob", "map", "large_list.struct",
)  # fmt: skip


def damage_data(rng: np.random.Generator, values: Values) -> Values:
    """Damaged bytes, and now and then another row count."""
    return {**values, "data": damage(rng, data_of(values))}


def damage_row_ids(rng: np.random.Generator, values: Values) -> Values:
    return _damage_message(rng, values, row_ids_pb2.RowIdSequence)


def damage_row_versions(rng: np.random.Generator, values: Values) -> Values:
    return _damage_message(rng, values, row_ids_pb2.RowDatasetVersionSequence)


def damage_transaction(rng: np.random.Generator, values: Values) -> Values:
    return _damage_message(rng, values, transaction_pb2.Transaction)


def damage_schema(rng: np.random.Generator, values: Values) -> Values:
    return _damage_message(rng, values, table_pb2.Manifest)


def damage_logical_type(rng: np.random.Generator, values: Values) -> Values:
    """Words of logical types in any order, or a type with another word in it."""
    kind = str(values["logical_type"]).split(":")
    if rng.random() < 0.5:
        kind = [str(rng.choice(_WORDS)) for _ in range(rng.integers(1, 6))]
    elif rng.random() < 0.5:
        kind = kind[:1] * int(rng.integers(1, 30)) + kind[1:]
    kind[int(rng.integers(len(kind)))] = str(rng.choice(_WORDS))
    return {**values, "logical_type": ":".join(kind)}


def read_deletions(values: Values) -> None:
    num_rows = _int(values, "num_rows")
    kind = DeletionFileType(values["file_type"])
    found = deletions.read(MemoryStore({"f": data_of(values)}), "f", kind, num_rows)
    assert found.dtype == np.uint32
    assert np.all(found[1:] > found[:-1])
    assert np.all(found < num_rows)


def read_transaction(values: Values) -> None:
    """Reads a transaction, and judges a commit that comes after it."""
    theirs = transactions.parse(data_of(values)).operation
    for ours in (Append(()), Delete((), (0, 1)), UpdateConfig(UpdateMap({"a": "b"}))):
        assert isinstance(conflicts.judge(ours, theirs), conflicts.Outcome)


def read_row_ids(values: Values) -> None:
    num_rows = _int(values, "num_rows")
    ids = row_ids.parse(data_of(values), num_rows)
    expanded = ids.expand()
    assert len(expanded) == num_rows
    assert np.array_equal(ids.expand(1, num_rows - 1), expanded[1:-1])
    offsets = np.arange(0, num_rows, 3)
    assert np.array_equal(ids.take(offsets), expanded[offsets])
    least, greatest = ids.bounds() or (0, 0)
    assert np.all((expanded >= least) & (expanded <= greatest))
    found, places = ids.positions(expanded[offsets])
    assert np.array_equal(expanded[places], expanded[offsets][found])


def read_row_versions(values: Values) -> None:
    num_rows = _int(values, "num_rows")
    versions = row_versions.parse(data_of(values), num_rows)
    expanded = versions.expand()
    assert len(expanded) == num_rows
    assert np.array_equal(versions.expand(1, num_rows - 1), expanded[1:-1])
    offsets = np.arange(0, num_rows, 3)
    assert np.array_equal(versions.take(offsets), expanded[offsets])
    versions.bounds()


def read_schema(values: Values) -> None:
    """The schema of a manifest message that has nothing else."""
    with at(file="f"):
        message = table_pb2.Manifest.FromString(data_of(values))
    schema = build(message.fields, message.schema_metadata)
    for field in schema.fields:
        types.storage_type(field)
    assert len(schema.arrow) == len(schema.fields)


def read_logical_type(values: Values) -> None:
    field = Field("c", 0, -1, str(values["logical_type"]))
    types.check(field)
    types.storage_type(field)
    types.arrow_field(field)


def read_json(values: Values) -> None:
    jsonb.to_text(pa.array([data_of(values), None], pa.large_binary()))


def data_of(values: Values) -> bytes:
    data = values["data"]
    assert isinstance(data, bytes)
    return data


def _damage_message(rng: np.random.Generator, values: Values, kind: Any) -> Values:
    """An edited message, or damaged bytes of one."""
    if rng.random() < 0.4:
        return damage_data(rng, values)
    message: Message = kind.FromString(data_of(values))
    for _ in range(rng.integers(1, 3)):
        damage_message(rng, message)
    return {**values, "data": message.SerializeToString()}


def _int(values: Values, name: str) -> int:
    number = values[name]
    assert isinstance(number, int)
    return number
