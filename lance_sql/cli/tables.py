"""Tables as the command line names them: `path`, `path@41`, `path@tag`."""

from __future__ import annotations

import os

import lance_sql.dataset
from lance_sql.dataset import Dataset


def open_table(name: str, *, branch: str | None = None, use_indices: bool = True) -> Dataset:
    """The version of a table that an argument means.

    raises: as `lance_sql.open`
    """
    path, version, tag = split_name(name)
    return lance_sql.dataset.open(path, version=version, tag=tag, branch=branch, use_indices=use_indices)


def bound(text: str | None) -> int | str | None:
    """The bound of a range of versions in an argument: a version, or a tag or time as it is."""
    return int(text) if text is not None and text.isdecimal() else text


def split_name(name: str) -> tuple[str, int | None, str | None]:
    """The path or URI in an argument, and the version or the tag."""
    path, at, chosen = name.rpartition("@")
    # An address may hold an @ itself (s3://user@host/...), and so may a folder.
    if not at or not chosen or "/" in chosen or os.path.exists(name):
        return name, None, None
    return (path, int(chosen), None) if chosen.isdecimal() else (path, None, chosen)
