"""Parsing of dates and times in SQL text to nanoseconds."""

from __future__ import annotations

import datetime
import re
from typing import Final

_TIME: Final = r"(\d{1,2}):(\d{2})(?::(\d{2})(?:\.(\d{1,9})\d*)?)?"
_TIME_OF_DAY: Final = re.compile(rf"\s*{_TIME}\s*")
_TIMESTAMP: Final = re.compile(
    rf"\s*(\d{{4}})-(\d{{1,2}})-(\d{{1,2}})(?:[ T]+{_TIME}\s*(Z|UTC|[+-]\d{{2}}(?::?\d{{2}})?)?)?\s*",
    re.IGNORECASE,
)
_EPOCH_DAY: Final = datetime.date(1970, 1, 1).toordinal()


def parse_timestamp(text: str) -> int | None:
    """Parses `2024-01-31[ 10:30[:15[.123456789]][+02[:00]]]` to nanoseconds since 1970-01-01 UTC, else None.

    Text without a zone is UTC.
    """
    match = _TIMESTAMP.fullmatch(text)
    if match is None:
        return None
    year, month, day, hour, minute, second, fraction, zone = match.groups()
    try:
        days = datetime.date(int(year), int(month), int(day)).toordinal() - _EPOCH_DAY
    except ValueError:
        return None
    time = 0 if hour is None else _time(hour, minute, second, fraction)
    if time is None:
        return None
    return days * 86_400 * 10**9 + time - _offset(zone)


def parse_time(text: str) -> int | None:
    """Parses `10:30[:15[.123456789]]` to nanoseconds since midnight; None for other text."""
    match = _TIME_OF_DAY.fullmatch(text)
    return None if match is None else _time(*match.groups())


def _time(hour: str, minute: str, second: str | None, fraction: str | None) -> int | None:
    hours, minutes, seconds = int(hour), int(minute), int(second or 0)
    if hours > 23 or minutes > 59 or seconds > 59:
        return None
    return ((hours * 60 + minutes) * 60 + seconds) * 10**9 + int((fraction or "").ljust(9, "0"))


def _offset(zone: str | None) -> int:
    """Returns the offset of the zone from UTC."""
    if zone is None or zone.upper() in ("Z", "UTC"):
        return 0
    digits = zone[1:].replace(":", "").ljust(4, "0")
    minutes = int(digits[:2]) * 60 + int(digits[2:])
    return (-minutes if zone[0] == "-" else minutes) * 60 * 10**9
