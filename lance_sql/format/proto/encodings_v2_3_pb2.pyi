from lance_sql.format.proto import encodings_v2_1_pb2 as _encodings_v2_1_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ChunkLevels(_message.Message):
    __slots__ = ["definition", "repetition", "repetition_index_depth"]
    DEFINITION_FIELD_NUMBER: _ClassVar[int]
    REPETITION_FIELD_NUMBER: _ClassVar[int]
    REPETITION_INDEX_DEPTH_FIELD_NUMBER: _ClassVar[int]
    definition: _encodings_v2_1_pb2.CompressiveEncoding
    repetition: _encodings_v2_1_pb2.CompressiveEncoding
    repetition_index_depth: int
    def __init__(self, repetition: _Optional[_Union[_encodings_v2_1_pb2.CompressiveEncoding, _Mapping]] = ..., definition: _Optional[_Union[_encodings_v2_1_pb2.CompressiveEncoding, _Mapping]] = ..., repetition_index_depth: _Optional[int] = ...) -> None: ...

class Chunked(_message.Message):
    __slots__ = ["dictionary", "levels", "num_buffers", "num_dictionary_items", "num_items", "values"]
    DICTIONARY_FIELD_NUMBER: _ClassVar[int]
    LEVELS_FIELD_NUMBER: _ClassVar[int]
    NUM_BUFFERS_FIELD_NUMBER: _ClassVar[int]
    NUM_DICTIONARY_ITEMS_FIELD_NUMBER: _ClassVar[int]
    NUM_ITEMS_FIELD_NUMBER: _ClassVar[int]
    VALUES_FIELD_NUMBER: _ClassVar[int]
    dictionary: _encodings_v2_1_pb2.CompressiveEncoding
    levels: ChunkLevels
    num_buffers: int
    num_dictionary_items: int
    num_items: int
    values: _encodings_v2_1_pb2.CompressiveEncoding
    def __init__(self, values: _Optional[_Union[_encodings_v2_1_pb2.CompressiveEncoding, _Mapping]] = ..., levels: _Optional[_Union[ChunkLevels, _Mapping]] = ..., dictionary: _Optional[_Union[_encodings_v2_1_pb2.CompressiveEncoding, _Mapping]] = ..., num_dictionary_items: _Optional[int] = ..., num_buffers: _Optional[int] = ..., num_items: _Optional[int] = ...) -> None: ...

class Dense(_message.Message):
    __slots__ = ["layers"]
    LAYERS_FIELD_NUMBER: _ClassVar[int]
    layers: _containers.RepeatedScalarFieldContainer[_encodings_v2_1_pb2.RepDefLayer]
    def __init__(self, layers: _Optional[_Iterable[_Union[_encodings_v2_1_pb2.RepDefLayer, str]]] = ...) -> None: ...

class Layer(_message.Message):
    __slots__ = ["item", "list"]
    ITEM_FIELD_NUMBER: _ClassVar[int]
    LIST_FIELD_NUMBER: _ClassVar[int]
    item: ValiditySet
    list: ListLayer
    def __init__(self, item: _Optional[_Union[ValiditySet, _Mapping]] = ..., list: _Optional[_Union[ListLayer, _Mapping]] = ...) -> None: ...

class ListLayer(_message.Message):
    __slots__ = ["counts", "non_empty_positions", "num_child_slots", "num_non_empty", "validity"]
    COUNTS_FIELD_NUMBER: _ClassVar[int]
    NON_EMPTY_POSITIONS_FIELD_NUMBER: _ClassVar[int]
    NUM_CHILD_SLOTS_FIELD_NUMBER: _ClassVar[int]
    NUM_NON_EMPTY_FIELD_NUMBER: _ClassVar[int]
    VALIDITY_FIELD_NUMBER: _ClassVar[int]
    counts: _encodings_v2_1_pb2.CompressiveEncoding
    non_empty_positions: _encodings_v2_1_pb2.CompressiveEncoding
    num_child_slots: int
    num_non_empty: int
    validity: ValiditySet
    def __init__(self, num_child_slots: _Optional[int] = ..., non_empty_positions: _Optional[_Union[_encodings_v2_1_pb2.CompressiveEncoding, _Mapping]] = ..., num_non_empty: _Optional[int] = ..., counts: _Optional[_Union[_encodings_v2_1_pb2.CompressiveEncoding, _Mapping]] = ..., validity: _Optional[_Union[ValiditySet, _Mapping]] = ...) -> None: ...

class Nulls(_message.Message):
    __slots__ = []
    def __init__(self) -> None: ...

