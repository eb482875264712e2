"""Position of a stream of changes, stored by Spark in its checkpoint as JSON.

    {"version": null}                                              before the first batch
    {"version": 7, "start": 3, "part": 0, "parts": 0, "shares": 0}  every commit from 4 to 7 was delivered
    {"version": 7, .., "commit": "2026-11-21T02:18:51+00:00 6-5c1f..txn"}    and version 7 was this commit
    {"version": 3, "start": 3, "part": 2, "parts": 5, "shares": 5}  two fifths of the rows of version 3 were delivered

After a restart, the first batch may be planned again from its end alone. Therefore every offset contains the start of
the stream, which may have been "the newest version" or a time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from lance_sql.errors import InvalidArgument

INITIAL: Final[dict[str, Any]] = {"version": None}
_FIELDS: Final = ("version", "start", "part", "parts", "shares")


@dataclass(frozen=True)
class Offset:
    """A position between two commits, or between two parts of the initial rows of a stream.

    version: all commits up to this version were delivered
    start: the version after which the stream began
    part, parts: the number of delivered parts of the rows of version `start`, and their total; 0 for a stream that
        begins with changes
    shares: maximum number of parts of these rows
    commit: the identity of `version`, see `Snapshot.token`; None for a stream that an earlier release began
    """

    version: int
    start: int
    part: int = 0
    parts: int = 0
    shares: int = 0
    commit: str | None = None

    @property
    def is_bootstrapping(self) -> bool:
        """Whether some initial rows of the stream are not delivered yet."""
        return self.part < self.parts

    def at_part(self, part: int) -> Offset:
        """Returns the offset after this many parts of the initial rows."""
        return replace(self, part=min(part, self.parts))

    def at(self, version: int, commit: str | None) -> Offset:
        """Returns the offset at another version."""
        return replace(self, version=version, commit=commit)

    def beginning(self) -> Offset:
        """Returns the start of the stream."""
        return Offset(self.start, self.start, 0, self.parts, self.shares)

    def to_json(self) -> dict[str, int | str]:
        """Returns the JSON for Spark's checkpoint, always in the same order, because Spark compares text."""
        commit = {} if self.commit is None else {"commit": self.commit}
        return {name: getattr(self, name) for name in _FIELDS} | commit

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Offset | None:
        """Reads an offset of a checkpoint. Returns None before the first batch.

        raises: InvalidArgument for other values
        """
        if dict(value) == INITIAL:
            return None
        numbers = [value.get(name) for name in _FIELDS]
        commit = value.get("commit")
        if (
            set(value) - {"commit"} != set(_FIELDS)
            or not isinstance(commit, str | None)
            or any(type(number) is not int or number < 0 for number in numbers)
        ):
            raise InvalidArgument(
                f"The checkpoint has the offset {value!r}, which is not an offset of the format lance: use another"
                " checkpoint"
            )
        offset = cls(**{name: value[name] for name in _FIELDS}, commit=commit)
        if offset.part > offset.parts or offset.version < offset.start:
            raise InvalidArgument(
                f"The checkpoint has the offset {value!r}, which is not an offset of the format lance: use another"
                " checkpoint"
            )
        return offset
