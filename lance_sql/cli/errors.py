"""Error handling of the command line: one line on stderr, and an exit code."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Final

import click

from lance_sql.cli import signposts
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


_COUNTS: Final = ("--rows", "--limit")
_CONDITION: Final = re.compile(r"^[\w.\"]+\s*(=|<|>|!=|<=|>=)")


def _with_way_out(error: click.UsageError, context: click.Context) -> str:
    """Returns the message of an error of usage, with the arguments or names that the verb takes."""
    if isinstance(error, click.NoSuchOption):
        name, verb = error.option_name, context.info_name or ""
        known = frozenset(option for parameter in context.command.params for option in parameter.opts)
        if (way := signposts.of_option(verb, name, known)) is not None:
            return f"No such option {name!r}. {way}"
    message = error.format_message()
    if message.startswith("No such command") and isinstance(context.command, click.Group):
        return f"{message.rstrip('.')}: use {', '.join(context.command.list_commands(context))}"
    if message.startswith("No such option") and "Did you mean" not in message:
        longest = [max(parameter.opts, key=len) for parameter in context.command.params if parameter.opts[0][0] == "-"]
        return f"{message.rstrip('.')}. It has {', '.join(longest)}"
    if (extra := _EXTRA.match(message)) is not None and _CONDITION.match(extra[1]) and _has(context, "--where"):
        return f'{message.rstrip(".")}: --where "{extra[1]}"'
    if extra is not None and extra[1].isdigit() and (option := next(filter(partial(_has, context), _COUNTS), None)):
        return f"{message.rstrip('.')}: {option} {extra[1]}"
    if message.startswith(("Missing argument", "Got unexpected extra argument")):
        pieces = [context.command_path, *context.command.collect_usage_pieces(context)]
        return f"{message.rstrip('.')}: {' '.join(pieces)}"
    return message


_EXTRA: Final = re.compile(r"Got unexpected extra argument \((.+)\)\.?$", re.DOTALL)


def _has(context: click.Context, option: str) -> bool:
    return any(option in parameter.opts for parameter in context.command.params)


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


@contextmanager
def reported() -> Iterator[None]:
    """Turns the library's and the engine's errors into one line and an exit code."""
    try:
        yield
    except (OutputError, click.ClickException, click.exceptions.Exit):
        raise
    except Terminated:
        ENDING.set()
        click.echo("Error: terminated", err=True)
        raise
    except (KeyboardInterrupt, click.Abort):
        ENDING.set()
        # a terminal has shown ^C
        click.echo("\nError: interrupted" if sys.stderr.isatty() else "Error: interrupted", err=True)
        from lance_sql.cli import failures

        sys.exit(failures.INTERRUPTED)
    except Exception as error:
        from lance_sql.cli import failures

        failure = failures.explain(error)
        if failure is None:
            raise
        failure.show()
        sys.exit(failure.exit_code)
