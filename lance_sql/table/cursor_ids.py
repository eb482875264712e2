"""Ids of cursors. Targets and databases store them beside the position that a cursor has delivered.

    5c1f.._000645c4d6f2a1b03f9a    the family, and the order of the id within it

A cursor gets another id when a seek moves it, and when it is created again. The family remains, also if the folder of
the table is moved. It is derived from the name of the cursor and the place of its table, so that a cursor that was lost
with the folder is recognized. The order grows. An id that is later than that of a cursor proves that the cursor came
back from a backup.

Earlier releases wrote ids without an order, which are the family of their successors.
"""

from __future__ import annotations

import hashlib
import re
import time
from typing import Final
from uuid import uuid4

_NUM_HEX: Final = 32
_NUM_RANDOM: Final = 4
_ORDER: Final = re.compile(rf"_([0-9a-f]{{16}})[0-9a-f]{{{_NUM_RANDOM}}}")


def first(name: str, place: str) -> str:
    """Returns the first id of a cursor.

    place: of the table: the same one for each address of it
    """
    return _later_than(0, hashlib.sha256(f"{name}\n{place}".encode()).hexdigest()[:_NUM_HEX])


def following(id: str) -> str:
    """Returns an id of the same family that is later."""
    order = _ORDER.fullmatch(id, id.find("_")) if "_" in id else None
    return _later_than(0 if order is None else int(order[1], 16), family(id))


def family(id: str) -> str:
    """Returns the part that all ids of a cursor share."""
    return id.partition("_")[0]


def is_later(id: str, other: str) -> bool:
    """Whether an id is a later one of the same cursor."""
    return family(id) == family(other) and id > other


def _later_than(order: int, family: str) -> str:
    # the clock of another machine may be ahead
    return f"{family}_{max(time.time_ns() // 1000, order + 1):016x}{uuid4().hex[:_NUM_RANDOM]}"
