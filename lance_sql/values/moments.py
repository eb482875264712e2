"""Times as users write them: '2026-11-21T02:18:51Z', 'yesterday', '1d'."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Final

from lance_sql.errors import InvalidArgument
from lance_sql.values.durations import is_age, parse_age

_DAYS: Final = {"today": timedelta(0), "yesterday": timedelta(days=1)}


def instant(when: datetime | date | timedelta | str) -> datetime:
    """Converts a time given by the user to UTC.

    when: a time, in UTC if it has no zone; a date, for its first moment; an age (a timedelta, or text such as "1d"
        or "90m") before now; "today" or "yesterday", for the first moment of that day in UTC; ISO 8601 text
    raises: InvalidArgument for other text
    """
    if when != when:
        # NaT
        raise InvalidArgument(f"{when!r} is not a time: pass one, or leave it out")
    if isinstance(when, str):
        when = _moment(when.strip())
    if isinstance(when, timedelta):
        try:
            when = datetime.now(UTC) - when
        except OverflowError:
            raise InvalidArgument(f"{when} is before the first date of the calendar: pass a shorter age") from None
    if not isinstance(when, datetime):
        when = datetime(when.year, when.month, when.day)
    return when.replace(tzinfo=UTC) if when.tzinfo is None else when.astimezone(UTC)


def is_time(text: str) -> bool:
    """Whether `instant` can read a text."""
    try:
        _ = instant(text)
    except InvalidArgument:
        return False
    return True


def _moment(text: str) -> datetime | date | timedelta:
    if text in _DAYS:
        return datetime.now(UTC).date() - _DAYS[text]
    if is_age(text):
        return parse_age(text)
    try:
        return datetime.fromisoformat(text)
    except ValueError as error:
        raise InvalidArgument(f"{text!r} is not a time such as '2026-11-21T02:18:51Z', 'yesterday' or '1d'") from error
