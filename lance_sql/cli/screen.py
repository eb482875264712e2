"""Output of results to a terminal, file or pipe."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import click

from lance_sql.runtime.terminal_text import one_line

if TYPE_CHECKING:
    import pyarrow as pa

MAX_ROWS: Final = 40
"""Maximum number of rows on a terminal; a file or a pipe gets all."""

output_option = click.option(
    "--output",
    "-o",
    type=click.Choice(("table", "json", "csv", "markdown", "arrow")),
    default="table",
    show_default=True,
    help="Format.",
)

html_option = click.option(
    "--html", type=click.Path(dir_okay=False), metavar="FILE", help="Write an HTML page to this file; - is stdout."
)


def width() -> int | None:
    """Returns the characters of a line; None if stdout is a file or a pipe, whose lines are never cut."""
    return max(shutil.get_terminal_size().columns, 40) if sys.stdout.isatty() else None


def as_many_columns(rows: pa.Table, least: int) -> pa.Table:
    """Returns the first columns of a table, at least `least`, that fit a line of the terminal without boxes; all of
    them in a file or a pipe."""
    from lance_sql.values.text_table import widths as widths_of

    room = width()
    if room is None:
        return rows
    widths = widths_of(rows)
    shown = least
    while shown < len(widths) and sum(widths[: shown + 1]) + 2 * shown <= room:
        shown += 1
    return rows.select(list(range(shown)))


def show(
    reader: pa.RecordBatchReader,
    output: str,
    *,
    max_rows: int | None = None,
    types: bool = False,
    boxes: bool = True,
) -> None:
    """Writes rows to stdout: fitted to a terminal and capped with a count there, and whole everywhere else.

    boxes: draw lines around the cells on a terminal
    max_rows: the maximum number of rows of a table; 0 for all, None for the default of the output
    types: show the types of columns on a terminal
    """
    from lance_sql.cli import formats

    if output == "arrow" and sys.stdout.isatty():
        raise click.UsageError("Arrow output is binary: send it to a file or a pipe.")
    on_terminal = sys.stdout.isatty()
    most = (MAX_ROWS if on_terminal else None) if max_rows is None else max_rows or None
    formats.write(
        reader,
        output,
        sys.stdout,
        boxes=boxes and on_terminal,
        width=width(),
        max_rows=most,
        types=types,
        escaped=on_terminal,
    )


def show_text(text: str) -> None:
    """Writes lines to stdout, with terminal control characters escaped."""
    click.echo("\n".join(one_line(line) for line in text.split("\n")))


def show_report(report: Any, output: str, html: str | None, *, text: Callable[[], str] | None = None) -> None:
    """Writes a report to stdout as text or JSON, or its page to a file.

    report: has `to_dict` and `to_html`
    text: returns its text, by default that of `str`
    """
    if html is not None:
        write_page(html, report.to_html())
    elif output == "json":
        click.echo(json.dumps(report.to_dict(), indent=2))
    else:
        click.echo(text() if text is not None else str(report))


def write_page(target: str, page: str) -> None:
    """Writes a page to a file, or to stdout."""
    folder = os.path.dirname(target)
    if folder and not os.path.isdir(folder):
        raise click.UsageError(f"No folder {folder!r} for the page {target!r}: create it.")
    with click.open_file(target, "w", encoding="utf-8") as file:
        file.write(page)
    if target != "-":
        click.echo(f"Wrote {target}", err=True)
