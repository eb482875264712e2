"""Completion in the shell: quoted paths, columns of named tables, functions, keywords."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

_OPEN_QUOTE: Final = re.compile(r"'([^']*)$")
_WORD: Final = re.compile(r"[\w.]*$")
_NAMED: Final = re.compile(r"'([^']+)'")
_MOST: Final = 200
_WORDS: Final = """
    ALL ANALYZE AND AS ASC AVG BETWEEN BY CASE COPY COUNT CREATE DESC DESCRIBE DISTINCT ELSE END EXCEPT
    EXPLAIN FROM GROUP HAVING IN INSERT INTERSECT INTO IS JOIN LEFT LIKE LIMIT MAX MIN NOT NULL ON OR ORDER
    SELECT SUM SUMMARIZE TABLE THEN UNION USING VALUES VIEW WHEN WHERE WITH
"""
KEYWORDS: Final = tuple(_WORDS.split())
COMMANDS: Final = (".help", ".mode", ".output", ".quit", ".rows", ".schema", ".tables")


class SqlCompleter(Completer):
    """Completer at the cursor. Opens each table once for its columns.

    connection: of DuckDB, to list its functions
    verbs: of the command line, which are commands here
    """

    def __init__(self, connection: Any, verbs: Sequence[str] = ()) -> None:
        self._connection = connection
        self._verbs = verbs
        self._columns: dict[str, tuple[str, ...]] = {}
        self._functions: tuple[str, ...] | None = None

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterator[Completion]:
        before = document.text_before_cursor
        quoted = _OPEN_QUOTE.search(before) if before.count("'") % 2 else None
        if quoted is not None:
            ends = not document.text_after_cursor.startswith("'")
            yield from _completions([path + "'" * (ends and _is_whole(path)) for path in _paths(quoted[1])], quoted[1])
            return
        if before.startswith("."):
            command, space, _ = before.partition(" ")
            if not space:
                yield from _completions((*COMMANDS, *(f".{verb}" for verb in self._verbs)), before)
            elif command[1:] in self._verbs or command == ".schema":
                last = before.rpartition(" ")[2]
                yield from _completions(_paths(last), last)
            return
        word = _WORD.search(before)
        typed = word[0] if word is not None else ""
        columns = [name for path in _NAMED.findall(document.text) for name in self._columns_of(path)]
        yield from _completions(
            (*dict.fromkeys(columns), *KEYWORDS, *self._all_functions()) if typed else columns, typed
        )

    def _columns_of(self, path: str) -> tuple[str, ...]:
        if path not in self._columns:
            from lance_sql.cli import tables
            from lance_sql.errors import LanceError

            try:
                dataset = tables.open_table(path)
                self._columns[path] = (*dataset.schema.names, *dataset.system_columns)
            except (LanceError, OSError):
                self._columns[path] = ()
        return self._columns[path]

    def _all_functions(self) -> tuple[str, ...]:
        if self._functions is None:
            # a cursor, because a result of the connection itself may be being read
            rows = self._connection.cursor().execute("SELECT DISTINCT function_name FROM duckdb_functions()").fetchall()
            names = sorted(name for (name,) in rows if name[:1].isalpha())
            self._functions = tuple(sorted(names, key=lambda name: not name.startswith("lance_")))
        return self._functions


def _completions(words: Iterable[str], typed: str) -> Iterator[Completion]:
    shown = 0
    for word in dict.fromkeys(words):
        if word.casefold().startswith(typed.casefold()) and shown < _MOST:
            shown += 1
            yield Completion(word, start_position=-len(typed))


def _is_whole(path: str) -> bool:
    """Whether a path is complete, because it is a table or a file."""
    return path.endswith(".lance") or not path.endswith("/")


def _paths(typed: str) -> list[str]:
    """Lists files and folders in the typed folder: tables first, then folders and other files."""
    folder, _, _ = typed.rpartition("/")
    shown = f"{folder}/" if "/" in typed else ""
    try:
        with os.scandir(os.path.expanduser(shown or ".")) as entries:
            paths = [
                shown + entry.name + ("/" if entry.is_dir() and not entry.name.endswith(".lance") else "")
                for entry in entries
                if not entry.name.startswith(".")
            ]
    except (OSError, ValueError):
        return []
    return sorted(paths, key=lambda path: (not path.endswith(".lance"), path))
