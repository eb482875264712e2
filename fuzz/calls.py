"""Kernels called directly: with counts and buffers that do not fit together, and outputs of any size.

A call is its arguments by name, in order. Outputs are given by their number of bytes: each has exactly that size, and
the bytes after it are checked afterwards. Names with `.data` and `.offsets` are the two halves of one argument.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from fuzz.inputs import Value, Values
from fuzz.mutations import damage, damage_count
from lance_sql import _kernels as kernels

_CANARY = 0xA5
_BEHIND = 64
_MOST_OUTPUT = 1 << 20
_OF_MANY_PAGES = ("distinct_numbers", "number_facts", "number_pages")
"""Kernels whose first argument is the values of one page after the other."""


def mutate(rng: np.random.Generator, values: Values) -> Values:
    """One to three arguments are others."""
    changed = dict(values)
    names = [name for name, value in values.items() if name != "kernel" and value is not None]
    buffers = [name for name in names if isinstance(values[name], bytes)]
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        # counts are soon refused, bytes get further
        among = buffers if rng.random() < 0.6 else names
        name = among[int(rng.integers(len(among)))]
        changed[name] = _other(rng, name, changed[name])
    return changed


def some_cuts(values: Values) -> Iterator[tuple[str, int]]:
    """Each buffer without its last bytes, or its half."""
    for name, value in values.items():
        if isinstance(value, bytes):
            yield from ((name, length) for length in {0, len(value) // 2, *range(max(0, len(value) - 9), len(value))})


def _other(rng: np.random.Generator, name: str, value: Value) -> Value:
    if isinstance(value, bytes):
        return damage(rng, value)
    if isinstance(value, bool):
        return not value
    assert isinstance(value, int)
    if _is_output(name):
        return min(_MOST_OUTPUT, max(0, damage_count(rng, value)))
    return damage_count(rng, value)


def run(values: Values) -> None:
    """The call; raises what the kernel raises."""
    outputs: list[npt.NDArray[np.uint8]] = []
    arguments = prepared({name: value for name, value in values.items() if name != "kernel"}, outputs)
    name = str(values["kernel"])
    try:
        if name == "assemble_chunks":
            _assemble(arguments)
        elif name in _OF_MANY_PAGES:
            values_of_page, *others = arguments
            getattr(kernels, name)([values_of_page] * 2, *others)
        else:
            getattr(kernels, name)(*arguments)
    finally:
        check_ends(outputs)


def _assemble(arguments: list[Any]) -> None:
    """Puts the halves of the parts together."""
    chunk_starts, num_levels, *parts, large, out = arguments
    halves = zip(parts[::2], parts[1::2], strict=True)
    rep, def_, *buffers = [None if data is None else (data, offsets) for data, offsets in halves]
    kernels.assemble_chunks(chunk_starts, num_levels, rep, def_, buffers, large, out)  # type: ignore[arg-type]  # arguments are wrong on purpose


def prepared(arguments: Values, outputs: list[npt.NDArray[np.uint8]]) -> list[Any]:
    """The arguments as kernels take them; outputs are added to `outputs`."""
    return [_argument(name, value, outputs) for name, value in arguments.items()]


def check_ends(outputs: Sequence[npt.NDArray[np.uint8]]) -> None:
    """Checks the bytes after outputs."""
    for out in outputs:
        assert (out[len(out) - _BEHIND :] == _CANARY).all(), "written behind the end"


def _argument(name: str, value: Value, outputs: list[npt.NDArray[np.uint8]]) -> object:
    if _is_output(name) and isinstance(value, int):
        out = np.full(value + _BEHIND, _CANARY, np.uint8)
        outputs.append(out)
        return out[:value]
    return _exact(value) if isinstance(value, bytes) else value


def _is_output(name: str) -> bool:
    return name.startswith("out") and not name.endswith("bits")


def _exact(value: Value) -> npt.NDArray[np.uint8]:
    """A copy in its own memory, so that reads past its end are detected."""
    assert isinstance(value, bytes)
    return np.frombuffer(value, np.uint8).copy()
