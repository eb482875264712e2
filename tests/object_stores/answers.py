"""Answers of stores that are wrong in a way that clients do not mend by asking again."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from enum import Enum

from tests.object_stores.bucket import Answer, error


class Wrong(Enum):
    """What is wrong with an answer.

    Refused, and not carried out: ERROR is 500, FORBIDDEN 403, CONFLICT 409, NOT_IMPLEMENTED 501, EXPIRED 400.
    RESET, SILENT: not carried out, and the connection ends, or is left open without an answer
    DONE_AND_ERROR, DONE_AND_EXISTS, DONE_AND_CONFLICT: carried out, and the answer is 500, 412 or 409
    SHORT, EMPTY, LONG, PACKED, ZEROS: a body of another length than its range, none, packed, or of other bytes
    OTHER_RANGE: the bytes of a range beside the requested one, named as such
    """

    ERROR = 1
    FORBIDDEN = 2
    CONFLICT = 3
    NOT_IMPLEMENTED = 4
    EXPIRED = 5
    RESET = 6
    SILENT = 7
    DONE_AND_ERROR = 8
    DONE_AND_EXISTS = 9
    DONE_AND_CONFLICT = 10
    SHORT = 11
    EMPTY = 12
    LONG = 13
    PACKED = 14
    ZEROS = 15
    OTHER_RANGE = 16


REFUSALS: dict[Wrong, tuple[int, str]] = {
    Wrong.ERROR: (500, "InternalError"),
    Wrong.FORBIDDEN: (403, "AccessDenied"),
    Wrong.CONFLICT: (409, "ConditionalRequestConflict"),
    Wrong.NOT_IMPLEMENTED: (501, "NotImplemented"),
    Wrong.EXPIRED: (400, "ExpiredToken"),
}
_AFTERWARDS: dict[Wrong, tuple[int, str]] = {
    Wrong.DONE_AND_ERROR: (500, "InternalError"),
    Wrong.DONE_AND_EXISTS: (412, "PreconditionFailed"),
    Wrong.DONE_AND_CONFLICT: (409, "ConditionalRequestConflict"),
}
BODIES = (Wrong.SHORT, Wrong.EMPTY, Wrong.LONG, Wrong.PACKED, Wrong.ZEROS, Wrong.OTHER_RANGE)


def wrong(kind: Wrong, carry_out: Callable[[], Answer]) -> Answer | None:
    """Returns the wrong answer to a request; None for one that is not answered.

    carry_out: does what the request says, and returns the right answer
    """
    if kind in REFUSALS:
        return error(*REFUSALS[kind])
    if kind in (Wrong.RESET, Wrong.SILENT):
        return None
    answer = carry_out()
    if kind in _AFTERWARDS:
        return error(*_AFTERWARDS[kind])
    if answer.status not in (200, 206):
        return answer
    content = answer.content
    if kind is Wrong.PACKED:
        answer.headers.append(("Content-Encoding", "gzip"))
    if kind is Wrong.OTHER_RANGE:
        answer.headers = [(name, _moved(value) if name == "Content-Range" else value) for name, value in answer.headers]
    answer.content = {
        Wrong.SHORT: content[:-3],
        Wrong.EMPTY: b"",
        Wrong.LONG: content + b"more",
        Wrong.PACKED: gzip.compress(content),
        Wrong.ZEROS: bytes(len(content)),
        Wrong.OTHER_RANGE: content,
    }[kind]
    return answer


def _moved(content_range: str) -> str:
    """Returns the range of the same length that begins 3 bytes later."""
    span, _, size = content_range.removeprefix("bytes ").partition("/")
    start, end = map(int, span.split("-"))
    return f"bytes {start + 3}-{end + 3}/{int(size) + 3}"
