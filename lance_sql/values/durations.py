"""Ages in the usual notation: 30d, 12h, 90m."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Final

from lance_sql.errors import InvalidArgument

_AGE: Final = re.compile(r"\s*([0-9]{1,9})\s*([wdhms])\s*")
_UNITS: Final = {"w": "weeks", "d": "days", "h": "hours", "m": "minutes", "s": "seconds"}


def is_age(text: str) -> bool:
    """Whether `parse_age` can read a text."""
    return _AGE.fullmatch(text) is not None


def parse_age(text: str) -> timedelta:
    """Parses a whole number of weeks, days, hours, minutes or seconds.

    raises: InvalidArgument

    >>> parse_age("90m")
    datetime.timedelta(seconds=5400)
    """
    match = _AGE.fullmatch(text)
    if match is None:
        raise InvalidArgument(f"{text!r} is not an age such as 30d, 12h or 90m")
    try:
        return timedelta(**{_UNITS[match[2]]: int(match[1])})
    except OverflowError:
        raise InvalidArgument(f"{text!r} is before the first date of the calendar: pass a shorter age") from None
