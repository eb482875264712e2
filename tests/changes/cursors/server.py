"""A PostgreSQL server that a package brings, for the time of some tests."""

from __future__ import annotations

import importlib.util
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

NEEDED = ("pgserver", "psycopg")


def missing() -> str | None:
    """Why there is no server; None where there is one."""
    names = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    return f"no PostgreSQL: pip install pgserver 'psycopg[binary]' ({', '.join(names)} missing)" if names else None


@contextmanager
def postgresql() -> Iterator[str]:
    """The URI of a server, which ends with the block."""
    with warnings.catch_warnings():
        # about folders of the user who runs the tests
        warnings.simplefilter("ignore")
        import pgserver

    # the server is another user where the tests are run by root, who has no access to folders of pytest
    with tempfile.TemporaryDirectory(prefix="lance-sql-pg-", ignore_cleanup_errors=True) as folder:
        server = pgserver.get_server(folder)  # type: ignore[attr-defined]  # has no types
        try:
            yield server.get_uri()
        finally:
            server.cleanup()
