"""How users name a version of a table in one word: "orders.lance@41", "orders.lance@audited"."""

from __future__ import annotations

import os


def split_name(name: str) -> tuple[str, int | None, str | None]:
    """The path or URI, and the version or the tag."""
    path, at, chosen = name.rpartition("@")
    # An address may hold an @ itself (s3://user@host/...), and so may a folder.
    if not at or not chosen or "/" in chosen or os.path.exists(name):
        return name, None, None
    return (path, int(chosen), None) if chosen.isdecimal() else (path, None, chosen)
