"""Local paths as users write them."""

from __future__ import annotations

import os

from lance_sql.errors import InvalidArgument


def place_text(place: object, what: str = "the path of a table") -> str:
    """Returns a path or URI as text.

    what: the noun for messages
    raises: InvalidArgument for anything but text and paths
    """
    text = os.fspath(place) if isinstance(place, str | os.PathLike) else None
    if not isinstance(text, str):
        raise InvalidArgument(f"{place!r:.100} is not {what}: pass text, such as 'orders.lance', or a Path")
    return text


def checked(path: str) -> str:
    """Returns the path unchanged.

    raises: InvalidArgument for text that cannot be a path
    """
    try:
        if b"\0" in os.fsencode(path):
            raise InvalidArgument(f"{path!r} is not a valid path: it contains a NUL character")
    except UnicodeEncodeError as error:
        raise InvalidArgument(f"{path!r} is not a valid path: the system cannot encode it") from error
    return path


def expanded(path: str) -> str:
    """Returns the path with "~" replaced by the user's home folder.

    raises: as `checked`
    """
    return os.path.expanduser(checked(path))


def shown(uri: str) -> str:
    """Returns the path relative to the current folder if it is below it; other places as they are."""
    try:
        below = os.path.join(os.getcwd(), "")
    except OSError:
        # the folder is gone
        return uri
    return uri.removeprefix(below) or uri
