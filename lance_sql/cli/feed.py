"""`lance-sql changes`: the change feed of a range, from a cursor, or of new commits."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from io import BufferedWriter, TextIOWrapper
from itertools import chain
from typing import TYPE_CHECKING, Any, Literal, TextIO, cast

import click

from lance_sql.cli import progress, screen
from lance_sql.cli.agreement import quiet_option
from lance_sql.cli.options import BOUND, branch_option, key_option
from lance_sql.runtime.progress import Work

if TYPE_CHECKING:
    import pyarrow as pa

    from lance_sql import Cursor
    from lance_sql.changes.feed import ChangeFeed

_IN_LINES = ("jsonl", "debezium")


@click.command(short_help="Lists the changes of a range of versions.")
@click.argument("table")
@click.argument("start", required=False, type=BOUND)
@click.argument("end", required=False, type=BOUND)
@click.option("--since", type=BOUND, help="Instead of START: version, tag or time before the first change.")
@click.option("--mode", type=click.Choice(("all", "net", "insert_only")), default="all", show_default=True)
@click.option("--drop-unchanged", is_flag=True, help="Omit updates that changed no value.")
@key_option
@click.option("--trust-snapshots", is_flag=True, help="Compare versions by values where row ids contradict a commit.")
@click.option("--where", "-w", metavar="SQL", help="Filter on the changes, such as \"_change_type = 'delete'\".")
@click.option("--job", help="Only changes by commits of this job; implies --origin.")
@click.option("--origin", is_flag=True, help="Add the columns _commit_job, _commit_user and _commit_host.")
@click.option("--limit", type=click.IntRange(min=0), help="Maximum number of rows.")
@branch_option
@click.option("--explain", is_flag=True, help="Report what would be read, and read nothing.")
@click.option("--cursor", "name", metavar="NAME", help="Read from this cursor, and advance it.")
@click.option("--follow", "-f", is_flag=True, help="Wait for new commits until Ctrl-C.")
@click.option("--poll", type=click.FloatRange(min=0, min_open=True), default=1.0, help="Seconds between polls.")
@click.option("--timeout", type=click.FloatRange(min=0), help="Stop after this many seconds without a commit.")
@click.option(
    "--exec", "command", metavar="CMD", help="Command to run for each commit, with the changes as lines on stdin."
)
@click.option(
    "--output",
    "-o",
    type=click.Choice(("table", "json", "csv", "markdown", "arrow", *_IN_LINES)),
    help="Format: table, or jsonl of what is followed.",
)
@screen.html_option
@quiet_option
def changes(
    table: str,
    start: int | str | None,
    end: int | str | None,
    since: int | str | None,
    mode: Literal["all", "net", "insert_only"],
    drop_unchanged: bool,
    key: list[str] | None,
    trust_snapshots: bool,
    where: str | None,
    job: str | None,
    origin: bool,
    limit: int | None,
    branch: str | None,
    explain: bool,
    name: str | None,
    follow: bool,
    poll: float,
    timeout: float | None,
    command: str | None,
    output: str | None,
    html: str | None,
    quiet: bool,
) -> None:
    """Lists the changes of versions START to END of TABLE: inserted and deleted rows, and both images of updated rows.

    START and END are versions, tags or times, both inclusive. Without START the range begins with the first version,
    without END it ends with the newest one. A cursor advances when its changes are written, or CMD has succeeded.

    \b
    lance-sql changes events.lance 41 42
    lance-sql changes events.lance --since yesterday-audited --mode net
    lance-sql changes events.lance --since 1d --job nightly
    lance-sql changes events.lance --cursor warehouse --output jsonl
    lance-sql changes events.lance --follow --output debezium
    lance-sql changes events.lance 41 42 --html changes.html
    """
    from lance_sql.cli import tables

    _check_options(click.get_current_context().params)
    dataset = tables.open_table(table, branch=branch)
    options: dict[str, Any] = {
        "mode": mode,
        "drop_unchanged": drop_unchanged,
        "key": key,
        "trust_snapshots": trust_snapshots,
        "origin": origin or job is not None,
    }
    tables.check_job(dataset, None if follow else job)
    where = tables.of_job(where, job, "_commit_job")
    delivery = _Delivery(output or ("jsonl" if follow or command else "table"), where, limit, command, quiet=quiet)
    cursor = None if name is None else tables.existing_cursor(dataset, name)
    if follow:
        if cursor is not None and dataset.cursors[cursor.name].needs_snapshot:
            with cursor.read(**options) as rows:
                delivery.write(rows)
        begin = since if cursor is None else cursor.position
        feed = dataset.changes(start, since=begin, **options)
        _follow(feed, cursor, delivery, options, poll, timeout)
    elif cursor is not None:
        if explain:
            screen.show_text(cursor.peek(mode=mode).scan(filter=where).explain())
            return
        with cursor.read(until=end, **options) as feed:
            delivery.write(feed)
    else:
        feed = dataset.changes(start, end, since=since, **options)
        if explain:
            screen.show_text(feed.scan(filter=where, limit=limit).explain())
        elif html is not None:
            screen.write_page(html, feed.to_html(where))
        else:
            delivery.write(feed)


def _check_options(given: Mapping[str, Any]) -> None:
    """Makes sure that the options of `changes` go together.

    raises: click.UsageError
    """

    def has(*options: str) -> bool:
        return any(given[option] is not None and given[option] is not False for option in options)

    if has("name") and has("start", "since"):
        raise click.UsageError("A cursor sets the start of the changes: leave START and --since out.")
    if has("name") and has("limit"):
        raise click.UsageError("A cursor moves over all changes; leave --limit out.")
    if has("command") and given["output"] not in (None, *_IN_LINES):
        raise click.UsageError("--exec receives lines: use --output jsonl or debezium.")
    if has("html") and has("follow", "name", "explain", "output", "limit"):
        raise click.UsageError(
            "--html writes a page for a range: leave --follow, --cursor, --explain, --output and --limit out."
        )
    if has("follow") and (has("end", "limit", "explain") or given["mode"] == "net"):
        raise click.UsageError("--follow never ends: leave END, --limit, --explain and --mode net out.")
    if has("follow") and given["output"] not in (None, *_IN_LINES, "csv"):
        raise click.UsageError("--follow writes lines: use --output jsonl, debezium or csv.")


def _follow(
    feed: ChangeFeed,
    cursor: Cursor | None,
    delivery: _Delivery,
    options: dict[str, Any],
    poll: float,
    timeout: float | None,
) -> None:
    """Writes the changes of each new commit."""
    following = feed.follow(poll=poll, timeout=timeout)
    written = following.version
    is_idle = True
    try:
        for commit in following:
            is_idle = False
            if cursor is None:
                delivery.write(commit.changes)
            else:
                with cursor.read(until=commit.version, **options) as changes:
                    delivery.write(changes)
            written = commit.version
            is_idle = True
    except KeyboardInterrupt:
        go_on = "the cursor goes on from there" if cursor is not None else f"--since {written} goes on from there"
        click.echo(f"Stopped after version {written}; {go_on}.", err=True)
        if not is_idle:
            raise


def _run(command: str, lines: Iterable[str]) -> int:
    """Runs a command with lines on its stdin, and returns its exit code; the negative number of a signal."""
    with subprocess.Popen(command, shell=True, stdin=subprocess.PIPE, text=True) as process:
        stdin = cast(TextIOWrapper, process.stdin)
        try:
            # the command need not read all: its exit code counts
            with suppress(BrokenPipeError):
                stdin.writelines(lines)
            with suppress(BrokenPipeError):
                stdin.close()
            return process.wait()
        except BaseException:
            # it must not take a part of the lines for all of them, nor be waited for
            process.terminate()
            cast(BufferedWriter, stdin.buffer).raw.close()
            with suppress(ValueError):
                stdin.close()
            raise


class _Delivery:
    """Writer of changes to stdout or to a command.

    command: for a shell, run with the changes of each commit on its stdin; stdout by default
    """

    def __init__(
        self, output: str, where: str | None, limit: int | None, command: str | None, *, quiet: bool = False
    ) -> None:
        self.output = output
        self._where = where
        self._limit = limit
        self._command = command
        self._quiet = quiet
        self._has_header = False

    def write(self, feed: ChangeFeed) -> None:
        """Writes changes.

        raises: click.ClickException if the command fails
        """
        # rows on a terminal show the progress themselves
        hidden = self._quiet or (self._command is None and sys.stdout.isatty())
        with progress.shown("changes written", hidden=hidden):
            self._write(feed)

    def _write(self, feed: ChangeFeed) -> None:
        if self._command is None:
            self._write_to(sys.stdout, feed)
            return
        lines = self._lines(feed)
        first = next(lines, None)
        if first is None:
            return
        code = _run(self._command, chain([first], lines))
        if code:
            how = f"ended with {code}" if code > 0 else f"was ended by signal {-code}"
            raise click.ClickException(f"The command {how} for the changes up to version {feed.end}")

    def _write_to(self, stream: TextIO, feed: ChangeFeed) -> None:
        if self.output in _IN_LINES:
            stream.writelines(self._lines(feed))
        elif self.output == "csv" and self._has_header:
            from lance_sql.cli import formats

            formats.write_csv(self._reader(feed), stream, with_header=False)
        else:
            screen.show(self._reader(feed), self.output)
            self._has_header = True
        stream.flush()

    def _lines(self, feed: ChangeFeed) -> Iterator[str]:
        from lance_sql.cli import formats

        if self.output == "debezium":
            if self._where is not None or self._limit is not None:
                raise click.UsageError("--output debezium pairs both images of a row: leave --where and --limit out.")
            return (formats.json_line(each) for each in feed.to_debezium())
        return formats.json_lines(self._reader(feed))

    def _reader(self, feed: ChangeFeed) -> pa.RecordBatchReader:
        import pyarrow as pa

        reader = feed.scan(filter=self._where, limit=self._limit).to_reader()
        return pa.RecordBatchReader.from_batches(reader.schema, Work(None).over(reader))
