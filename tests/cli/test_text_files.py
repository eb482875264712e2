"""Files of CSV and Parquet as sources of verbs: nothing of them is left out without a word."""

from __future__ import annotations

import csv
import gzip
import io
import tempfile
from pathlib import Path

import click.testing
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

import lance_sql
from lance_sql.cli.main import main
from lance_sql.cli.sources import source_rows
from lance_sql.errors import InvalidArgument

duckdb = pytest.importorskip("duckdb")
FORMS = ("file", "compressed", "folder", "pattern")


@pytest.fixture(autouse=True)
def _own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def written(folder: Path, source: str) -> str:
    """Writes a source to a table; returns what the command printed."""
    result = click.testing.CliRunner().invoke(main, ["write", str(folder / "t.lance"), source, "--quiet"])
    assert (result.exit_code == 0) == (folder / "t.lance").exists()
    return result.output


def placed(folder: Path, form: str, text: str) -> str:
    """Writes a file; returns the source that names it."""
    place = folder / "files"
    place.mkdir()
    if form == "compressed":
        (place / "x.csv.gz").write_bytes(gzip.compress(text.encode()))
        return str(place / "x.csv.gz")
    (place / "x.csv").write_text(text, newline="")
    return {"file": str(place / "x.csv"), "folder": str(place), "pattern": str(place / "*.csv")}[form]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("id,name\n#1,a\n#2,b\n3,c\n", [("#1", "a"), ("#2", "b"), ("3", "c")]),
        ("name,v\n%a,1\n%b,2\nc,3\n", [("%a", 1), ("%b", 2), ("c", 3)]),
        ("a\n\n1\n\n2\n", [(None,), (1,), (None,), (2,)]),
        ('a,b\n"x,1\ny",2\n', [("x,1\ny", 2)]),
    ],
)
def test_every_line_is_a_row(tmp_path: Path, form: str, text: str, expected: list[tuple[object, ...]]) -> None:
    written(tmp_path, placed(tmp_path, form, text))
    assert lance_sql.sql(f"FROM '{tmp_path}/t.lance'").fetchall() == expected


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("# made by hand\nid,name\n1,a\n", "lines up to 1 would be left out"),
        ("Report of May\n\nid,name\n1,a\n2,b\n", "lines up to 2 would be left out"),
        ("a,b\n1\n2,3,4\n", "would be left out"),
        ("a,b\n1,2\n3,4,5\n", "would be left out"),
        ("a,b\n1,2\n3\n", "have different numbers of values"),
        ("a;b\n1;2;3\n4;5\n", "have different numbers of values"),
    ],
)
def test_lines_that_would_be_left_out_are_named(tmp_path: Path, form: str, text: str, message: str) -> None:
    assert message in written(tmp_path, placed(tmp_path, form, text))
    assert not (tmp_path / "t.lance").exists()


VALUES = st.sampled_from(["", "1", "2.5", "x", "#1", "a,b", 'say "so"', "-", "//", "2026-01-02", " y", "\n"])


@given(
    rows=st.integers(1, 3).flatmap(lambda width: st.lists(st.lists(VALUES, min_size=width, max_size=width), min_size=1))
)
def test_random_files_keep_their_rows_or_are_refused(rows: list[list[str]]) -> None:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([[f"c{number}" for number in range(len(rows[0]))], *rows])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.csv"
        path.write_text(text.getvalue(), newline="")
        try:
            with source_rows(str(path)) as reader:
                read = reader.read_all()
        except (InvalidArgument, duckdb.Error):
            return
    assert read.num_rows == len(rows)
    assert read.column_names == [f"c{number}" for number in range(len(rows[0]))]


@pytest.mark.parametrize("form", ["*.parquet", ""])
@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ({"a": [1]}, {"a": [2], "c": [9]}, [(1, None), (2, 9)]),
        ({"a": [1], "b": ["x"]}, {"a": [2]}, [(1, "x"), (2, None)]),
        ({"a": [1]}, {"a": [2.5]}, [(1.0,), (2.5,)]),
        ({"a": [1], "b": [2]}, {"b": [3], "a": [4]}, [(1, 2), (4, 3)]),
    ],
)
def test_parquet_files_keep_all_columns_and_values(
    tmp_path: Path, form: str, first: dict[str, list[object]], second: dict[str, list[object]], expected: list[object]
) -> None:
    place = tmp_path / "files"
    place.mkdir()
    for name, rows in (("1", first), ("2", second)):
        parquet.write_table(pa.table(rows), place / f"{name}.parquet")
    written(tmp_path, str(place / form) if form else str(place))
    assert lance_sql.sql(f"FROM '{tmp_path}/t.lance' ORDER BY a").fetchall() == expected
