"""Replay of incremental jobs after each commit of a history: the result must equal that of one run over all commits.

    def job(source, target):                               reads the changes of one table, and updates another one
        with lance_sql.open(source).cursors.open("job").read(target=target) as changes:
            lance_sql.apply_changes(target, changes, "id")

    replay("orders.lance", job, key="id")

The history is replayed in a temporary folder: a copy that has the versions of the table up to some number, and links to
its files. Nothing is written to the table itself, and the job uses cursors of the copy.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Final, TypeAlias

from lance_sql.errors import InvalidArgument, UnsupportedFeature
from lance_sql.health.differences import open_table
from lance_sql.store.open import local_path
from lance_sql.table.paths import BRANCHES, CURSORS, TAGS, VERSIONS, parse_manifest_name
from lance_sql.testing.equality import assert_table_equal
from lance_sql.testing.tables import TableLike
from lance_sql.values.keywords import suggests_keywords

Job: TypeAlias = Callable[[str, str], Any]
"""Job, called with the paths of the table that it reads and of the one that it writes."""

_OWN: Final = (VERSIONS, CURSORS, TAGS.partition("/")[0], BRANCHES.partition("/")[0], "tree")


@suggests_keywords
def replay(
    table: TableLike,
    job: Job,
    *,
    start: int | None = None,
    end: int | None = None,
    key: str | Sequence[str] | None = None,
    ignore_columns: str | Iterable[str] = (),
    check_each: bool = False,
) -> None:
    """Fails unless a job that runs after each commit of a table produces the same table as one run at the end.

    table: a Lance table on this machine, by path or as a `Dataset`; its versions are replayed in order
    job: updates the table at its second path from the one at its first; it is called once for each version.
        If the first versions were cleaned up, its first run is repeated: a new cursor reads the rows of the oldest
        version, and the changes after it in the next run
    start, end: the versions after which it runs for the first and the last time; by default the first and the newest
    key, ignore_columns: as for `assert_table_equal`
    check_each: compare after every version, to find the first one with a difference; this runs the job once more over
        all commits for each version
    raises: AssertionError with the rows that differ; UnsupportedFeature for tables that are not on a local disk

    >>> def copy(source, target):
    ...     with lance_sql.open(source).cursors.open("copy").read(target=target) as changes:
    ...         lance_sql.apply_changes(target, changes, "id")
    >>> replay(orders.delete("status = 'cancelled'"), copy, key="id")
    """
    __tracebackhide__ = True
    source = open_table(table)
    numbers = [info.version for info in source.versions()]
    first, last = numbers[0] if start is None else start, numbers[-1] if end is None else end
    if first > last or not {first, last} <= set(numbers):
        raise InvalidArgument(
            f"start={first}, end={last} is out of range: {source.uri} has versions {numbers[0]} to {numbers[-1]}"
        )
    # a cursor first reads the rows of the oldest version, and the changes after it in the next run
    runs = 1 if numbers[0] == 1 else 2
    played = [number for number in numbers if first <= number <= last]
    with tempfile.TemporaryDirectory(prefix="lance-sql-replay-") as folder:
        root = Path(folder)
        stepwise = _Playback(source.snapshot.store.uri, root / "stepwise")
        target = str(root / "stepwise-target.lance")
        for number in played:
            stepwise.go_to(number)
            for _ in range(runs if number == first else 1):
                job(str(stepwise.path), target)
            if check_each or number == last:
                _compare(source.snapshot.store.uri, job, runs, number, target, root, key, ignore_columns)


def _compare(
    uri: str,
    job: Job,
    runs: int,
    number: int,
    target: str,
    root: Path,
    key: str | Sequence[str] | None,
    ignore_columns: str | Iterable[str],
) -> None:
    """Compares with one run over all commits up to a version, or with as many as take all of them."""
    __tracebackhide__ = True
    whole = _Playback(uri, root / f"whole-{number}")
    whole.go_to(number)
    expected = str(root / f"whole-{number}-target.lance")
    for _ in range(runs):
        job(str(whole.path), expected)
    try:
        assert_table_equal(target, expected, key=key, ignore_columns=ignore_columns)
    except AssertionError as error:
        raise AssertionError(
            f"After version {number}, the table of a job that ran after each commit (actual) differs from that of a job"
            f" that ran once (expected): {error}"
        ) from None


def _link(source: str, target: str) -> None:
    """Links a file, or copies it if it is on another disk. Files of tables never change."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)


class _Playback:
    """Table with the versions of another one up to some number."""

    def __init__(self, uri: str, folder: Path) -> None:
        """raises: UnsupportedFeature for a table that is not on a local disk"""
        root = local_path(uri)
        if root is None:
            raise UnsupportedFeature(f"{uri}: only tables on a local disk can be replayed: copy it to one")
        self._versions = Path(os.path.abspath(root), VERSIONS)
        self.path = folder / self._versions.parent.name
        (self.path / VERSIONS).mkdir(parents=True)
        for entry in self._versions.parent.iterdir():
            if entry.name not in _OWN and entry.is_dir():
                shutil.copytree(entry, self.path / entry.name, copy_function=_link)

    def go_to(self, number: int) -> None:
        """Adds the versions up to this one."""
        for entry in self._versions.iterdir():
            parsed = parse_manifest_name(entry.name)
            shown = self.path / VERSIONS / entry.name
            if parsed is not None and parsed[0] <= number and not shown.exists():
                shutil.copyfile(entry, shown)
