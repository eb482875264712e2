"""Names that a package imports on first use, so that importing the package costs next to nothing.

They stand once, as imports that type checkers follow:

    if TYPE_CHECKING:
        from lance_sql.opening import open as open
    else:
        __getattr__ = first_use.of(__name__)
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module


@cache
def names(package: str) -> Mapping[str, str]:
    """Returns the modules from which a package takes its names, by name; the package itself for its modules."""
    import ast
    from importlib.util import decode_source
    from pathlib import Path

    file = sys.modules[package].__file__
    assert file is not None
    blocks = [node for node in ast.parse(decode_source(Path(file).read_bytes())).body if isinstance(node, ast.If)]
    imported = [node for block in blocks for node in block.body if isinstance(node, ast.ImportFrom)]
    return {alias.asname: str(node.module) for node in imported for alias in node.names if alias.asname is not None}


def load(package: str, name: str) -> object:
    """Imports one of the names, and keeps it in the package; `__all__` is all of them.

    raises: AttributeError for any other name
    """
    if name == "__all__":
        return sorted(names(package))
    if name not in names(package):
        raise AttributeError(f"module {package!r} has no attribute {name!r}")
    module = names(package)[name]
    value = import_module(f"{package}.{name}") if module == package else getattr(import_module(module), name)
    setattr(sys.modules[package], name, value)
    return value


def of(package: str) -> Callable[[str], object]:
    """Returns the function `__getattr__` of a package."""
    return lambda name: load(package, name)
