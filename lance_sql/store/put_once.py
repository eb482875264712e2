"""Creates a file exactly once, even if answers of the store get lost or come twice.

A store may carry out a request whose answer is lost. The client sends it again, and is told that the file exists, or
gives up with an error. A store may also refuse a request because another one for the same name is still in progress,
possibly an earlier one of ours. So the file that is there decides. Its content must be unlike that of every other
writer: it has a unique id, or a time in microseconds.
"""

from __future__ import annotations

import time
from typing import Final, Literal

import pyarrow as pa

from lance_sql.errors import LanceError, StoreError
from lance_sql.store.contract import Store
from lance_sql.store.durable import UnconfirmedError

_ATTEMPTS: Final = 4
_FIRST_PAUSE_SECONDS: Final = 0.005
_MAX_PAUSE_SECONDS: Final = 2.0


def put_once(
    store: Store,
    path: str,
    content: bytes | pa.Buffer,
    *,
    mode: Literal["create", "next"] = "create",
    attempts: int = _ATTEMPTS,
) -> bool:
    """Creates a file. Returns whether the file at the path is this one, and not another writer's.

    attempts: number of requests if the store answers that the file exists, while there is none
    raises: errors of the store, if the file is not there or that is unknown; it may still appear later
    """
    for attempt in range(attempts):
        try:
            store.put(path, content, mode=mode)
            return True
        except FileExistsError:
            is_ours = _is_ours(store, path, content)
            if is_ours is not None:
                return is_ours
            # another request for it is in progress
            time.sleep(min(_FIRST_PAUSE_SECONDS * 4**attempt, _MAX_PAUSE_SECONDS))
        except UnconfirmedError:
            # it is ours, but not confirmed as durable
            raise
        except (OSError, LanceError) as error:
            try:
                is_ours = _is_ours(store, path, content)
            except (OSError, LanceError):
                raise error from None
            if is_ours is None:
                raise
            return is_ours
    raise StoreError(
        f"{path}: the store reports both that it exists and that it does not: try again, and if that does not help pass"
        ' manifest_store= and conditional_put="disabled"'
    )


def _is_ours(store: Store, path: str, content: bytes | pa.Buffer) -> bool | None:
    """Whether a file has this content; None if it does not exist.

    raises: errors of reading it
    """
    ours = pa.py_buffer(content)
    try:
        size, found = store.tail(path, ours.size + 1)
    except FileNotFoundError:
        return None
    return size == ours.size and bool(found.equals(ours))
