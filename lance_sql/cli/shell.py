"""The interactive shell: statements that end with a semicolon, with completion and a history.

lance> SELECT count(*) FROM 'events.lance';
lance> .help
"""

from __future__ import annotations

import os
import shlex
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from lance_sql.errors import MissingDependency, missing_package
from lance_sql.values.sql_text import literal

if TYPE_CHECKING:
    from prompt_toolkit import PromptSession
    from prompt_toolkit.input import Input
    from prompt_toolkit.output import Output

PROMPT: Final = "lance> "
CONTINUED: Final = "  ...> "
_HELP: Final = """\
Statements end with a semicolon, and may take several lines.
  FROM 'events.lance' LIMIT 5;                         a table
  FROM lance_scan('events.lance', version := 41);      one of its versions, with system columns
  FROM lance_changes('events.lance', since := 41);     what commits changed
  FROM lance_versions('events.lance');                 what they were
Tab completes paths, columns and functions; the arrow keys go through the history.
  .tables          the tables of this folder, and of the connection
  .schema TABLE    the columns of a table, with their types
  .mode FORMAT     table, box, line, json, csv or markdown; also .output
  .rows N          at most so many rows of a table; 0 for all
  .timer on|off    whether the time of statements is shown
  .once FILE       the next result goes to a file
  .read FILE       runs the statements and commands of a file
  .VERB ...        a verb of the command line: .history events.lance, .diff events.lance 5 6; also without the dot
  .help            this text; also help
  .quit            as Ctrl-D; also quit and exit"""
_PLAIN: Final = ("help", "quit", "exit")
_FORMATS: Final = ("table", "box", "line", "json", "csv", "markdown")
_TABLES: Final = "SHOW TABLES IN '.'; SHOW TABLES"
_DEPTH: Final = 16
"""Limit of files that read each other."""
# verbs that also begin statements need the dot
_BEGIN_STATEMENTS: Final = frozenset(
    ("analyze", "delete", "describe", "explain", "merge", "query", "refresh", "restore", "update")
)


