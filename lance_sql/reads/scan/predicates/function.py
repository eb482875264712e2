"""Definition of functions in filters: accepted types and evaluation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import pyarrow as pa

Types: TypeAlias = Sequence[pa.DataType]


@dataclass(frozen=True, slots=True)
class Function:
    """A function in filters.

    result: the type for plain argument types, None if the function is not defined for them
    evaluate: the result type, then an array for each argument, constants repeated -> array
    """

    result: Callable[[Types], pa.DataType | None]
    evaluate: Callable[..., pa.Array]
