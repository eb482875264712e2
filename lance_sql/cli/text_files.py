"""Reading CSV files by DuckDB without losing a line, and files of several schemas without losing a column."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from lance_sql.errors import InvalidArgument
from lance_sql.values.sql_text import literal

TEXT: Final = (".csv", ".csv.gz", ".csv.zst", ".tsv", ".tsv.gz", ".tsv.zst")
"""Ends of names of CSV files."""

CSV: Final = ", skip = 0, comment = ''"
"""Arguments of `read_csv`, after others. Without them DuckDB guesses lines to leave out: those in front of the first
lines with equally many values, and those that begin with a character such as #."""

ALL_COLUMNS: Final = ", union_by_name = true"
"""Argument of readers of several files. Without it, columns that the first file lacks are left out, and values take the
types of its columns."""


def from_files(source: str) -> str:
    """Returns a FROM clause for a file, or for files by a pattern."""
    name = source.lower()
    if name.endswith(TEXT):
        return f"FROM read_csv({literal(source)}{ALL_COLUMNS}{CSV})"
    if name.endswith(".parquet"):
        return f"FROM read_parquet({literal(source)}{ALL_COLUMNS})"
    return f"FROM {literal(source)}"


def files_of(connection: Any, source: str) -> list[str]:
    """Returns the files at a path, or those that a pattern matches; the source itself if DuckDB cannot list it."""
    listed = connection.execute(f"SELECT file FROM glob({literal(source)})").fetchall()
    return [str(file) for (file,) in listed] or [source]


def check_csv(connection: Any, files: Sequence[str], names: Sequence[str]) -> None:
    """Makes sure that all lines of files are rows, and have all values.

    names: of the columns
    raises: InvalidArgument for a file that ends inside a quoted value, so that DuckDB takes quotes for parts of names;
        for one with lines in front of the header, which DuckDB leaves out; and for one whose lines have different
        numbers of values, so that DuckDB takes each for one text
    """
    quoted = next((name for name in names if len(name) > 1 and name[0] == name[-1] == '"'), None)
    for file in files:
        ((quote, skipped),) = connection.sql(f"SELECT Quote, SkipRows FROM sniff_csv({literal(file)})").fetchall()
        if quoted is not None and quote != '"':
            raise InvalidArgument(
                f"{file!r} has a quoted value without an end, so that the column {quoted[1:-1]!r} would keep its"
                " quotes: the file may be cut off. To load it as it is, pass \"FROM read_csv('..', quote = '')\""
            )
        if skipped:
            raise InvalidArgument(
                f"{file!r} has a title, or lines with other numbers of values than the next ones: lines up to {skipped}"
                f" would be left out. Remove or mend them, or pass \"FROM read_csv('..', skip = {skipped})\""
            )
    if len(names) == 1 and (separator := next((each for each in ",;|\t" if each in names[0]), None)) is not None:
        raise InvalidArgument(
            f"The lines of {files[0]!r} have different numbers of values: mend them, or pass"
            f" \"FROM read_csv('..', delim = {literal(separator)}, null_padding = true)\""
        )
