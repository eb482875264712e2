from lance_sql.format.proto import table_pb2 as _table_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class CompactedSsTable(_message.Message):
    __slots__ = ["generation", "shard_id"]
    GENERATION_FIELD_NUMBER: _ClassVar[int]
    SHARD_ID_FIELD_NUMBER: _ClassVar[int]
    generation: int
    shard_id: _table_pb2.UUID
    def __init__(self, shard_id: _Optional[_Union[_table_pb2.UUID, _Mapping]] = ..., generation: _Optional[int] = ...) -> None: ...

class MemWalIndexDetails(_message.Message):
    __slots__ = ["compacted_sstables"]
    COMPACTED_SSTABLES_FIELD_NUMBER: _ClassVar[int]
    compacted_sstables: _containers.RepeatedCompositeFieldContainer[CompactedSsTable]
    def __init__(self, compacted_sstables: _Optional[_Iterable[_Union[CompactedSsTable, _Mapping]]] = ...) -> None: ...

class ShardManifest(_message.Message):
    __slots__ = ["current_generation", "replay_after_wal_entry_position", "shard_id", "shard_spec_id", "sstables", "version", "wal_entry_position_last_seen", "writer_epoch"]
    CURRENT_GENERATION_FIELD_NUMBER: _ClassVar[int]
    REPLAY_AFTER_WAL_ENTRY_POSITION_FIELD_NUMBER: _ClassVar[int]
    SHARD_ID_FIELD_NUMBER: _ClassVar[int]
    SHARD_SPEC_ID_FIELD_NUMBER: _ClassVar[int]
    SSTABLES_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    WAL_ENTRY_POSITION_LAST_SEEN_FIELD_NUMBER: _ClassVar[int]
    WRITER_EPOCH_FIELD_NUMBER: _ClassVar[int]
    current_generation: int
    replay_after_wal_entry_position: int
    shard_id: _table_pb2.UUID
    shard_spec_id: int
    sstables: _containers.RepeatedCompositeFieldContainer[SsTable]
    version: int
    wal_entry_position_last_seen: int
    writer_epoch: int
    def __init__(self, version: _Optional[int] = ..., writer_epoch: _Optional[int] = ..., replay_after_wal_entry_position: _Optional[int] = ..., wal_entry_position_last_seen: _Optional[int] = ..., current_generation: _Optional[int] = ..., sstables: _Optional[_Iterable[_Union[SsTable, _Mapping]]] = ..., shard_spec_id: _Optional[int] = ..., shard_id: _Optional[_Union[_table_pb2.UUID, _Mapping]] = ...) -> None: ...

class SsTable(_message.Message):
    __slots__ = ["generation", "path"]
    GENERATION_FIELD_NUMBER: _ClassVar[int]
    PATH_FIELD_NUMBER: _ClassVar[int]
    generation: int
    path: str
    def __init__(self, generation: _Optional[int] = ..., path: _Optional[str] = ...) -> None: ...
