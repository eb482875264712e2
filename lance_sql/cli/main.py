"""The verbs of the command line. A verb imports its modules when it runs, so help and usage errors appear at once."""

from __future__ import annotations

import difflib
import os
import sys
from typing import IO, Any

import click

from lance_sql.cli import (
    applying,
    branches,
    cache,
    contracts,
    cursors,
    differences,
    feed,
    indices,
    looking,
    maintaining,
    materializing,
    merge,
    queries,
    recall,
    repair,
    row_changes,
    salvage,
    screen,
    search,
    signposts,
    upkeep,
)
from lance_sql.cli.agreement import Consent, dry_run_option, quiet_option, yes_option
from lance_sql.cli.errors import in_one_line, reported
from lance_sql.cli.options import branch_option, report_option
from lance_sql.cli.paths import complete_paths
from lance_sql.cli.storage import NAME as STORAGE
from lance_sql.cli.storage import add_storage_option, storage_option

_EPILOG = "A TABLE is a path or URI; TABLE@41 is version 41, and TABLE@name a tag or branch."


class DefaultQuery(click.Group):
    """Group whose verb may be omitted if the argument is SQL."""

    def make_context(self, *args: Any, **kwargs: Any) -> click.Context:
        with in_one_line():
            return super().make_context(*args, **kwargs)

    def invoke(self, context: click.Context) -> Any:
        with in_one_line(), reported():
            return super().invoke(context)

    def parse_args(self, context: click.Context, arguments: list[str]) -> list[str]:
        own = _own_options(arguments)
        arguments = arguments[len(own) :]
        if arguments and arguments[0].lower() == "help":
            for verb in arguments[1:2]:
                if verb not in self.commands:
                    self._check_verb(context, verb)
                    raise click.UsageError(f"No verb {verb!r}", context)
            arguments = [*arguments[1:2], "--help"]
        if arguments and arguments[0] not in {*self.commands, *_GROUP_OPTIONS}:
            self._check_verb(context, arguments[0])
            # SQL is one argument: a word before another argument was meant as a verb
            if arguments[0].isidentifier() and arguments[1:] and not arguments[1].startswith("-"):
                raise click.UsageError(f"No verb {arguments[0]!r}. Pass SQL as one argument, in quotes", context)
            arguments = ["query", *arguments]
        return super().parse_args(context, [*own, *arguments])

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        """Writes the verbs by purpose, each with as much of its first sentence as fits."""
        left = set(self.commands)
        width = max(map(len, self.commands))
        for title, verbs in _GROUPS:
            commands = [verb for verb in verbs if verb in left]
            left -= set(commands)
            self._format_group(formatter, title, commands, width)
        self._format_group(formatter, "More", sorted(left), width)

    def _format_group(self, formatter: click.HelpFormatter, title: str, verbs: list[str], width: int) -> None:
        if not verbs:
            return
        room = max(formatter.width - width - 6, 20)
        with formatter.section(title):
            formatter.write_dl([(verb.ljust(width), self.commands[verb].get_short_help_str(room)) for verb in verbs])

    def _check_verb(self, context: click.Context, argument: str) -> None:
        """Checks that an argument that is no verb may be SQL.

        raises: click.UsageError
        """
        if argument.startswith("-") or any(character.isspace() for character in argument):
            return
        if (there := signposts.VERBS.get(argument.lower())) is not None and not os.path.isdir(argument):
            raise click.UsageError(f"No verb {argument!r}: {there}", context)
        if os.path.isdir(argument) or argument.rstrip("/").endswith(".lance"):
            raise click.UsageError(
                f"Add a verb for {argument}: lance-sql describe {argument}, or lance-sql \"FROM '{argument}'\".",
                context,
            )
        close = difflib.get_close_matches(argument.lower(), self.commands, 1, _ALIKE)
        if close:
            raise click.UsageError(f"No verb {argument!r}. Did you mean {close[0]!r}?", context)


