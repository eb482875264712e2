from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class IVF(_message.Message):
    __slots__ = ["centroids", "centroids_tensor", "lengths", "loss", "offsets"]
    CENTROIDS_FIELD_NUMBER: _ClassVar[int]
    CENTROIDS_TENSOR_FIELD_NUMBER: _ClassVar[int]
    LENGTHS_FIELD_NUMBER: _ClassVar[int]
    LOSS_FIELD_NUMBER: _ClassVar[int]
    OFFSETS_FIELD_NUMBER: _ClassVar[int]
    centroids: _containers.RepeatedScalarFieldContainer[float]
    centroids_tensor: Tensor
    lengths: _containers.RepeatedScalarFieldContainer[int]
    loss: float
    offsets: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, centroids: _Optional[_Iterable[float]] = ..., offsets: _Optional[_Iterable[int]] = ..., lengths: _Optional[_Iterable[int]] = ..., centroids_tensor: _Optional[_Union[Tensor, _Mapping]] = ..., loss: _Optional[float] = ...) -> None: ...

class ProductCodes(_message.Message):
    __slots__ = ["num_bits", "num_sub_vectors"]
    NUM_BITS_FIELD_NUMBER: _ClassVar[int]
    NUM_SUB_VECTORS_FIELD_NUMBER: _ClassVar[int]
    num_bits: int
    num_sub_vectors: int
    def __init__(self, num_bits: _Optional[int] = ..., num_sub_vectors: _Optional[int] = ...) -> None: ...

class RotatedCodes(_message.Message):
    __slots__ = ["num_bits"]
    NUM_BITS_FIELD_NUMBER: _ClassVar[int]
    num_bits: int
    def __init__(self, num_bits: _Optional[int] = ...) -> None: ...

class ScalarCodes(_message.Message):
    __slots__ = ["num_bits"]
    NUM_BITS_FIELD_NUMBER: _ClassVar[int]
    num_bits: int
    def __init__(self, num_bits: _Optional[int] = ...) -> None: ...

class Tensor(_message.Message):
    __slots__ = ["data", "data_type", "shape"]
    class DataType(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = []
    BFLOAT16: Tensor.DataType
    DATA_FIELD_NUMBER: _ClassVar[int]
    DATA_TYPE_FIELD_NUMBER: _ClassVar[int]
    FLOAT16: Tensor.DataType
    FLOAT32: Tensor.DataType
    FLOAT64: Tensor.DataType
    SHAPE_FIELD_NUMBER: _ClassVar[int]
    UINT16: Tensor.DataType
    UINT32: Tensor.DataType
    UINT64: Tensor.DataType
    UINT8: Tensor.DataType
    data: bytes
    data_type: Tensor.DataType
    shape: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, data_type: _Optional[_Union[Tensor.DataType, str]] = ..., shape: _Optional[_Iterable[int]] = ..., data: _Optional[bytes] = ...) -> None: ...

class VectorIndexDetails(_message.Message):
    __slots__ = ["metric", "product_codes", "rotated_codes", "scalar_codes", "target_partition_size", "vectors"]
    METRIC_FIELD_NUMBER: _ClassVar[int]
    PRODUCT_CODES_FIELD_NUMBER: _ClassVar[int]
    ROTATED_CODES_FIELD_NUMBER: _ClassVar[int]
    SCALAR_CODES_FIELD_NUMBER: _ClassVar[int]
    TARGET_PARTITION_SIZE_FIELD_NUMBER: _ClassVar[int]
    VECTORS_FIELD_NUMBER: _ClassVar[int]
    metric: int
    product_codes: ProductCodes
    rotated_codes: RotatedCodes
    scalar_codes: ScalarCodes
    target_partition_size: int
    vectors: Vectors
    def __init__(self, metric: _Optional[int] = ..., target_partition_size: _Optional[int] = ..., product_codes: _Optional[_Union[ProductCodes, _Mapping]] = ..., scalar_codes: _Optional[_Union[ScalarCodes, _Mapping]] = ..., rotated_codes: _Optional[_Union[RotatedCodes, _Mapping]] = ..., vectors: _Optional[_Union[Vectors, _Mapping]] = ...) -> None: ...

class Vectors(_message.Message):
    __slots__ = []
    def __init__(self) -> None: ...
