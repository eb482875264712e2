"""Paths to members of JSON documents: `$.a[0]."b c"`, in the form that DuckDB and Lance share."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from lance_sql._kernels import JsonStepKind
from lance_sql.errors import UnsupportedFeature

if TYPE_CHECKING:
    from lance_sql._kernels import JsonStep

_MOST_INDEX: Final = 2**32
_WORD: Final = re.compile(r"\w+")
_STEP: Final = re.compile(
    r"""\.(?P<word>\w+) | \."(?P<quoted>(?:[^"\\]|\\["\\])+)" | \["(?P<bracketed>(?:[^"\\]|\\["\\])+)"\]
    | \[(?P<index>\d+)\] | (?P<last>\[last\]|\[\#-1\])""",
    re.VERBOSE,
)


def is_word(text: str) -> bool:
    """Whether a key needs no quotes in a path."""
    return _WORD.fullmatch(text) is not None


def of_key(key: str) -> str:
    """Returns the path to a member by its key."""
    if is_word(key):
        return f"$.{key}"
    quoted = key.replace("\\", "\\\\").replace('"', '\\"')
    return f'$."{quoted}"'


def joined(first: str, other: str) -> str:
    """Returns the path that goes on with another one."""
    return first + other[1:]


@lru_cache(maxsize=1024)
def parse(path: str) -> Sequence[JsonStep]:
    """Returns the steps of a path.

    raises: UnsupportedFeature for paths to several members, and for other forms
    """
    at = 1
    steps: list[JsonStep] = []
    if not path.startswith("$"):
        raise _refuse(path)
    while at < len(path):
        found = _STEP.match(path, at)
        if found is None:
            raise _refuse(path)
        at = found.end()
        steps.append(_step(found, path))
    return tuple(steps)


def either(name: str) -> Sequence[JsonStep]:
    """Returns the step to a member of an object by its name, or to an item of a list by a number."""
    is_number = name.isascii() and name.isdigit() and int(name) < _MOST_INDEX
    return ((JsonStepKind.EITHER, name, int(name) if is_number else _MOST_INDEX),)


def _step(found: re.Match[str], path: str) -> JsonStep:
    if found["last"] is not None:
        return JsonStepKind.LAST, "", 0
    if found["index"] is not None:
        index = int(found["index"])
        if index >= _MOST_INDEX:
            raise _refuse(path)
        return JsonStepKind.INDEX, "", index
    key = found["word"]
    if key is None:
        key = re.sub(r"\\(.)", r"\1", found["quoted"] or found["bracketed"])
    return JsonStepKind.KEY, key, 0


def _refuse(path: str) -> UnsupportedFeature:
    return UnsupportedFeature(
        f"The JSON path {path!r} is not supported in a filter: write a path to one member, such as"
        """ '$.a', '$.a."b c"' or '$.items[0]'"""
    )
