"""`FROM 'path/x.lance'` in DuckDB 2.0, for every connection, cursor and view of databases opened after `install`.

DuckDB asks replacement scans for tables that it does not know. One can be added through the C interface, but only
with a handle of the database, which Python connections do not give out and extensions get. So an extension of this
process is announced, without a file: its entry adds the replacement scan to each database that is opened.
"""

from __future__ import annotations

import ctypes
import functools
import sys
from threading import Lock
from typing import TYPE_CHECKING, Any, Final

import _duckdb

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

# The macro that a path becomes an argument of.
PATH_FUNCTION: Final = "__lance_path"

_NAME: Final = b"lance_sql"
_SUFFIX: Final = b".lance"
_LAYOUT: Final = 1

_Pointer: Final = ctypes.c_void_p


class _Descriptor(ctypes.Structure):
    """duckdb_extension_descriptor, layout 1.

    source: header duckdb_static_extension.h
    """

    _fields_ = (
        ("version", ctypes.c_uint32),
        ("set_error", _Pointer),
        ("internal", _Pointer),
        ("name", ctypes.c_char_p),
        ("extension_version", ctypes.c_char_p),
        ("api_version", ctypes.c_char_p),
        ("entry_cpp", _Pointer),
        ("entry_capi_v1", _Pointer),
        ("entry_capi_v2", _Pointer),
    )


class _Access(ctypes.Structure):
    """duckdb_extension_access; get_database returns a pointer to the handle.

    source: header duckdb_extension.h
    """

    _fields_ = (
        ("set_error", _Pointer),
        ("get_database", ctypes.CFUNCTYPE(_Pointer, _Pointer)),
        ("get_api", _Pointer),
    )


_Replace: Final = ctypes.CFUNCTYPE(None, _Pointer, ctypes.c_char_p, _Pointer)
_Enter: Final = ctypes.CFUNCTYPE(ctypes.c_bool, _Pointer, ctypes.POINTER(_Access))
_Describe: Final = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.POINTER(_Descriptor))

_lock = Lock()
# DuckDB calls them for as long as the process lives.
_callbacks: list[Any] = []


def install() -> None:
    """Announces the extension, once; does nothing in a DuckDB that has no such extensions."""
    with _lock:
        if _callbacks or sys.platform == "win32":
            return
        library = ctypes.CDLL(_duckdb.__file__)
        if not hasattr(library, "duckdb_register_static_extension"):
            return
        _declare(library)
        replace = _Replace(functools.partial(_replace, library))
        enter = _Enter(functools.partial(_enter, library, replace))
        describe = _Describe(functools.partial(_describe, enter))
        _callbacks.extend((replace, enter, describe))
        library.duckdb_register_static_extension(describe)


def is_loaded(connection: DuckDBPyConnection) -> bool:
    """Whether the connection's database was opened after `install`."""
    query = "SELECT count(*) FROM duckdb_extensions() WHERE extension_name = ? AND loaded"
    return connection.execute(query, [_NAME.decode()]).fetchall() == [(1,)]


def _declare(library: ctypes.CDLL) -> None:
    """The signatures of the C interface that are used; all pointers but the first are borrowed for the call."""
    library.duckdb_register_static_extension.argtypes = (_Describe,)
    library.duckdb_add_replacement_scan.argtypes = (_Pointer, _Replace, _Pointer, _Pointer)
    library.duckdb_add_replacement_scan.restype = None
    library.duckdb_replacement_scan_set_function_name.argtypes = (_Pointer, ctypes.c_char_p)
    library.duckdb_replacement_scan_set_function_name.restype = None
    library.duckdb_replacement_scan_add_parameter.argtypes = (_Pointer, _Pointer)
    library.duckdb_replacement_scan_add_parameter.restype = None
    library.duckdb_create_varchar.argtypes = (ctypes.c_char_p,)
    library.duckdb_create_varchar.restype = _Pointer
    library.duckdb_destroy_value.argtypes = (ctypes.POINTER(_Pointer),)
    library.duckdb_destroy_value.restype = None


def _describe(enter: Any, descriptor: Any) -> int:
    described = descriptor.contents
    described.version = _LAYOUT
    described.name = _NAME
    described.extension_version = b"1"
    described.api_version = b"v1.2.0"
    described.entry_capi_v1 = ctypes.cast(enter, _Pointer).value
    return 0


def _enter(library: ctypes.CDLL, replace: Any, info: int, access: Any) -> bool:
    """Called for each database that is opened."""
    handle = access.contents.get_database(info)
    if not handle:
        return False
    library.duckdb_add_replacement_scan(_Pointer.from_address(handle), replace, None, None)
    return True


def _replace(library: ctypes.CDLL, info: int, name: bytes, _: int) -> None:
    """Called for each table that DuckDB does not know."""
    if not name.endswith(_SUFFIX):
        return
    library.duckdb_replacement_scan_set_function_name(info, PATH_FUNCTION.encode())
    value = _Pointer(library.duckdb_create_varchar(name))
    library.duckdb_replacement_scan_add_parameter(info, value)
    library.duckdb_destroy_value(ctypes.byref(value))
