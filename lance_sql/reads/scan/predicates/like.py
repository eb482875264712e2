"""LIKE patterns in their simplest exact form."""

from __future__ import annotations

import pyarrow as pa

from lance_sql.errors import InvalidArgument


def simplify(pattern: str, escape: str | None) -> tuple[str, str]:
    """Simplifies the pattern to ("equal" | "prefix" | "suffix" | "contains", text) or ("like", pattern).

    escape: the character that makes the next one plain; None without one, so that a backslash is itself
    returns: a "like" pattern in which a backslash is the escape
    raises: InvalidArgument for a pattern that ends in its escape
    """
    marks: list[str] = []
    texts: list[str] = [""]
    characters = iter(pattern)
    for character in characters:
        if character == escape:
            plain = next(characters, None)
            if plain is None:
                raise InvalidArgument(f"The pattern '{pattern}' ends in its escape character")
            texts[-1] += plain
        elif character in "%_":
            marks.append(character)
            texts.append("")
        else:
            texts[-1] += character
    match marks:
        case []:
            return "equal", texts[0]
        case ["%"] if not texts[0]:
            return "suffix", texts[1]
        case ["%"] if not texts[1]:
            return "prefix", texts[0]
        case ["%", "%"] if not texts[0] and not texts[2]:
            return "contains", texts[1]
    parts = [_escaped(texts[0])]
    for mark, text in zip(marks, texts[1:], strict=True):
        parts += [mark, _escaped(text)]
    return "like", "".join(parts)


def lower(text: str) -> str:
    """Converts the text to lower case by the same rules as a column's values."""
    import pyarrow.compute as pc

    return str(pc.utf8_lower(pa.scalar(text, pa.string())).as_py())


def _escaped(text: str) -> str:
    return "".join(f"\\{character}" if character in "%_\\" else character for character in text)