class PlanarLayout(_message.Message):
    __slots__ = ["structure", "values"]
    STRUCTURE_FIELD_NUMBER: _ClassVar[int]
    VALUES_FIELD_NUMBER: _ClassVar[int]
    structure: Structure
    values: Values
    def __init__(self, structure: _Optional[_Union[Structure, _Mapping]] = ..., values: _Optional[_Union[Values, _Mapping]] = ...) -> None: ...

class Scalar(_message.Message):
    __slots__ = ["value"]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    value: bytes
    def __init__(self, value: _Optional[bytes] = ...) -> None: ...

class Sparse(_message.Message):
    __slots__ = ["layers"]
    LAYERS_FIELD_NUMBER: _ClassVar[int]
    layers: _containers.RepeatedCompositeFieldContainer[Layer]
    def __init__(self, layers: _Optional[_Iterable[_Union[Layer, _Mapping]]] = ...) -> None: ...

class Structure(_message.Message):
    __slots__ = ["dense", "sparse"]
    DENSE_FIELD_NUMBER: _ClassVar[int]
    SPARSE_FIELD_NUMBER: _ClassVar[int]
    dense: Dense
    sparse: Sparse
    def __init__(self, dense: _Optional[_Union[Dense, _Mapping]] = ..., sparse: _Optional[_Union[Sparse, _Mapping]] = ...) -> None: ...

class ValiditySet(_message.Message):
    __slots__ = ["meaning", "num_positions", "positions"]
    class Meaning(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = []
    MEANING_FIELD_NUMBER: _ClassVar[int]
    NULL_POSITIONS: ValiditySet.Meaning
    NUM_POSITIONS_FIELD_NUMBER: _ClassVar[int]
    POSITIONS_FIELD_NUMBER: _ClassVar[int]
    UNKNOWN: ValiditySet.Meaning
    VALID_POSITIONS: ValiditySet.Meaning
    meaning: ValiditySet.Meaning
    num_positions: int
    positions: _encodings_v2_1_pb2.CompressiveEncoding
    def __init__(self, meaning: _Optional[_Union[ValiditySet.Meaning, str]] = ..., positions: _Optional[_Union[_encodings_v2_1_pb2.CompressiveEncoding, _Mapping]] = ..., num_positions: _Optional[int] = ...) -> None: ...

class Values(_message.Message):
    __slots__ = ["chunked", "constant", "nulls", "zipped"]
    CHUNKED_FIELD_NUMBER: _ClassVar[int]
    CONSTANT_FIELD_NUMBER: _ClassVar[int]
    NULLS_FIELD_NUMBER: _ClassVar[int]
    ZIPPED_FIELD_NUMBER: _ClassVar[int]
    chunked: Chunked
    constant: Scalar
    nulls: Nulls
    zipped: Zipped
    def __init__(self, chunked: _Optional[_Union[Chunked, _Mapping]] = ..., zipped: _Optional[_Union[Zipped, _Mapping]] = ..., constant: _Optional[_Union[Scalar, _Mapping]] = ..., nulls: _Optional[_Union[Nulls, _Mapping]] = ...) -> None: ...

class Zipped(_message.Message):
    __slots__ = ["bits_per_offset", "bits_per_value", "levels", "num_items", "num_visible_items", "values"]
    BITS_PER_OFFSET_FIELD_NUMBER: _ClassVar[int]
    BITS_PER_VALUE_FIELD_NUMBER: _ClassVar[int]
    LEVELS_FIELD_NUMBER: _ClassVar[int]
    NUM_ITEMS_FIELD_NUMBER: _ClassVar[int]
    NUM_VISIBLE_ITEMS_FIELD_NUMBER: _ClassVar[int]
    VALUES_FIELD_NUMBER: _ClassVar[int]
    bits_per_offset: int
    bits_per_value: int
    levels: ZippedLevels
    num_items: int
    num_visible_items: int
    values: _encodings_v2_1_pb2.CompressiveEncoding
    def __init__(self, values: _Optional[_Union[_encodings_v2_1_pb2.CompressiveEncoding, _Mapping]] = ..., levels: _Optional[_Union[ZippedLevels, _Mapping]] = ..., bits_per_value: _Optional[int] = ..., bits_per_offset: _Optional[int] = ..., num_items: _Optional[int] = ..., num_visible_items: _Optional[int] = ...) -> None: ...

class ZippedLevels(_message.Message):
    __slots__ = ["bits_def", "bits_rep"]
    BITS_DEF_FIELD_NUMBER: _ClassVar[int]
    BITS_REP_FIELD_NUMBER: _ClassVar[int]
    bits_def: int
    bits_rep: int
    def __init__(self, bits_rep: _Optional[int] = ..., bits_def: _Optional[int] = ...) -> None: ...
