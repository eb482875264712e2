"""The option `--storage` of verbs that open tables."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import click

TABLES: Final = frozenset({"source", "sql", "table", "tables", "target"})
"""Names of arguments that are tables, or have some in them."""

NAME: Final = "--storage"


def add_storage_option(verbs: Iterable[click.Command]) -> None:
    """Adds the option to the verbs that open tables, and to verbs of groups."""
    for verb in verbs:
        if isinstance(verb, click.Group):
            add_storage_option(verb.commands.values())
        if any(parameter.name in TABLES for parameter in verb.params):
            verb.params.append(storage_option())


def storage_option() -> click.Option:
    """Returns the option, whose settings every table of the verb is opened with."""
    return click.Option(
        [NAME],
        metavar="KEY=VALUE",
        multiple=True,
        expose_value=False,
        callback=_set,
        help="Storage option of object stores, such as endpoint=http://localhost:9000; can be repeated.",
    )


def _set(context: click.Context, option: click.Parameter, given: tuple[str, ...]) -> None:
    """
    raises: click.BadParameter
    """
    if not given:
        return
    from lance_sql.store.access import within

    settings: dict[str, str] = {}
    for each in given:
        name, equals, value = each.partition("=")
        if not equals or not name.strip():
            raise click.BadParameter(
                f"{each!r} is not of the form KEY=VALUE, such as region=eu-west-1", context, option
            )
        settings[name.strip()] = value
    context.with_resource(within({"storage_options": settings}))