_GROUPS = (
    (
        "Look",
        (
            "query",
            "search",
            "recall",
            "head",
            "describe",
            "schema",
            "history",
            "versions",
            "files",
            "layout",
            "explain",
            "queries",
        ),
    ),
    ("Changes", ("changes", "diff", "row-history", "cursors", "apply", "materialize", "refresh")),
    ("Write", ("write", "update", "delete", "merge", "tag", "branch", "stage", "publish", "restore")),
    (
        "Maintain",
        ("maintain", "index", "compact", "cleanup", "analyze", "enable-stable-row-ids", "rules", "check", "cache"),
    ),
    ("Repair", ("verify", "audit", "repair", "salvage")),
)
_GROUP_OPTIONS = ("--help", "-h", "--version")
_ALIKE = 0.7


def _own_options(arguments: list[str]) -> list[str]:
    """Returns the arguments before the verb that are storage options."""
    end = 0
    while end < len(arguments) and arguments[end].partition("=")[0] == STORAGE:
        end += 1 if "=" in arguments[end] else 2
    return arguments[:end]


@click.group(
    cls=DefaultQuery,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=_EPILOG,
)
@click.version_option(package_name="lance-sql", prog_name="lance-sql")
@click.pass_context
def main(context: click.Context) -> None:
    """SQL over Lance tables.

    \b
    lance-sql "SELECT count(*) FROM 'events.lance'"
    lance-sql "FROM lance_scan('events.lance', version := 41) LIMIT 5"
    lance-sql versions events.lance
    """
    if context.invoked_subcommand is None:
        _without_arguments(context)


def _without_arguments(context: click.Context) -> None:
    """Starts the shell on a terminal, runs the SQL of a pipe, or else prints the help."""
    if sys.stdin.isatty() and sys.stdout.isatty():
        from lance_sql.cli import shell

        shell.start()
        return
    sql = "" if sys.stdin.isatty() else _read(sys.stdin)
    if sql.strip():
        context.invoke(query, sql=sql, output="table")
    else:
        click.echo(context.get_help())


def _read(file: IO[str]) -> str:
    """
    raises: click.UsageError for text that is not UTF-8
    """
    try:
        return file.read()
    except UnicodeDecodeError as error:
        raise click.UsageError(f"The SQL is not UTF-8: {file.name}, byte {error.start}.") from None


@main.command(
    epilog='The verb may be left out: lance-sql "SELECT 1".', short_help="Runs SQL over Lance tables in DuckDB."
)
@click.argument("sql", required=False)
@click.option("-c", "command", metavar="SQL", help="SQL text, instead of the argument.")
@click.option("-f", "file", type=click.File(encoding="utf-8"), help="File with the SQL; - is stdin.")
@screen.output_option
@click.option(
    "--max-rows",
    type=click.IntRange(min=0),
    help="Maximum rows to print, 0 for all; default 40 on a terminal, all elsewhere.",
)
@click.option("--quiet", "-q", is_flag=True, help="No progress.")
@click.option("--all", "every", is_flag=True, help="Allow statements that remove or change every row of a table.")
@dry_run_option
@yes_option
def query(
    sql: str | None,
    command: str | None = None,
    file: IO[str] | None = None,
    output: str = "table",
    max_rows: int | None = None,
    quiet: bool = False,
    every: bool = False,
    dry_run: bool = False,
    yes: bool = False,
) -> None:
    """Runs SQL in DuckDB: FROM 'x.lance', lance_scan('x.lance', version := 3), FROM 'x.lance' VERSION AS OF 3.

    INSERT, UPDATE, DELETE and MERGE INTO change Lance tables. Statements that replace or remove rows ask first.

    Separate statements by semicolons. Without SQL, reads it from stdin.

    \b
    lance-sql "SELECT status, count(*) FROM 'events.lance' GROUP BY ALL"
    lance-sql query -f report.sql --output csv
    lance-sql "DELETE FROM 'events.lance' WHERE ts < '2026-01-01'" --dry-run
    echo "FROM 'events.lance' LIMIT 3" | lance-sql
    """
    given = [text for text in (sql, command, _read(file) if file is not None else None) if text is not None]
    if not given and not sys.stdin.isatty():
        text = _read(sys.stdin)
        given = [text] if text.strip() else []
    if len(given) != 1:
        raise click.UsageError("Pass the SQL once: as the argument, with -c, with -f, or on stdin.")
    if not given[0].strip():
        raise click.UsageError("The SQL is empty.")
    if any("\ud800" <= character <= "\udfff" for character in given[0]):
        # Python decodes invalid bytes of arguments to these
        raise click.UsageError("The SQL is not UTF-8.")
    import lance_sql
    from lance_sql.cli import statements

    consent = Consent(yes, every, dry_run)
    statements.run(lance_sql.connect(), given[0], output, max_rows=max_rows, quiet=quiet, consent=consent)


