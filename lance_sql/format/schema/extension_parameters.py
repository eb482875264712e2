"""The parameters of extension types in stored fields: the shape of a tensor, the name of a foreign type.

Types defined in Python provide them. Arrow's own types provide them only with their schema in the
C data interface.

Source: Arrow C data interface, ArrowSchema.metadata.
"""

from __future__ import annotations

import ctypes
import struct

import pyarrow as pa


class _ArrowSchema(ctypes.Structure):
    """The first members of the struct."""

    _fields_ = (("format", ctypes.c_char_p), ("name", ctypes.c_char_p), ("metadata", ctypes.c_void_p))


_pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
_pointer_of.restype = ctypes.c_void_p
_pointer_of.argtypes = (ctypes.py_object, ctypes.c_char_p)


def extension_parameters(type: pa.BaseExtensionType) -> bytes:
    """Returns the serialized parameters of an extension type; empty for one without."""
    serialize = getattr(type, "__arrow_ext_serialize__", None)
    if serialize is not None:
        return bytes(serialize())
    capsule = pa.field("", type).__arrow_c_schema__()
    schema = _ArrowSchema.from_address(_pointer_of(capsule, b"arrow_schema"))
    return dict(_entries(schema.metadata)).get(b"ARROW:extension:metadata", b"")


def _entries(address: int | None) -> list[tuple[bytes, bytes]]:
    """Returns keys and values, each after its length; their number comes first."""
    if address is None:
        return []

    def number() -> int:
        nonlocal address
        assert address is not None
        (value,) = struct.unpack("=i", ctypes.string_at(address, 4))
        address += 4
        return int(value)

    def text() -> bytes:
        nonlocal address
        length = number()
        assert address is not None
        value = ctypes.string_at(address, length)
        address += length
        return value

    return [(text(), text()) for _ in range(number())]
