"""A job that keeps a copy in step with a table, and dies at a given step: `consumer.py TABLE COPY STEP`.

A step is one call that changes something in a store. The process ends abruptly, as by kill -9: nothing is
cleaned up.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

import lance_sql
from lance_sql.store.local import LocalStore

KILLED = 9


def die_at(step: int) -> None:
    """Ends the process before the call of this number, or right after it where the number is odd."""
    count = 0

    def dying(call: Callable[..., Any]) -> Callable[..., Any]:
        def called(*arguments: Any, **options: Any) -> Any:
            nonlocal count
            count += 1
            if count * 2 == step:
                os._exit(KILLED)
            made = call(*arguments, **options)
            if count * 2 + 1 == step:
                os._exit(KILLED)
            return made

        return called

    for name in ("put", "create", "delete"):
        setattr(LocalStore, name, dying(getattr(LocalStore, name)))


def run(table: str, copy: str) -> None:
    """Consumes new changes: all rows of a version, then later commits."""
    cursor = lance_sql.open(table).cursors.open("copy")
    while True:
        with cursor.read(target=copy) as changes:
            if changes.end < changes.start:
                return
            lance_sql.apply_changes(copy, changes, "id")


if __name__ == "__main__":
    die_at(int(sys.argv[3]))
    run(sys.argv[1], sys.argv[2])
