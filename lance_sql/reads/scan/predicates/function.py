"""What a function inside of filters is: the types that it takes, and how its values are computed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import pyarrow as pa

Types: TypeAlias = Sequence[pa.DataType]


@dataclass(frozen=True, slots=True)
class Function:
    """result: the type for plain argument types, None where the function is not defined
    evaluate: the result type, then an array for each argument, constants repeated -> array
    """

    result: Callable[[Types], pa.DataType | None]
    evaluate: Callable[..., pa.Array]
