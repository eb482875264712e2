"""Storage options of a process: those of every object store that it opens without other ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

# not of a context: threads of engines open stores, too
_options: Final[dict[str, Any]] = {}


@contextmanager
def storing(options: Mapping[str, Any]) -> Iterator[None]:
    """Adds options for stores that are opened inside the block, in all threads."""
    before = dict(_options)
    _options.update(options)
    try:
        yield
    finally:
        _options.clear()
        _options.update(before)


def with_process_options(options: Mapping[str, Any] | None) -> dict[str, Any]:
    """Returns options of a store, with those of the process that it lacks."""
    return {**_options, **(options or {})}
