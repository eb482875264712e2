"""Entry point of the command `lance-sql`."""

from __future__ import annotations

import codecs
import gc
import io
import json
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from typing import Final

from lance_sql.cli import streams
from lance_sql.cli.errors import whole_output
from lance_sql.cli.main import main
from lance_sql.cli.termination import raise_on_termination, send_again_what_callbacks_lose

# Imports create many objects and no garbage: collections would take a tenth of the time to the first result.
_ALLOCATIONS_BETWEEN_COLLECTIONS: Final = 300_000
_ESCAPED: Final = "lance-sql-escaped"


def run() -> None:
    """Runs the command without pandas: pyarrow would import it for its first value, which takes longer than most
    queries, and nothing here uses it."""
    gc.set_threshold(_ALLOCATIONS_BETWEEN_COLLECTIONS)
    sys.meta_path.insert(0, _NoPandas())
    raise_on_termination()
    send_again_what_callbacks_lose()
    streams.open_all()
    _write_every_character()
    with whole_output():
        main(prog_name="lance-sql")


def _write_every_character() -> None:
    """Makes the output UTF-8 if the encoding of the locale is ASCII, as click does. For other encodings, characters
    that they lack are written as JSON escapes."""
    codecs.register_error(_ESCAPED, _escaped)
    for stream in (sys.stdout, sys.stderr):
        # a caller may have another one
        if not isinstance(stream, io.TextIOWrapper):
            continue
        encoding = codecs.lookup(stream.encoding).name
        if encoding == "ascii":
            stream.reconfigure(encoding="utf-8")
        elif encoding != "utf-8":
            stream.reconfigure(errors=_ESCAPED)


def _escaped(error: UnicodeError) -> tuple[str, int]:
    """
    raises: UnicodeError for errors of reading
    """
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return json.dumps(error.object[error.start : error.end])[1:-1], error.end


class _NoPandas:
    """Import finder that reports pandas as not installed."""

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: object = None) -> ModuleSpec | None:
        """
        raises: ModuleNotFoundError
        """
        if name == "pandas":
            raise ModuleNotFoundError("the command does without pandas", name=name)
        return None
