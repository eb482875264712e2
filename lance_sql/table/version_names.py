"""Short names of versions of a table: "orders.lance@41", "orders.lance@audited"."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterable
from typing import Final

from lance_sql.errors import InvalidArgument

_MOST_DIGITS: Final = 20
_TIMES: Final = "yesterday, 7d or 2026-11-21"


def split_name(name: str) -> tuple[str, int | None, str | None]:
    """Splits a name into the path or URI, and the version or the tag. A negative version counts back from the newest.

    raises: InvalidArgument for a number with more digits than a version can have
    """
    path, at, chosen = name.rpartition("@")
    # A URI may contain an @ itself (s3://user@host/...), and so may a folder; names of branches may contain a slash.
    # Nothing chosen ends in one: `whole_name`.
    is_table = _is_table(path)
    if (
        not at
        or not chosen
        or ("/" in chosen and not (is_table and not _is_table(chosen)))
        or os.path.exists(name)
        or _is_table(chosen) > is_table
    ):
        return name, None, None
    version = as_version(chosen)
    return (path, version, None) if version is not None else (path, None, chosen)


def whole_name(path: str) -> str:
    """Returns the path or URI of a table so that no @ in it is the sign of a version: a slash ends it if need be."""
    return path if split_name(path)[0] == path else f"{path}/"


def looks_like_table(argument: str) -> bool:
    """Whether an argument is the path of a table, with or without a version, rather than a word."""
    path, _, _ = split_name(argument)
    return _is_table(path) or "/" in path or os.path.isdir(path)


def _is_table(name: str) -> bool:
    return name.rstrip("/").lower().endswith(".lance")


def as_version(text: str) -> int | None:
    """Parses a version number, negative if counted back from the newest; None for other text.

    raises: InvalidArgument for more digits than a version can have
    """
    digits = text.removeprefix("-")
    if not digits.isdecimal():
        return None
    if len(digits) > _MOST_DIGITS:
        raise InvalidArgument(f"{text[:_MOST_DIGITS]}... is not a version: it has {len(digits)} digits")
    return int(text)


def no_commit_of(table: str, job: str, known: Iterable[str]) -> str:
    """Returns the error message for a job that has no commit in a table.

    known: the jobs that have one
    """
    names = list(known)
    message = f"No commit of {table} is of the job {job[:100]!r}"
    if closest := difflib.get_close_matches(job, names, n=1):
        return f"{message}. Did you mean {closest[0]!r}?"
    return f"{message}. Its jobs: {', '.join(names[:10])}" if names else f"{message}: none of its commits names a job"


def unknown_version(name: str, table: str, tags: Iterable[str], branches: Iterable[str]) -> str:
    """Returns the error message for a name that is neither a tag, a branch nor a time."""
    known = {"Tags": list(tags), "Branches": list(branches)}
    for kind, names in known.items():
        if difflib.get_close_matches(name, names, n=1):
            return unknown_name("tag" if kind == "Tags" else "branch", name, table, names)
    message = f"No tag or branch {name[:100]!r} in {table}"
    listed = [f"{kind}: {', '.join(names[:10])}{', ...' * (len(names) > 10)}" for kind, names in known.items() if names]
    if not listed:
        listed = ["It has no tags or branches"]
    return f"{message}. {'. '.join(listed)}. A time is written as {_TIMES}"


def unknown_name(kind: str, name: str, table: str, existing: Iterable[str]) -> str:
    """Returns the error message for an unknown tag, branch, cursor, rule, index or key of the config.

    kind: "tag", "branch", "cursor", "rule", "index" or "key"; table: for the message; existing: the existing names
    """
    names = list(existing)
    if not isinstance(name, str):
        return f"The name of a {kind} must be text, not {name!r}"
    message = f"No {kind} {name[:100]!r} in {table}"
    if closest := difflib.get_close_matches(name, names, n=1):
        return f"{message}. Did you mean {closest[0]!r}?"
    plurals = {"branch": "Branches", "index": "Indices"}
    plural = plurals.get(kind, f"{kind.capitalize()}s")
    if names:
        return f"{message}. {plural}: {', '.join(names[:10])}{', ...' if len(names) > 10 else ''}"
    return f"{message}. It has no {plural.lower()}"
