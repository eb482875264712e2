"""Conversion of transactions to and from messages: the complete form, for conflict checks.

Source: message lance.table.Transaction.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from google.protobuf.unknown_fields import UnknownFieldSet

from lance_sql.errors import CorruptFile, LanceError, UnsupportedFeature, at
from lance_sql.format.proto import transaction_pb2
from lance_sql.format.schema.wire import from_messages, to_messages
from lance_sql.table import fragment_wire, indices
from lance_sql.table.fragment import Fragment
from lance_sql.table.paths import BasePath
from lance_sql.values import bitmaps
from lance_sql.values.arrays import U32
from lance_sql.writes.commit.operations import (
    Append,
    Clone,
    CreateIndex,
    DataReplacement,
    Delete,
    Merge,
    Operation,
    Other,
    Overwrite,
    Project,
    Replacement,
    ReserveFragments,
    Restore,
    Rewrite,
    RewriteGroup,
    Update,
    UpdateBases,
    UpdateConfig,
    UpdateMap,
    UpdateMode,
)

_Message = transaction_pb2.Transaction

_MAX_OFFSETS: Final = 2**26

# Fields of an Update: inserted keys, for conflicts with commits that have such a list as well; and a form of
# `updated_fragment_offset_bitmaps` that is no longer written.
_IGNORED_IN_UPDATES: Final = {8, 9}


@dataclass(frozen=True, slots=True)
class Transaction:
    """Transaction of a commit.

    read_version: the version that the change was computed from, or rebased on; 0 for the first version of a table
    """

    read_version: int
    uuid: str
    operation: Operation
    properties: Mapping[str, str] = dataclasses.field(default_factory=dict)

    @property
    def file_name(self) -> str:
        """Name of its file in `_transactions`."""
        return file_name(self.read_version, self.uuid)


def file_name(read_version: int, uuid: str) -> str:
    """Returns the name of a transaction's file in `_transactions`."""
    return f"{read_version}-{uuid}.txn"


def parse(data: bytes) -> Transaction:
    """Parses a transaction from a serialized message; an operation that cannot be parsed is `Other`.

    raises: CorruptFile for bytes that are not a message
    """
    with at():
        message = _Message.FromString(data)
    name = message.WhichOneof("operation")
    reader = _READERS.get(name or "")
    operation: Operation = Other(name)
    if reader is not None and name is not None and _is_known(getattr(message, name)):
        # Valid or not: an unreadable operation cannot be checked for conflicts.
        with suppress(LanceError), at():
            operation = reader(getattr(message, name))
    return Transaction(message.read_version, message.uuid, operation, dict(message.transaction_properties))


def _is_known(message: Any) -> bool:
    """Whether an operation has no unknown fields, except those that are ignored."""
    unknown = UnknownFieldSet(message)
    numbers = {unknown[i].field_number for i in range(len(unknown))}
    return numbers <= (_IGNORED_IN_UPDATES if isinstance(message, _Message.Update) else set())


def serialize(transaction: Transaction) -> bytes:
    """Returns the serialized message."""
    message = _Message(
        read_version=transaction.read_version,
        uuid=transaction.uuid,
        transaction_properties=transaction.properties,
    )
    name, part = _operation(transaction.operation)
    getattr(message, name).CopyFrom(part)
    del part
    return bytes(message.SerializeToString(deterministic=True))


