"""`lance-sql queries`: the everyday queries, one subcommand each."""

from __future__ import annotations

from typing import Any

import click

from lance_sql.cli import screen
from lance_sql.cli.storage import add_storage_option
from lance_sql.table.version_names import split_name


class Queries(click.Group):
    """Group whose commands are the files of `lance_sql.one_sql.recipes`."""

    def list_commands(self, context: click.Context) -> list[str]:
        from lance_sql.one_sql.recipes import everyday_queries

        return [query.name for query in everyday_queries()]

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        from lance_sql.errors import InvalidArgument
        from lance_sql.one_sql.recipes import everyday_query

        try:
            return _command(everyday_query(name))
        except InvalidArgument as error:
            raise click.UsageError(f"{error}.".replace("?.", "?"), context) from None


@click.group(
    cls=Queries,
    invoke_without_command=True,
    subcommand_metavar="NAME TABLE [OPTIONS]",
    short_help="Runs a ready-made query, or lists them.",
)
@click.pass_context
def queries(context: click.Context) -> None:
    """Runs a ready-made query over a table, or lists the queries.

    \b
    lance-sql queries
    lance-sql queries changed-since events.lance --since 41
    lance-sql queries duplicates events.lance --key id,day
    lance-sql queries growth events.lance --show
    """
    if context.invoked_subcommand is not None:
        return
    from lance_sql.one_sql.recipes import everyday_queries

    known_queries = everyday_queries()
    width = max(len(query.name) for query in known_queries)
    for query in known_queries:
        needed = "".join(f" --{each.name} ..." for each in query.parameters if each.default is None)
        click.echo(f"{query.name:{width}}  {query.about}" + (f" [{needed.strip()}]" if needed else ""))


def _command(query: Any) -> click.Command:
    """Returns the command of a query: a table, its parameters, and the output format."""

    @click.argument("table")
    @click.option("--show", is_flag=True, help="Print the SQL without running it.")
    @screen.output_option
    def run(table: str, show: bool, output: str, **values: str) -> None:
        path, *_ = split_name(table)
        if path != table and any("versions" in line or "changes" in line for line in query.text.splitlines()):
            raise click.UsageError(f"{query.name} reads all commits up to the newest: give {path} without a version.")
        text = query.to_sql(table, values)
        if show:
            click.echo(text)
            return
        import lance_sql

        screen.show(lance_sql.sql(text).to_reader(), output)

    for parameter in reversed(query.parameters):
        run = click.option(
            f"--{parameter.name}",
            parameter.name,
            metavar=parameter.kind.upper(),
            **(
                {"required": True}
                if parameter.default is None
                else {"default": parameter.default, "show_default": True}
            ),
            help=f"{parameter.help[0].upper()}{parameter.help[1:]}.",
        )(run)
    command = click.command(name=query.name, help=query.about)(run)
    add_storage_option([command])
    return command
