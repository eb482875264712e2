"""Roaring bitmaps in files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lance_sql.errors import CorruptFile

if TYPE_CHECKING:
    from pyroaring import BitMap


def deserialize(content: bytes, what: str) -> BitMap:
    """The set in serialized bytes. A few bytes of runs can stand for 2^32 numbers: ask for its length before them.

    what: that the numbers are, for messages
    raises: CorruptFile
    """
    # a few milliseconds that most tables need not spend
    from pyroaring import BitMap

    try:
        # checks the counts that the containers claim as well
        return BitMap.deserialize(content)
    except ValueError as error:
        raise CorruptFile(f"not a bitmap of {what} ({error})") from error
