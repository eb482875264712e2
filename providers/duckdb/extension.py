"""Loading of the extension that makes `FROM 'path/x.lance'` a table; see extension.cpp.

DuckDB 2.0 accepts extensions of the process: `announce` registers this one, and every database opened afterwards has
it. DuckDB 1.5 loads a file. It loads one without a signature only into databases opened to allow that, so only
`connect` can do it.
"""

from __future__ import annotations

import ctypes
import functools
import sys
import warnings
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Final

import _duckdb
import duckdb

import lance_sql
from lance_sql.values.sql_text import literal

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_FILE_NAME: Final = "lance_sql.duckdb_extension"
# Beside the kernels: in an editable installation this is not the source folder.
_PLACES: Final = [Path(folder) / _FILE_NAME for folder in lance_sql.__path__]
FILE: Final = next(filter(Path.is_file, _PLACES), _PLACES[0])

_NAME: Final = b"lance_sql"
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


class _Functions(ctypes.Structure):
    """lance_sql_functions of the extension, by their names in DuckDB."""

    _fields_ = (
        ("destroy_value", _Pointer),
        ("create_varchar", _Pointer),
        ("add_replacement_scan", _Pointer),
        ("replacement_scan_set_function_name", _Pointer),
        ("replacement_scan_add_parameter", _Pointer),
    )


_Describe: Final = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.POINTER(_Descriptor))

_lock = Lock()
# DuckDB calls them for the life of the process.
_callbacks: list[Any] = []


def announce() -> bool:
    """Registers the extension with DuckDB, once. Returns whether DuckDB accepts extensions of the process."""
    with _lock:
        if _callbacks:
            return True
        if sys.platform == "win32" or not FILE.is_file():
            return False
        library = ctypes.CDLL(_duckdb.__file__)
        if not hasattr(library, "duckdb_register_static_extension"):
            return False
        extension = ctypes.CDLL(str(FILE))
        functions = _Functions.in_dll(extension, "lance_sql_functions")
        for name, _ in _Functions._fields_:
            setattr(functions, name, ctypes.cast(getattr(library, f"duckdb_{name}"), _Pointer))
        entry = ctypes.cast(extension.lance_sql_init_c_api, _Pointer)
        describe = _Describe(functools.partial(_describe, entry))
        _callbacks.append(describe)
        library.duckdb_register_static_extension.argtypes = (_Describe,)
        library.duckdb_register_static_extension(describe)
        return True


def open_with_extension(database: str, options: dict[str, Any]) -> DuckDBPyConnection:
    """Opens a connection whose database has the extension, or one without it if the database was already open."""
    if announce():
        return duckdb.connect(database, **options)
    allowing = {**options, "config": {"allow_unsigned_extensions": "true", **(options.get("config") or {})}}
    try:
        connection = duckdb.connect(database, **allowing)
    except duckdb.ConnectionException:
        # all connections of a process to one file have the same configuration
        return duckdb.connect(database, **options)
    try:
        connection.execute("LOAD " + literal(str(FILE)))
    except duckdb.Error as error:
        reason = str(error).partition("\n")[0]
        warnings.warn(f"FROM 'x.lance' is not a table here, lance_scan('x.lance') is: {reason}", stacklevel=4)
    return connection


def _describe(entry: ctypes.c_void_p, descriptor: Any) -> int:
    described = descriptor.contents
    described.version = _LAYOUT
    described.name = _NAME
    described.extension_version = b"1"
    described.api_version = b"v1.2.0"
    described.entry_capi_v1 = entry
    return 0
