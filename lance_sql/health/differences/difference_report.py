"""Report of a difference, as text that fits a terminal, as JSON, and as a page."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, Final

import pyarrow as pa

from lance_sql.health.commit_records import CommitRecord
from lance_sql.health.differences.difference import ColumnChange, DataFileChange, Difference, UpdatedRow
from lance_sql.runtime.terminal_text import cut, one_line
from lance_sql.values.html.render import counted
from lance_sql.values.value_text import as_json, text, values

_SIGNS: Final = {"added": "+", "dropped": "-"}
_FILES_SHOWN: Final = 5
_COMMITS_SHOWN: Final = 10


def as_text(difference: Difference, width: int | None = None) -> str:
    """Returns the report as lines of text.

    width: the maximum number of characters of a line; None for no limit
    """
    return "\n".join(line if width is None else cut(line, width) for line in _lines(difference))


def _lines(difference: Difference) -> Iterator[str]:
    before, after = difference.before, difference.after
    yield f"{before.name} -> {after.name}"
    yield f"  rows   {before.rows:,} -> {after.rows:,}"
    yield f"  files  {before.files:,} -> {after.files:,}" + (
        f" ({len(difference.files_added):,} added, {len(difference.files_removed):,} removed)"
        if difference.is_one_table
        else ""
    )
    yield from _commits(difference.commits)
    if difference.columns or difference.not_compared:
        yield ""
        yield counted(len(difference.columns), "column") + " changed"
        for change in difference.columns:
            yield f"  {describe(change)}"
        for name in difference.not_compared:
            yield f"  ! {name} is not compared: its types have nothing in common"
    by = ", ".join(difference.key)
    if difference.rows_updated:
        cells = ", ".join(f"{name} {count:,}" for name, count in difference.cells_updated.items())
        yield ""
        yield f"{counted(difference.rows_updated, 'row')} updated, by {by}: {cells}"
        for row in difference.updated:
            yield from _updated(row, difference.shown)
        yield from _more(difference.rows_updated, len(difference.updated))
    for what, sign, count, rows in (
        ("inserted", "+", difference.rows_inserted, difference.inserted),
        ("deleted", "-", difference.rows_deleted, difference.deleted),
    ):
        if count:
            yield ""
            yield f"{counted(count, 'row')} {what}"
            for names, record in _rows(rows):
                yield f"  {sign} " + ", ".join(
                    f"{one_line(name)}={shown(value)}" for name, value in zip(names, record, strict=True)
                )
            yield from _more(count, rows.num_rows)
    if difference.rows_rewritten:
        yield ""
        yield f"{counted(difference.rows_rewritten, 'row')} written again with the same values"
    for what, files in (("added", difference.files_added), ("removed", difference.files_removed)):
        if files:
            yield ""
            yield f"{counted(len(files), 'file')} {what}"
            for file in files[:_FILES_SHOWN]:
                yield f"  {_file(file)}"
            yield from _more(len(files), min(len(files), _FILES_SHOWN))
    if not difference.has_differences:
        yield ""
        yield "No differences."


def _commits(commits: Sequence[CommitRecord]) -> Iterator[str]:
    """Yields the newest commits, if one of them records its job or user."""
    if not any(commit.job or commit.user for commit in commits):
        return
    yield ""
    yield f"{counted(len(commits), 'commit')} between"
    for commit in commits[-_COMMITS_SHOWN:][::-1]:
        user = f"{commit.user}@{commit.host}" if commit.user and commit.host else commit.user
        by = [f"job {commit.job}"] if commit.job else []
        by += [user] if user else []
        said = [
            str(commit.version),
            commit.operation or "not recorded",
            f"{commit.timestamp:%Y-%m-%d %H:%M:%S} UTC",
            *by,
        ]
        yield f"  {one_line(', '.join(said))}"
    yield from _more(len(commits), min(len(commits), _COMMITS_SHOWN))


def describe(change: ColumnChange) -> str:
    """Describes the change of a column in a line."""
    sign = _SIGNS.get(change.kind, "~")
    name = one_line(change.name)
    match change.kind:
        case "added" | "dropped":
            return f"{sign} {name}  {change.after or change.before}"
        case "renamed":
            return f"{sign} {one_line(change.before or '')} -> {name}"
    return f"{sign} {name}  {change.before} -> {change.after}"


def shown(value: Any) -> str:
    """Returns a value as one line."""
    return "NULL" if value is None else one_line(text(value))


def _updated(row: UpdatedRow, names: Sequence[str]) -> Iterator[str]:
    yield "  ~ " + ", ".join(f"{one_line(name)}={shown(value)}" for name, value in zip(names, row.key, strict=True))
    width = max(len(cell.column) for cell in row.cells)
    for cell in row.cells:
        yield f"      {one_line(cell.column):<{width}}  {shown(cell.before)} -> {shown(cell.after)}"


def _rows(rows: pa.Table) -> Iterator[tuple[list[str], tuple[Any, ...]]]:
    columns = [values(column) for column in rows.columns]
    for row in zip(*columns, strict=True):
        yield rows.column_names, row


def _more(count: int, there: int) -> Iterator[str]:
    if count > there:
        yield f"  ... {count - there:,} more"


def _file(file: DataFileChange) -> str:
    size = f", {file.bytes:,} bytes" if file.bytes is not None else ""
    return f"{file.path}  fragment {file.fragment}, {counted(file.rows, 'row')}{size}"


def as_dict(difference: Difference) -> dict[str, Any]:
    """Returns a difference in types of JSON, with the rows that it contains."""
    return {
        "before": dataclasses.asdict(difference.before),
        "after": dataclasses.asdict(difference.after),
        "commits": [
            {**dataclasses.asdict(commit), "timestamp": as_json(commit.timestamp)} for commit in difference.commits
        ],
        "has_differences": difference.has_differences,
        "key": list(difference.key),
        "columns": [dataclasses.asdict(change) for change in difference.columns],
        "not_compared": list(difference.not_compared),
        "rows_inserted": difference.rows_inserted,
        "rows_deleted": difference.rows_deleted,
        "rows_updated": difference.rows_updated,
        "rows_rewritten": difference.rows_rewritten,
        "cells_updated": dict(difference.cells_updated),
        "updated": [
            {
                "key": dict(zip(difference.shown, map(as_json, row.key), strict=True)),
                "cells": [
                    {"column": cell.column, "before": as_json(cell.before), "after": as_json(cell.after)}
                    for cell in row.cells
                ],
            }
            for row in difference.updated
        ],
        "inserted": [dict(zip(names, map(as_json, row), strict=True)) for names, row in _rows(difference.inserted)],
        "deleted": [dict(zip(names, map(as_json, row), strict=True)) for names, row in _rows(difference.deleted)],
        "files_added": [dataclasses.asdict(file) for file in difference.files_added],
        "files_removed": [dataclasses.asdict(file) for file in difference.files_removed],
    }


_MAX_FILES: Final = 200
_ROWS_IN_A_PART: Final = 10
_MAX_COMMITS: Final = 20


def page_values(difference: Difference, *, is_part: bool) -> dict[str, Any]:
    """Returns the values for the templates; for a notebook the first rows."""
    if is_part:
        difference = difference.head(_ROWS_IN_A_PART)
    files = [("added", "ins", file) for file in difference.files_added]
    files += [("removed", "del", file) for file in difference.files_removed]
    return {
        "difference": difference,
        "after": _shorter(difference.before.name, difference.after.name),
        "links": not is_part,
        "records": [
            ("inserted", "Inserted rows", difference.rows_inserted, _formatted(difference.inserted)),
            ("deleted", "Deleted rows", difference.rows_deleted, _formatted(difference.deleted)),
        ],
        "files": list(islice(files, _MAX_FILES)),
        "max_files": _MAX_FILES,
        "max_commits": _MAX_COMMITS,
    }


def _shorter(before: str, after: str) -> str:
    """Returns the second name, without the table if the first name already has it."""
    table, version, _ = before.rpartition(" version ")
    return after.removeprefix(f"{table} ") if version else after


def _formatted(rows: pa.Table) -> tuple[list[str], list[tuple[Any, ...]]]:
    return rows.column_names, list(zip(*(values(column) for column in rows.columns), strict=True))
