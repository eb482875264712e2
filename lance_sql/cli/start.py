"""Where the command `lance-sql` begins as a process of its own."""

from __future__ import annotations

import gc
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from typing import Final

from lance_sql.cli.main import main
from lance_sql.cli.termination import raise_on_sigterm, send_again_what_callbacks_lose

# Imports make many objects and no garbage: looking for some would take a tenth of the time until the first answer.
_ALLOCATIONS_BETWEEN_COLLECTIONS: Final = 300_000


def run() -> None:
    """Runs the command, without pandas: pyarrow would import it for its first value, which takes longer than most
    queries, and nothing here has a use for it."""
    gc.set_threshold(_ALLOCATIONS_BETWEEN_COLLECTIONS)
    sys.meta_path.insert(0, _NoPandas())
    raise_on_sigterm()
    send_again_what_callbacks_lose()
    main(prog_name="lance-sql")


class _NoPandas:
    """Says that pandas is not installed."""

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: object = None) -> ModuleSpec | None:
        """
        raises: ModuleNotFoundError
        """
        if name == "pandas":
            raise ModuleNotFoundError("the command does without pandas", name=name)
        return None
