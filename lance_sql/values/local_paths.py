"""What users call a path on this machine."""

from __future__ import annotations

import os

from lance_sql.errors import InvalidArgument


def checked(path: str) -> str:
    """The path as it is.

    raises: InvalidArgument for what no path can be
    """
    try:
        if b"\0" in os.fsencode(path):
            raise InvalidArgument(f"{path!r} cannot be a path: it has a NUL character")
    except UnicodeEncodeError as error:
        raise InvalidArgument(f"{path!r} cannot be a path: the system has no name for it") from error
    return path


def expanded(path: str) -> str:
    """The path with the folder of the user in the place of "~".

    raises: as `checked`
    """
    return os.path.expanduser(checked(path))


def shown(uri: str) -> str:
    """The path as somebody in the current folder would type it; other places as they are."""
    try:
        below = os.path.join(os.getcwd(), "")
    except OSError:
        # the folder is gone
        return uri
    return uri.removeprefix(below) or uri
