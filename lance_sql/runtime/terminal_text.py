"""Text on a terminal: in one line, with its display width."""

from __future__ import annotations

import unicodedata

# characters that change the direction of a text, and could hide a part of it
_DIRECTIONS = frozenset("\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def one_line(value: str) -> str:
    """Escapes control characters of a text, so that it has one line and cannot control the terminal."""
    if value.isascii() and value.isprintable():
        return value
    return "".join(repr(c)[1:-1] if _is_control(c) else c for c in value)


def _is_control(character: str) -> bool:
    return unicodedata.category(character) in ("Cc", "Zl", "Zp") or character in _DIRECTIONS


def width_of(line: str) -> int:
    """Returns the number of terminal columns that a line takes."""
    wide = sum(unicodedata.east_asian_width(c) in "WF" for c in line)
    return len(line) + wide - sum(unicodedata.combining(c) > 0 for c in line)


def cut(line: str, width: int) -> str:
    """Truncates a line that takes more columns of a terminal."""
    if width_of(line) <= width:
        return line
    beginning = line[: max(width - 1, 0)]
    while beginning and width_of(beginning) > width - 1:
        beginning = beginning[:-1]
    return f"{beginning}…"