def _operation(operation: Operation) -> tuple[str, Any]:
    """Returns the name of an operation's field, and its message."""
    match operation:
        case Append(new):
            return "append", _Message.Append(fragments=_messages(new))
        case Delete(updated, deleted, predicate):
            return "delete", _Message.Delete(
                updated_fragments=_messages(updated), deleted_fragment_ids=deleted, predicate=predicate
            )
        case Overwrite(new, schema, config):
            return "overwrite", _Message.Overwrite(
                fragments=_messages(new),
                schema=to_messages(schema),
                schema_metadata=schema.metadata,
                config_upsert_values=config,
            )
        case Update():
            return "update", _update(operation)
        case Rewrite(groups):
            return "rewrite", _Message.Rewrite(
                groups=[
                    _Message.Rewrite.RewriteGroup(
                        old_fragments=_messages(group.old_fragments), new_fragments=_messages(group.new_fragments)
                    )
                    for group in groups
                ]
            )
        case Merge(fragments, schema, preserves, _, _, new):
            return "merge", _Message.Merge(
                fragments=_messages((*fragments, *new)),
                schema=to_messages(schema),
                schema_metadata=schema.metadata,
                preserves_nullability=preserves,
            )
        case Project(schema, preserves):
            return "project", _Message.Project(schema=to_messages(schema), preserves_nullability=preserves)
        case Restore(version):
            return "restore", _Message.Restore(version=version)
        case ReserveFragments(num_fragments):
            return "reserve_fragments", _Message.ReserveFragments(num_fragments=num_fragments)
        case UpdateConfig():
            return "update_config", _update_config(operation)
        case DataReplacement(replacements):
            return "data_replacement", _data_replacement(replacements)
        case CreateIndex(new_indices, removed_indices):
            return "create_index", _Message.CreateIndex(
                new_indices=map(indices.serialize, new_indices), removed_indices=map(indices.serialize, removed_indices)
            )
        case Clone():
            return "clone", _Message.Clone(
                is_shallow=operation.is_shallow,
                ref_name=operation.ref_name,
                ref_version=operation.ref_version,
                ref_path=operation.ref_path,
                branch_name=operation.branch_name,
            )
        case _:
            raise AssertionError(f"{operation} is judged, never written")


def _update(operation: Update) -> Any:
    return _Message.Update(
        removed_fragment_ids=operation.removed_fragment_ids,
        updated_fragments=_messages(operation.updated_fragments),
        new_fragments=_messages(operation.new_fragments),
        fields_modified=operation.fields_modified,
        fields_for_preserving_frag_bitmap=operation.fields_for_preserving_frag_bitmap,
        update_mode=_Message.Update.UpdateMode.Name(operation.mode.value),
        updated_fragment_offset_bitmaps={
            number: bytes(bitmaps.bitmap(offsets).serialize()) for number, offsets in operation.updated_offsets.items()
        },
    )


def _data_replacement(replacements: Iterable[Replacement]) -> Any:
    group = _Message.DataReplacement.DataReplacementGroup
    return _Message.DataReplacement(
        replacements=[
            group(fragment_id=each.fragment_id, new_file=fragment_wire.serialize_file(each.file))
            for each in replacements
        ]
    )


def _messages(values: Iterable[Fragment]) -> list[Any]:
    return [fragment_wire.serialize(fragment) for fragment in values]


def _update_config(operation: UpdateConfig) -> Any:
    message = _Message.UpdateConfig()
    for name, change in (
        ("config_updates", operation.config),
        ("table_metadata_updates", operation.table_metadata),
        ("schema_metadata_updates", operation.schema_metadata),
    ):
        if change is not None:
            getattr(message, name).CopyFrom(_update_map(change))
    for field_id, change in operation.field_metadata.items():
        message.field_metadata_updates[field_id].CopyFrom(_update_map(change))
    return message


def _update_map(change: UpdateMap) -> Any:
    entries = [_Message.UpdateMap.Entry(key=key, value=value) for key, value in change.entries.items()]
    return _Message.UpdateMap(update_entries=entries, replace=change.replace)


def _fragments(messages: Iterable[Any]) -> tuple[Fragment, ...]:
    return tuple(fragment_wire.parse(message) for message in messages)


def _update_mode(number: int) -> UpdateMode:
    if number not in (mode.value for mode in UpdateMode):
        raise UnsupportedFeature(f"an update of the mode {number} is not supported")
    return UpdateMode(number)