@main.command(epilog=_EPILOG)
@click.argument("table")
@screen.output_option
def schema(table: str, output: str) -> None:
    """Lists the columns of TABLE, system columns last."""
    from lance_sql.catalogs import metadata_tables
    from lance_sql.cli import tables

    screen.show(metadata_tables.columns(tables.open_table(table)).to_reader(), output)


@main.command(epilog=_EPILOG, short_help="Lists the versions of TABLE and their commits.")
@click.argument("table")
@click.option("--limit", type=click.IntRange(min=1), help="Maximum number of versions, newest first.")
@screen.output_option
def versions(table: str, limit: int | None, output: str) -> None:
    """Lists the versions of TABLE and their commits, oldest first."""
    from lance_sql.catalogs import metadata_tables
    from lance_sql.cli import tables

    screen.show(metadata_tables.versions(tables.open_table(table), limit).to_reader(), output)


@main.command(epilog=_EPILOG)
@click.argument("table")
@screen.output_option
def files(table: str, output: str) -> None:
    """Lists the data files and deletion files of TABLE."""
    from lance_sql.catalogs import metadata_tables
    from lance_sql.cli import tables

    screen.show(metadata_tables.files(tables.open_table(table)).to_reader(), output)


@main.command(epilog=_EPILOG)
@click.argument("table")
@branch_option
@click.option("--deep", is_flag=True, help="Decode every page, and compare checksums.")
@click.option("--checksums", is_flag=True, help="Compare only checksums.")
@click.option("--lineage", is_flag=True, help="Also compare row ids and row versions with the commits, like audit.")
@report_option
@quiet_option
@screen.html_option
def verify(table: str, output: str, quiet: bool, html: str | None, **options: Any) -> None:
    """Checks all versions of TABLE, or one, for damage.

    Exits with 1 if the newest version is damaged, and with 4 if only older ones are, as after a repair.
    """
    from lance_sql.cli import verification
    from lance_sql.health.verification import verify

    verification.end(verification.run(verify, table, quiet=quiet, **options), output, html)


@main.command(name="audit", epilog=_EPILOG, short_help="Compares row ids and versions with the commits.")
@click.argument("table")
@branch_option
@click.option("--job", help="Only commits of this job.")
@click.option("--no-checksums", is_flag=True, help="Do not compare checksums, which reads each file once.")
@report_option
@quiet_option
@screen.html_option
def audit_lineage(table: str, no_checksums: bool, output: str, quiet: bool, html: str | None, **options: Any) -> None:
    """Compares row ids and row versions of TABLE with its commits, and files with their checksums.

    --html writes a page with the faults, and the commits with their times, jobs and users. Exits with 1 if the newest
    version has faults, and with 4 if only older ones have.
    """
    from lance_sql.cli import verification
    from lance_sql.health.verification import audit

    report = verification.run(audit, table, quiet=quiet, checksums=not no_checksums, **options)
    verification.end(report, output, html)


for _verb in (
    *looking.VERBS,
    search.search,
    recall.recall,
    feed.changes,
    differences.diff,
    merge.merge,
    applying.apply,
    materializing.materialize,
    materializing.refresh,
    branches.branch,
    branches.stage,
    branches.publish,
    cursors.cursors,
    contracts.rules,
    contracts.check,
    repair.repair,
    salvage.salvage,
    queries.queries,
    *row_changes.VERBS,
    *upkeep.VERBS,
    maintaining.maintain,
    *cache.VERBS,
    *indices.VERBS,
):
    main.add_command(_verb)
complete_paths(main.commands.values())
add_storage_option(main.commands.values())
main.params.append(storage_option())
