"""Memory of sources that can be read once: readers, generators and other iterators.

Arrow cannot tell a stream that was read from one without rows. A retry that writes what is left of its source would
lose rows without an error, so a source that was read, wholly or until it failed, is refused when it is passed again.
"""

from __future__ import annotations

import itertools
import sys
import weakref
from collections.abc import Iterator, Mapping
from inspect import GEN_CLOSED, getgeneratorstate
from types import GeneratorType
from typing import Any, Final

import pyarrow as pa

from lance_sql.errors import InvalidArgument

_MOST_HELD: Final = 64
"""Limit of sources without weak references, such as `map` and the iterator of a list, that are remembered."""

_weakly: dict[int, weakref.ref[object]] = {}
_held: list[object] = []


def check(source: object) -> None:
    """Checks that a source can still give all of its rows. Sources that start again for each reader can always.

    raises: InvalidArgument for a source that an earlier call read, or that is closed
    """
    for stream in _streams(source):
        if _was_read(stream) or (isinstance(stream, GeneratorType) and getgeneratorstate(stream) == GEN_CLOSED):
            raise refusal(_kind(stream))


def refusal(kind: str) -> InvalidArgument:
    """Returns the error of a source that was read."""
    return InvalidArgument(
        f"The {kind} of rows was read before, wholly or until it failed, and cannot start again: pass a new one, also"
        " for a retry"
    )


def begin(source: object) -> None:
    """Remembers that the first rows of a source are about to be read.

    raises: InvalidArgument as `check`
    """
    check(source)
    for stream in _streams(source):
        try:
            _weakly[id(stream)] = weakref.ref(stream, _Forget(id(stream)))
        except TypeError:
            del _held[: -_MOST_HELD + 1]
            _held.append(stream)


def is_read_once(source: object) -> bool:
    """Whether the rows of a source are gone when they were read."""
    return isinstance(source, (pa.RecordBatchReader, Iterator))


class _Forget:
    """Removes the entry of a source that was deleted, whose id another object may get."""

    def __init__(self, key: int) -> None:
        self._key = key

    def __call__(self, reference: weakref.ref[object]) -> None:
        if _weakly.get(self._key) is reference:
            del _weakly[self._key]


def _was_read(stream: object) -> bool:
    reference = _weakly.get(id(stream))
    if reference is not None and reference() is stream:
        return True
    _let_go()
    return any(each is stream for each in _held)


def _let_go() -> None:
    """Drops the sources to which only this module refers."""
    # by index: a name would be one more reference
    for number in reversed(range(len(_held))):
        if sys.getrefcount(_held[number]) <= _ONLY_HERE:
            del _held[number]


_held.append(object())
_ONLY_HERE: Final = sys.getrefcount(_held[0])
"""References to an object of the list while they are counted."""
_held.clear()


def _streams(source: object) -> list[Any]:
    """Returns the objects that can be read once: the source itself, or those that a wrapper in Python exports."""
    if is_read_once(source):
        return [source]
    if not hasattr(source, "__arrow_c_stream__") or type(source).__module__.partition(".")[0] == "lance_sql":
        return []
    inside = getattr(source, "__dict__", None)
    return [each for each in inside.values() if _gives_rows(each)] if isinstance(inside, Mapping) else []


def _gives_rows(value: object) -> bool:
    """Whether an attribute may be what its object exports: a reader, or an iterator that ends."""
    if isinstance(value, pa.RecordBatchReader):
        return True
    if not isinstance(value, Iterator) or isinstance(value, (itertools.count, itertools.cycle, itertools.repeat)):
        return False
    return type(value).__module__ in ("builtins", "itertools") or hasattr(value, "__arrow_c_stream__")


def _kind(stream: object) -> str:
    if isinstance(stream, pa.RecordBatchReader):
        return "reader"
    return "generator" if isinstance(stream, GeneratorType) else f"iterator {type(stream).__name__!r}"