class Shell:
    """State of the shell. `run` runs a typed line and returns whether to continue."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        self._output = "table"
        self._max_rows: int | None = None
        self._is_timed = True
        self._once: str | None = None
        self._depth = 0

    def run(self, typed: str) -> bool:
        """Runs a command or statements, and shows rows or the error; returns whether to continue."""
        text = typed.strip()
        if text.startswith("."):
            return self._command(text)
        if text.rstrip(";").strip().lower() in _PLAIN or is_verb(text):
            return self._command("." + text)
        if text.rstrip("; \n"):
            is_list = text.rstrip("; \n").upper().split() == ["SHOW", "TABLES"]
            self._statements(_TABLES if is_list else text)
        return True

    def _command(self, text: str) -> bool:
        name, *arguments = text.rstrip(";").split()
        match name, arguments:
            case ((".quit" | ".exit" | ".q"), []):
                return False
            case ".help", []:
                click.echo(_HELP)
            case ((".output" | ".mode"), [output]) if output in _FORMATS:
                self._output = output
            case ".tables", []:
                self._statements(_TABLES)
            case ".schema", [table]:
                self._statements("DESCRIBE " + literal(table.strip("'\"")))
            case ".schema", _:
                click.echo("Error: .schema takes a table, such as .schema events.lance", err=True)
            case ((".output" | ".mode"), _):
                click.echo(f"Error: {name} takes one of {', '.join(_FORMATS)}", err=True)
            case ".rows", [number] if number.isdecimal():
                self._max_rows = int(number)
            case ".rows", _:
                click.echo("Error: .rows takes a number; 0 for all rows", err=True)
            case ".timer", [("on" | "off") as word]:
                self._is_timed = word == "on"
            case ".timer", _:
                click.echo("Error: .timer takes on or off", err=True)
            case ((".once" | ".read"), []):
                click.echo(f"Error: {name} takes a file, such as {name} 'report.sql'", err=True)
            case ".once", _:
                self._once = _path_in(text)
            case ".read", _:
                return self._read(_path_in(text))
            case _ if name[1:] in verbs():
                self._verb(text.rstrip("; \n")[1:])
            case _:
                click.echo(f"Error: {name} is not a command; .help lists the commands", err=True)
        return True

    def _read(self, path: str) -> bool:
        """Runs what a file has; returns whether to continue."""
        try:
            lines = Path(path).expanduser().read_text(encoding="utf-8").splitlines()
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
            click.echo(f"Error: {path!r} cannot be read: {reason}", err=True)
            return True
        if self._depth == _DEPTH:
            click.echo(f"Error: {path!r} is read by itself: {_DEPTH} files deep", err=True)
            return True
        self._depth += 1
        try:
            typed: list[str] = []
            for line in lines:
                typed.append(line)
                if is_whole("\n".join(typed), self._connection):
                    if not self.run("\n".join(typed)):
                        return False
                    typed = []
            return self.run("\n".join(typed))
        finally:
            self._depth -= 1

    def _verb(self, text: str) -> None:
        from lance_sql.cli.main import main

        try:
            main.main(shlex.split(text), prog_name="lance-sql", standalone_mode=False)
        except ValueError as error:
            click.echo(f"Error: {error}", err=True)
        except (KeyboardInterrupt, click.Abort):
            click.echo("Interrupted", err=True)
        except click.ClickException as error:
            click.echo(f"Error: {error.format_message()}", err=True)
        except SystemExit:
            # the exit code of a check, which has printed its findings
            pass

    def _statements(self, text: str) -> None:
        from lance_sql.cli import failures, statements

        started = time.monotonic()
        try:
            with _to_file(self._once):
                statements.run(self._connection, text, self._output, max_rows=self._max_rows)
        except KeyboardInterrupt:
            click.echo("Interrupted", err=True)
        except click.Abort:
            click.echo("Nothing was changed.", err=True)
        except click.ClickException as error:
            # the file of .once cannot be written
            self._once = None
            click.echo(f"Error: {error.format_message()}", err=True)
        except Exception as error:
            failure = failures.explain(error)
            if failure is None:
                raise
            failure.show()
        else:
            self._once = None
            if self._is_timed:
                click.echo(f"{time.monotonic() - started:.3f} s", err=True)


def _path_in(text: str) -> str:
    """Returns the file that a command names, with or without quotes."""
    path = text.rstrip(";").split(None, 1)[1].strip()
    is_quoted = len(path) > 1 and path[0] == path[-1] and path[0] in "'\""
    return path[1:-1] if is_quoted else path


@contextmanager
def _to_file(path: str | None) -> Iterator[None]:
    """Sends what is shown to a file, which is written when all of it is there. None changes nothing.

    raises: click.UsageError for a file that cannot be written
    """
    if path is None:
        yield
        return
    target = Path(path).expanduser()
    new = target.with_name(f".{target.name}.new")
    try:
        file = new.open("w", encoding="utf-8")
    except OSError as error:
        raise click.UsageError(f"{path!r} cannot be written: {error.strerror}") from error
    try:
        with file, redirect_stdout(file):
            yield
        os.replace(new, target)
    except BaseException:
        new.unlink(missing_ok=True)
        raise
    click.echo(f"Wrote {path}", err=True)


@cache
def verbs() -> tuple[str, ...]:
    """Returns the verbs of the command line."""
    from lance_sql.cli.main import main

    return tuple(main.commands)


def is_verb(text: str) -> bool:
    """Whether a line without a dot is a verb of the command line, and not a statement."""
    word = text.partition(" ")[0]
    return word in verbs() and word not in _BEGIN_STATEMENTS


def is_whole(typed: str, connection: Any) -> bool:
    """Whether the input is complete: a command, nothing, or statements up to a semicolon outside string literals."""
    text = typed.strip()
    if not text or text.startswith(".") or text.lower() in _PLAIN or is_verb(text):
        return True
    if not text.endswith(";"):
        return False
    try:
        connection.extract_statements(text)
    except Exception as error:
        # a text or a comment is unclosed
        return "unterminated" not in str(error).lower()
    return True


def start() -> None:
    """Runs the shell until the user leaves. Exits with an error if prompt_toolkit is not installed."""
    import lance_sql
    from lance_sql.cli import failures

    try:
        connection = lance_sql.connect()
        prompting = session(connection)
    except MissingDependency as error:
        click.echo(f"Error: {error}. lance-sql --help lists the verbs without it", err=True)
        sys.exit(failures.WRONG_USAGE)
    click.echo(f"lance-sql {lance_sql.__version__} with DuckDB. .help lists the commands; Ctrl-D leaves.")
    run(prompting, Shell(connection))


def run(prompting: PromptSession[str], shell: Shell) -> None:
    """Prompts and runs, until the input ends."""
    while True:
        try:
            typed = prompting.prompt()
        except KeyboardInterrupt:
            continue
        except EOFError:
            return
        if not shell.run(typed):
            return


def session(connection: Any, input: Input | None = None, output: Output | None = None) -> PromptSession[str]:
    """Creates the prompt session.

    input, output: instead of the terminal
    raises: MissingDependency
    """
    try:
        from prompt_toolkit import PromptSession
        from prompt_toolkit.filters import Condition
        from prompt_toolkit.history import FileHistory, InMemoryHistory
    except ImportError as error:
        raise missing_package("The shell needs prompt_toolkit", "duckdb") from error
    from lance_sql.cli.completion import SqlCompleter

    path = history_path()
    prompt_session: PromptSession[str] = PromptSession(
        PROMPT,
        completer=SqlCompleter(connection, verbs()),
        complete_while_typing=False,
        history=InMemoryHistory() if path is None else FileHistory(path),
        # Enter begins a new line until the statement is complete
        multiline=Condition(lambda: not is_whole(prompt_session.default_buffer.text, connection)),
        prompt_continuation=CONTINUED,
        input=input,
        output=output,
    )
    return prompt_session


def history_path() -> str | None:
    """Returns the path of the history file; None if it cannot be created."""
    folder = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "lance-sql"
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        path = folder / "history"
        path.touch(mode=0o600)
    except OSError:
        return None
    return str(path)
