"""Delta's words in PySpark, as far as no session is needed for them."""

from __future__ import annotations

import pytest

from lance_sql.errors import InvalidArgument

pytest.importorskip("pyspark", reason='PySpark is not installed: pip install "lance-sql[spark]"')

from lance_sql.providers.spark import options, tables
from lance_sql.providers.spark.errors import explained


@pytest.mark.parametrize(
    ("on", "expected"),
    [
        ("id", ("id",)),
        ("source.id = target.id", ("id",)),
        ("target.id=source.ID and `source`.`a day` = target.`a day`", ("id", "a day")),
    ],
)
def test_keys_of_a_merge(on: str, expected: tuple[str, ...]) -> None:
    assert tables._keys(on) == expected


@pytest.mark.parametrize("on", ["s.id = t.id", "source.id = source.id", "source.a = target.b"])
def test_other_conditions_are_refused(on: str) -> None:
    with pytest.raises(InvalidArgument, match="pass key columns"):
        tables._keys(on)


def test_options_of_delta() -> None:
    assert options.checked({"versionAsOf": "3", "path": "x"}, options.READ) == {"version": "3", "path": "x"}
    with pytest.raises(InvalidArgument, match="repeats another option"):
        options.checked({"versionAsOf": "3", "version": "4"}, options.READ)
    with pytest.raises(InvalidArgument, match="Did you mean 'version'"):
        options.checked({"verison": "3"}, options.READ)


def test_errors_of_sail_are_those_behind_them() -> None:
    error = explained(RuntimeError("Python error: [lance::schema] TableNotFound: No Lance table at 'x'\nTraceback:"))
    assert (type(error).__name__, str(error)) == ("TableNotFound", "No Lance table at 'x'")
