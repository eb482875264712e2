"""Ids of cursors. Targets and databases store them beside the position that a cursor has delivered.

    5c1f.._000645c4d6f2a1b03f9a    the family, and the order of the id within it

A cursor gets another id when a seek moves it, and when it is created again. The family remains: it is derived from the
name of the cursor and the oldest commit of its table, so that a cursor that was lost with the folder of its table is
recognized. The order grows. An id that is later than that of a cursor proves that the cursor came back from a backup.

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


def first(name: str, oldest: str) -> str:
    """Returns the first id of a cursor.

    oldest: the identity of the oldest commit of the table, see `Snapshot.token`
    """
    return _later_than(0, hashlib.sha256(f"{name}\n{oldest}".encode()).hexdigest()[:_NUM_HEX])


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
