"""Values as text, in one line and in this many columns of a terminal."""

from __future__ import annotations

import subprocess
import sys
import unicodedata
from datetime import UTC, datetime

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lance_sql.runtime.terminal_text import cut, one_line, width_of
from lance_sql.values.value_text import as_json, text, values


@given(st.text(), st.integers(1, 40))
def test_a_cut_line_fits(line: str, width: int) -> None:
    shown = cut(line, width)
    assert width_of(shown) <= max(width, 1)
    assert shown == line if width_of(line) <= width else shown.endswith("…")


@given(st.text())
def test_one_line_does_nothing_to_a_terminal(given: str) -> None:
    shown = one_line(given)
    assert len(shown.splitlines()) <= 1
    assert not any(unicodedata.category(character) == "Cc" for character in shown)
    if given.isprintable():
        assert shown == given


def test_a_text_that_turns_is_shown_as_it_is() -> None:
    assert one_line("a\u202eb\u2066") == "a\\u202eb\\u2066"


def test_times_are_exact() -> None:
    column = pa.array([1_500_000_000, None, 0, 1], pa.timestamp("ns", "UTC"))
    assert values(column) == ["1970-01-01 00:00:01.5Z", None, "1970-01-01 00:00:00Z", "1970-01-01 00:00:00.000000001Z"]


@pytest.mark.parametrize(
    ("zone", "shown"),
    [
        ("Etc/UTC", "2026-03-01 08:00:00Z"),
        ("Europe/Berlin", "2026-03-01 09:00:00+01:00"),
        ("Asia/Kolkata", "2026-03-01 13:30:00+05:30"),
        ("America/St_Johns", "2026-03-01 04:30:00-03:30"),
    ],
)
def test_zones_keep_their_offset(zone: str, shown: str) -> None:
    moment = datetime(2026, 3, 1, 8, tzinfo=UTC)
    assert values(pa.array([moment], pa.timestamp("us", zone))) == [shown]
    assert values(pa.array([moment], pa.timestamp("s", zone))) == [shown]


def test_values_without_a_json_form_become_text() -> None:
    assert as_json({"a": [float("nan"), b"\xff", None], 1: (True, 2)}) == {"a": ["nan", "\\xFF", None], "1": [True, 2]}
    assert text([1, "x"]) == '[1, "x"]'


@pytest.mark.parametrize(
    ("type", "one"),
    [
        (pa.timestamp("ns"), "1970-01-01 00:00:00.000000001"),
        (pa.duration("ns"), 1),
        (pa.time64("ns"), "00:00:00.000000001"),
    ],
    ids=str,
)
def test_nanoseconds_in_lists_and_structs_are_exact_without_pandas(type: pa.DataType, one: object) -> None:
    script = (
        "import sys\n"
        "from lance_sql.cli.start import _NoPandas\n"
        "sys.meta_path.insert(0, _NoPandas())\n"
        "import pyarrow as pa\n"
        "from lance_sql.values.value_text import values\n"
        f"one = pa.array([1, None], pa.int64()).cast(pa.{_made(type)})\n"
        "print(values(pa.ListArray.from_arrays(pa.array([0, 2], pa.int32()), one)),"
        " values(pa.StructArray.from_arrays([one], ['a'])), values(pa.FixedSizeListArray.from_arrays(one, 2)),"
        " values(pa.MapArray.from_arrays(pa.array([0, 2], pa.int32()), pa.array(['k', 'l']), one)), sep='\\n')\n"
    )
    shown = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    expected = [[[one, None]], [{"a": one}, {"a": None}], [[one, None]], [[("k", one), ("l", None)]]]
    assert shown.splitlines() == [str(each) for each in expected]


def _made(type: pa.DataType) -> str:
    return f"{str(type).partition('[')[0]}('ns')"


@pytest.mark.parametrize(
    ("interval", "expected"),
    [
        ((0, 0, 129_600 * 10**9), "36:00:00"),
        ((14, -3, 14_706_789_000_000), "1 year 2 months -3 days 04:05:06.789"),
        ((-14, 0, 0), "-1 year -2 months"),
        ((0, 0, -1_000), "-00:00:00.000001"),
        ((0, 0, 0), "00:00:00"),
    ],
)
def test_intervals_are_written_as_duckdb_does(interval: tuple[int, int, int], expected: str) -> None:
    column = pa.array([pa.MonthDayNano(interval), None])
    first, second = values(column)
    assert (text(first), as_json([first, second])) == (expected, [expected, None])
    (nested,) = values(pa.array([[pa.MonthDayNano(interval)]]))
    assert as_json(nested) == [expected]
