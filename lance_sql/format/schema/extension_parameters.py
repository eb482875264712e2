"""The parameters of extension types, as fields store them: the shape of a tensor, the name of a foreign type.

Types that are defined in Python say them. Those of Arrow itself do not, and hand them over with their schema in the
C data interface.

Source: Arrow C data interface, ArrowSchema.metadata.
"""

from __future__ import annotations

import ctypes
import struct

import pyarrow as pa


class _ArrowSchema(ctypes.Structure):
    """The beginning of it."""

    _fields_ = (("format", ctypes.c_char_p), ("name", ctypes.c_char_p), ("metadata", ctypes.c_void_p))


_pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
_pointer_of.restype = ctypes.c_void_p
_pointer_of.argtypes = (ctypes.py_object, ctypes.c_char_p)


def extension_parameters(type: pa.BaseExtensionType) -> bytes:
    """The serialized parameters of an extension type; empty for one without."""
    serialize = getattr(type, "__arrow_ext_serialize__", None)
    if serialize is not None:
        return bytes(serialize())
    capsule = pa.field("", type).__arrow_c_schema__()
    schema = _ArrowSchema.from_address(_pointer_of(capsule, b"arrow_schema"))
    return dict(_entries(schema.metadata)).get(b"ARROW:extension:metadata", b"")


def _entries(address: int | None) -> list[tuple[bytes, bytes]]:
    """Keys and values, each behind its length; their number is first."""
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