def _read_update(message: Any) -> Update:
    return Update(
        removed_fragment_ids=tuple(message.removed_fragment_ids),
        updated_fragments=_fragments(message.updated_fragments),
        new_fragments=_fragments(message.new_fragments),
        fields_modified=tuple(message.fields_modified),
        fields_for_preserving_frag_bitmap=tuple(message.fields_for_preserving_frag_bitmap),
        mode=_update_mode(message.update_mode),
        updated_offsets={
            number: _offsets(content) for number, content in message.updated_fragment_offset_bitmaps.items()
        },
    )


def _offsets(content: bytes) -> U32:
    bitmap = bitmaps.deserialize(content, "changed rows")
    # A few bytes of runs can represent 2^32 rows.
    if len(bitmap) > _MAX_OFFSETS:
        raise CorruptFile(f"an update of {len(bitmap)} rows in place")
    return np.array(bitmap.to_array(), np.uint32)


def _read_rewrite(message: Any) -> Rewrite:
    groups = [RewriteGroup(_fragments(each.old_fragments), _fragments(each.new_fragments)) for each in message.groups]
    if message.old_fragments:
        groups.append(RewriteGroup(_fragments(message.old_fragments), _fragments(message.new_fragments)))
    return Rewrite(tuple(groups))


def _read_update_config(message: Any) -> UpdateConfig:
    """Parses the changes, including the form of earlier releases."""

    def change(name: str) -> UpdateMap | None:
        return _read_map(getattr(message, name)) if message.HasField(name) else None

    config, schema_metadata = change("config_updates"), change("schema_metadata_updates")
    if config is None and (message.upsert_values or message.delete_keys):
        config = UpdateMap({**dict(message.upsert_values), **dict.fromkeys(message.delete_keys)})
    if schema_metadata is None and message.schema_metadata:
        schema_metadata = UpdateMap(dict(message.schema_metadata), replace=True)
    field_metadata = {number: _read_map(each) for number, each in message.field_metadata_updates.items()}
    return UpdateConfig(config, change("table_metadata_updates"), schema_metadata, field_metadata)


def _read_map(message: Any) -> UpdateMap:
    entries = {entry.key: entry.value if entry.HasField("value") else None for entry in message.update_entries}
    return UpdateMap(entries, message.replace)


def _read_clone(message: Any) -> Clone:
    return Clone(
        ref_version=message.ref_version,
        ref_path=message.ref_path,
        ref_name=message.ref_name if message.HasField("ref_name") else None,
        branch_name=message.branch_name if message.HasField("branch_name") else None,
        is_shallow=message.is_shallow,
    )


_READERS: Final[Mapping[str, Callable[[Any], Operation]]] = {
    "append": lambda message: Append(_fragments(message.fragments)),
    "delete": lambda message: Delete(
        _fragments(message.updated_fragments), tuple(message.deleted_fragment_ids), message.predicate
    ),
    "overwrite": lambda message: Overwrite(
        _fragments(message.fragments),
        from_messages(message.schema, message.schema_metadata),
        dict(message.config_upsert_values),
    ),
    "create_index": lambda message: CreateIndex(
        tuple(indices.parse(index) for index in message.new_indices),
        tuple(indices.parse(index) for index in message.removed_indices),
    ),
    "rewrite": _read_rewrite,
    "merge": lambda message: Merge(
        _fragments(message.fragments),
        from_messages(message.schema, message.schema_metadata),
        message.preserves_nullability,
    ),
    "restore": lambda message: Restore(message.version),
    "reserve_fragments": lambda message: ReserveFragments(message.num_fragments),
    "update": _read_update,
    "project": lambda message: Project(from_messages(message.schema), message.preserves_nullability),
    "update_config": _read_update_config,
    "data_replacement": lambda message: DataReplacement(
        tuple(Replacement(each.fragment_id, fragment_wire.parse_file(each.new_file)) for each in message.replacements)
    ),
    "clone": _read_clone,
    "update_bases": lambda message: UpdateBases(
        tuple(
            BasePath(base.id, base.name if base.HasField("name") else None, base.is_dataset_root, base.path)
            for base in message.new_bases
        )
    ),
}
