"""Messages about keywords that a function does not have: the closest one, or all that it has."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from typing import Any, Final, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

_OF_PYLANCE: Final = {
    "full_text_query": "search(text=..)",
    "limit": "scan(.., limit=..).to_table()",
    "nearest": "search(vector, column=.., k=..)",
    "offset": "scan(..).to_reader(), or OFFSET in SQL",
    "prefilter": "search(.., filter=..), which filters before it ranks",
    "with_row_address": "columns=['_rowaddr', ..]",
    "with_row_id": "columns=['_rowid', ..]",
}
"""Keywords of pylance's reads, and what to call instead."""

_SAME: Final = (
    ("filter", "where", "predicate", "condition"),
    ("columns", "select", "fields", "projection"),
    ("k", "limit", "num_rows", "n", "max_rows", "top", "top_k"),
    ("key", "on", "keys", "by"),
    ("target_rows", "target_rows_per_fragment", "target_size"),
    ("older_than", "retention", "min_age"),
    ("retain_versions", "keep", "retain", "retain_last"),
    ("since", "start", "from_version", "start_version", "after"),
    ("end", "until", "to_version", "end_version"),
    ("as_of", "timestamp", "at", "time"),
    ("uri", "path", "table", "dataset_uri"),
    ("engine", "backend"),
    ("values", "updates", "set"),
    ("connection", "con", "conn"),
    ("parameters", "params", "args"),
    ("storage_options", "options", "storage"),
)
"""Words for one thing, in this and in other libraries."""


class UnknownKeywordError(TypeError):
    """A keyword that a function does not have.

    known: those that it has
    """

    def __init__(self, function: str, name: str, known: Sequence[str]) -> None:
        super().__init__(f"{function}() got an unexpected keyword argument {name!r}{_hint(name, known)}")
        self.name = name
        self.known = tuple(known)


def check_keywords(function: str, given: Iterable[str], known: Sequence[str], *, also: Sequence[str] = ()) -> None:
    """Makes sure that a function has every additional keyword.

    known: the keywords to name in the message; also: others that are accepted
    raises: UnknownKeywordError
    """
    for name in given:
        if name not in known and name not in also:
            raise UnknownKeywordError(function, name, known)


def _hint(name: str, known: Sequence[str]) -> str:
    same = [word for words in _SAME if name in words for word in words if word in known]
    if not same and "filter" in known and name in _OF_PYLANCE:
        return f". Use {_OF_PYLANCE[name]}"
    close = same or difflib.get_close_matches(name, known, n=1)
    return f". Did you mean {close[0]!r}?" if close else f"; it has {', '.join(known)}"


def suggests_keywords(function: Callable[P, R]) -> Callable[P, R]:
    """Returns the function; its error about an unknown keyword names the closest one."""

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except TypeError as error:
            better = _better(function, error, kwargs)
            if better is None:
                raise
            raise TypeError(str(better)) from None

    return call


def methods_suggest_keywords(cls: type) -> None:
    """Applies `suggests_keywords` to the public methods of a class."""
    for name, value in list(vars(cls).items()):
        # a dataclass with slots is made twice
        if not name.startswith("_") and inspect.isfunction(value) and not hasattr(value, "__wrapped__"):
            setattr(cls, name, suggests_keywords(value))


def _better(function: Callable[..., Any], error: TypeError, given: Mapping[str, Any]) -> UnknownKeywordError | None:
    """Returns the error about a keyword with all keywords of the function; None for other errors."""
    if isinstance(error, UnknownKeywordError):
        unknown, more = error.name, error.known
        if unknown not in given:
            # of a function that this one calls
            return None
    elif error.__traceback__ is None or error.__traceback__.tb_next is not None:
        # it is not about the call of the function
        return None
    else:
        unknown, more = "", ()
    named = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    known = [each.name for each in inspect.signature(function).parameters.values() if each.kind in named]
    known = list(dict.fromkeys([*(name for name in known if name != "self"), *more]))
    unknown = unknown or next((name for name in given if name not in known), "")
    return UnknownKeywordError(function.__name__, unknown, known) if unknown else None
