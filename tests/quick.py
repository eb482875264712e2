"""The selection of `pytest --quick`.

It leaves out tests that need Java, whole folders of long random runs and of servers, and every test that was recorded
as slow. Of the corpus it reads one table for each release and file version, and Hypothesis tries few examples.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import settings

from tests import durations

WIDE_FOLDERS = ("dbt", "histories", "hostile", "lifecycles", "memory", "object_stores", "rivals", "sail")
EXAMPLES = 20


def is_left_out(item: pytest.Item) -> bool:
    folders = item.nodeid.split("::", 1)[0].split("/")[1:-1]
    return (
        "spark" in getattr(item, "fixturenames", ())
        or not set(WIDE_FOLDERS).isdisjoint(folders)
        or durations.is_slow(item.nodeid)
    )


def select(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Removes the tests that are left out, and reduces the examples of the others."""
    left_out = [item for item in items if is_left_out(item)]
    kept = [item for item in items if not is_left_out(item)]
    config.hook.pytest_deselected(items=left_out)
    items[:] = kept
    for item in kept:
        _try_few_examples(getattr(item, "obj", None))


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
