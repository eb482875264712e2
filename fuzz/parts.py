"""Targets that are one buffer each: deletion files, row ids, row versions, schemas, JSON, transactions, references."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa
from google.protobuf.message import Message

from fuzz.inputs import Values
from fuzz.mutations import damage
from lance_sql import _kernels
from lance_sql._kernels import JsonResult, JsonStepKind
from lance_sql.errors import LanceError, at
from lance_sql.format.proto import row_ids_pb2, table_pb2, transaction_pb2
from lance_sql.format.schema import Field, Schema, build, jsonb, types, wire
from lance_sql.store import MemoryStore
from lance_sql.table import deletions, indices, refs, row_ids, row_versions
from lance_sql.table.fragment import DataFile, DeletionFileType, Fragment
from lance_sql.table.paths import BRANCHES, TAGS
from lance_sql.writes.commit import conflicts, transactions
from lance_sql.writes.commit.operations import (
    Append,
    DataReplacement,
    Delete,
    Merge,
    Operation,
    Overwrite,
    Project,
    Replacement,
    ReserveFragments,
    Restore,
    Rewrite,
    RewriteGroup,
    Update,
    UpdateConfig,
    UpdateMap,
    UpdateMode,
)
from tests.damaged.messages import damage_message
from tests.kernels import json_oracle

_JSON_PATHS: Final[Sequence[Sequence[_kernels.JsonStep]]] = (
    [],
    [(JsonStepKind.KEY, "a", 0)],
    [(JsonStepKind.EITHER, "1", 1)],
    [(JsonStepKind.INDEX, "", 0), (JsonStepKind.LAST, "", 0)],
)

_WORDS = (
    "fixed_size_list", "dict", "timestamp", "decimal", "fixed_size_binary", "time32", "duration", "list", "struct",
    "float", "int8", "uint64", "string", "lance.bfloat16", "false", "true", "us", "-", "+05:30", "UTC", "128", "256",
    "0", "1", "3", "-1", "38", "99999999999", "2147483647", "", "\0", "\u0663", "blob", "map", "large_list.struct",
)  # fmt: skip

_JSON_VALUES: tuple[Any, ...] = (
    None, True, 0, -1, 3, 2.5, 1e400, 2**64, 2**70, "", "main", "x/y", "../x", "\0", [], [1], [[1, "a"]], {}, {"a": 1},
    {"version_mapping": 5}, {"version_mapping": {"a": 1}}, {"version_mapping": "abc"},
)  # fmt: skip
_FILE = DataFile("f.lance", (0, 1), (0, 1), (2, 2), 100)
_FRAGMENT = Fragment(0, (_FILE,), None, 10)
_SCHEMA = Schema((Field("a", 0, -1, "int64"), Field("b", 1, -1, "string")))
_OPERATIONS: tuple[Operation, ...] = (
    Append((_FRAGMENT,)),
    Delete((_FRAGMENT,), (1,)),
    Overwrite((_FRAGMENT,), _SCHEMA, {"a": "b"}),
    Update((1,), (_FRAGMENT,), (_FRAGMENT,)),
    Update((), (_FRAGMENT,), (), (1,), mode=UpdateMode.REWRITE_COLUMNS),
    Rewrite((RewriteGroup((_FRAGMENT,), (_FRAGMENT,)),)),
    Merge((_FRAGMENT,), _SCHEMA),
    Project(_SCHEMA),
    Restore(1),
    ReserveFragments(2),
    UpdateConfig(UpdateMap({"a": "b"}), UpdateMap({}), UpdateMap({"x": None}, replace=True), {1: UpdateMap({})}),
    DataReplacement((Replacement(0, _FILE),)),
)


def damage_data(rng: np.random.Generator, values: Values) -> Values:
    """Damaged bytes, and now and then another row count."""
    return {**values, "data": damage(rng, data_of(values))}


def damage_row_ids(rng: np.random.Generator, values: Values) -> Values:
    return _damage_message(rng, values, row_ids_pb2.RowIdSequence)


def damage_row_versions(rng: np.random.Generator, values: Values) -> Values:
    return _damage_message(rng, values, row_ids_pb2.RowDatasetVersionSequence)


def damage_transaction(rng: np.random.Generator, values: Values) -> Values:
    return _damage_message(rng, values, transaction_pb2.Transaction)


def damage_indices(rng: np.random.Generator, values: Values) -> Values:
    return _damage_message(rng, values, table_pb2.IndexSection)


def damage_refs(rng: np.random.Generator, values: Values) -> Values:
    """Other values under the keys of an object, or damaged bytes."""
    if rng.random() < 0.5:
        return damage_data(rng, values)
    content = json.loads(data_of(values))
    inside = content
    while isinstance(inside, dict) and inside:
        key = list(inside)[int(rng.integers(len(inside)))]
        if not isinstance(inside[key], dict) or rng.random() < 0.5:
            inside[key] = _JSON_VALUES[int(rng.integers(len(_JSON_VALUES)))]
            break
        inside = inside[key]
    return {**values, "data": json.dumps(content).encode()}


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
    """Reads a transaction, judges every commit that may come after it, and writes it again."""
    read = transactions.parse(data_of(values))
    for ours in _OPERATIONS:
        assert isinstance(conflicts.judge(ours, read.operation), conflicts.Outcome)
    if conflicts.can_be_committed(read.operation):
        written = transactions.serialize(read)
        again = transactions.parse(written)
        assert type(again.operation) is type(read.operation)
        assert transactions.serialize(again) == written


def edit_indices(values: Values) -> None:
    """Every edit of an index section that commits make."""
    section = data_of(values)
    with at():
        num_indices = len(table_pb2.IndexSection.FromString(section).indices)
    edits: tuple[Callable[[], bytes | None], ...] = (
        lambda: indices.without_columns(section, {0}),
        lambda: indices.without_values(section, {0: [0, 1], 1: [2]}),
        lambda: indices.with_moved_rows(section, [([0, 1, 2], [7])], stable_row_ids=True),
        lambda: indices.with_moved_rows(section, [([0], [7]), ([5], [8])], stable_row_ids=False),
        lambda: indices.with_base(section, 3),
    )
    failed: LanceError | None = None
    for edit in edits:
        try:
            edited = edit()
        except LanceError as error:
            failed = error
        else:
            assert edited is None or len(table_pb2.IndexSection.FromString(edited).indices) <= num_indices
    if failed is not None:
        raise failed


def edit_refs(values: Values) -> None:
    """Moves a tag and begins a branch where the files of a tag and a branch are these bytes."""
    branch = f"{BRANCHES}/parent.json"
    store = MemoryStore({f"{TAGS}/tag.json": data_of(values), branch: data_of(values)})
    failed: LanceError | None = None
    try:
        refs.move_tag(store, "tag", 7, branch="x", manifest_size=1)
    except LanceError as error:
        failed = error
    else:
        assert (refs.tags(store)["tag"].version, refs.tags(store)["tag"].branch) == (7, "x")
    try:
        refs.add_branch(store, "parent/child", 5, parent="parent", manifest_size=1)
    except LanceError as error:
        failed = error
    else:
        store.delete(branch)
        assert refs.branches(store)["parent/child"].version == 5
    refs.create_tag(store, "other", 3, branch=None, manifest_size=1)
    refs.delete_tag(store, "other")
    if failed is not None:
        raise failed


def store_json(values: Values) -> None:
    """Stores a text, and reads it again where it is JSON."""
    text = pa.array([data_of(values), None], pa.binary())
    stored = jsonb.from_text(text.view(pa.string()))
    (again, missing) = jsonb.to_text(stored).to_pylist()
    assert missing is None
    # what the library has written is what it would write again
    assert jsonb.to_text(jsonb.from_text(pa.array([again]))).to_pylist() == [again]
    expected = json.loads(data_of(values), parse_int=_number, parse_float=_number)
    assert json.loads(again, parse_int=_number, parse_float=_number) == expected


def _number(text: str) -> object:
    """The stored form of a number: integers of 64 bits, and doubles."""
    if text.lstrip("-").isdigit() and -(2**63) <= int(text[:40]) < 2**64 and len(text) <= 20:
        return int(text)
    return float(text)


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
    with at(file="f"):
        # numbers of more than 64 bits and groups are damage here, where protobuf cuts and skips them
        assert wire.from_manifest(data_of(values), message.fields, message.schema_metadata) == schema
    for field in schema.fields:
        types.storage_type(field)
    assert len(schema.arrow) == len(schema.fields)


def read_logical_type(values: Values) -> None:
    field = Field("c", 0, -1, str(values["logical_type"]))
    types.check(field)
    types.storage_type(field)
    types.arrow_field(field)


def read_json(values: Values) -> None:
    """Reads a document in every way. Its text is that of the oracle, and its members are damaged at most if it is."""
    document = data_of(values)
    documents = pa.array([b"\x20\0\0\0\0\0\0\0", document, None], pa.large_binary())
    # one of the functions of members, which differs from document to document
    number = zlib.crc32(document)
    path, result = _JSON_PATHS[number % len(_JSON_PATHS)], JsonResult(number // 100 % len(JsonResult))
    _, fault = _kernels.json_members(documents, path, result, "a")
    assert fault is None or fault[1] == 1
    try:
        expected = json_oracle.text_of(document)
    except json_oracle.RefusedError:
        expected = ""
    try:
        found = jsonb.to_text(documents).to_pylist()
    except LanceError:
        assert not expected
        raise
    assert found == ["null", expected, None]


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
