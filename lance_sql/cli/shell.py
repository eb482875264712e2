"""The interactive shell: statements that end with a semicolon, with completion and a history.

lance> SELECT count(*) FROM 'events.lance';
lance> .help
"""

from __future__ import annotations

import os
import shlex
import sys
import time
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
  .mode FORMAT     table, json, csv or markdown; also .output
  .rows N          at most so many rows of a table; 0 for all
  .VERB ...        a verb of the command line: .history events.lance, .diff events.lance 5 6; also without the dot
  .help            this text; also help
  .quit            as Ctrl-D; also quit and exit"""
_PLAIN: Final = ("help", "quit", "exit")
_FORMATS: Final = ("table", "json", "csv", "markdown")
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

    def run(self, typed: str) -> bool:
        """Runs a command or statements, and shows rows or the error; returns whether to continue."""
        text = typed.strip()
        if text.startswith("."):
            return self._command(text)
        if text.rstrip(";").strip().lower() in _PLAIN or is_verb(text):
            return self._command("." + text)
        if text.rstrip("; \n"):
            self._statements(text)
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
                self._statements("SHOW TABLES IN '.'; SHOW TABLES")
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
            case _ if name[1:] in verbs():
                self._verb(text.rstrip("; \n")[1:])
            case _:
                click.echo(f"Error: {name} is not a command; .help lists the commands", err=True)
        return True

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
            statements.run(self._connection, text, self._output, max_rows=self._max_rows)
        except KeyboardInterrupt:
            click.echo("Interrupted", err=True)
        except click.Abort:
            click.echo("Nothing was changed.", err=True)
        except click.ClickException as error:
            click.echo(f"Error: {error.format_message()}", err=True)
        except Exception as error:
            failure = failures.explain(error)
            if failure is None:
                raise
            failure.show()
        else:
            click.echo(f"{time.monotonic() - started:.3f} s", err=True)


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
