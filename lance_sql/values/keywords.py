"""Messages about keywords that a function does not have: the closest one, or all that it has."""

from __future__ import annotations

import difflib
import inspect
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from typing import Any, Final, ParamSpec, TypeVar

from lance_sql.errors import InvalidArgument, LanceError
from lance_sql.values import argument_kinds

P = ParamSpec("P")
R = TypeVar("R")
C = TypeVar("C")

_SUGGESTS: Final = "__suggests_keywords__"
"""Attribute of functions that `suggests_keywords` has made."""

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


_UNEXPECTED: Final = re.compile(r"\(\) got an unexpected keyword argument '(\w+)'")
"""Python's message."""


_COUNTED: Final = re.compile(r"\(\) (missing|takes (?:from )?\d)")
"""Python's message about too few or too many arguments."""


class UnknownKeywordError(TypeError):
    """A keyword that a function does not have.

    known: those that it has
    """

    def __init__(self, function: str, name: str, known: Sequence[str]) -> None:
        super().__init__(f"{function}() got an unexpected keyword argument {name!r}{_hint(name, known)}")
        self.name = name
        self.known = tuple(known)


# printed as the error of Python that it is to callers
UnknownKeywordError.__module__, UnknownKeywordError.__qualname__ = "builtins", "TypeError"


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
    """Returns the function. Its error about an unknown keyword names the closest one; an error that is not of this
    library, after an argument of a wrong kind, becomes an InvalidArgument that names the argument."""

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        # pytest shows the line of the test instead
        __tracebackhide__ = True
        try:
            return function(*args, **kwargs)
        except (LanceError, AssertionError):
            raise
        except Exception as error:
            better = _better(function, error, kwargs) if isinstance(error, TypeError) else None
            if better is not None:
                raise better from None
            counted = _COUNTED.search(str(error)) if _is_about_call(error) else None
            if counted is not None:
                form = argument_kinds.form(function, with_options=counted[1].startswith("takes"))
                raise TypeError(f"{error}. Write {form}") from None
            wrong = argument_kinds.misfit(function, args, kwargs)
            if wrong is None:
                raise
            raise InvalidArgument(wrong) from error

    setattr(call, _SUGGESTS, True)
    return call


def methods_suggest_keywords(cls: type[C]) -> type[C]:
    """Applies `suggests_keywords` to the public methods of a class, and returns the class."""
    for name, value in list(vars(cls).items()):
        if name.startswith("_"):
            continue
        function = value.__func__ if isinstance(value, classmethod) else value
        # a dataclass with slots is made twice
        if inspect.isfunction(function) and not hasattr(function, _SUGGESTS):
            better: Any = suggests_keywords(function)
            setattr(cls, name, classmethod(better) if isinstance(value, classmethod) else better)
    return cls


def class_suggests_keywords(cls: type[C]) -> type[C]:
    """Applies `suggests_keywords` to the public methods of a class and to its constructor, and returns the class."""
    setattr(cls, "__init__", suggests_keywords(cls.__init__))  # noqa: B010 - types have no such assignment
    return methods_suggest_keywords(cls)


def _is_about_call(error: BaseException) -> bool:
    """Whether an error arose where the function was called, and not in it."""
    return error.__traceback__ is not None and error.__traceback__.tb_next is None


def _better(function: Callable[..., Any], error: TypeError, given: Mapping[str, Any]) -> UnknownKeywordError | None:
    """Returns the error about a keyword with all keywords of the function; None for other errors."""
    if isinstance(error, UnknownKeywordError):
        unknown, more = error.name, error.known
        if unknown not in given:
            # of a function that this one calls
            return None
    else:
        unknown, more = "", ()
    parameters = inspect.signature(function).parameters.values()
    is_inside = not _is_about_call(error)
    if is_inside and (passed_on := _UNEXPECTED.search(str(error))) and passed_on[1] in given:
        unknown = passed_on[1]
    if not unknown and is_inside and any(each.kind is each.VAR_KEYWORD for each in parameters):
        # it is not about the call of the function
        return None
    named = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    own = [each.name for each in parameters if each.kind in named and each.name not in ("self", "cls")]
    known = list(dict.fromkeys([*own, *more]))
    unknown = unknown or next((name for name in given if name not in known), "")
    name = function.__qualname__.removesuffix(".__init__").rpartition(".")[2]
    return UnknownKeywordError(name, unknown, known) if unknown else None
