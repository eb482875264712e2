"""The selection of `pytest --quick`.

It leaves out tests that need Java, whole folders of long random runs and of servers, which are not even collected, and
every test that was recorded as slow. Of the corpus it reads one table for each release and file version, and Hypothesis
tries few examples. Of the rest it takes the fastest test of each file, then the fastest of all, as many as fit into
SECONDS by recorded durations, and of a test with many parameters rows that are spread evenly. Tests with the mark
`quick` come on top: cheap ones without which a planted fault went unnoticed.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from tests import durations

WIDE_FOLDERS = ("dbt", "histories", "hostile", "lifecycles", "memory", "object_stores", "rivals", "sail")
TESTS = Path(__file__).parent
EXAMPLES = 20
SECONDS = 30.0
"""Seconds of the selection, by durations that were recorded on another machine. Two processes take as long again to
collect the tests."""


def is_outside(path: Path) -> bool:
    """Whether a folder or file has only tests that are left out."""
    return not set(WIDE_FOLDERS).isdisjoint(path.relative_to(TESTS).parts) if path.is_relative_to(TESTS) else False


def is_left_out(item: pytest.Item) -> bool:
    folders = item.nodeid.split("::", 1)[0].split("/")[1:-1]
    return (
        "spark" in getattr(item, "fixturenames", ())
        or not set(WIDE_FOLDERS).isdisjoint(folders)
        or durations.is_slow(item.nodeid)
        or item.get_closest_marker("slow") is not None
    )


def select(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Removes the tests that are left out, and reduces the examples of the others."""
    left_out = [item for item in items if is_left_out(item)]
    kept = [item for item in items if not is_left_out(item)]
    fitting = set(rows_that_fit([item.nodeid for item in kept], SECONDS))
    fitting.update(item.nodeid for item in kept if item.get_closest_marker("quick") is not None)
    left_out += [item for item in kept if item.nodeid not in fitting]
    kept = [item for item in kept if item.nodeid in fitting]
    config.hook.pytest_deselected(items=left_out)
    items[:] = kept
    for item in kept:
        _try_few_examples(getattr(item, "obj", None))


def rows_that_fit(nodeids: list[str], seconds: float) -> list[str]:
    """The fastest test of each file and the fastest of all that take no longer than this together, with one row each;
    then more rows of these, the same number of each, as long as they fit."""
    rows: dict[str, list[str]] = defaultdict(list)
    for nodeid in nodeids:
        rows[nodeid.partition("[")[0]].append(nodeid)
    of_one = {test: durations.of_test(some[0]) for test, some in rows.items()}
    fastest = sorted(rows, key=lambda test: of_one[test])
    of_files = {test.partition("::")[0]: test for test in reversed(fastest)}
    chosen = dict.fromkeys(of_files.values())
    left = seconds - sum(of_one[test] for test in chosen)
    for test in fastest:
        if test not in chosen and of_one[test] <= left:
            chosen[test] = None
            left -= of_one[test]

    def spread(most: int) -> list[str]:
        return [each for test in chosen for each in _spread(rows[test], most)]

    counts = range(1, max(map(len, rows.values()), default=1) + 1)
    fitting = bisect_right(counts, seconds, key=lambda most: sum(map(durations.of_test, spread(most))))
    return spread(counts[max(0, fitting - 1)])


def _spread(rows: list[str], most: int) -> list[str]:
    """The first, the last, and those evenly between."""
    if len(rows) <= most:
        return rows
    return [rows[number * (len(rows) - 1) // max(1, most - 1)] for number in range(most)]


def one_of_each_release(cases: list[Any]) -> list[Any]:
    """The first of the corpus's cases for each writer, release and file version."""
    first: dict[tuple[object, ...], Any] = {}
    for case in cases:
        release = tuple(case.info.get(key) for key in ("writer", "writer_version", "file_version", "expect"))
        first.setdefault(release, case)
    return list(first.values())


def _try_few_examples(test: Any) -> None:
    # Hypothesis keeps the settings of a test in this attribute, and has no public way to lower them
    own = getattr(test, "_hypothesis_internal_use_settings", None)
    if own is not None and own.max_examples > EXAMPLES:
        test = getattr(test, "__func__", test)
        test._hypothesis_internal_use_settings = settings(own, max_examples=EXAMPLES)
