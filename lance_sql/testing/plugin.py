"""Plugin for pytest: the fixtures `lance_tables` and `spark`, two options, and colors on a terminal.

The package registers it as a plugin; its imports do not slow down tests without Lance tables.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from lance_sql.testing import settings

if TYPE_CHECKING:
    from lance_sql.dataset import Dataset


# tests subclass contracts; rewritten assertions report more details
pytest.register_assert_rewrite("lance_sql.testing.stores", "lance_sql.testing.manifest_stores")


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("lance-sql")
    group.addoption("--lance-update", action="store_true", help="rewrite snapshots of Lance tables")
    group.addoption(
        "--lance-spark",
        choices=("auto", "spark", "sail"),
        default="auto",
        help="engine of the fixture spark: Spark, Sail (without Java), or the first one that is installed",
    )


def pytest_sessionstart(session: pytest.Session) -> None:
    settings.updates_snapshots = bool(session.config.getoption("--lance-update"))
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    settings.in_colour = reporter is not None and bool(reporter.hasmarkup)


class LanceTables:
    """Tables in the test's own folder, and snapshots next to its file."""

    def __init__(self, folder: Path, snapshots: Path) -> None:
        self._folder = folder
        self._snapshots = snapshots

    def path(self, name: str) -> str:
        """Returns the path of the table of that name, existing or not."""
        return str(self._folder / f"{name}.lance")

    def write(self, name: str, data: object, **options: Any) -> Dataset:
        """Writes rows to a table.

        data, options: as for `lance_sql.write`
        """
        from lance_sql.jobs.writing import write

        return write(data, self.path(name), **options)

    def open(self, name: str, **options: Any) -> Dataset:
        """Opens the newest version of a table, or another one.

        options: as for `lance_sql.open`
        """
        from lance_sql.opening import open as open_dataset

        return open_dataset(self.path(name), **options)

    def assert_matches(self, table: object, snapshot: str, **options: Any) -> None:
        """Fails unless a table equals its text file in `snapshots/`, next to the test.

        table: as for `assert_table_equal`
        options: of `assert_matches_snapshot`
        """
        from lance_sql.testing.snapshots import assert_matches_snapshot

        __tracebackhide__ = True
        assert_matches_snapshot(table, self._snapshots / f"{snapshot}.jsonl", **options)


@pytest.fixture
def lance_tables(request: pytest.FixtureRequest, tmp_path: Path) -> LanceTables:
    """Provides Lance tables for one test."""
    return LanceTables(tmp_path, request.path.parent / "snapshots" / request.path.stem)


@pytest.fixture(scope="session")
def spark(request: pytest.FixtureRequest) -> Any:
    """Provides a session of Spark or Sail, by `--lance-spark`, with the format "lance"; skips if there is none."""
    from lance_sql.providers.spark import sessions

    kind = request.config.getoption("--lance-spark")
    reason = sessions.why_not(kind)
    if reason is not None:
        pytest.skip(reason)
    return sessions.session(kind)
