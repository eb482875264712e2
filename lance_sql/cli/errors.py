"""Error handling of the command line: one line on stderr, and an exit code."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, Final

import click

from lance_sql.cli.streams import OutputError, ReaderGoneError, drop_results
from lance_sql.cli.termination import ENDING, Terminated

CANNOT_WRITE: Final = 3
"""Exit code for results that cannot be written."""


@contextmanager
def in_one_line() -> Iterator[None]:
    """Puts the hint to the help into the line of the error, instead of three lines before it, and reports output that
    cannot be written: results that nobody reads are no error."""
    try:
        yield
    except ReaderGoneError:
        drop_results()
        sys.exit(0)
    except OutputError as error:
        drop_results()
        click.echo(f"Error: {error}", err=True)
        sys.exit(CANNOT_WRITE)
    except click.exceptions.NoArgsIsHelpError:
        raise
    except click.UsageError as error:
        if error.ctx is None:
            raise
        message = _with_way_out(error, error.ctx)
        end = "" if message.endswith((".", "?", "!")) else "."
        raise click.UsageError(f"{message}{end} See '{error.ctx.command_path} --help'.") from None


_OTHER_OPTIONS: Final = {
    "--set": "New values are arguments: update TABLE \"status='paid'\" --where ..",
    "--from": "Versions of a range are arguments, as in changes TABLE 5 6; others take --since",
    "--to": "Versions of a range are arguments, as in changes TABLE 5 6",
    "--version": "A version follows the table: TABLE@41",
    "--tag": "A tag follows the table: TABLE@TAG",
    "--as-of": "A time follows the table: TABLE@yesterday",
}
"""Options of other tools, and what to write here."""

_SAME: Final = {
    "--limit": ("-k", "--rows"),
    "--rows": ("--limit", "-k"),
    "--where": ("--filter",),
    "--filter": ("--where",),
    "--key": ("--keys", "--on"),
    "--on": ("--key", "--keys"),
}
"""Options of other verbs, and those that mean the same here."""


def _with_way_out(error: click.UsageError, context: click.Context) -> str:
    """Returns the message of an error of usage, with the arguments or names that the verb takes."""
    if isinstance(error, click.NoSuchOption):
        name = error.option_name
        if name in _OTHER_OPTIONS:
            return f"No such option {name!r}. {_OTHER_OPTIONS[name]}"
        known = {option for parameter in context.command.params for option in parameter.opts}
        if same := [option for option in _SAME.get(name, ()) if option in known]:
            return f"No such option {name!r}: use {same[0]!r}"
        if name in ("--yes", "-y"):
            return f"No such option {name!r}: this verb does not ask, leave it out"
    message = error.format_message()
    if message.startswith("No such command") and isinstance(context.command, click.Group):
        return f"{message.rstrip('.')}: use {', '.join(context.command.list_commands(context))}"
    if message.startswith(("Missing argument", "Got unexpected extra argument")):
        pieces = [context.command_path, *context.command.collect_usage_pieces(context)]
        return f"{message.rstrip('.')}: {' '.join(pieces)}"
    return message


@contextmanager
def whole_output() -> Iterator[None]:
    """Writes the rest of the results before the command exits, and reports those that cannot be written."""
    try:
        yield
    except SystemExit as ending:
        with in_one_line():
            try:
                sys.stdout.flush()
            except OutputError:
                if ending.code:
                    # reported already
                    drop_results()
                    raise ending from None
                raise
        raise


def reports_errors(command: Callable[..., None]) -> Callable[..., None]:
    """Turns the library's and the engine's errors into one line and an exit code."""

    @wraps(command)
    def run(*args: Any, **kwargs: Any) -> None:
        from lance_sql.cli import failures

        try:
            command(*args, **kwargs)
        except OutputError:
            raise
        except Terminated:
            ENDING.set()
            click.echo("Error: terminated", err=True)
            raise
        except (KeyboardInterrupt, click.Abort):
            ENDING.set()
            # a terminal has shown ^C
            click.echo("\nError: interrupted" if sys.stderr.isatty() else "Error: interrupted", err=True)
            sys.exit(failures.INTERRUPTED)
        except Exception as error:
            failure = failures.explain(error)
            if failure is None:
                raise
            failure.show()
            sys.exit(failure.exit_code)

    return run
