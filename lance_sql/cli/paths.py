"""Arguments that are paths, for the completion of the terminal."""

from __future__ import annotations

from collections.abc import Iterable

import click
from click.shell_completion import CompletionItem

from lance_sql.cli.storage import TABLES


class PathText(click.types.StringParamType):
    """Text that may be a path. The terminal completes it, including `~` and names with spaces."""

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        return [CompletionItem(incomplete, type="file")]


def complete_paths(verbs: Iterable[click.Command]) -> None:
    """Enables completion for arguments of verbs that are paths."""
    for verb in verbs:
        if isinstance(verb, click.Group):
            complete_paths(verb.commands.values())
        for parameter in verb.params:
            if isinstance(parameter, click.Argument) and parameter.name in TABLES:
                parameter.type = PathText()
