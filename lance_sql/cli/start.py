"""Where the command `lance-sql` begins as a process of its own."""

from __future__ import annotations

import codecs
import gc
import io
import json
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from typing import Final

from lance_sql.cli.main import main
from lance_sql.cli.termination import raise_on_sigterm, send_again_what_callbacks_lose

# Imports make many objects and no garbage: looking for some would take a tenth of the time until the first answer.
_ALLOCATIONS_BETWEEN_COLLECTIONS: Final = 300_000
_ESCAPED: Final = "lance-sql-escaped"


def run() -> None:
    """Runs the command, without pandas: pyarrow would import it for its first value, which takes longer than most
    queries, and nothing here has a use for it."""
    gc.set_threshold(_ALLOCATIONS_BETWEEN_COLLECTIONS)
    sys.meta_path.insert(0, _NoPandas())
    raise_on_sigterm()
    send_again_what_callbacks_lose()
    _write_every_character()
    main(prog_name="lance-sql")


def _write_every_character() -> None:
    """Writes UTF-8 where the locale names no encoding but ASCII, as click does; where it names another one, what that
    does not have is written as JSON escapes it."""
    codecs.register_error(_ESCAPED, _escaped)
    for stream in (sys.stdout, sys.stderr):
        # none where it was closed by whoever began the process
        if not isinstance(stream, io.TextIOWrapper):
            continue
        encoding = codecs.lookup(stream.encoding).name
        if encoding == "ascii":
            stream.reconfigure(encoding="utf-8")
        elif encoding != "utf-8":
            stream.reconfigure(errors=_ESCAPED)


def _escaped(error: UnicodeError) -> tuple[str, int]:
    """
    raises: UnicodeError for what is read, not written
    """
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return json.dumps(error.object[error.start : error.end])[1:-1], error.end


class _NoPandas:
    """Says that pandas is not installed."""

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: object = None) -> ModuleSpec | None:
        """
        raises: ModuleNotFoundError
        """
        if name == "pandas":
            raise ModuleNotFoundError("the command does without pandas", name=name)
        return None
